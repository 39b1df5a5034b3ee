"""`vllmlings oracle` without the oracle: it says what is missing and what to do."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.commands.oracle import oracle
from grader.oracle.differential import DiffReport, Disagreement
from grader.oracle.jobs import merge
from reference.trace import StepRecord


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLMLINGS_ORACLE", str(tmp_path / "nothing"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(oracle, arguments)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_diff_without_the_oracle_names_the_command_that_installs_it(jobs: str) -> None:
    result = run("diff", "--examples", "3", "--jobs", jobs)
    assert result.exit_code == 1
    assert "vllmlings oracle install" in result.output


def test_record_looks_at_the_workloads_before_it_starts_vllm(tmp_path: Path) -> None:
    workload = tmp_path / "bad.yaml"
    workload.write_text("requests: 3\n")
    result = run("record", str(workload))
    assert result.exit_code == 2
    assert "bad.yaml: requests" in result.output


def test_an_installation_that_cannot_begin_is_one_message() -> None:
    result = run("install", "--python", "/no/such/python")
    assert result.exit_code == 1
    assert "Before the start: /no/such/python does not run" in result.output


def test_reports_of_several_jobs_add_up() -> None:
    found = Disagreement({}, 0, ("running",), StepRecord(0), StepRecord(0, running=["a"]))
    merged = merge(7, [DiffReport(7, 3, 30, 1.0), DiffReport(8, 2, 20, 2.0, disagreement=found)])
    assert (merged.seed, merged.examples, merged.steps, merged.seconds) == (7, 5, 50, 2.0)
    assert merged.disagreement is found
