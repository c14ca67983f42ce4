"""Photographs of any size: a user's folder, or those that installed packages carry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from sklearn.datasets import load_sample_image

from localelastic.data.reading import reading
from localelastic.errors import ReadError, SettingError

Pixels = UInt8[np.ndarray, "h w 3"]

SHIPPED = (
    "cat",
    "motorcycle",
    "motorcycle, other eye",
    "coffee",
    "rocket",
    "photographer",
    "astronaut",
    "flower",
    "palace",
    "moon",
    "bricks",
)
"""In scikit-image, flower and palace in scikit-learn: one cat, and one thing seen twice."""


@dataclass(frozen=True)
class Frame:
    """What of a photograph is looked at: a square.

    Args:
        side: as a share of the shorter side.
        across: from the left, as a share of the room there is.
        down: from the top, likewise.
        mirrored: left and right exchanged.
    """

    side: float = 224 / 256
    across: float = 0.5
    down: float = 0.5
    mirrored: bool = False


CENTRE = Frame()
"""The middle as classifiers are tested on: 224 pixels of a shorter side of 256."""


def framed(pixels: Pixels, frame: Frame, side: int) -> UInt8[np.ndarray, "s s 3"]:
    """A square of a photograph at ``side`` pixels, resized with anti-aliasing.

    Example:
        >>> wide = np.zeros((2, 4, 3), dtype=np.uint8)
        >>> wide[:, 3] = 255
        >>> framed(wide, Frame(side=1.0, across=1.0), 2)[:, :, 0].tolist()
        [[0, 255], [0, 255]]
    """
    from PIL import Image

    height, width = pixels.shape[:2]
    edge = frame.side * min(height, width)
    left, top = frame.across * (width - edge), frame.down * (height - edge)
    small = Image.fromarray(pixels).resize(
        (side, side), Image.Resampling.BICUBIC, box=(left, top, left + edge, top + edge)
    )
    found = np.asarray(small)
    return found[:, ::-1] if frame.mirrored else found


def read_photo(path: Path) -> Pixels:
    """A photograph as red, green and blue, upright.

    Raises:
        ReadError: it cannot be read as an image.
    """
    from PIL import Image, ImageOps

    with reading(path, kind="a photograph"), Image.open(path) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def photos_in(folder: Path) -> list[Path]:
    """The files of a folder in alphabetical order, without hidden ones.

    Raises:
        ReadError: none there.
    """
    with reading(folder, kind="a folder of photographs"):
        files = [p for p in sorted(folder.iterdir()) if p.is_file() and p.name[0] != "."]
    if not files:
        raise ReadError(f"expected photographs in {folder}, got none; put some there")
    return files


def shipped_photo(name: str) -> Pixels:
    """One of ``SHIPPED``.

    Raises:
        SettingError: scikit-image is not installed, or lacks it.
    """
    if name in ("flower", "palace"):
        found = load_sample_image({"flower": "flower.jpg", "palace": "china.jpg"}[name])
        return np.asarray(found)
    try:
        from skimage import data as untyped

        data: Any = untyped
        pixels: Pixels = {
            "cat": lambda: data.chelsea(),
            "motorcycle": lambda: data.stereo_motorcycle()[0],
            "motorcycle, other eye": lambda: data.stereo_motorcycle()[1],
            "coffee": lambda: data.coffee(),
            "rocket": lambda: data.rocket(),
            "photographer": lambda: data.camera(),
            "astronaut": lambda: data.astronaut(),
            "moon": lambda: data.moon(),
            "bricks": lambda: data.brick(),
        }[name]()
    # Versions that do not carry a photograph would download it.
    except (ImportError, OSError) as error:
        raise SettingError(
            f"expected the photographs of scikit-image, got none ({error}); "
            'pip install "localelastic[photos]", or name your own folder with --photos'
        ) from None
    return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, 2)
