"""Train or eval: what the copy of a model does where the two differ."""

from __future__ import annotations

from typing import Literal

from torch import nn

from localelastic.errors import ModelError, SettingError

Mode = Literal["eval", "train"] | None
"""``None``: every sub-module as the caller has it, and batch statistics are refused, because with
them a prediction depends on who else is in the batch. ``"eval"``: frozen statistics, no dropout.
``"train"``: as the caller has it, batch statistics too."""


def set_mode(model: nn.Module, mode: Mode) -> None:
    """Bring a copy into a mode.

    Raises:
        ModelError: batch statistics, and nothing was said about them.
        SettingError: no such mode.
    """
    if mode not in (None, "eval", "train"):
        raise SettingError(f"expected mode to be 'eval', 'train' or None, got {mode!r}")
    if mode == "eval":
        model.eval()
    elif mode is None and (found := by_batch(model)):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise ModelError(
            f"expected predictions that do not depend on the batch, got {found[0]}{more} in train "
            "mode; pass mode='eval' to use its running statistics, mode='train' to measure it "
            "with batch statistics as it is, or call model.eval()"
        )


def by_batch(model: nn.Module) -> list[str]:
    """Layers that normalise by the statistics of the batch, in words."""
    return [
        f"{type(module).__name__} {name!r}"
        for name, module in model.named_modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm)
        and (module.training or module.running_mean is None)
    ]
