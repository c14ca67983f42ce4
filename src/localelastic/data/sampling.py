"""Which examples of the chosen classes are taken."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int

from localelastic.errors import ClassError, SettingError

Positions = Int[np.ndarray, "_"]
"""Places in a set of examples; each class has its own number of them."""

Members = Mapping[str, Positions]
"""Each chosen class and where its examples are, in data order."""


class Sampling(ABC):
    """Which examples of the chosen classes are taken."""

    @abstractmethod
    def primary(self, members: Members, *, count: int) -> Positions:
        """``count`` positions of primary examples, in any order."""

    @abstractmethod
    def auxiliary(self, members: Members, *, count: int) -> Positions:
        """``count`` positions of auxiliary examples, in any order."""


@final
@dataclass(frozen=True)
class RandomSampling(Sampling):
    """As many of each class, at random without replacement; the first classes take a remainder.

    Which examples of a class are drawn depends on the seed and the class alone: they are the same
    whatever the other classes are, and a larger draw contains the smaller one. The global random
    state is neither read nor moved.

    Args:
        seed: 0 or more.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise SettingError(f"expected a seed of 0 or more, got {self.seed}")

    def primary(self, members: Members, *, count: int) -> Positions:
        """The same number of each class."""
        drawn = [self._draw(name, members[name])[:n] for name, n in _shares(members, count).items()]
        return np.concatenate(drawn)

    def auxiliary(self, members: Members, *, count: int) -> Positions:
        """The same number of each class."""
        return self.primary(members, count=count)

    def _draw(self, name: str, positions: Positions) -> Positions:
        return np.random.default_rng([self.seed, *os.fsencode(name)]).permutation(positions)


@final
@dataclass(frozen=True)
class FirstSampling(Sampling):
    """The first ones in data order, as the scripts published with the paper take them.

    Primary: the first of each class, as many of each. Auxiliary: the first ones whose class is any
    of the auxiliary classes, so that these are only roughly even.
    """

    def primary(self, members: Members, *, count: int) -> Positions:
        """The first of each class, the same number of each."""
        return np.concatenate([members[name][:n] for name, n in _shares(members, count).items()])

    def auxiliary(self, members: Members, *, count: int) -> Positions:
        """The first of all classes together."""
        together = all_of(members)
        if len(together) < count:
            raise ClassError(_too_few(count, members, most=len(together)))
        return together[:count]


def all_of(members: Members) -> Positions:
    """All of them, in data order."""
    return np.sort(np.concatenate(list(members.values())))


def _shares(members: Members, count: int) -> dict[str, int]:
    """How many of each class make ``count`` in all: equal parts, a remainder to the first."""
    if count < len(members):
        raise SettingError(
            f"expected one example per class or more, got {count} of {_list(members)}"
        )
    each, more = divmod(count, len(members))
    shares = {name: each + (place < more) for place, name in enumerate(members)}
    if any(len(members[name]) < share for name, share in shares.items()):
        smallest = min(map(len, members.values()))
        raise ClassError(_too_few(count, members, most=smallest * len(members)))
    return shares


def _too_few(count: int, members: Members, *, most: int) -> str:
    sizes = ", ".join(f"{len(positions)} of {name}" for name, positions in members.items())
    return (
        f"expected {count} examples of {_list(members)}, got {sizes}; "
        f"ask for {most} or fewer, or leave the number out"
    )


def _list(members: Members) -> str:
    return ", ".join(members)
