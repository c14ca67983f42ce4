"""Forward passes that leave no trace and draw the same random numbers each time."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

_RANDOM = threading.RLock()


@contextmanager
def repeatable(model: nn.Module) -> Iterator[None]:
    """The same random numbers each time, and buffers put back afterwards.

    The global random states of Python, NumPy and PyTorch are restored; one thread at a time, since
    they are shared by all. Attention takes its general path, with and without a gradient: its fast
    one gives other numbers at padded places.
    """
    held = [
        (module._buffers, dict(module._buffers.items()), [*map(_copy, module._buffers.values())])
        for module in model.modules()
    ]
    torch.clear_autocast_cache()  # it holds weights from before a step
    try:
        with _RANDOM, torch.random.fork_rng(), _forked(), _one_attention():
            _seed()
            yield
    finally:
        with torch.no_grad():
            for buffers, before, copies in held:
                if isinstance(buffers, dict):  # not those of a script
                    buffers.clear()
                    buffers.update(before)
                for buffer, value in zip(before.values(), copies, strict=True):
                    if buffer is None or value is None:
                        continue
                    if buffer.shape != value.shape:  # resized in place
                        buffer.resize_(value.shape)
                    if not torch.equal(buffer, value):  # untouched, it may serve a backward pass
                        buffer.copy_(value)


def _copy(buffer: Tensor | None) -> Tensor | None:
    return None if buffer is None else buffer.clone()


def _seed() -> None:
    """As ``torch.manual_seed(0)``, which is slow where there is no accelerator."""
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(0)


@contextmanager
def _forked() -> Iterator[None]:
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _one_attention() -> Iterator[None]:
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
