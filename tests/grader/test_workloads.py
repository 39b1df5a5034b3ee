"""Reading workload files."""

from pathlib import Path

import pytest

from grader.workloads import read_workload
from reference.workload import WorkloadError


def test_a_file_becomes_a_workload_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("requests:\n  - {id: a, prompt: [1, 2], max_tokens: 3}\n")
    workload = read_workload(path)
    assert workload.name == "small"
    assert workload.requests[0].prompt_token_ids == (1, 2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "workload: got null; allowed: a mapping with engine"),
        ("engine: {block_size: x}\nrequests: []", 'engine.block_size: got "x"; allowed: a whole'),
        ("a: 1\n b: 2\n", "line 2, column 3: mapping values are not allowed here; allowed: well-"),
        (
            "a: 1\nb: {x: 1,\n  x: 2}\n",
            'line 3, column 3: duplicate key "x"; allowed: each key once',
        ),
        ("a: [1\n", "line 2, column 1: expected ',' or ']'"),
        ("a: *b\n", "line 1, column 4: found undefined alias"),
        ("? [1]\n: 2\n", "line 1, column 3: found unhashable key"),
        ("a: !!python/object:os.system x\n", "line 1, column 4: could not determine a constructor"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: but found another document"),
        ("a: 2020-99-99\n", "file: month must be in 1..12"),
        ("a: \x01\n", "file: unacceptable character #x0001"),
        ("[" * 5000, "file: nested too deeply; allowed: well-formed YAML"),
    ],
)
def test_a_malformed_file_gets_one_line_that_names_the_place(
    tmp_path: Path, text: str, line: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        read_workload(path)
    assert str(caught.value).startswith(f"bad.yaml: {line}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named_whole(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    with pytest.raises(WorkloadError, match=f"{path}: file: cannot be read: No such file"):
        read_workload(path)


def test_a_file_must_be_text(tmp_path: Path) -> None:
    path = tmp_path / "bytes.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(WorkloadError, match="byte 4 is no UTF-8"):
        read_workload(path)


SMALL = "engine: {block_size: 4}\nrequests:\n  - {id: a, prompt: [1, 2], max_tokens: 3}\n"


def test_a_change_sets_one_value_by_its_keys_and_a_request_by_its_id(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    changes = ["engine.block_size=8", "requests.a.max_tokens=5", "model.vocab_size=100"]
    workload = read_workload(path, changes)
    assert workload.engine.block_size == 8
    assert workload.requests[0].sampling_params.max_tokens == 5
    assert workload.model.vocab_size == 100
    assert path.read_text() == SMALL


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("engine", "--set: engine: is no change; allowed: KEY=VALUE"),
        ("engine.=1", "--set: engine.=1: is no change"),
        ("requests.b.priority=1", "--set: requests.b.priority: is not in the workload"),
        ("requests.a.id.x=1", "--set: requests.a.id.x: is not in the workload"),
        ("engine.block_size=[1", "--set: engine.block_size: [1 is no YAML"),
        ("engine.block_size=x", 'small.yaml: engine.block_size: got "x"'),
    ],
)
def test_a_change_that_is_none_is_told_in_one_line(tmp_path: Path, change: str, line: str) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    with pytest.raises(WorkloadError) as told:
        read_workload(path, [change])
    assert str(told.value).startswith(line)
