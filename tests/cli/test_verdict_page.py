"""A verdict as a page: what is told, in which words, and that nothing is told by colour alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lessons import ROOT
from grader.report.console import harmless, show
from grader.report.next_steps import after_a_save, after_grading
from grader.report.values import compared
from grader.report.verdict import verdict_page
from grader.verdict import (
    AnyFailure,
    BrokeProtocol,
    Call,
    CheckResult,
    Died,
    Differed,
    ExampleDiffered,
    ExampleResult,
    GraderError,
    LoadError,
    Mismatched,
    NotImplementedYet,
    OutOfMemory,
    Raised,
    Story,
    TimedOut,
    Unmet,
    Unusable,
    Verdict,
    WrongError,
)
from manifest.course import load

LESSON = "kv_cache/block_pool"
BLOCK_POOL = load().lesson(LESSON)
BLOCK_HASHING = load().lesson("kv_cache/block_hashing")
SUBMISSION = ROOT / "exercises" / "kv_cache" / "block_pool.py"
STORY = Story(
    setting=["A pool of 8 blocks."],
    calls=[
        Call("pool = BlockPool(8)", ""),
        Call("pool.get_new_blocks(2)", "[1, 2]"),
        Call("pool.free_blocks([2, 1])", "None"),
        Call("pool.free_order()", "[3, 4, 5, 6, 7, 2, 1]", failing=True),
    ],
)
MISMATCHED = Mismatched(
    story=STORY, expected="[2, 1, 3, 4, 5, 6, 7]", actual="[3, 4, 5, 6, 7, 2, 1]"
)


def passed(name: str = "test_a", title: str = "A rule.") -> CheckResult:
    return CheckResult(name, title, 2, 2, "passed", "How it really works")


def failed(failure: AnyFailure, title: str = "Another rule.") -> CheckResult:
    return CheckResult("test_b", title, 3, 0, "failed", "How it really works", failure)


def verdict(*checks: CheckResult, examples: tuple[ExampleResult, ...] = ()) -> Verdict:
    points, whole = sum(c.earned for c in checks), sum(c.points for c in checks)
    status = "passed" if points == whole else "failed"
    return Verdict(LESSON, status, points, whole, list(examples), list(checks), seconds=0.5)


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")

    def shown(one: Verdict, **options: object) -> str:
        show(verdict_page(one, SUBMISSION, 80, **options))  # type: ignore[arg-type]
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
        assert "\x1b" not in text
        return text

    return shown


def test_each_check_has_a_symbol_points_and_its_title(page) -> None:
    lines = page(verdict(passed(), failed(MISMATCHED)), full=True).splitlines()
    assert "✓ 1 2/2 A rule." in lines
    assert "✗ 2 0/3 Another rule." in lines


def test_the_checks_that_passed_are_one_line_together(page) -> None:
    lines = page(verdict(*[passed()] * 9, failed(MISMATCHED))).splitlines()
    assert lines[:2] == ["✓ 9 checks passed: 18 of 21 points", "✗ 10 0/3 Another rule."]
    assert "A rule." not in "\n".join(lines)


def test_of_a_pass_the_sum_is_enough(page) -> None:
    assert page(verdict(*[passed()] * 9)) == (
        "\n✓ passed  18 of 18 points · 9 of 9 checks · 0.5 s\n"
    )


def test_checks_that_come_to_the_same_unwritten_part_are_one_line(page) -> None:
    unwritten = [
        failed(NotImplementedYet(name=name, hint="write it"), "A rule.")
        for name in ("Pool.touch", "Pool.free", "Pool.touch", "Pool.touch")
    ]
    lines = page(verdict(*unwritten)).splitlines()
    assert lines[:2] == [
        "✗ Pool.touch is not written yet: checks 1, 3 and 4",
        "✗ Pool.free is not written yet: check 2",
    ]


def test_checks_that_meet_the_same_endless_loop_are_one_line(page) -> None:
    loops = [failed(TimedOut(call="f()", seconds=s), "A rule.") for s in (5.0, 0.25, 0.25)]
    lines = page(verdict(*loops)).splitlines()
    assert lines[0] == "✗ a call did not come back in time: checks 1, 2 and 3"
    assert lines[1] == ""


def test_as_few_stories_are_told_as_there_is_room_for(page) -> None:
    one = verdict(*(failed(MISMATCHED, f"Rule {n}.") for n in range(5)))
    text = page(one, told=1)
    assert text.count("the engine:") == 1
    assert "4 more failed" in text


def test_a_story_has_its_setting_numbered_calls_and_both_values_aligned(page) -> None:
    assert """
  A pool of 8 blocks.
     1 pool = BlockPool(8)
     2 pool.get_new_blocks(2)  → [1, 2]
     3 pool.free_blocks([2, 1])
  ▸  4 pool.free_order()
       the engine: [2, 1, 3, 4, 5, 6, 7]
       yours:      [3, 4, 5, 6, 7, 2, 1]
                    ^
""" in page(verdict(failed(MISMATCHED)))


def test_a_result_is_told_where_it_is_news(page) -> None:
    calls = [
        Call("pool = BlockPool(8)", "pool"),
        Call("pool.touch([1])", "None"),
        Call("pool.get_cached_block(b'a')", "None"),
        Call("pool.get_cached_block(b'b')", "2"),
    ]
    text = page(verdict(failed(Unmet(story=Story(calls=calls), because="It holds."))))
    assert "1 pool = BlockPool(8)\n" in text
    assert "2 pool.touch([1])\n" in text
    assert "3 pool.get_cached_block(b'a')  → None\n" in text
    assert "4 pool.get_cached_block(b'b')  → 2\n" in text


def test_a_long_title_is_wrapped_and_not_cut(page) -> None:
    title = "A rule " + "that goes on " * 8 + "to its end."
    assert page(verdict(failed(MISMATCHED, title))).count("to its end.") == 2


def test_a_story_names_the_place_of_the_rule(page) -> None:
    text = page(verdict(failed(MISMATCHED)))
    assert "exercises/kv_cache/block_pool.md > How it really works" in text


def test_of_many_failures_the_first_two_are_told_and_the_rest_counted(page) -> None:
    one = verdict(*(failed(MISMATCHED, f"Rule {n}.") for n in range(5)))
    text = page(one)
    assert text.count("the engine:") == 2
    assert "3 more failed; all stories: vllmlings grade block_pool --full" in text
    assert page(one, full=True).count("the engine:") == 5


def test_what_is_wrong_is_told_before_what_is_not_written_yet(page) -> None:
    unwritten = [
        failed(NotImplementedYet(name="BlockPool.touch", hint="count a user"), f"Rule {n}.")
        for n in range(3)
    ]
    text = page(verdict(*unwritten, failed(MISMATCHED, "The wrong one.")))
    assert text.index("✗ check 4 ─") < text.index("✗ check 1 ─")


def test_one_endless_loop_stands_for_all(page) -> None:
    loops = [
        failed(TimedOut(call=f"f({n})", seconds=5.0 if n == 1 else 0.25), f"Rule {n}.")
        for n in range(4)
    ]
    text = page(verdict(*loops, failed(MISMATCHED)))
    assert text.count("did not come back within") == 1
    assert "f(1) did not come back within 5 s" in text
    assert text.count("the engine:") == 1
    assert "3 more failed" in text


def test_a_blocked_check_says_what_it_waits_for(page) -> None:
    blocked = CheckResult("test_c", "C.", 3, 0, "blocked", "R", blocked_by=["test_b"])
    text = page(verdict(failed(MISMATCHED, "The first rule."), blocked))
    assert "○ 1 check waits for others: 2\n" in text
    assert "○ 2 0/3 C. (waits for 1)" in page(
        verdict(failed(MISMATCHED, "The first rule."), blocked), full=True
    )


def test_a_broken_check_is_not_the_learners_doing(page) -> None:
    broken = CheckResult("test_c", "C.", 3, 0, "error", "R", error="KeyError: 7")
    assert "! 1 0/3 C. (the check itself is broken)" in page(verdict(broken))


def test_a_long_story_is_cut_in_the_middle_and_numbered_through(page) -> None:
    calls = [Call(f"pool.touch([{n}])", "None") for n in range(1, 31)]
    failure = Mismatched(story=Story(calls=calls), expected="1", actual="2")
    text = page(verdict(failed(failure)))
    assert "… 18 calls more (all of them: --full)" in text
    assert "30 pool.touch([30])" in text
    assert "15 pool.touch([15])" in page(verdict(failed(failure)), full=True)


def test_calls_that_were_left_out_count(page) -> None:
    calls = [Call("a()", "1"), Call("… 58 more calls", ""), Call("z()", "2")]
    failure = Mismatched(story=Story(calls=calls), expected="1", actual="2")
    assert "    60 z()" in page(verdict(failed(failure)))


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Differed(call="f()", expected="1", actual_error="KeyError"), "raises KeyError"),
        (Unmet(because="Usage never exceeds one.", facts={"usage": "1.5"}), "usage = 1.5"),
        (WrongError(expected="ValueError", value="[]"), "the engine: raises ValueError"),
        (WrongError(expected="ValueError", value="[]"), "yours:      returns []"),
        (WrongError(expected="ValueError", raised="KeyError", message="7"), "raises KeyError: 7"),
        (Raised(type_name="KeyError", message="7", line=12), "KeyError: 7 (line 12 of your file)"),
        (NotImplementedYet(name="BlockPool.touch", hint="count a user"), "To do: count a user"),
        (TimedOut(call="pool.touch([1])", seconds=5.0), "pool.touch([1]) did not come back"),
        (Died(call="pool.touch([1])", exit_code=0), "with exit code 0"),
        (Died(call="pool.touch([1])", signal="SIGKILL"), "by signal SIGKILL"),
        (OutOfMemory(call="pool.touch([1])"), "wanted more memory"),
        (BrokeProtocol(call="pool.touch([1])", problem="no answer"), "no answer"),
        (
            Unusable(call="pool.state()", value="None", belongs="a State", problem="TypeError"),
            "pool.state() returned None; a State belongs there.\n       Is a return missing?",
        ),
        (
            Unusable(call="pool.usage", value="3", belongs="a method", problem="TypeError"),
            "pool.usage is 3; a method belongs there.",
        ),
        (
            Unusable(call="pool.state()", problem="it has more than 250,000 values"),
            "it has more than 250,000 values",
        ),
        (
            ExampleDiffered(source="f(1)\n", expected="1\n", actual="", line=3),
            "yours:       (nothing)",
        ),
    ],
)
def test_every_kind_of_failure_has_its_words(page, failure: AnyFailure, words: str) -> None:
    assert words in page(verdict(failed(failure)))


@pytest.mark.parametrize(
    "failure",
    [
        Raised(type_name="KeyError", message="a line\n" * 2000, call="f()"),
        Raised(type_name="KeyError", message="7, " * 2000, call="f()"),
        WrongError(expected="ValueError", raised="KeyError", message="7\n" * 2000),
        WrongError(expected="ValueError", value="[7], " * 2000),
        Unmet(because="Usage never exceeds one.", facts={"usage": "[7], " * 2000}),
        Unusable(call="f()", value="[7], " * 2000, belongs="an int"),
        Died(
            call="f()",
            exit_code=0,
            story=Story([], [Call("f()", "raises KeyError: " + "7\n" * 2000)]),
        ),
    ],
)
def test_no_message_and_no_value_fills_the_page(page, failure: AnyFailure) -> None:
    assert len(page(verdict(failed(failure))).splitlines()) < 25


def test_examples_are_counted_and_a_failed_one_is_told(page) -> None:
    failure = ExampleDiffered(
        source="pool.free_order()\n", expected="[1, 2]\n", actual="[2, 1]\n", line=7
    )
    examples = (
        ExampleResult("BlockPool", "passed"),
        ExampleResult("BlockPool.free_order", "failed", failure),
    )
    text = page(verdict(passed(), examples=examples))
    assert "✗ Examples of the docstrings: 1 of 2 pass" in text
    assert "✗ example ─" in text
    assert "\nThe example of BlockPool.free_order\n" in text
    assert ">>> pool.free_order()" in text


def test_an_untouched_stub_is_not_started(page) -> None:
    one = Verdict(LESSON, "not_started", 0, 20)
    text = page(one, then=after_grading(one, BLOCK_POOL, None, None))
    assert text.startswith("○ not started")
    assert "vllmlings read block_pool" in text


def test_who_watches_a_stub_is_told_to_write_and_save(page) -> None:
    one = Verdict(LESSON, "not_started", 0, 20)
    text = page(one, then=after_a_save(one, BLOCK_POOL, None, None))
    assert "exercises/kv_cache/block_pool.py is still the stub.\n" in text
    assert "Write in that file and save it" in text
    assert "vllmlings read block_pool" in text


def test_what_cannot_be_loaded_names_line_cause_and_fix(page) -> None:
    error = LoadError("syntax", "block_pool.py", 12, "'(' was never closed", "Close it.")
    text = page(Verdict(LESSON, "cannot_load", 0, 20, error=error))
    assert "✗ cannot be loaded  block_pool.py:12\n  '(' was never closed\n  Close it." in text


def test_a_syntax_error_is_marked_in_its_line_of_a_file_named_from_here(page) -> None:
    file = Path.cwd() / "exercises" / "block_pool.py"
    source = "        return self.ids.("
    error = LoadError("syntax", str(file), 12, "invalid syntax", "Correct it.", source, 25)
    text = page(Verdict(LESSON, "cannot_load", 0, 20, error=error))
    assert text.startswith("""\
✗ cannot be loaded  exercises/block_pool.py:12
  12 │ return self.ids.(
     │                 ^
  invalid syntax
""")


def test_a_long_line_is_shown_around_the_error(page) -> None:
    source = f"x = [{'1, ' * 100}(2, {'3, ' * 100}]"
    column = source.index("(") + 1
    error = LoadError("syntax", "a.py", 3, "never closed", "Close it.", source, column)
    _, line, mark, *_ = page(Verdict(LESSON, "cannot_load", 0, 20, error=error)).splitlines()
    assert line[mark.index("^")] == "("
    assert len(line) == 80


@pytest.mark.parametrize("column", [-5, 0, 10**9])
def test_a_column_that_cannot_be_is_no_harm(page, column: int) -> None:
    error = LoadError("syntax", "a.py", 3, "a cause", "a fix", "    x = (", column)
    assert "a cause" in page(Verdict(LESSON, "cannot_load", 0, 20, error=error))


def test_an_error_of_the_grader_is_told_as_such(page) -> None:
    one = Verdict(LESSON, "grader_error", 0, 0, error=GraderError("a cause"))
    text = page(one, then=after_grading(one, BLOCK_POOL, None, None))
    assert "not your doing" in text
    assert "hint" not in text


def test_of_what_the_graders_authors_need_no_more_than_a_page_is_shown(page) -> None:
    error = GraderError("a cause", "x" * 1_000_000 + "\n  line" * 1000)
    text = page(Verdict(LESSON, "grader_error", 0, 0, error=error))
    assert len(text.splitlines()) < 60


def test_after_a_pass_comes_the_next_lesson(page) -> None:
    one = verdict(passed())
    text = page(one, then=after_grading(one, BLOCK_POOL, BLOCK_HASHING, "free_list"))
    assert "✓ passed  2 of 2 points · 1 of 1 check · 0.5 s" in text
    assert "vllmlings read block_hashing" in text
    assert "vllmlings engine free_list --mine" in text


def test_who_watches_a_pass_is_told_the_key_the_diff_and_the_engine(page) -> None:
    one = verdict(passed())
    text = page(one, then=after_a_save(one, BLOCK_POOL, BLOCK_HASHING, "free_list"))
    assert (
        """
  n                                   the next lesson, kv_cache/block_hashing
  vllmlings diff block_pool           your work beside the solution
  vllmlings engine free_list --mine   the engine, running on your part
"""
        in text
    )
    assert "engine" not in page(one, then=after_a_save(one, BLOCK_POOL, None, None))


def test_of_much_output_the_end_is_shown(page) -> None:
    one = Verdict(LESSON, "failed", 0, 2, printed="\n".join(map(str, range(1000))))
    assert "Your code printed (the last 8 of 1000 lines):\n  992\n" in page(one)


def test_a_submissions_text_cannot_move_the_cursor(page) -> None:
    calls = [Call("f()", "'\x1b[2J'", failing=True)]
    failure = Mismatched(story=Story(calls=calls), expected="1", actual="\x1b]0;title\x07\r2")
    one = verdict(failed(failure))
    page(Verdict(LESSON, "failed", 0, 3, [], one.checks, printed="\x1b[2J\x9b1m\r\nx"))
    assert harmless("\x1b[31mred\x1b[0m\r") == "red·"


def test_long_values_are_cut_around_the_difference() -> None:
    left = str(list(range(200)))
    right = left.replace("150", "999")
    lines = compared(left, right, ("the engine:", "yours:"), 75).plain.split("\n")
    assert "150" in lines[0]
    column = lines[2].index("^")
    assert lines[1][column : column + 3] == "999"
    assert max(map(len, lines)) <= 75
