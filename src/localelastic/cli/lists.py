"""Options that take several words: ``--primary 5 8`` as well as ``--primary 5 --primary 8``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperOption

from localelastic.errors import SettingError

_OPTION = re.compile(r"-(?!\.?\d)")
"""How an option starts; ``-1`` is a class or a number."""


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

    A list ends at the next option, or at a lone ``--``. A value that looks like an option is
    written ``--primary=-dog``.

    Raises:
        SettingError: a list option without a value.

    Example:
        >>> spread(["--primary", "5", "8", "--seed", "1"], {"--primary"})
        ['--primary=5', '--primary=8', '--seed', '1']
    """
    result: list[str] = []
    current: str | None = None
    for place, word in enumerate(args):
        flag, joined, _ = word.partition("=")
        if flag in lists:
            current = flag
            following = args[place + 1] if place + 1 < len(args) else "nothing"
            if joined:
                result.append(word)
            elif following == "nothing" or _OPTION.match(following):
                raise SettingError(
                    f"expected one value or more after {flag}, got {following}; "
                    f"a value that starts with - is written as {flag}=-value"
                )
        elif current is not None and not _OPTION.match(word):
            result.append(f"{current}={word}")
        else:
            current = None
            result.append(word)
    return result
