"""What the README shows is what the commands print."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDED = re.compile(r"<!-- recorded: .*? -->\n```\n(.*?)```", re.DOTALL)


def test_the_readmes_recordings_are_what_the_demo_prints() -> None:
    recordings = RECORDED.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert recordings
    printed = subprocess.run(
        [sys.executable, "-m", "grader", "demo"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "80", "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"},
    ).stdout
    for recording in recordings:
        assert recording in printed


def test_the_readmes_set_up_commands_are_those_that_continuous_integration_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in (
        "pip install -c constraints.txt -e .",
        "pip install -c constraints.txt -e '.[dev,classroom,dask,browser]'",
    ):
        assert command in readme
        assert command.replace("pip install", "pip install -q") in script
