"""Gram matrices of per-example gradients, parameter by parameter, without the n x P Jacobian.

What a layer reads and the gradient at what it returns are enough to know the gradient of its
parameters at every example (:mod:`localelastic.change.layers`), in forms whose inner products are
cheap (:mod:`localelastic.change.factors`). No rule is trusted. Its gradients are compared with
autograd one example at a time on a few examples, and in every batch with autograd's gradient of a
random combination of the outputs, which also tells whether each gradient is that of its own
example. A parameter that does not agree, or that no rule explains, takes the plain way: its
gradient at each example, in blocks of examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import psutil
import torch
from jaxtyping import Float
from torch import Tensor, nn

from localelastic.change.factors import Factor, close, joined, product, stacked
from localelastic.change.layers import Tape
from localelastic.change.per_example import PerExample, one_at_a_time
from localelastic.data.nested import length, rows_of
from localelastic.errors import MemoryBudgetError
from localelastic.models import check_differentiable, outputs_of
from localelastic.shapes import Progress, silent
from localelastic.update import repeatable

_PROBE = 3
_BATCH = 250
_BLOCKS = 50
_MEMORY = 4 * 2**30

Factors = dict[Tensor, Factor]


def gradient_gram(
    model: nn.Module, inputs: Any, *, memory: int | None = None, progress: Progress = silent
) -> Float[Tensor, "n n"]:
    """``K_ij = <dz_i/dw, dz_j/dw>`` of the output ``z`` over all trainable parameters, float64.

    Args:
        model: one output per example; its trainable parameters are those with ``requires_grad``.
        inputs: ``(n, *shape)``, or a structure of such tensors, on the model's device.
        memory: bytes to work in, beside the model and the result; if ``None`` 4 GiB, or a quarter
            of what is free where that is less. With less memory the network is passed more often;
            the numbers stay the same but for rounding.
        progress: told as blocks of pairs are done.

    Raises:
        ModelError: the output is not one number per example.
        MemoryBudgetError: not even two examples fit into the memory.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    return grams_and_way(model, inputs, [parameters], memory=memory, progress=progress)[0][0]


def grams_and_way(
    model: nn.Module,
    inputs: Any,
    layers: Sequence[Sequence[Tensor]],
    *,
    memory: int | None = None,
    progress: Progress = silent,
) -> tuple[Float[Tensor, "l n n"], str]:
    """:func:`gradient_gram` over the parameters of each layer alone, from the same passes.

    Args:
        model: as there.
        inputs: as there.
        layers: parameters of the model, each in one layer.
        memory: as there.
        progress: as there.

    Returns:
        One matrix per layer, and in words how they were computed and why so.
    """
    parameters = [p for layer in layers for p in layer]
    home = {p: number for number, layer in enumerate(layers) for p in layer}
    budget = min(_MEMORY, psutil.virtual_memory().available // 4) if memory is None else memory
    known, each = _agreeing(model, parameters, rows_of(inputs, slice(0, _PROBE)))
    totals = _empty(len(layers), parameters, length(inputs))
    while known:
        size = _fitting(budget, 2 * each, length(inputs), "factors")
        try:
            _add_known(totals, model, {p: home[p] for p in known}, inputs, size, progress)
            break
        except _Disagreement as found:
            totals.zero_()
            known = [p for p in known if p not in found.parameters]
    rest = {p: home[p] for p in parameters if p not in set(known)}
    if not rest:
        return totals, "layer by layer"
    width = sum(p.numel() * p.element_size() for p in rest)
    size = _fitting(budget, width, length(inputs), "gradients")
    plain = PerExample(model, list(rest), rows_of(inputs, slice(0, _PROBE)))
    _add_plain(totals, plain, list(rest.values()), inputs, size, progress)
    way = f"{len(rest)} of {len(parameters)} parameters by {plain.way}"
    return totals, f"layer by layer; {way}" if known else way


class _Disagreement(Exception):  # noqa: N818  # caught above, never raised to a caller
    """Parameters whose factors are not their gradients in some batch."""

    def __init__(self, parameters: set[Tensor]) -> None:
        super().__init__()
        self.parameters = parameters


def _fitting(budget: int, each: int, n: int, what: str) -> int:
    """How many examples per block, with two blocks in memory.

    Blocks of all of them together are passed forward and backward once for every other, so
    hundreds of blocks would take for ever.
    """
    size, least = budget // (2 * max(1, each)), -(-n // _BLOCKS)
    if size < least:
        raise MemoryBudgetError(
            f"expected memory for the {what} of two blocks of {least} examples, "
            f"{2 * least * each:,} bytes, got {budget:,}; give more memory"
        )
    return int(size)


def _add_known(
    totals: Float[Tensor, "l n n"],
    model: nn.Module,
    home: dict[Tensor, int],
    inputs: Any,
    size: int,
    progress: Progress,
) -> None:
    """Adds parameters that rules explain, block by block of examples, each where it is at home."""
    blocks = _blocks(length(inputs), size)
    done, pairs = 0, len(blocks) * (len(blocks) + 1) // 2 * len(home)
    for number, rows in enumerate(blocks):
        ours = _factors(model, rows_of(inputs, rows), list(home))
        for columns in blocks[number:]:
            theirs = ours
            if columns is not rows:
                theirs = _factors(model, rows_of(inputs, columns), list(home))
            for parameter, layer in home.items():
                _add(totals[layer], rows, columns, ours[parameter].cross(theirs[parameter]))
                done += 1
                progress("gradients", done, pairs)


def _add_plain(
    totals: Float[Tensor, "l n n"],
    plain: PerExample,
    home: Sequence[int],
    inputs: Any,
    size: int,
    progress: Progress,
) -> None:
    """Adds parameters that no rule explains."""
    blocks = _blocks(length(inputs), size)
    done, pairs = 0, len(blocks) * (len(blocks) + 1) // 2

    def gradients(rows: slice) -> dict[int, Tensor]:
        of = defaultdict(list)
        for layer, gradient in zip(home, plain.of(rows_of(inputs, rows)), strict=True):
            of[layer].append(gradient)
        return {layer: torch.cat(several, 1) for layer, several in of.items()}

    for number, rows in enumerate(blocks):
        ours = gradients(rows)
        for columns in blocks[number:]:
            theirs = ours if columns is rows else gradients(columns)
            for layer, gradient in ours.items():
                _add(totals[layer], rows, columns, product(gradient, theirs[layer]))
            done += 1
            progress("per-example gradients", done, pairs)


def _empty(layers: int, parameters: Sequence[Tensor], n: int) -> Tensor:
    device = parameters[0].device if parameters else None
    return torch.zeros(layers, n, n, dtype=torch.float64, device=device)


def _split(inputs: Any, size: int) -> Iterator[Any]:
    for rows in _blocks(length(inputs), size):
        yield rows_of(inputs, rows)


def _blocks(n: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]


def _add(total: Tensor, rows: slice, columns: slice, block: Tensor) -> None:
    total[rows, columns] += block
    if columns is not rows:
        total[columns, rows] += block.T


def _agreeing(model: nn.Module, parameters: Sequence[Tensor], few: Any) -> tuple[list[Tensor], int]:
    """Parameters whose factors equal autograd, and what the factors of one example weigh."""
    plain = one_at_a_time(model, parameters, few)
    try:
        factors, _ = _read_off(model, few, parameters)
    except RuntimeError:  # such as a layer that runs again in the backward pass
        return [], 0
    known = [
        p
        for p, expected in zip(parameters, plain, strict=True)
        if p in factors and not p.is_complex() and close(factors[p].rows(), expected)
    ]
    return known, sum(factors[p].bytes for p in known) // length(few)


def _factors(model: nn.Module, inputs: Any, wanted: Sequence[Tensor]) -> Factors:
    """Factors of the wanted parameters, from one forward and one backward pass per batch."""
    batches = [_batch_factors(model, batch, wanted) for batch in _split(inputs, _BATCH)]
    if len(batches) == 1:
        return batches[0]
    return {p: stacked([batch.pop(p) for batch in batches]) for p in list(batches[0])}


def _batch_factors(model: nn.Module, inputs: Any, wanted: Sequence[Tensor]) -> Factors:
    """Factors of one batch, each compared with autograd in a random combination of outputs."""
    factors, outputs = _read_off(model, inputs, wanted)
    weights = torch.randn(
        len(outputs), generator=torch.Generator().manual_seed(len(outputs)), dtype=outputs.dtype
    ).to(outputs.device)
    with repeatable(model):
        expected = torch.autograd.grad(weights @ outputs, wanted, allow_unused=True)
    wrong = {
        p
        for p, grad in zip(wanted, expected, strict=True)
        if p not in factors or grad is None or not factors[p].agrees(weights, grad.to_dense())
    }
    if wrong:
        raise _Disagreement(wrong)
    return factors


def _read_off(model: nn.Module, inputs: Any, wanted: Sequence[Tensor]) -> tuple[Factors, Tensor]:
    """What the rules say of one batch, and its outputs with their graph."""
    with torch.enable_grad(), repeatable(model):
        with Tape(model) as tape:
            outputs = outputs_of(model, inputs)
        check_differentiable(outputs)
        watched = [use.output for use in tape.uses]
        if not watched:
            return {}, outputs
        slopes = torch.autograd.grad(outputs.sum(), watched, allow_unused=True, retain_graph=True)
    uses: dict[Tensor, list[Factor]] = defaultdict(list)
    unclear: set[Tensor] = set()
    for use, slope in zip(tape.uses, slopes, strict=True):
        if slope is None:
            continue
        own = dict(use.layer.named_parameters(recurse=False))
        if len(slope) != len(outputs):  # its first axis is not the example
            unclear |= set(own.values())
            continue
        for name, factor in use.factors(slope):
            if name in own:
                uses[own[name]].append(factor)
    found = {p: joined(uses[p]) for p in wanted if p in uses and p not in unclear}
    return {p: factor for p, factor in found.items() if factor is not None}, outputs
