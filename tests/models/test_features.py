"""What a classifier sees in images: its last layer's inputs, nothing else."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from localelastic.data import Examples, Pixels, Task
from localelastic.errors import DataError, ModelError
from localelastic.models import (
    as_photographs,
    check_images,
    on_features,
    penultimate,
    pretrained_features,
    side_of,
)
from localelastic.models.classifiers import load_classifier
from photo_worlds import resnet_state, saved


@pytest.fixture
def classifier(tmp_path):
    """Its logits are its features: the last layer does nothing."""
    state = resnet_state(classes=32)
    state["fc.weight"] = torch.eye(32)
    return load_classifier(saved(tmp_path / "resnet.pth", state))


def draw(n=7, shape=(3, 20, 12)):
    return torch.rand(n, *shape, generator=torch.Generator().manual_seed(1))


def test_features_are_what_the_last_layer_sees(classifier):
    images, told = draw(120), []
    found = pretrained_features(
        2 * images - 1, classifier=classifier, progress=lambda *step: told.append(step)
    )
    photographs = torch.nn.functional.interpolate(255 * images, (96, 96), mode="bilinear")
    with torch.no_grad():
        logits = classifier.module(classifier.inputs(photographs)).double().numpy()
    spread = logits.std(0)  # some are never awake
    expected = (logits - logits.mean(0)) / np.where(spread > 0, spread, np.inf)
    assert found.shape == (120, classifier.n_features) == (120, 32)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert told == [("features", done, 120) for done in (50, 100, 120)]


@pytest.mark.parametrize("pixels", Pixels)
def test_every_scale_of_pixels_gives_the_same(classifier, pixels):
    stored = (255 * draw()).to(torch.uint8)
    found = pretrained_features(pixels.scale(stored), pixels=pixels, classifier=classifier)
    bytes_ = pretrained_features(stored.float(), pixels=Pixels.RAW, classifier=classifier)
    torch.testing.assert_close(found, bytes_, atol=1e-3, rtol=1e-3)
    assert found.abs().max() > 1


def test_grey_images_have_three_equal_colours(classifier):
    grey = draw(shape=(1, 16, 16))
    found = pretrained_features(grey, pixels=Pixels.UNIT, classifier=classifier)
    three = pretrained_features(grey.repeat(1, 3, 1, 1), pixels=Pixels.UNIT, classifier=classifier)
    torch.testing.assert_close(found, three)


def test_a_feature_that_says_nothing_is_zero(classifier):
    torch.nn.init.zeros_(classifier.module.layer4[-1].bn2.weight)
    same = draw(1).repeat(3, 1, 1, 1)
    found = pretrained_features(same, pixels=Pixels.UNIT, classifier=classifier)
    assert (found == 0).all()


def test_both_sides_of_a_task_are_standardised_together(classifier):
    images = draw(9)
    ids = tuple("abcdefghi")
    first, second = Examples.of(images[:6], ids=ids[:6]), Examples.of(images[6:], ids=ids[6:])
    task = on_features(Task(first, second), pixels=Pixels.UNIT, classifier=classifier)
    together = pretrained_features(images, pixels=Pixels.UNIT, classifier=classifier)
    assert torch.equal(torch.cat([task.primary.inputs, task.auxiliary.inputs]), together)
    assert (task.primary.ids, task.auxiliary.ids) == (ids[:6], ids[6:])


@pytest.mark.parametrize(
    ("shape", "side"),
    [
        ((1, 28, 28), 128),
        ((3, 32, 32), 128),
        ((3, 20, 12), 96),
        ((3, 8, 40), 160),
        ((3, 90, 9), 224),
    ],
)
def test_small_images_are_enlarged_four_times_at_most(shape, side):
    assert side_of(shape) == side
    assert as_photographs(torch.zeros(1, *shape), Pixels.UNIT, side=side).shape[2:] == (side, side)


def test_large_images_are_averaged_when_they_are_made_smaller():
    lines = torch.zeros(1, 1, 224, 224)
    lines[..., ::4] = 1.0
    small = as_photographs(lines, Pixels.UNIT, side=56)
    np.testing.assert_allclose(small[..., 2:-2], 255 / 4, rtol=0.05)


def test_bytes_are_as_good_as_floats(classifier):
    stored = (255 * draw()).to(torch.uint8)
    found = pretrained_features(stored, pixels=Pixels.RAW, classifier=classifier)
    wanted = pretrained_features(stored.float(), pixels=Pixels.RAW, classifier=classifier)
    assert torch.equal(found, wanted)


def test_reading_a_classifier_leaves_the_random_state(tmp_path):
    path = saved(tmp_path / "resnet.pth", resnet_state())
    before = torch.random.get_rng_state()
    load_classifier(path)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("images", "pixels", "words"),
    [
        (torch.full((3, 3, 8, 8), torch.nan), Pixels.UNIT, "finite pixels"),
        (torch.zeros(0, 3, 8, 8), Pixels.UNIT, "leave the features out"),
        (torch.zeros(3, 5), Pixels.UNIT, r"shape \(1 or 3, height, width\), got .* shape \(5,\)"),
        (torch.zeros(3, 2, 8, 8), Pixels.UNIT, "leave the features out"),
        (torch.full((3, 3, 8, 8), -0.5), Pixels.UNIT, "unit pixels from 0 to 1, got .* -0.5"),
        (torch.full((3, 3, 8, 8), 200.0), Pixels.SIGNED, "from -1 to 1, .* they are raw pixels"),
        (torch.full((3, 3, 8, 8), 0.5), Pixels.SIGNED, "got values from 0.5 .* are unit pixels"),
        (torch.full((3, 3, 8, 8), -3.0), Pixels.SIGNED, r"one of \[-1, 1\], \[0, 1\]"),
    ],
)
def test_what_is_no_image_is_refused(images, pixels, words):
    with pytest.raises(DataError, match=words):
        check_images(images, pixels)
    with pytest.raises(DataError, match=words):
        pretrained_features(images, pixels=pixels)


@pytest.mark.parametrize(
    "images", [torch.ones(3, 3, 8, 8, dtype=torch.bool), torch.ones(3, 3, 8, 8).to_sparse()]
)
def test_what_holds_no_pixels_is_refused(images):
    with pytest.raises(DataError, match="expected a dense tensor of numbers"):
        pretrained_features(images, pixels=Pixels.UNIT)


def test_arguments_of_another_kind_are_refused():
    """In a process of its own: here types are checked before."""
    code = """
import numpy, torch, localelastic
images = torch.zeros(2, 3, 8, 8)
for given, more in [
    (numpy.zeros((2, 3, 8, 8)), {}),
    (images, {"pixels": "signed"}),
    (images, {"classifier": torch.nn.Identity()}),
]:
    try:
        localelastic.pretrained_features(given, **more)
    except localelastic.SettingError as error:
        print(str(error).partition(", got")[0])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = ran.stdout.splitlines()
    assert [line.split()[1] for line in said] == ["images", "pixels", "classifier"], ran


def test_a_classifier_that_trains_is_refused(classifier):
    classifier.module.layer1.train()
    with pytest.raises(ModelError, match="call its eval"):
        pretrained_features(draw(), pixels=Pixels.UNIT, classifier=classifier)


def test_a_classifier_that_sees_the_same_in_all_images_is_refused(classifier):
    torch.nn.init.zeros_(classifier.module.layer4[-1].bn2.weight)
    torch.nn.init.zeros_(classifier.module.layer4[-1].downsample[1].weight)
    task = Task(Examples.of(draw(2), ids="ab"), Examples.of(draw(2), ids="cd"))
    with pytest.raises(DataError, match="the same features for all"):
        on_features(task, pixels=Pixels.UNIT, classifier=classifier)


def test_a_network_without_a_linear_layer_has_no_penultimate_features():
    with pytest.raises(ModelError, match="linear layer"):
        penultimate(torch.nn.Conv2d(1, 1, 3), torch.zeros(1, 1, 8, 8))
