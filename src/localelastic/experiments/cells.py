"""Independent parts of an experiment: computed in parallel, kept as they are finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import joblib
import torch

from localelastic.errors import MeasurementError, OutputError
from localelastic.shapes import Progress

Cell = TypeVar("Cell")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Failed:
    """A cell that came to nothing, and why: such as a fit that diverged."""

    reason: str


def computed(
    function: Callable[[Cell], Found],
    cells: Sequence[Cell],
    *,
    workers: int,
    cache: Path | None,
    progress: Progress,
    stage: str,
) -> list[Found | Failed]:
    """The value of every cell, in their order; equal cells are computed once.

    Each is computed on one thread, so its value does not depend on how many run at once. They run
    through joblib: inside ``joblib.parallel_config(backend="dask")`` or ``"ray"`` they run there.

    Args:
        function: of a module, so that other processes find it. It raises ``MeasurementError`` for
            a cell that comes to nothing.
        cells: hashable, and all that a value depends on, seeds included.
        workers: cells computed at once.
        cache: a folder for finished cells, taken from there the next time by what they depend on;
            nothing is kept if ``None``.
        progress: told as cells are finished.
        stage: what they are, in words.

    Raises:
        OutputError: the folder cannot be written.
    """
    try:
        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot keep cells in {cache}: {error.strerror or error}; name another folder"
        ) from error
    memory = joblib.Memory(cache, verbose=0)
    # The function itself says what is asked; joblib looks at the arguments of this one.
    kept = memory.cache(_value)
    different = list(dict.fromkeys(cells))
    calls = (
        joblib.delayed(_numbered)(number, kept, function, cell, version("localelastic"))
        for number, cell in enumerate(different)
    )
    run = _parallel(min(workers, len(different)))
    found: dict[Cell, Found | Failed] = {}
    progress(stage, 0, len(different))
    for number, value in run(calls):
        found[different[number]] = value
        progress(stage, len(found), len(different))
    return [found[cell] for cell in cells]


def survivors(
    found: Iterable[tuple[Cell, Found | Failed]], words: Callable[[Cell], str], notes: list[str]
) -> Iterator[tuple[Cell, Found]]:
    """Those that came to an end; of each other one a note is added.

    Args:
        found: cells, or what else stands for a run, with their values.
        words: what a run is.
        notes: of the record.
    """
    for cell, value in found:
        if isinstance(value, Failed):
            notes.append(f"{words(cell)}: {value.reason}. It is left out.")
        else:
            yield cell, value


def moments(
    cells: Iterable[Cell], results: Iterable[dict[str, Found | Failed] | Failed]
) -> Iterator[tuple[tuple[Cell, str], Found | Failed]]:
    """Cell and moment, and what it gave, of cells that end also if some moments came to nothing."""
    for cell, result in zip(cells, results, strict=True):
        assert not isinstance(result, Failed)  # it catches what its moments raise
        for moment, found in result.items():
            yield (cell, moment), found


def _parallel(workers: int) -> joblib.Parallel:
    """Tells of values as they come, where the backend can; Ray's returns them all at the end."""
    try:
        return joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
    except ValueError:
        return joblib.Parallel(n_jobs=workers)


def _numbered(number: int, kept: Callable[..., Found], *given: object) -> tuple[int, Found]:
    return number, kept(*given)


def _value(function: Callable[[Cell], Found], cell: Cell, package: str) -> Found | Failed:
    with one_thread():
        try:
            return function(cell)
        except MeasurementError as error:
            return Failed(str(error))


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: small networks are no slower, and numbers the same everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
