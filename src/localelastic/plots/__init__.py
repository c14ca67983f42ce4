"""Pictures: axes in, axes out. Matplotlib's global state and backend stay as they are."""

from localelastic.plots.heatmap import (
    Cells,
    ColourScale,
    colour_scale,
    heatmap_png,
    shown_cells,
    similarity_heatmap,
)
from localelastic.plots.ordering import Ordering, grouped
from localelastic.plots.thumbnails import curve_points, is_image, thumbnail_png

__all__ = [
    "Cells",
    "ColourScale",
    "Ordering",
    "colour_scale",
    "curve_points",
    "grouped",
    "heatmap_png",
    "is_image",
    "shown_cells",
    "similarity_heatmap",
    "thumbnail_png",
]
