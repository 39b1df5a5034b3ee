"""The engine core's process: a loop between a queue of what comes in and one of what goes out."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from enum import IntEnum
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, get_args

from reference.engine_core import CoreScheduler, EngineCore, PauseMode
from reference.executor import Executor
from reference.output import EngineCoreOutput, EngineCoreOutputs, FinishReason, UtilityOutput
from reference.request import Request, RequestStatus
from reference.scheduler import PauseState
from reference.wire import ENGINE_CORE_DEAD, EngineCoreRequestType


class EngineShutdownState(IntEnum):
    """How far the end has come."""

    RUNNING = 0
    REQUESTED = 1
    SHUTTING_DOWN = 2


class EngineCoreProc(EngineCore):
    """The core behind its two queues, and the loop that is all its process does.

    An item of the input queue is a type and a payload: a ``Request`` to ADD, ids to ABORT, or
    ``(client_index, call_id, method, args)`` of a UTILITY call. An item of the output queue is a
    client's index and its ``EngineCoreOutputs``.

    Args:
        shutdown_timeout: whether requests are let finish when the end is asked for; 0 aborts them.
        process_input_queue_block: whether an idle loop waits for its next item. In a simulation
            it goes round instead.
    """

    def __init__(
        self,
        scheduler: CoreScheduler,
        executor: Executor,
        batch_queue_size: int = 1,
        shutdown_timeout: float = 0,
        process_input_queue_block: bool = False,
    ) -> None:
        super().__init__(scheduler, executor, batch_queue_size)
        self.input_queue: SimpleQueue[tuple[EngineCoreRequestType, Any]] = SimpleQueue()
        self.output_queue: SimpleQueue[tuple[int, EngineCoreOutputs] | bytes] = SimpleQueue()
        self.shutdown_state = EngineShutdownState.RUNNING
        self.shutdown_timeout = shutdown_timeout
        self.process_input_queue_block = process_input_queue_block
        self._idle_state_callbacks: list[Callable[[], None]] = []

    # The edge

    def put(self, request_type: EngineCoreRequestType, payload: Any = None) -> None:
        """An item for the loop."""
        self.input_queue.put((request_type, payload))

    def put_abort(self, request_ids: Sequence[str]) -> None:
        """An abort. It goes into both queues: to take effect at once, and after its ADD."""
        self.aborts_queue.put(request_ids)
        self.put(EngineCoreRequestType.ABORT, request_ids)

    def outputs(self) -> list[tuple[int, EngineCoreOutputs] | bytes]:
        """Takes all that waits to be sent."""
        return _drain(self.output_queue)

    def request_shutdown(self) -> None:
        """Asks the loop to come to its end, and wakes it for that."""
        self.shutdown_state = EngineShutdownState.REQUESTED
        self.put(EngineCoreRequestType.WAKEUP)

    # The loop

    def run(self) -> list[tuple[int, EngineCoreOutputs] | bytes]:
        """Goes round to the end, or to a crash, and returns all that was to be sent."""
        self.run_busy_loop()
        return self.outputs()

    def run_busy_loop(self) -> None:
        """Goes round to the end. A crash tells the clients that the core is dead."""
        try:
            while self.turn():
                pass
        except Exception:
            self.output_queue.put(ENGINE_CORE_DEAD)

    def turn(self) -> bool:
        """What has come in, and one step; False when there is nothing left to go round for."""
        if not self._handle_shutdown():
            return False
        self._process_input_queue()
        self._process_engine_step()
        return True

    def has_work(self) -> bool:
        """Whether a step has anything to do."""
        return self.scheduler.has_requests() or bool(self.batch_queue)

    def is_running(self) -> bool:
        """Whether nobody has asked for the end."""
        return self.shutdown_state is EngineShutdownState.RUNNING

    def _process_input_queue(self) -> None:
        while not self.has_work() and self.is_running():
            while self._idle_state_callbacks:
                self._idle_state_callbacks.pop()()
            if self.input_queue.empty():
                # Each of them is in the input queue, too, and was handled there.
                _drain(self.aborts_queue)
            try:
                self._handle_client_request(
                    *self.input_queue.get(block=self.process_input_queue_block)
                )
            except Empty:
                break
            if not self.process_input_queue_block:
                break
        while not self.input_queue.empty():
            self._handle_client_request(*self.input_queue.get())

    def _process_engine_step(self) -> bool:
        outputs, model_executed = self.step_fn()
        for each in (outputs or {}).items():
            self.output_queue.put(each)
        self.post_step(model_executed)
        return model_executed

    def _handle_client_request(self, request_type: EngineCoreRequestType, payload: Any) -> None:
        match request_type:
            case EngineCoreRequestType.ADD if self.is_running():
                self.add_request(payload)
            case EngineCoreRequestType.ADD:
                self._send_abort_outputs([payload])
            case EngineCoreRequestType.ABORT:
                self.abort_requests(payload)
            case EngineCoreRequestType.UTILITY:
                self._handle_utility(*payload)
            case EngineCoreRequestType.EXECUTOR_FAILED:
                raise RuntimeError("Executor failed.")

    # Utility calls

    def _handle_utility(
        self, client_index: int, call_id: int, method_name: str, args: Sequence[Any]
    ) -> None:
        if not self.is_running():
            self._answer(client_index, UtilityOutput(call_id, "Server shutting down"))
            return
        call = partial(self._call, method_name, args)
        self._invoke_utility_method(method_name, call, client_index, call_id)

    def _call(self, method_name: str, args: Sequence[Any]) -> Any:
        """A method looked up only now, so that one that is missing fails like any other call."""
        return getattr(self, method_name)(*args)

    def _invoke_utility_method(
        self, name: str, get_result: Callable[[], Any], client_index: int, call_id: int
    ) -> None:
        """Answers with the result, or with what went wrong; a future answers when it is done."""
        output = UtilityOutput(call_id)
        try:
            result = get_result()
            if isinstance(result, Future):
                again = partial(self._invoke_utility_method, name)
                result.add_done_callback(lambda done: again(done.result, client_index, call_id))
                return
            output.result = result
        except Exception as error:
            output.failure_message = f"Call to {name} method failed: {error}"
        self._answer(client_index, output)

    def _answer(self, client_index: int, output: UtilityOutput) -> None:
        self.output_queue.put((client_index, EngineCoreOutputs(utility_output=output)))

    def pause_scheduler(
        self, mode: PauseMode = "abort", clear_cache: bool = True
    ) -> "Future[None] | None":
        """Holds up new requests until ``resume_scheduler``.

        ``abort`` ends those that there are, ``wait`` lets those that run finish, ``keep`` holds
        them up, too.

        Returns:
            None if nothing is left to do, or a future of that.

        Raises:
            ValueError: there is no such mode.
        """
        if mode not in get_args(PauseMode):
            raise ValueError(f"Invalid pause mode: {mode}")
        if mode == "abort":
            aborted = self.scheduler.finish_requests(None, RequestStatus.FINISHED_ABORTED)
            self._send_abort_outputs(aborted)
        paused = PauseState.PAUSED_ALL if mode == "keep" else PauseState.PAUSED_NEW
        self.scheduler.set_pause_state(paused)
        if not self.has_work():
            self._finish_pause(clear_cache)
            return None
        complete: Future[None] = Future()
        self._idle_state_callbacks.append(partial(self._complete_pause, complete, clear_cache))
        return complete

    def _complete_pause(self, complete: "Future[None]", clear_cache: bool) -> None:
        self._finish_pause(clear_cache)
        complete.set_result(None)

    def _finish_pause(self, clear_cache: bool) -> None:
        if clear_cache:
            self.reset_prefix_cache(reset_running_requests=True)

    # The end

    def _handle_shutdown(self) -> bool:
        """Whether the loop goes on."""
        if self.is_running():
            return True
        if self.shutdown_state is EngineShutdownState.REQUESTED:
            if self.shutdown_timeout == 0:
                aborted = self.scheduler.finish_requests(None, RequestStatus.FINISHED_ABORTED)
                self._send_abort_outputs(aborted)
            self.shutdown_state = EngineShutdownState.SHUTTING_DOWN
        return self.has_work()

    def _send_abort_outputs(self, aborted: Iterable[Request]) -> None:
        """Tells each client which of its requests were aborted without its asking."""
        by_client: dict[int, list[str]] = {}
        for request in aborted:
            by_client.setdefault(request.client_index, []).append(request.request_id)
        for client_index, request_ids in by_client.items():
            outputs = [
                EngineCoreOutput(i, [], finish_reason=FinishReason.ABORT) for i in request_ids
            ]
            self.output_queue.put((client_index, EngineCoreOutputs(outputs, set(request_ids))))


def _drain(queue: "SimpleQueue[Any]") -> list[Any]:
    items = []
    while not queue.empty():
        items.append(queue.get())
    return items
