from io import BytesIO

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from localelastic.plots import (
    ColourScale,
    colour_scale,
    grouped,
    heatmap_png,
    shown_cells,
    similarity_heatmap,
)
from localelastic.plots.heatmap import CELLS


def order(n, groups=None):
    groups = np.zeros(n, int) if groups is None else groups
    return grouped(groups, within=np.zeros(n, int), distance=np.arange(n, dtype=float))


def test_a_few_large_entries_do_not_stretch_the_colours():
    cells = np.full((100, 100), 1.0)
    cells[:, ::2] = 2.0
    cells[0, 1] = 1e6
    np.fill_diagonal(cells, 1e9)
    assert colour_scale(cells) == ColourScale(1.0, 2.0, below=False, above=True)


def test_with_negative_entries_zero_is_the_middle():
    scale = colour_scale(np.array([[9.0, -1.0], [2.0, 9.0]]))
    assert scale.centred
    assert scale.low == -scale.high
    red, green, blue = scale.palette(3)[1].tolist()
    assert min(red, green, blue) > 240  # no similarity is nearly white
    assert scale.extend == "max"


@pytest.mark.parametrize("cells", [np.ones((3, 3)), np.ones((1, 1)), np.zeros((2, 2))])
def test_equal_entries_still_have_a_range(cells):
    scale = colour_scale(cells)
    assert scale.low < cells[0, 0] < scale.high


def test_cells_stand_in_the_order():
    similarity = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    cells = shown_cells(similarity, ordering=order(3, np.array([1, 0, 1])))
    assert cells.tolist() == [[4.0, 2.0, 5.0], [2.0, 1.0, 3.0], [5.0, 3.0, 6.0]]


def test_large_matrices_are_averaged():
    similarity = np.arange(600.0)[:, None] + np.arange(600.0)
    cells = shown_cells(similarity, ordering=order(600))
    assert cells.shape == (300, 300)
    assert len(cells) <= CELLS
    assert cells[0].tolist()[:3] == [1.0, 3.0, 5.0]


def test_each_pixel_has_the_colour_of_its_cell():
    scale = ColourScale(0.0, 1.0, below=False, above=True)
    png = heatmap_png(np.array([[0.0, 1.0], [0.5, 7.0]]), scale=scale)
    pixels = np.asarray(Image.open(BytesIO(png)).convert("RGB"))
    palette = scale.palette(256)
    assert pixels[0, 0].tolist() == palette[0].tolist()
    assert pixels[0, 1].tolist() == pixels[1, 1].tolist() == palette[255].tolist()
    assert pixels[1, 0].tolist() == palette[128].tolist()


def test_groups_are_named_at_their_middle_and_parted_by_lines():
    axes = Figure().subplots()
    groups = np.array([0, 0, 0, 1])
    ordering, names = order(4, groups), {0: "a $dear$ cat", 1: "dog"}
    drawn = similarity_heatmap(axes, np.eye(4), ordering=ordering, names=names, meaning="S")
    assert drawn is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a $dear$ cat", "dog"]
    assert axes.get_yticks().tolist() == [1.5, 3.5]
    assert sorted(float(np.max(line.get_ydata())) for line in axes.lines) == [1.0, 3.0]
    assert axes.child_axes[0].get_ylabel() == "S"
