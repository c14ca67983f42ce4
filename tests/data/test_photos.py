"""Squares of photographs, and folders of them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from localelastic.data.photos import (
    CENTRE,
    SHIPPED,
    Frame,
    framed,
    photos_in,
    read_photo,
    shipped_photo,
)
from localelastic.errors import ReadError, SettingError


def columns(width, height):
    """Grey by the column."""
    row = np.arange(width, dtype=np.uint8) * 4
    return np.broadcast_to(row[None, :, None], (height, width, 3)).copy()


def test_frames_cut_where_they_say():
    wide = columns(60, 20)
    for across, first in ((0.0, 0), (0.5, 20), (1.0, 40)):
        square = framed(wide, Frame(side=1.0, across=across), 20)
        assert square[0, :, 0].tolist() == [4 * (first + i) for i in range(20)]
    mirrored = framed(wide, Frame(side=1.0, across=0.0, mirrored=True), 20)
    assert mirrored[0, :, 0].tolist() == [4 * i for i in reversed(range(20))]


def test_the_middle_is_what_classifiers_are_tested_on():
    # Shorter side to 256, then the middle 224: here without any resizing.
    pixels = np.random.default_rng(0).integers(0, 256, (256, 300, 3)).astype(np.uint8)
    assert np.array_equal(framed(pixels, CENTRE, 224), pixels[16:240, 38:262])


def test_photographs_are_read_upright_and_in_colour(tmp_path):
    grey = Image.fromarray(columns(6, 3)[:, :, 0])
    grey.save(tmp_path / "grey.png")
    assert np.array_equal(read_photo(tmp_path / "grey.png"), columns(6, 3))
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned a quarter clockwise
    Image.fromarray(columns(60, 30)).save(tmp_path / "turned.jpg", exif=turned)
    assert read_photo(tmp_path / "turned.jpg").shape == (60, 30, 3)


def test_what_is_no_photograph_is_said(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ReadError, match=r"notes\.txt"):
        read_photo(tmp_path / "notes.txt")


def test_folders(tmp_path):
    for name in ("b.png", "a.png", ".hidden"):
        (tmp_path / name).write_bytes(b"")
    assert [p.name for p in photos_in(tmp_path)] == ["a.png", "b.png"]
    (tmp_path / "empty").mkdir()
    for missing in ("empty", "nowhere"):
        with pytest.raises(ReadError, match=missing):
            photos_in(tmp_path / missing)


def test_missing_package_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(SettingError, match=r"localelastic\[photos\]"):
        shipped_photo("cat")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_photographs_are_there(name):
    if name not in ("flower", "palace"):
        pytest.importorskip("skimage")
    pixels = shipped_photo(name)
    assert pixels.shape[2] == 3
    assert min(pixels.shape[:2]) >= 300
    assert np.ptp(pixels) > 100
