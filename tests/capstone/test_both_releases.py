"""The real code of both releases, where the oracle is installed and they have been unpacked."""

import pytest

from grader.capstone.change import read_change
from grader.capstone.draw import exam_of
from grader.capstone.exam import capstone
from grader.capstone.measure import measure
from grader.capstone.releases import unpacked
from grader.oracle.environment import find_oracle

ONE = capstone(3)
CHANGE = read_change(ONE.diff_file)


@pytest.mark.skipif(
    find_oracle() is None or not (unpacked(CHANGE.before) and unpacked(CHANGE.after)),
    reason="needs the oracle and two releases (vllmlings capstone measure 3 fetches them); "
    "what was measured is replayed without them",
)
def test_both_releases_do_what_the_model_says_of_the_course_s_and_a_student_s_exam() -> None:
    compared = measure([exam_of(ONE), exam_of(ONE, "ada")])
    assert len(compared) == 16
    assert all(one.agrees for one in compared), [one for one in compared if not one.agrees]
