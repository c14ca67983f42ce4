"""The user's function, which makes the model and the examples that a command measures."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from localelastic.data import Examples
from localelastic.data.nested import leaves
from localelastic.data.tensors import as_tensor
from localelastic.errors import (
    DataError,
    InputError,
    LocalElasticError,
    ModelError,
    SettingError,
)

_OURS = Path(__file__).parents[1]
_EXAMPLE = "model.py:function or package.module:function"
_RETURNS = "(model, examples), (model, inputs, targets) or a dict of these by name"


@dataclass(frozen=True, eq=False)
class Subject:
    """What is measured: the model, its examples, and how the step is taken.

    Args:
        model: the model.
        examples: the ones to step on and the ones to probe, together.
        texts: one string per example, for the report; ``None`` without.
        step_on: ids to step on if the command names none.
        settings: the rest, as ``prediction_change`` and ``preflight`` take it.
    """

    model: nn.Module
    examples: Examples
    texts: tuple[str, ...] | None
    step_on: tuple[str, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Returned:
    """What a function may return by name."""

    model: Any
    examples: Any
    targets: Any = None
    loss: Any = None
    optimizer: Any = None
    lr: Any = None
    prediction: Any = None
    call: Any = None
    select: Any = None
    mode: Any = None
    batch_size: Any = None
    step_on: Any = None
    texts: Any = None


class _NoModuleError(SettingError):
    """The module itself is missing, not one that it imports."""


_SETTINGS = ("loss", "optimizer", "lr", "prediction", "call", "select", "mode", "batch_size")


def load_subject(reference: str) -> Subject:
    """Find the function, call it, and take what it returns.

    Args:
        reference: ``path/to/file.py:function`` or ``package.module:function``; modules are also
            looked for in the current directory.

    Raises:
        SettingError: there is no such file, module or function, or it needs arguments.
        InputError: its file cannot be imported, it raises an error, or it returns something else.
    """
    place, separator, name = reference.rpartition(":")
    if not (separator and place and name.isidentifier()):
        raise SettingError(f"expected {_EXAMPLE}, got {reference!r}")
    function = _function(_module(place), place, name)
    returned = _guarded(function, f"{reference} was called", place)
    return _subject(returned, reference)


def _module(place: str) -> ModuleType:
    """The module of a file or of a dotted name; its neighbours can be imported too."""
    _importable(Path.cwd())
    path = Path(place).expanduser()
    if path.suffix != ".py" and "/" not in place:
        return _guarded(lambda: _imported(place), f"{place} was imported", place)
    if not path.is_file():
        raise SettingError(f"expected a Python file, got {place}: no such file; give {_EXAMPLE}")
    _importable(path.absolute().parent)
    return _guarded(lambda: _executed(path), f"{place} was imported", place)


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise _NoModuleError(
            f"expected a module that can be imported, got {name!r}: there is no module "
            f"{error.name!r}; run the command in the folder it is in, or give {_EXAMPLE}"
        ) from error


def _executed(path: Path) -> ModuleType:
    name = f"localelastic_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SettingError(f"expected a Python file, got {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their own module up
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, place: str, name: str) -> Callable[[], Any]:
    function = getattr(module, name, None)
    if not callable(function):
        own = [
            key
            for key, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", "") == module.__name__
        ]
        known = ", ".join(own[:8]) + (", ..." if own[8:] else "") or "none"
        got = "no such function" if function is None else f"a {type(function).__name__}"
        raise SettingError(f"expected a function {name!r} in {place}, got {got}; known: {known}")
    needed = _needed(function)
    if needed:
        raise SettingError(
            f"expected {place}:{name} to take no arguments, got one that needs "
            f"{', '.join(needed)}; give them defaults, or wrap it in a function without any"
        )
    return function


def _needed(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in optional]


def _guarded(work: Callable[[], Any], when: str, place: str) -> Any:
    """Whatever the user's code raises, in one line, with the place in their file."""
    try:
        return work()
    except _NoModuleError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(error, when, place) from error


def _failed(error: BaseException, when: str, place: str) -> InputError:
    stem = Path(place).name if place.endswith(".py") else place.rpartition(".")[2] + ".py"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).name == stem
    ]
    if isinstance(error, SyntaxError) and error.lineno is not None:
        lines = [error.lineno]
    where = f" (line {lines[-1]})" if lines else ""
    said = " ".join(str(error).split())
    kind = "" if isinstance(error, LocalElasticError) else f"{type(error).__name__}: "
    return InputError(f"when {when}, it failed{where}: {kind}{said}"[:600])


def _subject(returned: Any, reference: str) -> Subject:
    names = [field.name for field in fields(_Returned)]
    if isinstance(returned, Mapping):
        if {"inputs", "examples"} <= returned.keys():
            raise InputError(
                f"expected the dict of {reference} to have 'examples' or 'inputs', got both; "
                "leave one out"
            )
        returned = {"examples" if key == "inputs" else key: v for key, v in returned.items()}
        if unknown := [str(key) for key in returned if key not in names]:
            raise InputError(
                f"expected the dict of {reference} to have {', '.join(map(repr, names))}, "
                f"got also {', '.join(map(repr, unknown))}"
            )
        if missing := [key for key in ("model", "examples") if returned.get(key) is None]:
            raise InputError(
                f"expected the dict of {reference} to have model and examples, "
                f"got none of {' and '.join(missing)}"
            )
        given = _Returned(**returned)
    elif isinstance(returned, tuple) and len(returned) in (2, 3):
        given = _Returned(*returned)
    else:
        got = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else repr(returned)
        got = " ".join(got.split())[:80]
        raise InputError(f"expected {reference} to return {_RETURNS}, got {got}")
    if not isinstance(given.model, nn.Module):
        kind = type(given.model).__name__
        raise InputError(
            f"expected {reference} to return {_RETURNS}, the model a torch.nn.Module, got {kind}"
        )
    examples = _examples(given, reference)
    settings = {key: getattr(given, key) for key in _SETTINGS}
    return Subject(
        given.model,
        examples,
        _texts(given.texts, examples, reference),
        _ids(given.step_on, reference),
        {key: value for key, value in settings.items() if value is not None},
    )


def _examples(given: _Returned, reference: str) -> Examples:
    try:
        if not isinstance(given.examples, Examples):
            return Examples.of(given.examples, targets=_targets(given.targets))
        if given.targets is None:
            return given.examples
        return replace(given.examples, targets=as_tensor(_targets(given.targets), "targets"))
    except DataError as error:
        raise DataError(f"the examples of {reference}: {error}") from error
    except (TypeError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(
            f"expected {reference} to return inputs as tensors and targets as numbers, got "
            f"{type(given.examples).__name__} and {type(given.targets).__name__} ({said})"
        ) from error


def _texts(texts: Any, examples: Examples, reference: str) -> tuple[str, ...] | None:
    """As given, or the inputs themselves where they are texts."""
    if texts is None:
        found = [leaf for leaf in leaves(examples.inputs) if isinstance(leaf, list | tuple)]
        return tuple(found[0]) if found else None
    right = isinstance(texts, Sequence) and not isinstance(texts, str)
    if not right or len(texts) != len(examples):
        got = f"{len(texts)}" if right else type(texts).__name__
        raise DataError(
            f"expected {len(examples)} texts of {reference}, one string per example, got {got}"
        )
    return tuple(map(str, texts))


def _ids(step_on: Any, reference: str) -> tuple[str, ...]:
    if step_on is None:
        return ()
    if isinstance(step_on, Tensor | np.ndarray):
        step_on = step_on.tolist()
    if isinstance(step_on, str | int):
        return (str(step_on),)
    if not isinstance(step_on, Iterable):
        raise InputError(f"expected 'step_on' of {reference} to be ids, got {step_on!r}")
    return tuple(map(str, step_on))


def _targets(targets: Any) -> Any:
    """Whole numbers stay whole, for they are classes."""
    if targets is None or isinstance(targets, Tensor):
        return targets
    array = np.asarray(targets)
    return torch.as_tensor(array.astype(np.int64)) if array.dtype.kind in "iu" else array


@contextmanager
def users_code(reference: str) -> Iterator[None]:
    """What the model or a function beside it raises while it is measured, in one line.

    Errors raised in our own rooms are bugs of ours and stay as they are.

    Raises:
        ModelError: the user's code failed.
    """
    try:
        yield
    except ModelError as error:
        cause = error.__cause__
        if cause is None or isinstance(cause, LocalElasticError):
            raise
        raise ModelError(f"{reference}{_line(cause)}: {error}"[:600]) from cause
    except (LocalElasticError, MemoryError):
        raise
    except Exception as error:
        path = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if path.is_relative_to(_OURS) and path != _OURS / "models" / "output.py":
            raise
        said = " ".join(str(error).split())
        raise ModelError(
            f"the model of {reference}, or a function beside it, failed{_line(error)}: "
            f"{type(error).__name__}: {said}"[:600]
        ) from error


def _line(error: BaseException) -> str:
    """The last line of the user's own that an error went through, if any."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        known = path.is_relative_to(_OURS) or path.is_relative_to(sysconfig.get_path("stdlib"))
        installed = {"site-packages", "dist-packages"} & {*path.parts}
        if path.is_file() and not known and not installed:
            return f" ({path.name}, line {frame.lineno})"
    return ""
