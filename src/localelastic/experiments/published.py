"""The paper's printed numbers, as they ship with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

Column = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Its name, the primary and the auxiliary classes."""


@cache
def published() -> dict[str, Any]:
    """Tables by ``table1`` ... ``table8``, and under ``figures`` what the figures state."""
    text = files("localelastic.experiments").joinpath("published.json").read_text(encoding="utf-8")
    return json.loads(text)


def columns_of(table: str) -> tuple[Column, ...]:
    """The columns of a table, from left to right."""
    printed = published()[table]
    return tuple(
        (name, tuple(map(str, primary)), tuple(map(str, auxiliary)))
        for name, primary, auxiliary in zip(
            printed["columns"], printed["primary"], printed["auxiliary"], strict=True
        )
    )
