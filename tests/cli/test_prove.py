"""`vllmlings prove`: what is proven, what is printed, the exit code."""

import json
from collections.abc import Sequence

import pytest
from running import Run

from grader.lessons import Lesson, names
from grader.prove import prover
from grader.prove.proof import Proof, RealEngine, Shortfall, Tally

SHORT = Shortfall("mutant x survives", "grader/mutants/kv_cache/block_pool.yaml", "strengthen it")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lessons that were to be proven; block_hashing alone falls short."""
    lessons: list[str] = []

    def prove(given: Sequence[Lesson], *_: object) -> list[Proof]:
        lessons.extend(lesson.name for lesson in given)
        return [proof_of(lesson.name) for lesson in given]

    monkeypatch.setattr(prover, "prove", prove)
    return lessons


def proof_of(lesson: str) -> Proof:
    holds = lesson != "kv_cache/block_hashing"
    return Proof(
        lesson=lesson,
        stub_fails=True,
        stub_agrees=True,
        solution_passes=True,
        alternatives=Tally(2, 2, 2),
        mutants=Tally(12 if holds else 11, 12, 10),
        real=RealEngine("not_asked"),
        text_complete=True,
        shortfalls=[] if holds else [SHORT],
    )


def test_a_proven_lesson_is_a_row_and_exit_code_0(run: Run, asked: list[str]) -> None:
    ran = run("prove", "block_pool")
    assert (ran.code, asked) == (0, ["kv_cache/block_pool"])
    assert ran.out.splitlines()[-1] == "1 of 1 lesson proven · 12 of 12 mutants killed"
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_shortfall_is_one_line_and_exit_code_1(run: Run, asked: list[str]) -> None:
    ran = run("prove", "block_hashing")
    assert ran.code == 1
    assert f"✗ {SHORT}" in ran.out.splitlines()
    assert asked


def test_a_topic_is_all_of_its_lessons(run: Run, asked: list[str]) -> None:
    run("prove", "kv_cache")
    assert sorted(asked) == [name for name in names() if name.startswith("kv_cache/")]


@pytest.mark.parametrize("args", [("prove",), ("prove", "--all")])
def test_without_a_name_everything_is_proven(
    run: Run, asked: list[str], args: tuple[str, ...]
) -> None:
    run(*args)
    assert sorted(asked) == names()


def test_json_is_a_list_of_proofs(run: Run, asked: list[str]) -> None:
    (proof,) = json.loads(run("prove", "block_pool", "--json").out)
    assert proof["mutants"] == {"good": 12, "all": 12, "wanted": 10}
    assert asked


def test_wrong_uses_are_one_line_and_exit_code_2(run: Run, asked: list[str]) -> None:
    for args in (("prove", "block_pol"), ("prove", "block_pool", "--all")):
        ran = run(*args)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert asked == []
