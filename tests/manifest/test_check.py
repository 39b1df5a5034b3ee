"""Whether the manifest holds: in the checked-in form without a network, and live."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trees_kit import COURSE, NEW, OLD, POOL, fact, symbol

from manifest import seal
from manifest.check import Manifest, Text, check
from manifest.facts import Fact
from manifest.pins import load as load_pins
from manifest.symbols import Symbol

TAKE = symbol("Pool.take")
SIZE = fact("size", 16, at="vllm/config.py#CacheConfig.block_size")
TEXT = f"`[`take`](vllm:{TAKE.key})` hands out blocks of [16](fact:size) tokens."


def manifest_of(
    text: str = TEXT,
    symbols: tuple[Symbol, ...] = (TAKE,),
    facts: tuple[Fact, ...] = (SIZE,),
) -> Manifest:
    pins = replace(load_pins(), version=OLD.version)
    unsealed = Manifest(
        pins,
        {one.key: one for one in symbols},
        {one.name: one for one in facts},
        COURSE,
        (Text("exercises/memory/pool.md", text),),
        seal.Seal("", "", {}),
    )
    return replace(unsealed, seal=unsealed.sealed())


def problems(manifest: Manifest) -> list[str]:
    """Those that are not about the real glossary, whose lessons this small course has not."""
    return [str(one) for one in check(manifest) if one.where != "glossary.yaml"]


def test_the_checked_in_manifest_holds_without_a_network() -> None:
    assert [str(one) for one in check(Manifest.load())] == []


def test_what_is_right_has_no_problems() -> None:
    assert problems(manifest_of()) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{TEXT} [x](vllm:{POOL}#Pool.tke)", f"pool.md:1: {POOL}#Pool.tke is not known"),
        (f"{TEXT}\n[x](vllm:vllm/no.py)", "pool.md:2: vllm/no.py is not known"),
        (f"{TEXT} [8](fact:sise)", "pool.md:1: fact:sise is not known"),
        (f"{TEXT} [17](fact:size)", "pool.md:1: it says 17, fact:size is 16"),
        (f"{TEXT} [pool](vllm:{TAKE.key}) (3 lines)", f"{POOL} has {TAKE.file_lines} lines, not 3"),
        ("[16](fact:size)", f"nothing cites {TAKE.key}"),
        (f"[x](vllm:{TAKE.key})", "no text links size"),
    ],
)
def test_a_text_that_is_wrong_is_named_with_its_line(text: str, problem: str) -> None:
    found = problems(manifest_of(text))
    assert len(found) == 1
    assert problem in found[0]


def test_a_file_size_that_is_right_may_stand_behind_its_link() -> None:
    text = f"{TEXT} [pool](vllm:{TAKE.key}) ({TAKE.file_lines:,} lines)"
    assert problems(manifest_of(text)) == []


def test_a_fact_may_wait_for_a_lesson_that_there_is() -> None:
    text = f"[x](vllm:{TAKE.key})"
    assert problems(manifest_of(text, facts=(replace(SIZE, lesson="memory/later"),))) == []
    found = problems(manifest_of(text, facts=(replace(SIZE, lesson="memory/never"),)))
    assert found == ["facts.yaml: size: no lesson is called memory/never; correct it"]


def test_entries_of_one_file_agree_about_it() -> None:
    other = replace(symbol("plan"), sha256="0" * 64)
    text = f"{TEXT} [x](vllm:{other.key})"
    found = problems(manifest_of(text, symbols=(TAKE, other)))
    assert len(found) == 1
    assert "disagree about their file" in found[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"symbols": (replace(TAKE, last=TAKE.last + 1),)},
        {"symbols": (replace(TAKE, tree="0"),)},
        {"facts": (replace(SIZE, value=16.0),)},
        {"facts": (fact("size", 16, at="vllm/config.py#CacheConfig.DEFAULT_BLOCK_SIZE"),)},
    ],
)
def test_an_entry_that_somebody_changed_must_be_read_again(changed: dict[str, Any]) -> None:
    touched = replace(manifest_of(**changed), seal=manifest_of().seal)
    found = problems(touched)
    assert len(found) == 1
    assert "was not checked as it is now; read it anew" in found[0]


def test_a_seal_of_another_release_seals_nothing() -> None:
    sealed = manifest_of()
    later = replace(sealed, pins=replace(sealed.pins, version=NEW.version))
    assert len(problems(later)) == 2


def test_a_seal_is_read_as_it_was_written(tmp_path: Path) -> None:
    sealed = manifest_of().seal
    file = tmp_path / "seal.yaml"
    file.write_text(seal.dump(sealed))
    assert seal.load(file) == sealed


def test_live_every_entry_is_read_from_the_release() -> None:
    assert [one for one in check(manifest_of(), OLD) if one.where != "glossary.yaml"] == []


def test_live_what_is_another_one_there_is_told() -> None:
    late = fact("patience", 600, "memory/later", environment="VLLM_PATIENCE_S")
    gone = fact("gone", 1, "memory/later", at=f"{POOL}#is_empty", match="VALUE")
    found = [str(one) for one in check(manifest_of(facts=(SIZE, late, gone)), NEW)]
    assert f"{TAKE.key} is not what is there at vLLM 1.1.0" in found[-3]
    assert "fact:patience is 300 at vLLM 1.1.0, not 600" in found[-2]
    assert f"fact:gone: {POOL}#is_empty is not there" in found[-1]


def test_live_true_is_not_one() -> None:
    on = fact("on", 1, "memory/later", at="vllm/config.py#CacheConfig.enabled")
    assert "fact:on is True" in str(check(manifest_of(facts=(SIZE, on)), OLD)[-1])
