"""Experiment records as pages of the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localelastic.report.experiment import Row, row_of
from localelastic.report.experiment_record import ExperimentRecord

_HEAD = ("", "ours", "95 % interval", "published", "difference", "within", "")

_ALL_TABLES = """```bash
for n in 1 2 3 4 5 6 7 8; do
    localelastic run table$n --scale paper --cache cells --out paper/table$n
done
```"""


def experiment_page(record: ExperimentRecord, pictures: Sequence[tuple[str, str]]) -> str:
    """One experiment: finding, pictures, meaning, every number, notes and settings.

    Args:
        record: of the experiment.
        pictures: path and caption of each.
    """
    seeds = len(record.seeds)
    parts = [
        f"# {record.title[0].upper()}{record.title[1:]}",
        f"{record.source[0].upper()}{record.source[1:]}. Scale `{record.scale}`, {seeds} "
        f"seed{'s' if seeds > 1 else ''}. Made by `{record.command}`.",
        f"**{record.finding}**",
        *(f"![{caption}]({path})\n\n*{caption}*" for path, caption in pictures),
        *record.meaning,
        "## Numbers",
        _numbers(record),
    ]
    if record.notes:
        parts += ["## Notes", "\n".join(f"- {note}" for note in record.notes)]
    parts += [
        "## Settings",
        "\n".join(f"- {name}: {value}" for name, value in record.settings.items()),
        f"Took {record.seconds:.0f} seconds{_beyond_cache(record)} with "
        + ", ".join(f"{name} {value}" for name, value in record.environment.items())
        + ".",
    ]
    return "\n\n".join(parts) + "\n"


def _beyond_cache(record: ExperimentRecord) -> str:
    return " beyond what the cache held," if "--cache" in record.command else ""


def comparison_page(records: Mapping[str, ExperimentRecord]) -> str:
    """All published numbers beside ours, over every record.

    Args:
        records: by the name of their folder, in the order to be shown.
    """
    lines = []
    held = likely = compared = 0
    for place, record in records.items():
        for one in record.quantities:
            if one.published is None:
                continue
            row = row_of(one)
            compared += 1
            held += row.within == "yes"
            likely += row.within == "as one run"
            name = ", ".join(filter(None, (one.group, one.name)))
            ours = (row.ours, row.interval, row.published, row.difference, row.within)
            lines.append((f"[{place}](results/{place}/README.md)", name, *ours))
    head = ("experiment", "quantity", "ours", "95 % interval", "published", "difference", "within")
    found = [
        f"- [{place}](results/{place}/README.md), scale {record.scale}, "
        f"{len(record.seeds)} seed{'s' if len(record.seeds) > 1 else ''}: {record.finding}"
        for place, record in records.items()
    ]
    return (
        "\n\n".join(
            [
                "# The paper's numbers and ours",
                "Made from the records in `docs/results` by `scripts/results.py`. Ours are means "
                "over seeds with Student's 95 % interval; the paper prints single runs. "
                f"Of {compared} published numbers {held} lie within our interval of the mean, and "
                f"{likely} more within what one more run may give (95 % prediction interval).",
                "Tables at the paper's size, on all cores of a machine; killed, the same command "
                "goes on:",
                _ALL_TABLES,
                "## What was found",
                "\n".join(found),
                "## Every published number",
                _table(head, lines),
            ]
        )
        + "\n"
    )


def _numbers(record: ExperimentRecord) -> str:
    parts = []
    for name, group in record.groups().items():
        rows = [row_of(one) for one in group]
        # A column that is empty in all rows says nothing.
        cells = [_cells(row) for row in rows]
        kept = [i for i in range(len(_HEAD)) if i < 2 or any(row[i] for row in cells)]
        title = [f"### {name}"] if name else []
        head = tuple(_HEAD[i] for i in kept)
        parts += [*title, _table(head, [tuple(row[i] for i in kept) for row in cells])]
    return "\n\n".join(parts)


def _cells(row: Row) -> tuple[str, ...]:
    return (row.name, row.ours, row.interval, row.published, row.difference, row.within, row.note)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), line(["---"] * len(head)), *map(line, rows)])
