"""Where something is read from and what lies there: what a kept result depends on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from localelastic.data.examples import Examples
from localelastic.data.load import load_examples
from localelastic.errors import ReadError


@dataclass(frozen=True)
class Origin:
    """A data set or a checkpoint: two are equal only if both the place and the content are.

    Args:
        place: a file, a folder, or the name of a shipped data set.
        sha256: of what lies there.
    """

    place: str
    sha256: str = ""

    @classmethod
    def of_examples(cls, place: str | Path) -> Origin:
        """Of a data set, as it is read now.

        Raises:
            InputError: it cannot be read.
        """
        return cls(str(place), checksum_of(load_examples(place)))

    @classmethod
    def of_file(cls, path: str | Path) -> Origin:
        """Of a file, as it is now.

        Raises:
            ReadError: it cannot be read.
        """
        try:
            with Path(path).open("rb") as file:
                return cls(str(path), hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise ReadError(f"cannot read {path}: {error.strerror or error}") from None


def checksum_of(examples: Examples) -> str:
    """SHA-256 of the examples as read: their inputs, ids and classes, wherever they are stored."""
    digest = hashlib.sha256(str((examples.shape, examples.inputs.dtype)).encode())
    digest.update(examples.inputs.contiguous().numpy().data)
    for names in (examples.ids, examples.classes, examples.coarse):
        digest.update(json.dumps(names).encode())
    return digest.hexdigest()
