"""Changes after steps on photographs, and what is reported of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localelastic.analysis import rank_sum
from localelastic.shapes import Rows, Vector

KL, RELATIVE = "mean KL", "mean relative KL"
RANKS = "rank-sum test"


@dataclass(frozen=True, eq=False)
class Changes:
    """Of one seed at one step size: ``n`` update photographs, ``m`` probes, the similar first.

    Args:
        kl: of each probe after each step.
        self_kl: of the photograph stepped on.
        size: Euclidean length of the change of the logits.
        distance: Euclidean, of the inputs.
        similar: how many of the probes are.
        photos: of each probe, the photograph it is a square of.
    """

    kl: Rows
    self_kl: Vector
    size: Rows
    distance: Rows
    similar: int
    photos: tuple[str, ...]

    @property
    def sides(self) -> tuple[slice, slice]:
        """Similar and dissimilar probes."""
        return slice(0, self.similar), slice(self.similar, None)

    def overtaken(self) -> float | None:
        """Of pairs of which the dissimilar one is nearer: share in which the similar moves more.

        The paper shows one such pair. ``None`` if there is none.
        """
        alike, other = self.sides
        nearer = self.distance[:, None, other] < self.distance[:, alike, None]
        more = self.kl[:, alike, None] > self.kl[:, None, other]
        return float(more[nearer].mean()) if nearer.any() else None

    def by_photo(self) -> tuple[list[float], list[float]]:
        """Mean KL of each distinct photograph, similar and dissimilar ones."""
        means = self.kl.mean(0)
        found = []
        for side in self.sides:
            names, values = self.photos[side], means[side]
            found.append(
                [
                    float(np.mean([v for n, v in zip(names, values, strict=True) if n == name]))
                    for name in dict.fromkeys(names)
                ]
            )
        return found[0], found[1]


def numbers(changes: Changes) -> dict[tuple[str, str], float]:
    """What is reported of one seed, by group and name."""
    alike, other = changes.sides
    kl, size, distance = changes.kl, changes.size, changes.distance
    relative = kl / changes.self_kl[:, None]
    by_update = rank_sum(kl[:, alike].mean(1).tolist(), kl[:, other].mean(1).tolist())
    by_probe = rank_sum(kl[:, alike].mean(0).tolist(), kl[:, other].mean(0).tolist())
    by_photo = rank_sum(*changes.by_photo())
    found = {
        (KL, "similar photographs"): kl[:, alike].mean(),
        (KL, "dissimilar photographs"): kl[:, other].mean(),
        (KL, "photograph stepped on"): changes.self_kl.mean(),
        (KL, "similar over dissimilar"): kl[:, alike].mean() / kl[:, other].mean(),
        (RELATIVE, "similar photographs"): relative[:, alike].mean(),
        (RELATIVE, "dissimilar photographs"): relative[:, other].mean(),
        (RANKS, "p, one average per update photograph"): by_update.p,
        (RANKS, "p, one average per test picture"): by_probe.p,
        (RANKS, "p, one average per different test photograph"): by_photo.p,
        (RANKS, "share of pairs in which the similar test picture moves more"): by_probe.above,
        ("Euclidean distance", "similar photographs"): distance[:, alike].mean(),
        ("Euclidean distance", "dissimilar photographs"): distance[:, other].mean(),
        ("change of all logits", "similar over dissimilar"): (
            size[:, alike].mean() / size[:, other].mean()
        ),
    }
    overtaken = changes.overtaken()
    if overtaken is not None:
        name = "where the dissimilar one is nearer: share in which the similar moves more"
        found["Euclidean distance", name] = overtaken
    return {key: float(value) for key, value in found.items()}
