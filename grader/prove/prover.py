"""Proves lessons: gathers their trials, has them tried, and judges what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.lessons import Lesson
from grader.prove import adapter, mutants
from grader.prove.adapter import Adapter, MalformedAdapter
from grader.prove.mutants import BrokenMutant
from grader.prove.proof import Proof, RealEngine, Shortfall, Tally
from grader.prove.text import Find, text_shortfalls
from grader.prove.trials import (
    Trial,
    alternative_trials,
    alternatives_folder,
    mutant_trial,
    real_trial,
    solution_trial,
    stub_trial,
)
from grader.prove.tried import Outcome, try_all
from grader.stub import StubError, is_stub

ALTERNATIVES_WANTED = 2
MUTANTS_WANTED = 10
STRENGTHEN = "strengthen the suite, or say why the edit changes nothing and remove it"


@dataclass
class Case:
    """A lesson with its trials, and what fell short while these were gathered."""

    lesson: Lesson
    trials: list[Trial] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    num_mutants: int = 0
    adapter: Adapter | None = None

    def lacks(self, what: str, file: str, fix: str) -> None:
        self.shortfalls.append(Shortfall(what, file, fix))


def prove(
    lessons: Sequence[Lesson],
    find: Find,
    oracle: bool,
    fresh: bool,
    jobs: int,
    tell: Callable[[int, int], None],
) -> list[Proof]:
    """The proof of each lesson.

    `find` knows the symbols of vLLM, `oracle` has the real vLLM graded too, `fresh` leaves what is
    remembered alone, `jobs` is how many processes share the trials, and `tell` hears how many of
    how many trials are done.

    Raises:
        OracleMissing: the real vLLM is asked for and not installed.
    """
    cases = [gather(lesson, oracle) for lesson in lessons]
    trials = [trial for case in cases for trial in case.trials]
    outcomes = try_all(trials, fresh, jobs, tell)
    return [judge(case, outcomes, find, oracle) for case in cases]


def gather(lesson: Lesson, oracle: bool) -> Case:
    """The lesson's trials, and what makes one impossible."""
    case = Case(lesson)
    for path, what in ((lesson.solution, "solution"), (lesson.suite, "suite")):
        if not path.is_file():
            case.lacks(f"there is no {what}", _shown(lesson, path), "write it")
    if case.shortfalls:
        return case
    try:
        case.trials.append(stub_trial(lesson))
    except StubError as error:
        case.lacks("no stub can be cut", str(error), "mend the solution's marks")
        return case
    case.trials += [solution_trial(lesson), *alternative_trials(lesson)]
    _add_mutants(case)
    if oracle:
        _add_real(case)
    return case


def _add_mutants(case: Case) -> None:
    file = _shown(case.lesson, mutants.file_of(case.lesson))
    solution = case.lesson.solution.read_text(encoding="utf-8")
    try:
        found = mutants.mutants_of(case.lesson)
    except BrokenMutant as error:
        case.lacks(str(error), file, "give each mutant name, mistake, replace and with")
        return
    case.num_mutants = len(found)
    for mutant in found:
        try:
            case.trials.append(mutant_trial(case.lesson, mutant, solution))
        except BrokenMutant as error:
            case.lacks(str(error), file, "follow the solution as it is now")


def _add_real(case: Case) -> None:
    lesson = case.lesson
    file = _shown(lesson, adapter.file_of(lesson))
    try:
        case.adapter = adapter.adapter_of(lesson)
    except MalformedAdapter as error:
        case.lacks(str(error), file, "write the constant as a literal")
        return
    if case.adapter is None:
        case.lacks("there is no adapter", file, "put the real vLLM behind the lesson's interface")
    elif not case.adapter.not_drivable:
        case.adapter.interpreter()  # raises OracleMissing before anything is tried
        case.trials.append(real_trial(lesson, case.adapter.file))


def judge(case: Case, outcomes: Mapping[Trial, Outcome], find: Find, oracle: bool) -> Proof:
    """The proof of a lesson from what became of its trials."""
    lesson = case.lesson
    short = list(case.shortfalls)
    good: dict[str, int] = {}
    for trial in case.trials:
        outcome = outcomes[trial]
        if trial.kind == "real":
            continue
        wrong = list(_of_trial(case, trial, outcome))
        short += wrong
        good[trial.kind] = good.get(trial.kind, 0) + (not wrong)
    num_alternatives = sum(trial.kind == "alternative" for trial in case.trials)
    alternatives = Tally(good.get("alternative", 0), num_alternatives, ALTERNATIVES_WANTED)
    killed = Tally(good.get("mutant", 0), case.num_mutants, MUTANTS_WANTED)
    short += _too_few(lesson, alternatives, killed)
    agrees = lesson.solution.is_file() and is_stub(lesson, lesson.stub)
    if not agrees:
        what = "the stub is not what the solution cuts to"
        short.append(Shortfall(what, _shown(lesson, lesson.stub), "run `vllmlings stubs`"))
    real, of_real = _real(case, outcomes, oracle)
    of_text = text_shortfalls(lesson, find)
    return Proof(
        lesson=lesson.name,
        stub_fails=good.get("stub", 0) == 1,
        stub_agrees=agrees,
        solution_passes=good.get("solution", 0) == 1,
        alternatives=alternatives,
        mutants=killed,
        real=real,
        text_complete=not of_text,
        shortfalls=[*short, *of_real, *of_text],
    )


def _of_trial(case: Case, trial: Trial, outcome: Outcome) -> Iterator[Shortfall]:
    lesson = case.lesson
    suite = _shown(lesson, lesson.suite)
    name = f"{trial.kind} {trial.name}" if trial.name != trial.kind else f"the {trial.kind}"
    if outcome.status == "grader_error":
        yield Shortfall(f"{name} could not be graded ({outcome.cause})", suite, "mend the suite")
    elif outcome.status == "cannot_load":
        file = trial.submission
        if trial.kind == "mutant":
            file = str(mutants.file_of(lesson))
        yield Shortfall(f"{name} does not load ({outcome.cause})", _short(lesson, file), "mend it")
    elif trial.must_pass and outcome.status != "passed":
        fix = f"it fails {', '.join(outcome.failed)}; mend it, or the suite where it is right"
        yield Shortfall(f"{name} is rejected", _short(lesson, trial.submission), fix)
    elif trial.kind == "mutant" and outcome.status == "passed":
        file = _shown(lesson, mutants.file_of(lesson))
        yield Shortfall(f"{name} survives", file, STRENGTHEN)
    elif trial.kind == "stub" and outcome.status == "passed":
        yield Shortfall("the stub passes", suite, "check what the stub leaves to be written")


def _too_few(lesson: Lesson, alternatives: Tally, killed: Tally) -> Iterator[Shortfall]:
    if alternatives.all < alternatives.wanted:
        what = f"{alternatives.all} of {alternatives.wanted} alternatives"
        folder = _shown(lesson, alternatives_folder(lesson))
        yield Shortfall(what, folder, "write right submissions in a plainly different way")
    if killed.all < killed.wanted:
        what = f"{killed.all} of {killed.wanted} mutants"
        file = _shown(lesson, mutants.file_of(lesson))
        yield Shortfall(what, file, "write down more mistakes that learners make")


def _real(
    case: Case, outcomes: Mapping[Trial, Outcome], oracle: bool
) -> tuple[RealEngine, list[Shortfall]]:
    if not oracle:
        return RealEngine("not_asked"), []
    if case.adapter is None:
        return RealEngine("missing"), []
    if case.adapter.not_drivable:
        return RealEngine("not_drivable", case.adapter.not_drivable), []
    outcome = next(outcomes[trial] for trial in case.trials if trial.kind == "real")
    found = list(_of_real(case.lesson, case.adapter, outcome))
    result = RealEngine("failed" if found else "passed", skips=case.adapter.skips)
    return result, found


def _of_real(lesson: Lesson, real: Adapter, outcome: Outcome) -> Iterator[Shortfall]:
    file = _shown(lesson, real.file)
    if outcome.status in ("grader_error", "cannot_load"):
        what = f"the real vLLM could not be graded ({outcome.cause})"
        yield Shortfall(what, file, "mend the adapter")
        return
    for name in outcome.failed:
        if name not in real.skips:
            what = f"the real vLLM fails {name}"
            yield Shortfall(what, _shown(lesson, lesson.suite), "mend the suite and the text")
    for name in real.skips:
        if name in outcome.passed:
            yield Shortfall(f"SKIPS names {name}, which the real vLLM passes", file, "remove it")
        elif name not in outcome.failed:
            yield Shortfall(f"SKIPS names {name}, which is no check", file, "remove it")


def _shown(lesson: Lesson, path: object) -> str:
    return _short(lesson, str(path))


def _short(lesson: Lesson, path: str) -> str:
    return path.removeprefix(f"{lesson.root}/")
