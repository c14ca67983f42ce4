"""Similarities: from the change of prediction to a number per pair.

Rows are the example stepped on (``x``), columns the probed one (``x'``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from localelastic.change.record import Changes
from localelastic.shapes import Rows, Square

_ROUNDING = 1e-5
"""What is left of a kernel in single precision, below that, is one part in a hundred noise."""


class Similarity(ABC):
    """A rule that turns changes into similarities.

    ``is_kernel`` says whether the symmetrised matrix approximates an inner product, and is
    therefore clustered by kernel K-means; otherwise its rows are features for K-means.
    """

    name: ClassVar[str]
    equation: ClassVar[str]
    is_kernel: ClassVar[bool]

    @abstractmethod
    def of(self, change: Changes) -> Rows:
        """The similarity of each pair; meaningful only in the rows of ``change.valid``."""

    def of_all(self, values: Square) -> Square:
        """What else it takes once all steps are known, of the examples that are kept."""
        return values

    def undefined(self, values: Square) -> list[str | None]:
        """Why this similarity has no meaning for an example, beyond what its change says."""
        return [None] * len(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Relative(Similarity):
    """``S_rel(x, x') = |f(x', w+) - f(x', w)| / |f(x, w+) - f(x, w)|`` (eq. 2)."""

    name = "relative"
    equation = "S_rel(x, x') = |f(x', w+) - f(x', w)| / |f(x, w+) - f(x, w)|"
    is_kernel = False

    def of(self, change: Changes) -> Rows:
        """Eq. 2; one on the diagonal."""
        return np.abs(SignedRelative().of(change))


class SignedRelative(Similarity):
    """The ratio of eq. 2 without its absolute values: negative where a prediction moves back."""

    name = "signed-relative"
    equation = "(f(x', w+) - f(x', w)) / (f(x, w+) - f(x, w))"
    is_kernel = False

    def of(self, change: Changes) -> Rows:
        """The signed ratio; one on the diagonal."""
        return _divided(change.change, change.self_change)


class Kernelized(Similarity):
    """``S_ker(x, x') = (f(x', w) - f(x', w+)) / (lr dL/df)`` (eq. 3), signed.

    For small steps it tends to the inner product of the gradients of ``f`` at ``x`` and ``x'``.
    """

    name = "kernelized"
    equation = "S_ker(x, x') = (f(x', w) - f(x', w+)) / (lr dL/df)"
    is_kernel = True

    def of(self, change: Changes) -> Rows:
        """Eq. 3."""
        return _divided(-change.change, change.unit)


class NormalizedKernelized(Similarity):
    """``S_ker(x, x') / sqrt(S_ker(x, x) S_ker(x', x'))`` (appendix A.4), one on the diagonal."""

    name = "normalized-kernelized"
    equation = "S_ker(x, x') / sqrt(S_ker(x, x) S_ker(x', x'))"
    is_kernel = True

    def of(self, change: Changes) -> Rows:
        """Appendix A.4; zero where a self-similarity is not positive, see :meth:`undefined`."""
        return _normalized(Kernelized().of(change))

    def undefined(self, values: Square) -> list[str | None]:
        """Examples whose step moved their own prediction away from the target."""
        reason = "self-similarity not positive: the step overshot, take a smaller lr"
        return [None if own > 0 else reason for own in values.diagonal()]


class CentredKernelized(Similarity):
    """The kernel without what all steps have in common: a correlation, one on the diagonal.

    ``C(x, x') / sqrt(C(x, x) C(x', x'))`` with ``C = H S_ker H`` and ``H = I - 1/n``: each gradient
    less their mean, as in kernel PCA (Schoelkopf et al. 1998), then normalized as in appendix A.4.
    Where every step moves every prediction in the same way, only what is left tells examples apart.
    Unlike the others it depends on which examples are measured together. Of finite steps it is a
    correlation as nearly as they are inner products. It is ours, not the paper's.
    """

    name = "centred-kernelized"
    equation = "C(x, x') / sqrt(C(x, x) C(x', x')), C = S_ker less its row and column means"
    is_kernel = True

    def of(self, change: Changes) -> Rows:
        """The kernel; see :meth:`of_all`."""
        return Kernelized().of(change)

    def of_all(self, values: Square) -> Square:
        """Centred and normalized; zero where less than ``_ROUNDING`` is left of an example."""
        if len(values) < 2:  # one alone has nothing in common with others
            return _normalized(values)
        mean = values.mean(axis=1, keepdims=True)
        centred = values - mean - values.mean(axis=0) + mean.mean()
        centred[centred.diagonal() <= _ROUNDING * values.diagonal()] = 0
        return _normalized(centred)

    def undefined(self, values: Square) -> list[str | None]:
        """Examples whose gradient is the mean one to within rounding, or whose step overshot."""
        reason = (
            "its step moves the others as steps do on average, and nothing is left of it: train "
            "longer, or take another network or step size"
        )
        return [None if own > 0 else reason for own in values.diagonal()]


SIMILARITIES: dict[str, Similarity] = {
    similarity.name: similarity
    for similarity in (
        Relative(),
        SignedRelative(),
        Kernelized(),
        NormalizedKernelized(),
        CentredKernelized(),
    )
}
"""By the name used at the command line."""


def symmetrised(values: Square) -> Square:
    """``(S + S^T) / 2``, Algorithm 1 line 18."""
    return (values + values.T) / 2


def asymmetry(values: Square) -> float:
    """Root mean square of ``S - S^T`` over that of ``S + S^T``: zero of inner products."""
    both = float(np.linalg.norm(values + values.T))
    return float(np.linalg.norm(values - values.T)) / both if both > 0 else 0.0


def _normalized(kernel: Square) -> Square:
    """Over the roots of its diagonal; zero where that is not positive."""
    scale = np.sqrt(np.clip(kernel.diagonal(), 0, None))
    return _divided(_divided(kernel, scale).T, scale).T


def _divided(rows: Rows, by: np.ndarray) -> Rows:
    """Each row over its own divisor; a row whose divisor is zero, and is marked, stays zero."""
    safe = np.where(by == 0, 1.0, by)
    return np.where(by[:, None] == 0, 0.0, rows / safe[:, None])
