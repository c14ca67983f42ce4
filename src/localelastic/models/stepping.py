"""Which weights steps move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from localelastic.errors import SettingError

ALL_LAYERS, DENSE_LAYERS, EACH_LAYER = "all", "all-but-convolutions", "each"
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def convolves(model: nn.Module) -> bool:
    """Whether a network has convolutions."""
    return any(isinstance(module, _CONVOLUTIONS) for module in model.modules())


@contextmanager
def stepping_on(model: nn.Module, layers: Sequence[str] | str) -> Iterator[None]:
    """Inside, only the weights of these layers are trainable: steps move no others.

    Args:
        model: as it was again afterwards.
        layers: names of modules, such as ``"readout"`` or ``"block.0"``, each with all that is in
            it, or of weights; ``"all"``; or ``"all-but-convolutions"``, if there are others.

    Raises:
        SettingError: a name without trainable weights.

    Example:
        >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 1))
        >>> with stepping_on(model, "all-but-convolutions"):
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


def layers_of(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """The trainable weights of each layer, by its name; every weight is in one layer.

    A layer is a module with weights of its own. Of a parametrized weight it is the module that
    would have had it; a weight that two layers share is in the first.

    Args:
        model: as it is.

    Example:
        >>> layers_of(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))
        {'0': ('0.weight', '0.bias'), '2': ('2.weight', '2.bias')}
    """
    layers: dict[str, tuple[str, ...]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            plain = name.partition(".parametrizations.")[0]
            layer = plain if plain != name else name.rpartition(".")[0] or name
            layers[layer] = (*layers.get(layer, ()), name)
    return layers


def turns(model: nn.Module, layers: Sequence[str] | str) -> list[Sequence[str]]:
    """What :func:`stepping_on` is given, one after the other: one thing, or each layer alone.

    Args:
        model: as it is.
        layers: as for :func:`stepping_on`, or ``"each"``.

    Raises:
        SettingError: a name without trainable weights.
    """
    asked = [layers] if isinstance(layers, str) else list(layers)
    if asked == [EACH_LAYER]:
        return list(layers_of(model).values()) or [[ALL_LAYERS]]
    _stepped(model, asked)
    return [asked]


def _stepped(model: nn.Module, layers: Sequence[str]) -> set[int]:
    """By identity: a weight that two layers share has two names."""
    names = {
        name: weight
        for name, weight in model.named_parameters(remove_duplicate=False)
        if weight.requires_grad
    }
    everything = set(map(id, names.values()))
    if list(layers) == [DENSE_LAYERS]:
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
    if not everything:
        raise SettingError("expected a model with trainable weights, got none; unfreeze some")
    if not chosen or not all(chosen.values()):
        known = dict.fromkeys(name.rpartition(".")[0] or name for name in names)
        lost = ", ".join(layer for layer, weights in chosen.items() if not weights)
        raise SettingError(
            f"expected layers with trainable weights ({', '.join(known)}), {EACH_LAYER}, "
            f"{ALL_LAYERS} or {DENSE_LAYERS} (one of these alone), got {lost or 'none'}"
        )
    return set.union(*chosen.values())
