"""The engine's steps as a table, and the pool below it, told from the trace alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Run

from grader.lessons import ROOT
from grader.progress import Progress, digest
from grader.report.occupancy import occupancy
from grader.workloads import headline, read_workload
from reference.engine import Engine, run_workload
from reference.trace import Trace

WORKLOADS = sorted((ROOT / "exercises" / "workloads").glob("*.yaml"))
TRACES = sorted((ROOT / "tests" / "traces").glob("*.yaml"))


#: A step takes a request back after its blocks were hashed, and a trace does not tell of that.
UNDONE = {"undone_hash"}


@pytest.mark.parametrize("file", [*WORKLOADS, *TRACES], ids=lambda file: file.stem)
def test_the_pool_is_told_as_the_engine_holds_it(file: Path) -> None:
    workload = read_workload(file)
    engine = Engine(workload, free_order=True)
    steps, hashed = [], []
    pool = range(1, workload.engine.num_gpu_blocks)
    while not engine.done and len(steps) < workload.max_steps:
        steps.append(engine.step())
        hashed.append({block for block in pool if engine.block_pool.block_hash(block)})
    told = list(occupancy(workload, Trace(workload.name, steps)))
    for step, one, real in zip(steps, told, hashed, strict=True):
        assert step.free_block_ids is not None
        assert set(one.holders) == set(pool) - set(step.free_block_ids), step.step
        if workload.engine.kv_cache_groups is None and file.stem not in UNDONE:
            assert one.hashed == real, step.step


def test_rows_are_requests_and_columns_are_steps(run: Run) -> None:
    lines = run("engine", "first_steps").out.splitlines()
    header = next(line for line in lines if line.startswith("step "))
    assert header.split() == ["step", *map(str, range(12))]
    row = next(line for line in lines if line.startswith("c  "))
    assert row.split() == ["c", "P9", "×", "·", "·", "P2+8", "d1", "d1", "d1■"]


def test_every_mark_is_in_the_legend(run: Run) -> None:
    page = run("engine", "first_steps").out
    for words in ("prompt that is not done", "decode", "prefix cache", "preempted", "waits"):
        assert words in page


@pytest.mark.parametrize("file", TRACES, ids=lambda file: file.stem)
def test_every_workload_fits_80_columns(run: Run, file: Path) -> None:
    ran = run("engine", str(file))
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80


def test_an_abort_is_marked_in_the_step_that_hands_it_out(run: Run) -> None:
    page = run("engine", str(ROOT / "tests" / "traces" / "abort_while_waiting.yaml")).out
    assert any("†" in line for line in page.splitlines() if not line.startswith(("d1", "†")))
    assert "aborted before step" in page


def test_many_steps_wrap_into_panels_and_are_cut(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("requests: [{id: a, prompt: [1], max_tokens: 100}]", encoding="utf-8")
    page = run("engine", str(file)).out
    assert sum(line.startswith("step ") for line in page.splitlines()) == 4
    assert "… 41 more steps: --steps 101" in page


def test_a_pool_too_large_to_draw_is_said_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_text(
        "engine: {num_gpu_blocks: 65}\nrequests: [{id: a, prompt: [1], max_tokens: 1}]",
        encoding="utf-8",
    )
    assert "65 blocks are too many to draw" in run("engine", str(file)).out


def test_a_workload_without_requests_is_shown_too(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("requests: []", encoding="utf-8")
    assert run("engine", str(file)).code == 0


def test_json_is_the_trace(run: Run) -> None:
    data = json.loads(run("engine", "first_steps", "--json").out)
    workload = read_workload(ROOT / "exercises" / "workloads" / "first_steps.yaml")
    assert Trace.from_dict(data) == run_workload(workload)


def test_without_a_workload_all_are_listed_with_what_they_are_about(run: Run) -> None:
    ran = run("engine")
    assert ran.code == 0
    for file in (ROOT / "exercises" / "workloads").glob("*.yaml"):
        assert f"\n{file.stem} " in f"\n{ran.out}"
        assert headline(file).split(" ")[0] in ran.out
        assert headline(file), f"{file.name} begins with no comment"
    assert max(map(len, ran.out.splitlines())) <= 80


def test_mine_without_a_pass_names_where_to_begin(run: Run) -> None:
    ran = run("engine", "first_steps", "--mine")
    assert ran.code == 2
    assert "none of your parts has passed yet" in ran.err
    assert "vllmlings watch token_budget" in ran.err
    assert ran.err.count("\n") == 1


def test_mine_names_a_part_that_was_edited_since_it_passed(
    run: Run, home: Path, solve: Callable[[str], Path]
) -> None:
    for lesson in ("kv_cache/block_pool", "kv_cache/kv_cache_manager"):
        with Progress(home / ".vllmlings").change(lesson) as record:
            record.passed_digest = digest(solve(lesson))
    with (home / "exercises" / "kv_cache" / "block_pool.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    page = run("engine", "first_steps", "--mine").out
    assert "running on your own kv_cache/kv_cache_manager\n" in page
    assert "without kv_cache/block_pool, which was edited since passing\n" in page
    with (home / "exercises/kv_cache/kv_cache_manager.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    ran = run("engine", "first_steps", "--mine")
    assert ran.code == 2
    assert "kv_cache/block_pool, kv_cache/kv_cache_manager were edited since passing" in ran.err
    assert "vllmlings grade block_pool" in ran.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("requests: [", "w.yaml: line "),
        ("requests: []\nrequests: []", 'duplicate key "requests"'),
        ("engine: {block_size: x}\nrequests: []", "w.yaml: engine.block_size: got"),
        ("- 1", "w.yaml"),
        ("", "w.yaml"),
    ],
)
def test_a_malformed_workload_gets_one_line(
    run: Run, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(text, encoding="utf-8")
    ran = run("engine", str(file))
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_mine_runs_on_every_part_that_has_passed(
    run: Run, home: Path, solve: Callable[[str], Path]
) -> None:
    for lesson in ("kv_cache/block_pool", "kv_cache/kv_cache_manager"):
        with Progress(home / ".vllmlings").change(lesson) as record:
            record.passed_digest = digest(solve(lesson))
    page = run("engine", "first_steps", "--mine").out
    assert "running on your own kv_cache/block_pool and kv_cache/kv_cache_manager" in page
    mine = run("engine", "first_steps", "--mine", "--json").out
    assert mine == run("engine", "first_steps", "--json").out


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("None", "returned None; a list[int] belongs there"),
        ("iter(())", "; a list[int] belongs there"),
        ("[itself := [], itself.append(itself)][:1]", "; a list[int] belongs there"),
        ("list(range(300_000))", "more than 250,000 values"),
    ],
)
def test_a_part_that_gives_what_the_engine_cannot_use_is_named(
    run: Run, home: Path, solve: Callable[[str], Path], result: str, told: str
) -> None:
    exercise = solve("kv_cache/block_pool")
    with exercise.open("a", encoding="utf-8") as file:
        file.write(f"\n\nBlockPool.get_new_blocks = lambda self, num_blocks: {result}\n")
    with Progress(home / ".vllmlings").change("kv_cache/block_pool") as record:
        record.passed_digest = digest(exercise)
    ran = run("engine", "first_steps", "--mine")
    assert ran.code == 1
    assert "the engine on your kv_cache/block_pool: " in ran.err
    assert "get_new_blocks(" in ran.err
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 1500


def test_a_part_that_fails_while_the_engine_runs_is_named(
    run: Run, home: Path, solve: Callable[[str], Path]
) -> None:
    exercise = solve("kv_cache/block_pool")
    source = exercise.read_text(encoding="utf-8")
    exercise.write_text(source.replace("block_ids = self", "self.missing = self"), encoding="utf-8")
    with Progress(home / ".vllmlings").change("kv_cache/block_pool") as record:
        record.passed_digest = digest(exercise)
    ran = run("engine", "first_steps", "--mine")
    assert ran.code == 1
    assert "the engine on your kv_cache/block_pool: " in ran.err
    assert ran.err.count("\n") == 1
