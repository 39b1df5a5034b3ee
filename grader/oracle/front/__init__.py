"""The engine's front, compared with vLLM's own: scripts as plain data, run on both."""
