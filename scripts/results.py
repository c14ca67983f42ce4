#!/usr/bin/env python3
"""Write docs/results.md and a page per experiment from the records in docs/results.

scripts/results.py                    write the pages of all records
scripts/results.py RUN_FOLDER ...     take these finished runs in first, each as the experiment is
                                      named, or as RUN_FOLDER=NAME says

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
    records = {folder.name: ExperimentRecord.read(folder) for folder in folders}
    written = {}
    for name, record in records.items():
        pictures = [
            (f"{picture.name}.png", picture.caption)
            for picture in experiment_named(record.name).draw(record)
        ]
        written[DOCS / "results" / name / "README.md"] = experiment_page(record, pictures)
    written[DOCS / "results.md"] = comparison_page(records)
    return written


def take_in(run: Path, name: str) -> None:
    """A finished run: its record, and its pictures drawn anew."""
    record = ExperimentRecord.read(run)
    folder = DOCS / "results" / (name or record.name)
    folder.mkdir(parents=True, exist_ok=True)
    for kept in _KEPT:
        if (run / kept).exists():
            shutil.copy(run / kept, folder / kept)
    for picture in experiment_named(record.name).draw(record):
        (folder / f"{picture.name}.png").write_bytes(picture.png)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        run, _, name = given.partition("=")
        take_in(Path(run), name)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)
