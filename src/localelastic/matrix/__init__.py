"""The similarity matrix, and the blocks it is measured in."""

from localelastic.matrix.blocks import BlockStore, fingerprint_of
from localelastic.matrix.matrix import (
    SimilarityMatrix,
    averaged,
    check_size,
    mean_of,
    of_same_steps,
    without_excluded,
)
from localelastic.matrix.places import check_place, place_of

__all__ = [
    "BlockStore",
    "SimilarityMatrix",
    "averaged",
    "check_place",
    "check_size",
    "fingerprint_of",
    "mean_of",
    "of_same_steps",
    "place_of",
    "without_excluded",
]
