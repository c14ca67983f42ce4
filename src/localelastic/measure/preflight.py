"""What to know of a model before measuring it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Args:
        level: ``"ok"``, ``"note"`` or ``"warning"``.
        check: what was checked, in a few words.
        found: what came out, and what it means.
    """

    level: str
    check: str
    found: str


@dataclass(frozen=True)
class Preflight:
    """All findings; prints as a table.

    Args:
        findings: in the order of the checks.
    """

    findings: tuple[Finding, ...]


def preflight() -> Preflight:
    """To be written."""
    raise NotImplementedError
