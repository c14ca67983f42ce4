"""Inputs as models take them: a tensor, or tuples, lists, mappings and dataclasses of tensors.

Every tensor in them has the examples along its first axis; a list of strings is one text per
example. What else there is (``None``, numbers, tensors without axes) goes along unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from localelastic.errors import DataError

Leaf = Tensor | Sequence[str]


def mapped(change: Callable[[Any], Any], inputs: Any) -> Any:
    """The same structure with every leaf changed."""
    if _is_leaf(inputs):
        return change(inputs)
    if isinstance(inputs, Mapping):
        items = {name: mapped(change, value) for name, value in inputs.items()}
        if type(inputs) is dict or not isinstance(inputs, MutableMapping):
            return items
        same = copy.copy(inputs)
        same.update(items)
        return same
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return type(inputs)(*(mapped(change, value) for value in inputs))
    if isinstance(inputs, tuple | list):
        return type(inputs)(mapped(change, value) for value in inputs)
    if is_dataclass(inputs) and not isinstance(inputs, type):
        parts = {f.name: mapped(change, getattr(inputs, f.name)) for f in fields(inputs) if f.init}
        return replace(inputs, **parts)
    return inputs


def leaves(inputs: Any) -> Iterator[Leaf]:
    """Every tensor with examples, and every list of texts, in a fixed order."""
    found: list[Leaf] = []
    mapped(found.append, inputs)
    yield from found


def length(inputs: Any) -> int:
    """How many examples.

    Raises:
        DataError: no tensor at all, or tensors that disagree.
    """
    sizes = [len(leaf) for leaf in leaves(inputs)]
    if not sizes:
        raise DataError(
            f"expected inputs as a tensor, or tuples, lists or dicts of tensors with the examples "
            f"along the first axis, got {type(inputs).__name__}"
        )
    if len(set(sizes)) > 1:
        raise DataError(
            f"expected every tensor of the inputs to have one row per example, got {sizes} rows"
        )
    return sizes[0]


def described(inputs: Any) -> str:
    """Shapes and kinds of inputs in words, for errors."""
    if isinstance(inputs, Tensor):
        return f"{tuple(inputs.shape)} {str(inputs.dtype).removeprefix('torch.')}"
    if _is_leaf(inputs):
        return f"texts, {len(inputs)} of them"
    if isinstance(inputs, Mapping):
        return "{" + ", ".join(f"{name}: {described(v)}" for name, v in inputs.items()) + "}"
    if isinstance(inputs, tuple | list):
        return "(" + ", ".join(map(described, inputs)) + ")"
    return type(inputs).__name__


def rows_of(inputs: Any, rows: slice | Sequence[int] | Int[Tensor, "n"]) -> Any:
    """The examples at some positions."""
    return mapped(partial(_taken, rows), inputs)


def _taken(rows: slice | Sequence[int] | Int[Tensor, "n"], leaf: Leaf) -> Leaf:
    if isinstance(leaf, Tensor):
        return leaf[rows]
    if isinstance(rows, slice):
        return leaf[rows]
    return [leaf[int(row)] for row in rows]


def joined(parts: Sequence[Any]) -> Any:
    """Inputs of one structure, one after the other.

    Raises:
        DataError: they differ in structure or in the shape of an example.
    """
    columns = [list(leaves(part)) for part in parts]
    if len({len(column) for column in columns}) > 1:
        raise DataError("expected inputs of one structure on all sides")
    together = iter([_joined(column) for column in zip(*columns, strict=True)])
    return mapped(lambda _: next(together), parts[0])


def _joined(column: Sequence[Leaf]) -> Leaf:
    if not all(isinstance(leaf, Tensor) for leaf in column):
        return [text for leaf in column for text in leaf]
    tensors = [leaf for leaf in column if isinstance(leaf, Tensor)]
    shapes = [tuple(tensor.shape[1:]) for tensor in tensors]
    if len(set(shapes)) > 1:
        raise DataError(
            f"expected inputs of one shape on all sides, got {' and '.join(map(str, shapes))}; "
            "pad them to one length"
        )
    return torch.cat(tensors)


def _is_leaf(inputs: Any) -> bool:
    if isinstance(inputs, Tensor):
        return inputs.ndim > 0
    return (
        isinstance(inputs, list | tuple)
        and bool(inputs)
        and all(isinstance(text, str) for text in inputs)
    )
