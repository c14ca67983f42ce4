"""The documentation of results is what their records say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def results():
    spec = importlib.util.spec_from_file_location("results", ROOT / "scripts" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_those_of_the_records(results):
    for path, text in results.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run scripts/results.py"


def test_links_and_pictures_are_there():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for link in page.read_text(encoding="utf-8").split("](")[1:]:
            target = link.partition(")")[0]
            if not target.startswith(("http", "#")):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
