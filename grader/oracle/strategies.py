"""Drawing workloads that crowd every feature of the engine into a few requests and steps.

Pools are tiny and vocabularies small, so that memory runs out, prompts share prefixes and stopping
tokens are sampled often. `max_model_len` never exceeds the pool: a sequence that outgrows it
preempts itself for ever, in vLLM too.
"""

from typing import Any

from hypothesis import strategies as st

from grader.oracle.group_strategies import can_tell_events, with_groups
from grader.oracle.in_flight_strategies import with_outputs_in_flight
from reference.workload import draw_tokens

Workload = dict[str, Any]

MAX_STEPS = 150
LARGEST_MODEL_LEN = 64
NUM_FAMILIES = 2


def small(limit: int, start: int = 0) -> st.SearchStrategy[int]:
    """A whole number from `start` to `limit`, more often near `start`."""
    limit = max(limit, start)
    near = st.integers(start, min(start + 4, limit))
    return st.one_of(near, st.integers(start, limit))


def chance(percent: int) -> st.SearchStrategy[bool]:
    """True in about so many of a hundred draws; shrinks to False."""
    return st.integers(0, 99).map(lambda drawn: drawn >= 100 - percent)


@st.composite
def engines(draw: st.DrawFn, tight: bool) -> dict[str, Any]:
    """The `engine` part of a workload; a tight one has a pool of a few small blocks."""
    block_size = draw(st.sampled_from([4, 2, 1, 3] if tight else [4, 2, 1, 3, 8, 16]))
    num_gpu_blocks = draw(st.integers(4, 12) if tight else st.integers(4, 40))
    capacity = (num_gpu_blocks - 1) * block_size
    longest = min(capacity, LARGEST_MODEL_LEN)
    max_model_len = longest if tight else draw(st.integers(2, longest))
    max_num_seqs = draw(st.integers(2 if tight else 1, 6))
    chunked = not draw(chance(15))
    fewest_tokens = max_num_seqs if chunked else max(max_num_seqs, max_model_len)
    batched = draw(
        st.one_of(
            st.integers(fewest_tokens, fewest_tokens + (2 if tight else 8)),
            st.integers(fewest_tokens, fewest_tokens + 8),
            st.integers(fewest_tokens, fewest_tokens + 64),
            st.just(fewest_tokens + 1000),
        )
    )
    engine: dict[str, Any] = {
        "block_size": block_size,
        "num_gpu_blocks": num_gpu_blocks,
        "max_model_len": max_model_len,
        "max_num_seqs": max_num_seqs,
        "max_num_batched_tokens": batched,
        "policy": draw(st.sampled_from(["fcfs", "priority"])),
        "enable_chunked_prefill": chunked,
        "enable_prefix_caching": not draw(chance(15)),
        "scheduler_reserve_full_isl": not draw(chance(50 if tight else 20)),
    }
    if draw(chance(40 if tight else 25)):
        # Near the number of seats a decode can be left without its token.
        most = min(batched, max_num_seqs + 1) if tight else batched
        engine["max_num_scheduled_tokens"] = draw(st.integers(1, most))
    if draw(chance(35)):
        engine["long_prefill_token_threshold"] = draw(small(max_model_len, start=1))
    if draw(chance(25)):
        engine["watermark"] = draw(st.sampled_from([0.05, 0.1, 0.25, 0.5, 0.9]))
    return engine


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    """The `model` part of a workload."""
    vocab_size = draw(st.sampled_from([1000, 8, 4, 3]))
    model: dict[str, Any] = {"vocab_size": vocab_size}
    if vocab_size < 1000 and draw(chance(40)):
        model["eos_token_id"] = draw(st.integers(0, vocab_size - 1))
    return model


@st.composite
def prompts(draw: st.DrawFn, longest: int, vocab_size: int) -> list[int]:
    """A prompt that begins like others of its family and may go on in a way of its own."""
    family = draw(st.integers(0, NUM_FAMILIES - 1))
    shared = draw(st.integers(0, longest))
    own = draw(small(longest - shared, start=0 if shared else 1))
    seed = draw(st.integers(100, 103))
    return [*draw_tokens(family, shared, vocab_size), *draw_tokens(seed, own, vocab_size)]


@st.composite
def mm_features(draw: st.DrawFn, num_prompt_tokens: int) -> list[dict[str, Any]]:
    """One or two images somewhere in a prompt, in order and apart."""
    features: list[dict[str, Any]] = []
    end = 0
    for _ in range(draw(st.integers(1, 2))):
        if end >= num_prompt_tokens:
            break
        offset = draw(st.integers(end, num_prompt_tokens - 1))
        length = draw(small(num_prompt_tokens - offset, start=1))
        identifier = draw(st.sampled_from(["cat", "dog"]))
        features.append({"identifier": identifier, "offset": offset, "length": length})
        end = offset + length
    return features


@st.composite
def stop_rules(draw: st.DrawFn, model: dict[str, Any], tight: bool) -> dict[str, Any]:
    """What ends a request; some token always remains that does not."""
    vocab_size = model["vocab_size"]
    lengths = [st.integers(6, 40), st.integers(1, 40)] if tight else [small(6, 1), small(40, 1)]
    rules: dict[str, Any] = {"max_tokens": draw(st.one_of(lengths))}
    if draw(chance(60 if tight else 20)):
        rules["ignore_eos"] = True
    if vocab_size < 1000 and draw(chance(30)):
        # Two at most, and the smallest vocabulary has three: eos may be a third.
        most = min(2, vocab_size - 2)
        ids = st.lists(st.integers(0, vocab_size - 1), min_size=1, max_size=most, unique=True)
        rules["stop_token_ids"] = draw(ids)
    if draw(chance(20)):
        rules["min_tokens"] = draw(small(rules["max_tokens"], start=1))
    if draw(chance(15)):
        largest = draw(st.integers(1, 3))
        rules["repetition_detection"] = {
            "max_pattern_size": largest,
            "min_pattern_size": draw(st.integers(0, largest)),
            "min_count": draw(st.integers(2, 3)),
        }
    return rules


@st.composite
def aborts(draw: st.DrawFn, arrival: int) -> dict[str, Any]:
    """An abort at some time after the arrival, before a step or while its model runs."""
    after = draw(st.booleans())
    first = arrival if after else arrival + 1
    when = "after_schedule" if after else "before_schedule"
    return {"step": draw(small(first + 15, start=first)), "when": when}


@st.composite
def requests(
    draw: st.DrawFn, index: int, engine: dict[str, Any], model: dict[str, Any], tight: bool
) -> dict[str, Any]:
    """One request, with each of its features drawn now and then.

    Under a tight engine prompts are short and outputs long: requests are admitted together and
    outgrow the pool as they decode.
    """
    longest_prompt = engine["max_model_len"] - 1
    if tight and draw(chance(65)):
        longest_prompt = max(1, longest_prompt // 3)
    prompt = draw(prompts(longest_prompt, model["vocab_size"]))
    arrival = draw(st.one_of(st.just(0), small(3 if tight else 12)))
    name = chr(ord("a") + index)
    request: dict[str, Any] = {"id": name, "prompt": prompt, "arrival": arrival}
    request |= draw(stop_rules(model, tight))
    if draw(chance(80 if engine["policy"] == "priority" else 10)):
        # The later in line, the more urgent: those who run first are the ones to give way.
        request["priority"] = draw(st.one_of(st.just(-index), st.integers(-1, 2)))
    if draw(chance(10)):
        request["lora_name"] = draw(st.sampled_from(["sql", "chat"]))
    if draw(chance(10)):
        request["cache_salt"] = draw(st.sampled_from(["red", "blue"]))
    if draw(chance(10)):
        request["mm_features"] = draw(mm_features(len(prompt)))
    if draw(chance(5)):
        request["prompt_logprobs"] = True
    if draw(chance(25)):
        request["abort"] = draw(aborts(arrival))
    if draw(chance(10)):
        request["grammar"] = {
            "step": draw(small(arrival + 8, start=arrival)),
            "compiles": not draw(chance(30)),
        }
    return request


@st.composite
def refunds(draw: st.DrawFn) -> Workload:
    """A workload in which a victim may give tokens back to a budget that is spent.

    That takes policy priority, one who runs early and is least urgent, one who needs a block after
    it, and a long prompt behind them that takes what is left of a small budget, step by step.
    """
    block_size = draw(st.integers(1, 3))
    num_gpu_blocks = draw(st.integers(5, 9))
    max_model_len = (num_gpu_blocks - 1) * block_size
    count = draw(st.integers(3, 4))
    engine = {
        "block_size": block_size,
        "num_gpu_blocks": num_gpu_blocks,
        "max_model_len": max_model_len,
        "max_num_seqs": count,
        "max_num_batched_tokens": count + draw(st.integers(0, 1)),
        "policy": "priority",
        "scheduler_reserve_full_isl": False,
    }
    last = count - 1
    reqs: list[dict[str, Any]] = []
    for index in range(count):
        shortest = min(4, max_model_len - 1) if index == last else 1
        longest = max_model_len - 1 if index == last else min(3, max_model_len - 1)
        length = draw(st.integers(shortest, longest))
        reqs.append(
            {
                "id": chr(ord("a") + index),
                "prompt": list(draw_tokens(index, length, 1000)),
                "arrival": draw(st.integers(0, 2)) if index else 0,
                "max_tokens": draw(st.integers(2, 12)),
                "priority": draw(st.integers(0, 5)) if index else 9,
            }
        )
    return {"engine": engine, "model": {}, "max_steps": MAX_STEPS, "requests": reqs}


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A workload as plain data, always valid.

    >>> from reference.workload import parse_workload
    >>> from hypothesis import find
    >>> parse_workload(find(workloads(), lambda _: True), "drawn.yaml").name
    'drawn'
    """
    workload = draw(refunds() if draw(chance(15)) else mixtures(draw(chance(30))))
    if draw(chance(35)):
        workload = draw(with_outputs_in_flight(workload))
    engine = workload["engine"]
    if can_tell_events(engine.get("kv_cache_groups")) and draw(chance(40)):
        workload = workload | {"engine": engine | {"enable_kv_cache_events": True}}
    return workload


@st.composite
def mixtures(draw: st.DrawFn, grouped: bool) -> Workload:
    """A workload in which every feature is drawn now and then; `grouped` groups the layers."""
    tight = draw(chance(60))
    engine = draw(engines(tight))
    if grouped:
        engine = draw(with_groups(engine, tight))
    model = draw(models())
    count = draw(st.integers(3 if tight else 1, 8))
    workload: Workload = {
        "engine": engine,
        "model": model,
        "max_steps": MAX_STEPS,
        "requests": [draw(requests(index, engine, model, tight)) for index in range(count)],
    }
    if draw(chance(15)):
        workload["reset_prefix_cache"] = sorted(
            draw(st.sets(st.integers(0, 25), min_size=1, max_size=4))
        )
    return workload
