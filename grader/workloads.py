"""Reading a workload's YAML file."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from reference.workload import Workload, WorkloadError, parse_workload

# The C loader where PyYAML has it: the same result, ten times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TwiceNamed(Exception):
    """A mapping names a key twice; YAML would silently keep the last."""

    def __init__(self, key: Hashable, line: int) -> None:
        super().__init__(key, line)
        self.key, self.line = key, line


class _StrictLoader(_Loader):  # type: ignore[misc]  # which class it is depends on PyYAML's build
    """Loads plain data and refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise _TwiceNamed(key, key_node.start_mark.line + 1)
                seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def read_workload(path: Path) -> Workload:
    """The workload that a YAML file describes.

    Raises:
        WorkloadError: the file cannot be read, is no YAML, or describes no valid workload.

    >>> from grader.lessons import ROOT
    >>> read_workload(ROOT / "exercises" / "workloads" / "first_steps.yaml").engine.block_size
    4
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkloadError(path.name, "file", "not UTF-8 text", "YAML in UTF-8") from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise WorkloadError(path.name, "file", problem, "a YAML file that you may read") from error
    try:
        data = yaml.load(text, Loader=_StrictLoader)
    except _TwiceNamed as twice:
        where = f"line {twice.line}"
        raise WorkloadError(path.name, str(twice.key), f"named twice ({where})", "once") from twice
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else "file"
        problem = getattr(error, "problem", None) or "not YAML"
        raise WorkloadError(path.name, where, problem, "valid YAML") from error
    return parse_workload(data, path.name)
