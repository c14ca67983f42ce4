"""Examples: what every room above passes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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

    Raises:
        DataError: no examples, inputs that are not finite, or columns of several lengths.
    """

    inputs: Inputs
    ids: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    targets: PerExample | None = None
    source: str = ""

    def __post_init__(self) -> None:
        n = len(self.inputs)
        if n == 0:
            raise DataError("expected at least one example, got an empty set")
        for name in ("ids", "classes", "targets"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"expected {n} {name}, one per input, got {len(column)}")
        if len(set(self.ids)) != n:
            twice = next(i for i in self.ids if self.ids.count(i) > 1)
            raise DataError(f"expected unique ids, got {twice!r} more than once")
        finite = torch.isfinite(self.inputs).flatten(1).all(1)
        if not finite.all():
            bad = [self.ids[i] for i in (~finite).nonzero().flatten().tolist()]
            raise DataError(
                f"expected finite inputs, got NaN or infinity in {len(bad)} of {n} examples "
                f"(first: {bad[0]}); remove or repair them"
            )

    @classmethod
    def of(
        cls,
        inputs: Shaped[Tensor, "n *shape"] | Shaped[np.ndarray, "n *shape"],
        *,
        ids: Sequence[str] | None = None,
        classes: Sequence[object] | None = None,
        targets: Sequence[float] | PerExample | None = None,
        source: str = "",
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
        coded = None if targets is None else torch.as_tensor(targets, dtype=tensor.dtype)
        return cls(tensor, names, known, coded, source)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The distinct classes, numbers in numeric order, else alphabetical; empty if unknown."""
        return tuple(sorted(set(self.classes or ()), key=_natural))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.inputs.shape[1:])

    def take(self, indices: Sequence[int]) -> Examples:
        """The examples at the given positions, in that order."""
        rows = list(indices)
        return Examples(
            self.inputs[rows],
            tuple(self.ids[i] for i in rows),
            None if self.classes is None else tuple(self.classes[i] for i in rows),
            None if self.targets is None else self.targets[rows],
            self.source,
        )

    def with_target(self, target: float) -> Examples:
        """The same examples, all with one target."""
        return replace(self, targets=torch.full((len(self),), target, dtype=self.inputs.dtype))

    def __repr__(self) -> str:
        known = ", ".join(self.class_names) or "unknown"
        return f"Examples({len(self)} of shape {self.shape}, classes: {known})"


def _natural(name: str) -> tuple[int, float, str]:
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)
