"""Compiled inner loops of a two-layer network's replay; ``two_layer`` says what they mean.

Each is a plain function of arrays that also runs uncompiled, slowly. The loops are written so that
the compiler turns them into vector code: comparisons as ``x if x > y else y``, sums free to be
reordered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray
from scipy.special import expit

try:
    import numba
except ImportError:  # the same numbers, slowly
    numba = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., Any])

RELU, SIGMOID, IDENTITY = 0, 1, 2
"""Activations."""

UNITS, GAP = 1024, 16
"""Hidden units handled at a time, and what lies between the rows of a block."""


def _compiled(function: F) -> F:
    """Compiled at the first call, free of the interpreter's lock; as it is without numba.

    Sums may be reordered, but NaN and infinity keep their meaning.
    """
    if numba is None:
        return function
    fast = {"contract", "reassoc", "nsz"}
    try:
        return numba.njit(function, nogil=True, fastmath=fast, cache=True)
    except RuntimeError:  # nowhere to keep a cache: every process compiles anew
        return numba.njit(function, nogil=True, fastmath=fast)


@_compiled
def relu_steps(
    z: ndarray,
    chain: ndarray,
    a: ndarray,
    kappa: ndarray,
    rate: ndarray,
    recorded: ndarray,
    shift: ndarray,
) -> None:
    """All steps at a few probes over a block of ReLU units.

    Args:
        z: ``(q, b)`` pre-activations at the probes before the first step; moved through all.
        chain: ``(t, b)`` pre-activation of each step's own example when it is taken.
        a: ``(b,)`` output weights before the first step; moved through all.
        kappa: ``(t, q)`` ``-lr g_t (x_t x' + 1)``.
        rate: ``(t,)`` ``-lr g_t``.
        recorded: ``(t,)`` whether the shift of the output is wanted.
        shift: ``(t, q)`` is added to.
    """
    steps, width = chain.shape
    # Rows of fixed length, one after the other, are what the compiler vectorises; the last block is
    # padded with units that have no weight. The gap keeps rows from falling into the same lines of
    # the cache.
    state = np.empty((z.shape[0], UNITS + GAP), z.dtype)
    u = np.empty((2, UNITS + GAP), z.dtype)
    da, at = np.empty_like(u), np.empty_like(u)
    now = np.empty(UNITS, z.dtype)
    for start in range(0, width, UNITS):
        size = min(width, start + UNITS) - start
        now[:], state[:] = z.dtype.type(0), z.dtype.type(0)
        u[:], da[:], at[:] = z.dtype.type(0), z.dtype.type(0), z.dtype.type(0)
        now[:size] = a[start : start + size]
        state[:, :size] = z[:, start : start + size]
        for t in range(0, steps, 2):
            n = min(t + 1, steps - 1)
            _own(chain[t, start : start + size], rate[t], now, u[0], at[0], da[0])
            if n > t:
                _own(chain[n, start : start + size], rate[n], now, u[1], at[1], da[1])
            else:  # an odd number of steps: the last has no second
                u[1, :] = z.dtype.type(0)
            first, second = recorded[t], recorded[n] and n > t
            _pair(state, kappa[t], kappa[n], u, at, da, first, second, shift[t], shift[n])
        a[start : start + size] = now[:size]
        z[:, start : start + size] = state[:, :size]


@_compiled
def _own(own: ndarray, rate: float, now: ndarray, u: ndarray, at: ndarray, da: ndarray) -> None:
    """What a step at its own example's pre-activations does: ``u``, the weights, their move.

    Two loops, because one that stores to four arrays is not turned into vector code.
    """
    zero = now.dtype.type(0)
    for r in range(own.shape[0]):
        at[r] = now[r]
        u[r] = now[r] if own[r] > zero else zero
    for r in range(own.shape[0]):
        move = rate * (own[r] if own[r] > zero else zero)
        da[r] = move
        now[r] += move


@_compiled
def _pair(
    z: ndarray,
    k: ndarray,
    m: ndarray,
    u: ndarray,
    a: ndarray,
    da: ndarray,
    first: bool,
    second: bool,
    shift: ndarray,
    then: ndarray,
) -> None:
    """Two steps at every probe, ``z`` moving by ``d = k u[0]`` and then by ``d = m u[1]``.

    Adds ``sum a (s(z + d) - s(z)) + da s(z + d)`` for those of the two that are recorded. The
    difference of two ReLUs is ``d`` clamped between ``-s(z)`` and ``s(z + d)``, not one large
    number less another: a small step keeps all of its digits. Two steps at a time, so that the
    state is loaded and stored once; ``first`` and ``second`` do not change in the loop, and the
    compiler makes a version of it for each case. All probes in one call: what a call costs is
    that of a thousand units.
    """
    zero = z.dtype.type(0)
    for q in range(z.shape[0]):
        one, two = zero, zero
        for r in range(UNITS):
            d = k[q] * u[0, r]
            old = z[q, r]
            new = old + d
            if first:
                low = -old if -old < zero else zero
                high = new if new > zero else zero
                gain = d if d > low else low
                gain = gain if gain < high else high
                one += a[0, r] * gain + da[0, r] * high
            d = m[q] * u[1, r]
            old = new
            new = old + d
            if second:
                low = -old if -old < zero else zero
                high = new if new > zero else zero
                gain = d if d > low else low
                gain = gain if gain < high else high
                two += a[1, r] * gain + da[1, r] * high
            z[q, r] = new
        if first:
            shift[q] += one
        if second:
            then[q] += two


@_compiled
def smooth_steps(
    z: ndarray,
    chain: ndarray,
    a: ndarray,
    kappa: ndarray,
    rate: ndarray,
    recorded: ndarray,
    shift: ndarray,
    sigmoid: bool,
) -> None:
    """As :func:`relu_steps`, for sigmoid or identity units; plain rather than fast."""
    zero, one = z.dtype.type(0), z.dtype.type(1)
    for t in range(chain.shape[0]):
        for q in range(z.shape[0]):
            k, total = kappa[t, q], zero
            for r in range(chain.shape[1]):
                own = chain[t, r]
                s, ds = own, one
                if sigmoid:
                    s = one / (one + math.exp(-own))
                    ds = s * (one - s)
                d = k * a[r] * ds
                old = z[q, r]
                new = old + d
                z[q, r] = new
                if recorded[t]:
                    gain, after = d, new
                    if sigmoid:
                        after = one / (one + math.exp(-new))
                        # s(new) - s(old), written so that a small step keeps all of its digits
                        # and a large one does not overflow.
                        if d >= zero:
                            gain = -math.expm1(-d) * after / (one + math.exp(old))
                        else:
                            gain = math.expm1(d) / (one + math.exp(-old)) / (one + math.exp(new))
                    total += a[r] * gain + rate[t] * s * after
            shift[t, q] += total
        for r in range(chain.shape[1]):
            own = chain[t, r]
            a[r] += rate[t] * (one / (one + math.exp(-own)) if sigmoid else own)


@_compiled
def relu_flips(
    z: ndarray, own: ndarray, a: ndarray, kappa: ndarray, rate: ndarray, shift: ndarray
) -> None:
    """Corrects frozen steps for the gates they flip at a few probes.

    The matrix products take every unit as if it stayed on or off. A unit that a step turns on or
    off at a probe is off by ``(a_r + da_r) |z_r + d_r|``.

    Args:
        z: ``(q, b)`` pre-activations at the probes.
        own: ``(b, t)`` pre-activations at the steps' own examples.
        a: ``(b,)`` output weights.
        kappa: ``(q, t)`` ``-lr g_t (x_t x' + 1)``.
        rate: ``(t,)`` ``-lr g_t``.
        shift: ``(q, t)`` is added to.
    """
    for q in range(z.shape[0]):
        farthest = np.abs(kappa[q]).max()
        for r in range(z.shape[1]):
            before = z[q, r]
            if abs(before) > farthest * abs(a[r]):
                continue
            for t in range(own.shape[1]):
                if own[r, t] > 0:
                    after = before + kappa[q, t] * a[r]
                    if (after > 0) != (before > 0):
                        shift[q, t] += (a[r] + rate[t] * own[r, t]) * abs(after)


@_compiled
def sigmoid_pairs(
    z: ndarray, own: ndarray, a: ndarray, kappa: ndarray, rate: ndarray, shift: ndarray
) -> None:
    """The whole shift of frozen steps over sigmoid units; arguments as for :func:`relu_flips`."""
    one = z.dtype.type(1)
    for q in range(z.shape[0]):
        for r in range(z.shape[1]):
            rest = one / (one + math.exp(z[q, r]))
            for t in range(own.shape[1]):
                s = one / (one + math.exp(-own[r, t]))
                d = kappa[q, t] * a[r] * s * (one - s)
                after = one / (one + math.exp(-z[q, r] - d))
                gain = -math.expm1(-d) * after * rest
                if d < 0:
                    gain = math.expm1(d) * (one - rest) / (one + math.exp(z[q, r] + d))
                shift[q, t] += rate[t] * s * after + a[r] * gain


def frozen_pairs(activation: int, *arrays: ndarray) -> None:
    """What matrix products leave out for an activation; arguments as for :func:`relu_flips`."""
    (relu_flips if activation == RELU else sigmoid_pairs)(*arrays)


def replay(activation: int, *arrays: ndarray) -> None:
    """The loop for an activation; arguments as for :func:`relu_steps`."""
    loops: dict[int, Callable[..., None]] = {
        RELU: relu_steps,
        SIGMOID: partial(smooth_steps, sigmoid=True),
        IDENTITY: partial(smooth_steps, sigmoid=False),
    }
    loops[activation](*arrays)


def activate(z: ndarray, activation: int) -> tuple[ndarray, ndarray]:
    """``s(z)`` and ``s'(z)``."""
    if activation == RELU:
        return np.maximum(z, 0), (z > 0).astype(z.dtype)
    if activation == IDENTITY:
        return z, np.ones_like(z)
    s = expit(z)
    return s, s * expit(-z)
