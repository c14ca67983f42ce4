"""The paper's printed numbers, as they ship with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> dict[str, Any]:
    """Tables by ``table1`` ... ``table8``, and under ``figures`` what the figures state."""
    text = files("localelastic.experiments").joinpath("published.json").read_text(encoding="utf-8")
    return json.loads(text)
