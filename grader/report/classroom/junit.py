"""A class as JUnit XML: a suite for each submission, a case for each check."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from grader.classroom.journal import Entry
from grader.classroom.standings import ClassStandings
from grader.report.classroom.feedback import failure_text
from grader.report.classroom.words import UNSEALED, Detail, cause_words
from grader.verdict import CheckResult

# What XML 1.0 has no way to write.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def class_junit(standings: ClassStandings, detail: Detail) -> str:
    """All submissions that have a verdict."""
    root = Element("testsuites", name="vllmlings")
    for entry in standings.entries():
        root.append(_suite(entry, detail))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(entry: Entry, detail: Detail) -> Element:
    verdict = entry.verdict
    suite = Element("testsuite", name=_text(f"{entry.student}: {entry.lesson}"))
    suite.set("time", f"{verdict.seconds:.3f}")
    if entry.sandbox == "none":
        properties = SubElement(suite, "properties")
        SubElement(properties, "property", name="sandbox", value=UNSEALED)
    for check in verdict.checks:
        _check(suite, entry, check, detail)
    if not verdict.checks:
        _whole(suite, entry)
    for name, kind in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        suite.set(name, str(sum(1 for _ in suite.iter(kind))))
    suite.set("skipped", str(sum(1 for _ in suite.iter("skipped"))))
    return suite


def _check(suite: Element, entry: Entry, check: CheckResult, detail: Detail) -> None:
    case = _case(suite, entry, check.name if detail == "none" else check.title, check.seconds)
    match check.outcome:
        case "failed":
            points = f"0 of {check.points} points"
            failure = SubElement(case, "failure", message=points)
            if detail == "stories" and check.failure is not None:
                failure.text = _text(failure_text(check.failure))
        case "blocked":
            needs = f"not reached: {', '.join(check.blocked_by)} did not pass"
            SubElement(case, "skipped", message=needs if detail != "none" else "not reached")
        case "error":
            SubElement(case, "error", message="the suite is broken").text = _text(check.error or "")


def _whole(suite: Element, entry: Entry) -> None:
    """The one case of a submission that no check was run on."""
    verdict = entry.verdict
    case = _case(suite, entry, "loading the submission", verdict.seconds)
    if verdict.status == "not_started":
        SubElement(case, "skipped", message="not started: it is the stub")
    elif verdict.status == "grader_error":
        SubElement(case, "error", message=_text(cause_words(verdict)))
    else:
        SubElement(case, "failure", message=_text(cause_words(verdict)))


def _case(suite: Element, entry: Entry, name: str, seconds: float) -> Element:
    classname = f"{entry.student}.{entry.lesson.replace('/', '.')}"
    attributes = {"classname": _text(classname), "name": _text(name), "time": f"{seconds:.3f}"}
    return SubElement(suite, "testcase", attributes)


def _text(text: str) -> str:
    r"""
    >>> _text("a\x00b")
    'a\ufffdb'
    """
    return _NO_XML.sub("\ufffd", text)
