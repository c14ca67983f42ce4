"""Gram matrices of per-example gradients, parameter by parameter, without the n x P Jacobian.

The gradient of a dense or convolutional weight at one example is a sum over positions of outer
products ``d_t h_t^T``: ``h`` is what the layer read, ``d`` the gradient at its output. A dense
layer on vectors has one position, a layer used twice has those of both uses. Two such gradients
have the inner product ``sum_{t,s} (h_t h'_s)(d_t d'_s)``. Every factor so found is first compared,
on a few examples, with autograd one example at a time; a parameter that does not agree, or that no
known layer explains, takes the plain way: its gradient at each example, in blocks of examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from localelastic.models import outputs_of
from localelastic.shapes import Inputs, Progress, silent

Reads = Float[Tensor, "n p a"]
"""What a layer read: ``n`` examples, ``p`` positions, ``a`` features in."""

Slopes = Float[Tensor, "n p b"]
"""The gradient of the output at what the layer returned: ``b`` features out."""

_BLOCK_BYTES = 256 * 2**20
_PROBE = 3


class OuterProducts:
    """A weight: ``sum_t d_t h_t^T``."""

    def __init__(self, read: Reads, slope: Slopes) -> None:
        self.read, self.slope = read, slope

    def gram(self) -> Float[Tensor, "n n"]:
        """By position pairs or by forming slices of the gradients, whichever is cheaper."""
        n, t, a = self.read.shape
        b = self.slope.shape[2]
        by_pairs = n * n * t * t * (a + b)
        by_slices = n * t * a * b + n * n * a * b
        return self._by_pairs() if by_pairs <= by_slices else self._by_slices()

    def rows(self) -> Float[Tensor, "n w"]:
        """``(n, b * a)``, as the weight is laid out."""
        return (self.slope.mT @ self.read).flatten(1)

    def _by_pairs(self) -> Float[Tensor, "n n"]:
        n, t, _ = self.read.shape
        read, slope = self.read.flatten(0, 1), self.slope.flatten(0, 1)
        total = read.new_zeros(n, n, dtype=torch.float64)
        size = max(1, _BLOCK_BYTES // (2 * n * t * t * read.element_size()))
        for rows in torch.arange(n).split(size):
            span = slice(int(rows[0]) * t, (int(rows[-1]) + 1) * t)
            pairs = (read[span] @ read.T) * (slope[span] @ slope.T)
            total[rows] = pairs.view(len(rows), t, n, t).sum((1, 3)).double()
        return total

    def _by_slices(self) -> Float[Tensor, "n n"]:
        n, _, a = self.read.shape
        total = self.read.new_zeros(n, n, dtype=torch.float64)
        size = max(1, _BLOCK_BYTES // (n * a * self.read.element_size()))
        for slope in self.slope.split(size, dim=2):
            gradients = (slope.mT @ self.read).flatten(1)
            total += gradients @ gradients.T
        return total


class Vectors:
    """A bias, or any parameter whose per-example gradients are at hand."""

    def __init__(self, gradients: Float[Tensor, "n w"]) -> None:
        self.gradients = gradients

    def gram(self) -> Float[Tensor, "n n"]:
        """``G G^T``."""
        return (self.gradients @ self.gradients.T).double()

    def rows(self) -> Float[Tensor, "n w"]:
        """``G``."""
        return self.gradients


Factor = OuterProducts | Vectors
"""One parameter's per-example gradients, in a form whose Gram matrix is cheap."""


def gradient_gram(
    model: nn.Module, inputs: Inputs, batch_size: int = 250, progress: Progress = silent
) -> Float[Tensor, "n n"]:
    """``K_ij = <dz_i/dw, dz_j/dw>`` of the output ``z`` over all trainable parameters, float64.

    Args:
        model: one output per example; its trainable parameters are those with ``requires_grad``.
        inputs: ``(n, *shape)`` on the model's device, in its dtype.
        batch_size: examples per forward and backward pass.
        progress: told after each parameter.

    Raises:
        ModelError: the output is not one number per example.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    known = _agreeing(model, parameters, inputs[:_PROBE])
    batches = [_factors(model, block, known) for block in inputs.split(batch_size)]
    total = inputs.new_zeros(len(inputs), len(inputs), dtype=torch.float64)
    for done, parameter in enumerate(known, start=1):
        total += _joined([batch.pop(parameter) for batch in batches]).gram()
        progress("gradients", done, len(parameters))
    rest = [p for p in parameters if p not in set(known)]
    if rest:
        total += _plain_gram(model, rest, inputs, progress)
    return total


def _joined(pieces: list[Factor]) -> Factor:
    """The factors of several batches of examples as one."""
    outer = [piece for piece in pieces if isinstance(piece, OuterProducts)]
    if outer:
        return OuterProducts(
            torch.cat([piece.read for piece in outer]), torch.cat([piece.slope for piece in outer])
        )
    return Vectors(torch.cat([piece.rows() for piece in pieces]))


def _agreeing(model: nn.Module, parameters: list[nn.Parameter], few: Inputs) -> list[nn.Parameter]:
    """Parameters whose factors equal autograd, one example at a time, on a few examples."""
    factors = _factors(model, few, parameters)
    plain = _plain_gradients(model, parameters, few)
    tolerance = 1e-3 if few.dtype == torch.float32 else 1e-6

    def agrees(parameter: nn.Parameter, expected: Tensor) -> bool:
        if parameter not in factors:
            return False
        gap = (factors[parameter].rows() - expected).norm()
        return bool(gap <= tolerance * expected.norm())

    return [p for p, rows in zip(parameters, plain, strict=True) if agrees(p, rows)]


def _factors(
    model: nn.Module, inputs: Inputs, wanted: list[nn.Parameter]
) -> dict[nn.Parameter, Factor]:
    """Factors of the wanted parameters from one forward and one backward pass."""
    with _Tape(model) as tape, torch.enable_grad():
        outputs = outputs_of(model, inputs)
        watched = [use.output for use in tape.uses]
        slopes = torch.autograd.grad(outputs.sum(), watched, allow_unused=True) if watched else ()
    reads: dict[nn.Parameter, list[Tensor]] = defaultdict(list)
    at: dict[nn.Parameter, list[Tensor]] = defaultdict(list)
    for use, slope in zip(tape.uses, slopes, strict=True):
        if slope is None or len(slope) != len(inputs):
            continue
        read, slope = _POSITIONS[type(use.layer)](use.layer, use.read, slope)
        for name, parameter in use.layer.named_parameters(recurse=False):
            at[parameter].append(slope)
            if name == "weight":
                reads[parameter].append(read)
    found: dict[nn.Parameter, Factor] = {}
    for parameter in wanted:
        if parameter in reads and len(reads[parameter]) == len(at[parameter]):
            found[parameter] = OuterProducts(
                torch.cat(reads[parameter], 1), torch.cat(at[parameter], 1)
            )
        elif parameter in at and parameter not in reads:
            found[parameter] = Vectors(torch.cat(at[parameter], 1).sum(1))
    return found


class _Use:
    """One call of a layer: what it read and what it returned."""

    def __init__(self, layer: nn.Module, read: Tensor, output: Tensor) -> None:
        self.layer, self.read, self.output = layer, read, output


class _Tape:
    """Hooks that record each use of each known layer while the context is open."""

    def __init__(self, model: nn.Module) -> None:
        self.uses: list[_Use] = []
        self._layers = [m for m in model.modules() if type(m) in _POSITIONS and _plain_layer(m)]
        self._handles: list[RemovableHandle] = []

    def __enter__(self) -> _Tape:
        self._handles = [layer.register_forward_hook(self._record) for layer in self._layers]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _record(self, layer: nn.Module, read: tuple[Tensor, ...], output: Tensor) -> Tensor:
        self.uses.append(_Use(layer, read[0].detach(), output))
        # A copy goes on, so that an activation in place cannot overwrite the recorded output.
        return output.clone()


def _plain_layer(layer: nn.Module) -> bool:
    return not isinstance(layer, nn.Conv2d) or (
        layer.groups == 1 and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    )


def _dense_positions(layer: nn.Linear, read: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
    n = len(slope)
    return read.reshape(n, -1, read.shape[-1]), slope.reshape(n, -1, slope.shape[-1])


def _image_positions(layer: nn.Conv2d, read: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
    assert not isinstance(layer.padding, str)  # excluded by _plain_layer
    patches = functional.unfold(
        read, layer.kernel_size, layer.dilation, layer.padding, layer.stride
    )
    return patches.mT, slope.flatten(2).mT


_POSITIONS: dict[type, Callable[..., tuple[Tensor, Tensor]]] = {
    nn.Linear: _dense_positions,
    nn.Conv2d: _image_positions,
}


def _plain_gradients(
    model: nn.Module, parameters: list[nn.Parameter], inputs: Inputs
) -> list[Float[Tensor, "n w"]]:
    """Each parameter's gradient at each example, by autograd one example at a time."""
    rows: list[list[Tensor]] = [[] for _ in parameters]
    for one in inputs.split(1):
        with torch.enable_grad():
            output = outputs_of(model, one).sum()
        grads = torch.autograd.grad(output, parameters, allow_unused=True)
        for row, grad, parameter in zip(rows, grads, parameters, strict=True):
            row.append((torch.zeros_like(parameter) if grad is None else grad).flatten())
    return [torch.stack(row) for row in rows]


def _plain_gram(
    model: nn.Module, parameters: list[nn.Parameter], inputs: Inputs, progress: Progress
) -> Float[Tensor, "n n"]:
    """The Gram matrix of unexplained parameters; two blocks of gradients are held at a time."""
    n = len(inputs)
    width = sum(p.numel() for p in parameters) * inputs.element_size()
    blocks = torch.arange(n).split(max(1, _BLOCK_BYTES // width))
    total = inputs.new_zeros(n, n, dtype=torch.float64)

    def gradients(rows: Tensor) -> Tensor:
        return torch.cat(_plain_gradients(model, parameters, inputs[rows]), 1)

    for number, rows in enumerate(blocks):
        here = gradients(rows)
        total[rows[:, None], rows] = (here @ here.T).double()
        for others in blocks[number + 1 :]:
            block = (here @ gradients(others).T).double()
            total[rows[:, None], others] = block
            total[others[:, None], rows] = block.T
        progress("gradients, one example at a time", number + 1, len(blocks))
    return total
