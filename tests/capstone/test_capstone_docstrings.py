"""The examples in the docstrings run."""

import doctest
import importlib

import pytest

MODULES = ("expression", "marking", "predictions", "attempts")


@pytest.mark.parametrize(
    "name", [*(f"grader.capstone.{one}" for one in MODULES), "grader.report.capstone.result"]
)
def test_the_examples_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0
