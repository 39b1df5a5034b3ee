"""Pairs of submissions that are alike once names, strings and comments are set aside.

What the stub gives to everybody does not count. It is for a person to look at, and proves nothing.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from copydetect import CodeFingerprint, compare_files

from grader.classroom.pairs import Pair
from grader.classroom.submissions import Submission
from grader.lessons import Lesson
from grader.stub import stub_of

# In characters of code without names. All fingerprints count: a choice of them would depend on
# how this process hashes text.
_LENGTH, _WINDOW = 25, 1
# Names like any other, which the library takes for words of the language.
_BY_CUSTOM = re.compile(r"\b(?:self|cls)\b")
ALIKE = 0.8


def similar_pairs(
    lesson: Lesson, submissions: Iterable[Submission], at_least: float = ALIKE
) -> list[Pair]:
    """The pairs of students whose submissions of a lesson are alike, the most alike first.

    Submissions that cannot be read are left out, and so are those with nothing but the stub.
    """
    common = list(_fingerprint(stub_of(lesson).encode()).hashes)
    prints = {
        submission.student: _fingerprint(submission.source, common)
        for submission in submissions
        if submission.source is not None and submission.lesson == lesson.name
    }
    pairs = list(_pairs(lesson.name, prints, at_least))
    return sorted(pairs, key=lambda pair: (-pair.likeness, pair.first, pair.second))


def _pairs(lesson: str, prints: dict[str, CodeFingerprint], at_least: float) -> Iterator[Pair]:
    told = {student: found for student, found in prints.items() if len(found.hashes)}
    for first, second in combinations(sorted(told), 2):
        shared = len(told[first].hashes & told[second].hashes)
        if shared < at_least / 2 * min(len(told[first].hashes), len(told[second].hashes)):
            continue  # far from alike, which this tells a hundred times as fast
        _, likenesses, _ = compare_files(told[first], told[second])
        likeness = min(1.0, float(max(likenesses)))
        if likeness >= at_least:
            yield Pair(lesson, first, second, likeness)


def _fingerprint(source: bytes, common: list[int] | None = None) -> CodeFingerprint:
    text = _BY_CUSTOM.sub("it", source.decode("utf-8", "replace"))
    file = io.StringIO(text)
    return CodeFingerprint("submission.py", _LENGTH, _WINDOW, common or [], fp=file)
