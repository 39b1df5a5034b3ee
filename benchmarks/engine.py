"""How fast a step of the reference engine is, beside the real scheduler's, and what it depends on.

    python benchmarks/engine.py

Times ``schedule`` and ``update_from_output``, the model left out, on the two engines in turn.
Exits with 1 when a goal is missed. Needs the oracle (``vllmlings oracle install``) for the
comparison and says so when it is not there.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import workloads

from reference.engine import Engine
from reference.workload import Workload, parse_workload

ROOT = Path(__file__).parents[1]
ORACLE = ROOT / ".oracle" / "venv" / "bin" / "python"

RATIO_GOAL = 0.25
GROWTH_GOAL = 0.20
ROUNDS = 7

COMPARED: dict[str, dict[str, Any]] = {
    "4 running": workloads.decoding(4, steps=200),
    "128 running": workloads.decoding(128, steps=100),
    "shared prefix, much coming and going": workloads.shared_prefix(steps=150),
    "tight memory, fcfs": workloads.tight_memory("fcfs", steps=200),
    "tight memory, priority": workloads.tight_memory("priority", steps=200),
}

Timer = Callable[[dict[str, Any]], list[float]]


@dataclass(frozen=True)
class Figure:
    """One measured number with the goal that it must not pass."""

    name: str
    detail: str
    value: float
    goal: float

    @property
    def reached(self) -> bool:
        return self.value <= self.goal

    def __str__(self) -> str:
        word = "reached" if self.reached else "MISSED"
        return f"{self.name:<38} {self.detail:<32} {self.value:>6.3f}  goal {self.goal:.2f}  {word}"


def time_steps(data: dict[str, Any]) -> list[float]:
    """Seconds of each step of the reference engine's scheduler."""
    return time_workload(parse_workload(data, "bench"))


def time_workload(workload: Workload) -> list[float]:
    """Seconds of ``schedule`` and ``update_from_output`` together, step by step."""
    engine = Engine(workload)
    scheduler = engine.scheduler
    arrivals = sorted(workload.requests, key=lambda request: request.arrival, reverse=True)
    seconds: list[float] = []
    while (arrivals or scheduler.has_requests()) and len(seconds) < workload.max_steps:
        while arrivals and arrivals[-1].arrival <= len(seconds):
            scheduler.add_request(engine.make_request(arrivals.pop()))
        begin = time.perf_counter()
        output = scheduler.schedule()
        middle = time.perf_counter()
        requests = scheduler.requests
        sampled = {
            i: [] if requests[i].is_prefill_chunk else [7] for i in output.num_scheduled_tokens
        }
        resumed = time.perf_counter()
        scheduler.update_from_output(output, sampled)
        seconds.append(middle - begin + time.perf_counter() - resumed)
    return seconds


class RealTimer:
    """The same, of vLLM's scheduler, in a process of the oracle's environment."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        quiet = {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [str(ORACLE), str(Path(__file__).with_name("real_steps.py")), str(writer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | quiet,
            pass_fds=[writer],
        )
        os.close(writer)
        self._answers = os.fdopen(reader)

    def __call__(self, data: dict[str, Any]) -> list[float]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(data) + "\n")
        self._process.stdin.flush()
        answer = self._answers.readline()
        if not answer:
            raise RuntimeError("benchmarks/real_steps.py ended; run it in the oracle to see why")
        seconds: list[float] = json.loads(answer)
        return seconds

    def close(self) -> None:
        """Lets the process end."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._answers.close()


def measure_in_turn(
    first: Callable[[], list[float]], second: Callable[[], list[float]]
) -> tuple[float, float]:
    """Median step of each, in seconds: its best of several rounds in which both take turns.

    A round before them warms up. Others on the machine can only slow a round down, so the best
    one says most about the engine.
    """
    first()
    second()
    rounds = [(median(first()), median(second())) for _ in range(ROUNDS)]
    return min(of_first for of_first, _ in rounds), min(of_second for _, of_second in rounds)


def compare(real: Timer) -> list[Figure]:
    """The reference engine's step as a share of the real one's."""
    figures = []
    for name, data in COMPARED.items():
        mine, theirs = measure_in_turn(partial(time_steps, data), partial(real, data))
        detail = f"{mine * 1e6:.0f} µs of {theirs * 1e6:.0f} µs"
        figures.append(_show(Figure(name, detail, mine / theirs, RATIO_GOAL)))
    return figures


def growth() -> list[Figure]:
    """What a step costs more when there is more that it does not touch."""
    small = parse_workload(workloads.crowded(10, 1000, steps=100), "small")
    figures = []
    for name, data in {
        "100,000 waiting instead of 10": workloads.crowded(100_000, 1000, steps=100),
        "1,000,000 blocks instead of 1,000": workloads.crowded(10, 1_000_000, steps=100),
    }.items():
        large = parse_workload(data, "large")
        before, after = measure_in_turn(
            partial(time_workload, small), partial(time_workload, large)
        )
        detail = f"{before * 1e6:.1f} µs, then {after * 1e6:.1f} µs"
        figures.append(_show(Figure(name, detail, after / before - 1, GROWTH_GOAL)))
    return figures


def _show(figure: Figure) -> Figure:
    print(figure, flush=True)
    return figure


def main() -> int:
    """Prints each figure with its goal; 1 when one is missed."""
    print("median step: schedule + update_from_output, without the model\n")
    figures = growth()
    if not ORACLE.exists():
        print("\nno oracle here: `vllmlings oracle install` makes the comparison possible")
        return 1
    real = RealTimer()
    try:
        figures += compare(real)
    finally:
        real.close()
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
