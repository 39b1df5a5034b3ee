"""A package index of its own on loopback: a real server with real wheels, and real faults."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from manifest.index import Index
from manifest.pins import Commit, PinnedFile, PinnedWheel, Pins
from manifest.pip_settings import PipSettings
from manifest.published import PublishedRelease

TREES = Path(__file__).with_name("trees")
OLD, NEW = "1.0.0", "1.1.0"
EXTRA = {"csrc/kernel.cu": b"// a kernel\n", "tests/test_pool.py": b"def test(): ...\n"}
_FAR_AWAY = b"\0" * 2_000_000
"""Lies between the files and the list of them, so that one request cannot reach both."""


@dataclass
class Faults:
    """What the server does wrong."""

    no_ranges: bool = False
    seconds: float = 0.0
    """It waits so long before it answers for a wheel."""
    page_seconds: float = 0.0
    cut_short: bool = False
    """It breaks off in the middle of a file in a wheel."""
    cut_whole: bool = False
    other_bytes: dict[str, bytes] = field(default_factory=dict)
    """Files that are served as something else."""
    status: int = 0
    yanked: set[str] = field(default_factory=set)
    as_html: bool = False
    nonsense: bool = False


class LocalIndex:
    """Serves both releases of `trees`; `asked` are the requests: path and range."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.asked: list[tuple[str, str]] = []
        self.files: dict[str, bytes] = {}
        for version in (OLD, NEW):
            name = f"vllm-{version}-cp38-abi3-manylinux_2_28_x86_64.whl"
            self.files[name] = wheel(version)
            self.files[name.replace("x86_64", "aarch64")] = wheel(version)
            self.files[f"vllm-{version}.tar.gz"] = sdist(version)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> LocalIndex:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """From now on nobody answers."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/simple/"

    def client(self, timeout: float = 5.0) -> Index:
        return Index(PipSettings(self.address), timeout)

    def pins(self, version: str = OLD) -> Pins:
        """The pins of one of its releases."""
        wheel_name = f"vllm-{version}-cp38-abi3-manylinux_2_28_x86_64.whl"
        sdist_name = f"vllm-{version}.tar.gz"
        with zipfile.ZipFile(io.BytesIO(self.files[wheel_name])) as made:
            listed = made.read(f"vllm-{version}.dist-info/RECORD")
        return Pins(
            version,
            date(2026, 1, 1),
            PinnedWheel(wheel_name, _sha256(self.files[wheel_name]), _sha256(listed)),
            PinnedFile(sdist_name, _sha256(self.files[sdist_name])),
            Commit("0" * 7, date(2026, 1, 2), "remarks"),
            "owner/router",
            "1" * 40,
        )

    def wheels_asked(self) -> list[str]:
        """The ranges that were asked for, of all wheels."""
        return [part for path, part in self.asked if path.endswith(".whl")]


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.progress: list[tuple[int, int | None]] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def advance(self, come: int, size: int | None) -> None:
        self.progress.append((come, size))


Opened = Callable[..., PublishedRelease]


def content(version: str, path: str) -> bytes:
    return (TREES / version / path).read_bytes()


def wheel(version: str, tree: str = "") -> bytes:
    """A wheel of that version, of its own tree or of another's.

    A large file stands between its modules and its list of files.
    """
    files = _tree(tree or version)
    info = f"vllm-{version}.dist-info"
    files["vllm/kernels.so"] = _FAR_AWAY
    record = "".join(
        f"{path},sha256={_encoded(data)},{len(data)}\n" for path, data in files.items()
    )
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data)
    return made.getvalue()


def sdist(version: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path, data in (_tree(version) | EXTRA).items():
            member = tarfile.TarInfo(f"vllm-{version}/{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def _tree(version: str) -> dict[str, bytes]:
    root = TREES / version
    files = sorted(one for one in root.rglob("*") if one.is_file() and one.suffix != ".pyc")
    return {one.relative_to(root).as_posix(): one.read_bytes() for one in files}


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _handler(index: LocalIndex) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            index.asked.append((self.path, self.headers.get("Range", "")))
            faults = index.faults
            if faults.status:
                self._send(faults.status, b"", {})
            elif self.path == "/simple/vllm/":
                time.sleep(faults.page_seconds)
                kind, page = _page(index)
                self._send(200, page, {"Content-Type": kind})
            elif self.path.startswith("/files/"):
                self._file(self.path.removeprefix("/files/"))
            else:
                self._send(404, b"", {})

        def log_message(self, *_: Any) -> None: ...

        def _file(self, name: str) -> None:
            faults = index.faults
            data = faults.other_bytes.get(name, index.files[name])
            time.sleep(faults.seconds)
            asked = self.headers.get("Range")
            if asked is None or faults.no_ranges:
                self._send(200, data, {}, cut=faults.cut_whole)
                return
            first, last = _range(asked, len(data))
            headers = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
            cut = faults.cut_short and not asked.startswith("bytes=-")
            self._send(206, data[first : last + 1], headers, cut)

        def _send(
            self, status: int, data: bytes, headers: dict[str, str], cut: bool = False
        ) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            if cut:
                self.send_header("Connection", "close")
            self.end_headers()
            try:
                self.wfile.write(data[: len(data) // 2] if cut else data)
            except ConnectionError:
                # The client has heard enough, or waits no longer.
                self.close_connection = True

    return Handler


def _range(text: str, size: int) -> tuple[int, int]:
    first, _, last = text.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last or size - 1), size - 1)


def _page(index: LocalIndex) -> tuple[str, bytes]:
    """The index's page of vllm, as PEP 691 or PEP 503 has it."""
    faults = index.faults
    if faults.nonsense:
        return "text/plain", b"hello"
    files = [
        {
            "filename": name,
            "url": f"/files/{name}",
            "hashes": {"sha256": _sha256(data)},
            "size": len(data),
            "upload-time": "2026-01-01T08:00:00Z",
            "yanked": "it was broken" if any(f"-{v}" in name for v in faults.yanked) else False,
        }
        for name, data in index.files.items()
    ]
    if not faults.as_html:
        page = {"meta": {"api-version": "1.1"}, "name": "vllm", "files": files, "versions": []}
        return "application/vnd.pypi.simple.v1+json", json.dumps(page).encode()
    links = "".join(
        f'<a href="/files/{name}#sha256={_sha256(data)}">{name}</a>\n'
        for name, data in index.files.items()
    )
    return "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
