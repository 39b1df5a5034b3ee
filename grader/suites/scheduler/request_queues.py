"""Hidden suite of ``scheduler/request_queues``."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import check, compare, expect, expect_error, quickest, require, story
from grader.parts.scheduler.request_queues import install
from reference.block_pool import BlockPool
from reference.config import EngineConfig, Policy
from reference.engine import Parts, run_workload
from reference.kv_cache_manager import KVCacheManager
from reference.request import Request, RequestStatus, StructuredOutputRequest
from reference.sampling_params import SamplingParams
from reference.scheduler import Scheduler
from reference.workload import parse_workload

QUEUES = "Two queues"
FCFS = "First come, first served"
PRIORITY = "By priority"
REMOVING = "Removing"
COST = "What it costs"
LISTS = "Two lists"
NEXT = "Which list is next"
PASS = "One pass"
BACK = "Coming back"

FEW = 25
Entry = tuple[str, int, float]
POLICIES: tuple[Policy, ...] = ("fcfs", "priority")
# As text, "10" comes before "9" and "B" before "a".
IDS = ("9", "10", "b", "a", "100", "B", "2", "a10", "a9", "z", "1", "00")

ENTRIES = st.lists(
    st.tuples(st.sampled_from(IDS), st.integers(-1, 2), st.sampled_from([0.5, 1.0, 7.0])),
    min_size=1,
    max_size=8,
    unique_by=lambda entry: entry[0],
)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "prepend", "prepend several", "pop", "peek", "remove", "remove several"]
        ),
        st.integers(0, 3),
        st.integers(-1, 2),
        st.sampled_from([0.5, 1.0, 7.0]),
    ),
    max_size=12,
)


def urgency(entry: Entry) -> tuple[int, float, str]:
    """What the priority policy orders by."""
    request_id, priority, arrival_time = entry
    return priority, arrival_time, request_id


def ids(entries: list[Entry]) -> list[str]:
    return [entry[0] for entry in entries]


def plain(*request_ids: str) -> list[Entry]:
    """Entries of one priority, in the order of their arrival."""
    return [(request_id, 0, float(number)) for number, request_id in enumerate(request_ids)]


def filled(lesson: Any, policy: str, entries: list[Entry]) -> Any:
    queue = lesson.create_request_queue(policy)
    for entry in entries:
        queue.add_request(entry)
    return queue


def waiting_queues(lesson: Any, policy: str, waiting: list[Entry], blocked: list[Entry]) -> Any:
    queues = lesson.WaitingQueues(policy)
    for entry in waiting:
        queues.add_request(entry)
    for entry in blocked:
        queues.add_request(entry, blocked=True)
    return queues


def drained(queue: Any, number: int) -> list[str]:
    return [queue.pop_request() for _ in range(number)]


def follow(
    queue: Any,
    operations: list[tuple[str, int, int, float]],
    arrange: Callable[[list[Entry]], list[Entry]],
) -> None:
    """Does the operations to the queue and to a list that is put in order after each of them."""
    model: list[Entry] = []
    fresh = list(IDS)
    for operation, number, priority, arrival_time in operations:
        new = [
            (i, priority, arrival_time) for i in fresh[: number if "several" in operation else 1]
        ]
        match operation:
            case "add" if new:
                queue.add_request(new[0])
                model = [*model, *new]
            case "prepend" if new:
                queue.prepend_request(new[0])
                model = [*new, *model]
            case "prepend several":
                queue.prepend_requests(new)
                model = [*reversed(new), *model]
            case "pop" if model:
                expect(queue.pop_request(), model.pop(0)[0])
            case "peek" if model:
                expect(queue.peek_request(), model[0][0])
            case "remove" if model:
                gone = model.pop(number % len(model))
                queue.remove_request(gone[0])
            case "remove several":
                unwanted = [*ids(model)[number::2], "nobody"]
                queue.remove_requests(unwanted)
                model = [entry for entry in model if entry[0] not in unwanted]
        if operation in ("add", "prepend", "prepend several"):
            fresh = fresh[len(new) :]
        model = arrange(model)
        expect(queue.order(), ids(model))
        expect(queue.size(), len(model))
    expect(drained(queue, len(model)), ids(model), "All that is left, popped one by one.")


@check(points=1, rule=FCFS, examples=FEW)
@given(OPERATIONS)
def test_fcfs_is_a_list(lesson: Any, operations: list[tuple[str, int, int, float]]) -> None:
    """The FCFS queue is a plain list: in at the end or at the front, out at the front."""
    follow(lesson.FCFSRequestQueue(), operations, list)


@check(points=1, rule=FCFS, examples=FEW)
@given(st.integers(0, 4), st.integers(0, 2))
def test_several_are_prepended_one_by_one(lesson: Any, number: int, there: int) -> None:
    """Requests that are prepended together end up at the front, in reverse order."""
    queue = filled(lesson, "fcfs", plain("a", "b")[:there])
    queue.prepend_requests(plain("w", "x", "y", "z")[:number])
    expect(queue.order(), [*["w", "x", "y", "z"][:number][::-1], *["a", "b"][:there]])


@check(points=1, rule=PRIORITY, examples=FEW)
@given(OPERATIONS)
def test_priority_is_a_sorted_list(
    lesson: Any, operations: list[tuple[str, int, int, float]]
) -> None:
    """The priority queue is always in order of priority, then arrival time, then id."""
    follow(lesson.PriorityRequestQueue(), operations, lambda model: sorted(model, key=urgency))


@check(points=1, rule=PRIORITY)
def test_each_tie_has_a_breaker(lesson: Any) -> None:
    """Equal priority: the earlier arrival; equal arrival too: the smaller id, as text."""
    entries = [("10", 1, 5.0), ("9", 1, 5.0), ("b", 0, 9.0), ("c", 1, 4.0), ("d", -3, 100.0)]
    for turned in (entries, entries[::-1]):
        queue = filled(lesson, "priority", turned)
        expect(queue.order(), ["d", "b", "c", "10", "9"])
        expect(drained(queue, 5), ["d", "b", "c", "10", "9"])


@check(points=1, rule=PRIORITY)
def test_priority_has_no_front(lesson: Any) -> None:
    """Prepending to the priority queue puts a request in its place."""
    queue = filled(lesson, "priority", [("a", 1, 1.0), ("b", 3, 2.0)])
    queue.prepend_request(("c", 2, 3.0))
    expect(queue.order(), ["a", "c", "b"])
    queue.prepend_requests([("d", 4, 4.0), ("e", 0, 5.0)])
    expect(queue.order(), ["e", "a", "c", "b", "d"])
    expect(drained(queue, 5), ["e", "a", "c", "b", "d"])


@check(points=1, rule=QUEUES)
def test_queues_refuse(lesson: Any) -> None:
    """An empty queue gives IndexError, removing one that is not there ValueError."""
    for policy in POLICIES:
        queue = filled(lesson, policy, plain("a", "b"))
        absent = partial(queue.remove_request, "c")
        expect_error(absent, "ValueError", "c was never added.")
        expect(queue.pop_request(), "a")
        popped = partial(queue.remove_request, "a")
        expect_error(popped, "ValueError", "a was popped.")
        expect(queue.order(), ["b"], "A refused call changes nothing.")
        queue.remove_request("b")
        expect_error(queue.pop_request, "IndexError", "The queue is empty.")
        expect_error(queue.peek_request, "IndexError", "The queue is empty.")
        expect(queue.size(), 0)
        queue.add_request(("a", 0, 1.0))
        expect(queue.order(), ["a"], "An id that has left the queue may come again.")


@check(points=1, rule=REMOVING, examples=FEW)
@given(st.sampled_from(POLICIES), st.permutations([1, 5, 2, 6, 7, 3, 4]), st.data())
def test_removal_keeps_the_order(lesson: Any, policy: Policy, priorities: Any, data: Any) -> None:
    """Those that stay keep their order, whoever is removed from between them."""
    entries = [(f"r{priority}", priority, 1.0) for priority in priorities]
    queue = filled(lesson, policy, entries)
    gone = data.draw(st.sets(st.sampled_from(ids(entries))), label="removed")
    if len(gone) == 1:
        queue.remove_request(*gone)
    else:
        queue.remove_requests([*sorted(gone), "nobody"])
    left = [entry for entry in entries if entry[0] not in gone]
    expected = ids(left if policy == "fcfs" else sorted(left, key=urgency))
    expect(drained(queue, len(expected)), expected)


def crowd(number: int) -> list[Entry]:
    """Entries in no order of urgency."""
    return [(f"r{i}", i * 7 % 5, float(i * 7919 % number)) for i in range(number)]


@check(points=1, rule=COST, needs=("test_removal_keeps_the_order",))
def test_many_are_removed_in_one_walk(lesson: Any) -> None:
    """Removing half of a queue takes time in proportion to its length."""
    short, long = 500, 10_000

    def seconds(policy: Policy, length: int) -> float:
        queue = lesson.create_request_queue(policy)
        queue.prepend_requests(crowd(length))
        half = [f"r{i}" for i in range(0, length, 2)]
        taken = quickest(queue.remove_requests, [half] * 3)
        expect(queue.size(), length - len(half))
        return taken

    for policy in POLICIES:
        require(
            seconds(policy, long) < 60 * seconds(policy, short) + 0.01,
            f"remove_requests of half of {long:,} requests ({policy}) takes far more than 20 times "
            f"as long as of half of {short}: each victim is searched for.",
        )


@check(points=1, rule=COST, needs=("test_priority_is_a_sorted_list",))
def test_priority_pops_without_searching(lesson: Any) -> None:
    """Popping from a long priority queue takes hardly longer than from a short one."""
    short, long = 200, 40_000

    def seconds(length: int) -> float:
        queue = lesson.PriorityRequestQueue()
        queue.prepend_requests(crowd(length))
        return quickest(lambda _: queue.pop_request(), range(50))

    require(
        seconds(long) < 4 * seconds(short) + 0.0003,
        f"Popping one of {long:,} requests takes many times as long as one of {short}: all of "
        "them are looked at. A heap needs some 15 steps.",
    )


@check(points=1, rule=LISTS, examples=FEW)
@given(st.sampled_from(POLICIES), ENTRIES, st.lists(st.booleans(), min_size=8, max_size=8))
def test_arrivals_enter_their_list(
    lesson: Any, policy: Policy, entries: list[Entry], blocked: list[bool]
) -> None:
    """Blocked requests enter skipped_waiting, the others waiting, each a queue of the policy."""
    queues = lesson.WaitingQueues(policy)
    lists: tuple[list[Entry], list[Entry]] = ([], [])
    for entry, is_blocked in zip(entries, blocked, strict=False):
        queues.add_request(entry, blocked=is_blocked)
        lists[is_blocked].append(entry)
    for entries_of_one in lists:
        if policy == "priority":
            entries_of_one.sort(key=urgency)
    expect(queues.orders(), (ids(lists[0]), ids(lists[1])))


@check(points=1, rule=NEXT, examples=FEW)
@given(st.sets(st.sampled_from(["g1", "g2", "g3"])), st.integers(0, 5))
def test_fcfs_takes_the_promoted_first(lesson: Any, ready: set[str], num_seats: int) -> None:
    """Under FCFS a promoted request goes before all that wait, however late it came."""
    queues = waiting_queues(lesson, "fcfs", plain("a", "b"), plain("g1", "g2", "g3"))
    line = [*sorted(ready), "a", "b"]
    expect(queues.admit(num_seats, sorted(ready)), line[:num_seats])


@check(points=1, rule=NEXT, examples=FEW)
@given(ENTRIES, st.lists(st.booleans(), min_size=8, max_size=8), st.integers(0, 8))
def test_priority_takes_the_more_urgent_head(
    lesson: Any, entries: list[Entry], blocked: list[bool], num_seats: int
) -> None:
    """Under priority the more urgent of the two heads goes first."""
    queues = lesson.WaitingQueues("priority")
    for entry, is_blocked in zip(entries, blocked, strict=False):
        queues.add_request(entry, blocked=is_blocked)
    expected = ids(sorted(entries, key=urgency))
    expect(queues.admit(num_seats, ids(entries)), expected[:num_seats], "All are ready.")


@check(points=1, rule=PASS, examples=FEW)
@given(
    st.sampled_from(POLICIES),
    st.sets(st.sampled_from(["g1", "g2", "g3", "g4"])),
    st.integers(0, 3),
)
def test_the_passed_over_keep_their_order(
    lesson: Any, policy: Policy, ready: set[str], num_seats: int
) -> None:
    """Requests that stay blocked keep their order, whoever leaves from between them."""
    blocked = ["g1", "g2", "g3", "g4"]
    queues = waiting_queues(lesson, policy, [], plain(*blocked))
    admitted = [i for i in blocked if i in ready][:num_seats]
    expect(queues.admit(num_seats, sorted(ready)), admitted)
    left = [i for i in blocked if i not in admitted]
    expect(queues.orders(), ([], left))
    expect(queues.admit(9, blocked), left, "Now all of them are ready.")


@check(points=1, rule=PASS)
def test_a_pass_ends_when_everything_is_blocked(lesson: Any) -> None:
    """A pass over blocked requests alone admits nobody, changes nothing, and ends."""
    for policy in POLICIES:
        queues = waiting_queues(lesson, policy, [], plain("g1", "g2", "g3"))
        for _ in range(2):
            expect(queues.admit(2, []), [])
            expect(queues.orders(), ([], ["g1", "g2", "g3"]))
        expect(lesson.WaitingQueues(policy).admit(2, []), [], "Nobody is there at all.")


@check(points=1, rule=PASS, examples=FEW)
@given(st.sampled_from(POLICIES), ENTRIES, st.data())
def test_nobody_is_lost(lesson: Any, policy: Policy, entries: list[Entry], data: Any) -> None:
    """Seats are never exceeded, and each request is admitted once or still in one list."""
    subset = st.sets(st.sampled_from(ids(entries)))
    blocked = data.draw(subset, label="blocked")
    ready = data.draw(subset, label="ready")
    num_seats = data.draw(st.integers(0, 4), label="seats")
    queues = lesson.WaitingQueues(policy)
    for entry in entries:
        queues.add_request(entry, blocked=entry[0] in blocked)
    before = queues.orders()
    admitted = queues.admit(num_seats, sorted(ready))
    waiting, skipped = queues.orders()
    admissible = len(entries) - len(blocked - ready)
    expect(len(admitted), min(num_seats, admissible), "As many as there are seats, or requests.")
    expect(sorted([*admitted, *waiting, *skipped]), sorted(ids(entries)))
    require(
        blocked - set(admitted) == set(skipped),
        "A pass moves nobody from one list to the other.",
        waiting=waiting,
        skipped=skipped,
    )
    if num_seats == 0:
        expect((waiting, skipped), before, "A full engine visits nobody.")


@check(points=1, rule=PASS)
def test_ready_counts_for_one_pass(lesson: Any) -> None:
    """Who is ready is told anew for each pass; ids that wait for nothing may be among them."""
    queues = waiting_queues(lesson, "fcfs", plain("a"), plain("g1", "g2"))
    expect(queues.admit(0, ["g1"]), [], "There is no seat.")
    expect(queues.admit(2, ["a", "nobody"]), ["a"], "g1 is not ready any more.")
    expect(queues.admit(1, ["g2"]), ["g2"])
    expect(queues.orders(), ([], ["g1"]))


@check(points=1, rule=BACK)
def test_preempted_requests_come_back_to_the_front(lesson: Any) -> None:
    """A preempted request waits in front of waiting, and still behind skipped_waiting."""
    queues = waiting_queues(lesson, "fcfs", plain("a", "b"), plain("g1", "g2"))
    expect(queues.admit(2, ["g1"]), ["g1", "a"])
    queues.prepend_request(("a", 0, 0.0))
    queues.prepend_request(("g1", 0, 0.0))
    expect(queues.orders(), (["g1", "a", "b"], ["g2"]), "g1 is not blocked any more.")
    expect(queues.admit(2, ["g2"]), ["g2", "g1"])
    expect(queues.orders(), (["a", "b"], []))
    urgent = waiting_queues(lesson, "priority", [("a", 1, 0.0), ("b", 2, 1.0)], [])
    urgent.prepend_request(("c", 3, 2.0))
    expect(urgent.orders(), (["a", "b", "c"], []), "Under priority there is no front.")


@check(points=1, rule=REMOVING, examples=FEW)
@given(st.sampled_from(POLICIES), st.sets(st.sampled_from(["a", "b", "g1", "g2", "nobody"])))
def test_requests_are_removed_from_both_lists(lesson: Any, policy: Policy, gone: set[str]) -> None:
    """Removal looks into both lists, and leaves nothing behind."""
    queues = waiting_queues(lesson, policy, plain("a", "b"), plain("g1", "g2"))
    queues.remove_requests(sorted(gone))
    waiting = [i for i in ("a", "b") if i not in gone]
    blocked = [i for i in ("g1", "g2") if i not in gone]
    expect(queues.orders(), (waiting, blocked))
    queues.add_request(("nobody", 5, 5.0))
    if "g1" in gone:
        queues.add_request(("g1", 6, 6.0))
        expect(queues.admit(9, ["g2"])[-1], "g1", "It came again, and is not blocked this time.")
    else:
        expect(queues.admit(9, ["g2"])[-1], "nobody")


class EngineQueues:
    """The engine's scheduler behind the lesson's interface: a pass is a step of it."""

    def __init__(self, policy: Policy) -> None:
        self._config = EngineConfig(policy=policy, enable_prefix_caching=False)
        manager = KVCacheManager(BlockPool(64, False), 16, 512, False)
        self._scheduler = Scheduler(self._config, manager)

    def add_request(self, entry: Entry, blocked: bool = False) -> None:
        self._scheduler.add_request(self._request(entry, blocked))

    def prepend_request(self, entry: Entry) -> None:
        request = self._request(entry, blocked=False)
        request.status = RequestStatus.PREEMPTED
        self._scheduler.requests[request.request_id] = request
        self._scheduler.waiting_queues.waiting.prepend_request(request)

    def remove_requests(self, request_ids: list[str]) -> None:
        self._scheduler.finish_requests(request_ids, RequestStatus.FINISHED_ABORTED)

    def admit(self, num_seats: int, ready: list[str]) -> list[str]:
        self._scheduler.config = replace(self._config, max_num_seqs=num_seats)
        self._tell(ready, "compiled")
        admitted = list(self._scheduler.schedule().num_scheduled_tokens)
        self._tell(ready, None)
        # They leave at once, so that each pass finds all seats free.
        self.remove_requests(admitted)
        return admitted

    def orders(self) -> tuple[list[str], list[str]]:
        queues = self._scheduler.waiting_queues
        return (
            [request.request_id for request in queues.waiting],
            [request.request_id for request in queues.skipped_waiting],
        )

    def _request(self, entry: Entry, blocked: bool) -> Request:
        request_id, priority, arrival_time = entry
        return Request(
            request_id,
            [1],
            SamplingParams(max_tokens=9),
            priority=priority,
            arrival_time=arrival_time,
            structured_output_request=StructuredOutputRequest() if blocked else None,
        )

    def _tell(self, request_ids: list[str], grammar: object) -> None:
        for request_id in request_ids:
            request = self._scheduler.requests.get(request_id)
            if request is not None and request.structured_output_request is not None:
                request.structured_output_request.grammar = grammar


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "arrive blocked", "pass", "preempt", "abort"]),
        st.integers(0, 3),
        st.integers(-1, 2),
        st.sets(st.integers(0, 11), max_size=5),
    ),
    min_size=6,
    max_size=18,
)


@check(
    points=1,
    rule=PASS,
    needs=("test_the_passed_over_keep_their_order", "test_a_pass_ends_when_everything_is_blocked"),
    examples=FEW,
)
@given(st.sampled_from(POLICIES), STEPS)
def test_passes_follow_the_engine(
    lesson: Any, policy: Policy, steps: list[tuple[str, int, int, set[int]]]
) -> None:
    """Whatever arrives, is promoted, preempted or aborted, the lists are the engine's."""
    queues = compare(lesson.WaitingQueues(policy), EngineQueues(policy))
    entries: dict[str, Entry] = {}
    gone: list[str] = []
    for operation, number, priority, chosen in steps:
        match operation:
            case "arrive" | "arrive blocked" if len(entries) < len(IDS):
                request_id = IDS[len(entries)]
                entries[request_id] = (request_id, priority, float(number))
                queues.add_request(entries[request_id], blocked=operation == "arrive blocked")
            case "pass":
                gone += queues.admit(number, [IDS[i] for i in sorted(chosen)])
            case "preempt" if gone:
                queues.prepend_request(entries[gone.pop(number % len(gone))])
            case "abort":
                queues.remove_requests([IDS[i] for i in sorted(chosen)[:number]])
            case _:
                continue
        queues.orders()


SMALL = {"block_size": 4, "num_gpu_blocks": 9, "max_model_len": 32, "max_num_batched_tokens": 16}
REQUESTS = [
    {"id": "10", "prompt": {"length": 9, "seed": 1}, "max_tokens": 6, "priority": 1},
    {"id": "9", "prompt": {"length": 9, "seed": 2}, "max_tokens": 9, "priority": 1},
    {"id": "g1", "prompt": [1, 2], "max_tokens": 4, "priority": 2, "grammar": 5},
    {"id": "g2", "prompt": [3, 4], "max_tokens": 4, "priority": 0, "grammar": 3},
    {"id": "late", "prompt": [5] * 12, "max_tokens": 5, "priority": -1, "arrival": 4},
    {"id": "gone", "prompt": [6, 7], "max_tokens": 4, "priority": 1, "arrival": 1, "abort": 3},
    {"id": "g3", "prompt": [8], "max_tokens": 4, "priority": 3, "arrival": 2, "grammar": 6},
]


@check(
    points=1,
    rule=QUEUES,
    needs=("test_fcfs_is_a_list", "test_priority_is_a_sorted_list"),
)
def test_engine_runs_on_them(lesson: Any) -> None:
    """The whole engine, run on these queues, makes the same decisions as on its own."""
    for policy in POLICIES:
        story(
            "Seven requests share 8 blocks of 4 tokens and two seats; three of them wait for a "
            f"grammar and one is aborted; the policy is {policy}."
        )
        engine = SMALL | {"policy": policy, "max_num_seqs": 2}
        workload = parse_workload({"engine": engine, "requests": REQUESTS}, "seven requests")
        theirs = run_workload(workload, install(Parts(), lesson))
        engines = run_workload(workload)
        for mine, own in zip(theirs.steps, engines.steps, strict=False):
            expect(mine.to_dict(), own.to_dict(), f"Step {own.step} of the engine.")
        expect(theirs.outputs, engines.outputs, "The tokens that the requests got.")
