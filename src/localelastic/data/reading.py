"""What every reader shares: the options, the kind of source, and errors that name the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from localelastic.data.examples import Examples
from localelastic.data.scaling import Pixels
from localelastic.errors import LocalElasticError, ReadError, SettingError


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller of ``load_examples`` may say about a source; explained there."""

    labels: Path | None = None
    input_columns: tuple[str, ...] | None = None
    label_column: str | None = None
    fine_label_column: str | None = None
    id_column: str | None = None
    image_size: tuple[int, int] | None = None
    pixels: Pixels = Pixels.SIGNED

    def __post_init__(self) -> None:
        if self.image_size is not None and min(self.image_size) < 1:
            raise SettingError(f"expected an image_size (height, width), got {self.image_size}")

    @property
    def given(self) -> frozenset[str]:
        """The options that only some sources understand, and that were given."""
        return frozenset(
            name for name, value in vars(self).items() if name != "pixels" and value is not None
        )


@dataclass(frozen=True)
class Source:
    """One kind of data source: a new one is a file with one of these, listed in ``load.SOURCES``.

    Args:
        kind: what it is called in messages, such as "an .npz archive".
        reads: whether a path that exists is of this kind.
        read: the examples at that path.
        options: the names of the options it understands; others are refused, not ignored.
    """

    kind: str
    reads: Callable[[Path], bool]
    read: Callable[[Path, Options], Examples]
    options: frozenset[str] = field(default=frozenset())


@contextmanager
def reading(path: Path, *, kind: str) -> Iterator[None]:
    """Turns whatever a foreign parser raises into a ``ReadError`` with the path and the reason."""
    try:
        yield
    except LocalElasticError:
        raise
    # Parsers of damaged files raise nearly anything: struct, zlib, index, memory errors ...
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ReadError(
            f"cannot read {path} as {kind} ({type(error).__name__}: {reason}); "
            "check that the file is whole and of that kind"
        ) from error


def class_names(values: Iterable[object]) -> tuple[str, ...]:
    """Labels as they are called in the data; whole numbers without a decimal point.

    Example:
        >>> class_names([5.0, 8.0]), class_names(["007", "cat"])
        (('5', '8'), ('007', 'cat'))
    """
    written = tuple(str(value).strip() for value in values)
    distinct = set(written)
    if any("." in name for name in distinct) and all(_is_whole(name) for name in distinct):
        return tuple(str(int(float(name))) for name in written)
    return written


def _is_whole(name: str) -> bool:
    try:
        number = float(name)
    except ValueError:
        return False
    return math.isfinite(number) and number.is_integer()
