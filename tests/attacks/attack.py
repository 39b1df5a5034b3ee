"""An attack: what it stands on, what it adds to that, and the verdict that it must get.

Each file in `submissions/` begins with three comments. `tries` says what it attempts. `base` is
what the attack is appended to: the solution, or a wrong one that fails some checks. `verdict` is
what the whole must get:

- `same`: status and points are those of the base alone; the attack has gained and lost nothing.
- `less`: it does not pass, and has no more points than the base.
- `none`: it does not pass, and has no points.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from grader import lessons
from grader.prove.mutants import mutants_of

LESSON = lessons.find("kv_cache/block_pool")
#: Blocks that still have a user go back to the free list.
WRONG = "freed_by_the_first_user"

Base = Literal["solution", "wrong"]
Expectation = Literal["same", "less", "none"]


@dataclass(frozen=True)
class Attack:
    name: str
    tries: str
    base: Base
    verdict: Expectation
    code: str

    @property
    def submission(self) -> str:
        return f"{base_source(self.base)}\n\n{self.code}"


def base_source(base: Base) -> str:
    """The source of what attacks stand on."""
    solution = LESSON.solution.read_text(encoding="utf-8")
    if base == "solution":
        return solution
    wrong = next(mutant for mutant in mutants_of(LESSON) if mutant.name == WRONG)
    return wrong.applied_to(solution)


def read_attack(file: Path) -> Attack:
    """The attack that a file describes."""
    head, code = file.read_text(encoding="utf-8").split("\n\n", 1)
    said: dict[str, Any] = dict(
        line.removeprefix("# ").split(": ", 1) for line in head.splitlines()
    )
    assert said["base"] in get_args(Base), file
    assert said["verdict"] in get_args(Expectation), file
    return Attack(file.stem, said["tries"], said["base"], said["verdict"], code)


ATTACKS = [read_attack(f) for f in sorted(Path(__file__).with_name("submissions").glob("*.py"))]
