"""What runs a scenario on a release's own code: in the oracle's environment alone, where the
release's Python files come before the installed vLLM's on the path."""
