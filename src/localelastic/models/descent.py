"""One mini-batch step of SGD, by autograd or, for two dense layers, fused."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from scipy.linalg import qr
from torch import Tensor, nn

from localelastic.models.losses import Loss
from localelastic.models.networks import CNN, Activation
from localelastic.models.output import outputs_of
from localelastic.models.structure import Layers, two_layer
from localelastic.shapes import Inputs, PerExample

_PAYS = 0.9
"""Largest share of the coordinates of inputs that it pays to change them for."""


class Descent(ABC):
    """Steps on the mean loss of mini-batches, ``v <- b v + g``, ``w <- w - lr v``."""

    @abstractmethod
    def step(self, inputs: Inputs, targets: PerExample) -> PerExample:
        """Take one step; the losses before it, one per example."""

    def epoch_ends(self) -> None:
        """Every training example has been in one batch since the last call."""
        return

    def finish(self) -> None:
        """Leave the weights in the model; also called after an error."""
        return


def descent(
    model: nn.Module, inputs: Inputs | None, *, loss: Loss, lr: float, momentum: float
) -> Descent:
    """The fastest way that takes the same steps.

    Args:
        model: trained in place.
        inputs: all that steps will be taken on; ``None`` if that is not known.
        loss: averaged over each mini-batch.
        lr: step size.
        momentum: of SGD.
    """
    layers = two_layer(model)
    if inputs is None or isinstance(layers, str):
        return ByAutograd(model, loss, lr, momentum)
    return Fused(layers, inputs, loss, lr, momentum)


class ByAutograd(Descent):
    """Any model, by ``torch.optim.SGD``."""

    def __init__(self, model: nn.Module, loss: Loss, lr: float, momentum: float) -> None:
        self._model, self._loss = model, loss
        if isinstance(model, CNN):  # on a processor large batches run 1.4 times as fast so
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)

    def step(self, inputs: Inputs, targets: PerExample) -> PerExample:
        """Forward, backward, step."""
        self._optimizer.zero_grad()
        values = self._loss.value(outputs_of(self._model, inputs), targets)
        values.mean().backward()
        self._optimizer.step()
        return values.detach()

    def finish(self) -> None:
        """Drop the gradients; weights lie in memory as others expect them."""
        self._optimizer.zero_grad()
        if isinstance(self._model, CNN):
            self._model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]


class Fused(Descent):
    """Two dense layers, without a graph: the gradient is added to the weights as it is multiplied.

    Every step adds multiples of inputs to the rows of ``w``, so rows move only in the span of the
    inputs: where that has few dimensions (pixels that are the same in all images, fewer images
    than pixels), the weights are kept in its coordinates.

    Without momentum, a ReLU unit that was off at every example of an epoch had no gradient and did
    not move, so it is off at all of them for good: it is left out, exactly. With momentum it would
    still drift, and all units stay.

    Without an activation every step adds to the columns of ``[w b a]`` multiples of each other, so
    they never leave the space they span at the start: the steps are taken in its ``d + 2``
    coordinates, which is a narrower network with the same outputs and the same slopes.
    """

    def __init__(
        self, layers: Layers, inputs: Inputs, loss: Loss, lr: float, momentum: float
    ) -> None:
        hidden, readout, self._activation = layers
        self._loss, self._lr, self._momentum = loss, lr, momentum
        self._whole = [hidden.weight.detach(), hidden.bias.detach(), readout.weight.detach()[0]]
        self._w, self._b, self._a = self._whole
        self._c = readout.bias.detach()
        self._span = _span(inputs.flatten(1), len(self._b))
        if self._span is not None:
            self._w = self._w @ self._span
        self._basis: Tensor | None = None
        narrow = self._w.shape[1] + 2
        if self._activation is Activation.IDENTITY and len(self._b) > 2 * narrow:
            self._basis, inside = torch.linalg.qr(_columns(self._w, self._b, self._a))
            self._w, self._b, self._a = _parts(inside)
        self._velocity = [
            torch.zeros_like(part) for part in (self._w, self._b, self._a, self._c) if momentum > 0
        ]
        self._alive = torch.arange(len(self._whole[1]))
        self._on = torch.zeros(len(self._alive), dtype=torch.bool)

    @torch.no_grad()
    def step(self, inputs: Inputs, targets: PerExample) -> PerExample:
        """Forward, slopes, and one matrix product straight into the weights.

        Units come first, examples second: the weights are then read as they lie, which takes the
        forward product half the time.
        """
        x = inputs.flatten(1)
        if self._span is not None:
            x = x @ self._span
        z = torch.addmm(self._b[:, None], self._w, x.T)
        s, slope = self._activate(z)
        output = self._a @ s + self._c
        values = self._loss.value(output, targets)
        g = self._loss.output_slope(output, targets) / len(x)
        back = slope.mul_(self._a[:, None]).mul_(g)
        into = (self._w, self._b, self._a, self._c)
        if not self._velocity:
            self._w.addmm_(back, x, alpha=-self._lr)
            self._b.sub_(back.sum(1), alpha=self._lr)
            self._a.sub_(s @ g, alpha=self._lr)
            self._c.sub_(g.sum(), alpha=self._lr)
            return values
        v, keep = self._velocity, self._momentum
        v[0].addmm_(back, x, beta=keep)
        for rest, gradient in zip(v[1:], (back.sum(1), s @ g, g.sum()), strict=True):
            rest.mul_(keep).add_(gradient)
        for part, velocity in zip(into, v, strict=True):
            part.sub_(velocity, alpha=self._lr)
        return values

    def epoch_ends(self) -> None:
        """Leave out the units that were off at every example."""
        if self._activation is Activation.RELU and not self._velocity:
            few = self._on.sum().item() < 0.9 * len(self._on)
            if few:
                on = self._on.nonzero().flatten()
                self.finish()
                self._alive = self._alive[on]
                self._w, self._b, self._a = self._w[on], self._b[on], self._a[on]
                self._on = self._on[on]
            self._on.zero_()

    def finish(self) -> None:
        """Put the units that are left back among all."""
        w, b, a = self._w, self._b, self._a
        if self._basis is not None:
            w, b, a = _parts(self._basis @ _columns(w, b, a))
        if self._span is not None:
            before = self._whole[0][self._alive]
            w = before.addmm(w - before @ self._span, self._span.T)
        for whole, part in zip(self._whole, (w, b, a), strict=True):
            if part is not whole:
                whole[self._alive] = part

    def _activate(self, z: Tensor) -> tuple[Tensor, Tensor]:
        if self._activation is Activation.IDENTITY:
            return z, torch.ones_like(z)
        if self._activation is Activation.SIGMOID:
            s = torch.sigmoid(z)
            return s, s * torch.sigmoid(-z)
        s = z.clamp_(min=0)
        on = s.sign()
        self._on |= s.amax(1) > 0
        return s, on


def _span(inputs: Tensor, units: int) -> Tensor | None:
    """An orthonormal basis ``(d, r)`` of what inputs ``(n, d)`` span, where that pays."""
    if units < min(inputs.shape):
        return None
    q, r, _ = qr(inputs.T.double().numpy(), mode="economic", pivoting=True)
    sizes = np.abs(np.diag(r))
    rank = max(1, int((sizes > max(inputs.shape) * np.finfo(float).eps * sizes[0]).sum()))
    if rank > _PAYS * inputs.shape[1]:
        return None
    return torch.from_numpy(np.ascontiguousarray(q[:, :rank])).to(inputs)


def _columns(w: Tensor, b: Tensor, a: Tensor) -> Tensor:
    return torch.cat([w, b[:, None], a[:, None]], dim=1)


def _parts(columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return columns[:, :-2].clone(), columns[:, -2].clone(), columns[:, -1].clone()
