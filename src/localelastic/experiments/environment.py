"""The machine and the versions that a result was made with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

import torch

_PACKAGES = ("localelastic", "torch", "numpy", "scipy", "scikit-learn")


def environment() -> dict[str, str]:
    """In words, for ``environment.json`` and the report."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "torch threads": str(torch.get_num_threads()),
    }
