"""Closed form of gradient steps on ``f(x) = c + sum_r a_r s(w_r x + b_r)``, exact and finite.

A step on ``x_t`` moves unit ``r``'s pre-activation at any ``x'`` by ``-lr g_t u_tr (x_t x' + 1)``
with ``u_tr = a_r s'(z_tr)``, the output weight ``a_r`` by ``-lr g_t s(z_tr)``, and ``c`` by
``-lr g_t``, where ``g_t = dL/dz`` at the step's own example. So nothing of size ``h x d`` is ever
rebuilt: the steps form a chain of pre-activations at their own examples (:func:`walk`), and the
predictions elsewhere are replayed from it (:func:`shifts`). Where every step starts from the same
weights they follow from matrix products (:func:`frozen_shifts`).

Shapes: ``t`` steps, ``n`` probes, ``h`` hidden units, ``d`` features.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from localelastic.numerics import kernels

Block = Float[ndarray, "t h"]
Tell = Callable[[int, int], None]

PROBES = 32
"""Probes that one thread replays together: they share the loading of the chain."""

quiet = partial(np.errstate, over="ignore", invalid="ignore")
"""A chain that diverges says so in its rows, not by warnings."""

WIDTH = 2048
"""Hidden units whose states are held at a time, ``n x WIDTH`` numbers."""


@dataclass(frozen=True)
class Weights:
    """``w (h, d)``, ``b (h,)``, ``a (h,)``, ``c``; and which activation (``kernels.RELU`` ...)."""

    w: Float[ndarray, "h d"]
    b: Float[ndarray, "h"]
    a: Float[ndarray, "h"]
    c: float
    activation: int

    def pre_activations(self, x: Float[ndarray, "n d"]) -> Float[ndarray, "n h"]:
        """``z = x w^T + b``."""
        z = x @ self.w.T
        z += self.b
        return z


@dataclass(frozen=True)
class Walk:
    """A chain of steps.

    Args:
        pre: ``(t, h)`` pre-activation of each step's example when the step is taken.
        rate: ``(t,)`` ``-lr g_t``; zero where the step was refused.
        output: ``(t,)`` output at the step's example before the step.
        end: the weights after the last step, worked out when asked for.
    """

    pre: Block
    rate: Float[ndarray, "t"]
    output: Float[ndarray, "t"]
    end: Callable[[], Weights]


@quiet()
def walk(
    start: Weights,
    x: Float[ndarray, "t d"],
    slope: Callable[[float, int], float | None],
    *,
    lr: float,
) -> Walk:
    """Take the steps in order, weights moving from one to the next.

    The pre-activation at step ``t`` is that of the start plus what the steps before it have done,
    ``sum_s -lr g_s (x_s x_t + 1) u_s``. It is summed by halves: once the first half of a stretch is
    done, one matrix product brings all of it to the second half.

    Args:
        start: weights before the first step.
        x: the examples stepped on, in order.
        slope: ``g = slope(output, t)``, or ``None`` to refuse the step.
        lr: step size.
    """
    pre = start.pre_activations(x)
    steps = len(x)
    reach = (x @ x.T + 1).astype(pre.dtype)
    u = np.zeros_like(pre)
    rate, output = np.zeros(steps, pre.dtype), np.zeros(steps)
    a, c = start.a.copy(), start.c

    def take(t: int) -> None:
        nonlocal c
        s, ds = kernels.activate(pre[t], start.activation)
        output[t] = float(s @ a) + c
        g = slope(output[t], t)
        if g is None:
            return
        rate[t] = -lr * g
        u[t] = a * ds
        a[:] += rate[t] * s
        c += float(rate[t])

    def stretch(first: int, last: int) -> None:
        if last - first == 1:
            take(first)
            return
        middle = (first + last) // 2
        stretch(first, middle)
        kappa = rate[first:middle] * reach[middle:last, first:middle]
        pre[middle:last] += kappa @ u[first:middle]
        stretch(middle, last)

    if steps:
        stretch(0, steps)

    @quiet()
    def end() -> Weights:
        w = start.w + (u * rate[:, None]).T @ x
        return Weights(w, start.b + rate @ u, a, c, start.activation)

    return Walk(pre, rate, output, end)


@quiet()
def shifts(
    start: Weights,
    walked: Walk,
    x: Float[ndarray, "t d"],
    probes: Float[ndarray, "n d"],
    recorded: Bool[ndarray, "t"],
    *,
    threads: int,
    tell: Tell,
) -> Float[ndarray, "t n"]:
    """How each recorded step of a walk shifts the output at every probe; other rows stay zero.

    Args:
        start: the weights the walk started from.
        walked: the walk.
        x: its examples, in order.
        probes: where to look.
        recorded: the steps whose shift is wanted.
        threads: at work side by side; the result does not depend on it.
        tell: called as blocks of hidden units are done.
    """
    kappa = walked.rate[:, None] * (x @ probes.T + 1)
    total = np.zeros((len(x), len(probes)))
    total[recorded] = walked.rate[recorded, None]
    with ThreadPoolExecutor(threads) as pool:
        for units in _blocks(len(start.a), WIDTH):
            z = probes @ start.w[units].T + start.b[units]
            chain = np.ascontiguousarray(walked.pre[:, units])

            @quiet()
            def replay(
                span: slice, units: slice = units, z: ndarray = z, chain: ndarray = chain
            ) -> None:
                across = np.ascontiguousarray(kappa[:, span])
                shift = np.zeros_like(across)
                kernels.replay(
                    start.activation,
                    z[span],
                    chain,
                    start.a[units].copy(),
                    across,
                    walked.rate,
                    recorded,
                    shift,
                )
                total[:, span] += shift

            list(pool.map(replay, _blocks(len(probes), PROBES)))
            tell(units.stop, len(start.a))
    return total


@quiet()
def frozen_shifts(
    start: Weights,
    x: Float[ndarray, "t d"],
    rate: Float[ndarray, "t"],
    *,
    threads: int,
    tell: Tell,
) -> Float[ndarray, "t t"]:
    """How a step on each example, all from the same weights, shifts the output at every one.

    With ReLU most gates do not flip, and where none does the shift is

        ``rate_t [sum_r s_tr s_jr + (x_t x_j + 1) sum_r (a_r + rate_t s_tr) a_r on_tr on_jr + 1]``,

    two matrix products; flipped gates are corrected one by one. Rows are steps.
    """
    kappa = rate[:, None] * (x @ x.T + 1)
    total = np.zeros((len(x), len(x)))
    total += rate[:, None]
    across = np.ascontiguousarray(kappa.T)
    with ThreadPoolExecutor(threads) as pool:
        for units in _blocks(len(start.a), WIDTH):
            z, a = x @ start.w[units].T + start.b[units], start.a[units]
            if start.activation != kernels.SIGMOID:
                s, on = kernels.activate(z, start.activation)
                gate = (a + rate[:, None] * s) * (a * on)
                total[...] += rate[:, None] * (s @ s.T) + kappa * (gate @ on.T)
            own = np.ascontiguousarray(z.T)

            @quiet()
            def pair(span: slice, z: ndarray = z, own: ndarray = own, a: ndarray = a) -> None:
                shift = np.zeros_like(across[span])
                kernels.frozen_pairs(start.activation, z[span], own, a, across[span], rate, shift)
                total[:, span] += shift.T

            if start.activation != kernels.IDENTITY:
                list(pool.map(pair, _blocks(len(x), PROBES)))
            tell(units.stop, len(start.a))
    return total


def outputs(weights: Weights, x: Float[ndarray, "n d"]) -> Float[ndarray, "n"]:
    """``f(x)``, summed in float64 whatever the precision of the weights."""
    total = np.full(len(x), weights.c, np.float64)
    with quiet():
        for units in _blocks(len(weights.a), WIDTH):
            z = x @ weights.w[units].T + weights.b[units]
            s, _ = kernels.activate(z, weights.activation)
            total += s @ weights.a[units].astype(np.float64)
    return total


def _blocks(length: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, length)) for i in range(0, length, size)]
