"""One session of `vllmlings watch`: events in, verdicts and pages out."""

from __future__ import annotations

import sys

from rich.console import RenderableType
from rich.text import Text

from grader.grading import content_of, remember
from grader.learner import Learner, NoHints
from grader.lessons import Lesson as Files
from grader.report.console import make_console, show
from grader.report.course import course_list
from grader.report.hints import hint_page
from grader.report.next_steps import after_a_save
from grader.report.stories import MOST_TOLD
from grader.report.verdict import verdict_page
from grader.report.waiting import waiting
from grader.runner import WarmGrader
from grader.standing import standings
from grader.verdict import Verdict
from grader.watching import Events, HungUp, Key, Saved
from manifest.course import Lesson

# What it checks, above a verdict; the keys under it, with a blank line and the cursor's own.
LINES_AROUND = 4
CLEAR = "\x1b[2J\x1b[3J\x1b[H"
KEYS = (("n", "next"), ("h", "hint"), ("l", "list"), ("r", "run again"), ("q", "quit"))


class Left(Exception):
    """The learner has left in the midst of a check."""


class WatchSession:
    """Grades the lesson at once and at each save, keeping what is costly warm between."""

    def __init__(self, learner: Learner, lesson: Lesson, keyboard: int | None) -> None:
        self._learner = learner
        self._lesson = lesson
        self._keyboard = keyboard
        self._verdict: Verdict | None = None

    def run(self) -> None:
        """Until `q`, Ctrl-C, or the terminal goes."""
        lesson: Lesson | None = self._lesson
        try:
            while lesson is not None:
                lesson = self._watch(lesson)
        except (KeyboardInterrupt, Left):
            return

    def _watch(self, lesson: Lesson) -> Lesson | None:
        """Watch one lesson; gives the one to go on with, or None to end."""
        self._lesson = lesson
        exercise = self._learner.places.exercise(lesson.path)
        events = Events(exercise, self._keyboard)
        with WarmGrader(Files(lesson.path)) as warm:
            self._check(warm, events)
            for event in events:
                match event:
                    case Saved() | Key("r"):
                        self._check(warm, events)
                    case Key("n"):
                        if following := self._following():
                            return following
                    case Key("h"):
                        self._hint()
                    case Key("l"):
                        self._list()
                    case Key("q") | HungUp():
                        return None
        return None

    def _check(self, warm: WarmGrader, events: Events) -> None:
        def leave_if_asked() -> None:
            if events.wants_out():
                raise Left

        self._clear()
        self._say(f"Checking {self._lesson.path} …")
        exercise = self._learner.places.exercise(self._lesson.path)
        graded = content_of(exercise)
        with waiting(f"Checking {self._lesson.name}") as progress:
            self._verdict = warm.grade(graded, progress.advance, look=leave_if_asked)
        remember(self._learner.progress, self._verdict, graded)
        show(self._page(self._verdict))
        self._show_keys()

    def _page(self, verdict: Verdict) -> RenderableType:
        """The verdict with as many stories as the terminal has room for, one at least."""
        console = make_console()
        exercise = self._learner.places.exercise(self._lesson.path)
        following = self._learner.lesson_after(self._lesson)
        workload = Files(self._lesson.path).workload
        then = after_a_save(verdict, self._lesson, following, workload)
        room = console.height - LINES_AROUND if sys.stdout.isatty() else None
        for told in range(MOST_TOLD, 0, -1):
            page = verdict_page(verdict, exercise, console.width, told=told, then=then)
            if room is None or len(console.render_lines(page)) <= room:
                break
        return page

    def _following(self) -> Lesson | None:
        """The lesson to go on with, after a pass; otherwise says why there is none."""
        if self._verdict is None or self._verdict.status != "passed":
            self._say(f"{self._lesson.path} has not passed yet; n goes on after a pass.")
            return None
        following = self._learner.lesson_after(self._lesson)
        if following is None:
            self._say("Every lesson that is written so far has passed.")
        return following

    def _hint(self) -> None:
        try:
            hints, shown = self._learner.next_hint(self._lesson)
            page: RenderableType = hint_page(self._lesson, hints, shown, key="h")
        except NoHints as error:
            page = Text(str(error))
        self._show(page)

    def _list(self) -> None:
        learner = self._learner
        all_standings = standings(learner.course, learner.progress, learner.places)
        self._show(course_list(learner.course.topics, all_standings, everything=False))

    def _show(self, page: RenderableType) -> None:
        self._say("")
        show(page)
        self._show_keys()

    def _show_keys(self) -> None:
        if self._keyboard is not None:
            line = Text("\n")
            for key, what in KEYS:
                line.append(f" {key} ", style="reverse").append(f" {what}   ")
            show(line)
        else:
            self._say(
                "\nWaiting for the next save; Ctrl-C ends. (Keys need a foreground terminal.)"
            )
        sys.stdout.flush()

    @staticmethod
    def _say(line: str) -> None:
        print(line, flush=True)

    @staticmethod
    def _clear() -> None:
        if sys.stdout.isatty():
            sys.stdout.write(CLEAR)
