"""Trajectories: which weights each step starts from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from localelastic.errors import SettingError, expect_whole


class Trajectory(ABC):
    """The order of steps in each pass, and whether the weights keep moving.

    Examples are numbered primary first: ``0 .. n-1`` primary, ``n .. n+m-1`` auxiliary.
    """

    name: ClassVar[str]
    moves: ClassVar[bool]
    """Whether a step starts from the weights that the one before it left."""

    @abstractmethod
    def passes(self, n_primary: int, n_auxiliary: int) -> Iterator[list[int]]:
        """The examples to step on, in order, once per pass."""


@dataclass(frozen=True)
class Frozen(Trajectory):
    """Every step starts from the same weights, as in the paper's published scripts.

    Auxiliary examples are not stepped on: nothing would come of it.
    """

    name = "frozen"
    moves = False

    def passes(self, n_primary: int, n_auxiliary: int) -> Iterator[list[int]]:
        """One pass over the primary examples."""
        yield list(range(n_primary))


@dataclass(frozen=True)
class Sequential(Trajectory):
    """Algorithm 1: the weights move through primary and auxiliary examples without replacement.

    Args:
        n_passes: passes over the data; similarities are averaged over them (section 3).
        seed: of the random order, drawn anew in each pass.

    Raises:
        SettingError: less than one pass, a negative seed, or no whole numbers.
    """

    n_passes: int = 1
    seed: int = 0
    name = "sequential"
    moves = True

    def __post_init__(self) -> None:
        expect_whole(self.n_passes, "n_passes", 1)
        expect_whole(self.seed, "seed", 0)

    def passes(self, n_primary: int, n_auxiliary: int) -> Iterator[list[int]]:
        """A random permutation of all examples, once per pass."""
        random = np.random.default_rng(self.seed)
        for _ in range(self.n_passes):
            yield random.permutation(n_primary + n_auxiliary).tolist()


@dataclass(frozen=True)
class InOrder(Trajectory):
    """Algorithm 1 in a given order, such as one recorded elsewhere."""

    order: tuple[int, ...]
    name = "sequential"
    moves = True

    def passes(self, n_primary: int, n_auxiliary: int) -> Iterator[list[int]]:
        """The given order, which must visit each example once.

        Raises:
            SettingError: the order leaves out or repeats an example.
        """
        if sorted(self.order) != list(range(n_primary + n_auxiliary)):
            raise SettingError(
                f"expected an order of all {n_primary + n_auxiliary} examples, each once, "
                f"got {len(self.order)} entries"
            )
        yield list(self.order)
