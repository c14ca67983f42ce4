"""A folder of images: ``class/image.png``, ``coarse/class/image.png``, or images alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source, reading
from localelastic.data.scaling import prepare
from localelastic.errors import DataError, ReadError

if TYPE_CHECKING:
    from PIL.Image import Image

# Left by file managers and archivers beside every folder they touch.
_LITTER = ("Thumbs.db", "desktop.ini", "__MACOSX")
_GREY = ("1", "L", "LA")
_DEEP = ("I", "F")


@dataclass(frozen=True, eq=False)
class _Picture:
    name: str
    pixels: UInt8[np.ndarray, "h w c"]
    mode: str

    @property
    def size(self) -> str:
        height, width = self.pixels.shape[:2]
        return f"{height} x {width}"


def _read(path: Path, options: Options) -> Examples:
    with reading(path, kind=FOLDER.kind):
        files = list(_files(path, depth=3))
    if not files:
        raise ReadError(f"expected images in {path}, got an empty folder")
    names = [file.relative_to(path).as_posix() for file in files]
    pictures: list[_Picture] = []
    for file, name in zip(files, names, strict=True):
        pictures.append(_open(file, name=name, size=options.image_size))
        _refuse_other_size(pictures[0], pictures[-1])
    levels = _levels(names, path=path)
    channels = max(picture.pixels.shape[2] for picture in pictures)
    stack = np.stack([np.repeat(p.pixels, channels // p.pixels.shape[2], 2) for p in pictures])
    prepared = prepare(stack.transpose(0, 3, 1, 2), pixels=options.pixels)
    return Examples.of(
        prepared.inputs,
        ids=names,
        classes=levels[-1] if levels else None,
        coarse=levels[0] if len(levels) == 2 else None,
        source=f"images in {path.name}{_how(pictures, options)}; {prepared.how}",
    )


def _files(folder: Path, *, depth: int) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name in _LITTER:
            continue
        if not entry.is_dir():
            yield entry
        elif depth == 1:
            raise ReadError(f"expected images at most two folders deep, got the folder {entry}")
        else:
            inside = list(_files(entry, depth=depth - 1))
            if not inside:
                raise ReadError(f"expected images in every class folder, got none in {entry}")
            yield from inside


def _levels(names: list[str], *, path: Path) -> list[tuple[str, ...]]:
    """The folders above each image, outermost first; every image must lie equally deep."""
    folders = [name.split("/")[:-1] for name in names]
    other = next((i for i, above in enumerate(folders) if len(above) != len(folders[0])), None)
    if other is not None:
        raise ReadError(
            f"expected all images of {path} equally deep, one folder per class, got {names[0]} "
            f"beside {names[other]}; move one of them"
        )
    return list(zip(*folders, strict=True))


def _open(file: Path, *, name: str, size: tuple[int, int] | None) -> _Picture:
    from PIL import Image, ImageOps

    with reading(file, kind="an image"), _opened(file) as image:
        frames = getattr(image, "n_frames", 1)
        if frames > 1 and image.format != "MPO":  # a photograph with its own preview behind it
            raise ReadError(f"expected one image in {file}, got {frames} frames")
        upright = ImageOps.exif_transpose(image)
        plain = _grey_or_rgb(upright, file=file)
        if size is not None and plain.size != size[::-1]:
            plain = plain.resize(size[::-1], Image.Resampling.BILINEAR)
        pixels = np.asarray(plain)
        return _Picture(name, pixels.reshape(*pixels.shape[:2], -1), image.mode)


def _opened(file: Path) -> Image:
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(file)
    except UnidentifiedImageError as error:
        raise ReadError(
            f"expected nothing but images in the folder, got {file}; move it out if it is no "
            "image, or give the path of the file itself if the examples are in it"
        ) from error


def _grey_or_rgb(image: Image, *, file: Path) -> Image:
    if image.mode.startswith(_DEEP):
        raise ReadError(
            f"expected 8 bits per channel in {file}, got an image of mode {image.mode}; "
            "convert it, or store the values in an .npy array"
        )
    if _has_transparency(image) and min(image.convert("RGBA").getchannel("A").tobytes()) < 255:
        raise ReadError(
            f"expected an opaque image in {file}, got transparent pixels; lay it on a background"
        )
    return image.convert("L" if image.mode in _GREY else "RGB")


def _has_transparency(image: Image) -> bool:
    return "A" in image.getbands() or "transparency" in image.info


def _refuse_other_size(first: _Picture, other: _Picture) -> None:
    if first.size != other.size:
        raise DataError(
            f"expected images of one size, got {first.name} ({first.size}) and {other.name} "
            f"({other.size}); bring them to one with image_size=(height, width)"
        )


def _how(pictures: list[_Picture], options: Options) -> str:
    modes = Counter(p.mode for p in pictures)
    said = "" if options.image_size is None else ", brought to {} x {}".format(*options.image_size)
    if len({p.pixels.shape[2] for p in pictures}) > 1:
        said += ", grey made RGB"
    changed = [
        f"{count} of mode {mode}" for mode, count in modes.items() if mode not in ("L", "RGB")
    ]
    return said + (f", converted from other modes: {', '.join(changed)}" if changed else "")


FOLDER = Source("a folder of images", Path.is_dir, _read, frozenset({"labels", "image_size"}))
