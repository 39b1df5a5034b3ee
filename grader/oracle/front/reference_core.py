"""The reference engine's core, for the driver: a loop whose model is a rule."""

from typing import Any
from zlib import crc32

from grader.oracle.front.driver import Script
from reference.block_pool import BlockPool
from reference.config import EngineConfig
from reference.engine_core_proc import EngineCoreProc
from reference.executor import SleepState
from reference.kv_cache_manager import KVCacheManager
from reference.output import EngineCoreOutputs, SchedulerOutput
from reference.request import Request
from reference.sampling_params import SamplingParams
from reference.scheduler import Scheduler
from reference.wire import EngineCoreRequestType


def next_token(request_id: str, num_tokens: int) -> int:
    """The token that stands in for what a model would sample."""
    return (crc32(request_id.encode()) + num_tokens) % 1000


class RuleExecutor(SleepState):
    """Samples by the rule, and has aborts arrive while it does."""

    def __init__(self, core: "ReferenceCore", during: dict[int, list[str]]) -> None:
        super().__init__()
        self._core = core
        self._during = during

    def execute_model(self, output: SchedulerOutput) -> dict[str, list[int]]:
        core = self._core
        if len(core.executed) in self._during:
            core.abort(self._during[len(core.executed)])
        scheduled = output.num_scheduled_tokens
        core.executed.append([dict(scheduled), sorted(output.finished_req_ids)])
        requests = [core.proc_scheduler.requests[i] for i in scheduled]
        return {
            each.request_id: [next_token(each.request_id, each.num_tokens)]
            for each in requests
            if each.num_computed_tokens >= each.num_tokens
        }

    def take_draft_token_ids(self) -> None:
        return None


class ReferenceCore:
    """The driver's view of an `EngineCoreProc`."""

    def __init__(self, script: Script) -> None:
        config = EngineConfig(**script["engine"], enable_prefix_caching=False)
        pool = BlockPool(config.num_gpu_blocks, enable_caching=False)
        manager = KVCacheManager(pool, config.block_size, config.max_model_len, False)
        self.executed: list[Any] = []
        self.proc_scheduler = Scheduler(config, manager)
        self._proc = EngineCoreProc(
            self.proc_scheduler,
            RuleExecutor(self, dict(script["during"])),
            script["batch_queue_size"],
            script["shutdown_timeout"],
        )

    def add(self, request_id: str, num_prompt_tokens: int, max_tokens: int, client: int) -> None:
        params = SamplingParams(max_tokens=max_tokens)
        request = Request(request_id, [0] * num_prompt_tokens, params, client_index=client)
        self._proc.put(EngineCoreRequestType.ADD, request)

    def abort(self, request_ids: list[str]) -> None:
        self._proc.put_abort(request_ids)

    def utility(self, client: int, call_id: int, name: str, args: list[Any]) -> None:
        self._proc.put(EngineCoreRequestType.UTILITY, (client, call_id, name, args))

    def fail(self) -> None:
        self._proc.put(EngineCoreRequestType.EXECUTOR_FAILED)

    def shutdown(self) -> None:
        self._proc.request_shutdown()

    def turn(self) -> bool:
        return self._proc.turn()

    def run(self) -> list[Any]:
        """Goes round to the end, and returns what was to be sent."""
        return self._proc.run()

    def unfinished(self) -> int:
        return self.proc_scheduler.get_num_unfinished_requests()

    def outputs(self) -> list[Any]:
        return [_plain(*each) for each in self._proc.outputs() if not isinstance(each, bytes)]


def _plain(client: int, outputs: EngineCoreOutputs) -> list[Any]:
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
        utility and [utility.call_id, utility.failure_message, utility.result],
    ]
