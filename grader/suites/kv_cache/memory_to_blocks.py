"""Hidden suite of ``kv_cache/memory_to_blocks``."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import check, error_names, expect, expect_error, require, story
from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from reference.kv_cache_sizing import KVCacheGroup, KVCacheSizing, MambaSpec

FULL, WINDOW = "full_attention", "sliding_window"
CHUNK, MAMBA = "chunked_local_attention", "mamba"
GIB = 2**30

COSTS = "What a block costs"
SHARE = "Groups lie over one another"
HOW_MANY = "How many blocks"
HOLDS = "What one request holds"
NULL = "One block is held back"
ESTIMATE = "The longest that fits"
AUTO_FIT = "Letting vLLM choose"
OVERRIDE = "Saying how many"
SAID = "What the log says"

Layer = dict[str, Any]
Model = list[list[Layer]]

#: Llama 3 8B has 32 of these.
LLAMA = {"kind": FULL, "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype_bytes": 2}


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def page(layer: Layer) -> int:
    """The bytes that a block takes in one layer."""
    if layer.get("page_size_padded"):
        return int(layer["page_size_padded"])
    num_values = layer["num_kv_heads"] * layer["head_size"]
    if layer["kind"] != MAMBA:
        head_size_v = layer.get("head_size_v")
        both = layer["head_size"] + (layer["head_size"] if head_size_v is None else head_size_v)
        num_values = layer["block_size"] * layer["num_kv_heads"] * both
    return int(num_values * layer["dtype_bytes"])


def spec(layer: Layer) -> KVCacheSpec:
    """The engine's own description of what a layer remembers."""
    block_size, size = layer["block_size"], layer.get("size", 0)
    match layer["kind"]:
        case "sliding_window":
            return SlidingWindowSpec(block_size, size)
        case "chunked_local_attention":
            return ChunkedLocalAttentionSpec(block_size, size)
        case "mamba":
            return MambaSpec(block_size, layer.get("mamba_cache_mode", "none"))
    return FullAttentionSpec(block_size)


def sizing(model: Model, max_in_flight_tokens: int) -> KVCacheSizing:
    groups = (KVCacheGroup(spec(group[0]), tuple(map(page, group))) for group in model)
    return KVCacheSizing(tuple(groups), max_in_flight_tokens)


def build(lesson: Any, model: Model) -> list[list[Any]]:
    """The submission's own layers; those that are one layer here are one there."""
    made: dict[int, Any] = {}
    for layer in (layer for group in model for layer in group):
        if id(layer) not in made:
            made[id(layer)] = lesson.LayerSpec(**layer)
    return [[made[id(layer)] for layer in group] for group in model]


def refusal(call: Callable[[], Any]) -> str:
    """What the ValueError that ``call`` raises says."""
    try:
        value = call()
    except Exception as error:
        if "ValueError" not in error_names(error):
            raise
        return str(getattr(error, "message", error))
    expect_error(lambda: value, "ValueError")
    return ""


def spread(num_layers: int, group_size: int) -> list[int]:
    """How many layers each group of like layers gets."""
    num_groups = cdiv(num_layers, group_size)
    return [num_layers // num_groups + (i < num_layers % num_groups) for i in range(num_groups)]


def layers_of(kind: str, block_size: int) -> list[Layer]:
    """Layers of a kind, four bytes a token, with small and large windows."""
    layer = {"kind": kind, "block_size": block_size, "num_kv_heads": 1, "head_size": 2}
    layer["dtype_bytes"] = 1
    if kind == WINDOW:
        return [{**layer, "size": size} for size in (2, 5, 8, 17, 60)]
    if kind == CHUNK:
        return [{**layer, "size": block_size * factor} for factor in (1, 2, 5)]
    if kind == MAMBA:
        return [{**layer, "mamba_cache_mode": mode} for mode in ("none", "align", "all")]
    return [layer]


def mixed(full: Layer, other: Layer, counts: tuple[int, int], padding: int | None) -> Model:
    """So many layers of full attention and of another kind, grouped as vLLM does it."""
    if padding is not None:
        padded = max(page(full), page(other)) + padding
        full, other = ({**layer, "page_size_padded": padded} for layer in (full, other))
    size = max(counts) if max(counts) < 1.5 * min(counts) else min(counts)
    return [
        [layer] * number
        for layer, count in zip((full, other), counts, strict=True)
        for number in spread(count, size)
    ]


BLOCK_SIZES = (1, 4, 16)
LAYERS = [
    layer
    for kind in (FULL, WINDOW, CHUNK, MAMBA)
    for block_size in BLOCK_SIZES
    for layer in layers_of(kind, block_size)
]
MODELS = [[[layer] * number] for layer in LAYERS for number in (1, 3)] + [
    mixed(layers_of(FULL, other["block_size"])[0], other, counts, padding)
    for other in LAYERS
    for counts in ((1, 1), (1, 3), (2, 5), (3, 4), (4, 2))
    for padding in (None, 0, 7)
    if other["kind"] != FULL and (other["kind"] != MAMBA or padding is not None)
]
ATTENTION = [layer for layer in LAYERS if layer["kind"] != MAMBA]
ONE_LAYER = st.sampled_from(LAYERS)
SOME_MODEL = st.sampled_from(MODELS)
LENGTHS = st.integers(1, 300)
IN_FLIGHT = st.integers(1, 40)


@check(points=1, rule=COSTS, examples=40)
@given(
    st.sampled_from([FULL, WINDOW, CHUNK, MAMBA]),
    st.sampled_from([1, 16, 32]),
    st.integers(1, 8),
    st.sampled_from([1, 64, 128]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([None, 0, 96]),
    st.sampled_from([None, 2**20]),
)
def test_page(
    lesson: Any,
    kind: str,
    block_size: int,
    num_kv_heads: int,
    head_size: int,
    dtype_bytes: int,
    head_size_v: int | None,
    page_size_padded: int | None,
) -> None:
    """A page holds the keys and values of a block's tokens, or one state of Mamba."""
    layer: Layer = {
        "kind": kind,
        "block_size": block_size,
        "num_kv_heads": num_kv_heads,
        "head_size": head_size,
        "dtype_bytes": dtype_bytes,
    }
    if kind in (WINDOW, CHUNK):
        layer["size"] = 2 * block_size
    if head_size_v is not None and kind != MAMBA:
        layer["head_size_v"] = head_size_v
    if page_size_padded:
        layer["page_size_padded"] = page_size_padded
    expect(lesson.page_size_bytes(lesson.LayerSpec(**layer)), page(layer))


@check(points=1, rule=COSTS, needs=("test_page",), examples=20)
@given(st.lists(st.sampled_from(ATTENTION), min_size=1, max_size=4))
def test_bytes_of_a_token(lesson: Any, layers: list[Layer]) -> None:
    """A token takes its share of a page in each layer."""
    specs = build(lesson, [layers])[0]
    expect(lesson.bytes_per_token(specs), sum(page(each) // each["block_size"] for each in layers))


@check(points=1, rule=SHARE, needs=("test_page",), examples=25)
@given(SOME_MODEL, st.booleans())
def test_groups_lie_over_one_another(lesson: Any, model: Model, heads_differ: bool) -> None:
    """A block takes as much as the pages of the largest group, not of all groups."""
    if heads_differ:
        # Layers of one kind with other heads stay one group.
        model = [[LLAMA, {**LLAMA, "num_kv_heads": 2}, {**LLAMA, "num_kv_heads": 1}]]
    expect(
        lesson.pool_bytes_per_block(build(lesson, model)),
        max(sum(map(page, group)) for group in model),
        f"The pages of each group: {[[page(layer) for layer in group] for group in model]}.",
    )


@check(points=2, rule=HOLDS, examples=60)
@given(ONE_LAYER, LENGTHS, IN_FLIGHT)
def test_blocks_of_a_request(
    lesson: Any, layer: Layer, max_model_len: int, max_in_flight_tokens: int
) -> None:
    """A request holds as many blocks as its layers must remember at once."""
    block_size, size = layer["block_size"], layer.get("size", 0)
    whole = cdiv(max_model_len, block_size)
    expected = {
        FULL: whole,
        WINDOW: cdiv(min(size - 1 + max_in_flight_tokens, max_model_len), block_size) + 1,
        CHUNK: cdiv(min(size + max_in_flight_tokens, max_model_len), block_size),
        MAMBA: {"none": 1, "align": 2, "all": whole}[layer.get("mamba_cache_mode", "none")],
    }
    groups = build(lesson, [[layer, layer]])
    expect(
        lesson.blocks_per_request(groups, max_model_len, max_in_flight_tokens),
        expected[layer["kind"]],
        "The layers of a group share their block table: two of them need no more blocks than one.",
    )


@check(points=1, rule=HOLDS, needs=("test_blocks_of_a_request",), examples=30)
@given(SOME_MODEL, LENGTHS, IN_FLIGHT)
def test_groups_add_up(
    lesson: Any, model: Model, max_model_len: int, max_in_flight_tokens: int
) -> None:
    """Each group takes blocks of its own for a request."""
    expect(
        lesson.blocks_per_request(build(lesson, model), max_model_len, max_in_flight_tokens),
        sizing(model, max_in_flight_tokens).blocks_per_request(max_model_len),
        f"{len(model)} groups.",
    )


@check(points=1, rule=HOW_MANY, needs=("test_groups_lie_over_one_another",), examples=30)
@given(SOME_MODEL, st.lists(st.integers(0, 400), min_size=1, max_size=3), st.integers(0, 7))
def test_blocks_fill_the_memory(
    lesson: Any, model: Model, blocks: list[int], remainder: int
) -> None:
    """The memory is cut into whole blocks, and the worker with the least decides."""
    sums = sizing(model, 1)
    enough = sums.blocks_per_request(1) + 1
    available = [(enough + number) * sums.bytes_per_block + remainder for number in blocks]
    config = lesson.get_kv_cache_config(build(lesson, model), available, 1, 1)
    expect(
        config.num_blocks,
        min(available) // sums.bytes_per_block,
        f"A block takes {sums.bytes_per_block} bytes.",
    )


@check(points=1, rule=HOW_MANY, needs=("test_blocks_fill_the_memory",), examples=15)
@given(st.integers(1, 4), st.integers(130, 4000))
def test_blocks_follow_the_model(lesson: Any, num_layers: int, mib: int) -> None:
    """Half the heads on a worker make twice the blocks, twice the layers half as many."""

    def num_blocks(layer: Layer, num_layers: int) -> int:
        groups = build(lesson, [[layer] * num_layers])
        return int(lesson.get_kv_cache_config(groups, [mib * 2**20], 16, 16).num_blocks)

    one = num_blocks(LLAMA, num_layers)
    half_the_heads = num_blocks({**LLAMA, "num_kv_heads": 4}, num_layers)
    require(
        half_the_heads // 2 == one,
        "Two workers share the heads: each of them has room for twice the blocks.",
        with_8_heads=one,
        with_4_heads=half_the_heads,
    )
    twice_the_layers = num_blocks(LLAMA, 2 * num_layers)
    require(
        twice_the_layers == one // 2,
        "Twice the layers: each block is twice as large.",
        with_all_layers=twice_the_layers,
        with_half_of_them=one,
    )


@check(
    points=2,
    rule=NULL,
    needs=("test_groups_add_up", "test_blocks_fill_the_memory"),
    examples=40,
)
@given(SOME_MODEL, LENGTHS, IN_FLIGHT, st.integers(-2, 2), st.integers(1, 3))
def test_one_block_is_held_back(
    lesson: Any,
    model: Model,
    max_model_len: int,
    max_in_flight_tokens: int,
    spare: int,
    num_workers: int,
) -> None:
    """It starts if and only if one request and the null block have room on every worker."""
    sums = sizing(model, max_in_flight_tokens)
    needed = (sums.blocks_per_request(max_model_len) + 1) * sums.bytes_per_block
    available = [2 * needed] * (num_workers - 1) + [needed + spare]
    story(
        f"A request of {max_model_len} tokens and the null block take {needed} bytes together; "
        f"the last worker has {needed + spare}."
    )

    def start() -> Any:
        groups = build(lesson, model)
        return lesson.get_kv_cache_config(groups, available, max_model_len, max_in_flight_tokens)

    if spare < 0:
        expect_error(start, "ValueError")
    else:
        expect(start().max_model_len, max_model_len)


@check(
    points=1,
    rule=NULL,
    needs=("test_one_block_is_held_back", "test_estimate_is_the_longest_that_fits"),
)
def test_refusals_say_why(lesson: Any) -> None:
    """A refusal says what is missing, and which length would fit."""
    model = [[LLAMA] * 2]
    groups = build(lesson, model)
    block = 2 * page(LLAMA)

    def said(available: list[int], max_model_len: int = 8192) -> str:
        return refusal(lambda: lesson.get_kv_cache_config(groups, available, max_model_len, 2048))

    def mentions(message: str, *parts: str) -> None:
        for part in parts:
            require(part in message, f"The message has to contain {part!r}.", message=message)

    nothing = "No available memory for the cache blocks"
    length = "the estimated maximum model length is"
    mentions(said([block]), nothing)
    mentions(said([0]), nothing)
    mentions(said([-5 * GIB]), nothing)
    message = said([GIB // 32], 8192)
    mentions(message, f"{length} 4080", "0.06 GiB", "0.03 GiB")
    mentions(said([600 * block + 1], 16 * 100_000), f"{length} 9584", "12.21 GiB", "0.07 GiB")
    message = said([block + 1])
    require(
        nothing not in message and length not in message,
        "One byte is there and no length fits into it: there is none to be recommended.",
        message=message,
    )
    message = said([GIB, 3 * block, 2 * block])
    mentions(message, f"{length} 32")
    require(
        f"{length} 16" not in message,
        "The first worker that is too small is told of, not the smallest.",
        message=message,
    )


@check(points=1, rule=ESTIMATE, needs=("test_groups_add_up",), examples=40)
@given(SOME_MODEL, LENGTHS, IN_FLIGHT, st.integers(-1, 70), st.integers(0, 3))
def test_estimate_is_the_longest_that_fits(
    lesson: Any,
    model: Model,
    max_model_len: int,
    max_in_flight_tokens: int,
    num_blocks: int,
    remainder: int,
) -> None:
    """The estimate fits, and one token more does not, or is more than was asked for."""
    sums = sizing(model, max_in_flight_tokens)
    available = num_blocks * sums.bytes_per_block + remainder
    story(f"A block takes {sums.bytes_per_block} bytes; the memory holds {num_blocks} blocks.")
    expect(
        lesson.estimate_max_model_len(
            build(lesson, model), available, max_model_len, max_in_flight_tokens
        ),
        sums.estimate_max_model_len(available, max_model_len),
    )


@check(points=1, rule=ESTIMATE, needs=("test_estimate_is_the_longest_that_fits",))
def test_estimate_is_found_by_halving(lesson: Any) -> None:
    """A limit of a thousand million tokens takes no longer than one of a thousand."""
    groups = build(lesson, [[LLAMA]])
    for num_blocks in (31_250_000, 60_000_000, 1):
        expect(
            lesson.estimate_max_model_len(groups, num_blocks * page(LLAMA), 10**9, 2048),
            16 * num_blocks,
            "Half of the lengths that are left can be ruled out at each step.",
        )


@check(
    points=1,
    rule=AUTO_FIT,
    needs=("test_one_block_is_held_back", "test_estimate_is_the_longest_that_fits"),
    examples=40,
)
@given(
    SOME_MODEL,
    LENGTHS,
    IN_FLIGHT,
    st.lists(st.integers(0, 70), min_size=1, max_size=3),
    st.integers(0, 3),
)
def test_auto_fit(
    lesson: Any,
    model: Model,
    max_model_len: int,
    max_in_flight_tokens: int,
    blocks: list[int],
    remainder: int,
) -> None:
    """Auto-fit takes the longest request that all workers have room for, and starts with it."""
    sums = sizing(model, max_in_flight_tokens)
    available = [number * sums.bytes_per_block + remainder for number in blocks]
    groups = build(lesson, model)
    longest = sums.estimate_max_model_len(min(available) - sums.bytes_per_block, max_model_len)

    def start(length: int, auto_fit: bool) -> Any:
        return lesson.get_kv_cache_config(
            groups, available, length, max_in_flight_tokens, auto_fit=auto_fit
        )

    if longest == 0:
        message = refusal(lambda: start(max_model_len, True))
        require(
            "Cannot auto-fit" in message,
            "The message has to contain 'Cannot auto-fit'.",
            message=message,
        )
        return
    config = start(max_model_len, True)
    expect(config.max_model_len, longest)
    expect(config, start(longest, False), "As if this length had been asked for.")


@check(points=1, rule=OVERRIDE, needs=("test_one_block_is_held_back",), examples=30)
@given(SOME_MODEL, st.integers(1, 200), st.integers(0, 60), st.integers(-3, 300), st.booleans())
def test_override(
    lesson: Any, model: Model, max_model_len: int, override: int, blocks: int, auto_fit: bool
) -> None:
    """With an override the memory does not matter, not even for the check."""
    sums = sizing(model, 8)
    groups = build(lesson, model)
    available = [blocks * sums.bytes_per_block, 7]

    def start() -> Any:
        return lesson.get_kv_cache_config(
            groups, available, max_model_len, 8, num_gpu_blocks_override=override, auto_fit=auto_fit
        )

    try:
        expected = sums.get_kv_cache_config(available, max_model_len, override, auto_fit)
    except ValueError:
        expect_error(start, "ValueError", f"{override} blocks, one of them the null block.")
    else:
        config = start()
        expect(
            (config.num_blocks, config.max_model_len), (expected.num_blocks, expected.max_model_len)
        )


@check(points=1, rule=SAID, needs=("test_blocks_fill_the_memory",))
def test_capacity(lesson: Any) -> None:
    """Capacity is counted in whole requests of the longest length, the null block included."""
    groups = build(lesson, [[LLAMA] * 2])
    block = 2 * page(LLAMA)

    def capacity(num_blocks: int, max_model_len: int, **flags: bool) -> tuple[int, int, float]:
        config = lesson.get_kv_cache_config(
            groups, [num_blocks * block], max_model_len, 64, **flags
        )
        return config.num_blocks, config.kv_cache_size_tokens, config.max_concurrency

    expect(capacity(5120, 8192), (5120, 81_920, 10.0))
    expect(
        capacity(5120, 1000),
        (5120, 81_269, 5120 / 63),
        "A request of 1,000 tokens holds 63 blocks, the last one half empty.",
    )
    expect(
        capacity(512, 8192, auto_fit=True),
        (512, 8192, 512 / 511),
        "8,176 tokens fit; the null block is counted as if it could be used.",
    )
    expect(
        capacity(15, 176),
        (15, 239, 15 / 11),
        "int(max_concurrency * max_model_len), and the float 15 / 11 is a little too small.",
    )


@check(points=1, rule=SAID, examples=30)
@given(
    st.integers(0, 10**10),
    st.integers(1, 10**7),
    st.integers(0, 10**6).map(lambda thousandths: thousandths / 1000),
    st.sampled_from([None, "GPU", "CPU"]),
)
def test_log_line(
    lesson: Any, tokens: int, max_model_len: int, concurrency: float, device: str | None
) -> None:
    """The log line has commas at the thousands, and two decimals."""
    config = lesson.KVCacheConfig(1, max_model_len, tokens, concurrency)
    devices = () if device is None else (device,)
    expect(
        lesson.startup_log_line(config, *devices),
        f"{device or 'GPU'} KV cache size: {tokens:,} tokens, Maximum concurrency for "
        f"{max_model_len:,} tokens per request: {concurrency:.2f}x",
    )


@check(points=1, rule=AUTO_FIT, needs=("test_auto_fit",), examples=30)
@given(SOME_MODEL, LENGTHS, st.integers(0, 500))
def test_more_memory_is_never_worse(
    lesson: Any, model: Model, max_model_len: int, number: int
) -> None:
    """One byte more lowers neither blocks nor length."""
    sums = sizing(model, 8)
    groups = build(lesson, model)
    least = sums.bytes_per_block * (sums.blocks_per_request(1) + 1)
    # Mostly the last byte before a new block.
    available = least + (number // 5 + 1) * sums.bytes_per_block - 1 - number % 5 % 2

    def start(memory: int) -> Any:
        return lesson.get_kv_cache_config(groups, [memory], max_model_len, 8, auto_fit=True)

    before, after = start(available), start(available + 1)
    require(
        after.num_blocks >= before.num_blocks and after.max_model_len >= before.max_model_len,
        "With one byte more there is less.",
        before=(before.num_blocks, before.max_model_len),
        after=(after.num_blocks, after.max_model_len),
    )


@check(points=1, rule=HOLDS, needs=("test_capacity", "test_groups_add_up"), examples=25)
@given(st.integers(1, 3), st.integers(1, 5), st.integers(2, 60), st.integers(1, 40))
def test_windows_pay_off(
    lesson: Any, group_size: int, num_windows: int, sliding_window: int, max_in_flight_tokens: int
) -> None:
    """Layers that forget let more long requests in than if they remembered everything."""
    window = {**LLAMA, "kind": WINDOW, "size": sliding_window}
    model = [[layer] * group_size for layer in (LLAMA, *[window] * num_windows)]
    all_full = [[LLAMA] * (group_size * (1 + num_windows))]
    max_model_len = 16 * (sizing(model, max_in_flight_tokens).blocks_per_request(1) + 100)
    available = [sizing(all_full, 1).bytes_per_block * max_model_len]

    def concurrency(groups: Model) -> float:
        made = build(lesson, groups)
        config = lesson.get_kv_cache_config(made, available, max_model_len, max_in_flight_tokens)
        return float(config.max_concurrency)

    forgetting, remembering = concurrency(model), concurrency(all_full)
    require(
        forgetting >= remembering,
        f"{num_windows} of {num_windows + 1} layers look back {sliding_window} tokens only, "
        f"of {max_model_len}.",
        max_concurrency=forgetting,
        max_concurrency_without_windows=remembering,
    )


@check(
    points=1,
    rule=SAID,
    needs=("test_one_block_is_held_back", "test_override", "test_auto_fit", "test_capacity"),
)
@given(
    SOME_MODEL,
    LENGTHS,
    IN_FLIGHT,
    st.lists(st.integers(0, 2000), min_size=1, max_size=3),
    st.one_of(st.none(), st.integers(0, 200)),
    st.booleans(),
)
def test_sizing_follows_the_engine(
    lesson: Any,
    model: Model,
    max_model_len: int,
    max_in_flight_tokens: int,
    tenths: list[int],
    override: int | None,
    auto_fit: bool,
) -> None:
    """Whatever the model and the memory, the cache has the engine's size."""
    sums = sizing(model, max_in_flight_tokens)
    groups = build(lesson, model)
    available = [number * sums.bytes_per_block // 10 for number in tenths]

    def start() -> Any:
        return lesson.get_kv_cache_config(
            groups, available, max_model_len, max_in_flight_tokens, override, auto_fit
        )

    try:
        expected = sums.get_kv_cache_config(available, max_model_len, override, auto_fit)
    except ValueError:
        expect_error(start, "ValueError")
    else:
        expect(start(), expected)
