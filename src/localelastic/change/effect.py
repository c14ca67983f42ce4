"""What one step did to every prediction: the record that ``prediction_change`` returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from localelastic.errors import expect_whole

Probes = Float[ndarray, "m"]
Values = Float[ndarray, "m"] | Float[ndarray, "m c"]


@dataclass(frozen=True, eq=False)
class PredictionChange:
    """The change of each prediction by one step; ``m`` probes, ``b`` examples stepped on.

    Args:
        ids: of the probes.
        step_ids: of the examples stepped on.
        prediction: what was watched, in words.
        before: ``f(x', w)``, ``(m,)`` or, for a vector such as all logits, ``(m, c)``.
        change: ``f(x', w+) - f(x', w)``, likewise; signed.
        self_change: the same at the examples stepped on, ``(b,)`` or ``(b, c)``.
        kl: ``KL(before || after)`` of the class probabilities in nats, ``(m,)``; ``None`` without.
        self_kl: the same at the examples stepped on.
        first_order: ``<df(x')/dw, w+ - w>``, as ``change``; ``None`` if not asked for.
        noise_floor: ``(m,)``: a change below it cannot be told from no step.
        moved_share: share of the weights that the step changed at all.
        loss: of the step, before it.
        step: the optimizer and its step size, in words.
        strategy: how the changes were computed, and why so.
        notes: what to know before trusting the numbers.
    """

    ids: tuple[str, ...]
    step_ids: tuple[str, ...]
    prediction: str
    before: Values
    change: Values
    self_change: Float[ndarray, "b"] | Float[ndarray, "b c"]
    kl: Probes | None
    self_kl: Float[ndarray, "b"] | None
    first_order: Values | None
    noise_floor: Probes
    moved_share: float
    loss: float
    step: str
    strategy: str
    notes: tuple[str, ...] = field(default=())

    @property
    def size(self) -> Probes:
        """``|change|``, of a vector its Euclidean length."""
        return _size(self.change)

    @property
    def self_size(self) -> float:
        """``|change|`` at the examples stepped on, their mean."""
        return float(_size(self.self_change).mean())

    @property
    def relative(self) -> Probes:
        """Relative similarity, ``|change| / |self-change|`` (eq. 2); zero if nothing moved."""
        return self.size / self.self_size if self.self_size > 0 else np.zeros_like(self.size)

    @property
    def along(self) -> Probes:
        """The change along the self-change: negative where a probe moved the other way.

        Of a scalar it is the change times the sign of the mean self-change; of a vector the
        component in its direction.
        """
        own = self.self_change.mean(axis=0)
        if self.change.ndim == 1:
            return self.change * np.sign(own)
        length = np.linalg.norm(own)
        return self.change @ own / length if length > 0 else np.zeros(len(self.ids))

    @property
    def gap(self) -> Values | None:
        """``change - first_order``: where the linear picture of the network fails."""
        return None if self.first_order is None else self.change - self.first_order

    @property
    def linearity(self) -> float | None:
        """``1 - |gap| / |change|`` over all probes: 1 where the first order says everything."""
        if self.gap is None:
            return None
        whole = float(np.linalg.norm(self.change))
        return 1 - float(np.linalg.norm(self.gap)) / whole if whole > 0 else None

    @property
    def below_floor(self) -> Bool[ndarray, "m"]:
        """Probes whose change cannot be told from no step."""
        return self.size <= self.noise_floor

    def most(self, k: int = 10) -> list[int]:
        """Positions of the probes that moved most.

        Raises:
            SettingError: ``k`` is no whole number of 0 or more.
        """
        expect_whole(k, "k", 0)
        return np.argsort(-self.size, kind="stable")[:k].tolist()

    def least(self, k: int = 10) -> list[int]:
        """Positions of the probes that moved least; raises as :meth:`most`."""
        expect_whole(k, "k", 0)
        return np.argsort(self.size, kind="stable")[:k].tolist()

    def opposite(self, k: int = 10) -> list[int]:
        """Positions of probes that moved against the self-change by more than noise, most first.

        Raises:
            SettingError: ``k`` is no whole number of 0 or more.
        """
        expect_whole(k, "k", 0)
        against = np.flatnonzero((self.along < 0) & ~self.below_floor)
        return against[np.argsort(self.along[against], kind="stable")][:k].tolist()

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        what = _NOUNS.get(self.prediction, self.prediction)
        one = len(self.step_ids) == 1
        stepped = f"example {self.step_ids[0]}" if one else f"{len(self.step_ids)} examples"
        own = "its own" if one else "their own"
        if self.self_size == 0:
            return f"A step on {stepped} moved nothing, not even {own} {what}."
        hidden, against = int(self.below_floor.sum()), len(self.opposite(len(self.ids)))
        return (
            f"A step on {stepped} changed {own} {what} by {self.self_size:.3g} and "
            f"that of {len(self.ids)} probes by {np.median(self.relative):.2g} of it at the median "
            f"({self.relative.max():.2g} at most); {against} moved the other way, "
            f"{hidden} by no more than noise."
        )

    def __repr__(self) -> str:
        return f"PredictionChange({self.sentence})"


_NOUNS = {"scalar": "output", "one class": "logit of the class"}
"""What to call a prediction in a sentence."""


def _size(values: Float[ndarray, "m *c"]) -> Probes:
    return np.abs(values) if values.ndim == 1 else np.linalg.norm(values, axis=1)
