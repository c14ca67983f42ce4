"""What similarities have to do with distances, with chance, and with the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from jaxtyping import Float
from scipy import stats

from localelastic.errors import DataError
from localelastic.shapes import Square

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """The mean of repeated runs, and where the true mean is to be expected.

    Args:
        mean: over the runs.
        deviation: standard deviation of the runs; ``None`` of a single one.
        low: lower end of Student's interval of the mean at 95 %; ``None`` of a single run.
        high: upper end.
        n: runs.
    """

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    n: int

    def holds(self, value: float) -> bool | None:
        """Whether the value lies within; ``None`` where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= value <= self.high

    def holds_run(self, value: float) -> bool | None:
        """Whether one more run may give the value: Student's 95 % prediction interval.

        It is wider than that of the mean by ``sqrt(n + 1)``, and what a single printed run is to be
        held against.
        """
        if self.low is None or self.high is None:
            return None
        return abs(value - self.mean) <= (self.high - self.low) / 2 * sqrt(self.n + 1)


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95 % interval over seeds, by Student's t.

    Raises:
        DataError: no value, or one that is not finite.

    Example:
        >>> found = interval([1.0, 2.0, 3.0])
        >>> found.mean, round(found.low, 3), round(found.high, 3)
        (2.0, -0.484, 4.484)
    """
    if not values or not all(map(isfinite, values)):
        raise DataError(f"expected finite values to average, got {list(values)}")
    n, mean = len(values), float(np.mean(values))
    if n == 1:
        return Interval(mean, None, None, None, 1)
    deviation = float(np.std(values, ddof=1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * deviation / sqrt(n)
    return Interval(mean, deviation, mean - half, mean + half, n)


@dataclass(frozen=True)
class Correlation:
    """Of two matrices over pairs of examples.

    Args:
        pearson: linear correlation.
        spearman: rank correlation.
        n_pairs: ordered pairs that entered.
    """

    pearson: float
    spearman: float
    n_pairs: int


def correlation(values: Square, distances: Square, *, self_pairs: bool = False) -> Correlation:
    """How similarities go with distances over all ordered pairs.

    Args:
        values: similarities, rows the example stepped on; not symmetrised.
        distances: of the same pairs.
        self_pairs: whether ``(x, x)`` counts, as in the paper's scripts. Its similarity is 1 and
            its distance 0 by definition, which draws the line through a point it need not hit.

    Raises:
        DataError: matrices that do not fit, are not finite, or do not vary.

    Example:
        >>> distances = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
        >>> correlation(5 - distances, distances).pearson
        -1.0
    """
    if values.shape != distances.shape:
        raise DataError(
            f"expected a distance for each pair, got {distances.shape} for {values.shape}"
        )
    pairs = np.ones_like(values, dtype=bool) if self_pairs else ~np.eye(len(values), dtype=bool)
    x, y = values[pairs], distances[pairs]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError("expected finite similarities and distances, got NaN or infinity")
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise DataError("expected similarities and distances that vary, got constant ones")
    return Correlation(
        float(stats.pearsonr(x, y).statistic), float(stats.spearmanr(x, y).statistic), len(x)
    )


def activation_cosine(active: Float[np.ndarray, "n h"]) -> Square:
    """The cosine similarity of binary activation patterns (appendix A.4, figure 7a).

    Args:
        active: 1 where a hidden unit is on at an example, else 0.

    Raises:
        DataError: an example with no unit on: its pattern has no direction.

    Example:
        >>> activation_cosine(np.array([[1.0, 1.0], [1.0, 0.0]])).round(3).tolist()
        [[1.0, 0.707], [0.707, 1.0]]
    """
    sizes = np.sqrt(active.sum(1))
    if (sizes == 0).any():
        raise DataError(f"expected a unit on at every example, got none at {(sizes == 0).sum()}")
    return (active @ active.T) / (sizes[:, None] * sizes[None, :])


@dataclass(frozen=True)
class RankTest:
    """Two-sided Wilcoxon rank-sum test.

    Args:
        p: probability of ranks so far apart if both samples came from one distribution.
        above: share of pairs in which the first sample is the larger, ties half (0.5 is chance).
        n: sizes of the samples.
    """

    p: float
    above: float
    n: tuple[int, int]


def rank_sum(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """Whether one sample tends to be larger than another.

    Exact for small samples without ties (Mann-Whitney's U, the same test).

    Raises:
        DataError: an empty sample or a value that is not finite.

    Example:
        >>> rank_sum([3.0, 4.0, 5.0], [1.0, 2.0]).above
        1.0
    """
    if not len(first) or not len(second) or not np.isfinite([*first, *second]).all():
        raise DataError("expected two samples of finite values")
    found = stats.mannwhitneyu(first, second, alternative="two-sided")
    pairs = len(first) * len(second)
    return RankTest(float(found.pvalue), float(found.statistic) / pairs, (len(first), len(second)))
