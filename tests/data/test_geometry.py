"""Points lie where the formulas say, and a seed and noise do what they say."""

import math

import numpy as np
import pytest
import torch
from geometries import SIDES, each, part

from localelastic.data import GEOMETRIES, FoldedBoxes, Side, Spheres, primary_vs_auxiliary
from localelastic.errors import SettingError


def residuals(name, points, e):
    """What is zero on the manifold, from its equation and not from its parameters."""
    x, y, z = np.c_[points, np.zeros((len(points), 3 - points.shape[1]))].T
    t = np.arctan2(y, x)
    match name:
        case "torus":
            return np.hypot(x, y) - 8 - e * np.sin(4 * t), z - e * np.cos(4 * t)
        case "folded-boxes":
            return np.abs(y) + 1.2 * np.abs(x) - 12 - e, np.maximum(np.abs(z) - 1, 0)
        case "cosines":
            return y - np.cos(x) - 0.2 * e, np.maximum(np.abs(x) - 0.6 * np.pi, 0)
        case "double-helix":
            on = x - e * np.cos(1.5 * z), y - e * np.sin(1.5 * z)
            return *on, np.maximum(np.abs(z) - np.pi / 2, 0)
        case "cycles":
            return (np.hypot(x, y) - (10 if e == 1 else 50),)
        case "spheres":
            return (np.linalg.norm(points, axis=1) - (10 if e == 1 else 20),)


@each()
@SIDES
def test_points_lie_on_the_manifold(geometry, side):
    points = part(geometry.sample(300, seed=4), side).points
    for residual in residuals(geometry.name, points, int(side)):
        assert np.abs(residual).max() < 1e-12


@each()
def test_points_are_the_inputs_without_noise(geometry):
    sample = geometry.sample(20)
    assert sample.examples.inputs.dtype == torch.float32
    assert np.array_equal(sample.examples.inputs.numpy(), sample.points.astype(np.float32))


@each()
@SIDES
def test_points_fill_the_domain(geometry, side):
    coordinates = part(geometry.sample(2000), side).coordinates
    for values, (low, high) in zip(coordinates.T, geometry.domain(side), strict=True):
        assert low <= values.min() < low + 0.03 * (high - low)
        assert high - 0.03 * (high - low) < values.max() <= high


def test_half_of_a_box_is_upper_and_half_lower():
    for n, upper in [(50, 25), (7, 4), (1, 1)]:
        for side in Side:
            points = part(FoldedBoxes().sample(n), side).points
            assert (points[:, 1] > 0).sum() == upper


@pytest.mark.parametrize("uniform_angles", [False, True])
def test_spheres_are_uniform_by_area_or_in_the_angles(uniform_angles):
    geometry = Spheres(uniform_angles=uniform_angles)
    for side in Side:
        points = part(geometry.sample(4000), side).points
        height = points[:, 2] / np.linalg.norm(points, axis=1)
        polar = (np.abs(height) > math.sqrt(0.75)).mean()  # within 30 degrees of a pole
        assert polar == pytest.approx(1 / 3 if uniform_angles else 1 - math.sqrt(0.75), abs=0.03)
        assert np.abs(points.mean(0)).max() < 0.05 * np.linalg.norm(points[0])


@each()
def test_a_seed_gives_the_same_points(geometry):
    first, again, other = (geometry.sample(9, seed=seed, noise=0.1) for seed in (7, 7, 8))
    assert torch.equal(first.examples.inputs, again.examples.inputs)
    assert np.array_equal(first.coordinates, again.coordinates)
    assert not np.isin(other.coordinates, first.coordinates).any()


@each()
def test_a_larger_sample_begins_with_the_smaller_one(geometry):
    small, large = geometry.sample(5, noise=0.1), geometry.sample(8, noise=0.1)
    for side in Side:
        inputs = part(large, side).examples.inputs
        assert torch.equal(part(small, side).examples.inputs, inputs[:5])


@each()
def test_sides_are_drawn_independently(geometry):
    sample = geometry.sample(20)
    first, second = sample.primary.coordinates, sample.auxiliary.coordinates
    assert not np.isclose(first, second).all(1).any()


@each()
def test_noise_moves_the_inputs_and_not_the_geodesic(geometry):
    plain, noisy = geometry.sample(400), geometry.sample(400, noise=0.3)
    shift = (noisy.examples.inputs - plain.examples.inputs).numpy()
    assert shift.std(0) == pytest.approx(0.3, rel=0.1)
    assert np.abs(shift.mean(0)).max() < 0.05
    assert np.array_equal(plain.points, noisy.points)
    assert np.array_equal(plain.distances(), noisy.distances())


def test_the_global_random_state_is_left_alone():
    numpy, of_torch = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    GEOMETRIES["torus"].sample(3, noise=1.0)
    assert np.random.get_state()[1].tolist() == numpy
    assert torch.get_rng_state().tolist() == of_torch


def test_the_task_has_each_side_once():
    sample = GEOMETRIES["cycles"].sample(4, seed=2)
    task = sample.task
    assert task.primary.ids == ("primary-0", "primary-1", "primary-2", "primary-3")
    assert set(task.auxiliary.classes) == {"auxiliary"}
    assert task.primary.inputs.norm(dim=1).numpy() == pytest.approx(10)
    chosen = primary_vs_auxiliary(
        sample.examples,
        primary=["primary"],
        auxiliary=["auxiliary"],
        n_primary=None,
        n_auxiliary=None,
    )
    assert torch.equal(chosen.primary.inputs, task.primary.inputs)


def test_what_is_taken_keeps_its_distances():
    sample = GEOMETRIES["folded-boxes"].sample(6)
    order = [7, 2, 11, 0, 5]
    taken = sample.take(order)
    assert np.array_equal(taken.distances(), sample.distances()[np.ix_(order, order)])
    assert np.array_equal(taken.points, sample.points[order])
    assert taken.examples.ids == tuple(sample.examples.ids[i] for i in order)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "expected n to be 1 or more, got 0"),
        ({"n": -3}, "expected n to be 1 or more, got -3"),
        ({"n": torch.tensor(2.5)}, "expected n to be a whole number"),
        ({"seed": -1}, "expected seed to be 0 or more, got -1"),
        ({"noise": -0.1}, "expected noise to be a number of 0 or more, got -0.1"),
        ({"noise": math.nan}, "got nan"),
        ({"noise": math.inf}, "got inf"),
    ],
)
def test_settings_out_of_range(wrong, message):
    with pytest.raises(SettingError, match=message):
        GEOMETRIES["torus"].sample(**wrong)
