"""Tables 1 to 8."""

from __future__ import annotations

from localelastic.experiments.experiment import Cost, Costs
from localelastic.experiments.tables.cell import PENULTIMATE
from localelastic.experiments.tables.rows import Row
from localelastic.experiments.tables.table import RIVALS, Table

_HOUR = 3600.0
_CNN_RIVALS = (
    Row("penultimate features + K-means (CNN)", "cnn", similarity=PENULTIMATE),
    Row("l2-kernelized (CNN, untrained)", "cnn", trained=False),
)


def _costs(quick: int, paper: float) -> Costs:
    """Quick ones as measured on a busy machine; paper ones from one seed, or the slowest cells."""
    return Costs(Cost(20, 0.6), Cost(quick, 1.0, seeds=5), Cost(paper, 4.0, seeds=5))


EXPERIMENTS = (
    Table(1, _costs(135, 3 * _HOUR), RIVALS),
    Table(2, _costs(160, 20 * _HOUR), RIVALS),
    Table(3, _costs(185, 12 * _HOUR), _CNN_RIVALS),
    Table(4, _costs(700, 3 * _HOUR), _CNN_RIVALS),
    Table(5, _costs(90, 5 * _HOUR)),
    Table(6, _costs(115, 2.5 * _HOUR)),
    Table(7, _costs(165, 3 * _HOUR)),
    Table(8, _costs(135, 6 * _HOUR)),
)
