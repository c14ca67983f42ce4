"""What each known layer's use says about the gradient of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from localelastic.change.factors import Factor, Lookups, OuterProducts, Vectors

Found = Iterator[tuple[str, Factor]]
"""Name of a parameter of the layer, and its gradients at each example."""


class Use:
    """One call of a layer: what it read and what it returned."""

    def __init__(self, layer: nn.Module, read: Tensor, output: Tensor) -> None:
        self.layer, self.read, self.output = layer, read, output

    def factors(self, slope: Tensor) -> Found:
        """Its parameters' gradients, given the gradient at what it returned."""
        return RULES[type(self.layer)](self.layer, self.read, slope)


class Tape:
    """Records every use of every known layer while the context is open."""

    def __init__(self, model: nn.Module) -> None:
        self.uses: list[Use] = []
        self._layers = [m for m in model.modules() if type(m) in RULES and _ruled(m)]
        self._handles: list[RemovableHandle] = []

    def __enter__(self) -> Tape:
        self._handles = [layer.register_forward_hook(self._record) for layer in self._layers]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _record(self, layer: nn.Module, read: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        if len(read) != 1 or not output.requires_grad:
            return None
        self.uses.append(Use(layer, read[0].detach(), output))
        # A copy goes on, so that an activation in place cannot overwrite the recorded output.
        return output.clone()


def _ruled(layer: nn.Module) -> bool:
    """Whether the layer is set up as its rule expects; others take the plain way."""
    if isinstance(layer, nn.Conv1d | nn.Conv2d):
        plain = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
        return plain and layer.groups == 1
    if isinstance(layer, nn.Embedding):
        return not (layer.sparse or layer.scale_grad_by_freq or layer.max_norm is not None)
    return True


def _dense(layer: nn.Linear, read: Tensor, slope: Tensor) -> Found:
    n = len(slope)
    slope = slope.reshape(n, -1, slope.shape[-1])
    yield "weight", OuterProducts(read.reshape(n, -1, read.shape[-1]), slope)
    yield "bias", Vectors(slope.sum(1))


def _convolution(layer: nn.Conv2d, read: Tensor, slope: Tensor) -> Found:
    patches = functional.unfold(
        read,
        layer.kernel_size,
        layer.dilation,
        layer.padding,  # type: ignore[arg-type]  # a word is excluded by _ruled
        layer.stride,
    )
    slope = slope.flatten(2).mT
    yield "weight", OuterProducts(patches.mT, slope)
    yield "bias", Vectors(slope.sum(1))


def _convolution_1d(layer: nn.Conv1d, read: Tensor, slope: Tensor) -> Found:
    size, step, gap = layer.kernel_size[0], layer.stride[0], layer.dilation[0]
    pad = int(layer.padding[0])  # a word is excluded by _ruled
    patches = functional.unfold(read[:, :, None], (1, size), (1, gap), (0, pad), (1, step))
    yield "weight", OuterProducts(patches.mT, slope.mT)
    yield "bias", Vectors(slope.sum(2))


def _embedding(layer: nn.Embedding, read: Tensor, slope: Tensor) -> Found:
    n = len(slope)
    tokens = read.reshape(n, -1)
    if layer.padding_idx is not None:
        tokens = torch.where(tokens == layer.padding_idx, -1, tokens)
    yield "weight", Lookups(tokens, slope.reshape(n, -1, slope.shape[-1]), layer.num_embeddings)


def _channel_norm(layer: nn.Module, read: Tensor, slope: Tensor) -> Found:
    """Norms whose scale and shift are one per channel, the second axis."""
    if isinstance(layer, nn.GroupNorm):
        normal = functional.group_norm(read, layer.num_groups, None, None, layer.eps)
    else:
        mean, variance, eps = layer.running_mean, layer.running_var, layer.eps
        normal = functional.batch_norm(
            read,
            mean,  # type: ignore[arg-type]
            variance,  # type: ignore[arg-type]
            eps=eps,  # type: ignore[arg-type]
        )
    n, channels = slope.shape[:2]
    yield "weight", Vectors((slope * normal).reshape(n, channels, -1).sum(2))
    yield "bias", Vectors(slope.reshape(n, channels, -1).sum(2))


def _layer_norm(layer: nn.LayerNorm, read: Tensor, slope: Tensor) -> Found:
    normal = functional.layer_norm(read, layer.normalized_shape, None, None, layer.eps)
    n, size = len(slope), slope.new_empty(layer.normalized_shape).numel()
    yield "weight", Vectors((slope * normal).reshape(n, -1, size).sum(1))
    yield "bias", Vectors(slope.reshape(n, -1, size).sum(1))


RULES: dict[type, Callable[..., Found]] = {
    nn.Linear: _dense,
    nn.Conv1d: _convolution_1d,
    nn.Conv2d: _convolution,
    nn.Embedding: _embedding,
    nn.BatchNorm1d: _channel_norm,
    nn.BatchNorm2d: _channel_norm,
    nn.GroupNorm: _channel_norm,
    nn.LayerNorm: _layer_norm,
}
"""A new rule can only make things faster: each is compared with autograd before it is used."""
