"""Images moved and mirrored: which they are, and that a warm-up shows them."""

from __future__ import annotations

from collections import Counter
from importlib import import_module

import pytest
import torch

from localelastic.data.examples import Examples
from localelastic.errors import SettingError
from localelastic.models import CNN, PHOTOGRAPHS, SquaredLoss, TwoLayer, WarmUp, warm_up
from localelastic.models.augment import varied
from worlds import points


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_every_image_is_one_of_its_moves():
    """By hand: cut from the padded image at each place, mirrored or not, all about as often."""
    image = points(1, (2, 5, 4))
    padded = torch.nn.functional.pad(image, (1, 1, 1, 1), mode="reflect")[0]
    cuts = [padded[:, i : i + 5, j : j + 4] for i in range(3) for j in range(3)]
    expected = [cut for one in cuts for cut in (one, one.flip(2))]
    found = varied(image.expand(1800, -1, -1, -1), shift=1, flip=True, generator=seeded())
    assert found.shape == (1800, 2, 5, 4)
    which = [[torch.equal(one, move) for move in expected].index(True) for one in found]
    times = Counter(which)
    assert set(times) == set(range(18))
    assert min(times.values()) > 60  # 100 each, give or take 10


def test_mirrors_alone_and_moves_alone():
    images = points(40, (1, 3, 3))
    mirrored = varied(images, shift=0, flip=True, generator=seeded())
    same = (mirrored == images).flatten(1).all(1)
    assert 5 < same.sum() < 35
    assert torch.equal(mirrored[~same], images[~same].flip(3))
    moved = varied(images, shift=2, flip=False, generator=seeded())
    assert torch.equal(moved, varied(images, shift=2, flip=False, generator=seeded()))
    assert not torch.equal(moved, varied(images, shift=2, flip=False, generator=seeded(1)))


def _no(model):
    return "by autograd"


@pytest.mark.parametrize("make", [CNN, TwoLayer])
def test_a_warm_up_shows_them(make, monkeypatch):
    """Also to two-layer networks, whose fused steps know the images as they are alone."""
    shown = []

    def watched(images, **asked):
        shown.append(varied(images, **asked))
        return shown[-1]

    # The room exports a function of the module's name.
    monkeypatch.setattr(import_module("localelastic.models.warm_up"), "varied", watched)
    images = Examples.of(points(6, (1, 16, 16)).float())
    settings = WarmUp(epochs=2, batch_size=5, lr=1e-3, shift=2, flip=True)
    models, records = [], []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(make((1, 16, 16), width=40))
        records.append(
            warm_up(models[-1], images, images, loss=SquaredLoss(), settings=settings, seed=3)
        )
        monkeypatch.setattr(import_module("localelastic.models.descent"), "two_layer", _no)
    assert records[0] == records[1]
    assert [len(one) for one in shown] == [5, 5, 2] * 4
    assert not torch.equal(shown[0], shown[3])  # anew in every epoch
    torch.testing.assert_close(shown[0], shown[6], rtol=0, atol=0)
    for ours, theirs in zip(*(one.parameters() for one in models), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("shape", [(6,), (1, 3, 8), (2, 2, 8, 8)])
def test_what_is_no_image_or_too_small_is_refused(shape):
    examples = Examples.of(points(4, shape).float())
    model = TwoLayer(shape, width=3)
    with pytest.raises(SettingError, match=r"got inputs of shape .* with shift=3"):
        warm_up(model, examples, examples, loss=SquaredLoss(), settings=PHOTOGRAPHS)
    with pytest.raises(SettingError, match="shift=-1"):
        WarmUp(shift=-1)
