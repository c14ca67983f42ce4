"""A finished measurement, and the checks before it, in the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localelastic.experiments import MeasureRun
from localelastic.experiments.measure import along
from localelastic.measure import Preflight

_STYLES = {"ok": "green", "note": "cyan", "warning": "bold yellow"}


def tell_measure(run: MeasureRun, folder: Path) -> None:
    """Print what moved, the finding, and where to look further."""
    console = Console(markup=False, emoji=False, highlight=False)
    whole = not console.is_terminal
    console.print(_changes(run))
    console.print(run.record.finding, soft_wrap=whole)
    for note in run.record.notes:
        console.print(f"Note: {note}", soft_wrap=whole)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True)


def tell_checks(checks: Preflight) -> None:
    """Print all findings."""
    console = Console(markup=False, emoji=False, highlight=False)
    table = Table("", "check", "found")
    for one in checks.findings:
        table.add_row(Text(one.level, _STYLES.get(one.level, "")), one.check, one.found)
    console.print(table)


def warn(checks: Preflight) -> None:
    """Print the warnings on standard error, for they belong to no result."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    for one in checks.findings:
        if one.level == "warning":
            said = Text.assemble(("Warning: ", "bold yellow"), f"{one.check}: {one.found}")
            console.print(said, soft_wrap=not console.is_terminal)


def _changes(run: MeasureRun) -> Table:
    found, top = run.found, run.prepared.spec.top
    examples = run.prepared.subject.examples
    known = examples.take(run.prepared.probes).classes
    moved, relative, hidden = along(found.change, found), found.relative, found.below_floor
    linear = None if found.first_order is None else along(found.first_order, found)
    title = "change" if found.change.ndim == 1 else "change along"
    columns = ["", "id", *(["class"] if known else []), title, "relative"]
    columns += ["first order"] if linear is not None else []
    table = Table(*columns, "")
    table.columns[0].no_wrap = True
    for column in table.columns[-1 - (2 + (linear is not None)) : -1]:
        column.justify = "right"
    groups = {
        "most": found.most(top),
        "other way": found.opposite(top),
        "least": found.least(top),
    }
    for group, places in groups.items():
        for rank, place in enumerate(places):
            cells = [group if rank == 0 else "", found.ids[place]]
            cells += [known[place]] if known else []
            cells += [f"{moved[place]:+.3g}", f"{relative[place]:.3g}"]
            cells += [f"{linear[place]:+.3g}"] if linear is not None else []
            table.add_row(*cells, "noise" if hidden[place] else "")
        if not places:
            table.add_row(group, "none")
        table.add_section()
    return table
