"""Where the finished rows of a long measurement go, so that it can be taken up again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of one pass, each as it is in :class:`Changes` and :class:`Trust`.

    Args:
        examples: the primary examples stepped on.
        change: their rows.
        unit: ``lr dL/df`` of each step.
        reasons: why a row has no meaning, or an empty string.
        below_floor: share of each row that cannot be told from no step.
        moved_share: share of the weights that each step changed; ``nan`` if not known.
    """

    examples: Int[np.ndarray, "b"]
    change: Float[np.ndarray, "b n"]
    unit: Float[np.ndarray, "b"]
    reasons: tuple[str, ...]
    below_floor: Float[np.ndarray, "b"]
    moved_share: Float[np.ndarray, "b"]


class Keep(ABC):
    """Keeps blocks of rows. What it is given once it gives back, also to another process."""

    size = 32
    """Rows per block: what a killed run loses at most."""

    @abstractmethod
    def kept(self, number: int) -> Iterator[Block]:
        """The blocks of a pass that are already there."""

    @abstractmethod
    def keep(self, number: int, block: Block) -> None:
        """Store a finished block of a pass, whole or not at all."""
