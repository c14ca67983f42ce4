"""Progress with the time that remains, on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from localelastic.shapes import Progress as Tell
from localelastic.shapes import silent


@contextmanager
def shown(*, quiet: bool) -> Iterator[Tell]:
    """One line per stage; nothing at all if ``quiet``."""
    if quiet:
        yield silent
        return
    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        stages: dict[str, int] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = int(progress.add_task(stage, total=total))
            progress.update(stages[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield tell
