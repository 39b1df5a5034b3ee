"""Facts in texts: a label says the value, and is written anew like the old one."""

from pathlib import Path
from typing import Any

import pytest

from manifest import facts
from manifest.facts import MalformedFacts, fact_links, says_value, without_links, write_value


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("16", 16),
        ("2,048", 2048),
        ("`2048`", 2048),
        ("**0.92**", 0.92),
        ("−1", -1),
        ("`-1`", -1),
        ("two", 2),
        ("Three", 3),
        ("24 MiB", 24 * 2**20),
        ("on", True),
        ("off", False),
        ("None", None),
        ("`fcfs`", "fcfs"),
        ('`"sha256"`', "sha256"),
    ],
)
def test_labels_that_say_the_value(label: str, value: Any) -> None:
    assert says_value(label, value)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("16", 17),
        ("1", True),
        ("0", False),
        ("0", None),
        ("two", 3),
        ("24 MB", 24 * 2**20),
        ("fcfs", "priority"),
        ("many", 100),
    ],
)
def test_labels_that_do_not(label: str, value: Any) -> None:
    assert not says_value(label, value)


@pytest.mark.parametrize(
    ("label", "value", "written"),
    [
        ("2,048", 16384, "16,384"),
        ("2048", 16384, "16384"),
        ("128", 1024, "1,024"),
        ("`16`", 32, "`32`"),
        ("**0.92**", 0.9, "**0.9**"),
        ("−1", -2, "−2"),
        ("Two", 3, "Three"),
        ("two", 9, "9"),
        ("24 MiB", 16 * 2**20, "16 MiB"),
        ("on", False, "off"),
        ("`fcfs`", "priority", "`priority`"),
    ],
)
def test_a_new_value_is_written_like_the_old_one(label: str, value: Any, written: str) -> None:
    assert write_value(label, value) == written
    assert says_value(written, value)


def test_links_are_found_with_their_lines_and_read_as_their_labels() -> None:
    text = "Blocks of\n[16](fact:size) tokens and [two](fact:spare) more.\n"
    assert [(one.line, one.label, one.name) for one in fact_links(text)] == [
        (2, "16", "size"),
        (2, "two", "spare"),
    ]
    assert without_links(text) == "Blocks of\n16 tokens and two more.\n"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{value: 1, at: a.py#A}", "lacks says"),
        ("{says: x, at: a.py#A}", "lacks value"),
        ("{says: x, value: 1, at: a.py#A, wher: b}", "unknown key wher"),
        ("{says: x, value: 1, at: a.py}", "file#Qualified.name"),
    ],
)
def test_a_malformed_entry_is_named(tmp_path: Path, entry: str, problem: str) -> None:
    file = tmp_path / "facts.yaml"
    file.write_text(f"size: {entry}\n")
    with pytest.raises(MalformedFacts, match=rf"^facts.yaml: size: .*{problem}"):
        facts.load(file)
