"""The examples in a stub's docstrings: the tests that a learner sees.

They are read from the stub, whatever the learner has done to the docstrings, run where the
submission runs, and compared here.
"""

import ast
import doctest
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from grader.runner.failures import failure_of, not_implemented
from grader.verdict import Call, ExampleDiffered, ExampleResult, Story
from grader.worker import Session, WorkerError

_MOST_LINES = 12
_WIDEST = 500


@dataclass(frozen=True, eq=False)
class Docstring:
    """The examples of one docstring. ``line`` is that of its first line in the stub."""

    name: str
    line: int
    examples: tuple[doctest.Example, ...]


@cache
def docstrings(stub: str) -> tuple[Docstring, ...]:
    """The docstrings of a stub that hold examples, in the order they stand.

    >>> [found] = docstrings('def one():\\n    \\'\\'\\'\\n    >>> one()\\n    1\\n    \\'\\'\\'')
    >>> found.name, found.examples[0].source
    ('one', 'one()\\n')
    """
    parser = doctest.DocTestParser()
    found = []
    for name, node in _documented(ast.parse(stub), ""):
        text = ast.get_docstring(node, clean=False)
        examples = parser.get_examples(text) if text else []
        if examples:
            found.append(Docstring(name or "module", node.body[0].lineno, tuple(examples)))
    return tuple(found)


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented(node: _Documented, name: str) -> Iterator[tuple[str, _Documented]]:
    yield name, node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, f"{name}.{child.name}".lstrip("."))


def run(docstring: Docstring, session: Session) -> ExampleResult:
    """Run a docstring's examples in a session with the submission loaded, up to the first failure.

    They are a story of their own.
    """
    calls: list[Call] = []
    try:
        session.begin_story()
        return _run(docstring, session, calls)
    except WorkerError as error:  # the session did not survive an example
        return ExampleResult(docstring.name, "failed", failure_of(error, Story(calls=calls)))


def _run(docstring: Docstring, session: Session, calls: list[Call]) -> ExampleResult:
    for example in docstring.examples:
        calls.append(Call(example.source.rstrip(), ""))
        ran = session.run_example(docstring.name, example.source)
        got = _shortened(_last_line(ran.exception) if ran.exception else ran.output)
        calls[-1] = Call(calls[-1].text, got)
        if agrees(example, ran.output, ran.exception):
            continue
        calls[-1] = Call(calls[-1].text, calls[-1].result, failing=True)
        story = Story(calls=calls)
        if got.startswith("NotImplementedError: "):
            failure = not_implemented(got.removeprefix("NotImplementedError: ").strip(), story)
            return ExampleResult(docstring.name, "failed", failure)
        differed = ExampleDiffered(
            story=story,
            source=example.source.rstrip(),
            expected=(example.want if example.exc_msg is None else example.exc_msg).rstrip(),
            actual=got,
            line=docstring.line + example.lineno,
        )
        return ExampleResult(docstring.name, "failed", differed)
    return ExampleResult(docstring.name, "passed")


def agrees(example: doctest.Example, output: str, exception: str | None) -> bool:
    """Whether what an example printed or raised is what its docstring shows.

    An exception is compared by the name of its class alone: how it words its message is up to
    whoever wrote it, and a submission is loaded as a module of another name.
    """
    flags = 0
    for option, on in example.options.items():
        flags = flags | option if on else flags & ~option
    check = doctest.OutputChecker().check_output
    if exception is None:
        return example.exc_msg is None and check(example.want, output, flags)
    if example.exc_msg is None:
        return False
    return _class_name(example.exc_msg) == _class_name(_last_line(exception))


def _shortened(printed: str) -> str:
    """The first of what an example printed."""
    lines = printed.rstrip().splitlines()
    more = [f"… {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    kept = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…" for line in lines[:_MOST_LINES]]
    return "\n".join(kept + more)


def _last_line(exception: str) -> str:
    """From the class's name on; a syntax error's text begins with where it is."""
    lines = exception.splitlines(keepends=True)
    starts = [n for n, line in enumerate(lines) if not line[:1].isspace()]
    return "".join(lines[starts[0] if starts else 0 :])


def _class_name(exception: str) -> str:
    """Of an exception's text, `ValueError: why` or `module.Error`."""
    return exception.partition(":")[0].strip().rpartition(".")[2]
