"""Whose step is taken: an optimizer of the caller, a recipe for one, or plain SGD."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterable, Iterator
from math import inf
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from localelastic.data.nested import leaves, mapped
from localelastic.errors import ModelError, SettingError

OptimizerLike = Optimizer | Callable[[Iterable[Tensor]], Optimizer] | None
"""An optimizer of the model, with the state it has; ``partial(AdamW, lr=...)``; or plain SGD."""

DEFAULT_LR = 0.01


def check_lr(lr: float) -> None:
    """Raise a ``SettingError`` unless the step size is positive and finite."""
    if isinstance(lr, bool) or not isinstance(lr, int | float) or not 0 < lr < inf:
        raise SettingError(f"expected a positive, finite step size lr, got {lr!r}")


def copied_with(model: nn.Module, optimizer: OptimizerLike, lr: float | None) -> Any:
    """A copy of the model, and of the optimizer with its state, bound to the copy.

    Raises:
        ModelError: the model cannot be copied.
        SettingError: the optimizer has none of the model's parameters, or a step size comes twice.
    """
    if optimizer is not None and lr is not None:
        raise SettingError(
            f"expected an optimizer or lr, got both ({named(optimizer)} and lr={lr}); "
            "the optimizer has its own step size"
        )
    if lr is not None:
        check_lr(lr)
    _expect_own_forward(model)
    memo: dict[int, Any] = {id(t): t.detach().clone() for t in _derived(model)}
    try:
        for module in model.modules():
            if isinstance(module, torch.jit.ScriptModule):
                _copy_script(module, memo)
        model_copy = copy.deepcopy(model, memo)
        bound = _copied(optimizer, memo) if isinstance(optimizer, Optimizer) else None
    except Exception as error:
        raise ModelError(
            f"expected a model that can be copied, got {type(error).__name__}: {error}; "
            "detach tensors stored on the model that carry a gradient"
        ) from error
    _copy_hooks(model, model_copy)
    trainable = [p for p in model_copy.parameters() if p.requires_grad]
    if not trainable:
        raise ModelError(
            "expected at least one trainable parameter, got a model whose parameters are all "
            "frozen; set requires_grad on those that a step should move"
        )
    if bound is None:
        if optimizer is None:
            bound = SGD(trainable, lr=DEFAULT_LR if lr is None else lr)
        else:
            bound = optimizer(trainable) if callable(optimizer) else optimizer
        if not isinstance(bound, Optimizer):
            raise SettingError(
                "expected a torch.optim optimizer of the model, or a function of its parameters "
                f"that makes one, got {bound!r}"
            )
    ours = set(map(id, model_copy.parameters()))
    if not any(id(p) in ours and p.requires_grad for p in parameters_of(bound)):
        raise SettingError(
            "expected an optimizer with trainable parameters of this model, got one with none of "
            "them; make it from model.parameters()"
        )
    return model_copy, bound


def _expect_own_forward(model: nn.Module) -> None:
    """Refuse a ``forward`` put in place of a module's own: copied, it would run the original.

    Raises:
        ModelError: there is one.
    """
    for name, module in model.named_modules():
        compiled = hasattr(module, "_orig_mod")  # keeps its module, which is copied
        if isinstance(vars(module).get("forward"), FunctionType) and not compiled:
            raise ModelError(
                f"expected modules with a forward of their own, got a function put in its place in "
                f"{type(module).__name__} {name!r}, which a copy could not separate from your "
                "model; write it into a subclass, or use torch.compile(model) on the whole"
            )


def _copy_hooks(model: nn.Module, model_copy: nn.Module) -> None:
    """Hooks on parameters, such as gradient masks, which PyTorch does not copy.

    Raises:
        ModelError: a hook that runs after a gradient was stored, which would meet your optimizer.
    """
    for (name, old), new in zip(model.named_parameters(), model_copy.parameters(), strict=True):
        if getattr(old, "_post_accumulate_grad_hooks", None):
            raise ModelError(
                f"expected parameters without hooks that run after their gradient is stored, got "
                f"one on {name!r}; remove it, and pass the optimizer to the measurement instead"
            )
        for hook in (old._backward_hooks or {}).values():
            new.register_hook(hook)


def _derived(model: nn.Module) -> Iterator[Tensor]:
    """Tensors that the model has computed and stored, which PyTorch would refuse to copy.

    Such as the weight that old-style weight norm puts in place before each forward pass.
    """
    for module in model.modules():
        for value in (*vars(module).values(), *module._buffers.values()):
            if isinstance(value, Tensor | list | tuple | dict):
                yield from (t for t in leaves(value) if isinstance(t, Tensor) and t.grad_fn)


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    """All parameters in the groups of an optimizer."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def rebound(optimizer: Optimizer) -> Optimizer:
    """A copy with a state of its own, that steps the same parameters."""
    return _copied(optimizer, {id(p): p for p in parameters_of(optimizer)})


def _copied(optimizer: Optimizer, memo: dict[int, Any]) -> Optimizer:
    """With all its attributes: PyTorch's own copies keep but groups and state.

    A ``step`` that a scheduler has put in place would step the original, and is left out.
    """
    same = memo[id(optimizer)] = object.__new__(type(optimizer))
    for name, value in vars(optimizer).items():
        if name != "step":
            vars(same)[name] = copy.deepcopy(value, memo)
    return same


def _copy_script(module: torch.jit.ScriptModule, memo: dict[int, Any]) -> None:
    """By saving and loading: what PyTorch's own copy gives as parameters gathers no gradient."""
    if id(module) in memo:
        return
    saved = io.BytesIO()
    torch.jit.save(module, saved)
    saved.seek(0)
    same = memo[id(module)] = torch.jit.load(saved)
    for part, twin in zip(module.modules(), same.modules(), strict=True):
        twin.training = part.training
        memo[id(part)] = twin
    for old, new in zip(module.parameters(), same.parameters(), strict=True):
        memo[id(old)] = new.requires_grad_(old.requires_grad)


def convert_state(optimizer: Optimizer, dtype: torch.dtype) -> None:
    """Bring what the optimizer remembers of its parameters to their new precision."""

    def converted(value: Any) -> Any:
        floating = isinstance(value, Tensor) and value.is_floating_point()
        return value.to(dtype) if floating else value

    for state in optimizer.state.values():
        state.update(mapped(converted, dict(state)))


def named(optimizer: OptimizerLike) -> str:
    """The kind of an optimizer and its step size, in words."""
    if optimizer is None:
        return "SGD"
    if isinstance(optimizer, Optimizer):
        sizes = sorted({float(group["lr"]) for group in optimizer.param_groups if "lr" in group})
        return f"{type(optimizer).__name__} with lr={', '.join(f'{lr:g}' for lr in sizes)}"
    kind = getattr(optimizer, "func", optimizer)
    return getattr(kind, "__name__", str(kind))


def is_plain(optimizer: Optimizer) -> float | None:
    """The step size, if a step is ``w - lr grad`` for every parameter and nothing else."""
    if type(optimizer) is not SGD:
        return None
    extras = ("momentum", "weight_decay", "dampening", "nesterov", "maximize")
    sizes = {float(group["lr"]) for group in optimizer.param_groups}
    plain = not any(group[extra] for group in optimizer.param_groups for extra in extras)
    return sizes.pop() if plain and len(sizes) == 1 else None
