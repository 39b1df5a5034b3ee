"""Hidden suite of ``scheduler/async_scheduling``."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import check, expect, require, setting, story
from grader.parts.scheduler.async_scheduling import install
from reference.async_scheduler import AsyncScheduler
from reference.block_pool import BlockPool
from reference.config import EngineConfig
from reference.engine import Parts, run_workload
from reference.kv_cache_manager import KVCacheManager
from reference.output import SchedulerOutput
from reference.request import Request
from reference.sampling_params import SamplingParams
from reference.scheduler import Scheduler
from reference.workload import parse_workload

AMPLE = 100
MODEL = "The model says 100, 101, 102, ... to a, 200, 201, ... to b, and so on."

PROMPTS = st.lists(st.integers(2, 20), min_size=1, max_size=4)
MAX_TOKENS = st.integers(1, 9)
BUDGETS = st.integers(4, 24)
ACCEPTED = st.lists(st.integers(0, 3), min_size=1, max_size=5)
FEW = 20


#: A turn, and the pairs that each scheduler gave for it.
Played = tuple[str, list[list[Any]]]


@dataclass
class Sequence:
    """What the model knows of a request: what it said, and what of that was delivered."""

    name: str
    num_prompt_tokens: int
    num_outputs: int
    is_admitted: bool = False
    num_computed_tokens: int = 0
    num_said: int = 0
    delivered: list[int] = field(default_factory=list)

    def token(self, place: int) -> int:
        return 100 * (ord(self.name) - ord("a") + 1) + place

    @property
    def is_over(self) -> bool:
        return len(self.delivered) >= self.num_outputs

    def run(self, num_tokens: int, num_drafts: int, num_accepted: int) -> list[int]:
        """What the model says to so many tokens, the last of them drafts."""
        if not self.is_admitted:
            self.is_admitted = True
            self.num_computed_tokens, self.num_said = 0, len(self.delivered)
        num_known = self.num_prompt_tokens + self.num_said + num_drafts
        self.num_computed_tokens += num_tokens
        require(
            self.num_computed_tokens <= num_known,
            "A request computes each of its positions once: those known, and those of its drafts.",
            request=self.name,
            positions=num_known,
            computed=self.num_computed_tokens,
        )
        if self.num_computed_tokens < num_known:
            return []
        first = self.num_said
        self.num_said += min(num_accepted, num_drafts) + 1
        self.num_computed_tokens = self.num_prompt_tokens + self.num_said - 1
        return [self.token(place) for place in range(first, self.num_said)]


class Drive:
    """Plays engine and model. The model runs each step when it is scheduled, in order.

    ``accepted`` says how many drafts are right, decode after decode, over and over.
    """

    def __init__(self, scheduler: Any, max_model_len: int, accepted: list[int]) -> None:
        self.scheduler = scheduler
        self.max_model_len = max_model_len
        self.accepted = deque(accepted)
        self.sequences: dict[str, Sequence] = {}
        self.in_flight: deque[tuple[dict[str, int], dict[str, list[int]]]] = deque()
        self.last_drafts: dict[str, list[int]] = {}
        if MODEL not in setting():
            story(MODEL)

    def add(self, num_prompt_tokens: int, max_tokens: int, eos_place: int | None = None) -> str:
        """A new request, whose output at ``eos_place`` is its end of sequence."""
        name = chr(ord("a") + len(self.sequences))
        num_outputs = min(max_tokens, self.max_model_len - num_prompt_tokens)
        if eos_place is not None:
            num_outputs = min(num_outputs, eos_place + 1)
        sequence = self.sequences[name] = Sequence(name, num_prompt_tokens, num_outputs)
        eos_token_id = None if eos_place is None else sequence.token(eos_place)
        self.scheduler.add_request(name, num_prompt_tokens, max_tokens, eos_token_id)
        return name

    def schedule(self) -> dict[str, int]:
        output = self.scheduler.schedule()
        scheduled, drafts = output.num_scheduled_tokens, output.scheduled_spec_decode_tokens
        sampled: dict[str, list[int]] = {}
        for name, num_tokens in scheduled.items():
            require(
                name in self.sequences and not self.sequences[name].is_over,
                "A step names only requests that were added and have not ended.",
                request=name,
            )
            require(num_tokens >= 1, "Each entry of a step is at least 1.", step=scheduled)
            num_drafts = len(drafts.get(name, []))
            tokens = self.sequences[name].run(num_tokens, num_drafts, self.accepted[0])
            if tokens:
                self.accepted.rotate(-1)
                sampled[name] = tokens
        self.in_flight.append((dict(scheduled), sampled))
        self.last_drafts = drafts
        return dict(scheduled)

    def land(self) -> dict[str, list[int]]:
        """The oldest step comes back."""
        _, sampled = self.in_flight.popleft()
        delivered: dict[str, list[int]] = self.scheduler.update_from_output(sampled)
        for name, tokens in delivered.items():
            self.sequences[name].delivered += tokens
        return delivered

    def preempt(self, name: str, drop: bool = False) -> None:
        self.scheduler.preempt(name, drop)
        self.sequences[name].is_admitted = False

    def count(self, name: str) -> tuple[int, int, int]:
        """Computed tokens, placeholders, tokens in flight."""
        counters = self.scheduler.counters(name)
        return (
            counters["num_computed_tokens"],
            counters["num_output_placeholders"],
            counters["num_in_flight_tokens"],
        )

    @property
    def unfinished(self) -> list[str]:
        return [name for name, sequence in self.sequences.items() if not sequence.is_over]

    def finish(self, depth: int, most: int = 400) -> list[dict[str, int]]:
        """Steps until all have ended, ``depth`` of them in flight."""
        steps: list[dict[str, int]] = []
        while self.unfinished or self.in_flight:
            while self.unfinished and len(self.in_flight) < depth:
                require(len(steps) < most, "Every request ends.", unfinished=self.unfinished)
                steps.append(self.schedule())
            self.land()
        return steps

    def expect_whole_outputs(self, because: str) -> None:
        for sequence in self.sequences.values():
            whole = [sequence.token(place) for place in range(sequence.num_outputs)]
            expect(sequence.delivered, whole, f"{because} Request {sequence.name}.")


def drive(
    lesson: Any,
    max_model_len: int = AMPLE,
    budget: int = 64,
    num_spec_tokens: int = 0,
    accepted: tuple[int, ...] = (0,),
) -> Drive:
    scheduler = lesson.AsyncScheduler(max_model_len, budget, num_spec_tokens)
    return Drive(scheduler, max_model_len, list(accepted))


@check(points=1, rule="Counting on an output")
def test_the_next_step_does_not_wait(lesson: Any) -> None:
    """A decode is scheduled although the token before it is not known."""
    one = drive(lesson)
    one.add(5, max_tokens=9)
    expect(one.schedule(), {"a": 5})
    expect(one.count("a"), (5, 1, 5), "Computed, placeholders and in flight, after the prompt.")
    expect(one.schedule(), {"a": 1}, "One output is counted on, and it is to be computed.")
    expect(one.count("a"), (6, 2, 6), "Two outputs are counted on.")
    expect(one.land(), {"a": [100]})
    expect(one.count("a"), (6, 1, 1), "An output that comes back is counted on no more.")
    expect(one.schedule(), {"a": 1})
    expect(one.land(), {"a": [101]})
    expect(one.land(), {"a": [102]})
    expect(one.count("a"), (7, 0, 0), "Nothing is in flight.")


@check(
    points=1, rule="Counting on an output", needs=["test_the_next_step_does_not_wait"], examples=FEW
)
@given(st.integers(2, 60), st.integers(1, 20))
def test_chunks_have_no_placeholder(lesson: Any, num_prompt_tokens: int, budget: int) -> None:
    """A chunk of a prompt brings no output, and none is counted on."""
    one = drive(lesson, budget=budget)
    one.add(num_prompt_tokens, max_tokens=9)
    done = 0
    while done < num_prompt_tokens:
        num_tokens = min(budget, num_prompt_tokens - done)
        expect(one.schedule(), {"a": num_tokens}, "The prompt, piece by piece.")
        done += num_tokens
        placeholders = int(done == num_prompt_tokens)
        expect(one.count("a"), (done, placeholders, done), "Only the last piece has a placeholder.")
    while one.in_flight:
        last = len(one.in_flight) == 1
        expect(one.land(), {"a": [100]} if last else {}, "Only the last piece samples.")


@check(
    points=1, rule="Counting on an output", needs=["test_chunks_have_no_placeholder"], examples=FEW
)
@given(PROMPTS, MAX_TOKENS, BUDGETS)
def test_depth_one_is_synchronous(
    lesson: Any, prompts: list[int], max_tokens: int, budget: int
) -> None:
    """With one step in flight at a time, the steps are the synchronous scheduler's."""
    one = drive(lesson, budget=budget)
    engine = Drive(EngineScheduler(AMPLE, budget, kind=Scheduler), AMPLE, [0])
    for num_prompt_tokens in prompts:
        one.add(num_prompt_tokens, max_tokens)
        engine.add(num_prompt_tokens, max_tokens)
    for number, step in enumerate(engine.finish(depth=1)):
        expect(list(one.schedule().items()), list(step.items()), f"Step {number}.")
        one.land()


@check(
    points=1,
    rule="The end that is certain",
    needs=["test_the_next_step_does_not_wait"],
    examples=FEW,
)
@given(PROMPTS, MAX_TOKENS, BUDGETS)
def test_no_step_is_wasted(lesson: Any, prompts: list[int], max_tokens: int, budget: int) -> None:
    """Two steps in flight: each request is in as many steps as it has chunks and outputs."""
    one = drive(lesson, budget=budget)
    for num_prompt_tokens in prompts:
        one.add(num_prompt_tokens, max_tokens)
    steps = one.finish(depth=2)
    for name, sequence in one.sequences.items():
        mine = [step[name] for step in steps if name in step]
        total = sequence.num_prompt_tokens + max_tokens - 1
        expect(sum(mine), total, f"The last output of {name} is never computed.")
    one.expect_whole_outputs("All is delivered.")


@check(points=1, rule="The end that is certain", needs=["test_no_step_is_wasted"])
def test_one_output_is_certain(lesson: Any) -> None:
    """Of all outputs that are counted on exactly one is certain, however many steps there are."""
    one = drive(lesson)
    one.add(5, max_tokens=3)
    expect(
        [one.schedule() for _ in range(6)],
        [{"a": 5}, *([{"a": 1}] * 5)],
        "Six steps in a row, and nothing has come back.",
    )
    two = drive(lesson)
    two.add(5, max_tokens=1)
    expect([two.schedule(), two.schedule()], [{"a": 5}, {}], "The prompt's own output is the last.")
    three = drive(lesson)
    three.add(5, max_tokens=2)
    expect([three.schedule(), three.schedule()], [{"a": 5}, {"a": 1}])
    three.land()
    expect(three.schedule(), {}, "One is here and one is certain.")


@check(points=1, rule="The end that is certain", needs=["test_rejected_drafts_are_taken_back"])
def test_drafts_are_never_certain(lesson: Any) -> None:
    """Drafts in flight may all be rejected, so they do not bring an end nearer."""
    one = drive(lesson, num_spec_tokens=2)
    one.add(5, max_tokens=4)
    expect(one.schedule(), {"a": 5})
    expect(one.schedule(), {"a": 3})
    one.land()
    expect(one.schedule(), {"a": 3}, "One output is here and one is certain; four are asked for.")
    one.land()
    expect(one.schedule(), {"a": 3}, "Two outputs are here: its drafts were wrong.")
    one.land()
    expect(one.schedule(), {}, "Three are here and the fourth is certain.")


@check(points=1, rule="The end that is certain", examples=FEW)
@given(st.integers(2, 18), st.integers(0, 3), st.integers(1, 4), ACCEPTED)
def test_the_model_is_not_overrun(
    lesson: Any, num_prompt_tokens: int, num_spec_tokens: int, depth: int, accepted: list[int]
) -> None:
    """No position beyond max_model_len - 1 is computed, and the output ends at max_model_len."""
    one = drive(lesson, 20, 64, num_spec_tokens, tuple(accepted))
    one.add(num_prompt_tokens, max_tokens=50)
    while one.unfinished:
        while len(one.in_flight) < depth:
            one.schedule()
            computed = one.count("a")[0]
            require(computed <= 19, "At most max_model_len - 1 are computed.", computed=computed)
        one.land()
    one.expect_whole_outputs("It ends at max_model_len.")
    beside = drive(lesson, max_model_len=10)
    beside.add(8, max_tokens=50)
    beside.add(5, max_tokens=50)
    expect([beside.schedule(), beside.schedule()], [{"a": 8, "b": 5}, {"a": 1, "b": 1}])
    beside.land()
    expect(beside.schedule(), {"b": 1}, "9 of 10 are computed of a; b goes on.")


@check(
    points=1,
    rule="When outputs come back",
    needs=["test_the_next_step_does_not_wait"],
    examples=FEW,
)
@given(st.integers(0, 6), st.integers(2, 4))
def test_an_unforeseen_end_costs_a_step(lesson: Any, eos_place: int, depth: int) -> None:
    """What comes back for a request that has ended is ignored."""
    one = drive(lesson)
    one.add(5, max_tokens=50, eos_place=eos_place)
    one.add(5, max_tokens=10)
    steps = one.finish(depth)
    mine = [step for step in steps if "a" in step]
    expect(len(mine), eos_place + depth, "The steps that were in flight when it ended ran too.")
    one.expect_whole_outputs("Nothing comes after the end of the sequence.")


@check(points=1, rule="Drafts nobody has seen", needs=["test_the_next_step_does_not_wait"])
def test_room_is_left_for_drafts(lesson: Any) -> None:
    """A decode takes its drafts along without knowing them, as many as fit."""
    one = drive(lesson, num_spec_tokens=3)
    one.add(5, max_tokens=50)
    expect(one.schedule(), {"a": 5})
    expect(one.last_drafts, {}, "A prompt has no drafts.")
    expect(one.schedule(), {"a": 4}, "One output and three drafts.")
    expect(one.last_drafts, {"a": [-1, -1, -1]}, "The scheduler knows how many, not which.")
    expect(one.count("a"), (9, 5, 9), "Each draft is counted on as an output too.")
    tight = drive(lesson, budget=6, num_spec_tokens=3)
    tight.add(2, max_tokens=50)
    tight.add(3, max_tokens=50)
    expect(tight.schedule(), {"a": 2, "b": 3})
    expect(tight.schedule(), {"a": 4, "b": 2}, "b has room for one draft.")
    expect(tight.last_drafts, {"a": [-1, -1, -1], "b": [-1]})
    expect((tight.count("a")[1], tight.count("b")[1]), (5, 3), "Outputs that are counted on.")
    last = drive(lesson, budget=5, num_spec_tokens=3)
    last.add(2, max_tokens=50)
    last.add(3, max_tokens=50)
    last.schedule()
    expect(last.schedule(), {"a": 4, "b": 1})
    expect(last.last_drafts, {"a": [-1, -1, -1]}, "b has no room for a draft: no entry.")
    prompts = drive(lesson, budget=6, num_spec_tokens=3)
    prompts.add(2, max_tokens=50)
    prompts.add(9, max_tokens=50)
    expect(prompts.schedule(), {"a": 2, "b": 4})
    expect(prompts.schedule(), {"a": 4, "b": 2})
    expect(prompts.last_drafts, {"a": [-1, -1, -1]}, "A chunk leaves no drafts for the next step.")


@check(
    points=2,
    rule="Drafts nobody has seen",
    needs=["test_room_is_left_for_drafts"],
    examples=FEW,
)
@given(st.integers(1, 3), ACCEPTED)
def test_rejected_drafts_are_taken_back(
    lesson: Any, num_spec_tokens: int, accepted: list[int]
) -> None:
    """Wrong drafts are taken off the computed tokens and off the outputs counted on."""
    one = drive(lesson, num_spec_tokens=num_spec_tokens, accepted=tuple(accepted))
    one.add(5, max_tokens=60)
    one.schedule()
    for _ in range(6):
        before_schedule = one.count("a")
        (num_tokens,) = one.schedule().values()
        expect(num_tokens, 1 + num_spec_tokens)
        computed, placeholders, in_flight = one.count("a")
        expect(
            (computed, placeholders),
            (before_schedule[0] + num_tokens, before_schedule[1] + num_tokens),
            "Computed tokens and outputs counted on, after the step was scheduled.",
        )
        scheduled, sampled = one.in_flight[0]
        num_drafts = scheduled["a"] - 1 if scheduled["a"] != 5 else 0
        num_rejected = num_drafts - (len(sampled["a"]) - 1)
        one.land()
        expect(
            one.count("a"),
            (
                computed - num_rejected,
                placeholders - num_rejected - len(sampled["a"]),
                in_flight - scheduled["a"],
            ),
            f"{num_drafts} drafts were in the step that came back, {num_rejected} were wrong.",
        )


@check(points=1, rule="Overtaken by a preemption", needs=["test_the_next_step_does_not_wait"])
def test_stale_outputs_are_delivered(lesson: Any) -> None:
    """Outputs that a preemption overtakes are delivered, and change no count."""
    one = drive(lesson, num_spec_tokens=2, accepted=(1,))
    one.add(11, max_tokens=9)
    one.schedule()
    one.schedule()
    one.preempt("a")
    stale = one.scheduler.counters("a")["num_stale_output_tokens"]
    expect(stale, 14, "11 and 3 tokens are in flight, and all of them are stale.")
    expect(one.count("a"), (0, 0, 14), "It starts from zero; what is in flight stays so.")
    expect(one.land(), {"a": [100]})
    expect(one.count("a"), (0, 0, 3), "The output came back, and nothing else happened.")
    expect(one.land(), {"a": [101, 102]}, "A right draft and one more; nothing is taken back.")
    expect(one.count("a"), (0, 0, 0))
    expect(one.scheduler.counters("a")["num_stale_output_tokens"], 0)
    expect(one.scheduler.counters("a")["num_tokens"], 14, "The prompt and three outputs.")
    expect(one.schedule(), {"a": 14}, "It computes all of them again.")
    expect(one.last_drafts, {}, "The drafts of before are gone.")


@check(points=1, rule="Overtaken by a preemption", needs=["test_stale_outputs_are_delivered"])
def test_it_waits_for_its_outputs(lesson: Any) -> None:
    """A request with stale outputs is passed over, and others are admitted meanwhile."""
    one = drive(lesson)
    for _ in range(3):
        one.add(5, max_tokens=9)
    one.schedule()
    one.preempt("c")
    one.preempt("b")
    expect(one.scheduler.queues(), (["a"], [], ["b", "c"]), "Each goes to the front of waiting.")
    one.add(4, max_tokens=9)
    expect(one.schedule(), {"a": 1, "d": 4}, "b and c have outputs to come.")
    expect(one.scheduler.queues(), (["a", "d"], ["b", "c"], []))
    one.land()
    expect(one.schedule(), {"a": 1, "d": 1, "b": 6, "c": 6}, "Their outputs are here.")
    over = drive(lesson)
    over.add(5, max_tokens=1)
    over.add(5, max_tokens=9, eos_place=0)
    over.schedule()
    over.preempt("b")
    over.preempt("a")
    over.schedule()
    expect(
        over.land(), {"a": [100], "b": [200]}, "The outputs that are still to come are the last."
    )
    expect(over.scheduler.queues(), ([], [], []), "They have ended while they waited.")
    expect(over.schedule(), {})


@check(points=1, rule="Throwing outputs away", needs=["test_the_next_step_does_not_wait"])
def test_dropped_outputs_leave_no_trace(lesson: Any) -> None:
    """In drop mode a request resumes at once, and what was in flight is thrown away."""
    one = drive(lesson)
    one.add(11, max_tokens=9)
    one.schedule()
    one.schedule()
    one.preempt("a", drop=True)
    expect(one.schedule(), {"a": 11}, "It need not wait for what is thrown away.")
    expect(one.count("a"), (11, 1, 23))
    expect(one.land(), {}, "The prompt's output is thrown away,")
    expect(one.land(), {}, "and so is that of the decode.")
    expect(one.count("a"), (11, 1, 11))
    expect(one.land(), {"a": [100]}, "The same position, sampled again.")
    expect(one.count("a"), (11, 0, 0))
    both = drive(lesson)
    both.add(6, max_tokens=9)
    both.add(4, max_tokens=9)
    both.schedule()
    both.preempt("a", drop=True)
    expect(both.land(), {"b": [200]}, "What the same step brings for b is delivered.")
    nothing = lesson.AsyncScheduler(AMPLE, 64, 0)
    nothing.add_request("a", 6, 9, None)
    nothing.add_request("b", 4, 9, None)
    nothing.schedule()
    expect(nothing.update_from_output({"b": [7]}), {"b": [7]}, "a sampled nothing, b did.")


@check(points=1, rule="Throwing outputs away", needs=["test_dropped_outputs_leave_no_trace"])
def test_what_is_dropped_stays_dropped(lesson: Any) -> None:
    """A second preemption does not bring back what the first one threw away."""
    one = drive(lesson)
    one.add(6, max_tokens=9)
    one.schedule()
    one.preempt("a", drop=True)
    one.schedule()
    one.preempt("a", drop=False)
    expect(one.schedule(), {"a": 6}, "Dropped outputs are in flight, so it does not wait.")
    expect([one.land(), one.land()], [{}, {}], "Both steps of before are thrown away.")
    expect(one.land(), {"a": [100]})
    one.schedule()
    one.preempt("a", drop=True)
    one.schedule()
    one.preempt("a", drop=False)
    expect(one.schedule(), {"a": 7}, "One token is enough: a dropped decode is in flight.")
    one.finish(depth=1)
    one.expect_whole_outputs("What is dropped is sampled again.")
    kept = drive(lesson)
    kept.add(6, max_tokens=9)
    kept.schedule()
    kept.preempt("a", drop=True)
    kept.schedule()
    expect([kept.land(), kept.land()], [{}, {"a": [100]}], "Only the first step is dropped.")
    kept.schedule()
    kept.preempt("a", drop=False)
    expect(kept.schedule(), {}, "Nothing dropped is in flight this time: it waits,")
    expect(kept.land(), {"a": [101]}, "and its output is delivered.")


KINDS = ("schedule", "land", "schedule", "preempt", "add", "drop")
#: Each a kind of turn, whom or how long it concerns, and a size; in one number, which draws fast.
TURNS = st.lists(st.integers(0, len(KINDS) * 10 * 11 - 1), max_size=30)


def play(drives: list[Drive], turns: list[int], most: int = 4) -> Iterator[Played]:
    """One turn after the other, on each drive alike; what each drive gave, turn by turn."""
    first = drives[0]
    for number in turns:
        rest, place = divmod(number, len(KINDS))
        turn, which, size = KINDS[place], rest % 10, 2 + rest // 10
        if turn == "add" and len(first.sequences) < 5:
            eos_place = which // 2 if size % 3 else None
            for one in drives:
                one.add(size, 1 + which, eos_place)
            yield turn, []
        elif turn == "schedule" and len(first.in_flight) < most:
            yield turn, [list(one.schedule().items()) for one in drives]
        elif turn == "land" and first.in_flight:
            yield turn, [list(one.land().items()) for one in drives]
        elif turn in ("preempt", "drop") and (running := first.scheduler.queues()[0]):
            for one in drives:
                one.preempt(running[which % len(running)], drop=turn == "drop")
            yield turn, []


@check(
    points=1,
    rule="Overtaken by a preemption",
    needs=["test_stale_outputs_are_delivered", "test_dropped_outputs_leave_no_trace"],
    examples=FEW,
)
@given(TURNS, st.integers(0, 3), ACCEPTED, BUDGETS)
def test_outputs_do_not_depend_on_it(
    lesson: Any,
    turns: list[int],
    num_spec_tokens: int,
    accepted: list[int],
    budget: int,
) -> None:
    """Whatever is in flight and whoever is preempted, outputs have no gap and no duplicate."""
    one = drive(lesson, 30, budget, num_spec_tokens, tuple(accepted))
    one.add(5, max_tokens=9)
    for _ in play([one], turns):
        pass
    one.finish(depth=2)
    one.expect_whole_outputs("The model's tokens, in order, up to the one that ends it.")


@check(
    points=1,
    rule="When outputs come back",
    needs=["test_outputs_do_not_depend_on_it"],
    examples=FEW,
)
@given(TURNS, st.integers(0, 3), ACCEPTED, BUDGETS)
def test_the_counts_agree(
    lesson: Any,
    turns: list[int],
    num_spec_tokens: int,
    accepted: list[int],
    budget: int,
) -> None:
    """What is in flight is the sum of the steps that are; nothing is counted on without them."""
    one = drive(lesson, 30, budget, num_spec_tokens, tuple(accepted))
    one.add(5, max_tokens=9)
    for _ in play([one], turns):
        for name in one.unfinished:
            _, placeholders, in_flight = one.count(name)
            steps = [scheduled.get(name, 0) for scheduled, _ in one.in_flight]
            expect(in_flight, sum(steps), f"{name} in the steps in flight: {steps}.")
            require(placeholders >= 0, "Never below zero.", placeholders=placeholders)
            if not in_flight:
                expect(placeholders, 0, f"Nothing of {name} is in flight.")


class EngineScheduler:
    """The engine's scheduler behind the lesson's interface."""

    def __init__(
        self,
        max_model_len: int,
        max_num_scheduled_tokens: int,
        num_spec_tokens: int = 0,
        kind: type[Scheduler] = AsyncScheduler,
    ) -> None:
        config = EngineConfig(
            block_size=max_model_len,
            num_gpu_blocks=16,
            max_model_len=max_model_len,
            max_num_batched_tokens=max_num_scheduled_tokens + 8,
            max_num_scheduled_tokens=max_num_scheduled_tokens,
            enable_prefix_caching=False,
            async_scheduling=True,
            num_speculative_tokens=num_spec_tokens,
        )
        pool = BlockPool(config.num_gpu_blocks, enable_caching=False)
        manager = KVCacheManager(pool, max_model_len, max_model_len, enable_caching=False)
        self._scheduler = kind(config, manager)
        self._in_flight: deque[SchedulerOutput] = deque()

    def add_request(
        self, request_id: str, num_prompt_tokens: int, max_tokens: int, eos: int | None = None
    ) -> None:
        params = SamplingParams(max_tokens=max_tokens, eos_token_id=eos)
        self._scheduler.add_request(Request(request_id, [0] * num_prompt_tokens, params))

    def schedule(self) -> SchedulerOutput:
        output = self._scheduler.schedule()
        self._in_flight.append(output)
        return output

    def update_from_output(self, sampled: dict[str, list[int]]) -> dict[str, list[int]]:
        clients = self._scheduler.update_from_output(self._in_flight.popleft(), sampled)
        outputs = [output for client in clients.values() for output in client.outputs]
        return {output.request_id: output.new_token_ids for output in outputs}

    def preempt(self, request_id: str, drop_stale_output: bool = False) -> None:
        request = self._scheduler.requests[request_id]
        self._scheduler.running.remove(request)
        self._scheduler._preempt_request(request, drop_stale_output)

    def queues(self) -> tuple[list[str], list[str], list[str]]:
        queues = self._scheduler.waiting_queues
        running, skipped, waiting = (
            [request.request_id for request in queue]
            for queue in (self._scheduler.running, queues.skipped_waiting, queues.waiting)
        )
        return running, skipped, waiting

    def counters(self, request_id: str) -> dict[str, int]:
        request = self._scheduler.requests[request_id]
        return {name: getattr(request, name) for name in COUNTERS}


COUNTERS = (
    *("num_tokens", "num_computed_tokens", "num_output_placeholders", "num_in_flight_tokens"),
    "num_stale_output_tokens",
)


@check(
    points=2,
    rule="Your task",
    needs=["test_outputs_do_not_depend_on_it", "test_the_counts_agree"],
    examples=40,
)
@given(TURNS, st.integers(0, 3), ACCEPTED, BUDGETS)
def test_the_engine_decides_the_same(
    lesson: Any,
    turns: list[int],
    num_spec_tokens: int,
    accepted: list[int],
    budget: int,
) -> None:
    """Steps, queues, counts and outputs are the engine's, whatever comes when."""
    one = drive(lesson, 30, budget, num_spec_tokens, tuple(accepted))
    engine = Drive(EngineScheduler(30, budget, num_spec_tokens), 30, accepted)
    one.add(5, max_tokens=9)
    engine.add(5, max_tokens=9)
    for turn, given_by in play([one, engine], turns):
        for theirs in given_by[:1]:
            expect(theirs, given_by[1], f"What the engine gives: {turn}.")
        expect(one.last_drafts, engine.last_drafts, "The drafts of the engine's step.")
        expect(one.scheduler.queues(), engine.scheduler.queues(), f"The queues after {turn}.")
        for name in engine.unfinished:
            counters = engine.scheduler.counters(name)
            expect(one.scheduler.counters(name), counters, f"The counts of {name} after {turn}.")


@check(points=1, rule="Your task", needs=["test_the_engine_decides_the_same"])
def test_the_engine_runs_on_it(lesson: Any) -> None:
    """The whole engine, run by this scheduler, takes the same steps and gives the same outputs."""
    requests = [
        {"id": f"r{i}", "prompt": {"length": length, "seed": i}, "max_tokens": 3 + i % 3,
         "arrival": arrival}
        for i, (length, arrival) in enumerate([(10, 0), (50, 0), (5, 0), (7, 1), (64, 3), (33, 4)])
    ]  # fmt: skip
    for limits in ({"max_num_batched_tokens": 32}, {"num_speculative_tokens": 2}):
        story(f"Six requests arrive in steps 0 to 4. The engine: {limits}.")
        engine = {"async_scheduling": True, "num_gpu_blocks": 99, "enable_prefix_caching": False}
        workload = parse_workload({"engine": engine | limits, "requests": requests}, "six")
        theirs, engines = run_workload(workload, install(Parts(), lesson)), run_workload(workload)
        for step, own in zip(theirs.steps, engines.steps, strict=False):
            expect(step.to_dict(), own.to_dict(), f"Step {own.step} of the engine.")
        expect(theirs.outputs, engines.outputs, "The tokens that the requests got.")
