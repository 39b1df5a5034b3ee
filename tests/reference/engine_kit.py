"""What the tests of the engine share: small schedulers, and workloads in one line."""

from typing import Any

from reference.block_pool import BlockPool
from reference.config import EngineConfig
from reference.engine import run_workload
from reference.kv_cache_manager import KVCacheManager
from reference.kv_cache_utils import RequestHashes
from reference.output import SchedulerOutput
from reference.request import Request
from reference.sampling_params import SamplingParams
from reference.scheduler import Scheduler
from reference.trace import Trace
from reference.workload import parse_workload


def make_request(
    request_id: str = "r",
    prompt: int | list[int] = 4,
    block_size: int = 4,
    **options: Any,
) -> Request:
    """A request with a prompt, or one of so many tokens of its own."""
    tokens = list(range(100, 100 + prompt)) if isinstance(prompt, int) else prompt
    names = ("client_index", "arrival_time", "priority", "structured_output_request")
    given = {name: options.pop(name) for name in names if name in options}
    params = SamplingParams(**({"max_tokens": 8} | options))
    hashes = RequestHashes("sha256", block_size, tokens)
    return Request(request_id, tokens, params, hashes=hashes, **given)


def own_tokens(number: int, length: int) -> list[int]:
    """Tokens that no other number's prompt has."""
    return list(range(1000 * number, 1000 * number + length))


def make_scheduler(log_stats: bool = False, **limits: Any) -> Scheduler:
    """A scheduler over a pool of its own; memory is ample unless limits say otherwise."""
    ample = {"block_size": 4, "num_gpu_blocks": 1000, "max_model_len": 1024}
    config = EngineConfig(**(ample | {"max_num_batched_tokens": 1024} | limits))
    pool = BlockPool(config.num_gpu_blocks, config.enable_prefix_caching)
    manager = KVCacheManager(
        pool,
        config.block_size,
        config.max_model_len,
        config.enable_prefix_caching,
        config.watermark,
    )
    return Scheduler(config, manager, include_finished_set=True, log_stats=log_stats)


def step(scheduler: Scheduler, token: int = 7) -> SchedulerOutput:
    """One step in which each request that is through its tokens samples ``token``."""
    output = scheduler.schedule()
    ready = [i for i in output.num_scheduled_tokens if not scheduler.requests[i].is_prefill_chunk]
    scheduler.update_from_output(output, {request_id: [token] for request_id in ready})
    return output


def ids(requests: Any) -> list[str]:
    """The ids of requests, in order."""
    return [request.request_id for request in requests]


def run(requests: list[dict[str, Any]], **rest: Any) -> Trace:
    """The trace of a workload; whatever is no request is a key of its own."""
    return run_workload(
        parse_workload({"requests": requests, **rest}, "test.yaml"), free_order=True
    )
