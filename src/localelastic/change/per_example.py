"""Gradients of every example, for parameters that no layer rule explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from localelastic.change.factors import close
from localelastic.data.nested import leaves, length, mapped, rows_of
from localelastic.models import PLAIN, arguments_of, check_differentiable, outputs_of
from localelastic.update import gradients, repeatable

Gradients = list[Float[Tensor, "n w"]]


class PerExample:
    """Each parameter's gradient at each example: batched where that is proven to work.

    ``torch.func`` cannot batch every model (recurrent layers, checkpoints, hooks, decisions that
    depend on values, scripts), and a model may depend on who else is in the batch. So the batched
    gradients are compared with autograd's, one example at a time, on a few examples; if anything
    fails or differs, all are taken one at a time.

    Args:
        model: one output per example.
        parameters: of which gradients are wanted.
        few: the examples that decide.
    """

    def __init__(self, model: nn.Module, parameters: Sequence[Tensor], few: Any) -> None:
        self._model, self._parameters = model, parameters
        self.why_not = self._obstacle(few)

    @property
    def way(self) -> str:
        """In words."""
        if self.why_not is None:
            return "per-example gradients, batched"
        return f"per-example gradients, one at a time ({self.why_not})"

    def of(self, inputs: Any) -> Gradients:
        """One row per example, one matrix per parameter."""
        if self.why_not is None:
            return self._batched(inputs)
        return one_at_a_time(self._model, self._parameters, inputs)

    def _obstacle(self, few: Any) -> str | None:
        if not _is_plain(few):
            return "the inputs are not tensors alone"
        hooked = [
            f"{type(module).__name__} {name!r}" if name else type(module).__name__
            for name, module in self._model.named_modules()
            if module._backward_hooks or module._backward_pre_hooks
        ]
        if hooked:
            return f"{hooked[0]} carries a backward hook"
        expected = one_at_a_time(self._model, self._parameters, few)
        try:
            found = self._batched(few)
        except Exception as error:  # whatever torch.func or the model makes of it
            return " ".join(f"{type(error).__name__}: {error}".split())[:120]
        if all(map(close, found, expected)):
            return None
        return "batched gradients differ from those of single examples"

    def _batched(self, inputs: Any) -> Gradients:
        wanted = set(self._parameters)
        names: dict[Tensor, str] = {
            p: name for name, p in self._model.named_parameters() if p in wanted
        }
        named = {name: p.detach() for p, name in names.items()}

        def output(weights: Mapping[str, Tensor], one: Any) -> Tensor:
            args, kwargs = arguments_of(self._model, mapped(lambda leaf: leaf[None].clone(), one))
            raw = functional_call(self._model, dict(weights), args, kwargs)
            return PLAIN.output(raw, 1)[0]

        with torch.enable_grad(), repeatable(self._model):
            rows = vmap(grad(output), in_dims=(None, 0), randomness="same")(named, inputs)
        return [_real(rows[names[p]].detach()).flatten(1) for p in self._parameters]


def one_at_a_time(model: nn.Module, parameters: Sequence[Tensor], inputs: Any) -> Gradients:
    """By autograd, one example after the other: works for every model."""
    rows: list[list[Tensor]] = [[] for _ in parameters]
    for i in range(length(inputs)):
        with torch.enable_grad(), repeatable(model):
            output = outputs_of(model, rows_of(inputs, slice(i, i + 1)))
            check_differentiable(output)
            found = gradients(output.sum(), parameters)
        for row, gradient, parameter in zip(rows, found, parameters, strict=True):
            # A sparse embedding has sparse gradients.
            dense = torch.zeros_like(parameter) if gradient is None else gradient.to_dense()
            row.append(_real(dense).flatten())
    return [torch.stack(row) for row in rows]


def _real(gradient: Tensor) -> Tensor:
    """Both parts of complex numbers side by side."""
    return torch.view_as_real(gradient.resolve_conj()) if gradient.is_complex() else gradient


def _is_plain(inputs: Any) -> bool:
    return all(isinstance(leaf, Tensor) for leaf in leaves(inputs)) and _is_tree(inputs)


def _is_tree(inputs: Any) -> bool:
    if inputs is None or isinstance(inputs, Tensor):
        return inputs is None or inputs.ndim > 0
    if type(inputs) is dict:
        return all(map(_is_tree, inputs.values()))
    return type(inputs) in (tuple, list) and all(map(_is_tree, inputs))
