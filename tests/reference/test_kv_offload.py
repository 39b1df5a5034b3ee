"""The CPU's memory: what lies there, what may go, and what the ghosts remember."""

import random

import pytest

from reference.kv_offload import ARCCachePolicy, CPUOffloadingManager

KEYS = [bytes([letter]) for letter in b"abcdefgh"]


def keys(letters: str) -> list[bytes]:
    return [bytes([letter]) for letter in letters.encode()]


def test_pinned_pending_and_offered_chunks_stay() -> None:
    manager = CPUOffloadingManager(3)
    manager.prepare_store(keys("ab"))
    manager.complete_store(keys("ab"))
    manager.prepare_store(keys("c"))
    manager.prepare_load(keys("a"))
    assert manager.prepare_store(keys("bd")) is None
    assert manager.prepare_store(keys("d")) == (keys("d"), [1], keys("b"))


def test_the_first_touched_key_is_the_most_recent() -> None:
    manager = CPUOffloadingManager(4)
    manager.prepare_store(keys("abcd"))
    manager.complete_store(keys("abcd"))
    manager.touch(keys("ab"))
    manager.prepare_load(keys("c"))
    assert manager.prepare_store(keys("efg")) == (keys("efg"), [0, 1, 3], keys("dba"))


def test_only_what_is_there_is_loaded() -> None:
    manager = CPUOffloadingManager(1)
    with pytest.raises(AssertionError, match="not there"):
        manager.prepare_load(keys("a"))
    manager.prepare_store(keys("a"))
    with pytest.raises(AssertionError, match="being stored"):
        manager.prepare_load(keys("a"))


@pytest.mark.parametrize("policy", ["lru", "arc"])
def test_ids_are_distinct_and_ghosts_have_no_chunk(policy: str) -> None:
    for seed in range(100):
        drawn = random.Random(seed)
        manager = CPUOffloadingManager(drawn.randint(1, 4), policy, drawn.choice([1, 2]))
        slots: dict[bytes, int] = {}
        for _ in range(60):
            some = drawn.sample(KEYS, drawn.randint(1, 3))
            manager.touch(some)
            given = manager.prepare_store(some)
            if given is not None:
                new, ids, evicted = given
                slots = {key: slot for key, slot in slots.items() if key not in evicted}
                slots |= dict(zip(new, ids, strict=True))
            manager.complete_store(some, success := drawn.random() < 0.8)
            if not success:
                slots = {key: s for key, s in slots.items() if manager.lookup(key) != "MISS"}
            assert len(set(slots.values())) == len(slots)
            assert set(slots.values()) <= set(range(manager.num_chunks))
            assert {key for key in KEYS if manager.lookup(key) != "MISS"} == set(slots)
            if isinstance(arc := manager.policy, ARCCachePolicy):
                assert 0 <= arc.target <= arc.capacity
                assert not (set(arc.b1) | set(arc.b2)) & set(slots)
                assert max(len(arc.b1), len(arc.b2)) <= arc.capacity
