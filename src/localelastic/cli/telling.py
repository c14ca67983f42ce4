"""A finished run on standard output: a short table, the finding, and where to look further."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from localelastic.experiments import ClusterRun
from localelastic.experiments.words import left_out
from localelastic.report.records import Score


def tell(run: ClusterRun, folder: Path) -> None:
    """Print what was found; as plain text, for ids and class names are the user's."""
    console = Console(markup=False, emoji=False, highlight=False)
    # A terminal is wrapped at words; a file or another program gets each sentence on one line.
    whole = not console.is_terminal
    if run.record.scores:
        console.print(_table(run.record.scores))
    console.print(run.record.finding, soft_wrap=whole)
    if lost := left_out(run.task, run.found):
        console.print(lost, soft_wrap=whole)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True)


def tell_plan(plan: dict[str, str]) -> None:
    """Print what a run would do, one line per matter."""
    console = Console(markup=False, emoji=False, highlight=False)
    for matter, words in plan.items():
        console.print(f"{matter + ':':<12}{words}", soft_wrap=not console.is_terminal)


def _table(scores: tuple[Score, ...]) -> Table:
    table = Table("method", "accuracy", "ARI", "NMI", "chance")
    for score in scores:
        table.add_row(
            score.method,
            _percent(score.accuracy),
            _fixed(score.ari),
            _fixed(score.nmi),
            _percent(score.chance),
        )
    return table


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _fixed(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
