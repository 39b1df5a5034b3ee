"""How a part of the engine reaches a submission."""

from grader.handing import hand_in, handed_in_as


def test_a_plainly_imported_submission_gets_the_part_itself() -> None:
    part = [3, 1, 2]
    assert hand_in(part, "pop") is part


def test_the_runner_says_what_is_handed_in_instead() -> None:
    with handed_in_as(lambda part, methods: (part, methods)):
        assert hand_in("pool", "touch", "ref_cnt") == ("pool", ("touch", "ref_cnt"))
    assert hand_in("pool", "touch") == "pool"
