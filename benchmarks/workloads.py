"""The workloads on which engines are timed, as plain data; longer than any that a test runs."""

from typing import Any


def decoding(num_requests: int, *, steps: int) -> dict[str, Any]:
    """So many requests that all run together, with room for everything."""
    return {
        "engine": _engine(max_num_seqs=num_requests, num_gpu_blocks=8192),
        "requests": [
            _request(i, length=100 + i % 50, max_tokens=steps) for i in range(num_requests)
        ],
    }


def tight_memory(policy: str, *, steps: int) -> dict[str, Any]:
    """Thirty-two seats and blocks for about twenty: requests preempt each other again and again."""
    return {
        "engine": _engine(max_num_seqs=32, num_gpu_blocks=300, policy=policy),
        "max_steps": steps,
        "requests": [
            _request(i, length=100 + i % 50, max_tokens=200, priority=i % 3) for i in range(64)
        ],
    }


def shared_prefix(*, steps: int) -> dict[str, Any]:
    """Short requests with a common beginning come and go: admissions, hits and ends every step."""
    return {
        "engine": _engine(max_num_seqs=32, num_gpu_blocks=1024),
        "max_steps": steps,
        "prefixes": {"system": {"length": 256, "seed": 1}},
        "requests": [
            {
                "id": f"r{i}",
                "prompt": {"prefix": "system", "length": 40, "seed": i},
                "arrival": i // 2,
                "max_tokens": 8 + i % 5,
            }
            for i in range(2 * steps)
        ],
    }


def crowded(num_waiting: int, num_gpu_blocks: int, *, steps: int) -> dict[str, Any]:
    """Eight seats, all taken, and so many requests that wait for one."""
    running = [_request(i, length=100, max_tokens=20 + 5 * i) for i in range(8)]
    waiting = [
        {"id": f"w{i}", "prompt": [i % 1000, 1, 2, 3], "max_tokens": steps}
        for i in range(num_waiting)
    ]
    return {
        "engine": _engine(max_num_seqs=8, num_gpu_blocks=num_gpu_blocks),
        "max_steps": steps,
        "requests": running + waiting,
    }


def _engine(**limits: Any) -> dict[str, Any]:
    return {"block_size": 16, "max_model_len": 2048, "max_num_batched_tokens": 2048} | limits


def _request(i: int, length: int, max_tokens: int, priority: int = 0) -> dict[str, Any]:
    prompt = {"length": length, "seed": i}
    return {"id": f"r{i}", "prompt": prompt, "max_tokens": max_tokens, "priority": priority}
