"""The front's end of the two sockets, and the engine core's process behind them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import zmq

from grader.processes.sockets import ENGINE_IDENTITY, request_frames, unpack_struct
from reference.output import EngineCoreOutputs
from reference.wire import ENGINE_CORE_DEAD, EngineCoreRequest, EngineCoreRequestType
from reference.workload import Workload

ROOT = Path(__file__).parents[2]
#: Milliseconds for the core to start, or to answer.
PATIENCE = 30_000


class EngineDeadError(Exception):
    """The engine core has crashed, or is silent."""


class CoreClient:
    """Starts the engine core's process and talks with it. ``messages`` and ``num_bytes`` count
    what went over the sockets, by kind.
    """

    def __init__(self, workload: Workload) -> None:
        self.messages: Counter[str] = Counter()
        self.num_bytes: Counter[str] = Counter()
        self._call_id = 0
        self._folder = tempfile.TemporaryDirectory(prefix="vllmlings-")
        self._context = zmq.Context()
        self._input = self._context.socket(zmq.ROUTER)
        self._output = self._context.socket(zmq.PULL)
        addresses = [f"ipc://{self._folder.name}/{name}" for name in ("input", "output")]
        for socket, address in zip((self._input, self._output), addresses, strict=True):
            socket.setsockopt(zmq.LINGER, 0)
            socket.bind(address)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader.processes.engine_core", *addresses],
            stdin=subprocess.PIPE,
            cwd=ROOT,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(workload.to_dict()))
        self.process.stdin.close()

    def __enter__(self) -> Self:
        self._await(self._input)
        identity, _ready = self._input.recv_multipart()
        assert identity == ENGINE_IDENTITY
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=PATIENCE / 1000)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._input.close()
        self._output.close()
        self._context.term()
        self._folder.cleanup()

    def add_request(self, request: EngineCoreRequest) -> None:
        """Sends a request to the core."""
        self._send(EngineCoreRequestType.ADD, request)

    def abort_requests(self, request_ids: list[str]) -> None:
        """Has the core end requests."""
        self._send(EngineCoreRequestType.ABORT, request_ids)

    def call_utility(self, method: str, *args: Any) -> None:
        """Calls a method of the core; the answer comes among the outputs."""
        self._call_id += 1
        self._send(EngineCoreRequestType.UTILITY, (0, self._call_id, method, args))

    def get_output(self) -> EngineCoreOutputs:
        """The next message of the core.

        Raises:
            EngineDeadError: there will be none.
        """
        self._await(self._output)
        data = self._output.recv()
        self._count("outputs", len(data))
        if data == ENGINE_CORE_DEAD:
            raise EngineDeadError("the engine core has crashed; its process told why above")
        return unpack_struct(EngineCoreOutputs, data)

    def _send(self, request_type: EngineCoreRequestType, payload: Any) -> None:
        frames = request_frames(request_type, payload)
        self._input.send_multipart(frames)
        self._count(request_type.name, sum(map(len, frames)))

    def _await(self, socket: zmq.Socket[bytes]) -> None:
        for _ in range(PATIENCE // 100):
            if socket.poll(100):
                return
            if self.process.poll() is not None:
                raise EngineDeadError(f"the engine core's process ended: {self.process.returncode}")
        raise EngineDeadError(f"the engine core said nothing for {PATIENCE // 1000} seconds")

    def _count(self, kind: str, num_bytes: int) -> None:
        self.messages[kind] += 1
        self.num_bytes[kind] += num_bytes
