"""Queues of waiting requests, and the choice between the two."""

import pytest
from engine_kit import ids, make_request
from hypothesis import given
from hypothesis import strategies as st

from reference.config import Policy
from reference.request import Request, RequestStatus
from reference.request_queue import RequestQueue, create_request_queue
from reference.waiting_queues import WaitingQueues

POLICIES: tuple[Policy, ...] = ("fcfs", "priority")


def filled(policy: Policy, requests: list[Request]) -> RequestQueue:
    queue = create_request_queue(policy)
    for request in requests:
        queue.add_request(request)
    return queue


def drained(queue: RequestQueue) -> list[str]:
    return [queue.pop_request().request_id for _ in range(len(queue))]


def test_fcfs_prepends_one_by_one_so_that_many_end_up_reversed() -> None:
    queue = filled("fcfs", [make_request(i) for i in "ab"])
    queue.prepend_requests([make_request(i) for i in "xyz"])
    queue.prepend_request(make_request("first"))
    assert ids(queue) == ["first", "z", "y", "x", "a", "b"]


def test_priority_goes_by_priority_then_arrival_then_id_as_text() -> None:
    entries = [("10", 1, 5.0), ("9", 1, 5.0), ("b", 0, 9.0), ("c", 1, 4.0), ("d", -3, 100.0)]
    requests = [make_request(i, priority=p, arrival_time=t) for i, p, t in entries]
    queue = filled("priority", requests[:3])
    queue.prepend_requests(requests[3:])
    assert ids(queue) == ["d", "b", "c", "10", "9"]


@given(st.sampled_from(POLICIES), st.permutations(range(8)), st.sets(st.integers(0, 9)))
def test_looking_changes_nothing_and_removal_keeps_the_order(
    policy: Policy, priorities: list[int], removed: set[int]
) -> None:
    requests = [make_request(str(p), priority=p) for p in priorities]
    others = [make_request("8"), make_request("9")]
    queue = filled(policy, requests)
    expected = ids(queue)
    queue.remove_requests(r for r in requests + others if int(r.request_id) in removed)
    expected = [i for i in expected if int(i) not in removed]
    assert ids(queue) == expected
    assert drained(queue) == expected


@pytest.mark.parametrize("policy", POLICIES)
def test_errors_of_an_empty_queue(policy: Policy) -> None:
    queue = create_request_queue(policy)
    with pytest.raises(IndexError):
        queue.pop_request()
    with pytest.raises(IndexError):
        queue.peek_request()
    with pytest.raises(ValueError, match="not in"):
        queue.remove_request(make_request())


@pytest.mark.parametrize("policy", POLICIES)
def test_one_request_can_be_removed(policy: Policy) -> None:
    requests = [make_request(str(p), priority=p) for p in (1, 5, 2, 9, 4)]
    queue = filled(policy, requests)
    queue.remove_request(requests[0])
    assert "1" not in drained(queue)


def blocked(request_id: str, priority: int = 0) -> Request:
    request = make_request(request_id, priority=priority)
    request.status = RequestStatus.WAITING_FOR_REMOTE_KVS
    return request


def test_fcfs_takes_from_the_skipped_ones_first() -> None:
    queues = WaitingQueues("fcfs", create_request_queue)
    queues.add_request(make_request("early"))
    queues.add_request(blocked("late"))
    queue = queues.select()
    assert queue is not None
    assert queue.peek_request().request_id == "late"
    assert queues.request_ids() == ["late", "early"]


@pytest.mark.parametrize(("priority", "chosen"), [(1, "early"), (-1, "late"), (0, "early")])
def test_priority_takes_the_smaller_head(priority: int, chosen: str) -> None:
    queues = WaitingQueues("priority", create_request_queue)
    queues.add_request(make_request("early"))
    queues.add_request(blocked("late", priority))
    queue = queues.select()
    assert queue is not None
    assert queue.peek_request().request_id == chosen


def test_with_both_empty_there_is_nothing_to_take_from() -> None:
    assert WaitingQueues("priority", create_request_queue).select() is None
