"""A lesson's proof: what is right passes, what is wrong fails, and each shortfall is one line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.lessons import Lesson
from grader.places import places
from grader.prove import tried
from grader.prove.mutants import file_of
from grader.prove.proof import Proof
from grader.prove.prover import gather, judge, prove
from grader.prove.trials import alternatives_folder
from grader.prove.tried import Outcome
from grader.stub import write_all

MUTANTS = """\
- {name: first, mistake: Takes the first., replace: "self.ids.pop()", with: "self.ids.pop(0)"}
- {name: renamed, mistake: None., replace: "the stack is empty\\")", with: "it is empty\\")"}
- {name: outdated, mistake: Gone., replace: "self.gone", with: "self.here"}
"""
ALTERNATIVE = """class Stack:
    def __init__(self, ids):
        self.ids = tuple(ids)

    def pop(self):
        *rest, last = self.ids
        self.ids = rest
        return last

    def push(self, ids):
        self.ids = (*self.ids, *ids)
"""


@pytest.fixture
def lesson(tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lesson]:
    """The toy lesson with three mutants and two alternatives, in a home of its own."""
    monkeypatch.setenv("VLLMLINGS_HOME", str(tmp_path / "home"))
    places.cache_clear()
    lesson: Lesson = toy.write(tmp_path)
    write_all(tmp_path)
    file_of(lesson).parent.mkdir(parents=True)
    file_of(lesson).write_text(MUTANTS)
    folder = alternatives_folder(lesson)
    folder.mkdir(parents=True)
    (folder / "tuples.py").write_text(ALTERNATIVE)
    (folder / "wrong.py").write_text(ALTERNATIVE.replace("*rest, last", "last, *rest"))
    yield lesson
    places.cache_clear()


def proved(lesson: Lesson, fresh: bool = False) -> Proof:
    (proof,) = prove([lesson], lambda _: None, False, fresh, 2, lambda _done, _total: None)
    return proof


def test_it_tells_right_from_wrong(lesson: Lesson) -> None:
    proof = proved(lesson)
    assert proof.stub_fails
    assert proof.stub_agrees
    assert proof.solution_passes
    assert (proof.alternatives.good, proof.alternatives.all) == (1, 2)
    assert (proof.mutants.good, proof.mutants.all) == (1, 3)
    lines = [str(shortfall) for shortfall in proof.shortfalls]
    mutants, folder = "grader/mutants/toy/stack.yaml", "grader/alternatives/toy/stack"
    assert f"mutant renamed survives: {mutants}: strengthen the suite" in lines[2]
    assert lines[0].startswith("mutant outdated: its `replace` stands 0 times in the solution: ")
    assert lines[1].startswith(f"alternative wrong is rejected: {folder}/wrong.py: it fails ")
    assert f"3 of 10 mutants: {mutants}" in lines[3]
    assert lines[4] == "there is no text: exercises/toy/stack.md: write it"


def test_what_has_not_changed_is_not_tried_again(
    lesson: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = proved(lesson)

    def no_pool(*_: object) -> None:
        raise AssertionError("something was tried again")

    monkeypatch.setattr(tried, "ProcessPoolExecutor", no_pool)
    assert proved(lesson) == before
    with pytest.raises(AssertionError, match="tried again"):
        proved(lesson, fresh=True)
    lesson.suite.write_text(lesson.suite.read_text() + "\n")
    with pytest.raises(AssertionError, match="tried again"):
        proved(lesson)


def test_a_stub_that_is_not_what_the_solution_cuts_to_falls_short(lesson: Lesson) -> None:
    lesson.stub.write_text("# mine\n")
    case = gather(lesson, oracle=False)
    outcomes = {trial: Outcome("passed" if trial.must_pass else "failed") for trial in case.trials}
    proof = judge(case, outcomes, lambda _: None, oracle=False)
    assert not proof.stub_agrees
    assert "run `vllmlings stubs`" in str([str(one) for one in proof.shortfalls])


def test_skips_of_the_real_engine_must_be_needed(lesson: Lesson) -> None:
    adapter = lesson.root / "grader" / "adapters" / "toy" / "stack.py"
    adapter.parent.mkdir(parents=True)
    adapter.write_text('SKIPS = {"test_a": "Simpler.", "test_b": "Simpler.", "test_c": "Simpler."}')
    case = gather(lesson, oracle=False)
    from grader.prove.adapter import adapter_of
    from grader.prove.trials import real_trial

    case.adapter = adapter_of(lesson)
    case.trials.append(real_trial(lesson, adapter))
    outcomes = {trial: Outcome("passed" if trial.must_pass else "failed") for trial in case.trials}
    outcomes[case.trials[-1]] = Outcome("failed", failed=["test_a", "test_d"], passed=["test_b"])
    proof = judge(case, outcomes, lambda _: None, oracle=True)
    assert proof.real.outcome == "failed"
    lines = [str(one) for one in proof.shortfalls if "real" in one.what or "SKIPS" in one.what]
    assert [line.split(":")[0] for line in lines] == [
        "the real vLLM fails test_d",
        "SKIPS names test_b, which the real vLLM passes",
        "SKIPS names test_c, which is no check",
    ]


def test_a_lesson_without_a_suite_says_so(tmp_path: Path, toy: Any) -> None:
    lesson: Lesson = toy.write(tmp_path)
    lesson.suite.unlink()
    (first, *_) = gather(lesson, oracle=False).shortfalls
    assert str(first) == "there is no suite: grader/suites/toy/stack.py: write it"
