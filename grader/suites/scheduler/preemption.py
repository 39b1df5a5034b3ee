"""Hidden suite of ``scheduler/preemption``."""

import hashlib
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import check, expect, hand_in, require, setting, story
from grader.parts.scheduler.preemption import MANAGER_METHODS, install
from reference.block_pool import BlockPool
from reference.config import EngineConfig
from reference.engine import Parts, run_workload
from reference.kv_cache_manager import KVCacheManager
from reference.kv_cache_utils import RequestHashes
from reference.model_runner import ModelRunner
from reference.output import SchedulerOutput
from reference.request import Request
from reference.sampling_params import SamplingParams
from reference.scheduler import Scheduler
from reference.tape import Tape
from reference.workload import parse_workload

VICTIM = "No block left: preempt"
BACK = "What a preempted request keeps"
NOBODY = "Nobody is admitted in such a step"
PRIORITY = "By priority: whom"
UNDO = "By priority: undoing a decision"
SELF = "When it is the request itself"
ADMISSION = "Admission and resumption"
RESERVE = "The whole sequence must fit"
WATERMARK = "The watermark"
TASK = "Your task"

SIZE = 4
MODEL = "The model samples one token for each request that has nothing left to compute."
ANY_PARAMS = SamplingParams(max_tokens=1)
Step = tuple[list[tuple[str, int]], list[str]]


class Manager(KVCacheManager):
    """The engine's own manager, which can also say how it was made."""

    __slots__ = ("_settings",)

    def __init__(self, num_blocks: int, max_model_len: int, caching: bool, watermark: float):
        super().__init__(BlockPool(num_blocks, caching), SIZE, max_model_len, caching, watermark)
        self._settings = {
            "num_gpu_blocks": num_blocks,
            "block_size": SIZE,
            "enable_prefix_caching": caching,
            "watermark": watermark,
        }

    def settings(self) -> dict[str, Any]:
        return self._settings


class BlockHasher:
    """Gives the hash of each full block, and of all that comes before it."""

    def __call__(self, token_ids: list[int]) -> list[bytes]:
        digest, hashes = hashlib.sha256(), []
        for end in range(SIZE, len(token_ids) + 1, SIZE):
            digest.update(repr(token_ids[end - SIZE : end]).encode())
            hashes.append(digest.digest()[:4])
        return hashes


def scheduler_of(
    lesson: Any, num_blocks: int, caching: bool = True, watermark: float = 0.0, **limits: Any
) -> Any:
    """The submission's scheduler over a KV cache manager of its own."""
    manager = Manager(num_blocks, limits.get("max_model_len", 8192), caching, watermark)
    return lesson.Scheduler(
        hand_in(manager, *MANAGER_METHODS),
        **{"max_num_seqs": 4, "max_num_batched_tokens": 64} | limits,
        block_hasher=hand_in(BlockHasher(), "__call__"),
    )


@dataclass
class Known:
    """What the suite knows of a request: its tokens, and how many outputs are still to come."""

    all_token_ids: list[int]
    num_prompt_tokens: int
    output_left: int
    sampling_params: SamplingParams = ANY_PARAMS

    @property
    def num_tokens(self) -> int:
        return len(self.all_token_ids)


class Drive:
    """Plays engine and model to a scheduler: a step is `schedule`, the tape, `update_from_output`.

    The tape reads each request's tokens back through the block tables that the scheduler shows.
    """

    def __init__(self, lesson: Any, num_blocks: int, **options: Any) -> None:
        self.scheduler = scheduler_of(lesson, num_blocks, **options)
        self.max_model_len = options.get("max_model_len", 8192)
        self.known: dict[str, Known] = {}
        self.outputs: dict[str, list[int]] = {}
        self.state: dict[str, Any] = {"running": [], "waiting": [], "block_ids": {}}
        self._model = ModelRunner(Tape(SIZE, 1000))
        self._finished: set[str] = set()
        if MODEL not in setting():
            story(MODEL)
        story(f"{num_blocks - 1} usable blocks of {SIZE} tokens.")

    def add(
        self,
        request_id: str,
        prompt: int | list[int],
        max_tokens: int = 9,
        priority: int = 0,
        arrival_time: float | None = None,
    ) -> None:
        """A request; a prompt given as its length has tokens that no other one has."""
        number = len(self.outputs)
        if isinstance(prompt, int):
            prompt = list(range(1000 * (number + 1), 1000 * (number + 1) + prompt))
        if arrival_time is None:
            arrival_time = float(number)
        self.scheduler.add_request(request_id, prompt, max_tokens, priority, arrival_time)
        self.known[request_id] = Known(list(prompt), len(prompt), max_tokens)
        self.outputs[request_id] = []

    def schedule(self) -> SchedulerOutput:
        """One call of schedule, with what follows from it."""
        before = self.state  # what ends in between changes nobody else's tables
        step = self.scheduler.schedule()
        self.state = self.scheduler.state()
        scheduled, preempted = step.num_scheduled_tokens, step.preempted_req_ids
        for request_id, num_tokens in scheduled.items():
            require(
                request_id in self.known and num_tokens >= 1,
                "A step has at least one token for each request it names, and names no strangers.",
                request_id=request_id,
                num_tokens=num_tokens,
            )
        require(
            not set(preempted) & set(scheduled),
            "A preempted request computes nothing in that step.",
            scheduled=scheduled,
            preempted=preempted,
        )
        expect(preempted, sorted(preempted), "The preempted ids are sorted.")
        output = SchedulerOutput(
            num_scheduled_tokens=dict(scheduled), preempted_req_ids=set(preempted)
        )
        for request_id, num_tokens in scheduled.items():
            table = self.state["block_ids"][request_id]
            num_computed_tokens = self.state["num_computed_tokens"][request_id]
            require(
                num_computed_tokens <= min(SIZE * len(table), self.known[request_id].num_tokens),
                "All that is computed is known, and has a slot in a block.",
                request_id=request_id,
                num_computed_tokens=num_computed_tokens,
                num_tokens=self.known[request_id].num_tokens,
                block_ids=table,
            )
            output.num_computed_tokens[request_id] = num_computed_tokens - num_tokens
            if request_id in before["running"]:
                held = len(before["block_ids"][request_id])
                output.new_block_ids[request_id] = table[held:]
            else:
                output.block_ids[request_id] = table
        output.finished_req_ids, self._finished = self._finished, set()
        return output

    @property
    def running(self) -> list[str]:
        return [request_id for request_id in self.state["running"] if request_id in self.known]

    @property
    def waiting(self) -> list[str]:
        waiting: list[str] = self.state["waiting"]
        return waiting

    def answer(self, output: SchedulerOutput) -> None:
        """The model's answer to a step."""
        sampled = self._model.execute_model(output, self.known)
        for request_id, token_ids in sampled.items():
            if not token_ids:
                continue
            request = self.known[request_id]
            request.all_token_ids += token_ids
            self.outputs[request_id] += token_ids
            request.output_left -= 1
            if not request.output_left or request.num_tokens >= self.max_model_len:
                del self.known[request_id]
                self._finished.add(request_id)
        self.scheduler.update_from_output(sampled)

    def step(self) -> Step:
        """A whole step: its tokens, as pairs in their order, and whom it preempts."""
        output = self.schedule()
        self.answer(output)
        return list(output.num_scheduled_tokens.items()), sorted(output.preempted_req_ids)

    def finish(self, most: int = 400) -> None:
        """Steps until nothing is left to do."""
        for _ in range(most):
            if not self.known:
                return
            self.step()
        require(False, "Every request ends.", steps=most, unfinished=list(self.known))

    def steps(self, number: int) -> list[Step]:
        return [self.step() for _ in range(number)]


@check(points=1, rule=VICTIM)
def test_the_running_share_the_budget(lesson: Any) -> None:
    """The budget is given out to its last token; whoever wants nothing is skipped."""
    one = {"max_num_seqs": 2, "max_num_batched_tokens": 2, "long_prefill_token_threshold": 1}
    drive = Drive(lesson, 30, **one)
    drive.add("a", 3)
    drive.add("b", 3)
    both = [("a", 1), ("b", 1)]
    expect(drive.steps(3), [(both, [])] * 3, "One token each, and b's is the last of the budget.")
    ahead = scheduler_of(lesson, 30, max_num_batched_tokens=8)
    ahead.add_request("a", [1, 2], 9)
    ahead.add_request("b", list(range(20)), 9)
    expect(ahead.schedule().num_scheduled_tokens, {"a": 2, "b": 6})
    expect(ahead.schedule().num_scheduled_tokens, {"b": 8}, "The output of a is not back yet.")
    tight = Drive(lesson, 6, long_prefill_token_threshold=8, max_num_batched_tokens=16)
    for name, num_tokens in (("a", 16), ("b", 3), ("c", 5)):
        tight.add(name, num_tokens)
    expect(tight.step(), ([("a", 8), ("b", 3), ("c", 5)], []))
    expect(tight.step(), ([("a", 8), ("b", 1)], ["c"]), "What a takes is counted once.")


@check(points=1, rule=VICTIM)
def test_the_last_one_goes(lesson: Any) -> None:
    """When no block is left, the request that was admitted last is preempted."""
    drive = Drive(lesson, 10, long_prefill_token_threshold=8, max_num_batched_tokens=32)
    drive.add("a", 24, max_tokens=4)
    drive.add("b", 24, max_tokens=4)
    both = [("a", 8), ("b", 8)]
    expect(drive.steps(2), [(both, [])] * 2, "Each prompt needs 6 blocks; 4 are held so far.")
    expect(drive.step(), ([("a", 8)], ["b"]), "a needs two blocks, and one is free.")
    expect(drive.waiting, ["b"])
    expect(drive.state["num_computed_tokens"], {"a": 24, "b": 0})
    expect(drive.state["num_preemptions"], {"a": 0, "b": 1})
    expect(drive.steps(3), [([("a", 1)], [])] * 3, "b needs 6 blocks again, hit or not.")
    expect(drive.step(), ([("b", 8)], []), "a has ended.")
    expect(drive.state["num_computed_tokens"], {"b": 16}, "8 tokens were found in the cache.")
    two = Drive(lesson, 5, long_prefill_token_threshold=8)
    for name, num_tokens in (("a", 16), ("b", 3), ("c", 3)):
        two.add(name, num_tokens)
    expect(two.step(), ([("a", 8), ("b", 3), ("c", 3)], []))
    expect(two.step(), ([("a", 8)], ["b", "c"]), "a needs two blocks, and b and c have one each.")
    expect(two.waiting, ["b", "c"])


TIGHT = st.lists(st.integers(3, 11), min_size=2, max_size=5)
FEW = 25


@check(points=2, rule=BACK, examples=FEW)
@given(TIGHT, st.integers(5, 9), st.booleans(), st.sampled_from([0, 0, 3]))
def test_victims_go_to_the_front(
    lesson: Any, prompts: list[int], num_blocks: int, reserve: bool, threshold: int
) -> None:
    """Victims are the end of `running`; they wait in that order, before all others."""
    drive = Drive(
        lesson,
        num_blocks,
        scheduler_reserve_full_isl=reserve,
        long_prefill_token_threshold=threshold,
        max_model_len=16,
    )
    for number, prompt in enumerate(prompts):
        drive.add(f"r{number}", prompt, max_tokens=6)
    for _ in range(9):
        before = drive.state | {}
        running, waiting = drive.running, drive.waiting
        output = drive.schedule()
        if victims := output.preempted_req_ids:
            rest, last = running[: -len(victims)], running[-len(victims) :]
            expect(victims, set(last), f"running was {running}; those admitted last go.")
            expect(drive.running, rest, "The others run on.")
            expect(drive.waiting, last + waiting, "Victims wait first, in their running order.")
            for victim in last:
                expect(drive.state["block_ids"][victim], [], f"{victim} holds no block.")
                expect(drive.state["num_computed_tokens"][victim], 0, f"{victim} starts again.")
                expect(
                    drive.state["num_preemptions"][victim],
                    before["num_preemptions"][victim] + 1,
                    f"The preemptions of {victim}.",
                )
        drive.answer(output)


@check(points=1, rule=NOBODY, needs=["test_the_last_one_goes"])
def test_nobody_is_admitted_after_a_preemption(lesson: Any) -> None:
    """A step that preempts admits nobody, whatever is free afterwards."""
    drive = Drive(lesson, 10, policy="priority", max_num_seqs=3)
    for name in ("x", "y", "z"):
        drive.add(name, 11, priority=5)
    drive.steps(2)
    drive.add("urgent", 3, priority=0)
    expect(drive.step(), ([("x", 1), ("y", 1)], ["z"]), "A seat and a block are free; not now.")
    expect(drive.step(), ([("x", 1), ("y", 1), ("urgent", 3)], []), "One step later.")
    other = Drive(lesson, 5, scheduler_reserve_full_isl=False)
    other.add("a", 3)
    other.add("b", 9)
    expect(other.step(), ([("a", 3), ("b", 9)], []))
    expect(other.step(), ([("a", 1), ("b", 1)], []))
    expect(other.step(), ([("a", 1)], ["b"]), "b does not come back in the same step.")


@check(points=1, rule=SELF)
def test_the_walk_ends_with_the_request_itself(lesson: Any) -> None:
    """If the victim is the request that needs the block, nobody behind it gets anything."""
    drive = Drive(lesson, 4, policy="priority")
    drive.add("lo", 3, priority=5)
    expect(drive.step(), ([("lo", 3)], []))
    drive.add("x", 2)
    drive.add("y", 2)
    expect(drive.step(), ([("lo", 1), ("x", 2), ("y", 2)], []))
    expect(drive.step(), ([], ["lo"]), "lo needs a block and is the least urgent itself.")
    expect(drive.running, ["x", "y"])
    expect(drive.step(), ([("x", 1), ("y", 1)], []), "They go on in the next step.")
    before = Drive(lesson, 4, policy="priority")
    before.add("x", 2)
    before.add("lo", 4, priority=5)
    before.add("y", 2, priority=6)
    before.step()
    expect(before.step(), ([("x", 1), ("lo", 1)], ["y"]), "Here y is less urgent than lo.")


@check(points=1, rule=PRIORITY)
def test_the_least_urgent_goes(lesson: Any) -> None:
    """By priority: the largest number goes, then the latest arrival, then the first in line."""

    def victims(*urgencies: tuple[int, float]) -> list[str]:
        """Whom q preempts, where p, q and r hold a block each and q alone has filled its."""
        scheduler = scheduler_of(lesson, 4, policy="priority")
        for number, (priority, arrival_time) in enumerate(urgencies):
            prompt = [number] * (4 if number == 1 else 2)
            scheduler.add_request("pqr"[number], prompt, 9, priority, arrival_time)
        scheduler.schedule()
        running = scheduler.state()["running"]
        scheduler.update_from_output({name: [7] for name in running})
        preempted: list[str] = scheduler.schedule().preempted_req_ids
        return preempted

    story(f"3 usable blocks of {SIZE} tokens. p and r have room in their blocks, q has none.")
    expect(victims((1, 0.0), (0, 0.0), (2, 0.0)), ["r"], "r has the largest priority number.")
    expect(victims((2, 0.0), (0, 0.0), (1, 0.0)), ["p"], "p has the largest priority number.")
    expect(victims((1, 9.0), (1, 0.0), (1, 5.0)), ["p"], "Equal priorities: p came last.")
    expect(victims((1, 3.0), (0, 9.0), (1, 5.0)), ["r"], "p and r are equal, and r came later.")
    equal = Drive(lesson, 4, policy="priority")
    for name, num_tokens in (("a", 3), ("b", 4), ("c", 4)):
        prompt = [ord(name)] * num_tokens
        equal.scheduler.add_request(name, prompt, 9, priority=1, arrival_time=1.0)
        equal.known[name] = Known(prompt, num_tokens, 9)
        equal.outputs[name] = []
    equal.step()
    expect(
        equal.step(),
        ([("c", 1)], ["a", "b"]),
        "All three are equal: the first in running order goes, whatever its id.",
    )


@check(points=1, rule=UNDO)
def test_nobody_is_passed_over(lesson: Any) -> None:
    """When a victim stood before the request, nobody behind the request is passed over."""
    drive = Drive(lesson, 4, policy="priority")
    drive.add("lo", 1, priority=5)
    drive.step()
    drive.add("hi", 3)
    drive.step()
    drive.add("c", 2)
    drive.step()
    expect(drive.running, ["lo", "hi", "c"])
    expect(drive.step(), ([("hi", 1), ("c", 1)], ["lo"]), "hi takes the block of lo; c is next.")


@check(points=2, rule=UNDO, needs=["test_the_least_urgent_goes"])
def test_a_decision_is_undone(lesson: Any) -> None:
    """A victim that was scheduled in this step gives its tokens back to the budget."""
    limits: dict[str, Any] = {
        "policy": "priority",
        "max_num_batched_tokens": 8,
        "scheduler_reserve_full_isl": False,
    }
    drive = Drive(lesson, 8, **limits)
    drive.add("lo", 5, priority=5)
    drive.steps(2)
    drive.add("hi", 2, priority=0)
    drive.step()
    drive.add("c", 20, priority=1)
    expect(drive.steps(2), [([("lo", 1), ("hi", 1), ("c", 6)], [])] * 2)
    expect(
        drive.step(),
        ([("hi", 1), ("c", 7)], ["lo"]),
        "lo had taken 1 of the 8 tokens; hi needs its block, and c gets the 7 that are left.",
    )
    once = Drive(lesson, 5, **limits)
    once.add("lo", 2, priority=5)
    once.step()
    once.add("hi", 16, priority=0)
    expect(once.step(), ([("lo", 1), ("hi", 7)], []))
    expect(
        once.step(),
        ([("hi", 7)], ["lo"]),
        "hi was to get 7 when lo had its token, and gets no more for lo's going.",
    )


@check(points=1, rule=ADMISSION)
def test_outputs_are_computed_again(lesson: Any) -> None:
    """A resumed request computes prompt and output again, but for what the cache still has."""
    for caching, computed in ((True, 1), (False, 9)):
        drive = Drive(lesson, 5, caching=caching)
        drive.add("a", 7, max_tokens=2)
        drive.add("b", 8, max_tokens=3)
        expect(drive.step(), ([("a", 7), ("b", 8)], []))
        expect(drive.step(), ([("a", 1)], ["b"]), "b has one output, and needs a third block.")
        expect(
            drive.step(),
            ([("b", computed)], []),
            f"b has 8 + 1 tokens; prefix caching is {'on' if caching else 'off'}.",
        )
        expect(drive.state["num_computed_tokens"], {"b": 9})
        expect(drive.step(), ([("b", 1)], []), "Its third output, and the end.")
        expect(drive.step(), ([], []))


@check(points=1, rule=RESERVE)
def test_room_for_the_whole_sequence(lesson: Any) -> None:
    """A request is admitted only if all its known tokens fit now; nobody overtakes it."""
    for reserve in (True, False):
        story(f"scheduler_reserve_full_isl is {reserve}.")
        limits = {"long_prefill_token_threshold": 4, "scheduler_reserve_full_isl": reserve}
        drive = Drive(lesson, 7, **limits)
        drive.add("a", 8)
        drive.add("b", 24)
        drive.add("c", 2)
        first = [("a", 4)] if reserve else [("a", 4), ("b", 4), ("c", 2)]
        expect(drive.step(), (first, []), "b needs 6 blocks for all its tokens, and 5 are free.")
        expect(drive.waiting, ["b", "c"] if reserve else [], "b keeps its place.")
        fits = Drive(lesson, 7, **limits)
        fits.add("a", 4)
        fits.add("b", 20)
        expect(fits.step(), ([("a", 4), ("b", 4)], []), "5 blocks are free, and b needs 5.")


@check(points=1, rule=WATERMARK)
def test_the_watermark_is_for_newcomers_beside_others(lesson: Any) -> None:
    """The watermark stays free when a request is admitted beside others, and only then."""
    idle = Drive(lesson, 11, watermark=0.5)
    idle.add("a", 40, max_tokens=1)
    expect(idle.step(), ([("a", 40)], []), "The engine is idle: all 10 blocks may be used.")
    for num_tokens, admitted in ((16, True), (17, False)):
        drive = Drive(lesson, 11, watermark=0.5, max_num_batched_tokens=99)
        drive.add("a", 4)
        drive.add("b", num_tokens)
        expect(
            [name for name, _ in drive.step()[0]],
            ["a", "b"] if admitted else ["a"],
            f"a is admitted already; 9 blocks are free, 5 have to stay so, and b has {num_tokens}"
            " tokens.",
        )
    back = Drive(lesson, 6, watermark=0.3, caching=False)
    for name, num_tokens, max_tokens in (("a", 3, 9), ("b", 4, 2), ("c", 8, 6)):
        back.add(name, num_tokens, max_tokens)
    expect(back.step(), ([("a", 3), ("b", 4), ("c", 8)], []))
    expect(back.step(), ([("a", 1), ("b", 1)], ["c"]))
    expect(back.step(), ([("a", 1)], []), "3 blocks are free, c needs them, and 1 stays free.")
    alone = Drive(lesson, 4, watermark=0.5)
    alone.add("a", 4)
    expect(alone.steps(9)[8], ([("a", 1)], []), "A running request may use the last block.")


@check(points=1, rule=ADMISSION)
def test_who_waits_preempts_nobody(lesson: Any) -> None:
    """A waiting request preempts nobody, however urgent it is."""
    drive = Drive(lesson, 3, policy="priority")
    drive.add("lo", 5, priority=9)
    drive.step()
    drive.add("urgent", 3, priority=-9)
    expect(drive.steps(3), [([("lo", 1)], [])] * 3, "Both blocks are lo's, and it has room.")
    expect(drive.waiting, ["urgent"])
    seat = Drive(lesson, 9, policy="priority", max_num_seqs=1)
    seat.add("lo", 5, priority=9)
    seat.step()
    seat.add("urgent", 3, priority=-9)
    expect(seat.step(), ([("lo", 1)], []), "The only seat is lo's.")


@check(points=1, rule=ADMISSION)
def test_the_limits_hold(lesson: Any) -> None:
    """Budget, seats, threshold and unchunked prefill hold; a hit is no part of what is asked."""
    drive = Drive(
        lesson,
        30,
        max_num_seqs=3,
        max_num_batched_tokens=32,
        max_num_scheduled_tokens=20,
        long_prefill_token_threshold=8,
    )
    for name, num_tokens in (("a", 9), ("b", 20), ("c", 6), ("d", 3)):
        drive.add(name, num_tokens)
    expect(drive.step(), ([("a", 8), ("b", 8), ("c", 4)], []), "8 each at most, and 20 in all.")
    expect(drive.step(), ([("a", 1), ("b", 8), ("c", 2)], []), "Three seats are taken.")
    expect(drive.step(), ([("a", 1), ("b", 4), ("c", 1)], []))
    whole = {"max_num_batched_tokens": 16, "max_model_len": 16, "enable_chunked_prefill": False}
    for shared, rest in ((8, [("b", 6)]), (4, [])):
        other = Drive(lesson, 30, **whole)
        other.add("a", list(range(10)))
        other.add("b", [*range(shared), *range(100, 114 - shared)])
        other.add("c", 1)
        expect(
            other.step(),
            ([("a", 10), *rest], []),
            f"b has 14 tokens, {shared} of them found; the rest may not be cut, 6 are left.",
        )


@check(points=1, rule=BACK, examples=FEW)
@given(TIGHT, st.integers(5, 9), st.sampled_from(["fcfs", "priority"]), st.booleans())
def test_no_block_is_lost(
    lesson: Any, prompts: list[int], num_blocks: int, policy: str, same: bool
) -> None:
    """Each block is free or held, and waiting requests hold none."""
    drive = Drive(lesson, num_blocks, policy=policy, max_model_len=16)
    for number, num_tokens in enumerate(prompts):
        prompt = list(range(num_tokens)) if same else num_tokens
        drive.add(f"r{number}", prompt, max_tokens=6, priority=num_tokens % 3)
    for _ in range(9):
        output = drive.schedule()
        state = drive.state
        held = {block for table in state["block_ids"].values() for block in table}
        expect(
            len(held) + state["num_free_blocks"],
            num_blocks - 1,
            f"Blocks held ({sorted(held)}) and free ones are all that can be used.",
        )
        for request_id in drive.waiting:
            expect(state["block_ids"][request_id], [], f"{request_id} waits and holds no block.")
        drive.answer(output)


@check(points=1, rule=BACK, needs=["test_the_last_one_goes"], examples=15)
@given(
    TIGHT, st.integers(5, 8), st.sampled_from([0, 3]), st.booleans(), st.sampled_from([0.0, 0.3])
)
def test_outputs_do_not_depend_on_memory(
    lesson: Any,
    prompts: list[int],
    num_blocks: int,
    threshold: int,
    reserve: bool,
    watermark: float,
) -> None:
    """All requests end, with the tokens that they get when there is memory for everybody."""
    outputs = []
    for blocks in (200, num_blocks):
        drive = Drive(
            lesson,
            blocks,
            watermark=watermark,
            long_prefill_token_threshold=threshold,
            scheduler_reserve_full_isl=reserve,
            max_model_len=4 * (num_blocks - 1),
        )
        for number, num_tokens in enumerate(prompts):
            drive.add(f"r{number}", list(range(num_tokens)), max_tokens=6)
        drive.finish()
        outputs.append(drive.outputs)
    expect(outputs[1], outputs[0], "What the requests were given, with few blocks and with 200.")


class EngineScheduler:
    """The engine's own scheduler, its manager and its model."""

    def __init__(self, num_blocks: int, caching: bool, watermark: float, **limits: Any) -> None:
        config = EngineConfig(
            block_size=SIZE, num_gpu_blocks=num_blocks, enable_prefix_caching=caching, **limits
        )
        self.manager = Manager(num_blocks, config.max_model_len, caching, watermark)
        self.scheduler = Scheduler(config, self.manager)
        self.output = SchedulerOutput()

    def add_request(
        self, request_id: str, prompt: list[int], max_tokens: int, priority: int, arrival: float
    ) -> None:
        self.scheduler.add_request(
            Request(
                request_id,
                prompt,
                SamplingParams(max_tokens=max_tokens),
                priority=priority,
                arrival_time=arrival,
                hashes=RequestHashes("sha256", SIZE, prompt),
            )
        )

    def schedule(self) -> SchedulerOutput:
        self.output = self.scheduler.schedule()
        return self.output

    def model(self) -> dict[str, list[int]]:
        """A token that depends on the request's own for each request that is no chunk."""
        requests = self.scheduler.requests
        return {
            request_id: [sum(requests[request_id].all_token_ids) % 7]
            for request_id in self.output.num_scheduled_tokens
            if not requests[request_id].is_prefill_chunk
        }

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        self.scheduler.update_from_output(self.output, sampled)

    def state(self) -> dict[str, Any]:
        requests = self.scheduler.requests
        return {
            "running": [request.request_id for request in self.scheduler.running],
            "waiting": self.scheduler.waiting_queues.request_ids(),
            "num_free_blocks": len(self.manager.free_order()),
            "block_ids": {name: self.manager.get_block_ids(name) for name in requests},
            "num_computed_tokens": {n: r.num_computed_tokens for n, r in requests.items()},
            "num_preemptions": {n: r.num_preemptions for n, r in requests.items()},
        }


ARRIVAL = st.tuples(st.integers(2, 12), st.integers(0, 2), st.integers(0, 3), st.integers(4, 9))


@check(points=2, rule=TASK, needs=["test_the_last_one_goes"], examples=50)
@given(
    st.lists(ARRIVAL, min_size=1, max_size=3),
    st.lists(st.lists(ARRIVAL, max_size=2), min_size=3, max_size=5),
    st.sampled_from(["priority", "fcfs"]),
    st.integers(5, 8),
    st.integers(4, 24),
    st.sampled_from([0, 3, 7]),
    st.sampled_from([0.0, 0.0, 0.3]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_the_engine_decides_the_same(
    lesson: Any,
    first: list[tuple[int, int, int, int]],
    turns: list[list[tuple[int, int, int, int]]],
    policy: str,
    num_blocks: int,
    budget: int,
    threshold: int,
    watermark: float,
    flags: tuple[bool, bool, bool],
) -> None:
    """Whatever arrives, each step, both queues, all tables and counts are the engine's."""
    caching, reserve, chunked = flags
    max_model_len = SIZE * (num_blocks - 1)
    options: dict[str, Any] = {
        "num_blocks": num_blocks,
        "caching": caching,
        "watermark": watermark,
        "policy": policy,
        "max_num_seqs": 4,
        "max_num_batched_tokens": budget if chunked else budget + max_model_len,
        "max_model_len": max_model_len,
        "long_prefill_token_threshold": threshold,
        "scheduler_reserve_full_isl": reserve,
        "enable_chunked_prefill": chunked,
    }
    story(f"{num_blocks - 1} usable blocks of {SIZE} tokens.")
    theirs, engines = scheduler_of(lesson, **options), EngineScheduler(**options)
    for number, arrivals in enumerate([first, *turns, *([[]] * 5)]):
        for place, (num_tokens, family, priority, max_tokens) in enumerate(arrivals):
            # Up to 8 tokens that others may share, and then its own.
            prompt = [family] * min(num_tokens, 8) + [number + 10] * (num_tokens - 8)
            # Those that come later are mostly more urgent, so that victims stand anywhere.
            urgency = priority - number
            name = f"r{number}{'cba'[place]}"
            arguments = (name, prompt, max_tokens, urgency, number / 2 // 1)
            theirs.add_request(*arguments)
            engines.add_request(*arguments)
        step, own = theirs.schedule(), engines.schedule()
        expect(
            list(step.num_scheduled_tokens.items()),
            list(own.num_scheduled_tokens.items()),
            f"The tokens of step {number} of the engine.",
        )
        expect(step.preempted_req_ids, sorted(own.preempted_req_ids), f"Step {number} preempts.")
        state, expected = theirs.state(), engines.state()
        for name, value in expected.items():
            expect(state[name], value, f"`{name}` after step {number} of the engine.")
        sampled = engines.model()
        theirs.update_from_output(sampled)
        engines.update_from_output(sampled)


@check(points=1, rule=TASK, needs=["test_the_engine_decides_the_same"])
def test_the_engine_runs_on_it(lesson: Any) -> None:
    """The whole engine, run by this scheduler, takes the same steps and gives the same outputs."""
    requests = [
        {"id": f"r{i}", "prompt": {"prefix": "shared", "length": length, "seed": i},
         "max_tokens": 4 + i % 5, "arrival": arrival, "priority": i % 3}
        for i, (length, arrival) in enumerate([(6, 0), (9, 0), (2, 1), (11, 1), (4, 3), (1, 8)])
    ]  # fmt: skip
    prefixes = {"shared": {"length": 6, "seed": 9}}
    for engine in (
        {"num_gpu_blocks": 9, "max_num_batched_tokens": 16},
        {"num_gpu_blocks": 9, "max_num_batched_tokens": 12, "policy": "priority",
         "scheduler_reserve_full_isl": False, "long_prefill_token_threshold": 5},
        {"num_gpu_blocks": 12, "max_num_batched_tokens": 32, "policy": "priority",
         "watermark": 0.2, "enable_prefix_caching": False},
    ):  # fmt: skip
        story(f"Six requests arrive in steps 0 to 8. The engine: {engine}.")
        limits = {"block_size": SIZE, "max_model_len": 32, "max_num_seqs": 4}
        workload = parse_workload(
            {"engine": engine | limits, "prefixes": prefixes, "requests": requests}, "six"
        )
        theirs, engines = run_workload(workload, install(Parts(), lesson)), run_workload(workload)
        for step, own in zip(theirs.steps, engines.steps, strict=False):
            expect(step.to_dict(), own.to_dict(), f"Step {own.step} of the engine.")
        expect(theirs.outputs, engines.outputs, "The tokens that the requests got.")
