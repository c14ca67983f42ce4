"""A specification refuses what cannot be run, and reads back as it was written."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from localelastic.change import Auto, Gradient, Replay
from localelastic.data import Examples
from localelastic.errors import ClassError, ReadError, SettingError
from localelastic.experiments import ClusterSpec
from localelastic.models import NETWORKS, WarmUp, build_network, convolves
from localelastic.similarity import SIMILARITIES
from localelastic.trajectory import Frozen, Sequential

SPEC = ClusterSpec("mnist", ("5", "8"), ("3", "9"))


def named(**sizes: int) -> Examples:
    """That many examples of each class."""
    classes = [name for name, count in sizes.items() for _ in range(count)]
    return Examples.of(torch.zeros(len(classes), 2), classes=classes)


names = st.lists(st.text(min_size=1), min_size=1, max_size=3).map(tuple)
SETTINGS = {
    "data": st.text(),
    "primary": names,
    "auxiliary": names,
    "labels": st.none() | st.text(),
    "input_columns": st.none() | names,
    "image_size": st.none() | st.tuples(st.integers(1), st.integers(1)),
    "n_primary": st.none() | st.integers(1),
    "network": st.none() | st.sampled_from(list(NETWORKS)),
    "similarity": st.sampled_from(list(SIMILARITIES)),
    "warm_up_lr": st.none() | st.floats(1e-9, 1e9),
    "lr": st.none() | st.floats(1e-9, 1e9),
    "seed": st.integers(0, 2**32 - 1),
}


@given(st.fixed_dictionaries(SETTINGS))
def test_json_round_trip(tmp_path_factory, settings):
    spec = ClusterSpec(**settings)
    path = tmp_path_factory.getbasetemp() / "spec.json"
    path.write_text(spec.to_json(), encoding="utf-8")
    assert ClusterSpec.read(path) == spec
    assert ClusterSpec.read(path.parent) == spec


def test_settings_left_out_are_the_usual_ones(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"data": "mnist", "primary": ["5", "8"], "auxiliary": ["3", "9"]}')
    assert ClusterSpec.read(path) == SPEC


DAMAGED = {
    "not JSON": ("{", "the spec.json of a run, got no JSON"),
    "cut short": (SPEC.to_json()[:200], "expected the spec.json of a run"),
    "empty": ("", "expected the spec.json of a run"),
    "deep": ("[" * 100_000, "expected the spec.json of a run"),
    "a list": ("[]", "another content"),
    "metrics.json": ('{"finding": "x", "methods": {}}', "another content"),
}


@pytest.mark.parametrize(("text", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file(tmp_path, text, message):
    path = tmp_path / "spec.json"
    path.write_text(text)
    with pytest.raises(ReadError, match=message) as error:
        ClusterSpec.read(path)
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.json").write_bytes(b'{"data": "\xe9"}')
    for path in (tmp_path, tmp_path / "absent.json", tmp_path / "latin.json"):
        with pytest.raises(ReadError, match=r"expected the spec\.json of a run"):
            ClusterSpec.read(path)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"colour": 1, "size": 2}, ReadError, "colour, size; known are auxiliary, clustering"),
        ({"seed": "0"}, ReadError, "seed to be a whole number"),
        ({"primary": "58"}, ReadError, "primary to be a list (each text)"),
        ({"primary": [5, 8]}, ReadError, "primary to be a list (each text), got [5, 8]"),
        ({"lr": [1]}, ReadError, "lr to be a number or null"),
        ({"image_size": [28]}, ReadError, "image_size to be a list (2, each"),
        ({"passes": None}, ReadError, "passes to be a whole number"),
        ({"lr": -1}, SettingError, "--lr"),
        ({"lr": float("nan")}, SettingError, "--lr"),
        ({"lr": 10**400}, ReadError, "too large"),
        ({"network": "resnext"}, SettingError, "--network"),
        ({"clusters": 1}, SettingError, "--clusters"),
    ],
)
def test_values_that_were_changed(tmp_path, changed, error, words):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(asdict(SPEC) | changed))
    with pytest.raises(error) as raised:
        ClusterSpec.read(path)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"a": 3, "b": 2}, None),  # all there are
        ({"a": 600, "b": 400}, None),
        ({"a": 600, "b": 401}, 802),  # the same number of each
        ({"a": 5000, "b": 4000}, 1000),
        ({"a": 1001}, 1000),
    ],
)
def test_counts_by_default(sizes, expected):
    spec = ClusterSpec("x", tuple(sizes), ("z",))
    assert spec.resolved(named(**sizes, z=1)).n_primary == expected


def test_what_is_left_open_is_decided_by_the_data():
    vectors = SPEC.resolved(named(**{"5": 2}))
    assert (vectors.network, vectors.width, vectors.clusters) == ("two-layer", 4096, 2)
    images = Examples.of(torch.zeros(2, 1, 16, 16))
    resolved = SPEC.resolved(images)
    assert (resolved.network, resolved.width) == ("cnn", None)
    assert resolved.resolved(images) == resolved
    assert (vectors.warm_up, resolved.warm_up) == ("ours", "ours")
    colours = Examples.of(torch.zeros(2, 3, 16, 16))
    assert SPEC.resolved(colours).warm_up == "photographs"
    for other in ({"network": "two-layer"}, {"features": "pretrained"}, {"warm_up": "ours"}):
        assert replace(SPEC, **other).resolved(colours).warm_up == "ours"
    for name in NETWORKS:  # as for a module of one's own
        convolutions = convolves(build_network(name, colours.shape, width=None, seed=0))
        resolved = replace(SPEC, network=name).resolved(colours)
        assert resolved.warm_up == ("photographs" if convolutions else "ours")
    three = replace(SPEC, primary=("a", "b", "c"))
    assert three.resolved(images).clusters == 3
    assert replace(three, clusters=2, network="resnet").resolved(images).clusters == 2


def test_every_other_class_is_trained_against_unless_some_are_named():
    data = named(a=3, b=4, c=1200, d=700)
    spec = ClusterSpec("x", ("b", "a"), ())
    resolved = spec.resolved(data)
    assert (resolved.auxiliary, resolved.n_auxiliary) == (("c", "d"), 1000)
    assert resolved.task(data).auxiliary.class_names == ("c", "d")
    assert replace(spec, auxiliary=("d",)).resolved(data).auxiliary == ("d",)
    with pytest.raises(ClassError, match="got data of a, b alone"):
        spec.resolved(named(a=2, b=2))


def test_settings_become_objects():
    assert SPEC.settings() == WarmUp()
    assert replace(SPEC, warm_up_epochs=0, warm_up_lr=0.5).settings() == WarmUp(epochs=0, lr=0.5)
    photographs = replace(SPEC, warm_up="photographs", warm_up_epochs=2)
    assert photographs.settings() == WarmUp(2, shift=3, flip=True)
    published = replace(SPEC, network="two-layer", warm_up="published", warm_up_epochs=3)
    assert published.settings() == WarmUp(3, 6e-3, 0.0, 50)
    assert SPEC.trajectory_object() == Frozen()
    moving = replace(SPEC, trajectory="sequential", passes=3, seed=5)
    assert moving.trajectory_object() == Sequential(3, 5)
    double = replace(SPEC, precision="float64")
    assert double.strategy_object() == Auto(None, torch.float64)
    assert replace(double, strategy="gradient").strategy_object() == Gradient(torch.float64)
    small = replace(SPEC, memory=0.5)
    assert small.strategy_object() == Auto(None, torch.float32, 2**29)
    assert replace(small, strategy="gradient").strategy_object().memory == 2**29
    real = replace(SPEC, strategy="replay", lr=0.1)
    assert real.strategy_object() == Replay(0.1, torch.float32)


def test_a_task_is_drawn_as_told():
    data = named(a=6, b=6, z=6)
    spec = ClusterSpec("x", ("a", "b"), ("z",), n_primary=4, n_auxiliary=2)
    first = replace(spec, sampling="first").task(data)
    assert first.primary.ids == ("0", "1", "6", "7")
    assert first.auxiliary.ids == ("12", "13")
    drawn = {spec.task(data).primary.ids, replace(spec, seed=1).task(data).primary.ids}
    assert len(drawn) == 2


def test_a_run_of_before_layers_could_be_named_stepped_on_all(tmp_path):
    spec = ClusterSpec("mnist", ("5",), ("3",))
    values = json.loads(spec.to_json())
    del values["layers"]
    (tmp_path / "spec.json").write_text(json.dumps(values))
    assert ClusterSpec.read(tmp_path) == replace(spec, layers=("all",))
