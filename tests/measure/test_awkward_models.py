"""Models that break tools of this kind, each with its right value, and neighbours of each."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from bare import bare_loop, world
from expectations import expected, gram, labels, near, of_classes, seeded
from torch import nn, optim
from torch.nn import functional
from zoo import KINDS, images, padded, tokens, vectors

from localelastic import (
    Examples,
    Logits,
    ModelError,
    Relative,
    SettingError,
    prediction_change,
    similarity_matrix,
)


class ConvNorm(nn.Module):
    def __init__(self, out: int = 3, **settings) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, **settings)
        self.readout = nn.Linear(4, out)

    def forward(self, inputs):
        return self.readout(torch.relu(self.norm(self.conv(inputs))).mean((2, 3)))


@pytest.mark.parametrize(
    ("model", "inputs", "name"),
    [
        (ConvNorm(), images(4, 0), "BatchNorm2d 'norm'"),
        (ConvNorm(track_running_stats=False).eval(), images(4, 0), "BatchNorm2d 'norm'"),
        (nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3)), vectors(4, 0), "BatchNorm1d '1'"),
        (nn.Sequential(nn.SyncBatchNorm(6), nn.Linear(6, 3)), vectors(4, 0), "SyncBatchNorm '0'"),
    ],
)
def test_a1_a2_batch_statistics_are_named_before_any_step(model, inputs, name):
    model = model.double()
    before = world(model)
    for measure in (
        lambda: prediction_change(model, of_classes(inputs).take([0]), of_classes(inputs)),
        lambda: similarity_matrix(model, of_classes(inputs), similarity=Relative()),
    ):
        with pytest.raises(ModelError, match=name) as told:
            measure()
        assert "mode='eval'" in str(told.value)
        assert "mode='train'" in str(told.value)
    assert world(model) == before


def test_a1_frozen_statistics_when_asked_for():
    model, given = seeded(ConvNorm), of_classes(images(4, 0))
    model(images(8, 1))  # running statistics with something in them
    wanted = prediction_change(copy.deepcopy(model).eval(), given.take([0]), given)
    found = prediction_change(model, given.take([0]), given, mode="eval")
    near(found.change, wanted.change)
    assert model.training
    batch = prediction_change(model, given.take([0]), given, mode="train")
    assert np.abs(batch.change - wanted.change).max() > 1e-6


def test_a1_norms_of_each_example_alone_are_welcome():
    model = seeded(nn.Sequential, nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2), nn.Flatten()).train()
    probes = images(3, 1)
    found = prediction_change(model, of_classes(images(1, 0)), of_classes(probes))
    wanted = expected(model, (images(1, 0), labels(1)), (probes, labels(3)))
    near(
        prediction_change(model, of_classes(images(1, 0)), probes, prediction=Logits()).change,
        wanted.change,
    )
    assert found.prediction == "log-probability"


def test_a2_a_step_on_one_with_batch_statistics():
    model = seeded(nn.Sequential, nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    given = of_classes(vectors(4, 0))
    before = world(model)
    with pytest.raises(ModelError, match=r"more than one example.*mode='eval'.*mini-batch"):
        prediction_change(model, given.take([0]), given, mode="train")
    with pytest.raises(ModelError, match="more than one example"):
        similarity_matrix(model, given, similarity=Relative(), mode="train")
    assert world(model) == before
    pair = given.take([0, 1])
    found = prediction_change(model, pair, given, mode="train", prediction=Logits())
    wanted = expected(model, (pair.inputs, pair.targets), (given.inputs, given.targets))
    near(found.change, wanted.change)
    near(found.self_change, wanted.self_change)


def test_a4_running_statistics_are_no_change():
    model, given = seeded(ConvNorm), of_classes(images(4, 0))
    before = world(model)
    found = prediction_change(model, given, given, mode="train", lr=1e-13)
    assert world(model) == before
    assert np.abs(found.change).max() < 1e-11
    assert (found.noise_floor > 1e-4).all()  # among others a prediction is another


def test_a4_neighbour_statistics_of_ones_own_are_seen_in_the_floor():
    class Centres(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, inputs):
            return self.layer(inputs - inputs.mean(0))

    given = of_classes(vectors(5, 0))
    found = prediction_change(seeded(Centres), given.take([0]), given, lr=1e-6)
    assert found.below_floor.all()
    assert any("noise floor" in note for note in found.notes)


def test_a5_dropout_has_the_same_mask_on_both_sides():
    model = seeded(nn.Sequential, nn.Linear(6, 20), nn.Dropout(0.5), nn.Linear(20, 3))
    given = of_classes(vectors(4, 0))
    found = prediction_change(model, given.take([0]), given, lr=1e-12)
    assert 0 < np.abs(found.change).max() < 1e-9
    calm = prediction_change(copy.deepcopy(model).eval(), given.take([0]), given)
    near(prediction_change(model, given.take([0]), given, mode="eval").change, calm.change)
    assert model.training


SAME = ["GRU", "LSTM", "checkpoint, reentrant", "checkpoint", "function of old style",
        "function that detaches", "full backward hook", "data-dependent way",
        "table tied to the head", "layer under two names", "layer used twice", "sparse table",
        "bare parameter, returns a tuple", "scripted", "adapter on a frozen base",
        "two precisions"]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize(
    "name",
    list(SAME),
)
def test_a6_to_a24_gradients_of_awkward_models_are_those_of_autograd(name):
    model, inputs = KINDS[name].model(1), KINDS[name].inputs(4, 0)
    wanted = gram(KINDS[name].model(1), inputs)
    before = world(model)
    matrix = similarity_matrix(model, Examples.of(inputs))
    near(matrix.values, wanted, 1e-6 if name == "two precisions" else 1e-9)
    assert world(model) == before
    assert "gradient" in matrix.strategy


def test_a6_recurrent_layers_say_why_they_take_the_slow_way():
    model, given = KINDS["GRU"].model(3), of_classes(vectors(3, 0))
    assert "first order" in prediction_change(model, given.take([0]), given).strategy


def test_a10_attention_at_padded_places_is_the_same_on_both_sides():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    class Places(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.encoder = nn.Embedding(9, 4), nn.TransformerEncoder(layer, 2)

        def forward(self, tokens, padding):
            return self.encoder(self.table(tokens), src_key_padding_mask=padding)

    model = seeded(Places).eval()

    def loss(output, target):
        return output[:, 0].square().sum(1).mean()

    step, probes = padded(1, 1), padded(5, 2)
    found = prediction_change(
        model, step, probes, loss=loss, prediction=lambda z: z.flatten(1), lr=0.1
    )
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        wanted = expected(
            model, (step, None), (probes, None), loss=loss, lr=0.1, watch=lambda z, y: z.flatten(1)
        )
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)
    assert padded(5, 2)["padding"].any()
    tiny = prediction_change(
        model, step, probes, loss=loss, prediction=lambda z: z.flatten(1), lr=1e-12
    )
    assert np.abs(tiny.change).max() < 1e-9
    assert (tiny.noise_floor < 1e-9).all()


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_a13_the_users_hooks_stay_and_count_nothing_of_ours():
    model, heard = seeded(nn.Sequential, nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)), []
    model[2].register_forward_hook(lambda module, into, outof: heard.append(id(module)))
    given = of_classes(vectors(3, 0))
    before = world(model)
    prediction_change(model, given.take([0]), given)
    assert world(model) == before
    assert id(model[2]) not in heard  # it heard the copy


def test_a17_both_names_are_still_one_layer():
    model, given = KINDS["layer under two names"].model(3), of_classes(vectors(3, 0))
    prediction_change(model, given.take([0]), given)
    similarity_matrix(model, given, similarity=Relative())
    assert model.o is model.inner.o
    assert model.o.weight is model.inner.o.weight


def _freeze(model, *names):
    for name, parameter in model.named_parameters():
        if name in names:
            parameter.requires_grad_(False)
    return model


@pytest.mark.parametrize(
    "frozen", [("0.weight", "0.bias"), ("0.weight",), ("2.weight",), ("2.bias",)]
)
def test_a20_only_what_is_trainable_moves(frozen):
    model = _freeze(seeded(nn.Sequential, nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)), *frozen)
    probes = vectors(4, 1)
    found = prediction_change(model, of_classes(vectors(1, 0)), probes, lr=0.1)
    wanted = expected(model, (vectors(1, 0), labels(1)), (probes, None), lr=0.1)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)
    assert found.moved_share == pytest.approx(wanted.moved_share)


def test_a20_all_frozen_and_none_in_the_optimizer():
    model = seeded(nn.Linear, 6, 3)
    given = of_classes(vectors(3, 0))
    other = seeded(nn.Linear, 6, 3)
    with pytest.raises(SettingError, match=r"model\.parameters\(\)"):
        prediction_change(model, given, given, optimizer=optim.SGD(other.parameters(), lr=0.1))
    _freeze(model, "weight", "bias")
    with pytest.raises(ModelError, match="all frozen"):
        prediction_change(model, given, given)


def test_a20_neighbour_an_optimizer_of_some_parameters_moves_those():
    model = seeded(nn.Sequential, nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    given = of_classes(vectors(3, 0))
    found = prediction_change(
        model, given.take([0]), vectors(4, 1), optimizer=optim.SGD(model[2].parameters(), lr=0.1)
    )
    frozen = _freeze(copy.deepcopy(model), "0.weight", "0.bias")
    wanted = prediction_change(frozen, given.take([0]), vectors(4, 1), lr=0.1)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)
    assert found.moved_share == wanted.moved_share == 1


def test_a20_neighbour_a_parameter_that_nothing_reaches():
    class Spare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.spare = nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, inputs):
            return self.used(inputs)

    model, given = seeded(Spare), of_classes(vectors(3, 0))
    found = prediction_change(model, given.take([0]), given)
    assert found.moved_share == 0.5
    near(found.change, prediction_change(model.used, given.take([0]), given).change)


class Counts(nn.Module):
    """Adds up its calls, in a buffer or as an attribute."""

    def __init__(self, buffer: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        if buffer:
            self.register_buffer("calls", torch.zeros(()))
        else:
            self.calls = 0.0

    def forward(self, inputs):
        self.calls += 1
        shift = torch.zeros(3, dtype=inputs.dtype)
        shift[0] = 0.1 * self.calls
        return self.layer(inputs) + shift


def test_a22_calls_counted_in_a_buffer_and_as_an_attribute():
    given = of_classes(vectors(4, 0))
    counted = seeded(Counts, True)
    before = world(counted)
    found = prediction_change(counted, given.take([0]), given, prediction=Logits())
    wanted = expected(counted, (vectors(4, 0)[:1], labels(1)), (vectors(4, 0), None))
    near(found.change, wanted.change)
    assert world(counted) == before
    drifting = seeded(Counts, False)
    found = prediction_change(drifting, given.take([0]), given, prediction=Logits(), lr=1e-3)
    assert drifting.calls == 0
    assert (found.noise_floor > 0.05).all()


@pytest.mark.parametrize("steps", [0, 2])
def test_a24_neighbour_a_bag_of_sparse_words_with_its_own_optimizer(steps):
    def build():
        return nn.Sequential(nn.EmbeddingBag(9, 3, sparse=True, mode="sum"))

    def walker(model):
        made = optim.SparseAdam(list(model.parameters()), lr=0.1)
        for _ in range(steps):
            made.zero_grad()
            model(tokens(3, 7)).square().mean().backward()
            made.step()
        return made

    model, twin = seeded(build), seeded(build)
    optimizer = walker(model)
    wanted = bare_loop(
        twin, walker(twin), (tokens(2, 1), labels(2)), (tokens(4, 2), None),
        functional.cross_entropy, lambda z, y: z,
    )  # fmt: skip
    found = prediction_change(model, of_classes(tokens(2, 1)), tokens(4, 2), optimizer=optimizer)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)
