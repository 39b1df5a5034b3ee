"""Draws scripts for the engine's front."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from grader.oracle.front.driver import Script
from reference.tokenizer import default_tokenizer

#: What stop strings and texts are cut from: words, and letters of two, three and four bytes.
TEXTS = ("User: the end of the", "déjà é", "水曜日", "😀🎉", " \n\n", "abababab", "hello world")
#: Beyond the tokenizer's own; a model may know more tokens than its tokenizer.
LARGEST_TOKEN = 1005


def _byte_tokens() -> dict[int, int]:
    pieces = default_tokenizer().pieces
    return {piece[0]: token for token, piece in enumerate(pieces) if len(piece) == 1}


BYTE_TOKENS = _byte_tokens()
TOKENS = st.integers(0, LARGEST_TOKEN)
SPECIAL = st.sampled_from(sorted(default_tokenizer().special_ids))


@st.composite
def _bytewise(draw: DrawFn) -> list[int]:
    """A text in single bytes, so that letters are cut in the middle; some bytes get lost."""
    data = draw(st.sampled_from(TEXTS)).encode()
    lost = draw(st.one_of(st.none(), st.integers(0, len(data) - 1)))
    return [BYTE_TOKENS[byte] for place, byte in enumerate(data) if place != lost]


def _written(text: str) -> list[int]:
    return default_tokenizer().encode(text)


STREAMS: SearchStrategy[list[int]] = st.lists(
    st.one_of(
        _bytewise(),
        st.sampled_from(TEXTS).map(_written),
        st.lists(TOKENS, min_size=1, max_size=4),
        SPECIAL.map(lambda token: [token]),
    ),
    min_size=1,
    max_size=5,
).map(lambda parts: [token for part in parts for token in part])


@st.composite
def _params(draw: DrawFn, stream: list[int]) -> dict[str, Any]:
    """Stop strings are cut out of what the stream says, so that they are found."""
    text = default_tokenizer().decode(stream) or "x"
    stops = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text) - 1))
        stops.append(text[start : start + draw(st.integers(1, 6))])
    return {
        "stop": stops,
        "min_tokens": draw(st.sampled_from((0, 0, 1, 3, 6))),
        "include_stop_str_in_output": draw(st.booleans()),
        "skip_special_tokens": draw(st.booleans()),
    }


@st.composite
def _cut(draw: DrawFn, stream: list[int]) -> list[list[int]]:
    """The stream in chunks, cut anywhere."""
    places = draw(st.lists(st.integers(0, len(stream)), max_size=6))
    if draw(st.booleans()):
        places = list(range(len(stream)))
    edges = [0, *sorted(places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@st.composite
def detokenizer_scripts(draw: DrawFn) -> Script:
    """A stream of tokens behind a prompt that ends with a whole letter."""
    stream = draw(STREAMS)
    chunks = draw(_cut(stream))
    stopped = draw(st.booleans())
    return {
        "prompt": draw(st.lists(st.sampled_from(TEXTS), max_size=2).map("".join).map(_written)),
        "params": draw(_params(stream)),
        "chunks": [
            [chunk, stopped and bool(chunk) and place == len(chunks) - 1]
            for place, chunk in enumerate(chunks)
        ],
        "delta": draw(st.booleans()),
        "fast": draw(st.booleans()),
    }


@st.composite
def output_processor_scripts(draw: DrawFn) -> Script:
    """Some requests, the core's outputs for them, aborts, and clients that look now and then."""
    count = draw(st.integers(1, 3))
    requests = [draw(_request(place)) for place in range(count)]
    streams = [draw(STREAMS) for _ in requests]
    for request, stream in zip(requests, streams, strict=True):
        request["params"] |= draw(_params(stream))
    operations: list[list[Any]] = [["add", place] for place in range(count)]
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(("outputs", "outputs", "outputs", "get", "abort")))
        if kind == "outputs":
            outputs = [
                draw(_core_output(place, request, streams[place]))
                for place, request in enumerate(requests)
                if draw(st.booleans())
            ]
            operations.append(["outputs", [output for each in outputs for output in each]])
        elif kind == "get":
            operations.append(["get", draw(st.integers(0, count - 1))])
        elif draw(st.integers(0, 2)) == 0:
            operations.append(["abort", *draw(_abort(requests))])
    operations += [["get", place] for place in range(count)]
    intervals = st.sampled_from((1, 1, 2, 3, 5))
    return {"stream_interval": draw(intervals), "requests": requests, "operations": operations}


@st.composite
def _request(draw: DrawFn, place: int) -> Script:
    external = draw(st.sampled_from(("a", f"r{place}")))
    params: dict[str, Any] = {
        "n": draw(st.sampled_from((1, 1, 1, 2, 3))),
        "output_kind": draw(st.sampled_from(("CUMULATIVE", "DELTA", "FINAL_ONLY"))),
        "logprobs": draw(st.sampled_from((None, None, 0, 2))),
        "stream_interval": draw(st.sampled_from((None, None, 1, 4))),
        "seed": draw(st.sampled_from((None, 0, 7))),
    }
    return {
        "id": external,
        "internal_id": f"{external}-{place:08x}",
        "prompt": [BYTE_TOKENS[ord("x")]] * 3,
        "params": params,
        "queue": draw(st.booleans()),
    }


@st.composite
def _core_output(draw: DrawFn, place: int, request: Script, stream: list[int]) -> list[Script]:
    """A step's output of a request, for some of its children."""
    outputs = []
    for child in range(request["params"]["n"]):
        if not draw(st.booleans()):
            continue
        start = draw(st.integers(0, len(stream) - 1))
        tokens = stream[start : start + draw(st.integers(1, 5))]
        finish = draw(st.sampled_from((None, None, None, 0, 1)))
        logprobs = None
        if request["params"]["logprobs"] is not None:
            logprobs = [_candidates(token, request["params"]["logprobs"]) for token in tokens]
        outputs.append(
            {
                "of": place,
                "child": child,
                "token_ids": tokens,
                "logprobs": logprobs,
                "finish": finish,
                "stop_reason": draw(st.sampled_from((None, tokens[-1]))) if finish == 0 else None,
            }
        )
    return outputs


def _candidates(token: int, count: int) -> list[tuple[int, float, int]]:
    """The sampled token first, then the likeliest ones."""
    others = [(token + place + 1, -(token % 7) / 8, place + 1) for place in range(count)]
    return [(token, -(token % 11) / 4 - 1, token % 5 + 1), *others]


@st.composite
def _abort(draw: DrawFn, requests: list[Script]) -> list[Any]:
    request = draw(st.sampled_from(requests))
    if draw(st.booleans()):
        return [[request["id"]], False]
    if request["params"]["n"] > 1 and draw(st.booleans()):
        child = draw(st.integers(0, request["params"]["n"] - 1))
        return [[f"{child}_{request['internal_id']}"], True]
    return [[request["internal_id"], "unknown"], True]


@st.composite
def input_processor_scripts(draw: DrawFn) -> Script:
    """A request with one thing or another about it that may be wrong."""
    has_tokenizer = draw(st.booleans())
    tokens = st.one_of(
        st.integers(0, 499), st.integers(0, 499), st.sampled_from((-1, 999, 1000, 1199, 1200))
    )
    prompt: Any = draw(st.one_of(st.lists(tokens, max_size=20), st.just([1] * 15)))
    if has_tokenizer and draw(st.booleans()):
        prompt = draw(st.sampled_from((*TEXTS, "the end of the world " * 5)))
    rendered = not isinstance(prompt, str) and draw(st.booleans())
    max_tokens = draw(st.one_of(st.none(), st.integers(1, 5), st.just(1000)))
    params = {
        "max_tokens": max_tokens,
        "min_tokens": draw(st.integers(0, min(max_tokens or 3, 3))),
        "stop_token_ids": draw(
            st.lists(st.sampled_from((3, 7, 3, 9, 999, 499, 1100, -1)), max_size=3)
        ),
        "ignore_eos": draw(st.booleans()),
        "logprobs": draw(st.sampled_from((None, None, 0, 20, 21, -1))),
    }
    tokenization: dict[str, Any] = {}
    if not rendered and draw(st.booleans()):
        sizes = st.sampled_from((None, -1, 0, 1, 15, 16, 17))
        tokenization["truncate_prompt_tokens"] = draw(sizes)
        if draw(st.booleans()):
            tokenization["truncation_side"] = draw(st.sampled_from(("left", "right")))
    return {
        "max_model_len": 16,
        "vocab_size": draw(st.sampled_from((500, 1200))),
        "has_tokenizer": has_tokenizer,
        "generation_config": draw(
            st.sampled_from(({}, {"eos_token_id": 7}, {"eos_token_id": [999, 7, 9]}))
        ),
        "prompt": prompt,
        "params": params,
        "data_parallel_rank": draw(st.sampled_from((None, None, None, 0, 1, -1))),
        "rendered": rendered,
        "priority": draw(st.integers(-3, 3)),
        "tokenization": tokenization,
    }


PAUSES: SearchStrategy[list[Any]] = st.sampled_from(
    ([], ["abort"], ["wait"], ["keep"], ["keep", False], ["wait", False], ["never"])
)
CALLS: SearchStrategy[tuple[str, list[Any]]] = st.one_of(
    st.tuples(st.just("pause_scheduler"), PAUSES),
    st.tuples(st.sampled_from(("resume_scheduler", "is_scheduler_paused")), st.just([])),
    st.tuples(st.just("sleep"), st.sampled_from(([], [0], [1, "wait"], [1, "keep"], [2]))),
    st.tuples(
        st.just("wake_up"),
        st.sampled_from(([], [["scheduling"]], [["weights"]], [["kv_cache", "scheduling"]])),
    ),
    st.tuples(st.sampled_from(("is_sleeping", "reset_prefix_cache", "nothing")), st.just([])),
)


@st.composite
def engine_core_scripts(draw: DrawFn) -> Script:
    """A schedule of adds, aborts and utility calls before each turn of the loop."""
    count = draw(st.integers(1, 6))
    names = [f"r{place}" for place in range(count)]
    turns: list[list[Any]] = [[] for _ in range(draw(st.integers(1, 14)))]
    for name in names:
        added = ["add", name, draw(st.integers(1, 20)), draw(st.integers(1, 5))]
        turns[draw(st.integers(0, len(turns) - 1))].append([*added, draw(st.integers(0, 1))])
    for call_id in range(draw(st.integers(0, 6))):
        call, args = draw(CALLS)
        called = ["utility", draw(st.integers(0, 1)), call_id, call, args]
        turns[draw(st.integers(0, len(turns) - 1))].append(called)
    if draw(st.booleans()):
        # A pause in the middle of it all that comes to its end.
        start = draw(st.integers(0, len(turns) - 1))
        turns[start].append(["utility", 0, 100, "pause_scheduler", draw(PAUSES)])
        end = draw(st.integers(start, len(turns) - 1))
        turns[end].append(["utility", 0, 101, "resume_scheduler", []])
    ids = st.lists(st.sampled_from((*names, "unknown")), min_size=1, max_size=2, unique=True)
    for _ in range(draw(st.integers(0, 2))):
        turns[draw(st.integers(0, len(turns) - 1))].insert(0, ["abort", draw(ids)])
    ends = draw(st.sampled_from((None, None, "shutdown", "shutdown", "fail")))
    if ends is not None:
        turns[draw(st.integers(0, len(turns) - 1))].append([ends])
    during = st.lists(
        st.tuples(st.integers(0, 12), ids), max_size=2, unique_by=lambda each: each[0]
    )
    return {
        "engine": {"max_num_seqs": draw(st.integers(1, 4)), "max_num_batched_tokens": 16},
        "batch_queue_size": draw(st.integers(1, 3)),
        "shutdown_timeout": draw(st.sampled_from((0, 30))),
        "turns": turns,
        "during": [list(each) for each in draw(during)],
    }


SCRIPTS: dict[str, SearchStrategy[Script]] = {
    "detokenizer": detokenizer_scripts(),
    "output_processor": output_processor_scripts(),
    "input_processor": input_processor_scripts(),
    "engine_core": engine_core_scripts(),
}
