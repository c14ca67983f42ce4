"""The question's data: primary examples to be clustered, auxiliary ones to train against."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localelastic.data.examples import Examples, natural_order
from localelastic.data.sampling import Members, RandomSampling, Sampling, all_of
from localelastic.errors import ClassError, DataError, SettingError


@dataclass(frozen=True, eq=False)
class Task:
    """Primary examples, whose finer classes are sought, and auxiliary ones to train against.

    Raises:
        DataError: inputs of two shapes, or an id on both sides.
    """

    primary: Examples
    auxiliary: Examples

    def __post_init__(self) -> None:
        if self.primary.shape != self.auxiliary.shape:
            raise DataError(
                "expected primary and auxiliary inputs of one shape, "
                f"got {self.primary.shape} and {self.auxiliary.shape}"
            )
        shared = set(self.primary.ids) & set(self.auxiliary.ids)
        if shared:
            raise DataError(
                f"expected an example on one side only, got {len(shared)} ids on both "
                f"(such as {min(shared)!r})"
            )


def primary_vs_auxiliary(
    examples: Examples,
    *,
    primary: Sequence[str | int],
    auxiliary: Sequence[str | int],
    n_primary: int | None = 1000,
    n_auxiliary: int | None = 1000,
    sampling: Sampling = RandomSampling(),  # noqa: B008 - frozen, so it can be shared
) -> Task:
    """The primary-against-auxiliary task, its examples in data order.

    Classes are looked up among ``examples.coarse`` where the data has coarse classes, else among
    ``examples.classes``.

    Args:
        examples: what to choose from.
        primary: the classes to be told apart, or the coarse class to be split.
        auxiliary: the classes to train against.
        n_primary: how many primary examples in all, or ``None`` for all there are.
        n_auxiliary: how many auxiliary examples in all, or ``None`` for all there are.
        sampling: which ones.

    Returns:
        Both sides, without targets: the loss codes them.

    Raises:
        ClassError: a class that is unknown, too small, named twice or on both sides, no class at
            all, or examples whose classes are not known.
        SettingError: a count below one example per class.

    Example:
        >>> from localelastic.data import FirstSampling
        >>> data = Examples.of([[0.0], [1.0], [2.0], [3.0]], classes=["5", "8", "3", "5"])
        >>> task = primary_vs_auxiliary(data, primary=[5, 8], auxiliary=[3], n_primary=2,
        ...                             n_auxiliary=1, sampling=FirstSampling())
        >>> task.primary.classes, task.auxiliary.classes
        (('5', '8'), ('3',))
    """
    known = examples.classes if examples.coarse is None else examples.coarse
    if known is None:
        raise ClassError(
            "expected examples of known classes to choose from, got none; "
            "load them with label_column or labels"
        )
    first = _members(known, primary, side="primary")
    second = _members(known, auxiliary, side="auxiliary")
    shared = [name for name in first if name in second]
    if shared:
        raise ClassError(
            f"expected a class to be primary or auxiliary, got {', '.join(shared)} as both"
        )
    clustered, beside = all_of(first), all_of(second)
    if n_primary is not None:
        clustered = sampling.primary(first, count=_checked(n_primary, side="primary"))
    if n_auxiliary is not None:
        beside = sampling.auxiliary(second, count=_checked(n_auxiliary, side="auxiliary"))
    return Task(
        primary=examples.take(np.sort(clustered)),
        auxiliary=examples.take(np.sort(beside)),
    )


def _members(known: Sequence[str], wanted: Sequence[str | int] | int, *, side: str) -> Members:
    if isinstance(wanted, str | int):
        raise ClassError(f"expected a list of {side} classes, got {wanted!r}; write [{wanted!r}]")
    names = [str(name) for name in wanted]
    if not names:
        raise ClassError(f"expected at least one {side} class, got none")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ClassError(f"expected each {side} class once, got {', '.join(twice)} more than once")
    labels = np.array(known, dtype=object)
    members = {name: (labels == name).nonzero()[0] for name in names}
    for name, positions in members.items():
        if len(positions) == 0:
            raise ClassError(_unknown(name, natural_order(set(known)), side=side))
    return members


def _unknown(name: str, known: Sequence[str], *, side: str) -> str:
    alike = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name.casefold(), alike, n=3)
    hint = f"; did you mean {' or '.join(repr(alike[other]) for other in near)}?" if near else ""
    listed = ", ".join(known[:20]) + (f", ... ({len(known)} in all)" if len(known) > 20 else "")
    return f"expected a known {side} class, got {name!r}{hint} (known: {listed})"


def _checked(count: int, *, side: str) -> int:
    if count < 1:
        raise SettingError(f"expected n_{side} of 1 or more, or None for all, got {count}")
    return count
