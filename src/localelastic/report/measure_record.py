"""What a finished measurement says: the record that its report is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Bool, Float
from numpy import ndarray

Probes = Float[ndarray, "m"]


@dataclass(frozen=True, eq=False)
class ShownExample:
    """One example that is worth looking at.

    Args:
        id: of the example.
        known: its class, or ``None``.
        text: in words, or ``None``.
        values: its values, to be drawn as an image where their shape is one; else ``None``.
        moved: how far its prediction moved, with its sign.
        relative: the same as a share of the self-change; ``None`` for an example stepped on.
        hidden: whether that is no more than noise.
    """

    id: str
    known: str | None
    text: str | None
    values: Float[ndarray, "*shape"] | None
    moved: float
    relative: float | None
    hidden: bool


@dataclass(frozen=True)
class Check:
    """One finding of the checks before the measurement: ``level`` is ok, note or warning."""

    level: str
    check: str
    found: str


@dataclass(frozen=True, eq=False)
class MeasureRecord:
    """One step and what else moved, ready to be shown; ``m`` probes.

    Args:
        question: what was asked, one sentence.
        finding: what was found, one sentence.
        prediction: what was watched, such as "log-probability".
        outputs: how many numbers a prediction has. Of several, ``moved`` and ``first_order`` are
            the component along the self-change.
        self_size: the mean size of the change at the examples stepped on.
        moved: the change of each probe, signed.
        size: its size.
        relative: its size as a share of ``self_size``.
        first_order: what the first order says of ``moved``, or ``None``.
        noise_floor: a size up to this cannot be told from no step.
        hidden: the probes that moved by no more than that.
        linearity: 1 where the first order says everything, or ``None``.
        against: the probes that moved against the self-change by more than noise.
        n_stepped: how many examples were stepped on.
        stepped: the examples stepped on, or the first of them.
        most: those that moved most, the first first.
        least: those that moved least.
        opposite: those that moved against the self-change, most first.
        span: the lowest and highest value of all examples, for black and white.
        checks: what was checked before the measurement.
        notes: what to know before trusting the numbers.
        settings: how it was computed, in words, in the order to be shown.
        environment: the machine and the versions.
        command: what to type for the same again.
    """

    question: str
    finding: str
    prediction: str
    outputs: int
    self_size: float
    moved: Probes
    size: Probes
    relative: Probes
    first_order: Probes | None
    noise_floor: Probes
    hidden: Bool[ndarray, "m"]
    against: Bool[ndarray, "m"]
    linearity: float | None
    n_stepped: int
    stepped: tuple[ShownExample, ...]
    most: tuple[ShownExample, ...]
    least: tuple[ShownExample, ...]
    opposite: tuple[ShownExample, ...]
    span: tuple[float, float]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    command: str
