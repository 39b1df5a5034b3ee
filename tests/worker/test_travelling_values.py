"""What travels between a suite and a submission, and as what it arrives."""

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
from conftest import Load
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.worker import Handle, Lesson, Opaque, Record, Session, Unusable, as_record
from grader.worker.values import BadValue, Decoder, Encoder

ECHO = "def echo(value): return value\ndef type_of(value): return type(value).__name__"


class PlainEncoder(Encoder):
    def encode_object(self, value: Any) -> Any:
        raise TypeError(type(value))


def exactly_equal(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(exactly_equal, left, right))
    if isinstance(left, dict):
        return exactly_equal(list(left.items()), list(right.items()))
    return bool(left == right)


HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(max_size=9),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
PLAIN = st.recursive(
    HASHABLE | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=3)
    ),
    max_leaves=12,
)


@given(PLAIN)
@settings(max_examples=200, deadline=None)
def test_plain_data_survives_as_exactly_itself(value: Any) -> None:
    assert exactly_equal(Decoder(64).decode(PlainEncoder(64).encode(value)), value)


TREES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.tuples(st.integers(0, 12), inner, inner, inner).map(list)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=20,
)


@given(TREES)
@settings(max_examples=300, deadline=None)
def test_a_forged_tree_is_a_value_or_an_error_that_the_trusted_side_expects(tree: Any) -> None:
    with contextlib.suppress(BadValue, TypeError, ValueError):
        Decoder(8).decode(tree)


@pytest.mark.parametrize(
    "value",
    [
        10**100_000,
        -(2**63),
        2**64 - 1,
        "\ud800 alone",
        "é",
        b"\xff",
        (1, [2, (3,)]),
        {(1, "a"): {2}, None: frozenset({3})},
        True,
        -0.0,
        math.inf,
        {},
        (),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_goes_there_and_back(load: Load, value: Any) -> None:
    back = load(ECHO).echo(value)
    assert exactly_equal(back, value)
    assert not isinstance(value, float) or math.copysign(1, back) == math.copysign(1, value)


def test_not_a_number_stays_one(load: Load) -> None:
    assert math.isnan(load(ECHO).echo(math.nan))


@pytest.mark.parametrize(
    "array",
    [
        numpy.arange(6, dtype=numpy.int32).reshape(2, 3),
        numpy.array(1.5),
        numpy.zeros((0, 4), dtype=bool),
        numpy.arange(6, dtype=numpy.float16)[::2],
    ],
)
def test_a_numpy_array_keeps_dtype_shape_and_values(load: Load, array: Any) -> None:
    lesson = load("import numpy\n" + ECHO)
    back = lesson.echo(array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert (back == array).all()
    assert back.flags.writeable
    assert lesson.type_of(array) == "ndarray"


@pytest.mark.parametrize(
    ("expression", "type_name"),
    [
        ("(n for n in ())", "generator"),
        ("object()", "object"),
        ("collections.defaultdict(int)", "collections.defaultdict"),
        ("collections.deque([1])", "collections.deque"),
        ("range(3)", "range"),
        ("numpy.int64(3)", "numpy.int64"),
        ("numpy.array([None])", "numpy.ndarray"),
        ("Exception('x')", "Exception"),
    ],
)
def test_what_is_not_plain_arrives_as_opaque_and_equals_nothing(
    load: Load, expression: str, type_name: str
) -> None:
    lesson = load(f"import collections, numpy\ndef f(): return {expression}")
    value = lesson.f()
    assert type(value) is Opaque
    assert value.type_name == type_name
    assert value not in (value.type_name, lesson.f())


def test_a_subclass_of_a_builtin_cannot_lie_about_equality(load: Load) -> None:
    lesson = load(
        """
        class Liar(int):
            def __eq__(self, other): return True
            __hash__ = int.__hash__
        def f(): return [Liar(3)]
        """
    )
    assert type(lesson.f()[0]) is Handle
    assert lesson.f() != [3]


def test_a_list_that_contains_itself_or_is_nested_too_deep_is_cut(load: Load) -> None:
    lesson = load(
        """
        def cyclic():
            a = [1]; a.append(a); return a
        def deep():
            a = []
            for _ in range(100_000): a = [a]
            return a
        """
    )
    assert repr(lesson.cyclic()) == "[1, <list, which contains itself>]"
    assert "nested deeper than 64" in repr(lesson.deep())


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("b'x' * (33 << 20)", "33,554,432 bytes"),
        ("list(range(300_000))", "250,000 values"),
        ("{'a': [{n: n for n in range(300_000)}]}", "250,000 values"),
    ],
)
def test_a_result_too_large_cannot_be_used(load: Load, value: str, size: str) -> None:
    with pytest.raises(Unusable, match=f"f\\(\\) returned .* it has more than {size}"):
        load(f"def f(): return {value}").f()


def test_what_did_not_travel_cannot_be_passed_in(load: Load) -> None:
    lesson = load("def f(x=None): return iter(())")
    with pytest.raises(Unusable, match="a tuple_iterator does not travel"):
        lesson.f([lesson.f()])


RECORDS = """
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

class Status(Enum):
    WAITING = 1

class Entry(NamedTuple):
    request_id: str
    priority: int

@dataclass
class Request:
    request_id: str
    tokens: list[int]
    status: Status = Status.WAITING
    computed: int = field(default=0, init=False)

    @property
    def num_tokens(self): return len(self.tokens)

def make(): return Request("a", [1, 2])
def entry(): return Entry("a", 1)
def status(): return Status.WAITING
def describe(r): return type(r).__name__, r.request_id, r.tokens, r.status is Status.WAITING
def same(a, b): return a is b
kept = Request("k", [])
def keep(): return kept
def is_kept(r): return r is kept
"""


def test_a_dataclass_arrives_as_its_fields_with_its_properties_readable(load: Load) -> None:
    request = load(RECORDS).make()
    status = Record("Status", {"name": "WAITING", "value": 1})
    fields = {"request_id": "a", "tokens": [1, 2], "status": status, "computed": 0}
    assert request == Record("Request", fields)
    assert request.num_tokens == 2
    with pytest.raises(AttributeError, match="has no field 'length'"):
        _ = request.length


def test_a_named_tuple_is_a_record_and_no_tuple(load: Load) -> None:
    entry = load(RECORDS).entry()
    assert entry == Record("Entry", {"request_id": "a", "priority": 1})
    assert entry != ("a", 1)


def test_an_enum_member_has_its_name_and_value(load: Load) -> None:
    lesson = load(RECORDS)
    assert (lesson.status().name, lesson.status().value) == ("WAITING", 1)
    assert lesson.status() == lesson.Status.WAITING


def test_a_record_passed_in_is_an_instance_of_the_submissions_own_class(load: Load) -> None:
    lesson = load(RECORDS)
    status = lesson.Status.WAITING
    record = Record("Request", {"request_id": "b", "tokens": [3], "status": status})
    assert lesson.describe(record) == ("Request", "b", [3], True)


def test_a_trusted_dataclass_passed_in_is_one_too(load: Load) -> None:
    @dataclass
    class Request:
        request_id: str
        tokens: list[int]

    assert load(RECORDS).describe(Request("c", [])) == ("Request", "c", [], True)


def test_a_record_that_the_submission_gave_goes_back_in_as_that_object(load: Load) -> None:
    lesson = load(RECORDS)
    assert lesson.is_kept(lesson.keep()) is True
    assert lesson.is_kept(lesson.make()) is False


def test_the_constructor_of_a_dataclass_gives_a_handle_that_can_be_read_as_a_record(
    load: Load,
) -> None:
    lesson = load(RECORDS)
    request = lesson.Request("a", [1, 2])
    assert request.tokens == [1, 2]
    assert as_record(request) == lesson.make()


def test_handles_are_the_same_object_on_both_sides(load: Load) -> None:
    lesson = load(
        """
        class Node:
            def __init__(self): self.next = None
            def link(self, other): self.next = other; return self
            def leads_to(self, other): return self.next is other
        """
    )
    first, second = lesson.Node(), lesson.Node()
    assert first.link(second) == first
    assert first.leads_to(second) is True
    assert first.next == second != first


def test_a_doubly_linked_list_of_dataclasses_is_cut_not_unrolled_for_ever(load: Load) -> None:
    lesson = load(
        """
        from dataclasses import dataclass
        @dataclass
        class Block:
            number: int
            prev: "Block | None" = None
            next: "Block | None" = None
        def chain(n):
            blocks = [Block(i) for i in range(n)]
            for a, b in zip(blocks, blocks[1:]): a.next, b.prev = b, a
            return blocks[0]
        """
    )
    assert lesson.chain(200).next.number == 1


def test_functions_and_callable_objects_that_come_back_can_be_called(load: Load) -> None:
    lesson = load(
        """
        def make_adder(n): return lambda m: n + m
        class Layer:
            def __call__(self, x): return x + 1
            def __len__(self): return 7
        layer = Layer()
        """
    )
    assert lesson.make_adder(3)(4) == 7
    assert lesson.Layer()(1) == lesson.layer(1) == 2
    assert len(lesson.layer) == 7


def test_an_object_of_an_earlier_story_cannot_be_passed_in(load: Load, session: Session) -> None:
    lesson: Lesson = load("class Pool: pass\ndef f(x): pass")
    pool = lesson.Pool()
    session.begin_story()
    with pytest.raises(TypeError, match="earlier story"):
        lesson.f(pool)


def test_what_cannot_travel_in_is_refused_with_the_fix(load: Load) -> None:
    with pytest.raises(TypeError, match="wrap it in Part"):
        load(ECHO).echo(object())
