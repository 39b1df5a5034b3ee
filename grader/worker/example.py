"""Runs one example of a docstring, as if it were typed at the prompt."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Any

_LONGEST_OUTPUT = 1 << 16


class _Output(io.StringIO):
    """Text up to a limit; what is beyond it is dropped."""

    def write(self, text: str) -> int:
        room = _LONGEST_OUTPUT - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


def run_example(source: str, namespace: dict[str, Any]) -> tuple[str, str | None]:
    """What the example prints, and the last lines of its traceback if it raises.

    >>> run_example("1 + 1\\n", {})
    ('2\\n', None)
    """
    output = _Output()
    stdout, sys.stdout = sys.stdout, output
    hook, sys.displayhook = sys.displayhook, sys.__displayhook__
    exception = None
    try:
        exec(compile(source, "<example>", "single", dont_inherit=True), namespace)
    except MemoryError:
        raise
    except BaseException as error:
        exception = "".join(traceback.format_exception_only(type(error), error))[:_LONGEST_OUTPUT]
    finally:
        sys.stdout = stdout
        sys.displayhook = hook
    return output.getvalue(), exception
