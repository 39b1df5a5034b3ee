"""The course's own exam: that each lesson's suite accepts what is right and rejects what is wrong.

A lesson has `trials` (submissions with the end that each must come to), which are `tried` in
parallel and remembered; with what is true of its files (`stub`, `text`) they make its `proof`.
"""
