"""Per-example gradients of one parameter, in forms whose inner products are cheap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

Products = Float[Tensor, "n m"]

_SLICE_BYTES = 128 * 2**20
_ROWS = 256
_DIRECTIONS = 4


F = TypeVar("F", bound="Factor")


class Factor(ABC):
    """The gradients of one parameter at ``n`` examples."""

    @classmethod
    @abstractmethod
    def joined(cls: type[F], uses: Sequence[F]) -> F:
        """The sum over several uses of the parameter."""

    @classmethod
    @abstractmethod
    def stacked(cls: type[F], batches: Sequence[F]) -> F:
        """Batches of examples as one."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """What is held in memory."""

    @abstractmethod
    def rows(self) -> Float[Tensor, "n w"]:
        """The gradients themselves, laid out as the parameter; only for a few examples."""

    @abstractmethod
    def agrees(self, weights: Float[Tensor, "n"], gradient: Tensor) -> bool:
        """Whether ``gradient`` is the sum of these gradients, each times its example's weight."""

    @abstractmethod
    def cross(self: F, other: F) -> Products:
        """Inner products with every gradient of ``other``, in float64."""


class OuterProducts(Factor):
    """A weight read at ``p`` positions: the gradient is ``sum_p d_p h_p^T``.

    Args:
        read: ``(n, p, a)`` what the layer read, ``h``.
        slope: ``(n, p, b)`` the gradient at what it returned, ``d``.
    """

    def __init__(self, read: Float[Tensor, "n p a"], slope: Float[Tensor, "n p b"]) -> None:
        self.read, self.slope = read, slope

    @classmethod
    def joined(cls, uses: Sequence[OuterProducts]) -> OuterProducts:
        """The sum over several uses: their positions side by side."""
        return cls(torch.cat([u.read for u in uses], 1), torch.cat([u.slope for u in uses], 1))

    @classmethod
    def stacked(cls, batches: Sequence[OuterProducts]) -> OuterProducts:
        """Batches of examples as one."""
        return cls(_as_one([b.read for b in batches]), _as_one([b.slope for b in batches]))

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        return self.read.nbytes + self.slope.nbytes

    def rows(self) -> Float[Tensor, "n w"]:
        """The gradients themselves, laid out as the weight; only for a few examples."""
        return (self.slope.mT @ self.read).flatten(1)

    def agrees(self, weights: Float[Tensor, "n"], gradient: Tensor) -> bool:
        """Seen from a few random directions of what is read: its width is most of the work."""
        generator = torch.Generator().manual_seed(0)
        shape = self.read.shape[-1], _DIRECTIONS
        directions = torch.randn(shape, generator=generator, dtype=self.read.dtype)
        directions = directions.to(self.read.device)
        read = self.read @ directions * weights.to(self.read.dtype)[:, None, None]
        total = self.slope.flatten(0, 1).T @ read.flatten(0, 1)
        return close(total, gradient.flatten(1) @ directions.to(gradient.dtype))

    def cross(self, other: OuterProducts) -> Products:
        """Inner products with every gradient of ``other``, in float64.

        Either over pairs of positions, ``sum_{p,q} (h_p h'_q)(d_p d'_q)``, or by forming the
        gradients in slices of outputs, whichever takes fewer multiplications.
        """
        n, p, a = self.read.shape
        m, q, b = len(other.read), other.read.shape[1], self.slope.shape[2]
        by_pairs = n * m * p * q * (a + b)
        by_slices = (n * p + m * q) * a * b + n * m * a * b
        return self._by_pairs(other) if by_pairs <= by_slices else self._by_slices(other)

    def _by_pairs(self, other: OuterProducts) -> Products:
        if self.read.shape[1] == other.read.shape[1] == 1:
            read = product(self.read[:, 0], other.read[:, 0])
            return read.mul_(product(self.slope[:, 0], other.slope[:, 0])).double()
        n, p, _ = self.read.shape
        m, q, _ = other.read.shape
        total = self.read.new_zeros(n, m, dtype=torch.float64)
        size = max(1, _SLICE_BYTES // (2 * p * m * q * self.read.element_size()))
        theirs = other.read.flatten(0, 1).T, other.slope.flatten(0, 1).T
        for rows in torch.arange(n).split(size):
            pairs = self.read[rows].flatten(0, 1) @ theirs[0]
            pairs *= self.slope[rows].flatten(0, 1) @ theirs[1]
            total[rows] = pairs.view(len(rows), p, m, q).sum((1, 3)).double()
        return total

    def _by_slices(self, other: OuterProducts) -> Products:
        n, m, a = len(self.read), len(other.read), self.read.shape[2]
        total = self.read.new_zeros(n, m, dtype=torch.float64)
        size = max(1, _SLICE_BYTES // ((n + m) * a * self.read.element_size()))
        for ours, theirs in zip(self.slope.split(size, 2), other.slope.split(size, 2), strict=True):
            gradients = (ours.mT @ self.read).flatten(1)
            same = self is other
            against = gradients if same else (theirs.mT @ other.read).flatten(1)
            total += product(gradients, against)
        return total


class Lookups(Factor):
    """An embedding table: the gradient at row ``v`` is the sum of ``d_p`` where the token is ``v``.

    Args:
        tokens: ``(n, p)``; -1 where nothing is looked up.
        slope: ``(n, p, b)``.
        table: number of rows.
    """

    def __init__(
        self, tokens: Int[Tensor, "n p"], slope: Float[Tensor, "n p b"], table: int
    ) -> None:
        self.tokens, self.slope, self.table = tokens, slope, table

    @classmethod
    def joined(cls, uses: Sequence[Lookups]) -> Lookups:
        """The sum over several uses."""
        tokens = torch.cat([u.tokens for u in uses], 1)
        return cls(tokens, torch.cat([u.slope for u in uses], 1), uses[0].table)

    @classmethod
    def stacked(cls, batches: Sequence[Lookups]) -> Lookups:
        """Batches of examples as one."""
        tokens = torch.cat([b.tokens for b in batches])
        return cls(tokens, torch.cat([b.slope for b in batches]), batches[0].table)

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        return self.tokens.nbytes + self.slope.nbytes

    def rows(self) -> Float[Tensor, "n w"]:
        """The gradients themselves; only for a few examples."""
        n, _, b = self.slope.shape
        table = self.slope.new_zeros(n, self.table + 1, b)
        where = torch.where(self.tokens < 0, self.table, self.tokens)
        table.scatter_add_(1, where[:, :, None].expand_as(self.slope), self.slope)
        return table[:, : self.table].flatten(1)

    def agrees(self, weights: Float[Tensor, "n"], gradient: Tensor) -> bool:
        """Added up in one table."""
        slope = (self.slope * weights.to(self.slope.dtype)[:, None, None]).flatten(0, 1)
        table = slope.new_zeros(self.table + 1, slope.shape[1])
        where = torch.where(self.tokens < 0, self.table, self.tokens).flatten()
        return close(table.index_add_(0, where, slope)[: self.table], gradient)

    def cross(self, other: Lookups) -> Products:
        """``sum_{p,q} [same token] d_p d'_q``, in float64."""
        n, p, _ = self.slope.shape
        m, q, _ = other.slope.shape
        total = self.slope.new_zeros(n, m, dtype=torch.float64)
        theirs = other.tokens.flatten()
        size = max(1, _SLICE_BYTES // (2 * p * m * q * self.slope.element_size()))
        for rows in torch.arange(n).split(size):
            ours = self.tokens[rows].flatten()
            pairs = self.slope[rows].flatten(0, 1) @ other.slope.flatten(0, 1).T
            pairs *= (ours[:, None] == theirs) & (ours >= 0)[:, None]
            total[rows] = pairs.view(len(rows), p, m, q).sum((1, 3)).double()
        return total


class Vectors(Factor):
    """A bias, a norm's scale, or any parameter whose gradients are at hand.

    Args:
        gradients: ``(n, w)``.
    """

    def __init__(self, gradients: Float[Tensor, "n w"]) -> None:
        self.gradients = gradients

    @classmethod
    def joined(cls, uses: Sequence[Vectors]) -> Vectors:
        """The sum over several uses."""
        return cls(torch.stack([use.gradients for use in uses]).sum(0))

    @classmethod
    def stacked(cls, batches: Sequence[Vectors]) -> Vectors:
        """Batches of examples as one."""
        return cls(torch.cat([batch.gradients for batch in batches]))

    @property
    def bytes(self) -> int:
        """What is held in memory."""
        return self.gradients.nbytes

    def rows(self) -> Float[Tensor, "n w"]:
        """The gradients."""
        return self.gradients

    def agrees(self, weights: Float[Tensor, "n"], gradient: Tensor) -> bool:
        """One product."""
        return close(weights.to(self.gradients.dtype) @ self.gradients, gradient.flatten())

    def cross(self, other: Vectors) -> Products:
        """``G G'^T``, in float64."""
        return product(self.gradients, other.gradients).double()


def joined(uses: Sequence[Factor]) -> Factor | None:
    """All uses of a parameter as one factor; ``None`` where it is used in different ways."""
    kinds = {type(use) for use in uses}
    if len(kinds) > 1:
        return None
    return uses[0] if len(uses) == 1 else kinds.pop().joined(uses)


def stacked(batches: Sequence[Factor]) -> Factor:
    """Batches of examples as one."""
    return type(batches[0]).stacked(batches)


def close(found: Tensor, expected: Tensor) -> bool:
    """Equal but for the rounding of a long sum."""
    exact = found.dtype == expected.dtype == torch.float64
    found, expected = found.double(), expected.double()
    return bool((found - expected).norm() <= (1e-6 if exact else 1e-3) * expected.norm())


def _as_one(batches: Sequence[Tensor]) -> Tensor:
    """Joined along the first axis in the memory order that they have: patches lie transposed."""
    if all(batch.mT.is_contiguous() for batch in batches):
        return torch.cat([batch.mT for batch in batches]).mT
    return torch.cat(list(batches))


def product(left: Float[Tensor, "n w"], right: Float[Tensor, "m w"]) -> Products:
    """``left right^T``; of a matrix with itself only one half is multiplied out."""
    if left.data_ptr() != right.data_ptr() or left.shape != right.shape or len(left) <= _ROWS:
        return left @ right.T
    total = left.new_empty(len(left), len(left))
    for rows in torch.arange(len(left)).split(_ROWS):
        first, last = int(rows[0]), int(rows[-1]) + 1
        total[first:last, first:] = left[first:last] @ left[first:].T
        total[last:, first:last] = total[first:last, last:].T
    return total
