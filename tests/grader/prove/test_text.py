"""What a lesson's text must have."""

import re
from pathlib import Path

import pytest

from grader.lessons import Lesson
from grader.prove.text import SECTIONS, text_shortfalls
from manifest.symbols import Symbol

QUESTION = "<details><summary>?</summary>\n<!-- predict: 1 + 1 -->\n\n**2**.\n</details>\n"
TEXT = "# Stack\n\n" + "".join(f"## {section}\n\n" for section in SECTIONS) + QUESTION


def short_of(folder: Path, text: str) -> list[str]:
    lesson = Lesson("toy/stack", folder)
    for path, content in ((lesson.text, text), (lesson.solution, "")):
        path.parent.mkdir(parents=True)
        path.write_text(content)
    return [str(one) for one in text_shortfalls(lesson, known)]


def known(key: str) -> Symbol | None:
    file, _, name = key.partition("#")
    return Symbol(file, name, "class", 1, 2, 9, "0") if name == "Known" else None


def test_a_complete_text_lacks_nothing(tmp_path: Path) -> None:
    assert short_of(tmp_path, TEXT.replace("# Stack", "# Stack [k](vllm:a.py#Known)")) == []


@pytest.mark.parametrize(
    ("old", "new", "short"),
    [
        ("## The picture\n", "", 'section "The picture" is missing'),
        ("## Try it\n", "## Try it out\n", 'section "Try it" is missing'),
        ("## Check yourself\n", "## Check yourself\n## More\n", 'section "More" is one too many'),
        ("# Stack", "# Stack [k](vllm:a.py#Gone)", "a.py#Gone is not known: .*stack.md:1: "),
        ("predict:", "ask:", "no question to predict"),
        ("1 + 1", "1 + 2", "answer is wrong: .*stack.md:17: it tells 2; 1 \\+ 2 gives 3"),
        ("1 + 1", "nothing", "the prediction raises NameError"),
    ],
)
def test_what_it_lacks_is_told(tmp_path: Path, old: str, new: str, short: str) -> None:
    (found,) = short_of(tmp_path, TEXT.replace(old, new))
    assert re.search(short, found)


def test_without_a_text_there_is_nothing_more_to_say(tmp_path: Path) -> None:
    (found,) = text_shortfalls(Lesson("toy/stack", tmp_path), known)
    assert str(found) == "there is no text: exercises/toy/stack.md: write it"
