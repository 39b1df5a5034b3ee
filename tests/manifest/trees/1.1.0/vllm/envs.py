"""What is read from the environment."""

import os

environment_variables = {
    "VLLM_PATIENCE_S": lambda: int(os.getenv("VLLM_PATIENCE_S", "300")),
    "VLLM_QUIET": lambda: os.environ.get("VLLM_QUIET", "0").strip().lower() in ("1", "true"),
    "VLLM_LEVEL": lambda: os.environ.get("VLLM_LEVEL", "info").upper(),
    "VLLM_PLUGINS": lambda: (
        None if "VLLM_PLUGINS" not in os.environ else os.environ["VLLM_PLUGINS"].split(",")
    ),
}
