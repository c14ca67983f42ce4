from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from localelastic.plots import curve_points, is_image, thumbnail_png
from localelastic.plots.thumbnails import POINTS, SIDE


def pixels(example, low, high):
    return np.asarray(Image.open(BytesIO(thumbnail_png(example, low=low, high=high))))


@pytest.mark.parametrize(
    ("shape", "image"),
    [((28, 28), True), ((1, 28, 28), True), ((3, 8, 9), True), ((2, 8, 8), False), ((784,), False)],
)
def test_what_counts_as_an_image(shape, image):
    assert is_image(shape) is image


def test_the_range_is_that_of_the_set_not_of_the_image():
    assert pixels(np.array([[0.0, 0.5]]), -1.0, 1.0).tolist() == [[128, 191]]


def test_one_channel_is_grey_and_three_are_colours():
    assert pixels(np.ones((1, 2, 5)), 0.0, 1.0).shape == (2, 5)
    colour = pixels(np.array([1.0, 0.0, 0.2]).reshape(3, 1, 1), 0.0, 1.0)
    assert colour.tolist() == [[[255, 0, 51]]]


def test_large_images_keep_their_proportions():
    assert pixels(np.zeros((4 * SIDE, 2 * SIDE)), 0.0, 1.0).shape == (SIDE, SIDE // 2)


def test_a_set_without_any_range_is_drawn():
    assert pixels(np.full((2, 2), 7.0), 7.0, 7.0).tolist() == [[0, 0], [0, 0]]


def test_curve_by_hand():
    points = curve_points(np.array([0.0, 10.0, 5.0]), low=0.0, high=10.0)
    assert points.tolist() == [[0.0, 1.0], [0.5, 0.0], [1.0, 0.5]]


def test_long_curves_are_averaged():
    points = curve_points(np.arange(1000.0).reshape(2, 500), low=0.0, high=999.0)
    assert len(points) <= POINTS
    assert (np.diff(points[:, 1]) < 0).all()
