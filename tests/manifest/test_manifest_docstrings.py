"""The examples in the manifest's docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import manifest

MODULES = [one.name for one in pkgutil.iter_modules(manifest.__path__, "manifest.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
