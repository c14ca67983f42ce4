"""What a finished clustering run says: the record that tables and reports are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from localelastic.shapes import Labels, Square


@dataclass(frozen=True)
class Score:
    """How well one method's clusters match the known classes.

    All are ``None`` where no class is known. ``chance`` is the mean accuracy that random labels
    get under the same optimal assignment.
    """

    method: str
    accuracy: float | None
    ari: float | None
    nmi: float | None
    chance: float | None


@dataclass(frozen=True, eq=False)
class ClusterRecord:
    """One run of clustering by local elasticity, ready to be shown.

    Args:
        question: what was asked, one sentence.
        finding: what was found, one sentence.
        scores: our method first, then the baselines.
        ids: one per primary example that was clustered.
        labels: its cluster, ``0 .. k-1``.
        classes: its known class, or ``None``.
        matched: the class that each cluster was matched to by optimal assignment (``None`` for a
            cluster left without one), or ``None`` where no class is known.
        distances: ``(n, k)`` distance of each example to the centre of each cluster, in the
            geometry of the similarity. Small is typical; two near-equal distances are a border.
        similarity: the symmetrised matrix, ``(n, n)``, in the order of ``ids``.
        similarity_name: what its entries are, such as "kernelized similarity".
        inputs: ``(n, *shape)`` the examples for pictures: ``(c, h, w)`` or ``(h, w)`` with c 1 or 3
            is an image; anything else is drawn as a curve of its values.
        excluded: id and reason of each primary example that was left out.
        settings: every setting of the run in words, in the order to be shown.
        environment: the machine and the versions.
        notes: warnings and remarks a reader should see: low training accuracy, how the strategy
            was chosen, spread over starts.
    """

    question: str
    finding: str
    scores: tuple[Score, ...]
    ids: tuple[str, ...]
    labels: Labels
    classes: tuple[str, ...] | None
    matched: tuple[str | None, ...] | None
    distances: Float[ndarray, "n k"]
    similarity: Square
    similarity_name: str
    inputs: Float[ndarray, "n *shape"]
    excluded: tuple[tuple[str, str], ...]
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    notes: tuple[str, ...]
