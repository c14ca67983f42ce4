"""The rows of the paper's tables: what each printed label means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localelastic.errors import SettingError

_LOSSES = {"l2": "squared", "BCE": "cross-entropy"}
_SIMILARITIES = {
    "relative": "relative",
    "kernelized": "kernelized",
    "normalized-kernelized": "normalized",
}
_LABEL = re.compile(r"(l2|BCE)-(relative|kernelized|normalized-kernelized) \((\w+)\)")
_VARIANTS: dict[str, dict[str, object]] = {
    "ours": {},
    "FNN": {},
    "linear": {"network": "two-layer-linear"},
    "CNN": {"network": "cnn"},
    "ResNet": {"network": "resnet"},
    "random": {"trained": False},
    "unnormalized": {"pixels": "UNIT"},
}


@dataclass(frozen=True)
class Row:
    """A row by a network's steps.

    Args:
        label: as printed.
        network: a name of ``NETWORKS``.
        loss: a name of ``LOSSES``.
        similarity: relative, kernelized or normalized; or another entry of a cell's scores.
        trained: whether the network is warmed up.
        pixels: how pixels are scaled; "UNIT" is what Table 8 calls unnormalized.
    """

    label: str
    network: str = "two-layer"
    loss: str = "squared"
    similarity: str = "kernelized"
    trained: bool = True
    pixels: str = "SIGNED"


@dataclass(frozen=True)
class BaselineRow:
    """A row without a network of ours: ``method`` is a name of ``baselines.METHODS``."""

    label: str
    method: str


PRETRAINED = "pretrained features"
BASELINES = {
    "K-means": "K-means",
    "PCA + K-means": "PCA + K-means",
    "AutoEncoder": "autoencoder",
    "ResNet-152": PRETRAINED,
}
PACKAGED = BaselineRow("EfficientNet-Lite0 features + K-means", PRETRAINED)
"""What takes the place of ResNet-152 where there is no checkpoint."""


def row_of(label: str, table: str) -> Row | BaselineRow:
    """What a label means; "(ours)" is the CNN in Table 4, else the two-layer network.

    Raises:
        SettingError: a label that the paper does not have.

    Example:
        >>> row_of("BCE-relative (linear)", "table1").network
        'two-layer-linear'
    """
    if label in BASELINES:
        return BaselineRow(label, BASELINES[label])
    found = _LABEL.fullmatch(label)
    if found is None or found[3] not in _VARIANTS:
        raise SettingError(f"expected a row of the paper, got {label!r}")
    values: dict[str, object] = dict(_VARIANTS[found[3]])
    if table == "table4":
        values["network"] = "cnn"
    values |= {"loss": _LOSSES[found[1]], "similarity": _SIMILARITIES[found[2]]}
    return Row(label, **values)  # type: ignore[arg-type]
