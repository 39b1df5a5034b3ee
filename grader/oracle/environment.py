"""Where the oracle lives: the virtual environment that holds the real vLLM.

The environment is `.oracle/venv` in the repo. Set `VLLMLINGS_ORACLE` to use one that lies
elsewhere, such as one shared by several clones.
"""

import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
VLLM_VERSION = "0.30.0"
TORCH_VERSION = "2.13.0"

#: What keeps the real vLLM quiet and off the network; every process of the oracle gets these.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}


@dataclass(frozen=True)
class Installed:
    """What a finished installation holds; kept beside the environment as the finished marker."""

    vllm: str
    torch: str
    python: str
    requirements_sha256: str


def default_directory() -> Path:
    """The folder of the oracle: `VLLMLINGS_ORACLE` if set, else `.oracle` in the repo.

    >>> default_directory().name
    '.oracle'
    """
    return Path(os.environ.get("VLLMLINGS_ORACLE") or ROOT / ".oracle")


def interpreter(directory: Path) -> Path:
    """The Python of the environment in `directory`, whether or not it is there yet."""
    folder, name = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
    return directory / "venv" / folder / name


def marker(directory: Path) -> Path:
    """The file that says the installation in `directory` was finished."""
    return directory / "installed.json"


def read_marker(directory: Path) -> Installed | None:
    """What was installed in `directory`; None if nothing was, or not to its end."""
    try:
        return Installed(**json.loads(marker(directory).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_marker(directory: Path, installed: Installed) -> None:
    """Say that the installation in `directory` was finished."""
    unfinished = marker(directory).with_suffix(".tmp")
    unfinished.write_text(json.dumps(asdict(installed), indent=2) + "\n")
    unfinished.replace(marker(directory))


def requirements_sha256() -> str:
    """The hash of the list of requirements: another list means another installation."""
    return hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()


def find_oracle(directory: Path | None = None) -> Path | None:
    """The interpreter that can import the real vLLM, or None where it is not installed.

    >>> find_oracle(Path("/nowhere")) is None
    True
    """
    where = directory or default_directory()
    installed = read_marker(where)
    if installed is None or installed.vllm != VLLM_VERSION:
        return None
    python = interpreter(where)
    return python if python.exists() else None


class OracleMissing(Exception):
    """The real vLLM is needed and not installed."""

    def __str__(self) -> str:
        return (
            "The real vLLM is not installed: run `vllmlings oracle install` "
            f"(it makes {default_directory()}), or set VLLMLINGS_ORACLE to a folder that has it."
        )


def site_packages() -> Path:
    """The folder in which the real vLLM's source lies; raises `OracleMissing`."""
    venv = require_oracle().parents[1]
    return next(folder for folder in venv.glob("[Ll]ib/**/site-packages") if folder.is_dir())


def require_oracle() -> Path:
    """The interpreter that can import the real vLLM; raises `OracleMissing`."""
    python = find_oracle()
    if python is None:
        raise OracleMissing
    return python
