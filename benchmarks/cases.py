"""What is measured. Each case runs alone in a process and returns plain numbers in SI units."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from localelastic import (
    CNN,
    Examples,
    Frozen,
    Replay,
    Sequential,
    SquaredLoss,
    TwoLayer,
    prediction_change,
)
from localelastic.change import ClosedForm, Question, Strategy, gradient_gram
from localelastic.change.per_example import PerExample, one_at_a_time
from localelastic.models import code
from localelastic.models.descent import ByAutograd, Fused, descent
from localelastic.numerics import kernels
from localelastic.shapes import silent
from localelastic.trajectory import Trajectory

Figures = dict[str, float]

N, M, D, H = 1000, 1000, 784, 40960
LR = 1e-5
"""Below the stability limit of the untrained network at this width."""


@dataclass(frozen=True)
class Part(Trajectory):
    """The first steps of another trajectory: what replay is timed on."""

    whole: Trajectory
    steps: int
    name = "part"

    @property
    def moves(self) -> bool:  # type: ignore[override]
        return self.whole.moves

    def passes(self, n_primary: int, n_auxiliary: int) -> Iterator[list[int]]:
        for order in self.whole.passes(n_primary, n_auxiliary):
            yield order[: self.steps]


def digits_like(n: int, shape: tuple[int, ...], seed: int) -> Examples:
    """Uniform pixels in [-1, 1]."""
    generator = torch.Generator().manual_seed(seed)
    return Examples.of(torch.rand(n, *shape, generator=generator) * 2 - 1)


def question(trajectory: Trajectory, n: int = N, m: int = M, d: int = D, h: int = H) -> Question:
    torch.manual_seed(0)
    loss = SquaredLoss()
    task = code(digits_like(n, (d,), 0), digits_like(m, (d,), 1), loss)
    return Question(TwoLayer((d,), width=h), task, loss, loss.prediction, trajectory)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object], times: int = 3) -> float:
    return min(seconds(work) for _ in range(times))


def measure(strategy: Strategy, asked: Question) -> np.ndarray:
    return next(iter(strategy.changes(asked, silent))).change


def compile_kernels() -> None:
    for trajectory in (Frozen(), Sequential()):
        measure(ClosedForm(LR), question(trajectory, 4, 4, 3, 5))


def against_replay(trajectory: Trajectory, steps: int, total: int) -> Figures:
    """The closed form, and replay timed on the first steps and scaled to all."""
    compile_kernels()
    asked = question(trajectory)
    fast = best(partial(measure, ClosedForm(LR), asked), 2)
    part = question(Part(trajectory, steps))
    slow = seconds(partial(measure, Replay(LR), part)) * total / steps
    return {"closed form": fast, "replay, scaled": slow, "ratio": slow / fast, "steps timed": steps}


def sequential() -> Figures:
    """Sequential pass, 1000 + 1000 examples, 40,960 hidden units."""
    return against_replay(Sequential(), 20, N + M)


def frozen() -> Figures:
    """All 1000 frozen rows of the exact finite step, same network."""
    return against_replay(Frozen(), 10, N)


def sequential_memory() -> Figures:
    """The sequential pass alone, for its peak memory."""
    compile_kernels()
    return {"closed form": seconds(partial(measure, ClosedForm(LR), question(Sequential())))}


OPERATIONS = 8
"""Vector operations per probe, unit and recorded step: d, z + d, two clamps, s, two products."""


def kernel() -> Figures:
    """The replay loop alone, on one thread, against the machine's rate of the same operations."""
    probes, units, steps = 32, 4096, 200
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32)

    z, chain, a = normal(probes, units), normal(steps, units), normal(units)
    kappa, rate = 1e-4 * normal(steps, probes), 1e-4 * normal(steps)
    recorded, shift = np.ones(steps, dtype=bool), np.zeros((steps, probes), np.float32)

    def replay() -> None:
        kernels.relu_steps(z.copy(), chain, a.copy(), kappa, rate, recorded, shift)

    replay()
    done = probes * units * steps
    taken = best(replay, 7)
    rate_ = vector_rate()
    floor = OPERATIONS * done / rate_
    return {
        "nanoseconds per probe, unit and step": 1e9 * taken / done,
        "vector operations per second": rate_,
        "floor, seconds": floor,
        "kernel, seconds": taken,
        "fraction of the floor": floor / taken,
    }


def vector_rate() -> float:
    """Float32 operations per second of one thread on data in the first cache.

    The loop has the kernel's mix: two multiply-adds for each of three additions and comparisons,
    on eight independent accumulators, so that nothing waits.
    """
    import numba

    @numba.njit(fastmath=True)
    def loop(x: np.ndarray, rounds: int) -> float:
        total = np.float32(0)
        for _ in range(rounds):
            for i in range(x.shape[0]):
                v = x[i]
                w = v * v + v
                w = max(w, v) - v
                w = min(w, v) + w
                total += w * v
        return total

    x = np.random.default_rng(0).normal(size=2048).astype(np.float32)
    loop(x, 1)
    rounds = 20000
    return 8 * len(x) * rounds / best(partial(loop, x, rounds), 5)


def cnn() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return CNN((1, 28, 28)), digits_like(N, (1, 28, 28), 0).inputs


def cnn_gram() -> Figures:
    """Gradient similarity of the paper's CNN at n = 1000, against ``vmap(grad)`` and a product.

    In turns, so that both meet the same machine.
    """
    model, inputs = cnn()
    fast, slow = [], []
    for _ in range(4):
        slow.append(seconds(partial(jacobian_gram, model, inputs)))
        fast += [seconds(partial(gradient_gram, model, inputs)) for _ in range(3)]
    ratio = min(slow) / min(fast)
    return {"layer by layer": min(fast), "vmap(grad) and product": min(slow), "ratio": ratio}


def cnn_gram_memory() -> Figures:
    """Layer by layer alone, for its peak memory."""
    return {"layer by layer": seconds(partial(gradient_gram, *cnn()))}


def cnn_jacobian_memory() -> Figures:
    """``vmap(grad)`` and one matrix product alone, for its peak memory."""
    return {"vmap(grad) and product": seconds(partial(jacobian_gram, *cnn()))}


def jacobian_gram(model: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    parameters = dict(model.named_parameters())

    def output(weights: dict[str, torch.Tensor], one: torch.Tensor) -> torch.Tensor:
        return functional_call(model, weights, (one[None],))[0]

    rows = vmap(grad(output), in_dims=(None, 0), chunk_size=100)(parameters, inputs)
    jacobian = torch.cat([part.detach().flatten(1) for part in rows.values()], 1)
    return jacobian @ jacobian.T


def neural_tangents() -> Figures:
    """The same kernel by neural-tangents, in an environment of its own with the JAX it needs."""
    model, inputs = cnn()
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    here = Path(__file__).parent
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = f"{folder}/bin/python"
        needed = str(here / "neural_tangents_requirements.txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", needed], check=True)
        np.savez(f"{folder}/arrays.npz", inputs=inputs.numpy(), **weights)
        program = str(here / "neural_tangents_kernel.py")
        arguments = [python, program, f"{folder}/arrays.npz", f"{folder}/kernel.npy"]
        slow = min(float(subprocess.check_output(arguments)) for _ in range(2))
        theirs = np.load(f"{folder}/kernel.npy")
    fast = best(partial(gradient_gram, model, inputs), 5)
    exact = gradient_gram(model.double(), inputs.double()).numpy()
    return {
        "layer by layer": fast,
        "neural-tangents": slow,
        "ratio": slow / fast,
        "largest difference of neural-tangents, share of largest": float(
            np.abs(theirs - exact).max() / np.abs(exact).max()
        ),
    }


def two_layer_gram() -> Figures:
    """Gradient similarity, two layers of 40,960 units, n = 1000: its Jacobian would be 128 GB."""
    torch.manual_seed(0)
    model, inputs = TwoLayer((D,)), digits_like(N, (D,), 0).inputs
    return {"layer by layer": best(partial(gradient_gram, model, inputs), 2)}


def warm_up_steps() -> Figures:
    """Mini-batches of 50 through two layers of 40,960 units: untrained, and as training leaves it.

    After the published warm-up about 15,000 units are alive; the rest are off on all examples.
    """
    everything = digits_like(2000, (D,), 0).inputs
    inputs, targets = everything[:50], torch.tensor([1.0, -1.0] * 25)
    loss, figures = SquaredLoss(), {}
    for alive in (H, 15000):
        for name, make in (("fused", descent), ("autograd", by_autograd)):
            torch.manual_seed(0)
            model = TwoLayer((D,))
            with torch.no_grad():
                model.hidden.bias[alive:] = -100
            steps = make(model, everything, loss=loss, lr=1e-6, momentum=0.0)
            for _ in range(2):
                steps.step(inputs, targets)
            steps.epoch_ends()
            taken = best(partial(steps.step, inputs, targets), 7)
            figures[f"{name}, {alive} alive"] = taken
        ratio = figures[f"autograd, {alive} alive"] / figures[f"fused, {alive} alive"]
        figures[f"ratio, {alive} alive"] = ratio
    steps = descent(TwoLayer((D,)), everything, loss=loss, lr=1.0, momentum=0.0)
    assert isinstance(steps, Fused)
    return figures


def by_autograd(
    model: nn.Module, _: torch.Tensor, *, loss: SquaredLoss, lr: float, momentum: float
) -> ByAutograd:
    return ByAutograd(model, loss, lr, momentum)


def growth() -> Figures:
    """A sequential pass as n, h and d double: n^2 h, and nearly free of d."""
    compile_kernels()
    figures = {}
    base = {"n": 500, "h": 8192, "d": 196}
    for axis, values in (
        ("n", (250, 500, 1000)),
        ("h", (4096, 8192, 16384)),
        ("d", (49, 196, 784, 3136)),
    ):
        for value in values:
            size = base | {axis: value}
            asked = question(Sequential(), size["n"], size["n"], size["d"], size["h"])
            figures[f"{axis}={value}"] = best(partial(measure, ClosedForm(LR), asked), 2)
    return figures


class SmallCNN(nn.Module):
    """Two convolutions of 8 channels and ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 8, 3)
        self.readout = nn.Linear(8 * 25, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(torch.relu(self.first(x)), 2)
        x = functional.max_pool2d(torch.relu(self.second(x)), 2)
        return self.readout(x.flatten(1))


def ten_classes(n: int) -> Examples:
    labels = torch.randint(0, 10, (n,), generator=torch.Generator().manual_seed(0))
    return Examples.of(digits_like(n, (1, 28, 28), 0).inputs, targets=labels)


def one_step() -> Figures:
    """One exact step of AdamW on a small CNN, 2,000 probes, against its bare forward passes.

    Bare: two forward passes at the probes, and forward, backward and step at one example. In turns.
    """
    torch.manual_seed(0)
    model, probes = SmallCNN(), ten_classes(2000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = probes.inputs.split(500)

    def forward() -> None:
        with torch.no_grad():
            for batch in batches:
                model(batch)

    def bare() -> None:
        forward()
        loss = functional.cross_entropy(model(probes.inputs[:1]), probes.targets[:1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        forward()

    def ours(first_order: bool) -> None:
        one = probes.take([0])
        prediction_change(model, one, probes, optimizer=optimizer, first_order=first_order)

    rounds = [[seconds(bare), seconds(partial(ours, False)), seconds(partial(ours, True))]]
    rounds += [
        [seconds(bare), seconds(partial(ours, False)), seconds(partial(ours, True))]
        for _ in range(6)
    ]
    plain, exact, both = (min(times) for times in zip(*rounds, strict=True))
    return {
        "bare forward passes and step": plain,
        "prediction_change, exact alone": exact,
        "prediction_change, with first order": both,
        "ratio, exact alone": exact / plain,
        "ratio, with first order": both / plain,
    }


def per_example() -> Figures:
    """Gradients of a small CNN's outputs at 500 probes: batched, and one at a time."""
    torch.manual_seed(0)
    model, inputs = SmallCNN(), ten_classes(500).inputs
    watched = nn.Sequential(model, nn.Linear(10, 1))
    parameters = list(watched.parameters())
    batched = PerExample(watched, parameters, inputs[:3])
    assert batched.why_not is None, batched.why_not
    fast = best(partial(batched.of, inputs), 5)
    slow = best(partial(one_at_a_time, watched, parameters, inputs), 2)
    return {"batched": fast, "one at a time": slow, "ratio": slow / fast}


CASES: dict[str, Callable[[], Figures]] = {
    case.__name__: case
    for case in (
        sequential,
        sequential_memory,
        frozen,
        kernel,
        cnn_gram,
        cnn_gram_memory,
        cnn_jacobian_memory,
        neural_tangents,
        two_layer_gram,
        warm_up_steps,
        growth,
        one_step,
        per_example,
    )
}
