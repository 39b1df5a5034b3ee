"""What holds for every module of the engine."""

import ast
import doctest
import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

import reference

MODULES = [f"reference.{info.name}" for info in pkgutil.iter_modules(reference.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_the_engine_needs_the_standard_library_alone(name: str) -> None:
    source = Path(importlib.import_module(name).__file__ or "").read_text()
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported <= sys.stdlib_module_names | {"reference"}
