"""Which weights steps move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from localelastic.errors import SettingError

ALL_LAYERS = "all"
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


@contextmanager
def stepping_on(model: nn.Module, layers: Sequence[str] | str | None) -> Iterator[None]:
    """Inside, only the weights of these layers are trainable: steps move no others.

    Args:
        model: as it was again afterwards.
        layers: names of modules, such as ``"readout"`` or ``"block.0"``, each with all that is in
            it, or ``"all"``. ``None``: all but convolutions, if there are others.

    Raises:
        SettingError: a name without trainable weights.

    Example:
        >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 1))
        >>> with stepping_on(model, None):
        ...     [name for name, weight in model.named_parameters() if weight.requires_grad]
        ['2.weight', '2.bias']
    """
    trainable = [weight for weight in model.parameters() if weight.requires_grad]
    stepped = _stepped(model, [layers] if isinstance(layers, str) else layers)
    try:
        for weight in trainable:
            weight.requires_grad_(id(weight) in stepped)
        yield
    finally:
        for weight in trainable:
            weight.requires_grad_(True)


def _stepped(model: nn.Module, layers: Sequence[str] | None) -> set[int]:
    """By identity: a weight that two layers share has two names."""
    names = {
        name: weight
        for name, weight in model.named_parameters(remove_duplicate=False)
        if weight.requires_grad
    }
    everything = set(map(id, names.values()))
    if layers is None:
        convolutions = (layer for layer in model.modules() if isinstance(layer, _CONVOLUTIONS))
        convolved = {id(weight) for layer in convolutions for weight in layer.parameters()}
        return everything - convolved or everything
    if list(layers) == [ALL_LAYERS]:
        return everything
    chosen = {
        str(layer): {
            id(weight)
            for name, weight in names.items()
            if name == layer or name.startswith(f"{layer}.")
        }
        for layer in layers
    }
    if not chosen or not all(chosen.values()):
        known = dict.fromkeys(name.rpartition(".")[0] or name for name in names)
        lost = ", ".join(layer for layer, weights in chosen.items() if not weights)
        raise SettingError(
            f"expected layers with trainable weights ({', '.join(known)}), or {ALL_LAYERS}, got "
            f"{lost or 'none'}"
        )
    return set.union(*chosen.values())
