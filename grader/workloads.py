"""Reading a workload from a YAML file, with each mistake told in one line."""

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from reference.workload import Workload, WorkloadError, parse_workload


def read_workload(path: Path, changes: Iterable[str] = ()) -> Workload:
    """The workload in a file, with `changes` to it such as `engine.policy=priority`.

    Raises:
        WorkloadError: the file cannot be read, is no YAML, or describes no workload; or a change
            is none.
    """
    data = read_yaml(path)
    for change in changes:
        _apply(data, change)
    return parse_workload(data, path.name)


def _apply(data: Any, change: str) -> None:
    """Set one value: by its keys, with a request by its id, `requests.a.priority=1`."""
    keys, equals, value = change.partition("=")
    *folders, last = keys.split(".")
    if not equals or not last:
        raise WorkloadError("--set", change, "is no change", "KEY=VALUE, as engine.block_size=8")
    for key in folders:
        data = _inside(data, key)
    if not isinstance(data, dict):
        raise WorkloadError("--set", keys, "is not in the workload", "the keys of its file")
    try:
        data[last] = yaml.load(value, _StrictLoader)
    except yaml.YAMLError:
        raise WorkloadError("--set", keys, f"{value} is no YAML", "a value of YAML") from None


def _inside(data: Any, key: str) -> Any:
    """What stands under a key, or in a list under that id; None if nothing does."""
    if isinstance(data, list):
        return next((one for one in data if isinstance(one, dict) and one.get("id") == key), None)
    return data.setdefault(key, {}) if isinstance(data, dict) else None


def headline(path: Path) -> str:
    """What a workload is about: the comment that its file begins with.

    >>> headline(Path("exercises/workloads/first_steps.yaml"))
    'Three requests in a small pool: a prompt cut into chunks, a prefix found again, a preemption.'
    """
    comment: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# "))
    return " ".join(comment)


def read_yaml(path: Path) -> object:
    """The plain data in a YAML file, in which no mapping may have a key twice.

    Raises:
        WorkloadError: the file cannot be read or is no such YAML; the key is the line then.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkloadError(
            str(path), "file", f"cannot be read: {error.strerror}", "a YAML file"
        ) from None
    except UnicodeDecodeError as error:
        raise WorkloadError(
            path.name, "file", f"byte {error.start + 1} is no UTF-8", "a YAML file in UTF-8"
        ) from None
    try:
        return yaml.load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        raise _malformed(path.name, error) from None
    except (yaml.YAMLError, ValueError) as error:
        # A ValueError is about a scalar that looks like a date or a number and is none.
        problem = " ".join(str(error).split())
        raise WorkloadError(path.name, "file", problem, "well-formed YAML") from None
    except RecursionError:
        raise WorkloadError(path.name, "file", "nested too deeply", "well-formed YAML") from None


class _StrictLoader(yaml.SafeLoader):
    """Plain data alone, without duplicate keys: YAML forbids them, PyYAML keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                # PyYAML has its own words for a list or a mapping as a key.
                continue
            if key in seen:
                raise DuplicateKey(
                    problem=f'duplicate key "{key}"', problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class DuplicateKey(yaml.MarkedYAMLError):
    """A mapping says the same key twice."""


def _malformed(source: str, error: yaml.MarkedYAMLError) -> WorkloadError:
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "file"
    problem = " ".join((error.problem or str(error)).split())
    allowed = "each key once" if isinstance(error, DuplicateKey) else "well-formed YAML"
    return WorkloadError(source, where, problem, allowed)
