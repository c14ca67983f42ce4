"""Values from a JSON file against the annotations of the dataclass that takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

_WORDS: dict[Any, str] = {
    bool: "true or false",
    str: "text",
    int: "a whole number",
    float: "a number",
    NoneType: "null",
}


def typed_values(cls: type[object], given: Mapping[str, object]) -> dict[str, Any]:
    """The arguments for ``cls``: lists become tuples, whole numbers floats where one is meant.

    Raises:
        TypeError: a value that does not fit its annotation, in words.
        OverflowError: a whole number that no float can hold.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Step:
        ...     lr: float
        ...     passes: int | None = None
        >>> typed_values(Step, {"lr": 1, "passes": 2.5})
        Traceback (most recent call last):
        TypeError: passes to be a whole number or null, got 2.5
    """
    hints = get_type_hints(cls)
    for name, value in given.items():
        if not _fits(value, hints[name]):
            raise TypeError(f"{name} to be {_words(hints[name])}, got {json.dumps(value)[:80]}")
    return {name: _taken(value, hints[name]) for name, value in given.items()}


def _taken(value: object, hint: Any) -> object:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, int) and float in (hint, *get_args(hint)):
        return float(value)
    return value


def _fits(value: object, hint: Any) -> bool:
    kinds = get_args(hint)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            return False
        if kinds[-1] is Ellipsis:
            return all(_fits(entry, kinds[0]) for entry in value)
        return len(value) == len(kinds) and all(map(_fits, value, kinds))
    if kinds:
        return any(_fits(value, kind) for kind in kinds)
    if isinstance(value, bool):  # which Python takes for a number
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def _words(hint: Any) -> str:
    kinds = get_args(hint)
    if get_origin(hint) is tuple:
        count = "" if kinds[-1] is Ellipsis else f"{len(kinds)}, "
        return f"a list ({count}each {_words(kinds[0])})"
    return " or ".join(map(_words, kinds)) if kinds else _WORDS[hint]
