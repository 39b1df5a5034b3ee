"""nbgrader's formgrader, served by a real Jupyter server from the course's folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jupyter import jupyter_lab
from notebook_class import LESSONS, SOLUTION, TOPIC, make_notebook_class


@pytest.mark.needs("bubblewrap")
def test_formgrader_serves_its_page_and_autogrades_at_a_click(tmp_path: Path) -> None:
    course = make_notebook_class(tmp_path / "course")
    course.hand_in("ada", LESSONS[0], SOLUTION)
    with jupyter_lab(course) as server:
        assert "nbgrader formgrade" in server.get("formgrader/manage_assignments")
        [assignment] = json.loads(server.get("formgrader/api/assignments"))
        assert (assignment["name"], assignment["max_score"]) == (TOPIC, 40)
        answer = server.post(f"formgrader/api/submission/{TOPIC}/ada/autograde")
        assert answer["success"], answer
        submission = json.loads(server.get(f"formgrader/api/submission/{TOPIC}/ada"))
        assert submission["score"] == 20
        listed = server.get(f"formgrader/api/submitted_notebooks/{TOPIC}/block_pool")
        [notebook] = json.loads(listed)
        page = server.get(f"formgrader/submissions/{notebook['id']}/")
        assert "✓ passed, 1 of 1" in page
