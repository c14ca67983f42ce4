"""Where rows are kept: one folder, or one for each of several networks or layers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from localelastic.errors import OutputError

MANIFEST = "manifest.json"
"""In every folder of rows: which measurement they belong to."""


def place_of(keep: str | Path | None, part: str, number: int, many: int) -> Path | None:
    """Where one of several measurements keeps its rows: a folder of its own, if there are more.

    Args:
        keep: the folder, if any.
        part: what there are several of: networks, or layers.
        number: which of them.
        many: how many there are.
    """
    if keep is None:
        return None
    return Path(keep) / f"{part}-{number}" if many > 1 else Path(keep)


def check_place(keep: str | Path | None, **parts: int) -> None:
    """Refuse a folder that is taken, or cannot be written, before the work.

    Args:
        keep: the folder, if any.
        parts: how many measurements there are, by what there are several of, outermost first.

    Raises:
        OutputError: it holds other files, or the rows of other networks or layers; or it cannot be
            written.
    """
    if keep is None:
        return
    try:
        folder = Path(keep).expanduser()
        above = next(path for path in (folder, *folder.parents) if path.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            reason = "not writable" if above.is_dir() else "not a folder"
            raise OutputError(
                f"cannot keep rows in {folder}: {above} is {reason}; name another folder"
            )
        if above == folder:
            _check_parts(folder, [(part, many) for part, many in parts.items() if many > 1])
    except OutputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the name, or ~nobody
        raise unusable(Path(keep), error) from error


def _check_parts(folder: Path, parts: Sequence[tuple[str, int]]) -> None:
    found = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if not parts:
        if MANIFEST in found or not found:
            return
    elif not found - (expected := {f"{parts[0][0]}-{i}" for i in range(parts[0][1])}):
        for name in found & expected:
            _check_parts(folder / name, parts[1:])
        return
    raise OutputError(
        f"expected an empty folder or rows of this measurement in {folder}, got "
        f"{', '.join(sorted(found)[:3])}: other files, or rows of another number of networks or "
        "layers; name another folder, or remove it"
    )


def unusable(folder: Path, error: Exception) -> OutputError:
    """What to raise where rows cannot be kept."""
    words = getattr(error, "strerror", None) or error
    return OutputError(f"cannot keep rows in {folder}: {words}; name another folder")
