"""The second job: from the user's function to one measured step, recorded for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from localelastic.change.effect import PredictionChange, Values
from localelastic.data import Examples
from localelastic.errors import DataError, SettingError
from localelastic.experiments.environment import environment
from localelastic.experiments.measure_spec import MeasureSpec, as_typed
from localelastic.experiments.subject import Subject, load_subject, users_code
from localelastic.measure import Preflight, prediction_change, preflight
from localelastic.plots import is_image
from localelastic.report.measure_record import Check, MeasureRecord, ShownExample
from localelastic.shapes import Progress, silent


@dataclass(frozen=True, eq=False)
class PreparedMeasure:
    """A measurement whose model and examples are there and chosen: nothing but the work is left.

    Args:
        spec: what was asked for.
        subject: what the user's function returned.
        step_on: positions of the examples stepped on.
        probes: positions of the probes.
        settings: for ``prediction_change`` and ``preflight``.
    """

    spec: MeasureSpec
    subject: Subject
    step_on: tuple[int, ...]
    probes: tuple[int, ...]
    settings: dict[str, Any]


@dataclass(frozen=True, eq=False)
class MeasureRun:
    """A finished measurement: the raw result, the checks before it, and the record for people."""

    prepared: PreparedMeasure
    found: PredictionChange
    checks: Preflight
    record: MeasureRecord


def prepare_measure(spec: MeasureSpec) -> PreparedMeasure:
    """Call the user's function and find the examples that are asked for.

    Raises:
        InputError: a function, an id or a setting that cannot be used.
    """
    subject = load_subject(spec.function)
    ids = subject.examples.ids
    settings = spec.settings(subject)
    stepped = _positions(spec.step_on or subject.step_on or ids[:1], ids, "step_on")
    if spec.probes is None:
        probes = tuple(place for place in range(len(ids)) if place not in set(stepped))
    else:
        probes = _positions(spec.probes, ids, "probes")
    return PreparedMeasure(spec, subject, stepped, probes, settings)


def check_measure(prepared: PreparedMeasure) -> Preflight:
    """What to know of the model before it is measured."""
    examples = prepared.subject.examples
    measured = examples.take(sorted({*prepared.step_on, *prepared.probes}))
    with users_code(prepared.spec.function):
        found = preflight(
            prepared.subject.model,
            measured,
            step_on=[examples.ids[place] for place in prepared.step_on],
            **prepared.settings,
        )
    return Preflight(tuple(replace(one, found=as_typed(one.found)) for one in found.findings))


def run_measure(
    prepared: PreparedMeasure, checks: Preflight, progress: Progress = silent
) -> MeasureRun:
    """Take the step and look at every probe.

    Raises:
        InputError: model, examples or settings that cannot be measured, or the model fails.
        MeasurementError: the step diverged.
    """
    examples = prepared.subject.examples
    if not prepared.probes:
        raise DataError(
            f"expected an example to probe beside the {len(prepared.step_on)} stepped on, got "
            "none; return more examples, or name some with --probes"
        )
    with users_code(prepared.spec.function):
        found = prediction_change(
            prepared.subject.model,
            examples.take(prepared.step_on),
            examples.take(prepared.probes),
            first_order=prepared.spec.first_order,
            progress=progress,
            **prepared.settings,
        )
    if note := _own_probes(prepared):
        found = replace(found, notes=(note, *found.notes))
    return MeasureRun(prepared, found, checks, _record(prepared, found, checks))


def _own_probes(prepared: PreparedMeasure) -> str | None:
    """What to know where nothing but the examples stepped on is probed."""
    if not set(prepared.probes) <= set(prepared.step_on):
        return None
    one = len(prepared.probes) == 1
    return (
        "the only probe is an example stepped on" if one else "all probes are examples stepped on"
    ) + ": this says nothing of other predictions; name others with --probes, or leave it out"


def along(values: Values, found: PredictionChange) -> Float[ndarray, "_"]:
    """Signed numbers: the values, of vectors the component along the mean self-change."""
    if values.ndim == 1:
        return values
    own = found.self_change.mean(axis=0)
    length = float(np.linalg.norm(own))
    return values @ own / length if length > 0 else np.zeros(len(values))


def _record(prepared: PreparedMeasure, found: PredictionChange, checks: Preflight) -> MeasureRecord:
    spec, subject = prepared.spec, prepared.subject
    moved, own = along(found.change, found), along(found.self_change, found)
    relative, hidden = found.relative, found.below_floor

    def probe(place: int) -> ShownExample:
        row = prepared.probes[place]
        numbers = float(moved[place]), float(relative[place])
        return _shown(subject, row, *numbers, hidden=bool(hidden[place]))

    stepped = tuple(
        _shown(subject, row, float(move), None)
        for row, move in list(zip(prepared.step_on, own, strict=True))[: max(spec.top, 8)]
    )
    against = np.zeros(len(found.ids), dtype=bool)
    against[found.opposite(len(found.ids))] = True
    what = f"example {found.step_ids[0]}" if len(found.step_ids) == 1 else "a mini-batch"
    return MeasureRecord(
        question=f"One step on {what} ({found.step}): how does every other prediction move?",
        finding=found.sentence,
        prediction=found.prediction,
        outputs=1 if found.change.ndim == 1 else found.change.shape[1],
        self_size=found.self_size,
        moved=moved,
        size=found.size,
        relative=relative,
        first_order=None if found.first_order is None else along(found.first_order, found),
        noise_floor=found.noise_floor,
        hidden=hidden,
        against=against,
        linearity=found.linearity,
        n_stepped=len(found.step_ids),
        stepped=stepped,
        most=tuple(map(probe, found.most(spec.top))),
        least=tuple(map(probe, found.least(spec.top))),
        opposite=tuple(map(probe, found.opposite(spec.top))),
        span=_span(subject.examples),
        checks=tuple(Check(one.level, one.check, one.found) for one in checks.findings),
        notes=tuple(map(as_typed, found.notes)),
        settings=_settings(prepared, found),
        environment=environment(),
        command=spec.command,
    )


def _shown(
    subject: Subject, row: int, moved: float, relative: float | None, *, hidden: bool = False
) -> ShownExample:
    examples, texts = subject.examples, subject.texts
    values = None
    if texts is None and _pictured(examples):
        values = examples.inputs[row].detach().float().cpu().numpy()
    return ShownExample(
        examples.ids[row],
        None if examples.classes is None else examples.classes[row],
        None if texts is None else texts[row],
        values,
        moved,
        relative,
        hidden,
    )


def _pictured(examples: Examples) -> bool:
    """Whether inputs are one tensor of images."""
    inputs = examples.inputs
    return isinstance(inputs, Tensor) and inputs.is_floating_point() and is_image(examples.shape)


def _span(examples: Examples) -> tuple[float, float]:
    if not _pictured(examples):
        return (0.0, 1.0)
    low, high = torch.aminmax(examples.inputs.detach())
    return (float(low), float(high))


def _settings(prepared: PreparedMeasure, found: PredictionChange) -> dict[str, str]:
    spec, model = prepared.spec, prepared.subject.model
    weights = sum(p.numel() for p in model.parameters())
    first = next(model.parameters(), None)
    own = "that of the model" if first is None else str(first.dtype).removeprefix("torch.")
    n = len(found.step_ids)
    return {
        "function": spec.function,
        "examples": prepared.subject.examples.source or f"{len(prepared.subject.examples)}",
        "model": f"{type(model).__name__}, {weights:,} weights",
        "step": found.step,
        "stepped on": found.step_ids[0] if n == 1 else f"{n} examples, their mean loss",
        "loss before the step": f"{found.loss:.4g}",
        "weights changed": f"{found.moved_share:.1%}",
        "prediction": found.prediction,
        "probes": str(len(found.ids)),
        "mode": prepared.settings.get("mode") or ("train" if model.training else "eval"),
        "precision": spec.precision or own,
        "change": found.strategy,
    }


def _positions(wanted: Sequence[str], ids: Sequence[str], what: str) -> tuple[int, ...]:
    place = {name: row for row, name in enumerate(ids)}
    for name in wanted:
        if name not in place:
            near = get_close_matches(name, ids[:100_000], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are such as {ids[0]!r}"
            raise SettingError(
                f"expected {what} to be ids of the {len(ids)} examples, got {name!r}; {hint}"
            )
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if list(wanted).count(name) > 1)
        raise SettingError(f"expected each id of {what} once, got {twice!r} twice; leave one out")
    return tuple(place[name] for name in wanted)
