"""An experiment's record as a page: the numbers beside the published ones, and the pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.report.html import environment
from localelastic.report.inline import MINUS, data_uri
from localelastic.report.page import Figure as Tile

_DPI = 180


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn figure.

    Args:
        name: of its file, without an ending.
        caption: what is to be seen; also the text for those who cannot see it.
        figure: of Matplotlib.
    """

    name: str
    caption: str
    figure: Figure

    @cached_property
    def png(self) -> bytes:
        """For a screen; drawn once, for the page and for its file."""
        buffer = BytesIO()
        self.figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
        return buffer.getvalue()

    def write(self, folder: Path) -> None:
        """As PNG, and as PDF for print."""
        (folder / f"{self.name}.png").write_bytes(self.png)
        self.figure.savefig(folder / f"{self.name}.pdf", metadata={"CreationDate": None})


@dataclass(frozen=True)
class Row:
    """A quantity in words: how ours and the published value compare."""

    name: str
    ours: str
    interval: str
    published: str
    difference: str
    within: str
    note: str


def render_experiment(record: ExperimentRecord, pictures: tuple[Picture, ...] = ()) -> str:
    """The text of an HTML file that needs no other file and no network.

    Args:
        record: of any experiment.
        pictures: drawn from it.
    """
    template = environment().get_template("experiment.html")
    return template.render(
        record=record,
        tiles=[_tile(one) for one in record.quantities if one.headline],
        groups={name: [row_of(one) for one in rows] for name, rows in record.groups().items()},
        pictures=[(data_uri(one.png), one.caption) for one in pictures],
        compared=any(one.published is not None for one in record.quantities),
    )


def row_of(quantity: Quantity) -> Row:
    """One line of the table of ours against published."""
    found, published = quantity.interval, quantity.published
    difference = quantity.difference
    return Row(
        quantity.name,
        f"{shown(found.mean, quantity)} {quantity.unit}".rstrip(),
        (
            ""
            if found.low is None or found.high is None
            else f"{shown(found.low, quantity)} to {shown(found.high, quantity)}"
        ),
        "" if published is None else shown(published, quantity),
        "" if difference is None else shown(difference, quantity, sign=True),
        quantity.within,
        quantity.note,
    )


def shown(value: float, quantity: Quantity, *, sign: bool = False) -> str:
    """A number in the decimals of its quantity; very small ones with an exponent."""
    tiny = value != 0 and abs(value) < 0.5 * 10**-quantity.digits
    text = format(value, f"{'+' if sign else ''}{'.2g' if tiny else f'.{quantity.digits}f'}")
    return text.replace("-", MINUS)


def _tile(quantity: Quantity) -> Tile:
    row = row_of(quantity)
    spread = f"95 % interval {row.interval}" if row.interval else "one seed"
    beside = f"; published {row.published}" if row.published else ""
    label = ", ".join(filter(None, (quantity.group, quantity.name)))
    return Tile(shown(quantity.interval.mean, quantity), quantity.unit, label, spread + beside)
