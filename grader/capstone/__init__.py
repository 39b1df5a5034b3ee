"""Capstones: real pull requests of vLLM, and predictions in numbers of what they do."""
