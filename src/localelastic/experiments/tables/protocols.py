"""How a row becomes a cell: the published way, Algorithm 1 as printed, or ours; at three scales."""

from __future__ import annotations

from dataclasses import dataclass, replace

from localelastic.data.origin import Origin
from localelastic.errors import SettingError
from localelastic.experiments.tables.baselines import BaselineCell
from localelastic.experiments.tables.cell import NetworkCell, Part
from localelastic.experiments.tables.rows import BaselineRow, Row
from localelastic.models import PUBLISHED_WIDTHS, WarmUp, published_warm_up

PROTOCOLS = ("published", "algorithm1", "ours")
N_PUBLISHED = 1000
_LEAST_BATCH = 20


@dataclass(frozen=True)
class TableScale:
    """How much of a table is run.

    Args:
        n: primary, and auxiliary, examples.
        width: of two-layer networks and ResNets, as a share of the published. Step sizes grow as it
            shrinks, because curvature is proportional to it: they stay where they were relative to
            the stability limit. Where the published step is far above that limit, which only the
            published width survives, a narrower network takes a stable one.
        epochs: of the published warm-up, as a share.
    """

    n: int
    width: float
    epochs: float


SCALES = {
    "smoke": TableScale(24, 1 / 160, 0.02),
    "quick": TableScale(200, 1 / 40, 0.1),
    "paper": TableScale(N_PUBLISHED, 1.0, 1.0),
}


def cell_of(
    row: Row | BaselineRow,
    *,
    data: Origin,
    dataset: str,
    primary: tuple[str, ...],
    auxiliary: tuple[str, ...],
    protocol: str,
    scale: TableScale,
    seed: int,
    classifier: Origin | None = None,
) -> NetworkCell | BaselineCell:
    """What has to be computed for one row, one column and one seed.

    ========== ========== ========= ==========================
    protocol   trajectory examples  warm-up
    ========== ========== ========= ==========================
    published  frozen     first k   published
    algorithm1 sequential random    published
    ours       frozen     random    better converged, ``WarmUp()``
    ========== ========== ========= ==========================

    Args:
        row: of a table.
        data: where the examples are.
        dataset: "MNIST" or "CIFAR-10": which of the published settings hold.
        primary: classes to be told apart.
        auxiliary: classes to train against.
        protocol: one of ``PROTOCOLS``.
        scale: how much of it.
        seed: of the network and, where it is random, of the sample.
        classifier: a checkpoint, for rows of pretrained features.

    Raises:
        SettingError: an unknown protocol.
    """
    if protocol not in PROTOCOLS:
        raise SettingError(f"expected protocol to be one of {', '.join(PROTOCOLS)}, got {protocol}")
    first = protocol == "published"
    pixels = row.pixels if isinstance(row, Row) else "SIGNED"
    part = Part(
        data,
        primary,
        auxiliary,
        scale.n,
        scale.n,
        "first" if first else "random",
        pixels,
        0 if first else seed,
    )
    if isinstance(row, BaselineRow):
        return BaselineCell(part, row.method, scale.epochs, seed, classifier)
    family = row.network.removesuffix("-linear")
    published = PUBLISHED_WIDTHS.get(family)
    width = None if published is None else max(8, round(published * scale.width))
    if not row.trained:
        settings = WarmUp(epochs=0)
    elif protocol == "ours":
        settings = WarmUp()
    else:
        share = 1.0 if width is None or published is None else width / published
        settings = _published(row, dataset, primary, scale, share)
    return NetworkCell(part, row.network, width, row.loss, settings, protocol == "algorithm1", seed)


def _published(
    row: Row, dataset: str, primary: tuple[str, ...], scale: TableScale, share: float
) -> WarmUp:
    """Of the scripts, in which 3 against 5 and CIFAR-10 have batches of 500."""
    settings = published_warm_up(row.network, row.loss)
    batch = settings.batch_size
    if dataset == "CIFAR-10":
        settings, batch = replace(settings, epochs=200), 500
    elif primary == ("3", "5"):
        batch = 500
    assert settings.lr is not None  # the published settings name one
    unstable = row.loss == "squared" and not row.network.endswith("-linear")
    return replace(
        settings,
        epochs=max(2, round(settings.epochs * scale.epochs)),
        lr=None if unstable and share < 1 else settings.lr / share,
        batch_size=max(_LEAST_BATCH, round(batch * scale.n / N_PUBLISHED)),
    )
