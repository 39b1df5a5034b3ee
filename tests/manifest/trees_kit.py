"""The two made-up releases, and entries of a manifest about them."""

from pathlib import Path

from manifest.course import Course, Lesson, Topic
from manifest.facts import Fact
from manifest.mentions import Mention
from manifest.probes import Probe
from manifest.release import FolderRelease
from manifest.symbols import Source, Symbol

TREES = Path(__file__).with_name("trees")
OLD = FolderRelease(TREES / "1.0.0", "1.0.0")
NEW = FolderRelease(TREES / "1.1.0", "1.1.0")
POOL = "vllm/core/pool.py"
PLANNING = "vllm/core/planning.py"
COURSE = Course(
    (
        Topic(
            "memory",
            "Memory",
            "About memory.",
            (
                Lesson("memory", "pool", "Pool", "Blocks.", True),
                Lesson("memory", "plan", "Plan", "Sums.", True),
                Lesson("memory", "later", "Later", "To come.", False),
            ),
        ),
    )
)


def symbol(name: str, file: str = POOL) -> Symbol:
    found = Source(OLD).find(f"{file}#{name}")
    assert found is not None
    return found


def fact(name: str, value: object, lesson: str | None = None, **probe: object) -> Fact:
    return Fact(name, f"what {name} is", value, Probe.of(dict(probe)), lesson)


def mention(key: str, lesson: str = "memory/pool", sentence: str = "It does.") -> Mention:
    return Mention(key, lesson, f"exercises/{lesson}.md", 1, sentence)
