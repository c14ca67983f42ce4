import numpy as np
import pytest

from localelastic.plots.pixels import block_mean, mean_along


def test_block_mean_by_hand():
    values = np.array([[1.0, 3.0, 10.0], [5.0, 7.0, 20.0], [2.0, 4.0, 9.0]])
    assert block_mean(values, block=2).tolist() == [[4.0, 15.0], [3.0, 9.0]]


def test_leading_axes_are_kept():
    stack = np.arange(32.0).reshape(2, 4, 4)
    small = block_mean(stack, block=2)
    assert small.shape == (2, 2, 2)
    assert small[1].tolist() == block_mean(stack[1], block=2).tolist()


@pytest.mark.parametrize("block", [1, 2, 3, 7, 50])
def test_weighted_by_their_sizes_the_blocks_keep_the_mean(block):
    values = np.random.default_rng(0).normal(size=23)
    means = mean_along(values, axis=0, block=block)
    sizes = np.bincount(np.arange(23) // block)
    assert np.dot(means, sizes) == pytest.approx(values.sum())
