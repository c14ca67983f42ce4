"""A folder of finished blocks of rows: what is not in it is missing, never zero."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import torch
from torch import Tensor

from localelastic.change import Block, Keep, Question, Strategy
from localelastic.errors import OutputError
from localelastic.matrix.places import MANIFEST, unusable
from localelastic.shapes import silent
from localelastic.trajectory import Trajectory
from localelastic.update import Objective, Replica, named, parameters_of

_PROBE = "probe.npz"
_CLOSE = 1e-6
"""How far the rows of the probe may differ, as a share of the largest change in them."""


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What rows depend on: only rows of the same are kept together.

    Args:
        values: by name, everything that can be compared as it is.
        probe: a few rows, measured: what functions do, whose content cannot be compared.
        resolution: of a prediction, below which two rows of the probe are equal.
    """

    values: Mapping[str, str]
    probe: Block
    resolution: float


class BlockStore(Keep):
    """Blocks as ``.npz`` files beside a manifest that says which measurement they belong to.

    Every file is written beside its place and moved there when it is whole, so a killed process
    leaves nothing that looks finished. Each block carries the digest of its content and of the
    manifest: one that is damaged or belongs elsewhere counts as missing.

    Args:
        folder: made if it does not exist.
        fingerprint: of the measurement, see :func:`fingerprint_of`.

    Raises:
        OutputError: the folder holds the rows of another measurement, or other files, or cannot be
            written.
    """

    def __init__(self, folder: Path, fingerprint: Fingerprint) -> None:
        values = dict(fingerprint.values)
        self._key = _digest(values)
        try:
            self._folder = folder = folder.expanduser()
            manifest, probe = folder / MANIFEST, folder / _PROBE
            folder.mkdir(parents=True, exist_ok=True)
            if not manifest.exists():
                if [path for path in folder.iterdir() if not path.name.startswith(".")]:
                    raise OutputError(
                        f"expected an empty folder or kept rows, got other files in {folder}; "
                        "name another folder"
                    )
                text = json.dumps(values, indent=2) + "\n"
                self._write(manifest, lambda file: file.write(text.encode()))
            found = _read(manifest)
            differ = sorted(
                name for name in {*values, *found} if found.get(name) != values.get(name)
            )
            if not differ and not probe.exists():
                self._save(probe, 0, fingerprint.probe)
            kept = None if differ else self._load(probe, 0)
        except OutputError:
            raise
        except (OSError, ValueError, RuntimeError) as error:  # as above
            raise unusable(folder, error) from error
        if not differ and not (kept and _alike(kept, fingerprint)):
            differ = ["what the model, the loss or the prediction does"]
        if differ:
            raise OutputError(
                f"expected the rows of this measurement in {folder}, got those of another "
                f"({', '.join(differ)} differ); name another folder, or remove it"
            )

    def kept(self, number: int) -> Iterator[Block]:
        """The blocks of a pass that are whole and belong here."""
        for path in sorted(self._folder.glob(f"pass-{number}-*.npz")):
            if block := self._load(path, number):
                yield block

    def keep(self, number: int, block: Block) -> None:
        """Write one file.

        Raises:
            OutputError: it cannot be written, such as on a full disk.
        """
        path = self._folder / f"pass-{number}-from-{block.examples[0]:06d}.npz"
        try:
            self._save(path, number, block)
        except OSError as error:
            raise OutputError(
                f"cannot keep rows in {self._folder}: {error.strerror or error}; "
                "see to that, then start again: what is there is kept"
            ) from error

    def _save(self, path: Path, number: int, block: Block) -> None:
        values: dict[str, Any] = {
            field.name: np.asarray(getattr(block, field.name)) for field in fields(block)
        }
        values["digest"] = np.array(_digest([self._key, number, *_content(block)]))
        self._write(path, lambda file: np.savez(file, **values))

    def _load(self, path: Path, number: int) -> Block | None:
        try:
            with path.open("rb") as file, np.load(file) as values:
                parts = {field.name: values[field.name] for field in fields(Block)}
                block = Block(**{**parts, "reasons": tuple(parts["reasons"].tolist())})
                whole = str(values["digest"]) == _digest([self._key, number, *_content(block)])
        except Exception:  # whatever is wrong with the file: its rows are missing
            return None
        return block if whole else None

    def _write(self, path: Path, write: Any) -> None:
        partial = path.with_name(f".{path.name}-{token_hex(4)}")
        try:
            with partial.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _read(manifest: Path) -> dict[str, str]:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise OutputError(
            f"expected the manifest of kept rows in {manifest}, got another content ({error}); "
            "name another folder, or remove it"
        ) from None
    return found if isinstance(found, dict) else {"content": ""}


def fingerprint_of(question: Question, strategy: Strategy) -> Fingerprint:
    """What the rows of a question depend on.

    Weights, buffers, examples and settings enter by value; what functions do (a loss, a prediction,
    a forward pass) enters by the rows of three examples.
    """
    replica = Replica(
        question.model, optimizer=question.optimizer, lr=strategy.lr, mode=question.mode
    )
    model = replica.model
    stepped = {id(parameter) for parameter in parameters_of(replica.optimizer)}
    values = {
        "package": version("localelastic"),
        "torch": torch.__version__,
        "model": _digest([str(model), [module.training for module in model.modules()]]),
        "weights": _digest([dict(model.named_parameters()), dict(model.named_buffers())]),
        "trainable weights": _digest(
            [
                (name, parameter.requires_grad, id(parameter) in stepped)
                for name, parameter in model.named_parameters(remove_duplicate=False)
            ]
        ),
        "examples": _digest([question.task.inputs, question.task.targets, question.task.n_primary]),
        "loss": _plain(f"{Objective(question.loss).name} {question.loss!r}"),
        "prediction": _plain(f"{question.prediction.name} {question.prediction!r}"),
        "trajectory": repr(question.trajectory),
        "optimizer": f"{named(replica.optimizer)} {_digest(replica.optimizer.state_dict())}",
        "forward": _plain(repr(question.forward)),
        "strategy": repr(strategy),
    }
    (found,) = strategy.changes(replace(question, trajectory=_Few()), silent)
    few = _few(question.task.n_primary)
    probe = Block(
        np.array(few),
        found.change[few],
        found.unit[few],
        tuple(found.reasons[i] or "" for i in few),
        np.zeros(len(few)),
        np.zeros(len(few)),
    )
    return Fingerprint(values, probe, 64 * torch.finfo(replica.output_dtype).eps)


@dataclass(frozen=True)
class _Few(Trajectory):
    """The first, the middle and the last example, from the same weights."""

    name = "probe"
    moves = False

    def passes(self, n_primary: int, n_auxiliary: int) -> Iterator[list[int]]:
        """One."""
        yield _few(n_primary)


def _few(n: int) -> list[int]:
    return sorted({0, n // 2, n - 1})


def _alike(kept: Block, now: Fingerprint) -> bool:
    """Equal up to what another number of threads can do to a sum."""
    probe = now.probe
    if kept.change.shape != probe.change.shape or kept.reasons != probe.reasons:
        return False
    near = now.resolution + _CLOSE * float(np.abs(probe.change).max(initial=0))
    return bool(
        np.allclose(kept.change, probe.change, rtol=0, atol=near)
        and np.allclose(kept.unit, probe.unit, rtol=1e-5, atol=0)
    )


def _content(block: Block) -> list[Any]:
    return [
        (str(values.dtype), values.shape, values.tobytes())
        for values in (np.asarray(getattr(block, field.name)) for field in fields(block))
    ]


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
    elif isinstance(value, bytes):
        digest.update(value)
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
