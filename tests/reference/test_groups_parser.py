"""Groups of layers in a workload: what may be said of them, and what is said of mistakes."""

from typing import Any

import pytest

from reference.config import ConfigError, EngineConfig
from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    SlidingWindowSpec,
)
from reference.workload import Workload, WorkloadError, parse_workload

FULL: dict[str, Any] = {"kind": "full_attention"}
WINDOW: dict[str, Any] = {"kind": "sliding_window", "sliding_window": 8}
CHUNK: dict[str, Any] = {"kind": "chunked_local_attention", "attention_chunk_size": 8}


def parse(groups: Any, **engine: Any) -> Workload:
    return parse_workload(
        {"engine": {"kv_cache_groups": groups} | engine, "requests": []}, "w.yaml"
    )


def test_a_group_has_the_engines_block_size_unless_it_says_otherwise() -> None:
    groups = parse([FULL, WINDOW | {"block_size": 4}, CHUNK], block_size=8).engine.kv_cache_groups
    assert groups == (
        FullAttentionSpec(8),
        SlidingWindowSpec(4, 8),
        ChunkedLocalAttentionSpec(8, 8),
    )


def test_without_groups_all_layers_are_one() -> None:
    engine = parse(None, block_size=8).engine
    assert engine.kv_cache_groups is None
    assert (engine.scheduler_block_size, engine.hash_block_size) == (8, 8)


def test_hits_are_counted_by_the_common_multiple_and_hashed_by_the_common_divisor() -> None:
    engine = parse([FULL | {"block_size": 8}, WINDOW | {"block_size": 12}]).engine
    assert (engine.scheduler_block_size, engine.hash_block_size) == (24, 4)


@pytest.mark.parametrize("interval", [None, 0, 32])
def test_a_workload_with_groups_survives_being_plain_data(interval: int | None) -> None:
    workload = parse([FULL, WINDOW], prefix_cache_retention_interval=interval)
    assert parse_workload(workload.to_dict(), "w.yaml") == workload


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "kv_cache_groups: got []; allowed: a list of groups, or null"),
    (3, {}, "kv_cache_groups: got 3; allowed: a list"),
    ([3], {}, "kv_cache_groups[0]: got 3; allowed: a mapping with kind"),
    ([{}], {}, "kv_cache_groups[0].kind: missing; allowed: a text"),
    (
        [{"kind": "mamba"}],
        {},
        'kv_cache_groups[0].kind: got "mamba"; allowed: one of full_attention, sliding_window, '
        "chunked_local_attention",
    ),
    (
        [{"kind": "sliding_window"}],
        {},
        "kv_cache_groups[0].sliding_window: missing; allowed: a whole number of at least 1",
    ),
    (
        [FULL, CHUNK | {"attention_chunk_size": 0}],
        {},
        "kv_cache_groups[1].attention_chunk_size: got 0; allowed: a whole number of at least 1",
    ),
    (
        [FULL | {"sliding_window": 8}],
        {},
        "kv_cache_groups[0].sliding_window: a full_attention group has none; allowed: it belongs "
        "to sliding_window",
    ),
    (
        [WINDOW | {"window": 8}],
        {},
        'kv_cache_groups[0].window: unknown key; did you mean "sliding_window"?',
    ),
    (
        [FULL | {"block_size": 8}, CHUNK | {"block_size": 4}],
        {},
        "kv_cache_groups: chunked_local_attention with blocks of 4 tokens; allowed: blocks of 8",
    ),
    (
        [FULL],
        {"prefix_cache_retention_interval": 16},
        "prefix_cache_retention_interval: got 16 without a sliding window; allowed: 0 or null",
    ),
    (
        [FULL, WINDOW],
        {"prefix_cache_retention_interval": 24},
        "prefix_cache_retention_interval: got 24; allowed: null, 0, or a multiple of 16",
    ),
    (
        [FULL, WINDOW],
        {"prefix_cache_retention_interval": -16},
        "prefix_cache_retention_interval: got -16; allowed: a whole number of at least 0, or null",
    ),
]


@pytest.mark.parametrize(("groups", "engine", "message"), WRONG)
def test_a_mistake_is_told_with_its_place(
    groups: Any, engine: dict[str, Any], message: str
) -> None:
    with pytest.raises(WorkloadError) as error:
        parse(groups, **engine)
    assert str(error.value).startswith(f"w.yaml: engine.{message}")


def test_retention_is_nothing_without_groups() -> None:
    with pytest.raises(ConfigError, match="without a sliding window"):
        EngineConfig(prefix_cache_retention_interval=16)
