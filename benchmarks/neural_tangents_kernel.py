"""Run by an interpreter that has neural-tangents: the empirical kernel of the paper's CNN.

``neural_tangents_kernel.py ARRAYS.npz KERNEL.npy`` reads inputs and weights, writes the kernel and
prints its time in seconds, compilation left out.
"""

from __future__ import annotations

import sys
import time

import jax
import neural_tangents
import numpy as np
from jax import lax
from jax import numpy as jnp

BATCH = 500
"""Of examples on each side; this and the implementation are the fastest of those tried."""


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def convolved(x, weight, bias):
    return lax.conv(x, weight, (1, 1), "VALID") + bias[None, :, None, None]


def output(weights, x):
    x = pooled(jax.nn.relu(convolved(x, weights["conv1.weight"], weights["conv1.bias"])))
    x = pooled(jax.nn.relu(convolved(x, weights["conv2.weight"], weights["conv2.bias"])))
    x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ weights["dense.weight"].T + weights["dense.bias"])
    return x @ weights["readout.weight"].T + weights["readout.bias"]


def main(arrays: str, kernel: str) -> None:
    weights = {name: jnp.asarray(value) for name, value in np.load(arrays).items()}
    inputs = weights.pop("inputs")
    of = neural_tangents.empirical_ntk_fn(
        output,
        vmap_axes=0,
        implementation=neural_tangents.NtkImplementation.JACOBIAN_CONTRACTION,
    )
    batched = neural_tangents.batch(of, batch_size=BATCH, device_count=0)
    batched(inputs[: 2 * BATCH], None, weights)
    start = time.perf_counter()
    result = np.asarray(batched(inputs, None, weights))
    print(time.perf_counter() - start)
    np.save(kernel, result.squeeze())


if __name__ == "__main__":
    main(*sys.argv[1:])
