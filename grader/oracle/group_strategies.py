"""Drawing groups of layers: windows and chunks beside full attention, in blocks of any sizes."""

from math import gcd, lcm
from typing import Any

from hypothesis import strategies as st

#: Kinds that go together: one with a single group of each, two of one kind, and none of full
#: attention, which alone needs every token.
LAYOUTS = (
    ("full_attention", "sliding_window"),
    ("full_attention", "sliding_window", "sliding_window"),
    ("full_attention", "chunked_local_attention"),
    ("full_attention", "sliding_window", "chunked_local_attention"),
    ("full_attention", "full_attention", "sliding_window"),
    ("sliding_window", "full_attention"),
    ("sliding_window", "sliding_window"),
    ("sliding_window", "chunked_local_attention"),
    ("full_attention", "full_attention"),
    ("full_attention",),
    ("sliding_window",),
    ("chunked_local_attention",),
)
SIZE_KEYS = {
    "sliding_window": "sliding_window",
    "chunked_local_attention": "attention_chunk_size",
}
LARGEST_SIZE = 20


@st.composite
def kv_cache_groups(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Groups whose block sizes are 1, 2 or 3 times a small one."""
    kinds = draw(st.sampled_from(LAYOUTS))
    unit = draw(st.sampled_from([2, 4, 1]))
    factors = draw(st.sampled_from([(1,), (1, 2), (1, 2, 3)]))
    sizes = {kind: unit * draw(st.sampled_from(factors)) for kind in kinds}
    if "chunked_local_attention" in sizes:
        # vLLM wants its blocks to be as large as any hit's unit.
        sizes["chunked_local_attention"] = lcm(*sizes.values())
    same_spec = draw(st.booleans())
    groups: list[dict[str, Any]] = []
    for kind in kinds:
        known = next((group for group in groups if group["kind"] == kind), None)
        if known is not None and same_spec:
            groups.append(dict(known))
            continue
        group = {"kind": kind, "block_size": sizes[kind]}
        if kind in SIZE_KEYS:
            group[SIZE_KEYS[kind]] = draw(st.integers(1, LARGEST_SIZE))
        groups.append(group)
    return groups


@st.composite
def with_groups(draw: st.DrawFn, engine: dict[str, Any], tight: bool) -> dict[str, Any]:
    """An `engine` part with its layers grouped, and a pool that holds its longest request."""
    groups = draw(kv_cache_groups())
    in_flight = engine["max_num_batched_tokens"]
    longest = draw(st.integers(min(16, engine["max_model_len"]), 64))
    if not engine["enable_chunked_prefill"]:
        longest = min(longest, in_flight)
    longest = max(longest, 2, engine.get("long_prefill_token_threshold", 0))
    blocks = sum(num_blocks(group, longest, in_flight) for group in groups)
    grouped = engine | {
        "kv_cache_groups": groups,
        "max_model_len": longest,
        "num_gpu_blocks": blocks + 1 + draw(st.integers(0, 4 if tight else 40)),
    }
    if any(group["kind"] == "sliding_window" for group in groups):
        unit = lcm(*(group["block_size"] for group in groups))
        grouped["prefix_cache_retention_interval"] = draw(
            st.sampled_from([0, None, unit, 2 * unit])
        )
    elif draw(st.booleans()):
        grouped["prefix_cache_retention_interval"] = None
    return grouped


def can_tell_events(groups: list[dict[str, Any]] | None) -> bool:
    """Whether the model has all that vLLM tells: full attention in blocks of one hash each.

    >>> can_tell_events(None)
    True
    """
    finest = gcd(*(group["block_size"] for group in groups or ()))
    full = [group for group in groups or () if group["kind"] == "full_attention"]
    return all(group["block_size"] == finest for group in full)


def num_blocks(group: dict[str, Any], num_tokens: int, in_flight: int) -> int:
    """Blocks that a request of so many tokens holds at most.

    >>> num_blocks({"kind": "sliding_window", "block_size": 4, "sliding_window": 8}, 64, 8)
    5
    """
    block_size: int = group["block_size"]
    size: int | None = group.get(SIZE_KEYS.get(group["kind"], ""))
    if size is None:
        return -(-num_tokens // block_size)
    # One more, because a window need not begin where a block does.
    return -(-min(num_tokens, size + in_flight) // block_size) + 1
