"""The whole job, in this process: settings of every kind together, checksums, notes."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle, product
from pathlib import Path

import numpy as np
import pytest
import torch

from localelastic.cluster import cluster_by_elasticity
from localelastic.data import Examples
from localelastic.data.origin import checksum_of
from localelastic.errors import DataError, InputError, MeasurementError, SettingError
from localelastic.experiments import ClusterSpec, explain, prepare, run_cluster
from localelastic.models import LOSSES, NETWORKS, build_network, on_features
from localelastic.models.classifiers import load_classifier
from localelastic.shapes import silent
from localelastic.similarity import SIMILARITIES
from photo_worlds import resnet_state, saved


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Images of two stripes against one: enough to tell apart, and for the CNN to take."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 80, size=(24, 1, 16, 16), dtype=np.uint8)
    for place in range(3):
        images[8 * place : 8 * place + 8, :, 5 * place : 5 * place + 3] = 250
    path = tmp_path_factory.mktemp("data") / "stripes.npz"
    np.savez(path, x=images, y=np.repeat(["a", "b", "c"], 8))
    return str(path)


@pytest.fixture
def spec(data):
    return ClusterSpec(
        data,
        ("a", "b"),
        ("c",),
        network="two-layer",
        width=8,
        networks=1,
        warm_up_epochs=2,
    )


def test_checksum_is_of_all_that_matters():
    def digest(inputs=((1.0, 2.0),), ids=("i",), classes=("a",), coarse=None):
        return checksum_of(Examples.of(inputs, ids=ids, classes=classes, coarse=coarse))

    others = [
        digest(inputs=((1.0, 2.5),)),
        digest(inputs=(((1.0, 2.0),),)),
        digest(ids=("j",)),
        digest(classes=("b",)),
        digest(classes=None),
        digest(classes=None, coarse=("a",)),
    ]
    assert digest() == digest()
    assert len({digest(), *others}) == 7


def test_the_data_of_an_earlier_run(spec):
    prepared = prepare(spec).spec
    assert prepare(prepared).spec == prepared
    with pytest.raises(DataError, match="data of the earlier run"):
        prepare(replace(prepared, data_sha256="0" * 64))


# Each network and loss once, with the other choices taking turns.
TURNS = cycle(
    product(SIMILARITIES, [("frozen", "auto"), ("frozen", "replay"), ("sequential", "auto")])
)
EVERYTHING = [
    (*fixed, *turn) for fixed, turn in zip(product(NETWORKS, LOSSES), TURNS, strict=False)
]


@pytest.mark.parametrize(
    ("network", "loss", "similarity", "walk"),
    EVERYTHING,
    ids=["-".join((*row[:3], *row[3])) for row in EVERYTHING],
)
def test_double_precision_with_everything(spec, network, loss, similarity, walk):
    trajectory, strategy = walk
    spec = replace(spec, network=network, loss=loss, trajectory=trajectory, strategy=strategy)
    run = run_cluster(prepare(replace(spec, similarity=similarity, precision="float64")))
    assert run.record.excluded == ()
    assert np.isfinite(run.record.similarity).all()
    assert run.found.similarity.exact == (strategy == "replay" or trajectory == "sequential")
    assert set(run.record.labels) == {0, 1}


def test_a_network_that_does_not_fit_into_memory(spec, monkeypatch):
    def build(*_, **__):
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr("localelastic.experiments.cluster.build_network", build)
    with pytest.raises(SettingError, match="fit into memory, got two-layer of width 8"):
        prepare(spec)


def test_steps_that_see_all_examples_as_one(spec):
    """One hidden unit, dead for every example: only the output's bias moves."""
    dead = replace(spec, width=1, warm_up_epochs=0, pixels="raw", seed=0, similarity="kernelized")
    dead = replace(dead, layers=("all",))
    with pytest.raises(MeasurementError, match=r"too few examples apart .* got n_clusters=2"):
        run_cluster(prepare(dead))
    with pytest.raises(MeasurementError, match="nothing is left of it: train longer"):
        run_cluster(prepare(replace(dead, similarity="centred-kernelized")))


NOTES = {
    "another version": ({"version": "0.0.1"}, "written by version 0.0.1"),
    "untrained": ({"warm_up_epochs": 0}, "has not learned the task"),
    "more clusters": ({"clusters": 3}, "3 clusters for 2 classes"),
    "starts": ({"clustering": "k-means"}, "Of 20 starts of kernel K-means"),
    "one start": ({"clustering": "k-means", "starts": 1}, None),
    "no starts": ({}, None),
}


@pytest.mark.parametrize(("changed", "note"), NOTES.values(), ids=NOTES)
def test_notes(spec, changed, note):
    notes = " ".join(run_cluster(prepare(replace(spec, **changed))).record.notes)
    usual = " ".join(run_cluster(prepare(spec)).record.notes)
    if note is None:
        assert "starts of kernel K-means" not in notes
    else:
        assert note in notes
        assert (note in usual) == (not changed)


def test_notes_on_equal_inputs(data, tmp_path):
    with np.load(data) as stored:
        images, labels = stored["x"], stored["y"]
    images[1] = images[0]
    np.savez(tmp_path / "d.npz", x=images, y=labels)
    spec = ClusterSpec(str(tmp_path / "d.npz"), ("a", "b"), ("c",), network="two-layer", width=8)
    notes = run_cluster(prepare(spec)).record.notes
    assert any("2 primary examples share their input" in note for note in notes)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "the limit of small steps (first order in lr)"),
        ({"strategy": "replay"}, "a real step of lr 0.01"),
        ({"lr": 1e-3}, "a real step of lr 0.001"),
    ],
)
def test_the_measured_step_is_said(spec, changed, said):
    assert run_cluster(prepare(replace(spec, **changed))).record.settings["measured step"] == said


def test_global_random_state_and_threads_are_left_alone(spec):
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), torch.get_num_threads()
    run_cluster(prepare(spec))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert torch.get_num_threads() == before[2]


def test_networks_are_averaged(spec):
    alone = run_cluster(prepare(spec)).found.similarity
    both = run_cluster(prepare(replace(spec, networks=2)))
    found = both.found.similarity
    assert "mean over 2 networks" in found.strategy
    assert found.ids == alone.ids
    assert not np.allclose(found.values, alone.values)
    assert any("2 networks and one sample" in note for note in both.record.notes)
    assert "mean of 2" in both.record.settings["network"]


def test_a_kernel_that_is_not_symmetric_is_named(spec, monkeypatch):
    monkeypatch.setattr("localelastic.experiments.words._SKEW", 1e-9)
    real = {"lr": 0.5, "strategy": "replay", "similarity": "kernelized"}
    told = run_cluster(prepare(replace(spec, **real))).record.notes
    assert any("S(x, x') and S(x', x) differ by" in note for note in told)
    told = run_cluster(prepare(spec)).record.notes
    assert not any("differ by" in note for note in told)


@pytest.fixture
def checkpoint(tmp_path):
    return str(saved(tmp_path / "resnet.pth", resnet_state(seed=3)))


def test_a_network_can_be_shown_what_a_classifier_sees(spec, checkpoint):
    prepared = prepare(replace(spec, network=None, width=None, features=checkpoint))
    assert (prepared.spec.network, prepared.spec.width) == ("two-layer", 4096)
    assert prepared.shape == (32,)
    assert prepare(prepared.spec).spec == prepared.spec
    words = "ResNet from resnet.pth sees of images brought to 64 x 64 pixels: 32 numbers"
    assert words in explain(prepared)["features"]
    run = run_cluster(prepared)
    task = on_features(prepared.task, classifier=load_classifier(Path(checkpoint)))
    network = build_network("two-layer", (32,), width=4096, seed=0)
    found = cluster_by_elasticity(
        network, task.primary, task.auxiliary, n_clusters=2, settings=prepared.spec.settings()
    )
    np.testing.assert_array_equal(run.found.similarity.values, found.similarity.values)
    assert run.record.inputs.shape == (16, 1, 16, 16)  # pictures, not features
    assert "on the features" in run.record.finding or "than the features" in run.record.finding
    assert words in run.record.settings["features"]
    assert any("taught the names" in note for note in run.record.notes)


def test_a_classifier_sees_the_same_on_every_scale_of_pixels(spec, checkpoint):
    signed, unit = (
        prepare(replace(spec, features=checkpoint, pixels=scale)).shown(silent).primary.inputs
        for scale in ("signed", "unit")
    )
    torch.testing.assert_close(signed, unit, atol=1e-3, rtol=1e-3)


def test_an_earlier_run_needs_its_checkpoint(spec, checkpoint):
    earlier = prepare(replace(spec, features=checkpoint)).spec
    assert prepare(earlier).spec == earlier
    saved(Path(checkpoint), resnet_state(seed=4))
    with pytest.raises(DataError, match="the checkpoint of the earlier run, got another"):
        prepare(earlier)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"features": "nowhere.pth"}, "expected a checkpoint, cannot read nowhere.pth"),
        ({"warm_up": "photographs"}, "--warm-up photographs moves .* got --features"),
        ({"network": "cnn", "width": None}, "the CNN expects images"),
    ],
)
def test_features_that_cannot_be(spec, checkpoint, changed, words):
    with pytest.raises(InputError, match=words):
        prepare(replace(spec, **{"features": checkpoint, **changed}))


def test_features_of_what_is_no_image(tmp_path, checkpoint):
    path = tmp_path / "vectors.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(9, 5)), y=np.repeat(["a", "b", "c"], 3))
    with pytest.raises(DataError, match=r"expects images .* got inputs of shape \(5,\)"):
        prepare(ClusterSpec(str(path), ("a", "b"), ("c",), features=checkpoint))
