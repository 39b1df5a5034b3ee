"""Moving the pin: refused, changing nothing, until all that is gone is mapped or dropped."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from trees_kit import COURSE, NEW, OLD, PLANNING, POOL, mention, symbol

from manifest import facts as facts_module
from manifest import pins, seal, symbols
from manifest.check import Manifest, Text
from manifest.drift import compare
from manifest.edits import write_together
from manifest.repin import Blocked, Decisions, Repinned, repin

NAMES = ("Pool.take", "Pool.give", "Pool.usage", "Pool.reset", "plan", "score")
CITED = {name: symbol(name) for name in NAMES}
FACTS = """\
# Numbers.

size:
  says: tokens of a block
  value: 16
  at: vllm/config.py#CacheConfig.block_size
patience:
  says: seconds, at most
  value: 600
  environment: VLLM_PATIENCE_S
  lesson: memory/later

# Of the planning.
weight:
  says: what waiting counts
  value: 6.0
  at: vllm/core/pool.py#score
  match: _ * VALUE * _
"""
TEXT = "".join(f"[`{name}`](vllm:{one.key}) is here.\n" for name, one in CITED.items()) + (
    "A block has [16](fact:size) tokens, wait [600](fact:patience) s, count [6.0](fact:weight).\n"
    "Read at 1.0.0.\n"
)
USAGE = CITED["Pool.usage"].key
RESET = CITED["Pool.reset"].key
ALL_SAID = Decisions({USAGE: f"{POOL}#Pool.share_in_use"}, {RESET})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course of one text, pinned to the earlier release."""
    (tmp_path / "manifest").mkdir()
    (tmp_path / "exercises/memory").mkdir(parents=True)
    (tmp_path / "manifest/facts.yaml").write_text(FACTS)
    (tmp_path / "exercises/memory/pool.md").write_text(TEXT)
    return tmp_path


def repinned(root: Path, decisions: Decisions) -> Repinned:
    manifest = Manifest(
        replace(pins.load(), version=OLD.version),
        {one.key: one for one in CITED.values()},
        facts_module.load.__wrapped__(root / "manifest/facts.yaml"),
        COURSE,
        (Text("exercises/memory/pool.md", TEXT),),
        seal.Seal("", "", {}),
    )
    told = [mention(one.key) for one in CITED.values()]
    drift = compare(OLD, NEW, CITED.values(), manifest.facts.values(), told, COURSE)
    later = replace(manifest.pins, version=NEW.version)
    return repin(manifest, drift, NEW, later, decisions, root)


def obstacles(root: Path, decisions: Decisions) -> dict[str, str]:
    with pytest.raises(Blocked) as raised:
        repinned(root, decisions)
    return {one.key: one.problem for one in raised.value.obstacles}


def test_what_is_gone_or_perhaps_renamed_stands_in_the_way(root: Path) -> None:
    found = obstacles(root, Decisions({}, ()))
    assert found.keys() == {USAGE, RESET}
    assert found[RESET] == "gone"
    assert found[USAGE].startswith("perhaps renamed, likeness 0.")


def test_a_refusal_changes_nothing(root: Path) -> None:
    before = {one: one.read_bytes() for one in root.rglob("*") if one.is_file()}
    obstacles(root, Decisions({}, {RESET}))
    assert {one: one.read_bytes() for one in root.rglob("*") if one.is_file()} == before


@pytest.mark.parametrize(
    ("decisions", "key", "problem"),
    [
        (replace(ALL_SAID, maps={USAGE: f"{POOL}#Nobody"}), USAGE, "is not there either"),
        (replace(ALL_SAID, drops={RESET, "vllm/x.py#f"}), "vllm/x.py#f", "no such entry"),
        (
            replace(ALL_SAID, maps={**ALL_SAID.maps, "fact:weight": f"{PLANNING}#plan"}),
            "fact:weight",
            "nothing there fits the probe",
        ),
    ],
)
def test_a_decision_that_leads_nowhere_is_refused(
    root: Path, decisions: Decisions, key: str, problem: str
) -> None:
    found = obstacles(root, decisions)
    assert list(found) == [key]
    assert problem in found[key]


def test_the_texts_cite_and_state_what_is_there_now(root: Path) -> None:
    write_together(repinned(root, ALL_SAID).contents)
    lines = (root / "exercises/memory/pool.md").read_text().splitlines()
    assert lines == [
        f"[`Pool.take`](vllm:{POOL}#Pool.take) is here.",
        f"[`Pool.give`](vllm:{POOL}#Pool.give_back) is here.",
        f"[`Pool.usage`](vllm:{POOL}#Pool.share_in_use) is here.",
        "`Pool.reset` is here.",
        f"[`plan`](vllm:{PLANNING}#plan) is here.",
        f"[`score`](vllm:{PLANNING}#score) is here.",
        "A block has [16](fact:size) tokens, wait [300](fact:patience) s, "
        "count [7.0](fact:weight).",
        "Read at 1.0.0.",
    ]


def test_the_facts_keep_their_comments_and_get_their_values_and_places(root: Path) -> None:
    write_together(repinned(root, ALL_SAID).contents)
    expected = FACTS.replace("600", "300").replace("6.0", "7.0")
    expected = expected.replace("vllm/core/pool.py#score", "vllm/core/planning.py#score")
    assert (root / "manifest/facts.yaml").read_text() == expected


def test_the_entries_are_those_of_the_new_release(root: Path) -> None:
    write_together(repinned(root, ALL_SAID).contents)
    file = root / "manifest/symbols.yaml"
    assert symbols.load.__wrapped__(file).keys() == {
        f"{POOL}#Pool.take",
        f"{POOL}#Pool.give_back",
        f"{POOL}#Pool.share_in_use",
        f"{PLANNING}#plan",
        f"{PLANNING}#score",
    }
    assert yaml.safe_load((root / "manifest/pins.yaml").read_text())["vllm"]["version"] == "1.1.0"
    assert seal.load(root / "manifest/seal.yaml").version == "1.1.0"


def test_a_dropped_fact_becomes_plain_text(root: Path) -> None:
    done = repinned(root, Decisions(ALL_SAID.maps, {RESET, "fact:weight"}))
    write_together(done.contents)
    assert "count 6.0." in (root / "exercises/memory/pool.md").read_text()
    assert "weight" not in (root / "manifest/facts.yaml").read_text()
    assert set(done.dropped) == {RESET, "fact:weight"}


def test_files_that_name_the_old_release_are_told(root: Path) -> None:
    assert repinned(root, ALL_SAID).naming == ("exercises/memory/pool.md",)


def test_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    first, nowhere = tmp_path / "a.txt", tmp_path / "missing" / "b.txt"
    first.write_text("old")
    with pytest.raises(OSError, match="missing"):
        write_together({first: "new", nowhere: "new"})
    assert first.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
