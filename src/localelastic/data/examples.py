"""Examples: what every room above passes on."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, SupportsIndex

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from localelastic.data.loaders import read_through
from localelastic.data.nested import leaves, length, mapped, rows_of
from localelastic.data.tensors import as_tensor, expect_plain
from localelastic.errors import DataError


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs with an id each, and whatever is known of their class and target. Immutable.

    Args:
        inputs: what the model takes: ``(n, *shape)``, or tuples, lists, mappings and dataclasses of
            such tensors (:mod:`localelastic.data.nested`). Without NaN; one tensor is all finite.
        ids: one unique name per example; results are looked up by it, never by value or position.
        classes: the (fine) class of each example as it is called in the data, or ``None``.
        targets: what the loss compares the output with, ``(n,)`` numbers, classes counted from 0,
            or ``(n, *shape)`` as the loss wants them; ``None`` until a loss codes it. A target
            that is not finite is kept: the step on it is refused and its row marked.
        source: where the examples come from and how their values were scaled, in words.
        coarse: the coarse class of each example, where the data has one above ``classes``.
            Primary and auxiliary are then chosen by it, and clusters scored by ``classes``.

    Raises:
        DataError: no examples, inputs without values or that are not finite, an id used twice,
            or columns of several lengths.
    """

    inputs: Any
    ids: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    targets: Shaped[Tensor, "n *target"] | None = None
    source: str = ""
    coarse: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        tensors = [leaf for leaf in leaves(self.inputs) if isinstance(leaf, Tensor)]
        for tensor in tensors:
            expect_plain(tensor, "inputs")
        if self.targets is not None:
            self._expect_targets()
        n = length(self.inputs)
        if n == 0 or any(tensor.numel() == 0 for tensor in tensors):
            shape = tuple(tensors[0].shape) if tensors else (0,)
            raise DataError(f"expected at least one example, got an empty set of shape {shape}")
        for name in ("ids", "classes", "targets", "coarse"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"expected {n} {name}, one per input, got {len(column)}")
        if len(set(self.ids)) != n:
            twice, _ = Counter(self.ids).most_common(1)[0]
            raise DataError(f"expected unique ids, got {twice!r} more than once")
        for tensor in tensors:
            # Infinity has its uses beside other inputs, such as in a mask added to attention.
            fine = torch.isfinite(tensor) if tensor is self.inputs else ~torch.isnan(tensor)
            whole = fine.reshape(n, -1).all(1)
            if not whole.all():
                bad = [self.ids[i] for i in (~whole).nonzero().flatten().tolist()]
                raise DataError(
                    f"expected finite inputs, got NaN or infinity in {len(bad)} of {n} examples "
                    f"(first: {bad[0]}); remove or repair them"
                )

    def _expect_targets(self) -> None:
        if not isinstance(self.targets, Tensor):
            kind = type(self.targets).__name__
            raise DataError(f"expected targets as a tensor, got a {kind}; use Examples.of")
        expect_plain(self.targets, "targets")
        if self.targets.ndim == 0:
            raise DataError(
                f"expected a target per example, got one number, {self.targets.item()!r}; "
                "repeat it for each example"
            )

    @classmethod
    def of(
        cls,
        inputs: Any,
        *,
        ids: Iterable[object] | None = None,
        classes: Iterable[object] | None = None,
        targets: Any = None,
        source: str = "",
        coarse: Iterable[object] | None = None,
    ) -> Examples:
        """Examples from what there is; missing ids are counted.

        Tensors of whole numbers, such as tokens, are kept as they are, and so are whole targets,
        such as classes. Numbers in arrays and plain lists, and bytes of pixels, become floating
        point.

        Args:
            inputs: a tensor, an array, a list of numbers, or a structure of tensors; also a
                ``Dataset`` of inputs or ``(input, target)`` pairs, or a ``DataLoader`` that keeps
                their order.
            ids: one name per example.
            classes: the class of each.
            targets: what the loss compares the output with.
            source: where the examples come from.
            coarse: a class above ``classes``.

        Example:
            >>> Examples.of([[0.0], [1.0]], classes=["cat", "dog"]).ids
            ('0', '1')
        """
        if isinstance(inputs, DataLoader | Dataset):
            inputs, found = read_through(inputs)
            targets = found if targets is None else targets
        held = _held(inputs)
        names = tuple(map(str, range(length(held)) if ids is None else ids))
        known = None if classes is None else tuple(map(str, classes))
        above = None if coarse is None else tuple(map(str, coarse))
        coded = None if targets is None else as_tensor(targets, "targets")
        return cls(held, names, known, coded, source, above)

    def __len__(self) -> int:
        return length(self.inputs)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The distinct classes, numbers in numeric order, else alphabetical; empty if unknown."""
        return natural_order(set(self.classes or ()))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input; empty where it is more than one tensor."""
        return tuple(self.inputs.shape[1:]) if isinstance(self.inputs, Tensor) else ()

    def take(self, indices: Iterable[SupportsIndex]) -> Examples:
        """The examples at the given positions, in that order."""
        rows = [index(i) for i in indices]  # refuses a mask, which would mean another thing here
        return Examples(
            rows_of(self.inputs, rows),
            tuple(self.ids[i] for i in rows),
            None if self.classes is None else tuple(self.classes[i] for i in rows),
            None if self.targets is None else self.targets[rows],
            self.source,
            None if self.coarse is None else tuple(self.coarse[i] for i in rows),
        )

    def duplicates(self) -> tuple[tuple[str, ...], ...]:
        """The ids of examples whose inputs are equal bit for bit, in groups, in data order.

        Example:
            >>> Examples.of([[0.0], [1.0], [0.0]], ids=["a", "b", "c"]).duplicates()
            (('a', 'c'),)
        """
        groups: defaultdict[bytes, list[str]] = defaultdict(list)
        columns = [_bytes(leaf) for leaf in leaves(self.inputs)]
        for name, *parts in zip(self.ids, *columns, strict=True):
            groups[b"".join(parts)].append(name)
        return tuple(tuple(names) for names in groups.values() if len(names) > 1)

    def __repr__(self) -> str:
        known = ", ".join(self.class_names) or "unknown"
        return f"Examples({len(self)} of shape {self.shape}, classes: {known})"


def _held(inputs: Any) -> Any:
    """Arrays and lists of numbers as floating point; tensors and structures of them as they are."""
    if isinstance(inputs, Tensor):
        plain = inputs.dtype in (torch.uint8, torch.bool)
        return inputs.to(torch.get_default_dtype()) if plain else inputs
    if isinstance(inputs, np.ndarray) or _is_numbers(inputs):
        tensor = as_tensor(inputs, "inputs")
        kept = tensor.is_floating_point() or tensor.is_complex()
        return tensor if kept else tensor.to(torch.get_default_dtype())
    return mapped(lambda leaf: leaf, _arrays_as_tensors(inputs))


def _is_numbers(inputs: Any) -> bool:
    while isinstance(inputs, list | tuple) and len(inputs):
        inputs = inputs[0]
    return isinstance(inputs, bool | int | float | np.generic | list | tuple)


def _arrays_as_tensors(inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        named = {k: as_tensor(v, "inputs") for k, v in inputs.items() if isinstance(v, np.ndarray)}
        return {**inputs, **named} if named else inputs
    if type(inputs) in (list, tuple):
        return type(inputs)(
            as_tensor(v, "inputs") if isinstance(v, np.ndarray) else v for v in inputs
        )
    return inputs


def _bytes(leaf: Any) -> list[bytes]:
    """Of each example."""
    if not isinstance(leaf, Tensor):
        return [text.encode() + b"\0" for text in leaf]
    rows = leaf.detach().cpu().contiguous().view(len(leaf), -1).view(torch.uint8)
    return [row.tobytes() for row in rows.numpy()]


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Numbers in numeric order, then the rest in alphabetical order."""
    return tuple(sorted(names, key=_natural))


def _natural(name: str) -> tuple[int, float, str]:
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    return (1, 0.0, name) if math.isnan(number) else (0, number, name)
