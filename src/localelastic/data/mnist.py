"""The digits shipped with the package: a part of MNIST, described in ``MNIST.md`` beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from localelastic.data.arrays import NPZ
from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source
from localelastic.data.scaling import Pixels

MNIST_FILE = Path(__file__).with_name("mnist.npz")
MNIST_SHA256 = "2eda43b25065f2b238994b29dc39cefbc67e32b8e6afa9c1297b5d1a34a1e1e7"
"""What ``scripts/pack_mnist.py`` makes of the original files."""


def load_mnist(*, pixels: Pixels = Pixels.SIGNED) -> Examples:
    """The first 1,500 training images of each MNIST digit, in training order.

    Args:
        pixels: the scale of the pixels; the paper's by default.

    Returns:
        15,000 examples of shape ``(1, 28, 28)``, classes ``"0" .. "9"``; the id ``"train-00012"``
        is image 12, counted from 0, of the training set.

    Example:
        >>> digits = load_mnist()
        >>> digits
        Examples(15000 of shape (1, 28, 28), classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        >>> digits.ids[0], digits.classes[0]
        ('train-00000', '5')
    """
    return _read(MNIST_FILE, Options(pixels=pixels))


def _read(_: Path, options: Options) -> Examples:
    digits = NPZ.read(MNIST_FILE, options)
    how = digits.source.rpartition("; ")[2]
    return replace(digits, source=f"MNIST, first 1,500 training images of each digit; {how}")


MNIST = Source("the shipped MNIST digits", lambda _: False, _read)
