"""Loads a submission as a module and tells what its exceptions say."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import linecache
import sys
from collections.abc import Collection
from types import CodeType, ModuleType, TracebackType

_LONGEST_MESSAGE = 500
_LONGEST_NAME = 200
_LONGEST_CHAIN = 5


class CannotLoad(Exception):
    """A submission cannot be loaded, or has no such name."""

    def __init__(
        self,
        kind: str,
        message: str,
        line: int | None = None,
        type_name: str | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line
        self.type_name = type_name
        self.column = column


def load(name: str, path: str, source: bytes) -> ModuleType:
    """Run `source` as the module `name`; `CannotLoad` when that fails."""
    code = _compiled(source, path)
    module = ModuleType(name)
    module.__file__ = path
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, origin=path)
    sys.modules[name] = module
    try:
        exec(code, vars(module))
    except MemoryError:
        raise
    except BaseException as error:
        type_name, _, message, line, _ = describe(error, {path})
        kind = "import" if isinstance(error, ImportError) else "raised"
        raise CannotLoad(kind, message, line, type_name) from None
    return module


def _compiled(source: bytes, path: str) -> CodeType:
    try:
        text = importlib.util.decode_source(source)
    except (UnicodeDecodeError, SyntaxError) as error:
        raise _undecodable(source, error) from None
    # so that tracebacks and `inspect` find the source, wherever the file itself is
    linecache.cache[path] = (len(source), None, text.splitlines(keepends=True), path)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise CannotLoad("syntax", "a null byte, which no source may have", line, "SyntaxError")
    try:
        return compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise CannotLoad(
            "syntax", error.msg, error.lineno, type(error).__name__, error.offset
        ) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        message = str(error) or "nested too deep for Python to read"
        raise CannotLoad("syntax", message, None, type(error).__name__) from None


def _undecodable(source: bytes, error: UnicodeDecodeError | SyntaxError) -> CannotLoad:
    try:
        source.decode()
    except UnicodeDecodeError as undecodable:
        line = source.count(b"\n", 0, undecodable.start) + 1
        byte = source[undecodable.start]
        return CannotLoad("encoding", f"not UTF-8 text (byte {byte:#x})", line, "UnicodeError")
    return CannotLoad("encoding", str(error), 1, type(error).__name__)


def describe(
    error: BaseException, files: Collection[str]
) -> tuple[str, list[str], str, int | None, list[str]]:
    """Type name, names of its bases, message, line in one of the files, chain of causes."""
    kind = type(error)
    bases = [_short_name(base) for base in kind.__mro__[1:-1]]
    line = _line(error.__traceback__, files)
    return _short_name(kind), bases, _message(error), line, _chain(error)


def _line(traceback: TracebackType | None, files: Collection[str]) -> int | None:
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in files:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _chain(error: BaseException) -> list[str]:
    chain = []
    for _ in range(_LONGEST_CHAIN):
        earlier = error.__cause__
        if earlier is None and not error.__suppress_context__:
            earlier = error.__context__
        if earlier is None:
            break
        chain.append(f"{_short_name(type(earlier))}: {_message(earlier)}")
        error = earlier
    return chain


def _message(error: BaseException) -> str:
    try:
        return _clean(str(error), _LONGEST_MESSAGE)
    except BaseException as second:
        return f"<its message cannot be had: __str__ raised {_short_name(type(second))}>"


def _short_name(kind: type) -> str:
    return _clean(type.__dict__["__name__"].__get__(kind), _LONGEST_NAME)


def _clean(text: str, longest: int) -> str:
    text = str.__str__(text)
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text)} characters)"
    return text.encode("utf-8", "backslashreplace").decode()
