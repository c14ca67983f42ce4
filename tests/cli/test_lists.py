"""Options that take several words."""

from __future__ import annotations

import pytest

from localelastic.cli.lists import spread
from localelastic.errors import SettingError

LISTS = {"--primary", "--auxiliary"}

CASES = [
    (
        "mnist --primary 5 8 --auxiliary 3 9",
        "mnist --primary=5 --primary=8 --auxiliary=3 --auxiliary=9",
    ),
    ("--primary 5 --primary 8 x", "--primary=5 --primary=8 --primary=x"),
    ("--primary -1 1 -.5", "--primary=-1 --primary=1 --primary=-.5"),
    ("--primary=-dog cat --lr -1", "--primary=-dog --primary=cat --lr -1"),
    ("--primary a -q b", "--primary=a -q b"),
    ("--primary a -- mnist", "--primary=a -- mnist"),
    ("--primary a=b c", "--primary=a=b --primary=c"),
    ("--seed 5 8", "--seed 5 8"),
    ("", ""),
]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_spread(words, expected):
    assert spread(words.split(), LISTS) == expected.split()


@pytest.mark.parametrize("words", ["--primary", "--primary --auxiliary 3", "--primary -dog"])
def test_a_list_without_a_value(words):
    with pytest.raises(SettingError, match="one value or more after --primary"):
        spread(words.split(), LISTS)
