"""What the real engine decided, as recorded, is what the reference engine decides."""

from pathlib import Path

import coverage
import msgspec
import pytest

from grader.oracle.record import PIN, load, trace_path, workload_sha256
from grader.oracle.situations import SITUATIONS, situations
from grader.workloads import read_workload
from reference import (
    async_scheduler,
    block_pool,
    hybrid_kv_cache_manager,
    kv_cache_coordinator,
    kv_cache_manager,
    model_runner,
    request_queue,
    sched_utils,
    scheduler,
    single_type_kv_cache_manager,
    waiting_queues,
)
from reference.engine import run_workload

TRACES = Path(__file__).parents[1] / "traces"
WORKLOADS = sorted(TRACES.glob("*.yaml"))

#: What no workload can reach, by a word in the function's name or in the branch's line.
OUT_OF_REACH = {
    "who is asked for blocks lacks one": ("_extend: if not num_missing",),
    "the synchronous scheduler expects no outputs": ("Scheduler._add_expected_outputs: never",),
    "a workload has one client, which is not told the finished set": ("_finished_by_client",),
    "the engine always asks for statistics": ("log_stats",),
    "the engine aborts one request at a time": ("request_ids is None", "if not unwanted"),
    "every kind of group looks up in its own way": (
        "SingleTypeKVCacheManager.find_longest_cache_hit",
    ),
    "a workload has no pause; the engine core's loop has": ("pause_state",),
    "what other releases do; the capstones' own tests run it": ("variants.", "min_tokens_first"),
    "a wrong use of a part": ("raise", "in self.requests:", "num_new_tokens == 0"),
    "for lessons and other callers; the engine has no use for it": (
        "not delay_cache_blocks",
        "BlockPool.evict_blocks",
        "BlockPool.block_hash",
        "BlockPool.cache_full_blocks",
        "KVCacheManager.free_order",
        "KVCacheManager.get_block_ids",
        "RequestQueue.remove_request",
        "count < 2",
    ),
}
EXCUSED = [word for words in OUT_OF_REACH.values() for word in words]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.stem)
def test_the_reference_engine_repeats_what_vllm_decided(workload: Path) -> None:
    recorded = load(trace_path(workload))
    trace = run_workload(read_workload(workload), free_order=True)
    for ours, theirs in zip(trace.steps, recorded.trace.steps, strict=False):
        assert ours.differing_fields(theirs) == [], f"step {ours.step}"
    assert trace == recorded.trace


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.stem)
def test_a_trace_is_of_this_workload_and_this_release(workload: Path) -> None:
    recorded = load(trace_path(workload))
    assert recorded.pin == PIN
    assert recorded.workload_sha256 == workload_sha256(workload), (
        f"{workload.name} has changed: run `vllmlings oracle record {workload}`"
    )


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.stem)
def test_a_workload_says_in_its_first_line_what_it_is_for(workload: Path) -> None:
    assert workload.read_text().startswith("# ")


def test_every_trace_has_its_workload() -> None:
    traces = {path.name for path in TRACES.glob("*.trace.json")}
    assert traces == {trace_path(workload).name for workload in WORKLOADS}


def test_the_workloads_reach_every_situation() -> None:
    reached: set[str] = set()
    for workload in WORKLOADS:
        reached |= set(situations(read_workload(workload), load(trace_path(workload)).trace))
    assert reached == set(SITUATIONS)


def test_the_workloads_reach_every_branch_of_the_engine(tmp_path: Path) -> None:
    unreached = {
        branch
        for branch in _unreached_branches(tmp_path / "coverage.json")
        if not any(word in branch for word in EXCUSED)
    }
    assert unreached == set()


def _unreached_branches(report: Path) -> list[str]:
    """Branches of the engine's modules that no workload takes, as `function: line of code`."""
    modules = (
        async_scheduler,
        block_pool,
        hybrid_kv_cache_manager,
        kv_cache_coordinator,
        kv_cache_manager,
        model_runner,
        request_queue,
        sched_utils,
        scheduler,
        single_type_kv_cache_manager,
        waiting_queues,
    )
    files = [module.__file__ for module in modules]
    measured = coverage.Coverage(branch=True, data_file=None, include=files, config_file=False)
    measured.exclude(r"class .*\bProtocol\b")
    with measured.collect():
        for workload in WORKLOADS:
            run_workload(read_workload(workload), free_order=True)
    measured.json_report(outfile=str(report))
    unreached = []
    for path, measurement in msgspec.json.decode(report.read_bytes())["files"].items():
        lines = Path(path).read_text().splitlines()
        for name, function in measurement["functions"].items():
            if not name:
                continue
            if function["missing_lines"] and not function["executed_lines"]:
                unreached.append(f"{name}: never called")
                continue
            starts = [start for start, _ in function["missing_branches"]]
            unreached += [f"{name}: {lines[start - 1].strip()}" for start in starts]
    return unreached
