"""What vLLM's front makes of drawn scripts, kept as data and replayed without vLLM."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as draw_from

from grader.oracle.environment import VLLM_VERSION
from grader.oracle.front.differential import RealFront
from grader.oracle.front.driver import Script, run
from grader.oracle.front.reference_front import ReferenceFront
from grader.oracle.front.strategies import SCRIPTS

PIN = f"vllm {VLLM_VERSION}, vllm.v1.engine"


def record_front(kind: str, count: int, seed: int, real: RealFront, folder: Path) -> Path:
    """Draws so many scripts of a kind, runs them on vLLM's front, and writes both down."""
    scripts: list[Script] = []

    @draw_from(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(SCRIPTS[kind])
    def draw(script: Script) -> None:
        scripts.append(json.loads(json.dumps(script)))

    draw()
    cases = [{"result": real(kind, _copy(script)), "script": script} for script in scripts]
    path = folder / f"{kind}.json"
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    pin = json.dumps(PIN)
    path.write_text(f'{{"pin": {pin}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    return path


def replay_front(path: Path) -> list[tuple[Script, Any, Any]]:
    """The scripts of a file on which the reference engine's front differs: with both results."""
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    found = []
    for case in cases:
        ours = _copy(run(path.stem, _copy(case["script"]), ReferenceFront()))
        if ours != case["result"]:
            found.append((case["script"], ours, case["result"]))
    return found


def _copy(data: Any) -> Any:
    """The data as JSON has it, for a script may be changed by its run."""
    return json.loads(json.dumps(data))
