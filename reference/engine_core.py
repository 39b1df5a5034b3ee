"""The engine core: steps of scheduler and executor, and what else can be asked of them."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Literal, Protocol

from reference.executor import Executor
from reference.output import EngineCoreOutputs, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import PauseState

PauseMode = Literal["abort", "wait", "keep"]
#: The tokens that a batch samples, by request.
ModelOutput = Mapping[str, Sequence[int]]
CoreOutputs = Mapping[int, EngineCoreOutputs]
#: What a step has for each client; None where it only filled the batch queue.
StepOutputs = CoreOutputs | None


class CoreScheduler(Protocol):
    """What the loop needs of a scheduler."""

    @property
    def pause_state(self) -> PauseState: ...
    def add_request(self, request: Request) -> None: ...
    def finish_requests(
        self, request_ids: str | Iterable[str] | None, finished_status: RequestStatus
    ) -> Sequence[Request]: ...
    def has_requests(self) -> bool: ...
    def schedule(self) -> SchedulerOutput: ...
    def update_from_output(
        self, scheduler_output: SchedulerOutput, sampled_token_ids: Mapping[str, Sequence[int]]
    ) -> Mapping[int, EngineCoreOutputs]: ...
    def update_draft_token_ids(self, draft_token_ids: Mapping[str, Sequence[int]]) -> None: ...
    def reset_prefix_cache(self, reset_running_requests: bool = False) -> bool: ...
    def set_pause_state(self, pause_state: PauseState) -> None: ...


class EngineCore:
    """What a process of vLLM's runs the model with.

    With a ``batch_queue_size`` above 1 so many batches may be in flight: filling the queue comes
    before waiting for the oldest of them.
    """

    def __init__(
        self, scheduler: CoreScheduler, executor: Executor, batch_queue_size: int = 1
    ) -> None:
        self.scheduler = scheduler
        self.model_executor = executor
        self.batch_queue_size = batch_queue_size
        self.batch_queue: deque[tuple[SchedulerOutput, ModelOutput]] = deque()
        self.aborts_queue: SimpleQueue[Sequence[str]] = SimpleQueue()
        self.step_fn = self.step if batch_queue_size == 1 else self.step_with_batch_queue

    def add_request(self, request: Request) -> None:
        """Takes a request in; paused or not, it waits."""
        self.scheduler.add_request(request)

    def abort_requests(self, request_ids: Sequence[str]) -> None:
        """Ends requests without an output: who aborts one knows."""
        self.scheduler.finish_requests(request_ids, RequestStatus.FINISHED_ABORTED)

    def step(self) -> tuple[StepOutputs, bool]:
        """One step from decision to outputs, and whether the model had anything to do."""
        if not self.scheduler.has_requests():
            return {}, False
        scheduler_output, model_output = self._launch()
        outputs = self._land(scheduler_output, model_output)
        return outputs, scheduler_output.total_num_scheduled_tokens > 0

    def step_with_batch_queue(self) -> tuple[StepOutputs, bool]:
        """Launches a batch if there is room, or else takes in the oldest one."""
        model_executed = False
        if self.scheduler.has_requests():
            scheduler_output, model_output = self._launch()
            model_executed = scheduler_output.total_num_scheduled_tokens > 0
            self.batch_queue.appendleft((scheduler_output, model_output))
            has_room = len(self.batch_queue) < self.batch_queue_size
            if has_room and (model_executed or self.scheduler.has_requests()):
                return None, model_executed
        elif not self.batch_queue:
            return None, False
        return self._land(*self.batch_queue.pop()), model_executed

    def _launch(self) -> tuple[SchedulerOutput, ModelOutput]:
        """Decides a batch, and has the model run it."""
        scheduler_output = self.scheduler.schedule()
        return scheduler_output, self.model_executor.execute_model(scheduler_output)

    def _land(self, scheduler_output: SchedulerOutput, model_output: ModelOutput) -> CoreOutputs:
        """Takes in what the model brings, but for those who do not want it any more."""
        self._process_aborts_queue()
        return self.scheduler.update_from_output(scheduler_output, model_output)

    def post_step(self, model_executed: bool) -> None:
        """Passes on the drafts for the next step."""
        drafts = self.model_executor.take_draft_token_ids() if model_executed else None
        if drafts is not None:
            self.scheduler.update_draft_token_ids(drafts)

    def _process_aborts_queue(self) -> None:
        """Aborts that came while the model ran: the tokens it brings are not wanted any more."""
        request_ids: list[str] = []
        while not self.aborts_queue.empty():
            request_ids += self.aborts_queue.get()
        if request_ids:
            self.abort_requests(request_ids)

    # What clients may call besides

    def reset_prefix_cache(self, reset_running_requests: bool = False) -> bool:
        """Empties the prefix cache; False, and nothing done, while any block is in use."""
        return self.scheduler.reset_prefix_cache(reset_running_requests)

    def pause_scheduler(self, mode: PauseMode = "abort", clear_cache: bool = True) -> Any:
        """Holds up new requests, and all others too for ``keep``; see the loop's own."""
        raise NotImplementedError("the loop knows when a pause is complete")

    def resume_scheduler(self) -> None:
        """Serves everybody again, those first who came during the pause."""
        self.scheduler.set_pause_state(PauseState.UNPAUSED)

    def is_scheduler_paused(self) -> bool:
        """Whether anybody is held up."""
        return self.scheduler.pause_state is not PauseState.UNPAUSED

    def sleep(self, level: int = 1, mode: PauseMode = "abort") -> Any:
        """Pauses; from level 1 on the executor lets go of its memory once the pause is complete.

        Returns:
            None if that is done, or a future of it.
        """
        pause = self.pause_scheduler(mode, clear_cache=level >= 1)
        if level < 1:
            return pause
        if pause is None:
            self.model_executor.sleep(level)
            return None
        asleep: Future[None] = Future()

        def fall_asleep(complete: "Future[None]") -> None:
            try:
                complete.result()
                self.model_executor.sleep(level)
                asleep.set_result(None)
            except Exception as error:
                asleep.set_exception(error)

        pause.add_done_callback(fall_asleep)
        return asleep

    def wake_up(self, tags: Sequence[str] | None = None) -> None:
        """Wakes the executor, or what the tags name of it; all is served again once it is awake.

        The tag ``scheduling`` stands for no memory: alone it wakes from level 0.
        """
        of_executor = None if tags is None else [tag for tag in tags if tag != "scheduling"]
        if of_executor is None or of_executor:
            self.model_executor.wake_up(of_executor)
        if not self.model_executor.is_sleeping:
            self.resume_scheduler()

    def is_sleeping(self) -> bool:
        """Whether anybody is held up, or anything is let go of."""
        return self.is_scheduler_paused() or self.model_executor.is_sleeping
