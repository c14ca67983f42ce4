"""The examples in docstrings prove what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import localelastic

MODULES = [module.name for module in pkgutil.walk_packages(localelastic.__path__, "localelastic.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    tests = (doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES)
    assert sum(bool(test.examples) for found in tests for test in found) > 10
