"""A model and what is watched of it, as one module."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from localelastic.errors import SettingError
from localelastic.models import Forward, Prediction


class Watched(nn.Module):
    """``f = p(model(x), y)``, a number per example; its inputs are pairs ``(x, y)``."""

    def __init__(self, model: nn.Module, forward: Forward, prediction: Prediction) -> None:
        super().__init__()
        self.model, self.reads, self.prediction = model, forward, prediction

    def forward(self, pair: tuple[Any, Any]) -> Tensor:
        """The prediction.

        Raises:
            SettingError: it is a vector.
        """
        inputs, target = pair
        value = self.prediction.of(self.reads(self.model, inputs), target)
        if value.ndim > 1:
            raise SettingError(
                f"expected a prediction of one number per example, got {self.prediction.name} of "
                f"shape {tuple(value.shape)}; watch one class or a log-probability, or use Replay()"
            )
        return value
