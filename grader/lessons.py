"""The files of a lesson, and finding a lesson by its name."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ENGINE = re.compile(
    r"vllmlings engine (?P<mine>--mine )?(?:exercises/workloads/)?(?P<name>\w+)(?:\.yaml)?"
)


class UnknownLesson(Exception):
    """No lesson has this name, or several have. ``nearest`` are the names it may have meant."""

    def __init__(self, name: str, nearest: list[str], ambiguous: bool = False) -> None:
        self.name, self.nearest, self.ambiguous = name, nearest, ambiguous
        problem = "several lessons have this name" if ambiguous else "there is no such lesson"
        advice = f"did you mean {' or '.join(nearest)}?" if nearest else "see `vllmlings list`"
        super().__init__(f"{name}: {problem}; {advice}")


@dataclass(frozen=True)
class Lesson:
    """One lesson, named ``topic/lesson``; its files need not all exist."""

    name: str
    root: Path = ROOT

    @property
    def text(self) -> Path:
        return self.root / "exercises" / f"{self.name}.md"

    @property
    def stub(self) -> Path:
        return self.root / "exercises" / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        return self.root / "solutions" / f"{self.name}.py"

    @property
    def suite(self) -> Path:
        return self.root / "grader" / "suites" / f"{self.name}.py"

    @property
    def hints(self) -> Path:
        return self.root / "grader" / "hints" / f"{self.name}.md"

    @property
    def parts(self) -> Path:
        return self.root / "grader" / "parts" / f"{self.name}.py"

    @property
    def workload(self) -> str | None:
        """The workload of which the text says that the engine can run on this part.

        >>> Lesson("kv_cache/block_pool").workload
        'free_list'
        """
        if not self.parts.is_file() or not self.text.is_file():
            return None
        found = list(_ENGINE.finditer(self.text.read_text(encoding="utf-8")))
        chosen = next((one for one in found if one["mine"]), next(iter(found), None))
        return chosen["name"] if chosen else None


def names(root: Path = ROOT) -> list[str]:
    """All lessons that have a solution, as ``topic/lesson``, sorted."""
    solutions = root / "solutions"
    return sorted(
        path.relative_to(solutions).with_suffix("").as_posix() for path in solutions.glob("*/*.py")
    )


def find(name: str, root: Path = ROOT) -> Lesson:
    """The lesson called ``topic/lesson``, or ``lesson`` where one topic alone has it.

    Raises:
        UnknownLesson: no lesson, or more than one, has the name.
    """
    known = names(root)
    if name in known:
        return Lesson(name, root)
    same_last = [other for other in known if other.split("/")[1] == name]
    if len(same_last) == 1:
        return Lesson(same_last[0], root)
    if same_last:
        raise UnknownLesson(name, same_last, ambiguous=True)
    raise UnknownLesson(name, _nearest(name, known))


def _nearest(name: str, known: list[str]) -> list[str]:
    by_any_name = {other: other for other in known} | {
        other.split("/")[1]: other for other in known
    }
    close = difflib.get_close_matches(name, by_any_name, n=2)
    return sorted({by_any_name[match] for match in close})
