"""Text in, text out: what `engine` shows of the front."""

from __future__ import annotations

from running import Run


def test_a_workload_with_stop_strings_runs_behind_the_front(run: Run) -> None:
    ran = run("engine", "streamed_text")
    assert ran.code == 0, ran.err
    assert "What the clients were shown" in ran.out
    assert "stop at 'kn'" in ran.out


def test_follow_tells_the_real_places(run: Run) -> None:
    ran = run("engine", "streamed_text", "--follow", "stopped")
    for place in ("InputProcessor.process_inputs", "input_queue", "Scheduler.schedule"):
        assert place in ran.out
    assert "ends in the core" in ran.out


def test_whom_to_follow_must_be_there(run: Run) -> None:
    ran = run("engine", "streamed_text", "--follow", "nobody")
    assert ran.code == 2
    assert "it has story, stopped, twice" in ran.err


def test_two_processes_show_the_same_text(run: Run) -> None:
    ran = run("engine", "streamed_text", "--processes")
    assert ran.code == 0, ran.err
    assert "stop at 'kn'" in ran.out
    assert "ROUTER" in ran.out


def test_what_the_front_cannot_serve_is_told(run: Run) -> None:
    ran = run("engine", "kv_events", "--follow", "a")
    assert ran.code == 2
    assert "passes on no cache events" in ran.err
