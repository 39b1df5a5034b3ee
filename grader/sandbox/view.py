"""What a sandboxed worker sees of the file system: the system, its interpreter, its own few files.

Nothing is copied, and everything stands where it stands outside, so that the command that starts a
worker needs no change. What is not named here does not exist inside.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: What a worker imports that is not the interpreter's own.
PACKAGES = ("msgspec", "numpy", "numpy.libs")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache")
_WORKER = Path(__file__).parents[1] / "worker"
_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class View:
    """Paths to show, as they are (`shown`) or as empty folders (`hidden`), the outer ones first."""

    shown: tuple[Path, ...]
    hidden: tuple[Path, ...]

    def arguments(self) -> list[str]:
        """The view as bwrap's arguments. All of it is read-only."""
        every = sorted({*self.shown, *self.hidden}, key=lambda path: len(path.parts))
        arguments: list[str] = []
        for folder in sorted({parent for path in every for parent in path.parents}):
            # Whoever comes in with another user's id must be able to walk through.
            if not any(folder == path or path in folder.parents for path in every):
                arguments += ["--perms", "0755", "--dir", str(folder)]
        for path in every:
            if path in self.hidden:
                arguments += ["--perms", "0755", "--tmpfs", str(path)]
            elif path.is_symlink():
                arguments += ["--symlink", os.readlink(path), str(path)]
            else:
                arguments += ["--ro-bind", str(path), str(path)]
        for path in self.hidden:
            arguments += ["--remount-ro", str(path)]
        return arguments

    def below(self, folder: Path) -> View:
        """The part of the view that lies in a folder."""
        shown = tuple(path for path in self.shown if folder in path.parents)
        return View(shown, tuple(path for path in self.hidden if folder in path.parents))


def view_of(python: str) -> View:
    """What a worker that runs on this interpreter has to see."""
    shown = [Path(path) for path in _SYSTEM if os.path.lexists(path)]
    shown += _interpreter(Path(python))
    hidden = [
        folder for folder in _package_folders() if any(path in folder.parents for path in shown)
    ]
    if any(path in _REPOSITORY.parents for path in shown):
        hidden.append(_REPOSITORY)
    for folder in _package_folders():
        shown += [folder / name for name in PACKAGES if (folder / name).exists()]
    shown.append(_WORKER)
    return View(tuple(_needed(shown, hidden)), tuple(hidden))


def _needed(shown: Sequence[Path], hidden: Sequence[Path]) -> Iterator[Path]:
    """Those that are not in sight already with a folder that is shown."""
    for path in dict.fromkeys(shown):
        # What is nearest around it decides.
        around = next((folder for folder in path.parents if folder in {*shown, *hidden}), None)
        if around is None or around in hidden:
            yield path


def _package_folders() -> Sequence[Path]:
    """Where packages are installed: the repository itself may be among them."""
    return [Path(path) for path in sys.path if path.endswith("-packages")]


def _interpreter(python: Path) -> Iterator[Path]:
    """The files that starting it reads, and those of all that it is a link to."""
    while python.is_symlink():
        yield python
        python = python.parent / os.readlink(python)
    yield python
    for prefix in {sys.base_prefix, sys.base_exec_prefix}:
        if not Path(prefix).is_relative_to("/usr"):
            yield Path(prefix)
    configuration = Path(sys.prefix) / "pyvenv.cfg"
    if configuration.is_file():
        yield configuration
