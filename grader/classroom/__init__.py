"""Grading a class: what was handed in, in a sandbox, into a journal and a gradebook.

A learner's commands import nothing of this package.
"""
