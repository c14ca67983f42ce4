"""Small data that is easily told apart, and settings under which a run takes a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np

QUICK = ("--network", "two-layer", "--width", "16", "--warm-up-epochs", "3")
TASK = ("--primary", "a", "b", "--auxiliary", "c")


def blobs(classes=("a", "b", "c"), n=12, d=6):
    """``n`` points around one centre per class, and their labels."""
    rng = np.random.default_rng(0)
    points = [3 * rng.normal(size=d) + 0.3 * rng.normal(size=(n, d)) for _ in classes]
    return np.concatenate(points).astype(np.float32), np.repeat(classes, n)


def pictures(classes=("a", "b", "c"), n=10, size=16):
    """``n`` noisy grey images per class, each class with its own bright rows."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 100, size=(len(classes) * n, size, size), dtype=np.uint8)
    for place in range(len(classes)):
        images[place * n : (place + 1) * n, 4 * place : 4 * place + 4] = 250
    return images, np.repeat(classes, n)


def save_npz(path: Path, **changed: np.ndarray) -> str:
    points, labels = blobs()
    np.savez(path, **{"x": points, "y": labels, **changed})
    return path.name


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
