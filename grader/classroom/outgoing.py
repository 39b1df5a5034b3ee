"""Files that a command makes for somebody: written into a folder, or into a zip."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader.files import write_atomically

#: Contents by path, relative and with `/`. What begins with `#!` can be executed.
Files = Mapping[str, bytes]
# The zip of the same files is the same, whenever it is made.
_DATE = (1980, 1, 1, 0, 0, 0)


class AlreadyThere(Exception):
    """Files of these names are there and differ; nothing has been written."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        super().__init__(
            f"{folder}: {', '.join(names)}: there already, and different; "
            "give another folder, or --overwrite to replace them"
        )
        self.folder, self.names = folder, names


def write_files(folder: Path, files: Files, overwrite: bool = False) -> list[str]:
    """Write the files into a folder; gives the names of those that were not there as they are.

    Raises:
        AlreadyThere: some of them are there and differ, and are not to be overwritten.
        OSError: the folder cannot be written to.
    """
    different = [name for name, content in files.items() if _content(folder / name) != content]
    existing = [name for name in different if (folder / name).exists()]
    if existing and not overwrite:
        raise AlreadyThere(folder, existing)
    for name in different:
        write_atomically(folder / name, files[name])
        if _is_script(files[name]):
            (folder / name).chmod(0o755)
    return different


def zipped(files: Files, inside: str = "") -> bytes:
    """A zip of the files, under the folder `inside` if one is named.

    >>> zipfile.ZipFile(io.BytesIO(zipped({"a.txt": b"x"}, "course"))).namelist()
    ['course/a.txt']
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{inside}/{name}" if inside else name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if _is_script(content) else 0o100644) << 16
            archive.writestr(entry, content)
    return stream.getvalue()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _is_script(content: bytes) -> bool:
    return content.startswith(b"#!")
