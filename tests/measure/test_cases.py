"""Inputs that break tools of this kind, each with its right value, and neighbours of each."""

from __future__ import annotations

import copy
import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from bare import bare_loop, world
from torch import Tensor, nn, optim
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from zoo import FEATURES, KINDS, images, padded, tokens, vectors

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
    ModelError,
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


def seeded(build, *args, **named):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build(*args, **named).double()


def labels(n: int) -> Tensor:
    return torch.arange(n) % 3


def of_classes(inputs) -> Examples:
    return Examples.of(inputs, targets=labels(len(inputs)))


def expected(model, step_on, probes, *, lr=0.01, loss=functional.cross_entropy, watch=None):
    """By the bare loop, on a copy."""
    twin = copy.deepcopy(model)
    trainable = [p for p in twin.parameters() if p.requires_grad]
    watch = watch or (lambda z, y: z)
    return bare_loop(twin, optim.SGD(trainable, lr=lr), step_on, probes, loss, watch)


def near(found, wanted, rtol=1e-9):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max() + 1e-15)


def gram(model, inputs) -> np.ndarray:
    """Inner products of gradients, one example at a time; leaves gradients."""
    rows = []
    for i in range(len(inputs)):
        model.zero_grad()
        raw = model(inputs[i : i + 1])
        (raw[0] if isinstance(raw, tuple) else raw).sum().backward()
        grads = [p.grad.to_dense().flatten() for p in model.parameters() if p.grad is not None]
        rows.append(torch.cat(grads))
    jacobian = torch.stack([row.double() for row in rows])
    return (jacobian @ jacobian.T).numpy()


# A: models.


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


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(torch.jit.script, id="scripted"),
        pytest.param(lambda m: torch.jit.trace(m, vectors(2, 1)), id="traced"),
        pytest.param(lambda m: torch.compile(m, backend="eager"), id="compiled"),
        pytest.param(nn.DataParallel, id="parallel"),
    ],
)
def test_a27_scripted_traced_and_compiled_with_a_plain_step(make):
    plain = seeded(nn.Sequential, nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    given = of_classes(vectors(4, 0))
    wanted = prediction_change(plain, given.take([0]), given, lr=0.1)
    found = prediction_change(make(plain), given.take([0]), given, lr=0.1)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)


Returned = namedtuple("Returned", ["hidden", "logits"])


@dataclass
class Held:
    scores: Tensor
    note: str = ""


@pytest.mark.parametrize(
    ("wrap", "select"),
    [
        (lambda z, h: {"hidden": h, "logits": z}, None),
        (lambda z, h: (z, h), None),
        (lambda z, h: [z, h], None),
        (lambda z, h: Returned(h, z), None),
        (lambda z, h: Held(z), None),
        (lambda z, h: {"loss": h.mean(), "scores": z}, None),
        (lambda z, h: {"hidden": h, "scores": z}, lambda back: back["scores"]),
        (lambda z, h: (h, z), lambda back: back[1]),
    ],
)
def test_a31_outputs_in_all_kinds_of_wrapping_and_inputs_by_name(wrap, select):
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.readout = nn.Linear(6, 4), nn.Linear(4, 3)

        def forward(self, features, scale=None):
            hidden = torch.tanh(self.first(features)) * scale[:, None]
            return wrap(self.readout(hidden), hidden)

    def given(n, seed):
        return {"features": vectors(n, seed), "scale": torch.arange(1.0, n + 1).double()}

    class Bare(Wrapped):
        def forward(self, features, scale=None):
            return self.readout(torch.tanh(self.first(features)) * scale[:, None])

    model, step = seeded(Wrapped), Examples.of(given(2, 0), targets=labels(2))
    found = prediction_change(model, step, given(4, 1), select=select, lr=0.1)
    wanted = expected(seeded(Bare), (given(2, 0), labels(2)), (given(4, 1), None), lr=0.1)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)


def test_a31_what_cannot_be_told_is_asked_for():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, inputs):
            return {"a": self.layer(inputs), "b": inputs}

    with pytest.raises(ModelError, match="holding a, b; pass select="):
        prediction_change(seeded(Two), vectors(1, 0), vectors(2, 1))


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
