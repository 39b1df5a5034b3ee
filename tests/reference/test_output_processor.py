"""What clients see of the core's outputs, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.output import EngineCoreOutput, FinishReason
from reference.output_processor import OutputProcessor, RequestOutputCollector
from reference.outputs import RequestOutput
from reference.parallel_sampling import fan_out, join
from reference.sampling_params import RequestOutputKind, SamplingParams
from reference.tokenizer import Tokenizer
from reference.wire import EngineCoreRequest

BYTES = Tokenizer([bytes([byte]) for byte in range(256)])


def served(
    params: SamplingParams, interval: int = 1
) -> tuple[OutputProcessor, RequestOutputCollector]:
    processor = OutputProcessor(BYTES, interval)
    collector = RequestOutputCollector(params.output_kind)
    request = EngineCoreRequest("a-1", [97], params, external_req_id="a")
    processor.add_request(request, queue=collector)
    return processor, collector


def outputs_of(text: bytes, finish: FinishReason = FinishReason.LENGTH) -> list[EngineCoreOutput]:
    made = [EngineCoreOutput("a-1", [byte]) for byte in text]
    made[-1].finish_reason = finish
    return made


def seen(
    kind: RequestOutputKind, text: bytes, interval: int = 1, lag: int = 1
) -> list[RequestOutput]:
    processor, collector = served(SamplingParams(output_kind=kind), interval)
    found = []
    for place, output in enumerate(outputs_of(text)):
        processor.process_outputs([output])
        if place % lag == lag - 1 or output.finished:
            found.append(collector.get_nowait())
    return [each for each in found if each is not None]


@given(st.binary(min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 4))
def test_all_kinds_tell_the_same_in_the_end(text: bytes, interval: int, lag: int) -> None:
    deltas = [each.outputs[0] for each in seen("DELTA", text, interval, lag)]
    last = seen("CUMULATIVE", text, interval, lag)[-1].outputs[0]
    (final,) = seen("FINAL_ONLY", text, interval, lag)
    assert final.outputs[0] == last
    assert "".join(each.text for each in deltas) == last.text
    assert [token for each in deltas for token in each.token_ids] == last.token_ids == [*text]


@pytest.mark.parametrize(("interval", "sizes"), [(3, [1, 3, 3, 3]), (4, [1, 4, 4, 1])])
def test_deltas_come_one_first_and_then_by_the_interval(interval: int, sizes: list[int]) -> None:
    found = seen("DELTA", b"0123456789", interval)
    assert [len(each.outputs[0].token_ids) for each in found] == sizes
    assert len(seen("CUMULATIVE", b"0123456789", interval)) == 10


def test_an_abort_shows_what_was_kept_back() -> None:
    processor, collector = served(SamplingParams(output_kind="DELTA", stop=("zzz",)))
    texts = []
    for byte in b"abcd":
        processor.process_outputs([EngineCoreOutput("a-1", [byte])])
        output = collector.get_nowait()
        texts.append(output.outputs[0].text if output else None)
    assert texts == ["", "", "a", "b"]
    assert processor.abort_requests(["a"], internal=False) == ["a-1"]
    last = collector.get_nowait()
    assert last is not None
    assert (last.outputs[0].text, last.outputs[0].token_ids) == ("cd", [])
    assert (last.outputs[0].finish_reason, last.finished) == ("abort", True)
    assert processor.abort_requests(["a"], internal=False) == []


@pytest.mark.parametrize(("finish", "aborted"), [(None, ["a-1"]), (FinishReason.LENGTH, [])])
def test_the_core_aborts_only_what_it_has_not_ended(
    finish: FinishReason | None, aborted: list[str]
) -> None:
    processor, collector = served(SamplingParams(stop=("lo",)))
    output = EngineCoreOutput("a-1", list(b"hello"), finish_reason=finish)
    assert processor.process_outputs([output]).reqs_to_abort == aborted
    last = collector.get_nowait()
    assert last is not None
    assert (last.outputs[0].finish_reason, last.outputs[0].stop_reason) == ("stop", "lo")
    assert processor.process_outputs([output]).reqs_to_abort == []
    assert processor.get_num_unfinished_requests() == 0


def test_an_exception_is_raised_once_and_lets_nothing_follow() -> None:
    collector = RequestOutputCollector("DELTA")
    collector.put(RequestOutput("a", None, []))
    collector.put(RuntimeError("dead"))
    collector.put(RequestOutput("a", None, []))
    with pytest.raises(RuntimeError):
        collector.get_nowait()
    assert collector.get_nowait() is None


def test_each_child_is_a_request_with_a_seed_of_its_own() -> None:
    params = SamplingParams(n=3, seed=0, output_kind="FINAL_ONLY")
    parent, children = fan_out(EngineCoreRequest("R_1", [1], params, external_req_id="R"))
    assert [child.request_id for child in children] == ["0_R_1", "1_R_1", "2_R_1"]
    assert [child.sampling_params.seed for child in children] == [0, 1, 2]
    seedless = fan_out(EngineCoreRequest("R", [1], SamplingParams(n=2), external_req_id="R"))[1]
    assert seedless[0].sampling_params is seedless[1].sampling_params
    assert (parent.n, params.seed) == (3, 0)


@given(st.permutations([0, 1, 2]))
def test_sequences_come_in_order_however_they_end(order: list[int]) -> None:
    params = SamplingParams(n=3, output_kind="FINAL_ONLY")
    processor = OutputProcessor(BYTES)
    parent, children = fan_out(EngineCoreRequest("R-1", [1], params, external_req_id="R"))
    for index, child in enumerate(children):
        processor.add_request(child, None, parent, index)
    found: list[RequestOutput] = []
    for index in order:
        output = EngineCoreOutput(children[index].request_id, [97 + index])
        output.finish_reason = FinishReason.LENGTH
        found += processor.process_outputs([output]).request_outputs
    (output_of_all,) = found
    assert [each.text for each in output_of_all.outputs] == ["a", "b", "c"]
    assert (output_of_all.request_id, output_of_all.finished) == ("R", True)
    assert processor.parent_requests == {}
    assert join(parent, []) == []
