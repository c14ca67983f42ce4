from __future__ import annotations

from dataclasses import dataclass

import pytest

from localelastic.experiments.typed import typed_values


@dataclass
class Thing:
    name: str
    count: int | None = None
    size: float = 0.0
    words: tuple[str, ...] = ()
    pair: tuple[int, int] | None = None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"name": "a"}, {"name": "a"}),
        ({"count": None, "size": 3}, {"count": None, "size": 3}),
        ({"words": ["a", "b"], "pair": [1, 2]}, {"words": ("a", "b"), "pair": (1, 2)}),
        ({"words": [], "pair": None}, {"words": (), "pair": None}),
    ],
)
def test_values_that_fit(given, expected):
    found = typed_values(Thing, given)
    assert found == expected
    assert isinstance(found.get("size", 0.0), float)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": 5}, "name to be text, got 5"),
        ({"name": None}, "name to be text, got null"),
        ({"count": "5"}, 'count to be a whole number or null, got "5"'),
        ({"count": 5.0}, "count to be a whole number or null, got 5.0"),
        ({"count": True}, "count to be a whole number or null, got true"),
        ({"size": "much"}, 'size to be a number, got "much"'),
        ({"words": "ab"}, 'words to be a list (each text), got "ab"'),
        ({"words": ["a", 5]}, 'words to be a list (each text), got ["a", 5]'),
        ({"pair": [1]}, "pair to be a list (2, each a whole number) or null, got [1]"),
        ({"pair": [1, 2.5]}, "pair to be a list (2, each a whole number) or null, got [1, 2.5]"),
        ({"pair": {"a": 1}}, 'pair to be a list (2, each a whole number) or null, got {"a": 1}'),
    ],
)
def test_values_that_do_not(given, message):
    with pytest.raises(TypeError) as error:
        typed_values(Thing, given)
    assert str(error.value) == message
