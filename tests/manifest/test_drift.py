"""What a later release has changed, told apart on two made-up ones."""

import pytest
from trees_kit import COURSE, NEW, OLD, PLANNING, POOL, fact, mention, symbol

from manifest.drift import SymbolDrift, compare, fact_drift, symbol_drift
from manifest.errors import NoSuchFile
from manifest.facts import Fact
from manifest.mentions import sentences
from manifest.release import FolderRelease
from manifest.shapes import changed_lines
from manifest.tracing import Tree

CONSTANTS = "vllm/constants.py"


def drift_of(name: str, file: str = POOL) -> SymbolDrift:
    return symbol_drift(Tree(OLD), Tree(NEW), symbol(name, file))


def fact_of(one: Fact) -> tuple[str, object]:
    found = fact_drift(Tree(OLD), Tree(NEW), one)
    return found.status, found.new


def test_a_definition_on_its_old_lines_is_unchanged() -> None:
    assert drift_of("CHUNK", CONSTANTS).status == "unchanged"


def test_other_comments_and_docstrings_are_no_change() -> None:
    found = drift_of("size_of")
    assert found.status == "unchanged"
    assert (found.added, found.removed) == (0, 0)


def test_a_file_with_other_text_has_changed() -> None:
    found = symbol_drift(Tree(OLD), Tree(NEW), symbol("", "vllm/envs.py"))
    assert (found.status, found.added, found.removed) == ("changed", 1, 1)


def test_the_same_code_in_another_file_has_moved() -> None:
    found = drift_of("plan")
    assert found.status == "moved"
    assert found.new is not None
    assert found.new.key == f"{PLANNING}#plan"
    assert found.left_its_file
    assert found.score == 1.0


def test_other_code_under_its_name_in_another_file_has_changed() -> None:
    found = drift_of("score")
    assert found.status == "changed"
    assert found.new is not None
    assert found.new.file == PLANNING
    assert (found.added, found.removed) == (1, 1)
    assert found.score is not None
    assert 0.9 < found.score < 1.0


def test_other_code_has_changed_by_so_many_lines() -> None:
    found = drift_of("Pool.take")
    assert (found.status, found.added, found.removed) == ("changed", 1, 0)
    assert found.score is None


def test_another_default_is_other_code() -> None:
    assert drift_of("Pool.__init__").status == "changed"


def test_the_same_code_under_another_name_is_renamed() -> None:
    found = drift_of("Pool.give")
    assert (found.status, found.score) == ("renamed", 1.0)
    assert found.new is not None
    assert found.new.name == "Pool.give_back"


def test_like_code_under_another_name_is_renamed_with_its_likeness() -> None:
    found = drift_of("Pool.usage")
    assert found.status == "renamed"
    assert found.new is not None
    assert found.new.name == "Pool.share_in_use"
    assert found.score is not None
    assert 0.8 < found.score < 1.0


@pytest.mark.parametrize("name", ["Pool.reset", "is_empty"])
def test_what_is_like_nothing_is_gone(name: str) -> None:
    found = drift_of(name)
    assert (found.status, found.new) == ("gone", None)


def test_the_branches_of_a_conditional_definition_are_one_symbol() -> None:
    assert drift_of("checksum").status == "changed"


def test_what_was_beside_it_before_has_not_taken_its_place() -> None:
    """`Pool.take` is like `Pool.give` in neither release, and a sibling is no new name."""
    found = drift_of("Pool.reset")
    assert f"{POOL}#Pool.take" not in found.near


def test_what_has_the_last_name_of_what_is_gone_is_offered() -> None:
    class Moved(FolderRelease):
        """The method's class is another one, with other code."""

        def read(self, path: str) -> bytes:
            if path != POOL:
                return super().read(path)
            return b"class Store:\n    def reset(self, deep):\n        return [deep] * 3\n"

    found = symbol_drift(Tree(OLD), Tree(Moved(NEW._folder, "1.2.0")), symbol("Pool.reset"))
    assert (found.status, found.near) == ("gone", (f"{POOL}#Store.reset",))


def test_a_file_that_is_no_python_any_more_has_lost_its_definitions() -> None:
    class Broken(FolderRelease):
        def read(self, path: str) -> bytes:
            return b"def (:" if path == "vllm/constants.py" else super().read(path)

    found = symbol_drift(Tree(OLD), Tree(Broken(NEW._folder, "1.2.0")), symbol("CHUNK", CONSTANTS))
    assert found.status == "gone"


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (fact("size", 16, at="vllm/config.py#CacheConfig.block_size"), ("same", 16)),
        (fact("mark", 0.0, at="vllm/config.py#CacheConfig.watermark"), ("changed", 0.01)),
        (fact("wait", 600, environment="VLLM_PATIENCE_S"), ("changed", 300)),
        (fact("spare", 2, at=f"{POOL}#Pool.__init__", default="spare"), ("changed", 3)),
        (fact("weight", 6.0, at=f"{POOL}#score", match="_ * VALUE * _"), ("changed", 7.0)),
        (fact("digits", 2, at=f"{POOL}#Pool.usage", match="round(_, VALUE)"), ("changed", 3)),
        (fact("least", 1, at=f"{POOL}#plan", match="max(_, VALUE)"), ("same", 1)),
        (fact("text", 1, at=f"{POOL}#Pool.reset", match="VALUE"), ("gone", None)),
    ],
)
def test_a_fact_is_read_where_its_definition_is_now(one: Fact, found: tuple[str, object]) -> None:
    assert fact_of(one) == found


def test_a_fact_that_is_gone_says_why() -> None:
    gone = fact("text", 1, at=f"{POOL}#Pool.reset", match="VALUE")
    found = fact_drift(Tree(OLD), Tree(NEW), gone)
    assert found.reason == f"{POOL}#Pool.reset is not there"


def test_lessons_to_review_are_those_that_cite_what_is_other_code_now() -> None:
    take, plan = symbol("Pool.take"), symbol("plan")
    wait = fact("wait", 600, lesson="memory/later", environment="VLLM_PATIENCE_S")
    mark = fact("mark", 0.0, at="vllm/config.py#CacheConfig.watermark")
    told = [
        mention(take.key, sentence="Blocks are taken."),
        mention(plan.key, "memory/plan", "It plans."),
        mention("fact:mark", "memory/plan", "The mark is 0."),
    ]
    drift = compare(OLD, NEW, [take, plan], [wait, mark], told, COURSE)
    assert [(one.lesson, one.keys) for one in drift.lessons] == [
        ("memory/pool", (take.key,)),
        ("memory/plan", ("fact:mark",)),
        ("memory/later", ("fact:wait",)),
    ]
    assert [one.sentence for one in drift.lessons[1].sentences] == ["The mark is 0."]
    assert (drift.old, drift.new) == ("1.0.0", "1.1.0")
    assert (drift.count("changed"), drift.count("moved")) == (1, 1)


def test_a_release_is_like_itself() -> None:
    names = ["Pool", "Pool.take", "plan", "score", "is_empty", "checksum", "size_of"]
    drift = compare(OLD, OLD, [symbol(one) for one in names], [], [], COURSE)
    assert drift.count("unchanged") == len(names)
    assert drift.lessons == ()


def test_what_is_unchanged_is_read_from_the_new_release_alone() -> None:
    class Unread(FolderRelease):
        def read(self, path: str) -> bytes:
            raise NoSuchFile(path, self.version)

    known = symbol("CHUNK", CONSTANTS)
    nothing = Tree(Unread(OLD._folder, "1.0.0"))
    assert symbol_drift(nothing, Tree(NEW), known).status == "unchanged"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. A [pool](vllm:a.py#P) is here. Two.", "A pool is here."),
        ("| [pool](vllm:a.py#P) | 3 |", "pool | 3"),
        ("Is it? ([`take`](vllm:a.py#P))", "Is it? (`take`)"),
        ("- A [16](fact:size), e.g. here.", "A 16, e.g. here."),
    ],
)
def test_a_mention_is_the_sentence_around_the_link(text: str, sentence: str) -> None:
    assert [one for _, _, one in sentences(text)] == [sentence]


def test_lines_are_counted_as_diff_counts_them() -> None:
    assert changed_lines(["a", "b"], ["a", "b"]) == (0, 0)
    assert changed_lines([], ["a"]) == (1, 0)
    assert changed_lines(["a", "b", "c"], ["c"]) == (0, 2)
