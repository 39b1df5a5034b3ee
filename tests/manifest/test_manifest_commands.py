"""`vllmlings manifest` and `vllmlings glossary`, as a person runs them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from local_index import NEW, OLD, LocalIndex
from trees_kit import COURSE, POOL, fact, mention, symbol

from grader.cli import main
from grader.report.drift import drift_markdown
from manifest import course, facts, mentions, pins, symbols
from manifest.drift import compare

Ran = tuple[int, str, str]
Run = Callable[..., Ran]
NAMES = ("Pool.take", "Pool.give", "Pool.usage", "Pool.reset", "plan", "score")


@pytest.fixture
def run(
    index: LocalIndex,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Exit code, stdout and stderr; the course is a small one, pinned to the older made-up
    release, and pip's index is the local one."""
    cited = {one.key: one for one in map(symbol, NAMES)}
    stated = {
        "patience": fact("patience", 600, "memory/later", environment="VLLM_PATIENCE_S"),
        "size": fact("size", 16, at="vllm/config.py#CacheConfig.block_size"),
    }
    told = [mention(key, sentence=f"{key} does it.") for key in cited]
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    monkeypatch.setenv("VLLMLINGS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(symbols, "load", lambda: cited)
    monkeypatch.setattr(facts, "load", lambda: stated)
    monkeypatch.setattr(pins, "load", index.pins)
    monkeypatch.setattr(course, "load", lambda: COURSE)
    monkeypatch.setattr(mentions, "mentions", lambda _: told)

    def ran(*args: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return ran


def test_drift_compares_with_the_newest_release_unless_one_is_named(run: Run) -> None:
    code, out, _ = run("manifest", "drift")
    assert code == 0
    assert out.startswith(f"vLLM {OLD} → {NEW}\n")
    assert run("manifest", "drift", "--to", OLD)[1].startswith(f"vLLM {OLD} → {OLD}\n")


def test_drift_tells_what_is_other_code_and_which_lessons_cite_it(run: Run) -> None:
    _, out, _ = run("manifest", "drift")
    rows = [line.split() for line in out.splitlines()]
    assert ["gone", "Pool.reset"] in rows
    assert ["changed", "Pool.take", "+1", "−0"] in rows
    assert ["renamed", "Pool.give", "1.00"] in rows
    assert ["patience", "what", "patience", "is", "600", "300"] in rows
    assert ["memory/pool", "5", "sentences"] in rows
    assert not any(row[1:2] == ["plan"] for row in rows)
    assert any(row[1:2] == ["plan"] for row in map(str.split, run_all(run).splitlines()))


def run_all(run: Run) -> str:
    return run("manifest", "drift", "--all")[1]


def test_drift_as_data_has_all_of_it(run: Run) -> None:
    code, out, _ = run("manifest", "drift", "--json")
    data = json.loads(out)
    assert code == 0
    assert {one["key"].partition("#")[2]: one["status"] for one in data["symbols"]} == {
        "Pool.take": "changed",
        "Pool.give": "renamed",
        "Pool.usage": "renamed",
        "Pool.reset": "gone",
        "plan": "moved",
        "score": "changed",
    }
    assert [one["status"] for one in data["facts"]] == ["changed", "same"]


def test_drift_as_an_issue_has_one_box_for_each_sentence(run: Run) -> None:
    _, out, _ = run("manifest", "drift", "--markdown")
    assert out.splitlines()[0] == f"What vLLM {NEW} has changed in what the course cites of {OLD}."
    assert out.count("- [ ] `exercises/memory/pool.md:1`") == 5
    assert "### memory/later\n\n- [ ] fact:patience (no text states it yet)" in out


def test_an_issue_without_anything_to_review_has_no_heading() -> None:
    """The workflow opens no issue then."""
    from trees_kit import OLD as TREE

    drift = compare(TREE, TREE, [symbol("plan")], [], [], COURSE)
    assert "#" not in drift_markdown(drift)


def test_drift_reads_only_files_that_are_cited_or_near(run: Run, index: LocalIndex) -> None:
    run("manifest", "drift")
    whole = [path for path, part in index.asked if path.endswith(".whl") and not part]
    assert whole == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--to", "9.9.9"), "9.9.9"),
        (("--to",), "--to"),
    ],
)
def test_a_release_that_there_is_not_is_one_clear_line(
    run: Run, args: tuple[str, ...], told: str
) -> None:
    code, out, err = run("manifest", "drift", *args)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith("vllmlings: ")
    assert told in err
    assert len(err.splitlines()) == 1


def test_without_a_network_drift_says_so(run: Run, index: LocalIndex) -> None:
    index.faults.status = 503
    code, _, err = run("manifest", "drift", "--to", NEW)
    assert code == 1
    assert len(err.splitlines()) == 1


def test_repin_says_what_stands_in_the_way_and_how_to_go_on(run: Run) -> None:
    code, out, _ = run("manifest", "repin", NEW)
    assert code == 1
    assert out.startswith("Nothing was changed: 2 entries must be mapped or dropped first.")
    assert f"--map '{POOL}#Pool.usage={POOL}#Pool.share_in_use'" in out
    assert f"--drop '{POOL}#Pool.reset'" in out


def test_repin_wants_both_sides_of_a_map(run: Run) -> None:
    code, _, err = run("manifest", "repin", NEW, "--map", "a=")
    assert code == 2
    assert "say it as OLD=NEW" in err


def test_the_checked_in_manifest_is_checked_without_a_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")
    with pytest.raises(SystemExit) as ended:
        main(["manifest", "check"])
    assert ended.value.code == 0
    assert "as last read from the release" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        ((), 0, "watermark"),
        (("null", "block"), 0, "vllmlings read kv_cache/block_pool"),
        (("slot",), 0, "model_execution/slot_mapping, still to come"),
        (("attention",), 0, "cascade attention"),
        (("--lesson", "preemption"), 0, "victim"),
        (("watermrk",), 2, "did you mean watermark?"),
        (("--lesson", "nothing"), 2, "no such lesson"),
        (("--lesson", "capstone/load_balancer_ties"), 2, "no term"),
    ],
)
def test_the_glossary_tells_a_term(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], code: int, told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["glossary", *args])
    captured = capsys.readouterr()
    assert ended.value.code == code
    assert told in (captured.out if code == 0 else captured.err)
