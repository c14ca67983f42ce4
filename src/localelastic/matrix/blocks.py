"""A folder of finished blocks of rows: what is not in it is missing, never zero."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import torch
from torch import Tensor

from localelastic.change import Block, Keep, Question, Strategy
from localelastic.errors import OutputError, SettingError
from localelastic.update import Objective, Replica, named

_MANIFEST = "manifest.json"


class BlockStore(Keep):
    """Blocks as ``.npz`` files beside a manifest that says which measurement they belong to.

    Every file is written beside its place and moved there when it is whole, so a killed process
    leaves nothing that looks finished. A block that cannot be read counts as missing.

    Args:
        folder: made if it does not exist.
        fingerprint: of the measurement, see :func:`fingerprint_of`.
        n: examples, and so the length of a row.

    Raises:
        SettingError: the folder holds the blocks of another measurement, or other files.
        OutputError: it cannot be written.
    """

    def __init__(self, folder: Path, fingerprint: Mapping[str, str], n: int) -> None:
        self._folder, self._n = folder, n
        try:
            folder.mkdir(parents=True, exist_ok=True)
            manifest = folder / _MANIFEST
            if not manifest.exists():
                if any(folder.iterdir()):
                    raise SettingError(
                        f"expected an empty folder or kept rows, got other files in {folder}; "
                        "name another folder"
                    )
                text = json.dumps(dict(fingerprint), indent=2) + "\n"
                self._write(manifest, lambda path: path.write_text(text, encoding="utf-8"))
            found = _read(manifest)
        except OSError as error:
            raise OutputError(
                f"cannot keep rows in {folder}: {error.strerror or error}; name another folder"
            ) from error
        names = {*fingerprint, *found}
        if other := sorted(name for name in names if found.get(name) != fingerprint.get(name)):
            raise SettingError(
                f"expected the rows of this measurement in {folder}, got those of another "
                f"({', '.join(other)} differ); name another folder, or remove it"
            )

    def kept(self, number: int) -> Iterator[Block]:
        """The blocks of a pass that can be read."""
        for path in sorted(self._folder.glob(f"pass-{number}-*.npz")):
            try:
                with np.load(path) as file:
                    block = Block(
                        file["examples"],
                        file["change"],
                        file["unit"],
                        tuple(file["reasons"].tolist()),
                        file["below_floor"],
                        file["moved_share"],
                    )
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                continue
            if block.change.shape == (len(block.examples), self._n):
                yield block

    def keep(self, number: int, block: Block) -> None:
        """Write one file.

        Raises:
            OutputError: it cannot be written, such as on a full disk.
        """
        path = self._folder / f"pass-{number}-from-{block.examples[0]:06d}.npz"
        values = {field.name: np.asarray(getattr(block, field.name)) for field in fields(block)}
        try:
            self._write(path, lambda partial: _save(partial, values))
        except OSError as error:
            raise OutputError(
                f"cannot keep rows in {self._folder}: {error.strerror or error}; "
                "make room, then start again: what is there is kept"
            ) from error

    def _write(self, path: Path, write: Any) -> None:
        partial = path.with_name(f".{path.name}-{token_hex(4)}")
        try:
            write(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _read(manifest: Path) -> dict[str, str]:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _save(path: Path, values: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez(file, **values)
        file.flush()
        os.fsync(file.fileno())


def fingerprint_of(question: Question, strategy: Strategy) -> dict[str, str]:
    """What rows depend on: they may only be kept together with rows of the same.

    Functions enter by name, everything else by value.
    """
    replica = Replica(
        question.model, optimizer=question.optimizer, lr=strategy.lr, mode=question.mode
    )
    model = replica.model
    return {
        "package": version("localelastic"),
        "torch": torch.__version__,
        "model": _digest([str(model), [module.training for module in model.modules()]]),
        "weights": _digest(model.state_dict()),
        "examples": _digest([question.task.inputs, question.task.targets, question.task.n_primary]),
        "loss": _plain(f"{Objective(question.loss).name} {question.loss!r}"),
        "prediction": _plain(f"{question.prediction.name} {question.prediction!r}"),
        "trajectory": repr(question.trajectory),
        "optimizer": f"{named(replica.optimizer)} {_digest(replica.optimizer.state_dict())}",
        "forward": _plain(repr(question.forward)),
        "strategy": repr(strategy),
    }


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Type, shape and content, nested."""
    if isinstance(value, Tensor):
        plain = value.detach().cpu().contiguous()
        digest.update(f"{plain.dtype}{tuple(plain.shape)}".encode())
        digest.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    elif isinstance(value, Mapping):
        _feed(digest, [part for item in value.items() for part in item])
    elif isinstance(value, list | tuple):
        digest.update(f"[{len(value)}".encode())
        for part in value:
            _feed(digest, part)
    elif is_dataclass(value) and not isinstance(value, type):
        _feed(digest, [type(value).__name__, *(getattr(value, f.name) for f in fields(value))])
    else:
        digest.update(_plain(repr(value)).encode())


def _plain(text: str) -> str:
    """Without the addresses of objects, which differ from process to process."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)
