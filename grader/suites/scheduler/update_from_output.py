"""Hidden suite of ``scheduler/update_from_output``."""

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import check, expect, require, story
from grader.handing import hand_in
from grader.parts.scheduler.update_from_output import install, sampling_params
from reference.block_pool import BlockPool
from reference.config import EngineConfig
from reference.engine import Parts, run_workload
from reference.kv_cache_manager import KVCacheManager
from reference.output import SchedulerOutput
from reference.request import Request, RequestStatus
from reference.sampling_params import RepetitionDetectionParams, SamplingParams
from reference.scheduler import Scheduler
from reference.workload import parse_workload

EOS, STOP, OTHER = 2, 50, 7
TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=12)
FEW = 40


class Freed:
    """A KV cache manager that only remembers whom it was told to free."""

    def __init__(self) -> None:
        self.request_ids: list[str] = []

    def free(self, request_id: str) -> None:
        self.request_ids.append(request_id)


def scheduler_of(lesson: Any, freed: Freed, max_model_len: int = 1000) -> Any:
    return lesson.Scheduler(max_model_len, hand_in(freed, "free"))


def emitted(outputs: Any) -> dict[int, list[tuple[str, list[int], str | None, int | str | None]]]:
    """What update_from_output returned, as plain tuples."""
    return {
        client_index: [(o.request_id, o.new_token_ids, o.finish_reason, o.stop_reason) for o in of]
        for client_index, of in outputs.items()
    }


def run_alone(
    lesson: Any, steps: list[list[int]], num_prompt_tokens: int = 4, **params: Any
) -> tuple[list[int], str | None, int | str | None]:
    """Text, finish reason and stop reason of one request whose model returns ``steps``."""
    scheduler = scheduler_of(lesson, Freed())
    scheduler.add_request("a", num_prompt_tokens, lesson.SamplingParams(**params))
    text: list[int] = []
    for token_ids in steps:
        if len(token_ids) > 1:
            scheduler.update_draft_token_ids({"a": token_ids[:-1]})
        scheduler.schedule()
        for _, new_token_ids, finish_reason, stop_reason in emitted(
            scheduler.update_from_output({"a": list(token_ids)})
        ).get(0, []):
            text += new_token_ids
            if finish_reason is not None:
                return text, finish_reason, stop_reason
    return text, None, None


# Whether the last token is EOS, is a stop token, fills max_tokens, fills max_model_len, is below
# min_tokens, repeats. min_tokens is never above max_tokens.
ANSWERS = [a for a in product((False, True), repeat=6) if not (a[2] and a[4])]


@check(points=2, rule="What ends a request")
@given(st.sampled_from(ANSWERS))
def test_the_first_question_decides(lesson: Any, answers: tuple[bool, ...]) -> None:
    """The end-of-sequence token comes before stop tokens, both before length, then the rest."""
    eos, stop, tokens, length, minimum, repeats = answers
    last = EOS if eos else STOP if stop else OTHER
    params = lesson.SamplingParams(
        max_tokens=4 if tokens else 9,
        min_tokens=5 if minimum else 0,
        eos_token_id=EOS,
        stop_token_ids=(STOP, EOS) if stop else (99,),
        repetition_detection=(2, 1, 3),
    )
    expected: tuple[str | None, int | str | None] = (None, None)
    if eos:
        expected = ("FINISHED_STOPPED", None)
    elif stop:
        expected = ("FINISHED_STOPPED", STOP)
    elif tokens or length:
        expected = ("FINISHED_LENGTH_CAPPED", None)
    elif repeats and not minimum:
        expected = ("FINISHED_REPETITION", "repetition_detected")
    outputs = [last] * 4 if repeats else [11, 12, 13, last]
    expect(lesson.check_stop(outputs, 10, params, 14 if length else 100), expected)
    capped = ("FINISHED_LENGTH_CAPPED", None)
    beyond = lesson.SamplingParams(max_tokens=3)
    expect(lesson.check_stop([7] * 4, 10, beyond, 100), capped, "There are 4 of 3 tokens.")
    expect(lesson.check_stop([7] * 2, 10, beyond, 11), capped, "12 tokens, and 11 is the most.")


@check(points=1, rule="What ends a request")
def test_no_end_of_sequence_token_never_ends(lesson: Any) -> None:
    """Without an eos_token_id, no token is the end of the sequence."""
    params = lesson.SamplingParams(max_tokens=9)
    for token_id in (0, EOS, -1):
        expect(lesson.check_stop([token_id], 4, params, 100), (None, None))
    expect(run_alone(lesson, [[EOS], [0], [5]], max_tokens=3), ([EOS, 0, 5], "length", None))


@check(points=1, rule="What ends a request", needs=["test_the_first_question_decides"])
def test_min_tokens_holds_back_repetition_alone(lesson: Any) -> None:
    """min_tokens does not keep an end-of-sequence token from ending a request."""
    expect(
        run_alone(lesson, [[EOS], [7]], max_tokens=9, min_tokens=5, eos_token_id=EOS),
        ([EOS], "stop", None),
    )
    loop: dict[str, Any] = {"max_tokens": 9, "repetition_detection": (3, 1, 2)}
    expect(
        run_alone(lesson, [[1], [2]] * 4, **loop),
        ([1, 2, 1, 2], "repetition", "repetition_detected"),
    )
    expect(
        run_alone(lesson, [[1]] * 9, min_tokens=6, **loop),
        ([1] * 6, "repetition", "repetition_detected"),
    )


@check(points=1, rule="Repetition")
@given(TOKENS, st.integers(1, 4), st.integers(-1, 4), st.integers(-1, 4), st.integers(0, 4))
def test_repetition_is_what_its_definition_says(
    lesson: Any, token_ids: list[int], copies: int, largest: int, smallest: int, count: int
) -> None:
    """Output repeats when it ends in min_count copies of a pattern of an allowed size."""
    token_ids = token_ids[:6] + token_ids[-4:] * (copies - 1)
    repeats = count >= 2 and any(
        token_ids[-size * count :] == token_ids[-size:] * count
        for size in range(max(smallest, 1), largest + 1)
    )
    expect(lesson.check_sequence_repetition(token_ids, (largest, smallest, count)), repeats)


TWO_COPIES = [9, 1, 2, 3, 1, 2, 3]
DETECTIONS = [
    (TWO_COPIES, (3, 3, 2), True),
    (TWO_COPIES, (3, 0, 2), True),
    (TWO_COPIES, (4, 2, 2), True),
    (TWO_COPIES, (2, 1, 2), False),
    (TWO_COPIES, (6, 4, 2), False),
    (TWO_COPIES, (3, 1, 3), False),
    (TWO_COPIES, (3, 1, 1), False),
    (TWO_COPIES, (0, 0, 2), False),
    ([*TWO_COPIES, 9], (3, 1, 2), False),
]


@check(points=1, rule="Repetition")
@given(st.sampled_from(DETECTIONS))
def test_the_sizes_are_inclusive(
    lesson: Any, detection: tuple[list[int], tuple[int, int, int], bool]
) -> None:
    """Patterns of the smallest to the largest size count, and only at the end."""
    token_ids, triple, repeats = detection
    expect(
        lesson.check_sequence_repetition(list(token_ids), triple),
        repeats,
        "The triple is (max_pattern_size, min_pattern_size, min_count).",
    )


STOPPING: list[tuple[list[int], dict[str, Any], list[int], str, int | None]] = [
    ([11, EOS, 13, 14], {"eos_token_id": EOS}, [11, EOS], "stop", None),
    ([11, 12, STOP, EOS], {"stop_token_ids": (STOP,), "eos_token_id": EOS}, [11, 12, STOP],
     "stop", STOP),
    ([11, 12, 13, 14], {"max_tokens": 4}, [11, 12, 13], "length", None),
    ([11, 12, 13, 14], {"max_tokens": 5}, [11, 12, 13, 14], "length", None),
]  # fmt: skip


@check(points=1, rule="One token at a time")
@given(st.sampled_from(STOPPING))
def test_nothing_follows_the_stopping_token(
    lesson: Any, stopping: tuple[list[int], dict[str, Any], list[int], str, int | None]
) -> None:
    """Tokens behind the one that ends a request are neither sent nor counted."""
    sampled, params, text, reason, stop_reason = stopping
    expect(
        run_alone(lesson, [[10], sampled], **{"max_tokens": 20} | params),
        ([10, *text], reason, stop_reason),
        f"The model returns 10, and then {sampled} at once.",
    )


@check(points=2, rule="Taking wrong drafts back")
@given(st.sampled_from([[40], [11, 40], [11, 12, 40], [11, 12, 13, 40]]))
def test_rejected_drafts_are_taken_back(lesson: Any, sampled: list[int]) -> None:
    """A request that goes on is one token behind, whether its drafts were right or wrong."""
    scheduler = scheduler_of(lesson, Freed())
    scheduler.add_request("a", 4, lesson.SamplingParams(max_tokens=20))
    scheduler.schedule()
    scheduler.update_from_output({"a": [10]})
    scheduler.update_draft_token_ids({"a": [11, 12, 13]})
    expect(scheduler.schedule().num_scheduled_tokens, {"a": 4})
    scheduler.update_from_output({"a": list(sampled)})
    expect(
        scheduler.schedule().num_scheduled_tokens,
        {"a": 1},
        f"Three drafts, {len(sampled) - 1} accepted: one token is left to compute.",
    )


@check(points=1, rule="One token at a time", examples=FEW)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=5),
       st.integers(1, 12), st.booleans())  # fmt: skip
def test_how_tokens_arrive_makes_no_difference(
    lesson: Any, steps: list[list[int]], max_tokens: int, loops: bool
) -> None:
    """The same tokens in one step or in several give the same text and the same end."""
    params: dict[str, Any] = {
        "max_tokens": max_tokens,
        "eos_token_id": 5,
        "stop_token_ids": (4,),
        "repetition_detection": (2, 1, 3) if loops else None,
    }
    steps = [[10], *steps]
    singly = [[token_id] for token_ids in steps for token_id in token_ids]
    story("First one token in each step, then with drafts, several at once.")
    text, reason, stop_reason = run_alone(lesson, singly, **params)
    sampled = [token_id for [token_id] in singly]
    expect(text, sampled[: len(text)], "What is sent is the start of what was sampled.")
    expect(run_alone(lesson, steps, **params), (text, reason, stop_reason))


@check(points=1, rule="What ends a request", examples=FEW)
@given(TOKENS, st.sets(st.integers(0, 3), max_size=2), st.integers(0, 3))
def test_more_stop_tokens_never_lengthen(
    lesson: Any, token_ids: list[int], stop_token_ids: set[int], one_more: int
) -> None:
    """Adding a stop token never makes an output longer."""
    steps = [[token_id] for token_id in token_ids]
    stop = tuple(stop_token_ids)
    text, _, _ = run_alone(lesson, steps, max_tokens=10, stop_token_ids=stop)
    shorter, _, _ = run_alone(lesson, steps, max_tokens=10, stop_token_ids=(*stop, one_more))
    require(
        shorter == text[: len(shorter)],
        "With one more stop token, the text is the start of what it was.",
        before=text,
        after=shorter,
    )


@check(points=1, rule="Who is skipped")
def test_nothing_sampled_nothing_sent(lesson: Any) -> None:
    """A request that sampled nothing sends nothing, whether its entry is empty or missing."""
    scheduler = scheduler_of(lesson, Freed())
    for request_id in ("a", "b", "c"):
        scheduler.add_request(request_id, 4, lesson.SamplingParams(max_tokens=9))
    scheduler.schedule()
    outputs = scheduler.update_from_output({"a": [], "c": [7]})
    expect(emitted(outputs), {0: [("c", [7], None, None)]})


@check(points=1, rule="What goes out")
def test_outputs_go_to_their_clients(lesson: Any) -> None:
    """Outputs are grouped by client, in schedule order; a client with nothing has no entry."""
    scheduler = scheduler_of(lesson, Freed())
    for request_id, client_index in (("a", 3), ("b", 0), ("c", 3), ("d", 1)):
        params = lesson.SamplingParams(max_tokens=2, stop_token_ids=(STOP,))
        scheduler.add_request(request_id, 4, params, client_index)
    scheduler.schedule()
    outputs = scheduler.update_from_output({"c": [STOP], "b": [8], "a": [9]})
    expect(
        emitted(outputs),
        {3: [("a", [9], None, None), ("c", [STOP], "stop", STOP)], 0: [("b", [8], None, None)]},
        "The step scheduled a, b, c, d; d sampled nothing.",
    )


@check(points=1, rule="How a request leaves")
def test_finished_ids_are_reported_once(lesson: Any) -> None:
    """A finished id goes out with the next step, and with no other."""
    freed = Freed()
    scheduler = scheduler_of(lesson, freed)
    for request_id, max_tokens in (("a", 1), ("b", 3), ("c", 1), ("d", 2)):
        scheduler.add_request(request_id, 4, lesson.SamplingParams(max_tokens=max_tokens))
    reported = []
    for _ in range(5):
        reported.append(scheduler.schedule().finished_req_ids)
        scheduler.update_from_output({request_id: [7] for request_id in "abcd"})
    expect(reported, [set(), {"a", "c"}, {"d"}, {"b"}, set()])
    expect(freed.request_ids, ["a", "c", "d", "b"], "Each request's blocks are freed as it ends.")


@check(points=1, rule="How a request leaves", needs=["test_finished_ids_are_reported_once"])
def test_those_that_go_on_keep_their_order(lesson: Any) -> None:
    """A request that ends does not disturb the order of those that go on."""
    scheduler = scheduler_of(lesson, Freed())
    params = lesson.SamplingParams(max_tokens=9, stop_token_ids=(STOP,))
    for request_id in "abcdef":
        scheduler.add_request(request_id, 4, params)
    scheduler.schedule()
    scheduler.update_from_output(
        {"a": [7], "b": [STOP], "c": [7], "d": [STOP], "e": [7], "f": [STOP]}
    )
    expect(list(scheduler.schedule().num_scheduled_tokens), ["a", "c", "e"])
    outputs = scheduler.update_from_output({"a": [STOP], "c": [7], "e": [7]})
    expect([o[0] for o in emitted(outputs)[0]], ["a", "c", "e"])
    expect(list(scheduler.schedule().num_scheduled_tokens), ["c", "e"])


@check(points=1, rule="When somebody else ends it")
def test_abort_while_the_model_runs(lesson: Any) -> None:
    """A token that arrives after the abort vanishes, and blocks are freed exactly once."""
    freed = Freed()
    scheduler = scheduler_of(lesson, freed)
    for request_id in ("a", "b"):
        scheduler.add_request(request_id, 4, lesson.SamplingParams(max_tokens=1))
    scheduler.schedule()
    scheduler.finish_requests(["a"])
    expect(freed.request_ids, ["a"], "The abort frees the blocks at once.")
    outputs = scheduler.update_from_output({"a": [7], "b": [7]})
    expect(emitted(outputs), {0: [("b", [7], "length", None)]}, "a's late token vanishes.")
    expect(freed.request_ids, ["a", "b"])
    output = scheduler.schedule()
    expect(output.num_scheduled_tokens, {})
    expect(output.finished_req_ids, {"a", "b"})


@check(points=1, rule="When somebody else ends it")
def test_abort_of_anybody(lesson: Any) -> None:
    """Waiting requests can be ended too; strangers and repeats are ignored; None means all."""
    freed = Freed()
    scheduler = scheduler_of(lesson, freed)
    for request_id in ("a", "e"):
        scheduler.add_request(request_id, 4, lesson.SamplingParams(max_tokens=9))
    scheduler.schedule()
    scheduler.update_from_output({"a": [7], "e": [7]})
    for request_id in ("b", "c", "d"):
        scheduler.add_request(request_id, 4, lesson.SamplingParams(max_tokens=9))
    story("a and e are running; b, c and d are waiting.")
    scheduler.finish_requests(["c", "nobody", "c", "e"])
    expect(sorted(freed.request_ids), ["c", "e"])
    output = scheduler.schedule()
    expect(list(output.num_scheduled_tokens.items()), [("a", 1), ("b", 4), ("d", 4)])
    expect(output.finished_req_ids, {"c", "e"})
    scheduler.finish_requests(None)
    scheduler.finish_requests(["a", "b"])
    expect(sorted(freed.request_ids), ["a", "b", "c", "d", "e"], "None ends everybody, once.")
    output = scheduler.schedule()
    expect(output.num_scheduled_tokens, {})
    expect(output.finished_req_ids, {"a", "b", "d"})


class FreedByEngine(KVCacheManager):
    """The engine's manager, with more blocks than anybody can use; remembers whom it freed."""

    def __init__(self) -> None:
        super().__init__(BlockPool(100, False), 1024, 1000, False)
        self.request_ids: list[str] = []

    def free(self, request_id: str) -> None:
        self.request_ids.append(request_id)
        super().free(request_id)


PARAMS = [
    SamplingParams(max_tokens=4),
    SamplingParams(max_tokens=9, eos_token_id=5, stop_token_ids=(4,)),
    SamplingParams(max_tokens=9, min_tokens=4, stop_token_ids=(5, 4), eos_token_id=5),
    SamplingParams(max_tokens=30, repetition_detection=RepetitionDetectionParams(2, 1, 3)),
]
TURN = st.tuples(st.integers(0, 5), st.integers(0, 3), st.lists(st.integers(0, 5), min_size=4,
                 max_size=4), st.integers(0, 12))  # fmt: skip


@check(points=2, rule="Your task", needs=["test_outputs_go_to_their_clients"], examples=30)
@given(st.lists(TURN, max_size=10))
def test_the_engine_does_the_same(
    lesson: Any, turns: list[tuple[int, int, list[int], int]]
) -> None:
    """Whatever is sampled, drafted and aborted, what comes out is what the engine puts out."""
    config = EngineConfig(
        num_gpu_blocks=100, max_model_len=20, max_num_seqs=50, max_num_batched_tokens=5000
    )
    freed, freed_by_engine = Freed(), FreedByEngine()
    theirs, engine = scheduler_of(lesson, freed, 20), Scheduler(config, freed_by_engine)
    for number, (kind, num_drafts, tokens, abort) in enumerate(turns):
        if kind < len(PARAMS):
            request = Request(f"r{number}", [0] * (1 + 3 * num_drafts), PARAMS[kind],
                              client_index=abort % 2)  # fmt: skip
            engine.add_request(request)
            theirs.add_request(request.request_id, request.num_prompt_tokens,
                               sampling_params(lesson, request), abort % 2)  # fmt: skip
        own, step = engine.schedule(), theirs.schedule()
        expect(
            list(step.num_scheduled_tokens.items()),
            list(own.num_scheduled_tokens.items()),
            f"The tokens of step {number}.",
        )
        expect(step.finished_req_ids, own.finished_req_ids, f"Reported with step {number}.")
        ended = [f"r{abort - 1}", "nobody"] if 0 < abort <= number + 1 else []
        theirs.finish_requests(ended)
        engine.finish_requests(ended, RequestStatus.FINISHED_ABORTED)
        sampled = model(own, tokens)
        outputs = engine.update_from_output(own, sampled)
        expected = {
            client: [
                (o.request_id, o.new_token_ids, reason(o.finish_reason), o.stop_reason)
                for o in of_client.outputs
            ]
            for client, of_client in outputs.items()
        }
        expect(emitted(theirs.update_from_output(sampled)), expected, f"Out of step {number}.")
        expect(freed.request_ids, freed_by_engine.request_ids, "Whose blocks were freed.")
        # With room for all of them, so that nothing depends on how a step is cut to fit.
        drafts = {
            request_id: tokens[:num_drafts]
            for request_id, request in engine.requests.items()
            if request.num_output_tokens and request.num_tokens + num_drafts < 20
        }
        theirs.update_draft_token_ids(drafts)
        engine.update_draft_token_ids(drafts)


def model(step: SchedulerOutput, tokens: list[int]) -> dict[str, list[int]]:
    """For each scheduled request, some of its drafts and one more token."""
    sampled = {}
    for place, request_id in enumerate(step.num_scheduled_tokens):
        drafts = step.scheduled_spec_decode_tokens.get(request_id, [])
        accepted = (tokens[0] + place) % (len(drafts) + 1)
        sampled[request_id] = [*drafts[:accepted], tokens[-1]]
    return sampled


def reason(finish_reason: object) -> str | None:
    return None if finish_reason is None else str(finish_reason)


@check(points=1, rule="Your task", needs=["test_the_first_question_decides"])
def test_the_engine_runs_on_it(lesson: Any) -> None:
    """The whole engine, with this check_stop, takes the same steps and gives the same outputs."""
    ends: list[dict[str, Any]] = [
        {"max_tokens": 5},
        {"max_tokens": 40, "stop_token_ids": [1, 2]},
        {"max_tokens": 40, "ignore_eos": True, "stop_token_ids": [3]},
        {"max_tokens": 40, "min_tokens": 6},
        {"max_tokens": 40, "ignore_eos": True, "repetition_detection":
         {"max_pattern_size": 2, "min_pattern_size": 1, "min_count": 2}},
        {"max_tokens": 90, "ignore_eos": True},
    ]  # fmt: skip
    story("Six requests of 10 tokens, a vocabulary of 6 tokens, sequences of at most 40 tokens.")
    requests = [
        {"id": f"r{i}", "prompt": {"length": 10, "seed": i}} | end for i, end in enumerate(ends)
    ]
    workload = parse_workload(
        {
            "engine": {"max_model_len": 40},
            "model": {"vocab_size": 6, "eos_token_id": 0},
            "requests": requests,
        },
        "six",
    )
    theirs, engines = run_workload(workload, install(Parts(), lesson)), run_workload(workload)
    for step, own in zip(theirs.steps, engines.steps, strict=False):
        expect(step.to_dict(), own.to_dict(), f"Step {own.step} of the engine.")
    expect(theirs.outputs, engines.outputs, "The tokens that the requests got.")
