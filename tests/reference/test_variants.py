"""What other releases do: each switch of `Variants` changes what it says, none is on by default."""

from typing import Any

import pytest

from reference.config import EngineConfig
from reference.engine import run_workload
from reference.trace import Trace
from reference.variants import VARIANT_NAMES, UnknownVariant, Variants
from reference.workload import WorkloadError, parse_workload


def run(engine: dict[str, Any], requests: list[dict[str, Any]], *variants: str) -> Trace:
    data = {"engine": {**engine, "variants": list(variants)}, "requests": requests, "max_steps": 50}
    return run_workload(parse_workload(data, "variants.yaml"))


def test_all_switches_are_off_by_default() -> None:
    assert EngineConfig().variants.names() == []


def test_switches_are_named() -> None:
    assert Variants.of(VARIANT_NAMES).names() == list(VARIANT_NAMES)
    with pytest.raises(UnknownVariant, match="faster"):
        Variants.of(["faster"])


def test_a_workload_names_its_variants_and_is_written_with_them() -> None:
    data = {"engine": {"variants": ["stats_at_lookup"]}, "requests": []}
    workload = parse_workload(data, "variants.yaml")
    assert workload.engine.variants == Variants(stats_at_lookup=True)
    assert workload.to_dict()["engine"] == data["engine"]


@pytest.mark.parametrize("wrong", ["stats_at_lookup", ["stats"], [3], [["skipped_reversed"]]])
def test_a_variant_that_is_none_is_told(wrong: object) -> None:
    with pytest.raises(
        WorkloadError, match=r"engine\.variants: got .*; allowed: a list of some of"
    ):
        parse_workload({"engine": {"variants": wrong}, "requests": []}, "variants.yaml")


def test_below_min_tokens_not_even_the_length_ends_a_request() -> None:
    """`min_tokens_first`: at the model's longest sequence it can neither go on nor end."""
    engine = {"max_model_len": 8}
    request = {"id": "a", "prompt": [1, 2, 3, 4], "max_tokens": 10, "min_tokens": 6}
    assert run(engine, [request]).steps[3].finished == {"a": ["length", None]}
    stuck = run(engine, [request], "min_tokens_first")
    assert not stuck.complete
    assert len(stuck.outputs["a"]) == 4


def test_each_lookup_of_a_request_that_waits_for_room_is_counted() -> None:
    """`stats_at_lookup`."""
    engine = {"block_size": 4, "num_gpu_blocks": 4, "max_model_len": 16}
    requests = [
        {"id": "a", "prompt": {"length": 8, "seed": 1}, "max_tokens": 3},
        {"id": "b", "prompt": {"length": 8, "seed": 2}, "max_tokens": 1},
    ]
    once = run(engine, requests)
    each = run(engine, requests, "stats_at_lookup")
    assert [step.prefix_cache_queries for step in once.steps] == [8, 0, 0, 8, 0]
    assert [step.prefix_cache_queries for step in each.steps] == [16, 8, 8, 8, 0]
    assert once.outputs == each.outputs


def test_those_passed_over_come_back_the_other_way_round() -> None:
    """`skipped_reversed`."""
    requests = [
        {"id": name, "prompt": [1, 2], "max_tokens": 1, "grammar": {"step": 3}} for name in "abc"
    ]
    kept = run({}, requests)
    turned = run({}, requests, "skipped_reversed")
    assert [step.waiting for step in kept.steps[:3]] == [["a", "b", "c"]] * 3
    assert [step.waiting for step in turned.steps[:2]] == [["c", "b", "a"], ["a", "b", "c"]]
    assert turned.steps[3].new_request_ids == ["c", "b", "a"]
