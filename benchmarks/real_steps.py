"""Times the steps of vLLM's own scheduler. Runs in the oracle's environment.

Each line of stdin is a workload as JSON; each line out, the seconds of its steps. The answers go
to the file descriptor named as the argument, because vLLM prints as it likes.
"""

import json
import os
import sys
import time
from typing import Any

from vllm.v1.outputs import ModelRunnerOutput

from grader.oracle.real_scheduler import build_request, build_scheduler
from reference.workload import Workload, parse_workload


def time_steps(workload: Workload) -> list[float]:
    """Seconds of ``schedule`` and ``update_from_output`` together, step by step."""
    scheduler = build_scheduler(workload.engine)
    arrivals = sorted(workload.requests, key=lambda request: request.arrival, reverse=True)
    seconds: list[float] = []
    while (arrivals or scheduler.has_requests()) and len(seconds) < workload.max_steps:
        while arrivals and arrivals[-1].arrival <= len(seconds):
            scheduler.add_request(build_request(arrivals.pop(), workload))
        begin = time.perf_counter()
        output = scheduler.schedule()
        middle = time.perf_counter()
        model_output = _model_output(scheduler.requests, output.num_scheduled_tokens)
        resumed = time.perf_counter()
        scheduler.update_from_output(output, model_output)
        seconds.append(middle - begin + time.perf_counter() - resumed)
    return seconds


def _model_output(
    requests: dict[str, Any], num_scheduled_tokens: dict[str, int]
) -> ModelRunnerOutput:
    ids = list(num_scheduled_tokens)
    return ModelRunnerOutput(
        req_ids=ids,
        req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
        # A prompt that is not through yet samples nothing.
        sampled_token_ids=[[] if requests[i].is_prefill_chunk else [7] for i in ids],
    )


def main() -> None:
    """Answers until stdin ends."""
    with os.fdopen(int(sys.argv[1]), "w") as answers:
        for line in sys.stdin:
            seconds = time_steps(parse_workload(json.loads(line), "bench"))
            print(json.dumps(seconds), file=answers, flush=True)


if __name__ == "__main__":
    main()
