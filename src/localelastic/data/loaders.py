"""PyTorch's data sets and loaders, read through once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    default_collate,
)

from localelastic.data.nested import joined
from localelastic.errors import DataError

_BATCH = 64


def read_through(source: DataLoader[Any] | Dataset[Any]) -> tuple[Any, Tensor | None]:
    """All inputs, and the targets where batches are ``(inputs, targets)`` pairs of tensors.

    Raises:
        DataError: a loader that shuffles, whose rows could not be told apart afterwards, or that
            drops examples; a source without examples.
    """
    if isinstance(source, DataLoader):
        _expect_in_order(source)
        with torch.random.fork_rng(devices=[]):  # a loader draws a seed
            batches = list(source)
    elif isinstance(source, IterableDataset):
        batches = list(DataLoader(source, batch_size=_BATCH))
    else:
        items = [source[i] for i in range(len(source))]  # type: ignore[arg-type]
        batches = [default_collate(items[i : i + _BATCH]) for i in range(0, len(items), _BATCH)]
    if not batches:
        raise DataError("expected at least one example, got an empty data set")
    first = batches[0]
    if not (isinstance(first, list | tuple) and len(first) == 2 and isinstance(first[1], Tensor)):
        return joined(batches), None
    return joined([batch[0] for batch in batches]), torch.cat([batch[1] for batch in batches])


def _expect_in_order(loader: DataLoader[Any]) -> None:
    batches = loader.batch_sampler
    sampler, drops = loader.sampler, loader.drop_last
    if batches is not None:  # it may have been given instead of the two
        sampler = getattr(batches, "sampler", batches)
        drops = getattr(batches, "drop_last", True)
    plain = isinstance(sampler, SequentialSampler) or isinstance(loader.dataset, IterableDataset)
    if drops or not plain:
        raise DataError(
            "expected a DataLoader that keeps the order and every example, got one with "
            f"{type(sampler).__name__}, drop_last={drops}; pass its dataset, or a loader with "
            "shuffle=False and drop_last=False"
        )
