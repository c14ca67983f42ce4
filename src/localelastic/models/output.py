"""One output per example, or a clear error."""

from __future__ import annotations

from torch import Tensor, nn

from localelastic.errors import ModelError
from localelastic.shapes import Inputs, PerExample


def outputs_of(model: nn.Module, inputs: Inputs) -> PerExample:
    """The model's outputs as ``(n,)``; ``(n, 1)`` is accepted too.

    Raises:
        ModelError: anything else came back.
    """
    outputs = model(inputs.clone())  # a model may change its input in place
    n = len(inputs)
    if not isinstance(outputs, Tensor):
        raise ModelError(
            f"expected the model to return a tensor of one number per example, "
            f"got {type(outputs).__name__}; wrap it so that it returns shape ({n},) or ({n}, 1)"
        )
    if outputs.shape not in ((n,), (n, 1)):
        raise ModelError(
            f"expected one number per example, shape ({n},) or ({n}, 1), "
            f"got shape {tuple(outputs.shape)}; wrap the model so that it returns one output"
        )
    return outputs.reshape(n)


def check_differentiable(outputs: PerExample) -> None:
    """Refuse outputs that no gradient step can move.

    Raises:
        ModelError: they do not depend on any trainable parameter.
    """
    if not outputs.requires_grad:
        raise ModelError(
            "expected outputs that depend on a trainable parameter, got detached ones; "
            "remove detach() or no_grad() from the model's forward, or unfreeze a parameter"
        )
