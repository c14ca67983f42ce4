"""How a model is called, and which tensor of what it returns is its output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from torch import Tensor, nn

from localelastic.data.nested import length, mapped
from localelastic.errors import ModelError
from localelastic.shapes import PerExample


@dataclass(frozen=True)
class Forward:
    """One forward pass: inputs in, outputs out, the examples along the first axis of both.

    Args:
        call: ``call(model, inputs)``. If ``None``, a mapping is spread over the names of
            ``forward`` where it takes them, a tuple or list over its positions, and all else is
            its one argument.
        select: the output among what came back. If ``None``: the tensor itself, what is named
            ``logits``, the first of a tuple, or the only tensor there is.
    """

    call: Callable[[nn.Module, Any], Any] | None = None
    select: Callable[[Any], Tensor] | None = None

    def raw(self, model: nn.Module, inputs: Any) -> Any:
        """What the model returns; it works on copies, because it may change its input in place."""
        inputs = mapped(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, inputs)
        try:
            if self.call is not None:
                return self.call(model, inputs)
            args, kwargs = arguments_of(model, inputs)
            return model(*args, **kwargs)
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            raise ModelError(
                "batch statistics need more than one example, and a step on one has only itself; "
                "pass mode='eval' to use running statistics, or step on a mini-batch"
            ) from error

    def output(self, raw: Any, n: int) -> Tensor:
        """``(n, *out)`` of what came back; ``(n, 1)`` and a lone number are taken as ``(n,)``.

        Raises:
            ModelError: no tensor, or one whose first axis is not the example.
        """
        output = (self.select or _selected)(raw)
        if not isinstance(output, Tensor):
            raise ModelError(
                f"expected a tensor as output, got {type(output).__name__}; "
                "pass select=lambda returned: ... that takes it out of what the model returns"
            )
        if output.ndim == 0 and n == 1:
            return output.reshape(1)
        if output.ndim == 0 or len(output) != n:
            raise ModelError(
                f"expected one row of output per example, {n} rows, got shape "
                f"{tuple(output.shape)}; pass select= or call= so that examples come first"
            )
        if not output.is_floating_point():
            raise ModelError(
                f"expected outputs that a step can move, got {output.dtype}; "
                "return scores rather than decisions"
            )
        return output.reshape(n) if output.shape == (n, 1) else output

    def __call__(self, model: nn.Module, inputs: Any) -> Tensor:
        """The output at all examples."""
        return self.output(self.raw(model, inputs), length(inputs))


PLAIN = Forward()
"""The model's own way."""


def outputs_of(model: nn.Module, inputs: Any, forward: Forward = PLAIN) -> PerExample:
    """The model's outputs as ``(n,)``; ``(n, 1)`` is accepted too.

    Raises:
        ModelError: anything else came back.
    """
    output = forward(model, inputs)
    n = len(output)
    if output.ndim != 1:
        raise ModelError(
            f"expected one number per example, shape ({n},) or ({n}, 1), "
            f"got shape {tuple(output.shape)}; wrap the model so that it returns one output"
        )
    return output


def check_differentiable(outputs: Tensor) -> None:
    """Refuse outputs that no gradient step can move.

    Raises:
        ModelError: they do not depend on any trainable parameter.
    """
    if not outputs.requires_grad:
        raise ModelError(
            "expected outputs that depend on a trainable parameter, got detached ones; "
            "remove detach() or no_grad() from the model's forward, or unfreeze a parameter"
        )


def arguments_of(model: nn.Module, inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What inputs are as positions and names of the model's ``forward``; see :class:`Forward`."""
    if isinstance(inputs, Mapping) and _takes_names(model, inputs):
        return (), dict(inputs)
    several = isinstance(inputs, tuple | list) and not hasattr(inputs, "_fields")
    several = several and not all(isinstance(part, str) for part in inputs)  # a batch of texts
    if several and _positions(model) > 1:
        return tuple(inputs), {}
    return (inputs,), {}


def _parameters(model: nn.Module) -> list[inspect.Parameter]:
    forward = getattr(getattr(model, "_orig_mod", model), "forward", model)
    try:
        return list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        return []


def _takes_names(model: nn.Module, inputs: Mapping[str, Any]) -> bool:
    known = _parameters(model)
    named = {p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    spreads = any(p.kind is p.VAR_KEYWORD for p in known)
    return inputs.keys() <= named or (spreads and bool(inputs.keys() & named))


def _positions(model: nn.Module) -> int:
    known = _parameters(model)
    if any(p.kind is p.VAR_POSITIONAL for p in known):
        return 2
    return len([p for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)])


def _selected(raw: Any) -> Any:
    if isinstance(raw, Tensor):
        return raw
    named = _named(raw)
    if isinstance(named.get("logits"), Tensor):
        return named["logits"]
    if isinstance(raw, tuple | list) and raw and isinstance(raw[0], Tensor) and raw[0].ndim > 0:
        return raw[0]
    tensors = {k: v for k, v in named.items() if isinstance(v, Tensor) and v.ndim > 0}
    if len(tensors) == 1:
        return next(iter(tensors.values()))
    held = f" holding {', '.join(map(str, named))}" if named else ""
    raise ModelError(
        f"expected a tensor, or logits, from the model, got {type(raw).__name__}{held}; "
        "pass select=lambda returned: ... that takes the output out of it"
    )


def own_loss(raw: Any) -> Tensor | None:
    """The loss that a model given labels returns beside its output."""
    loss = _named(raw).get("loss")
    return loss if isinstance(loss, Tensor) else None


def _named(raw: Any) -> dict[str, Any]:
    if isinstance(raw, Mapping):
        return dict(raw)
    if is_dataclass(raw) and not isinstance(raw, type):
        return {field.name: getattr(raw, field.name) for field in fields(raw)}
    if isinstance(raw, tuple) and hasattr(raw, "_fields"):
        return dict(zip(raw._fields, raw, strict=True))
    return {}
