"""Running a check and keeping the smallest case in which it fails.

Hypothesis draws the cases and makes failing ones smaller. How far it may go is bounded by the
number of cases it runs, not by a clock, so that the same submission always fails with the same
story.
"""

import functools
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import is_hypothesis_test
from hypothesis.errors import HypothesisException, InvalidArgument, StopTest

from grader.checks import stories_begun_by
from grader.runner.failures import FINAL
from grader.verdict import AnyFailure, Story
from grader.worker import Unusable

CASES_AFTER_FAILURE = 250
_LONGEST_TRACEBACK = 20_000


class Enough(BaseException):
    """Ends a check at once; not an ``Exception``, so that Hypothesis lets it through."""


@dataclass
class Search:
    """The cases of one check so far; ``judge`` gives the failure that an error in one stands for.

    After it has run, ``failure`` is that of the smallest failing case, and ``broken`` tells of a
    fault in the suite itself. ``cases_left`` is how many more are run once one has failed.
    """

    begin: Callable[[], None]
    judge: Callable[[BaseException], AnyFailure | None]
    failure: AnyFailure | None = None
    broken: str | None = None
    cases_left: int = CASES_AFTER_FAILURE
    _size: tuple[int, int] = (0, 0)

    def run(self, test: Callable[..., None], arguments: dict[str, Any]) -> None:
        """Run a check's test function with its fixtures; never raises for what it found."""
        try:
            if is_hypothesis_test(test):
                handle: Any = vars(test)["hypothesis"]
                handle.inner_test = self._each(handle.inner_test, arguments)
                # Not the submission itself: Hypothesis looks closely at what it is given.
                test(**dict.fromkeys(arguments))
            else:
                self._each(test, arguments)()
        except Enough:
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Once a case has failed, whatever Hypothesis makes of it (a submission that answers
            # differently the second time is "flaky" to it) adds nothing.
            if self.failure is None and self.broken is None:
                self.failure = self.judge(error)
                self.broken = None if self.failure else _traceback()

    def _each(self, test: Callable[..., None], arguments: dict[str, Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def case(*args: Any, **kwargs: Any) -> None:
            if self.failure is not None:
                self.cases_left -= 1
                if self.cases_left < 0:
                    raise Enough
            try:
                self.begin()
                with stories_begun_by(self.begin):
                    test(*args, **kwargs | arguments)
            except InvalidArgument as error:  # a strategy made of what the submission returned
                self._failed(error)
                raise
            except (HypothesisException, StopTest, KeyboardInterrupt):
                raise
            except BaseException as error:
                self._failed(error)
                raise

        return case

    def _failed(self, error: BaseException) -> None:
        failure = self.judge(error)
        if failure is None:
            self.broken = _traceback()
            raise Enough from error
        size = _size(failure.story)
        if self.failure is None or size <= self._size:
            self.failure, self._size = failure, size
        if isinstance(failure, FINAL) or isinstance(error, Unusable):
            self.failure = failure
            raise Enough from error


def _traceback() -> str:
    return traceback.format_exc()[-_LONGEST_TRACEBACK:]


def _size(story: Story) -> tuple[int, int]:
    texts = [*story.setting, *(call.text for call in story.calls)]
    return len(story.calls), sum(map(len, texts))
