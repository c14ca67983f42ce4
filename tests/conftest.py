"""Every test runs with the shapes and types of all signatures checked."""

import os

# Threads on data this small wait for each other, and for hours where the cores have other work.
# Set before PyTorch is loaded, for processes that tests start too.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from jaxtyping import install_import_hook

ROOMS = (
    "errors shapes data models update trajectory change similarity matrix measure cluster analysis "
    "plots report experiments cli"
)
# Compiled functions cannot be wrapped: of the numerics only what calls them is checked.
CHECKED = [*ROOMS.split(), "numerics.two_layer"]

install_import_hook([f"localelastic.{room}" for room in CHECKED], "beartype.beartype")
