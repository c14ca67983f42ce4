"""What can be proven of a network from its modules alone."""

from __future__ import annotations

import torch
from torch import nn

from localelastic.models.networks import Activation, TwoLayer

Layers = tuple[nn.Linear, nn.Linear, Activation]
"""Hidden layer, readout, and the activation between them."""

_ACTIVATIONS = {
    nn.ReLU: Activation.RELU,
    nn.Sigmoid: Activation.SIGMOID,
    nn.Identity: Activation.IDENTITY,
}


def two_layer(model: nn.Module) -> Layers | str:
    """The two dense layers and the activation between them, or why the model is not of that kind.

    Proven by structure alone: the paper's ``TwoLayer``, or an ``nn.Sequential`` of an optional
    ``Flatten``, ``Linear``, an activation (none for a linear network) and ``Linear``; with every
    parameter trainable and in one precision, no hook, and nothing between the layers.
    """
    if type(model) is TwoLayer:
        layers: Layers = (model.hidden, model.readout, model.activation)
    elif type(model) is nn.Sequential:
        parts = [part for part in model if type(part) is not nn.Flatten]
        if any(part.start_dim != 1 for part in model if type(part) is nn.Flatten):
            return "a Flatten does not keep the examples apart"
        kinds = [type(part) for part in parts]
        if len(parts) == 2:
            parts.insert(1, nn.Identity())
            kinds.insert(1, nn.Identity)
        if len(parts) != 3 or kinds[0] is not nn.Linear or kinds[2] is not nn.Linear:
            return "the layers are not Linear, activation, Linear"
        if kinds[1] not in _ACTIVATIONS:
            return f"the activation is {kinds[1].__name__}, not ReLU, Sigmoid or Identity"
        layers = (parts[0], parts[2], _ACTIVATIONS[kinds[1]])  # type: ignore[assignment]
    else:
        return f"the model is a {type(model).__name__}"
    return _unfit(model, layers) or layers


def _unfit(model: nn.Module, layers: Layers) -> str | None:
    hidden, readout, _ = layers
    parameters = list(model.parameters())
    if hidden.bias is None or readout.bias is None:
        return "a layer has no bias"
    if len(parameters) != 4:
        return "layers share parameters or have more than weight and bias"
    if readout.out_features != 1:
        return "there is more than one output"
    if not all(p.requires_grad for p in parameters):
        return "some parameters are frozen or left out of layers="
    if (
        len({(p.dtype, p.device.type) for p in parameters}) > 1
        or parameters[0].device.type != "cpu"
    ):
        return "parameters are not all on the CPU in one precision"
    if parameters[0].dtype not in (torch.float32, torch.float64):
        return f"the weights are {parameters[0].dtype}"
    for module in model.modules():
        hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
        if any(hooks) or module._backward_pre_hooks:
            return f"a {type(module).__name__} carries a hook"
        if "forward" in vars(module):
            return f"the forward of a {type(module).__name__} was replaced"
    if any(p._backward_hooks for p in parameters):
        return "a parameter carries a hook"
    return None
