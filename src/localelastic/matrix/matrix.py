"""The similarity matrix: raw values of the examples with a meaning, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from localelastic.change.record import Changes, Trust
from localelastic.errors import MeasurementError
from localelastic.shapes import Square, Vector
from localelastic.similarity import Similarity, symmetrised


@dataclass(frozen=True, eq=False)
class SimilarityMatrix:
    """Similarities of primary examples; raw and asymmetric, with the symmetrised one as a view.

    Args:
        values: rows the example stepped on, columns the probed one, over the kept examples.
        ids: of the kept examples, in the order of rows and columns.
        kept: their positions among the primary examples.
        excluded: id and reason of each example left out.
        similarity: what the values are.
        strategy: how the changes were computed, and why so.
        exact: whether they are those of the finite step, or first order in ``lr``.
        lr: the size of the step, where one was taken.
        below_floor: of each row, the share of probes whose change cannot be told from no step, in
            the last pass; ``None`` where changes are computed rather than subtracted.
        moved_share: of each row, the share of weights that its step changed at all; ``None`` where
            no step is taken, or weights keep moving.
    """

    values: Square
    ids: tuple[str, ...]
    kept: tuple[int, ...]
    excluded: tuple[tuple[str, str], ...]
    similarity: Similarity
    strategy: str
    exact: bool
    lr: float | None = None
    below_floor: Vector | None = None
    moved_share: Vector | None = None

    @property
    def symmetric(self) -> Square:
        """``(S + S^T) / 2`` (Algorithm 1, line 18)."""
        return symmetrised(self.values)

    def __repr__(self) -> str:
        left_out = f", {len(self.excluded)} left out" if self.excluded else ""
        return f"SimilarityMatrix({self.similarity.name}, {len(self.ids)} examples{left_out})"


def averaged(
    passes: Iterable[Changes], similarity: Similarity, ids: tuple[str, ...]
) -> tuple[Square, tuple[str | None, ...], str, Trust | None]:
    """The mean similarity over passes, the reasons of rows without a meaning, the way, the trust.

    A row is averaged over the passes in which it has one.

    Raises:
        MeasurementError: no row has a meaning in any pass.
    """
    n = len(ids)
    total, counts = np.zeros((n, n)), np.zeros(n)
    reasons: list[str | None] = [None] * n
    way, trust = "", None
    for change in passes:
        values = similarity.of(change)
        valid, way, trust = change.valid, change.way, change.trust
        total[valid] += values[valid]
        counts += valid
        reasons = [new or old for new, old in zip(change.reasons, reasons, strict=True)]
    total[counts > 0] /= counts[counts > 0, None]
    known = np.ix_(counts > 0, counts > 0)
    total[known] = similarity.of_all(total[known])
    undefined = similarity.undefined(total)
    final = tuple(
        reason if not count else extra
        for reason, count, extra in zip(reasons, counts, undefined, strict=True)
    )
    if all(reason is not None for reason in final):
        raise MeasurementError(
            f"none of the {n} steps had a meaning (first: {final[0]}); "
            "check the step size, the targets and the network"
        )
    return total, final, way, trust


def without_excluded(
    values: Square,
    reasons: tuple[str | None, ...],
    ids: tuple[str, ...],
    similarity: Similarity,
    strategy: str,
    exact: bool,
    lr: float | None = None,
    trust: Trust | None = None,
) -> SimilarityMatrix:
    """The matrix over the examples with a meaning."""
    kept = tuple(i for i, reason in enumerate(reasons) if reason is None)
    excluded = tuple((ids[i], why) for i, why in enumerate(reasons) if why is not None)
    return SimilarityMatrix(
        values[np.ix_(kept, kept)],
        tuple(ids[i] for i in kept),
        kept,
        excluded,
        similarity,
        strategy,
        exact,
        lr,
        None if trust is None else trust.below_floor[list(kept)],
        None if trust is None or trust.moved_share is None else trust.moved_share[list(kept)],
    )


def of_same_steps(kernel: SimilarityMatrix, similarity: Similarity) -> SimilarityMatrix:
    """Another similarity of the steps that a kernelized matrix was measured by.

    A row of eq. 3 is the change over one number, which every other similarity divides out: one
    pass of steps gives them all. (Averages over several passes differ.)

    Args:
        kernel: kernelized, of one pass.
        similarity: what is wanted.

    Raises:
        MeasurementError: no example has a meaning under it.
    """
    n = len(kernel.values)
    same = Changes(-kernel.values, -kernel.values.diagonal(), np.ones(n), (None,) * n)
    values, reasons, *_ = averaged([same], similarity, kernel.ids)
    found = without_excluded(
        values, reasons, kernel.ids, similarity, kernel.strategy, kernel.exact, kernel.lr
    )
    kept = list(found.kept)
    below, moved = kernel.below_floor, kernel.moved_share
    return replace(
        found,
        kept=tuple(kernel.kept[i] for i in kept),
        excluded=(*kernel.excluded, *found.excluded),
        below_floor=None if below is None else below[kept],
        moved_share=None if moved is None else moved[kept],
    )


def check_size(matrix: SimilarityMatrix) -> float:
    """The mean self-similarity, by which a matrix is divided before it is averaged with others.

    Raises:
        MeasurementError: it is not positive.
    """
    size = float(matrix.values.diagonal().mean())
    if not size > 0:
        raise MeasurementError(
            f"expected a positive mean self-similarity, got {size:.3g}: the steps overshot; "
            "take a smaller lr"
        )
    return size


def mean_of(matrices: Sequence[SimilarityMatrix], over: str = "networks") -> SimilarityMatrix:
    """The mean of one similarity over several networks, of the examples that most of them keep.

    Each is divided by its mean self-similarity first, so that none outweighs the others, and the
    mean has that of their average. A pair is averaged over the networks that keep both: with more
    than half of them keeping each example there is always one.

    Args:
        matrices: of the same primary examples; one is given back as it is.
        over: what they are of, in words.

    Raises:
        MeasurementError: no example is kept by more than half, or a mean self-similarity is not
            positive.
    """
    first = matrices[0]
    if len(matrices) == 1:
        return first
    keepers = Counter(i for one in matrices for i in one.kept)
    kept = sorted(i for i, many in keepers.items() if 2 * many > len(matrices))
    if not kept:
        raise MeasurementError(
            f"no example has a meaning in most of {len(matrices)} {over}; train longer"
        )
    place = {i: number for number, i in enumerate(kept)}
    total, counts = np.zeros((len(kept), len(kept))), np.zeros((len(kept), len(kept)))
    sizes = [check_size(one) for one in matrices]
    for one, size in zip(matrices, sizes, strict=True):
        rows = [number for number, i in enumerate(one.kept) if i in place]
        into = [place[one.kept[number]] for number in rows]
        total[np.ix_(into, into)] += one.values[np.ix_(rows, rows)] / size
        counts[np.ix_(into, into)] += 1
    names = {i: name for one in matrices for i, name in zip(one.kept, one.ids, strict=True)}
    there = {names[i] for i in kept}
    lost = dict(pair for one in reversed(matrices) for pair in one.excluded if pair[0] not in there)
    return SimilarityMatrix(
        total / counts * float(np.mean(sizes)),
        tuple(names[i] for i in kept),
        tuple(kept),
        tuple(lost.items()),
        first.similarity,
        f"{first.strategy}; mean over {len(matrices)} {over}",
        all(one.exact for one in matrices),
        first.lr,
        _mean_trust([(one.kept, one.below_floor) for one in matrices], kept),
        _mean_trust([(one.kept, one.moved_share) for one in matrices], kept),
    )


def _mean_trust(
    shares: Sequence[tuple[tuple[int, ...], np.ndarray | None]], kept: Sequence[int]
) -> Vector | None:
    """Of each row, the mean over the matrices that keep it, where its share is known."""
    known = [dict(zip(rows, one, strict=True)) for rows, one in shares if one is not None]
    of_row = [[each[i] for each in known if i in each] for i in kept]
    return np.array([np.mean(row) for row in of_row]) if all(of_row) else None
