"""Options that take several words: ``--primary 5 8`` as well as ``--primary 5 --primary 8``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperOption


class ListCommand(TyperCommand):
    """A command whose repeatable options also take their values in one go."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values before anything else looks at them."""
        lists = {
            flag
            for option in self.params
            if isinstance(option, TyperOption) and option.multiple
            for flag in option.opts
        }
        return super().parse_args(ctx, spread(args, lists))


def spread(args: Sequence[str], lists: set[str]) -> list[str]:
    """Repeat a list option before each of its values.

    A list ends at the next word that starts with ``-``; a lone ``--`` ends it explicitly.

    Example:
        >>> spread(["--primary", "5", "8", "--seed", "1"], {"--primary"})
        ['--primary', '5', '--primary', '8', '--seed', '1']
    """
    result: list[str] = []
    current: str | None = None
    for word in args:
        if word in lists:
            current = word
        elif current is not None and not word.startswith("-"):
            result += [current, word]
        else:
            current = None
            result.append(word)
    return result
