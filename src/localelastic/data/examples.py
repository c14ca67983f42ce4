"""Examples: what every room above passes on."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import SupportsIndex

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from localelastic.errors import DataError
from localelastic.shapes import Inputs, PerExample


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs with an id each, and whatever is known of their class and target. Immutable.

    Args:
        inputs: ``(n, *shape)``, floating point and finite.
        ids: one unique name per example; results are looked up by it, never by value or position.
        classes: the (fine) class of each example as it is called in the data, or ``None``.
        targets: what the loss compares the output with, ``(n,)``, or ``None`` until a loss codes
            it. A target that is not finite is kept: the step on it is refused and its row marked.
        source: where the examples come from and how their values were scaled, in words.
        coarse: the coarse class of each example, where the data has one above ``classes``.
            Primary and auxiliary are then chosen by it, and clusters scored by ``classes``.

    Raises:
        DataError: no examples, inputs without values or that are not finite, an id used twice,
            or columns of several lengths.
    """

    inputs: Inputs
    ids: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    targets: PerExample | None = None
    source: str = ""
    coarse: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.inputs.numel() == 0:
            shape = tuple(self.inputs.shape)
            raise DataError(f"expected at least one example, got an empty set of shape {shape}")
        n = len(self.inputs)
        for name in ("ids", "classes", "targets", "coarse"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"expected {n} {name}, one per input, got {len(column)}")
        if self.targets is not None and self.targets.ndim != 1:
            shape = tuple(self.targets.shape)
            raise DataError(f"expected one target per input, shape ({n},), got shape {shape}")
        if len(set(self.ids)) != n:
            twice, _ = Counter(self.ids).most_common(1)[0]
            raise DataError(f"expected unique ids, got {twice!r} more than once")
        finite = torch.isfinite(self.inputs).reshape(n, -1).all(1)
        if not finite.all():
            bad = [self.ids[i] for i in (~finite).nonzero().flatten().tolist()]
            raise DataError(
                f"expected finite inputs, got NaN or infinity in {len(bad)} of {n} examples "
                f"(first: {bad[0]}); remove or repair them"
            )

    @classmethod
    def of(
        cls,
        inputs: Shaped[Tensor, "n *shape"] | Shaped[np.ndarray, "n *shape"] | Sequence[object],
        *,
        ids: Iterable[object] | None = None,
        classes: Iterable[object] | None = None,
        targets: Sequence[float] | PerExample | None = None,
        source: str = "",
        coarse: Iterable[object] | None = None,
    ) -> Examples:
        """Examples from arrays: numbers become floating point, missing ids are counted.

        Example:
            >>> Examples.of([[0.0], [1.0]], classes=["cat", "dog"]).ids
            ('0', '1')
        """
        tensor = torch.as_tensor(inputs)
        if not tensor.is_floating_point():
            tensor = tensor.to(torch.get_default_dtype())
        names = tuple(map(str, range(len(tensor)) if ids is None else ids))
        known = None if classes is None else tuple(map(str, classes))
        above = None if coarse is None else tuple(map(str, coarse))
        coded = None if targets is None else torch.as_tensor(targets, dtype=tensor.dtype)
        return cls(tensor, names, known, coded, source, above)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The distinct classes, numbers in numeric order, else alphabetical; empty if unknown."""
        return natural_order(set(self.classes or ()))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.inputs.shape[1:])

    def take(self, indices: Iterable[SupportsIndex]) -> Examples:
        """The examples at the given positions, in that order."""
        rows = [index(i) for i in indices]  # refuses a mask, which would mean another thing here
        return Examples(
            self.inputs[rows],
            tuple(self.ids[i] for i in rows),
            None if self.classes is None else tuple(self.classes[i] for i in rows),
            None if self.targets is None else self.targets[rows],
            self.source,
            None if self.coarse is None else tuple(self.coarse[i] for i in rows),
        )

    def with_target(self, target: float) -> Examples:
        """The same examples, all with one target."""
        return replace(self, targets=torch.full((len(self),), target, dtype=self.inputs.dtype))

    def duplicates(self) -> tuple[tuple[str, ...], ...]:
        """The ids of examples whose inputs are equal bit for bit, in groups, in data order.

        Example:
            >>> Examples.of([[0.0], [1.0], [0.0]], ids=["a", "b", "c"]).duplicates()
            (('a', 'c'),)
        """
        rows = self.inputs.detach().cpu().contiguous().view(len(self), -1).view(torch.uint8)
        groups: defaultdict[bytes, list[str]] = defaultdict(list)
        for name, row in zip(self.ids, rows.numpy(), strict=True):
            groups[row.tobytes()].append(name)
        return tuple(tuple(names) for names in groups.values() if len(names) > 1)

    def __repr__(self) -> str:
        known = ", ".join(self.class_names) or "unknown"
        return f"Examples({len(self)} of shape {self.shape}, classes: {known})"


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Numbers in numeric order, then the rest in alphabetical order."""
    return tuple(sorted(names, key=_natural))


def _natural(name: str) -> tuple[int, float, str]:
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    return (1, 0.0, name) if math.isnan(number) else (0, number, name)
