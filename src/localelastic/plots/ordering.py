"""In which order examples stand in a picture of their similarity matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from localelastic.shapes import Labels, Vector


@dataclass(frozen=True, eq=False)
class Ordering:
    """An order of the examples in which the members of a group stand together.

    Args:
        indices: ``(n,)`` the example at each place.
        groups: the groups that have members, in the order met.
        stops: the place after the last member of each group; the last stop is ``n``.
    """

    indices: Int[np.ndarray, "n"]
    groups: tuple[int, ...]
    stops: tuple[int, ...]

    @property
    def spans(self) -> tuple[tuple[int, int, int], ...]:
        """Group, first place and the place after the last, for each group."""
        return tuple(zip(self.groups, (0, *self.stops[:-1]), self.stops, strict=True))


def grouped(groups: Labels, *, within: Labels, distance: Vector) -> Ordering:
    """Order examples by group, in a group by a second group, and there the nearest first.

    With the clusters as groups and the classes within, examples in the wrong cluster form a
    visible band at the end of their cluster; with the roles exchanged, of their class.

    Args:
        groups: ``(n,)`` the group of each example.
        within: ``(n,)`` what to order by inside a group.
        distance: ``(n,)`` what to order by inside that, such as the distance to the own centre.

    Returns:
        The order and where each group ends in it.

    Example:
        >>> import numpy as np
        >>> order = grouped(np.array([1, 0, 1]), within=np.zeros(3, int),
        ...                 distance=np.array([0.5, 0.1, 0.2]))
        >>> order.indices.tolist(), order.spans
        ([1, 2, 0], ((0, 0, 1), (1, 1, 3)))
    """
    indices = np.lexsort((distance, within, groups))
    present, sizes = np.unique(groups, return_counts=True)
    return Ordering(indices, tuple(present.tolist()), tuple(np.cumsum(sizes).tolist()))
