"""Gradients by a full backward pass, as a training step takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor


def gradients(
    value: Tensor, parameters: Sequence[Tensor], *, retain_graph: bool = False
) -> list[Tensor | None]:
    """``d value / d parameter`` of each, ``None`` where the value does not depend on it.

    ``torch.autograd.grad`` passes over what a graph hides, such as reentrant checkpoints, without a
    word; a full backward pass does not. No ``.grad`` is left changed, also of other tensors that
    the graph reaches.

    Args:
        value: a lone number with a graph.
        parameters: leaves of the graph.
        retain_graph: whether the graph is used again.
    """
    reached = {id(leaf): leaf for leaf in (*parameters, *_leaves(value))}.values()
    held = [(leaf, leaf.grad) for leaf in reached]
    try:
        for leaf in reached:
            leaf.grad = None
        value.backward(retain_graph=retain_graph)
        return [p.grad for p in parameters]
    finally:
        for leaf, before in held:
            leaf.grad = before


def _leaves(value: Tensor) -> Iterator[Tensor]:
    """What gathers a gradient in the graph of a value."""
    waiting, seen = [value.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, Tensor):
            yield leaf
        waiting += [after for after, _ in node.next_functions]
