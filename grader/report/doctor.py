"""What works on this machine, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from grader.doctor import Finding

_WHOM = {
    "learner": "you can learn",
    "teacher": "you can grade a class",
    "author": "you can write lessons",
}


def finding_line(finding: Finding) -> RenderableType:
    """`✓ sandbox  bubblewrap confines a submission`, and below it what helps, if it does not."""
    symbol, style = ("✓", "good") if finding.works else ("✗", "bad")
    state = "" if finding.works else "missing: "
    line = Text.assemble(
        (f"{symbol} ", style), (finding.name.ljust(16), "name"), f"{state}{finding.detail}"
    )
    if not finding.works:
        line.append(f"\n{'':18}to mend it: {finding.fix}")
    return line


def verdict_line(findings: Sequence[Finding]) -> RenderableType:
    """For whom everything works."""
    text = Text("\n")
    for audience, words in _WHOM.items():
        missing = [each.name for each in findings if each.audience == audience and not each.works]
        text.append(f"{words}: ".rjust(25))
        text.append("yes\n" if not missing else f"not yet ({', '.join(missing)})\n")
    text.rstrip()
    return text
