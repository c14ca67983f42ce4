"""What users do around a measurement, and must not be able to break with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from localelastic import errors
from localelastic.change import Auto, Gradient, Replay
from localelastic.cluster import cluster_by_elasticity
from localelastic.data.examples import Examples
from localelastic.matrix import mean_of
from localelastic.measure import similarity_matrix
from localelastic.models import CNN, CrossEntropy, SquaredLoss, TwoLayer, WarmUp, warm_up
from localelastic.similarity import CentredKernelized, Kernelized, Relative
from localelastic.trajectory import Sequential
from worlds import examples, fingerprint, points, unchecked

HIDDEN = ("hidden", "readout")
LAYERS = ("conv1", "conv2", "dense", "readout")


class Sine(nn.Module):
    def forward(self, inputs):
        return inputs.sin()


@pytest.mark.parametrize("strategy", [Gradient(), Replay(0.1)])
@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode])
def test_inside_no_grad_and_inference_mode(strategy, around):
    model, primary = TwoLayer((6,), width=5).double(), examples(4)
    expected = similarity_matrix(model, primary, strategy=strategy).values
    with around():
        assert (similarity_matrix(model, primary, strategy=strategy).values == expected).all()
        warm_up(model, primary, examples(4), loss=SquaredLoss(), settings=WarmUp(epochs=1))


def test_inputs_that_require_grad_get_none():
    inputs = points(4, (6,)).requires_grad_()
    primary = Examples.of(inputs)
    model = TwoLayer((6,), width=5).double()
    similarity_matrix(model, primary, strategy=Replay(0.1))
    warm_up(model, primary, primary, loss=SquaredLoss(), settings=WarmUp(epochs=1))
    assert inputs.grad is None


@pytest.mark.parametrize("similarity", [Kernelized(), Relative(), CentredKernelized()])
@pytest.mark.parametrize("strategy", [Auto(), Gradient(), Auto(1e-3), Replay(1e-3)])
@pytest.mark.parametrize("loss", [SquaredLoss(), CrossEntropy()])
def test_each_layer_has_a_vote(strategy, similarity, loss):
    """From one go or turn by turn: the mean of what each layer gives alone."""
    torch.manual_seed(0)
    model, primary = CNN((1, 16, 16), width=40).double(), examples(6, (1, 16, 16))
    asked = {"strategy": strategy, "similarity": similarity, "loss": loss}
    alone = [similarity_matrix(model, primary, layers=[name], **asked) for name in LAYERS]
    before = fingerprint(model)
    found = similarity_matrix(model, primary, layers="each", **asked)
    assert fingerprint(model) == before
    expected = mean_of(alone)
    assert (found.kept, found.excluded) == (expected.kept, expected.excluded)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12, atol=1e-12)
    assert found.strategy == f"{alone[0].strategy}; mean over 4 layers"
    together = similarity_matrix(model, primary, layers="all", **asked)
    ours, theirs = (one.values / one.values[0, 0] for one in (found, together))
    assert not np.allclose(ours, theirs)


@pytest.mark.parametrize(
    ("strategy", "kept"), [(Gradient(), 0), (Replay(0.1), 0), (Replay(0.1), 1)]
)
def test_a_layer_that_moves_nothing_has_no_vote(strategy, kept, tmp_path):
    model = TwoLayer((6,), width=5).double()
    model.spare = nn.Linear(6, 1).double()
    keep = tmp_path / "rows" if kept else None
    found = similarity_matrix(model, examples(4), layers="each", strategy=strategy, keep=keep)
    assert "mean over 2 layers; 1 of 3 layers have no vote (spare.weight, spare" in found.strategy
    alone = [similarity_matrix(model, examples(4), layers=x, strategy=strategy) for x in HIDDEN]
    np.testing.assert_allclose(found.values, mean_of(alone).values, rtol=1e-12)
    with pytest.raises(errors.ModelError, match="depend on a trainable parameter"):
        similarity_matrix(model, examples(4), layers="spare", strategy=strategy)
    with pytest.raises(errors.SettingError, match=r"hidden, readout, spare\).*got nothing"):
        similarity_matrix(model, examples(4), layers="nothing", strategy=strategy)


def test_a_layer_whose_steps_overshoot_has_no_vote():
    """Its self-similarities are negative: over their mean, every sign would turn."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(6, 3), Sine(), nn.Linear(3, 1)).double()
    with torch.no_grad():
        model[2].weight *= 4
    asked = {"strategy": Replay(10.0)}
    first = similarity_matrix(model, examples(6), layers="0", **asked)
    assert first.values.diagonal().mean() < 0
    found = similarity_matrix(model, examples(6), layers="each", **asked)
    last = similarity_matrix(model, examples(6), layers="2", **asked)
    np.testing.assert_allclose(found.values, last.values, rtol=1e-12)
    assert "positive mean self-similarity" in found.strategy
    with pytest.raises(errors.MeasurementError, match="take a smaller lr"):
        mean_of([first, last])


def test_rounding_is_told_of_each_layer_too():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 1))
    primary = Examples.of(points(8, (6,)).float())
    asked = {"strategy": Replay(3e-7)}
    alone = [similarity_matrix(model, primary, layers=name, **asked) for name in ("0", "2")]
    found = similarity_matrix(model, primary, layers="each", **asked)
    for share in ("below_floor", "moved_share"):
        expected = np.mean([getattr(one, share) for one in alone], axis=0)
        np.testing.assert_allclose(getattr(found, share), expected)
    assert found.below_floor.mean() > 0


def test_an_optimizer_of_some_weights_has_no_turn_for_the_others():
    model, primary = TwoLayer((6,), width=5).double(), examples(4)
    optimizer = torch.optim.SGD(model.hidden.parameters(), lr=0.1)
    asked = {"similarity": Relative(), "optimizer": optimizer}
    similarity_matrix(model, primary, **asked)
    with pytest.raises(errors.SettingError, match=r"one without readout\.weight, readout\.bias"):
        similarity_matrix(model, primary, layers="each", **asked)


def test_rows_of_each_layer_are_kept_in_a_folder_of_their_own(tmp_path):
    model = TwoLayer((6,), width=5).double()
    asked = {"layers": "each", "strategy": Replay(0.1), "keep": tmp_path}
    found = similarity_matrix(model, examples(4), **asked)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["layer-0", "layer-1"]
    again = similarity_matrix(model, examples(4), **asked)
    assert (again.values == found.values).all()


@pytest.mark.parametrize(("before", "now"), [("each", "all"), ("readout", "each")])
def test_rows_of_other_layers_are_refused_before_a_warm_up(tmp_path, before, now):
    model = TwoLayer((6,), width=5).double()
    asked = {"strategy": Replay(0.1), "keep": tmp_path}
    similarity_matrix(model, examples(4), layers=before, **asked)
    weights = fingerprint(model)
    with pytest.raises(errors.OutputError, match="another number of networks or layers"):
        cluster_by_elasticity(
            model, examples(4), examples(4), n_clusters=2, layers=now, settings=WarmUp(1), **asked
        )
    assert fingerprint(model) == weights
    with pytest.raises(errors.OutputError, match="another number of networks or layers"):
        similarity_matrix(model, examples(4), layers=now, **asked)


def test_rows_of_networks_are_no_rows_of_layers(tmp_path):
    models = [TwoLayer((6,), width=5).double() for _ in range(2)]
    asked = {"strategy": Replay(0.1), "keep": tmp_path, "settings": WarmUp(1), "n_clusters": 2}
    sides = examples(4), examples(4, seed=1)
    cluster_by_elasticity(models, *sides, layers="all", **asked)
    with pytest.raises(errors.OutputError, match="got network-0, network-1: other files"):
        cluster_by_elasticity(models[0], *sides, layers="each", **asked)


def test_folders_that_cannot_keep_rows_are_refused_before_a_warm_up(tmp_path):
    model, sides = TwoLayer((6,), width=5).double(), (examples(4), examples(4))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("chapter 1")
    weights = fingerprint(model)
    for place, words in [("other", "got thesis.tex"), ("other/thesis.tex", "is not a folder")]:
        with pytest.raises(errors.OutputError, match=words):
            cluster_by_elasticity(
                model, *sides, n_clusters=2, strategy=Replay(0.1), keep=tmp_path / place
            )
    assert fingerprint(model) == weights


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("layers", 3, "Sequence"),
        ("primary", torch.zeros(3, 6), "Examples.of"),
        ("similarity", "kernelized", "Similarity"),
        ("similarity", Kernelized, "Similarity"),
        ("loss", "squared", "function"),
        ("trajectory", "frozen", "Trajectory"),
        ("strategy", "replay", "Strategy"),
    ],
)
def test_arguments_of_another_kind(name, value, expected):
    arguments = {"model": nn.Linear(6, 1), "primary": examples(3)} | {name: value}
    with pytest.raises(errors.SettingError, match=f"expected {name}.*{expected}"):
        unchecked(similarity_matrix)(**arguments)


@pytest.mark.parametrize(
    ("lr", "dtype", "hidden"),
    [(1e-2, torch.float32, False), (2e-8, torch.float32, True), (2e-8, torch.float64, False)],
)
def test_rows_of_real_steps_say_how_far_they_stand_out_of_noise(lr, dtype, hidden):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))
    primary = Examples.of(points(4, (6,)).float())
    found = similarity_matrix(
        model, primary, similarity=Kernelized(), strategy=Replay(lr, dtype=dtype)
    )
    assert found.below_floor.shape == found.moved_share.shape == (len(found.ids),)
    assert bool(found.below_floor.mean() > 0.2) is hidden
    assert bool(found.moved_share.mean() < 0.9) is hidden
    moving = similarity_matrix(
        model, primary, primary, strategy=Replay(1e-2), trajectory=Sequential()
    )
    assert moving.below_floor.shape == (4,)
    assert moving.moved_share is None
    assert similarity_matrix(model, primary).below_floor is None
