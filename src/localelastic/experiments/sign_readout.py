"""The network that equation (4) is derived for, and how far real steps are from the equation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from localelastic.change import Gradient, Replay
from localelastic.data import Examples
from localelastic.data.geometry import GEOMETRIES
from localelastic.errors import MeasurementError
from localelastic.experiments.activation import equation_4, patterns
from localelastic.experiments.geometry_subject import LOSS, N_POINTS
from localelastic.measure import similarity_matrix
from localelastic.models import build_network, sharpness
from localelastic.shapes import Inputs, PerExample, Square
from localelastic.similarity import SignedRelative


class SignReadout(nn.Module):
    """``f(x) = sum_r a_r relu(w_r (x, 1))``: the assumptions of section 2.3 and appendix A.3.

    ``a_r`` is +1 or -1 at random and not trained; ``w_r`` are independent standard normal numbers,
    the one of the constant input included. There is no bias of the output.

    Args:
        features: of an input.
        width: hidden units.
        seed: of the draw.
    """

    signs: torch.Tensor

    def __init__(self, features: int, *, width: int, seed: int) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.hidden = nn.Linear(features, width)
        with torch.no_grad():
            self.hidden.weight.normal_(generator=random)
            self.hidden.bias.normal_(generator=random)
        signs = torch.randint(0, 2, (width,), generator=random) * 2.0 - 1
        self.register_buffer("signs", signs)

    def forward(self, inputs: Inputs) -> PerExample:
        """One output per example."""
        return torch.relu(self.hidden(inputs.flatten(1))) @ self.signs


@dataclass(frozen=True)
class Steps:
    """Real steps on one untrained network on the torus.

    Args:
        width: hidden units.
        shares: step sizes, as shares of the stability limit, the largest first.
        assumed: whether the network is that of the equation, or the paper's own.
        seed: of points and weights.
        n: primary points.
    """

    width: int
    shares: tuple[float, ...]
    assumed: bool
    seed: int
    n: int = N_POINTS


@dataclass(frozen=True, eq=False)
class Errors:
    """Of equation (4), over all ordered pairs of different points.

    Args:
        largest: absolute difference of ratios, one value per step size.
        median: likewise.
        first_order: largest and median in the limit of small steps.
        hidden_share: of the change at ``x`` what the equation counts: that through the hidden
            weights, in the limit of small steps; the mean over points.
        mean: mean relative similarity by the equation, and measured in the limit of small steps.
        said: the ratios by the equation.
        found: those of the largest steps.
    """

    largest: tuple[float, ...]
    median: tuple[float, ...]
    first_order: tuple[float, float]
    hidden_share: float
    mean: tuple[float, float]
    said: Square
    found: Square


def errors(steps: Steps) -> Errors:
    """Take a step on each point at every step size.

    Raises:
        MeasurementError: no unit is on at some point, which narrow networks can have, or a step
            without a meaning.
    """
    sample = GEOMETRIES["torus"].sample(steps.n, seed=steps.seed)
    primary = sample.primary
    model = network(steps, primary.points.shape[1]).double()
    task = sample.task
    inputs = torch.cat([task.primary.inputs, task.auxiliary.inputs]).double()
    targets = torch.tensor([1.0] * steps.n + [-1.0] * steps.n).double()
    limit = 2 / sharpness(model, inputs, targets, loss=LOSS)
    active = patterns(model, inputs[: steps.n])
    if not active.any(axis=1).all():
        raise MeasurementError(f"no unit of {steps.width} is on at some point: nothing moves")
    said = equation_4(inputs[: steps.n].numpy(), active)
    examples = Examples.of(inputs[: steps.n], targets=targets[: steps.n])
    small = _ratios(model, examples, None)
    found = [_ratios(model, examples, share * limit) for share in steps.shares]
    differences = [_differences(ratios, said) for ratios in found]
    return Errors(
        tuple(largest for largest, _ in differences),
        tuple(median for _, median in differences),
        _differences(small, said),
        _hidden_share(model, inputs[: steps.n]),
        (float(np.abs(said).mean()), float(np.abs(small).mean())),
        said,
        found[0],
    )


def network(steps: Steps, features: int) -> nn.Module:
    """Untrained."""
    if steps.assumed:
        return SignReadout(features, width=steps.width, seed=steps.seed)
    return build_network("two-layer", (features,), width=steps.width, seed=steps.seed)


def _ratios(model: nn.Module, examples: Examples, lr: float | None) -> Square:
    """Signed, by real steps of that size in double precision, or in the limit of small ones."""
    found = similarity_matrix(
        model,
        examples,
        loss=LOSS,
        similarity=SignedRelative(),
        strategy=Gradient() if lr is None else Replay(lr, dtype=torch.float64),
    )
    if found.excluded:
        name, why = found.excluded[0]
        raise MeasurementError(f"the step on {name} has no meaning: {why}")
    return found.values


def _differences(found: Square, said: Square) -> tuple[float, float]:
    """The largest and the median; a point is always 1 to itself."""
    apart = ~np.eye(len(found), dtype=bool)
    gaps = np.abs(found - said)[apart]
    return float(gaps.max()), float(np.median(gaps))


def _hidden_share(model: nn.Module, inputs: Inputs) -> float:
    """``|df/d(hidden)|^2 / |df/dw|^2``, the mean over examples."""
    parameters = dict(model.named_parameters())
    shares = []
    for one in inputs:
        rows = torch.autograd.grad(model(one[None]).sum(), list(parameters.values()))
        size = {name: float(row.square().sum()) for name, row in zip(parameters, rows, strict=True)}
        hidden = sum(value for name, value in size.items() if name.startswith("hidden."))
        shares.append(hidden / sum(size.values()))
    return float(np.mean(shares))
