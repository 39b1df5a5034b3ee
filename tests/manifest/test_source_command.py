"""`vllmlings source` and `manifest add` against an index on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from local_index import NEW, OLD, LocalIndex, content, sdist, wheel

from grader.cli import main
from manifest import pins

POOL = "vllm/core/pool.py"
Ran = tuple[int, str, str]
Run = Callable[..., Ran]


@pytest.fixture
def run(
    index: LocalIndex,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Exit code, stdout and stderr of the command; pip's index is the local one."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    monkeypatch.setenv("VLLMLINGS_CACHE", str(tmp_path / "cache"))

    def ran(*args: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return ran


def test_a_definition_is_shown_with_its_place_and_its_lines(run: Run) -> None:
    code, out, _ = run("source", "Pool.take", "--release", OLD)
    assert code == 0
    head, place, _, first, *rest = out.splitlines()
    whole = content(OLD, POOL).decode().splitlines()
    begin = next(n for n, line in enumerate(whole, start=1) if "def take" in line)
    assert head == "Pool.take · method"
    assert place == f"{POOL}, lines {begin}–{begin + len(rest)} of {len(whole)} · vLLM {OLD}"
    assert first.strip() == f"{begin} {whole[begin - 1]}"
    assert rest[-1].endswith("return taken")


def test_lines_around_it_are_shown_on_demand(run: Run) -> None:
    _, out, _ = run("source", "pool.py:3", "--context", "2", "--release", OLD)
    numbers = [line.removeprefix("❱").split()[0] for line in out.splitlines()[2:]]
    assert numbers == ["1", "2", "3", "4", "5"]
    assert [line for line in out.splitlines() if line.startswith("❱")] == [
        "❱  3 from typing import overload"
    ]


def test_no_line_is_broken_where_the_output_is_no_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    _, out, _ = run("source", "Pool.take", "--release", OLD)
    assert 'raise ValueError("not enough blocks")' in out


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        ((), 2, "name one symbol or file"),
        (("Pool", "--all-cited"), 2, "name one symbol or file"),
        (("Pool.none", "--release", OLD), 1, "Pool.none: not found in vLLM 1.0.0"),
        (("vllm/core/pol.py", "--release", OLD), 1, "did you mean vllm/core/pool.py?"),
        (("Pool", "--release", "3.0"), 1, "has no such release; its newest is 1.1.0"),
        (("pool.py:999", "--release", OLD), 1, "pool.py:999: the file has lines 1 to"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    run: Run, args: tuple[str, ...], code: int, told: str
) -> None:
    got, out, err = run("source", *args)
    assert (got, out) == (code, "")
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_withdrawn_release_is_shown_with_a_warning(run: Run, index: LocalIndex) -> None:
    index.faults.yanked = {NEW}
    code, out, err = run("source", "Pool", "--release", NEW)
    assert code == 0
    assert out
    assert err == f"vllm {NEW} was withdrawn: it was broken\n"


def test_of_another_wheel_in_the_place_of_the_pinned_one_nothing_is_shown(
    run: Run, index: LocalIndex
) -> None:
    pin = pins.load()
    index.files[pin.wheel.name] = wheel(pin.version, tree=OLD)
    index.files[pin.sdist.name] = sdist(OLD)
    for wanted in ("BlockPool.touch", POOL):
        code, out, err = run("source", wanted)
        assert (code, out) == (1, "")
        assert "nothing is shown" in err


def test_offline_one_line_says_how_to_fetch_ahead(run: Run, index: LocalIndex) -> None:
    index.stop()
    code, out, err = run("source", "BlockPool.touch")
    assert (code, out) == (1, "")
    assert err.startswith("vllmlings: vllm/v1/core/block_pool.py: not in the cache")
    assert "vllmlings source --all-cited" in err
    assert len(err.splitlines()) == 1


def test_nothing_is_noted_that_the_pinned_release_cannot_confirm(
    run: Run, index: LocalIndex
) -> None:
    before = pins.PINS_FILE.with_name("symbols.yaml").read_bytes()
    code, _, _ = run("manifest", "add", "BlockPool.touch")
    assert code == 1
    code, _, _ = run("manifest", "add")
    assert code == 2
    assert pins.PINS_FILE.with_name("symbols.yaml").read_bytes() == before
    assert index.wheels_asked() == []


@pytest.mark.parametrize("args", [["read", "block_pool", "--no-pager"], ["list"], ["--version"]])
def test_what_a_learner_does_every_day_needs_no_network_library(args: list[str]) -> None:
    program = (
        "import sys\nfrom grader.cli import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n"
        "    there = {'requests', 'urllib3', 'remotezip', 'pypi_simple', 'pydantic'}\n"
        "    print(*there & {*sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == ""
