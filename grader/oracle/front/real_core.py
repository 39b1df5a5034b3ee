"""vLLM's own engine core, for the driver: its loop and scheduler, the model a rule.

Runs in the oracle's environment alone.
"""

import queue
from collections import deque
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.v1.engine import EngineCoreRequestType
from vllm.v1.engine.core import EngineCoreProc, EngineShutdownState
from vllm.v1.executor.abstract import Executor
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request

from grader.oracle.front.driver import Script
from grader.oracle.front.reference_core import next_token
from grader.oracle.real_scheduler import build_scheduler
from reference.config import EngineConfig


class RuleExecutor:
    """Samples by the rule, and has aborts arrive while it does. It sleeps as vLLM's own does."""

    sleep = Executor.sleep
    wake_up = Executor.wake_up

    def __init__(self, core: "RealCore", during: dict[int, list[str]]) -> None:
        self.is_sleeping = False
        self.sleeping_tags: set[str] = set()
        self._core = core
        self._during = during
        self._sampled: ModelRunnerOutput | None = None

    def execute_model(self, output: Any, non_block: bool = False) -> "Future[Any]":  # noqa: ARG002
        core = self._core
        if len(core.executed) in self._during:
            core.abort(self._during[len(core.executed)])
        scheduled = output.num_scheduled_tokens
        core.executed.append([dict(scheduled), sorted(output.finished_req_ids)])
        requests = [core.scheduler.requests[i] for i in scheduled]
        tokens = {
            each.request_id: [next_token(each.request_id, each.num_tokens)]
            for each in requests
            if each.num_computed_tokens >= each.num_tokens
        }
        ids = list(scheduled)
        self._sampled = ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
            sampled_token_ids=[tokens.get(request_id, []) for request_id in ids],
        )
        return _done(None if ids else self._sampled)

    def sample_tokens(self, _grammar: Any, non_block: bool = False) -> Any:
        return _done(self._sampled) if non_block else self._sampled

    def collective_rpc(self, *_args: Any, **_kwargs: Any) -> None: ...
    def reset_mm_cache(self) -> None: ...
    def reset_encoder_cache(self) -> None: ...


class RealCore:
    """The driver's view of vLLM's `EngineCoreProc`, without its sockets."""

    def __init__(self, script: Script) -> None:
        self.executed: list[Any] = []
        config = EngineConfig(**script["engine"], enable_prefix_caching=False)
        self.scheduler = build_scheduler(config)
        self.scheduler.log_stats = False
        size = script["batch_queue_size"]
        proc = object.__new__(EngineCoreProc)
        proc.scheduler = self.scheduler
        proc.model_executor = RuleExecutor(self, dict(script["during"]))
        proc.batch_queue_size = size
        proc.batch_queue = deque(maxlen=size) if size > 1 else None
        proc.step_fn = proc.step_with_batch_queue if size > 1 else proc.step
        proc.input_queue, proc.output_queue = queue.Queue(), queue.Queue()
        proc.aborts_queue = queue.Queue()
        proc.vllm_config = SimpleNamespace(
            shutdown_timeout=script["shutdown_timeout"],
            observability_config=SimpleNamespace(enable_logging_iteration_details=False),
        )
        proc.shutdown_state = EngineShutdownState.RUNNING
        proc._idle_state_callbacks = []
        proc.process_input_queue_block = False
        proc.engines_running = proc.publish_dp_lb_stats = proc.log_stats = False
        proc.check_for_draft_tokens = proc.async_scheduling = proc.is_pooling_model = False
        proc.is_ec_consumer = True
        proc.mm_receiver_cache = None
        self._proc = proc

    def add(self, request_id: str, num_prompt_tokens: int, max_tokens: int, client: int) -> None:
        request = Request(
            request_id=request_id,
            prompt_token_ids=[0] * num_prompt_tokens,
            sampling_params=SamplingParams(max_tokens=max_tokens, detokenize=False),
            pooling_params=None,
            client_index=client,
        )
        self._proc.input_queue.put((EngineCoreRequestType.ADD, (request, 0)))

    def abort(self, request_ids: list[str]) -> None:
        self._proc.aborts_queue.put(request_ids)
        self._proc.input_queue.put((EngineCoreRequestType.ABORT, request_ids))

    def utility(self, client: int, call_id: int, name: str, args: list[Any]) -> None:
        self._proc.input_queue.put((EngineCoreRequestType.UTILITY, (client, call_id, name, args)))

    def fail(self) -> None:
        self._proc.input_queue.put((EngineCoreRequestType.EXECUTOR_FAILED, b""))

    def shutdown(self) -> None:
        self._proc.shutdown_state = EngineShutdownState.REQUESTED
        self._proc.input_queue.put((EngineCoreRequestType.WAKEUP, b""))

    def turn(self) -> bool:
        if not self._proc._handle_shutdown():
            return False
        self._proc._process_input_queue()
        self._proc._process_engine_step()
        return True

    def unfinished(self) -> int:
        return int(self.scheduler.get_num_unfinished_requests())

    def outputs(self) -> list[Any]:
        waiting = self._proc.output_queue
        return [_plain(*waiting.get()) for _ in range(waiting.qsize())]


def _done(result: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_result(result)
    return future


def _plain(client: int, outputs: Any) -> list[Any]:
    utility = outputs.utility_output
    return [
        client,
        sorted(
            [
                o.request_id,
                o.new_token_ids,
                None if o.finish_reason is None else str(o.finish_reason),
            ]
            for o in outputs.outputs
        ),
        utility
        and [utility.call_id, utility.failure_message, utility.result and utility.result.result],
    ]
