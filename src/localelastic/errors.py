"""Every error the package raises on purpose, and the checks that all rooms need.

    LocalElasticError
    ├── InputError             what was passed cannot be measured       (also a ValueError)
    │   ├── DataError          examples: empty, not finite, several sizes ...
    │   │   ├── ReadError      a file that cannot be read as data
    │   │   └── ClassError     an unknown, too small or shared class
    │   ├── ModelError         a model that does not fit: output, parameters
    │   └── SettingError       a number or choice out of range
    │       └── MemoryBudgetError  less memory allowed than the work needs
    ├── MeasurementError       no step of the measurement had a meaning  (also a RuntimeError)
    └── OutputError            a result that cannot be written           (also an OSError)

A message says what was expected, what came, and what to do.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any


class LocalElasticError(Exception):
    """Root of the tree above."""


class InputError(LocalElasticError, ValueError):
    """What was passed cannot be measured."""


class DataError(InputError):
    """The examples themselves are at fault."""


class ReadError(DataError):
    """A file or folder cannot be read as examples."""


class ClassError(DataError):
    """A class is unknown, has too few examples, or is on both sides."""


class ModelError(InputError):
    """The model does not fit the measurement."""


class SettingError(InputError):
    """A setting is out of its range."""


class MemoryBudgetError(SettingError):
    """The work does not fit into the memory that it was allowed."""


class MeasurementError(LocalElasticError, RuntimeError):
    """The measurement ran, but none of its steps had a meaning."""


class OutputError(LocalElasticError, OSError):
    """A result cannot be written where it was asked for."""


def expect_whole(value: object, name: str, least: int | None = None) -> None:
    """Refuse what is no whole number, ``True`` and ``1.0`` too, or too small a one.

    Args:
        value: as it was passed.
        name: what it is, in words.
        least: the smallest that is allowed; any if ``None``.

    Raises:
        SettingError: such a value.
    """
    more = "" if least is None else f" of {least} or more"
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or (least is not None and int(value) < least):  # type: ignore[call-overload]
        raise SettingError(f"expected {name} to be a whole number{more}, got {value!r}")


def expect_kinds(**arguments: tuple[object, Any]) -> None:
    """Refuse arguments of another kind, such as a name or a class where an object is due.

    Args:
        arguments: by name, each with the kind it should be of.

    Raises:
        SettingError: one is of another.
    """
    for name, (value, kind) in arguments.items():
        if not isinstance(value, kind):
            wanted = getattr(kind, "__name__", str(kind))
            hint = "; wrap tensors as Examples.of(...)" if "Examples" in wanted else ""
            got = " ".join(repr(value).split())[:80]
            raise SettingError(f"expected {name} to be of {wanted}, got {got}{hint}")
