from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from localelastic.change import Gradient, Replay
from localelastic.errors import SettingError
from localelastic.measure import similarity_matrix
from localelastic.models import CrossEntropy, Scalar, SquaredLoss
from localelastic.trajectory import Sequential
from worlds import examples, paper_networks

NETWORKS = paper_networks()


@pytest.mark.parametrize("loss", [SquaredLoss(), CrossEntropy()])
@pytest.mark.parametrize("name", NETWORKS)
def test_is_the_limit_of_the_kernelized_similarity(name, loss):
    """The gap to the finite step shrinks in proportion to the step size."""
    model, shape = NETWORKS[name]
    primary = examples(5, shape)
    limit = similarity_matrix(model, primary, loss=loss, strategy=Gradient()).values

    def gap(lr):
        finite = similarity_matrix(model, primary, loss=loss, strategy=Replay(lr)).values
        return np.abs(finite - limit).max() / np.abs(limit).max()

    assert gap(1e-7) < 1e-4
    assert gap(1e-7) < 0.2 * gap(1e-6) + 1e-7


def test_logit_of_cross_entropy_is_an_option():
    model, shape = NETWORKS["TwoLayer-relu"]
    primary = examples(4, shape)
    logit = similarity_matrix(model, primary, loss=CrossEntropy(), prediction=Scalar())
    squared = similarity_matrix(model, primary)
    np.testing.assert_array_equal(logit.values, squared.values)


def test_refuses_a_moving_trajectory():
    model, shape = NETWORKS["TwoLayer-relu"]
    with pytest.raises(SettingError, match="fixed weights"):
        similarity_matrix(
            model,
            examples(3, shape),
            examples(2, shape),
            trajectory=Sequential(),
            strategy=Gradient(),
        )


def test_a_dead_example_is_left_out_with_its_reason():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False)).double()
    with torch.no_grad():
        model[0].weight.copy_(torch.eye(3, 2))
        model[0].bias.zero_()
    primary = examples(4, (2,))
    primary.inputs[:] = torch.tensor([[1.0, 2.0], [-1.0, -1.0], [3.0, 1.0], [1.0, 1.0]])
    matrix = similarity_matrix(model, primary)
    assert matrix.excluded == (("1", "no self-change: the gradient is zero"),)
    assert matrix.ids == ("0", "2", "3")
    assert np.isfinite(matrix.values).all()
