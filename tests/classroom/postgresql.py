"""A PostgreSQL server of its own for the tests, in a folder of its own, behind a socket alone."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server() -> Iterator[str]:
    """A running server; gives the URL of its database `postgres`. It refuses to run as root."""
    programs = _programs()
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    # Not pytest's folder: that belongs to root, and its path is too long for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        options = {"user": user, "cwd": "/"} if os.geteuid() == 0 else {"cwd": "/"}
        subprocess.run(
            [programs / program, "-D", folder / "data", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
            **options,  # type: ignore[call-overload]  # its overloads do not know a dict
        )

    settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
    try:
        run("initdb", "--auth=trust", "--no-sync", "--username=teacher", "--encoding=UTF8")
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            yield f"postgresql://teacher@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _programs() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    return sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
