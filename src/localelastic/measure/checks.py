"""The single checks of a preflight."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from localelastic.change import choice_of
from localelastic.change.auto import Auto
from localelastic.change.noise import size_of
from localelastic.change.strategy import Question
from localelastic.data.examples import Examples
from localelastic.data.nested import leaves, length, rows_of
from localelastic.models import check_differentiable
from localelastic.update import (
    Objective,
    Replica,
    StepRefusedError,
    broadcast_note,
    by_batch,
    named,
    repeatable,
)

SAMPLE = 8
"""Examples that are looked at."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Args:
        level: ``"ok"``, ``"note"`` or ``"warning"``.
        check: what was checked, in a few words.
        found: what came out, and what it means.
    """

    level: Literal["ok", "note", "warning"]
    check: str
    found: str


class Look:
    """One check per method."""

    def __init__(
        self,
        replica: Replica,
        examples: Examples,
        question: Question,
        step_on: Sequence[str] | None,
    ) -> None:
        self.replica, self.model = replica, replica.model
        self.examples, self.question = examples, question
        rows = list(range(min(SAMPLE, len(examples))))
        self.few = replica.place(rows_of(examples.inputs, rows))
        targets = question.task.targets
        own = rows[:1] if step_on is None else [examples.ids.index(name) for name in step_on]
        self.own = replica.place(rows_of(examples.inputs, own))
        self.own_targets = None if targets is None else replica.place(targets[own])

    def all(self) -> Iterator[Finding]:
        """Every check, in the order of the report."""
        for check in (
            self.parameters,
            self.modes,
            self.measurement,
            self.determinism,
            self.buffers,
            self.batching,
            self.gradients,
            self.hooks,
            self.strategy,
            self.cost,
        ):
            yield from check()

    def parameters(self) -> Iterator[Finding]:
        """How many, how many move, of which precision, tied ones."""
        every = list(self.model.parameters())
        moving = sum(p.numel() for p in self.replica.parameters)
        words = f"{moving:,} of {sum(p.numel() for p in every):,} weights can move"
        kinds = sorted({str(p.dtype).removeprefix("torch.") for p in every})
        names = [name for name, _ in self.model.named_parameters(remove_duplicate=False)]
        tied = len(names) - len(every)
        shared = f"; {tied} shared, counted once" if tied else ""
        yield Finding("ok", "weights", f"{words}, in {', '.join(kinds)}{shared}")
        if {"float16", "bfloat16"} & set(kinds):
            yield Finding(
                "warning",
                "precision",
                "half precision: a small step leaves many weights as they were; measure with "
                "float64 beside it",
            )

    def modes(self) -> Iterator[Finding]:
        """Train or eval, where it matters."""
        live = [
            f"{type(m).__name__} {name!r}"
            for name, m in self.model.named_modules()
            if m.training
            and isinstance(m, nn.modules.dropout._DropoutNd | nn.RNNBase)
            and getattr(m, "p", getattr(m, "dropout", 0)) > 0
        ]
        if live:
            yield Finding(
                "note",
                "train mode",
                f"{live[0]}{_more(live)} drops out: the same mask before and after the step; "
                "mode='eval' takes none",
            )
        if found := by_batch(self.model):
            yield Finding(
                "warning",
                "train mode",
                f"{found[0]}{_more(found)} normalises by the batch: a prediction depends on who "
                "else is in it; mode='eval' uses running statistics",
            )
        if not live and not found:
            yield Finding("ok", "train mode", "no layer behaves differently in training")

    def measurement(self) -> Iterator[Finding]:
        """What is watched and stepped on."""
        output = self.replica.outputs(self.few)
        yield Finding(
            "ok",
            "output",
            f"shape {tuple(output.shape[1:])} per example in "
            f"{str(output.dtype).removeprefix('torch.')}; watching "
            f"{self.question.prediction.name}, stepping down the "
            f"{Objective(self.question.loss).name}",
        )
        if note := broadcast_note(self.question.loss, output, self.own_targets):
            yield Finding("note", "loss", note)
        narrower = [
            x
            for x in leaves(self.examples.inputs)
            if isinstance(x, Tensor) and x.dtype == torch.float64 and output.dtype != x.dtype
        ]
        if len(self.examples) < 2:
            yield Finding("warning", "probes", "one example only: there is none to probe beside it")
        if narrower:
            yield Finding(
                "note", "inputs", "float64 inputs are given in the precision of the weights"
            )
        if not torch.isfinite(output).all():
            yield Finding("warning", "output", "some outputs are not finite")

    def determinism(self) -> Iterator[Finding]:
        """Whether the forward pass gives the same twice, with and without the same draws."""
        first, again = self._predictions(), self._predictions()
        drift = _distance(first, again)
        if drift > 0:
            yield Finding(
                "warning",
                "deterministic",
                f"predicting twice with no step between differs by {drift:.2g}: the model keeps a "
                "state of its own, or its operations are not deterministic; smaller changes mean "
                "nothing",
            )
            return
        if self.replica.draws(self.few):
            yield Finding(
                "note", "deterministic", "draws random numbers; every forward pass draws the same"
            )
        else:
            yield Finding("ok", "deterministic", "the same prediction twice, bit for bit")

    def buffers(self) -> Iterator[Finding]:
        """Which buffers a forward pass writes."""
        before = {name: b.clone() for name, b in self.model.named_buffers()}
        written = []
        with torch.no_grad(), repeatable(self.model):
            self.replica.forward(self.model, self.few)
            for name, b in self.model.named_buffers():
                old = before.get(name)
                if old is None or old.shape != b.shape or not torch.equal(old, b):
                    written.append(name)
        if written:
            yield Finding(
                "note",
                "buffers",
                f"the forward pass writes {written[0]}{_more(written)}: put back after each",
            )
        else:
            yield Finding("ok", "buffers", "the forward pass writes none")

    def batching(self) -> Iterator[Finding]:
        """Whether a batch gives the same numbers as one by one."""
        if self._by_place():
            return
        apart = _distance(self._predictions(), self._predictions(batch_size=1))
        scale = float(size_of(self.replica.outputs(self.few).double()).max())
        share = apart / scale if scale > 0 else apart
        told = f"a batch and one by one differ by {apart:.2g} ({share:.1g} of the largest output)"
        if share > 1e-2:
            yield Finding(
                "warning", "batching", f"{told}: predictions depend on who else is in the batch"
            )
        elif share > 0:
            yield Finding("ok", "batching", f"{told}: rounding; batches are the same both times")
        else:
            yield Finding("ok", "batching", "a batch gives the same numbers as one by one")

    def gradients(self) -> Iterator[Finding]:
        """Whether an example's gradient depends on who else is in the batch."""
        if self._by_place():
            return
        together = self._gradient_of_first(length(self.few))
        alone = self._gradient_of_first(1)
        scale = float(alone.norm())
        share = float((together - alone).norm()) / scale if scale > 0 else 0.0
        if share > 1e-2:
            yield Finding(
                "warning",
                "gradients",
                f"an example's gradient differs by {share:.1%} alone and in a batch: a step on a "
                "mini-batch is not the mean of single steps",
            )
        else:
            yield Finding(
                "ok", "gradients", "an example's gradient is the same alone and in a batch"
            )

    def hooks(self) -> Iterator[Finding]:
        """Hooks that run with every forward or backward pass of the copy."""
        carriers = [
            f"{type(m).__name__} {name!r}" if name else type(m).__name__
            for name, m in self.model.named_modules()
            if m._forward_hooks or m._forward_pre_hooks or m._backward_hooks
        ]
        optimizer = vars(self.replica.optimizer)
        if any(optimizer.get(f"_optimizer_step_{when}_hooks") for when in ("pre", "post")):
            carriers.append(type(self.replica.optimizer).__name__)
        if carriers:
            yield Finding(
                "note",
                "hooks",
                f"{carriers[0]}{_more(carriers)} carries hooks: they run while measuring too",
            )

    def strategy(self) -> Iterator[Finding]:
        """Which way a single step and a whole matrix will go."""
        taken = named(self.replica.optimizer)
        yield Finding("ok", "one step", f"replay: a real step of {taken}, then forward again")
        try:
            choice = choice_of(Auto(), self.question)
        except RuntimeError as error:  # such as a model that cannot be differentiated twice
            yield Finding("note", "matrix", f"replay ({' '.join(str(error).split())[:100]})")
            return
        yield Finding("ok", "matrix", f"{choice.strategy.name} ({choice.why})")

    def cost(self) -> Iterator[Finding]:
        """Memory and time of one step with all examples as probes, and of a matrix of replays."""
        n, few = len(self.examples), length(self.few)
        forward = _seconds(lambda: self.replica.outputs(self.few)) / few
        start = time.perf_counter()
        try:
            self.replica.step(self.own, self.own_targets, self._objective())
        except StepRefusedError as error:
            which = "the examples cannot be" if length(self.own) > 1 else "the example cannot be"
            yield Finding("warning", "step", f"{which} stepped on: {error}")
            return
        finally:
            step = time.perf_counter() - start
            self.replica.restore()
        one = 2 * n * forward + step
        rows = n * (n * forward + step / length(self.own))
        weights = sum(p.numel() * p.element_size() for p in self.model.parameters())
        moving = sum(p.numel() * p.element_size() for p in self.replica.parameters)
        state = sum(
            value.nbytes
            for kept in self.replica.optimizer.state.values()
            for value in kept.values()
            if isinstance(value, Tensor)
        )
        outputs = 4 * n * self.replica.outputs(self.few)[0].numel() * 8
        inputs = sum(x.nbytes for x in leaves(self.examples.inputs) if isinstance(x, Tensor))
        memory = weights + 3 * moving + 2 * state + outputs + inputs
        yield Finding(
            "ok",
            "cost",
            f"about {_duration(one)} for a step with {n:,} probes ({_duration(3 * one)} with the "
            f"first order), {_duration(rows)} for a matrix of replays; "
            f"{_size(memory)} beside the model, and what a forward pass of "
            f"{min(n, 500):,} takes",
        )

    def _objective(self) -> Objective:
        return Objective(self.question.loss)

    def _predictions(self, batch_size: int | None = None) -> Tensor:
        return self.replica.outputs(self.few, batch_size=batch_size).double()

    def _by_place(self) -> bool:
        """Whether an example's place in the batch matters anyway, or there is only one."""
        alone = length(self.few) < 2
        return alone or bool(by_batch(self.model)) or self.replica.draws(self.few)

    def _gradient_of_first(self, size: int) -> Tensor:
        with torch.enable_grad(), repeatable(self.model):
            output = self.replica.forward(self.model, rows_of(self.few, list(range(size))))
            check_differentiable(output)
            value = output[0].double().square().sum()
            found = torch.autograd.grad(value, self.replica.parameters, allow_unused=True)
        parts = [g.to_dense().flatten().double() for g in found if g is not None]
        return torch.cat(parts) if parts else torch.zeros(1)


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _more(found: Sequence[str]) -> str:
    return f" and {len(found) - 1} more" if len(found) > 1 else ""


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60), ("s", 1)):
        if seconds >= 2 * size or unit == "s":
            return f"{seconds / size:.2g} {unit}"
    raise AssertionError


def _size(n_bytes: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
