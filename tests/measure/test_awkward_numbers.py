"""Numbers, targets and optimizers that break tools of this kind, each with its right value."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from bare import world
from expectations import expected, labels, near, of_classes, seeded
from torch import nn, optim
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from zoo import FEATURES, KINDS, padded, vectors

from localelastic import (
    AnswerLogProbability,
    CrossEntropy,
    DataError,
    Examples,
    Gradient,
    InputError,
    Kernelized,
    KernelKMeans,
    Logits,
    Probability,
    Relative,
    Replay,
    Scalar,
    SettingError,
    chance_accuracy,
    clustering_accuracy,
    prediction_change,
    similarity_matrix,
)

# B: numbers.


def test_b1_other_batches_differ_by_no_more_than_the_floor():
    model = seeded(nn.Sequential, nn.Linear(6, 50), nn.Tanh(), nn.Linear(50, 3)).float()
    given = of_classes(vectors(20, 0).float())
    found = [
        prediction_change(model, given.take([0]), given, batch_size=size, prediction=Logits())
        for size in (1, 7, 256)
    ]
    exact = prediction_change(
        model, given.take([0]), given, dtype=torch.float64, prediction=Logits()
    )
    for one in found:
        error = np.linalg.norm(one.change - exact.change, axis=1)
        assert (error < 4 * one.noise_floor + 1e-7).all()
        assert (one.noise_floor < 1e-5).all()


def test_b3_steps_of_any_size_are_measured_or_flagged_and_never_altered():
    model, given = seeded(nn.Linear, 6, 1).float(), Examples.of(vectors(4, 0).float())
    target = {"loss": lambda z, y: (z - 1).square().mean()}
    wanted = None
    for lr in (1e-2, 1e-5, 1e-8, 1e-11):
        found = prediction_change(
            model, given.take([0]), given, lr=lr, dtype=torch.float64, **target
        )
        assert f"lr={lr:g}" in found.step
        wanted = found.change / lr if wanted is None else wanted
        # Linear in the weights, so exactly in proportion.
        np.testing.assert_allclose(found.change / lr, wanted, rtol=1e-4 if lr < 1e-9 else 1e-6)
    lost = prediction_change(model, given.take([0]), given, lr=1e-9, **target)
    assert lost.below_floor.all()
    assert any("dtype=torch.float64" in note for note in lost.notes)


def test_b5_nothing_moves_and_nothing_is_nan():
    dead = seeded(nn.Sequential, nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        dead[0].bias.fill_(-100)
        dead[2].bias.fill_(1)
    dead[2].bias.requires_grad_(False)
    found = prediction_change(dead, vectors(1, 0), vectors(3, 1))
    assert (found.change == 0).all()
    assert (found.relative == 0).all()
    assert (found.along == 0).all()
    assert found.moved_share == 0
    assert any("no weight" in note for note in found.notes)
    assert "moved nothing" in found.sentence
    fitted = nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        fitted.weight.fill_(1.0)
    ones = Examples.of(torch.tensor([[1.0], [2.0]]).double())
    matrix = similarity_matrix(fitted, ones, similarity=Relative(), strategy=Replay(0.1))
    assert [name for name, _ in matrix.excluded] == ["0"]


def test_b6_saturated_probabilities_are_finite():
    line = nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        line.weight.fill_(200.0)
    given = Examples.of(torch.ones(1, 1).double(), targets=[0.0])
    found = prediction_change(line, given, given, loss=CrossEntropy(), lr=1e-3)
    # The logit falls by lr = 1e-3: s(z - u) - s(z) = -s(z) s(u - z) (1 - exp(-u)).
    wanted = math.exp(-200) * -math.expm1(1e-3)
    assert found.change[0] == pytest.approx(wanted, rel=1e-9)
    assert found.loss == pytest.approx(200)
    assert 0 < found.kl[0] < 1e-80
    wide = nn.Linear(1, 3, bias=False).double()
    with torch.no_grad():
        wide.weight.copy_(torch.tensor([[300.0], [0.0], [-900.0]]))
    one = Examples.of(torch.ones(1, 1).double(), targets=torch.tensor([2]))
    many = prediction_change(wide, one, one, prediction=Probability(), lr=1e-3)
    assert np.isfinite(many.change).all()
    assert many.change[0, 1] == pytest.approx(math.exp(-300) * math.expm1(1e-3), rel=1e-9)
    assert np.isfinite(many.kl).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_b8_half_precision_is_flagged_and_can_be_measured_exactly(dtype):
    model, given = KINDS["transformer with padding"].model(3).to(dtype), padded(5, 0)
    step = Examples.of(padded(1, 1), targets=labels(1))
    before = world(model)
    rough = prediction_change(model, step, given, lr=1e-6)
    assert world(model) == before
    assert rough.below_floor.all()
    fine = prediction_change(model, step, given, lr=1e-6, dtype=torch.float64)
    wanted = expected(
        copy.deepcopy(model).double(), (padded(1, 1), labels(1)), (given, None), lr=1e-6
    )
    near(fine.change, wanted.change, 1e-6)
    assert not fine.below_floor.any()


def test_b12_sum_and_mean():
    model, given = KINDS["two layers"].model(3), of_classes(vectors(4, 0))
    means, sums = nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="sum")
    one, other = (
        similarity_matrix(
            model, given, loss=loss, similarity=similarity, strategy=Replay(0.1)
        ).values
        for loss, similarity in ((means, Kernelized()), (sums, Kernelized()))
    )
    near(one, other)
    # A summed loss over four is a step four times as long.
    summed = prediction_change(model, given, given, loss=sums, lr=0.05)
    mean = prediction_change(model, given, given, loss=means, lr=0.2)
    near(summed.change, mean.change)


# C and D: around the measurement.


def test_c5_c17_negative_similarities_and_chance():
    values = np.array([[2.0, -1, -1, 1], [-1, 2, 1, -1], [-1, 1, 2, -1], [1, -1, -1, 2]])
    found = KernelKMeans(2, random_state=0).fit(values).labels_
    assert clustering_accuracy(list("abba"), found) == 1
    noise = list("ab" * 10)
    half = np.array([0] * 10 + [1] * 10)
    assert clustering_accuracy(noise, half) == 0.5
    assert chance_accuracy(noise, 2) > 0.5


def test_c19_equal_inputs_with_different_names_are_two_rows():
    twice = Examples.of(
        torch.cat([vectors(2, 0), vectors(1, 0)]),
        ids=["a", "b", "c"],
        targets=torch.tensor([0, 1, 2]),
    )
    found = prediction_change(KINDS["two layers"].model(3), twice.take([2]), twice)
    assert (found.ids, found.step_ids) == (("a", "b", "c"), ("c",))
    assert found.change[2] == pytest.approx(found.self_change[0])
    assert found.change[0] != found.change[2]  # another target's log-probability


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_d2_a_target_that_is_not_finite_refuses_the_step(bad):
    model = KINDS["two layers"].model(1)
    before = world(model)
    step = Examples.of(vectors(2, 0), targets=torch.tensor([1.0, bad]).double())
    with pytest.raises(DataError, match="not finite"):
        prediction_change(model, step, vectors(3, 1))
    assert world(model) == before
    # Where only the probes have it, it is not used.
    found = prediction_change(model, step.take([0]), step)
    assert np.isfinite(found.change).all()


@pytest.mark.parametrize("wrong", [7, 3, -1])
@pytest.mark.parametrize("side", ["step_on", "probes"])
def test_d3_a_class_that_the_model_does_not_have(wrong, side):
    model = KINDS["two layers"].model(3)
    good = of_classes(vectors(2, 0))
    bad = Examples.of(vectors(2, 0), targets=torch.tensor([1, wrong]))
    sides = {"step_on": good, "probes": good} | {side: bad}
    before = world(model)
    with pytest.raises(DataError, match=f"from 0 to 2, got {wrong}"):
        prediction_change(model, **sides)
    assert world(model) == before


def test_d3_neighbour_targets_of_another_kind():
    model, inputs = KINDS["two layers"].model(3), vectors(2, 0)
    with pytest.raises(InputError, match="no loss was given"):
        prediction_change(model, Examples.of(inputs, targets=[0.0, 1.0]), inputs)
    with pytest.raises(DataError, match="could not be computed"):
        prediction_change(
            model, Examples.of(inputs, targets=torch.zeros(2, 5)), inputs, loss=lambda z, y: z - y
        )
    with pytest.raises(InputError):
        prediction_change(model, of_classes(inputs), inputs, prediction=AnswerLogProbability())


def test_d5_loaders_that_keep_the_order_and_those_that_do_not():
    data = TensorDataset(vectors(5, 0), labels(5))
    model, step = KINDS["two layers"].model(3), of_classes(vectors(1, 1))
    wanted = prediction_change(model, step, of_classes(vectors(5, 0)))
    for source in (data, DataLoader(data, batch_size=2), DataLoader(data, batch_size=5)):
        found = prediction_change(model, step, source)
        near(found.change, wanted.change)
        assert found.prediction == "log-probability"
    with pytest.raises(DataError, match="shuffle=False"):
        prediction_change(model, step, DataLoader(data, batch_size=2, shuffle=True))
    with pytest.raises(DataError, match="drop_last"):
        prediction_change(model, step, DataLoader(data, batch_size=2, drop_last=True))


def test_d5_neighbour_data_sets_of_mappings_and_of_inputs_alone():
    class Named(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            if i >= 3:
                raise IndexError
            return {k: v[i] for k, v in padded(3, 0).items()}

    model = KINDS["transformer with padding"].model(3)
    step = Examples.of(padded(1, 1), targets=labels(1))
    wanted = prediction_change(model, step, padded(3, 0))
    for source in (Named(), DataLoader(Named(), batch_size=2)):
        near(prediction_change(model, step, source).change, wanted.change)


# E: optimizers.


def test_e3_fresh_and_warm_adam_take_different_steps_and_say_so():
    model, given = KINDS["two layers"].model(3), of_classes(vectors(4, 0))
    fresh = optim.AdamW(model.parameters(), lr=0.01, weight_decay=0)
    warm = optim.AdamW(model.parameters(), lr=0.01, weight_decay=0)
    state = copy.deepcopy(model.state_dict())
    for _ in range(3):
        warm.zero_grad()
        functional.cross_entropy(model(given.inputs), given.targets).backward()
        warm.step()
    model.load_state_dict(state)
    one, two = (
        prediction_change(model, given.take([0]), given, optimizer=each) for each in (fresh, warm)
    )
    assert one.step == two.step
    assert one.step.startswith("AdamW with lr=0.01")
    assert np.abs(one.change - two.change).max() > 1e-3
    # Fresh: every weight with a gradient moves by lr, in the sign of its gradient.
    twin = copy.deepcopy(model)
    functional.cross_entropy(twin(given.inputs[:1]), given.targets[:1]).backward()
    start = [p.detach().clone() for p in twin.parameters()]
    with torch.no_grad():
        for p in twin.parameters():
            p.sub_(0.01 * p.grad / (p.grad.abs() + 1e-8))
        after = twin(given.inputs).log_softmax(1)
        for p, w in zip(twin.parameters(), start, strict=True):
            p.copy_(w)
        before = twin(given.inputs).log_softmax(1)
    wanted = (after - before).gather(1, given.targets[:, None])[:, 0].numpy()
    near(one.change, wanted, 1e-8)


@pytest.mark.parametrize(
    "kind", ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adagrad",
             "Adadelta", "ASGD", "Adafactor", "LBFGS"],
)  # fmt: skip
def test_e3_neighbour_a_warm_optimizer_in_another_precision(kind):
    """The state goes along from float32 to float64, and the step is the optimizer's own."""

    def made():
        model = KINDS["two layers"].model(3).float()
        more = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(optim, kind)(model.parameters(), lr=0.01, **more)

        def closure():
            optimizer.zero_grad()
            loss = model(vectors(4, 5).float()).square().mean()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        return model, optimizer

    model, optimizer = made()
    given = of_classes(vectors(4, 0))
    found = prediction_change(
        model, given.take([0]), given, optimizer=optimizer, dtype=torch.float64
    )
    rough = prediction_change(model, given.take([0]), given, optimizer=optimizer)
    scale = np.abs(found.change).max()
    np.testing.assert_allclose(found.change, rough.change, rtol=0, atol=1e-3 * scale + 1e-6)


def test_e8_each_flag_is_where_it_was():
    model = seeded(
        nn.Sequential, nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3)
    )
    model.train()
    model[1].eval()
    given = of_classes(vectors(3, 0))
    before = {name: module.training for name, module in model.named_modules()}
    for mode in (None, "eval", "train"):
        pair = given.take([0, 1])
        prediction_change(model, pair, given, mode=mode)
        assert {name: module.training for name, module in model.named_modules()} == before
    quiet = prediction_change(copy.deepcopy(model).eval(), given.take([0]), given)
    near(prediction_change(model, given.take([0]), given, mode="eval").change, quiet.change)


def test_f1_memory_is_given_and_kept_to():
    model = seeded(nn.Sequential, nn.Linear(6, 30), nn.Tanh(), nn.Linear(30, 1))
    given = Examples.of(vectors(8, 0))
    wanted = similarity_matrix(model, given).values
    weights = sum(p.numel() for p in model.parameters()) * 8
    near(similarity_matrix(model, given, strategy=Gradient(memory=8 * weights)).values, wanted)
    with pytest.raises(SettingError, match="memory"):
        similarity_matrix(model, given, strategy=Gradient(memory=10))


def test_f1_neighbour_batches_of_probes_change_nothing():
    model, given = KINDS["two layers"].model(3), of_classes(vectors(20, 0))
    whole = prediction_change(model, given.take([3]), given)
    parts = prediction_change(model, given.take([3]), given, batch_size=3)
    near(parts.change, whole.change)
    near(parts.first_order, whole.first_order)
    assert whole.change.shape == (20,)
    assert given.shape[0] == FEATURES
    near(
        prediction_change(model, given.take([3]), given, prediction=Logits()).self_change[0],
        prediction_change(model, given.take([3]), given, prediction=Logits()).change[3],
    )
    with pytest.raises(SettingError, match="scalar expects one output"):
        prediction_change(model, given.take([3]), given, prediction=Scalar())
