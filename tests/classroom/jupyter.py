"""A real Jupyter server on a course's folder."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from notebook_class import BIN, NotebookClass, environment

TOKEN = "a-token-for-the-test"
_PATIENCE = 60.0


@dataclass(frozen=True)
class Server:
    """Its address, with a `/` at the end."""

    address: str

    def get(self, path: str) -> str:
        return self._ask(path)

    def post(self, path: str) -> Any:
        return json.loads(self._ask(path, b""))

    def _ask(self, path: str, data: bytes | None = None) -> str:
        headers = {"Authorization": f"token {TOKEN}"}
        request = urllib.request.Request(f"{self.address}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            content: bytes = answer.read()
        return content.decode()


@contextmanager
def jupyter_lab(course: NotebookClass) -> Iterator[Server]:
    """JupyterLab, started in the course's folder as a teacher starts it."""
    surroundings = environment(course.folder)
    log = course.folder.parent / "jupyter.log"
    command = [BIN / "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, f"--IdentityProvider.token={TOKEN}", "--ServerApp.ip=127.0.0.1"],
            cwd=course.folder,
            env=surroundings,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Server(_address(process, surroundings["JUPYTER_RUNTIME_DIR"]))
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], folder: str) -> str:
    """What the server has written down of itself, once it answers."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended"
        try:
            with open(f"{folder}/jpserver-{process.pid}.json", encoding="utf-8") as stream:
                url: str = json.load(stream)["url"]
            Server(url).get("api/status")
        except (OSError, ValueError):
            time.sleep(0.2)
        else:
            return url
    raise AssertionError("the server did not answer")
