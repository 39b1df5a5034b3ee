"""What the real code of both releases does with each scenario, beside what the model says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.capstone.change import Change, read_change
from grader.capstone.draw import Exam
from grader.capstone.exam import Capstone
from grader.capstone.outcome import Facts
from grader.capstone.releases import release, unpacked
from grader.capstone.scenario import SIDES
from grader.files import write_atomically
from manifest.errors import WrongHash


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of one scenario: its facts on a release, and in which the model says otherwise."""

    scenario: str
    side: str
    release: str
    student: str | None
    facts: Facts
    differing: tuple[str, ...]
    model: Facts

    @property
    def agrees(self) -> bool:
        return not self.differing


def measure(
    exams: Sequence[Exam], say: Callable[[str], None] = lambda _line: None
) -> list[Compared]:
    """Run the scenarios of exams of one capstone on both its releases.

    Raises `OracleMissing`, ReleaseMissing, WrongHash where a release's file is not the one that
    `diff.yaml` names, and the worker's errors.
    """
    change = read_change(exams[0].capstone.diff_file)
    compared = []
    for side, version in zip(SIDES, (change.before, change.after), strict=True):
        with release(version, say) as run:
            _check_files(change, side, version)
            for exam in exams:
                for scenario in exam.scenarios.values():
                    facts = plain(run(scenario.kind, scenario.inputs, scenario.sides[side]))
                    both = exam.outcomes[scenario.name]
                    model = plain((both.before if side == "before" else both.after).facts)
                    differing = tuple(differing_facts(model, facts))
                    compared.append(
                        Compared(
                            scenario.name, side, version, exam.student, facts, differing, model
                        )
                    )
    return compared


def differing_facts(one: Facts, other: Facts) -> Iterable[str]:
    """The names of facts that are not the same, or not on both sides."""
    for name in {**one, **other}:
        if name not in one or name not in other or one[name] != other[name]:
            yield name


def plain(facts: Any) -> Facts:
    """Facts as JSON gives them back: a tuple is a list."""
    decoded: Facts = json.loads(json.dumps(facts))
    return decoded


def record(capstone: Capstone, compared: Sequence[Compared]) -> Path:
    """Write what was measured beside the scenarios; returns the file's path."""
    change = read_change(capstone.diff_file)
    lines = []
    for name in capstone.scenarios:
        sides = {one.side: one.facts for one in compared if one.scenario == name}
        told = ",\n".join(f"  {json.dumps(side)}: {json.dumps(sides[side])}" for side in SIDES)
        head = f'"sha256": "{scenario_sha256(capstone, name)}"'
        lines.append(f"{json.dumps(name)}: {{\n  {head},\n{told}\n}}")
    body = ",\n".join(lines)
    text = (
        f'{{\n"before": "{change.before}",\n"after": "{change.after}",\n'
        f'"scenarios": {{\n{body}\n}}\n}}\n'
    )
    write_atomically(capstone.measured_file, text)
    return capstone.measured_file


def recorded(capstone: Capstone) -> dict[str, Any]:
    """What `record` wrote; raises FileNotFoundError where nothing was measured."""
    data: dict[str, Any] = json.loads(capstone.measured_file.read_text(encoding="utf-8"))
    return data


def scenario_sha256(capstone: Capstone, name: str) -> str:
    """What names the scenario that was measured."""
    path = capstone.folder / "scenarios" / f"{name}.yaml"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_files(change: Change, side: str, version: str) -> None:
    """The code that is measured is the code whose difference is shown."""
    here = unpacked(version)
    assert here is not None
    for file in change.files:
        expected = file.before_sha256 if side == "before" else file.after_sha256
        found = hashlib.sha256(here.read(file.path)).hexdigest()
        if found != expected:
            raise WrongHash(f"vllm {version}: {file.path}", expected, found)
