"""A student opens the released notebook in JupyterLab, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jupyter import TOKEN, jupyter_lab
from notebook_class import LESSONS, SOLUTION, make_notebook_class, read

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

PICTURE = ".jp-RenderedMermaid img, .jp-RenderedMermaid svg"
IDLE = "[data-status='idle']"
MENU = "//div[contains(@class, 'lm-MenuBar-itemLabel') and text()='{}']"
ITEM = "//div[contains(@class, 'lm-Menu-itemLabel') and text()='{}']"


@pytest.mark.needs("chromium")
def test_a_notebook_opened_in_jupyterlab_shows_its_picture_and_runs_its_examples(
    tmp_path: Path,
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    course = make_notebook_class(tmp_path / "course")
    file = course.hand_in("ada", LESSONS[0], SOLUTION)
    path = file.relative_to(course.folder).as_posix()
    with jupyter_lab(course) as server, _browser(tmp_path) as browser:
        browser.get(f"{server.address}lab/tree/{path}?token={TOKEN}")
        wait = WebDriverWait(browser, 120)
        wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, PICTURE))
        wait.until(lambda page: page.find_elements(By.CSS_SELECTOR, IDLE))
        for words in (MENU.format("Run"), ITEM.format("Run All Cells")):
            wait.until(lambda page, xpath=words: page.find_element(By.XPATH, xpath)).click()

        def has_run(page: Chrome) -> bool:
            for words in (MENU.format("File"), ITEM.format("Save Notebook")):
                page.find_element(By.XPATH, words).click()
            return bool(_outputs(file))

        wait.until(has_run)
    assert _outputs(file) == ["All 61 examples pass.\n"]


def _outputs(file: Path) -> list[str]:
    """What its cells have printed, or how they failed."""
    outputs = [output for cell in read(file)["cells"] for output in cell.get("outputs", [])]
    return ["".join(output.get("text", str(output))) for output in outputs]


@contextmanager
def _browser(folder: Path) -> Iterator[Chrome]:
    """The system's Chromium, without a window, all it keeps in a folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "headless=new",
        "disable-gpu",
        "disable-dev-shm-usage",
        "window-size=1400,1000",
    ):
        options.add_argument(f"--{argument}")
    options.add_argument(f"--user-data-dir={folder / 'browser'}")
    if os.geteuid() == 0:
        # Chromium's own sandbox refuses to start as root.
        options.add_argument("--no-sandbox")
    browser = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        yield browser
    finally:
        browser.quit()
