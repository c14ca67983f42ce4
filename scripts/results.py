#!/usr/bin/env python3
"""Write docs/results.md and a page per experiment from the records in docs/results.

scripts/results.py                    write the pages of all records
scripts/results.py RUN_FOLDER ...     take these finished runs in first

"""

import shutil
import sys
from pathlib import Path

from localelastic.experiments import experiment_named
from localelastic.report.experiment_record import ExperimentRecord
from localelastic.report.markdown import comparison_page, experiment_page

DOCS = Path(__file__).parents[1] / "docs"
_KEPT = ("record.json", "series.npz")


def pages() -> dict[Path, str]:
    """The text of every page, by its place."""
    folders = sorted((DOCS / "results").iterdir(), key=lambda folder: folder.name)
    records = [ExperimentRecord.read(folder) for folder in folders]
    written = {}
    for folder, record in zip(folders, records, strict=True):
        pictures = [
            (f"{picture.name}.png", picture.caption)
            for picture in experiment_named(record.name).draw(record)
        ]
        written[folder / "README.md"] = experiment_page(record, pictures)
    written[DOCS / "results.md"] = comparison_page(records)
    return written


def take_in(run: Path) -> None:
    """A finished run: its record, and its pictures drawn anew."""
    record = ExperimentRecord.read(run)
    folder = DOCS / "results" / record.name
    folder.mkdir(parents=True, exist_ok=True)
    for name in _KEPT:
        if (run / name).exists():
            shutil.copy(run / name, folder / name)
    for picture in experiment_named(record.name).draw(record):
        (folder / f"{picture.name}.png").write_bytes(picture.png)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        take_in(Path(given))
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)
