"""The bare loop: step on a twin with a real optimizer, forward again, subtract; nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

Watch = Callable[[Tensor, Any], Tensor]


class Bare(NamedTuple):
    change: np.ndarray
    self_change: np.ndarray
    kl: np.ndarray
    first_order: np.ndarray
    finite: np.ndarray
    moved_share: float
    loss: float


@contextmanager
def as_before(model: nn.Module) -> Iterator[None]:
    """The same random numbers each time, and buffers put back, after the backward pass if any."""
    kept = [(buffer, buffer.clone()) for buffer in model.buffers()]
    torch.manual_seed(0)
    yield
    with torch.no_grad():
        for buffer, value in kept:
            buffer.copy_(value)


def forward(model: nn.Module, inputs: Any) -> Tensor:
    raw = model(**inputs) if isinstance(inputs, Mapping) else model(inputs)
    raw = raw.logits if hasattr(raw, "logits") else raw
    output = raw[0] if isinstance(raw, tuple) else raw
    return output[:, 0] if output.ndim == 2 and output.shape[1] == 1 else output


def bare_loop(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    step_on: tuple[Any, Any],
    probes: tuple[Any, Any],
    loss: Callable[[Tensor, Any], Tensor],
    watch: Watch,
    linear: bool = True,
) -> Bare:
    """``model`` and ``optimizer`` are walked on: pass twins of those that are measured."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    start = [p.detach().clone() for p in parameters]

    def predict(pair: tuple[Any, Any]) -> tuple[Tensor, Tensor]:
        with torch.no_grad(), as_before(model):
            output = forward(model, pair[0])
            return output.detach(), watch(output.detach().double(), pair[1])

    with torch.random.fork_rng():
        output, before = predict(probes)
        _, own = predict(step_on)
        paid = []

        def closure() -> Tensor:
            optimizer.zero_grad()
            with as_before(model):
                value = loss(forward(model, step_on[0]), step_on[1])
                value.backward()
            paid.append(value.item())
            return value

        optimizer.step(closure)
        output_after, after = predict(probes)
        _, own_after = predict(step_on)
        move = [p.detach().clone() - w for p, w in zip(parameters, start, strict=True)]

        def at(scale: float) -> Tensor:
            with torch.no_grad():
                for p, w, step in zip(parameters, start, move, strict=True):
                    p.copy_(w + scale * step)
            return predict(probes)[1]

        finite, first = torch.zeros_like(before), torch.zeros_like(before).flatten()
        if linear:
            finite = (at(1e-4) - at(-1e-4)) / 2e-4
            at(0.0)
        for i in range(len(first) if linear else 0):
            model.zero_grad()
            with as_before(model):
                watch(forward(model, probes[0]).double(), probes[1]).flatten()[i].backward()
            first[i] = sum(
                (p.grad.to_dense() * step).sum().item()
                for p, step in zip(parameters, move, strict=True)
                if p.grad is not None
            )
    return Bare(
        (after - before).numpy(),
        (own_after - own).numpy(),
        divergence(output, output_after),
        first.view_as(before).numpy(),
        finite.numpy(),
        sum(int((step != 0).sum()) for step in move) / sum(step.numel() for step in move),
        paid[0],
    )


def divergence(output: Tensor, after: Tensor) -> np.ndarray:
    """By the definition: ``sum p log(p / q)``; of one output, with its sigmoid."""
    if output.ndim == 1:
        p, q = (torch.stack([z.sigmoid(), 1 - z.sigmoid()], 1) for z in (output, after))
    else:
        p, q = output.softmax(1), after.softmax(1)
    return (p * (p / q).log()).sum(1).numpy()


def world(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> dict[str, Any]:
    """Everything that a measurement must leave alone, comparable.

    The random state of Python is left out: the type checks of the tests draw from it.
    """
    state = {name: (_bytes(v), v.data_ptr()) for name, v in _named(model)}
    rules = {
        name: [len(getattr(module, kind)) for kind in vars(module) if kind.endswith("_hooks")]
        for name, module in model.named_modules()
        if not isinstance(module, torch.jit.ScriptModule)
    }
    return {
        "state": state,
        "grads": {n: None if p.grad is None else _bytes(p.grad) for n, p in _parameters(model)},
        "flags": {n: p.requires_grad for n, p in _parameters(model)},
        "modes": {n: m.training for n, m in model.named_modules()},
        "hooks": rules,
        "optimizer": None if optimizer is None else _plain(optimizer.state_dict()),
        "torch": _bytes(torch.get_rng_state()),
        "numpy": str(np.random.get_state()),
        "settings": (
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.backends.mha.get_fastpath_enabled(),
        ),
    }


def _parameters(model: nn.Module) -> list[tuple[str, Tensor]]:
    return list(model.named_parameters(remove_duplicate=False))


def _named(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*_parameters(model), *model.named_buffers(remove_duplicate=False)]


def _bytes(value: Tensor) -> bytes:
    value = value.detach()
    value = value.to_dense() if value.is_sparse else value
    return value.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _bytes(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
