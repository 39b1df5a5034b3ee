"""`vllmlings classroom`: grading a class. Each part is imported when called."""

from __future__ import annotations

import click

from grader.commands.parts import LazyParts

PARTS = {
    "init": "An nbgrader course from the lessons.",
    "release": "What your students get: texts and stubs, as a folder and a zip.",
    "grade": "Grade what a class has handed in, and fill its gradebook.",
    "report": "What a class, or a student, has come to.",
    "gradescope": "An autograder for Gradescope.",
    "workflow": "A GitHub workflow that grades what is handed in as pull requests.",
}


@click.group("classroom", cls=LazyParts, parts=PARTS, prefix="classroom_")
def command() -> None:
    """Grade a class: files and notebooks in COURSE/submitted/STUDENT/TOPIC/LESSON.py or .ipynb.

    COURSE/classroom.yaml, which need not be there, may name the lessons or topics of the class
    (`lessons: [kv_cache]`), when a topic is due (`due: {kv_cache: 2027-01-31}`, for topics whose
    folders have nbgrader's timestamp.txt), nbgrader's late penalty (`late: zero`) and its
    `course_id`.
    """
