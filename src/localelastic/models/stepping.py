"""Which weights steps move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from localelastic.errors import SettingError

ALL_LAYERS = "all"
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


@contextmanager
def stepping_on(model: nn.Module, layers: Sequence[str] | None) -> Iterator[None]:
    """Inside, only the weights of these layers are trainable: steps move no others.

    Args:
        model: as it was again afterwards.
        layers: names of modules, such as ``"readout"`` or ``"block.0"``, each with all that is in
            it, or ``["all"]``. ``None``: all but convolutions, if there are others.

    Raises:
        SettingError: a name without trainable weights.

    Example:
        >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 1))
        >>> with stepping_on(model, None):
        ...     [name for name, weight in model.named_parameters() if weight.requires_grad]
        ['2.weight', '2.bias']
    """
    trainable = {name: w for name, w in model.named_parameters() if w.requires_grad}
    stepped = _stepped(model, trainable.keys(), layers)
    try:
        for name, weight in trainable.items():
            weight.requires_grad_(name in stepped)
        yield
    finally:
        for weight in trainable.values():
            weight.requires_grad_(True)


def _stepped(model: nn.Module, trainable: Iterable[str], layers: Sequence[str] | None) -> set[str]:
    if layers is None:
        convolved = {
            f"{name}.{weight}"
            for name, layer in model.named_modules()
            if isinstance(layer, _CONVOLUTIONS)
            for weight, _ in layer.named_parameters(recurse=False)
        }
        return {*trainable} - convolved or {*trainable}
    if list(layers) == [ALL_LAYERS]:
        return {*trainable}
    chosen = {
        layer: {name for name in trainable if name == layer or name.startswith(f"{layer}.")}
        for layer in layers
    }
    if not chosen or not all(chosen.values()):
        known = dict.fromkeys(name.rpartition(".")[0] or name for name in trainable)
        lost = ", ".join(layer for layer, names in chosen.items() if not names)
        raise SettingError(
            f"expected layers with trainable weights ({', '.join(known)}), or {ALL_LAYERS}, got "
            f"{lost or 'none'}"
        )
    return set.union(*chosen.values())
