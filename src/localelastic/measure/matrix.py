"""The junction: trajectory, change, similarity and matrix meet here and nowhere else."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from localelastic.change import Auto, Question, Strategy, choice_of
from localelastic.data.examples import Examples
from localelastic.errors import SettingError
from localelastic.matrix import SimilarityMatrix, averaged, without_excluded
from localelastic.models import Loss, Prediction, SquaredLoss, code
from localelastic.shapes import Progress, silent
from localelastic.similarity import Kernelized, Similarity
from localelastic.trajectory import Frozen, Trajectory


@torch.inference_mode(mode=False)
def similarity_matrix(
    model: nn.Module,
    primary: Examples,
    auxiliary: Examples | None = None,
    *,
    loss: Loss = SquaredLoss(),
    prediction: Prediction | None = None,
    similarity: Similarity = Kernelized(),
    trajectory: Trajectory = Frozen(),
    strategy: Strategy | Auto = Auto(),
    progress: Progress = silent,
) -> SimilarityMatrix:
    """The matrix S of Algorithm 1: step on each primary example, watch all the others.

    Args:
        model: one output per example; left bit for bit as it is.
        primary: ``n`` examples to step on and to watch; coded as primary unless they carry targets.
        auxiliary: the other side, stepped on in between by a sequential trajectory.
        loss: whose gradient the step follows.
        prediction: what is watched; the loss's own (output, or probability) if ``None``.
        similarity: relative (eq. 2), kernelized (eq. 3) or another.
        trajectory: frozen, or sequential as Algorithm 1 is printed.
        strategy: how the changes are computed; ``Auto`` chooses and says why.
        progress: told as the work goes on.

    Returns:
        ``(n, n)`` values, rows the example stepped on; examples whose step has no meaning are left
        out and listed with their reason.

    Raises:
        InputError: model, examples or settings that cannot be measured; before any work.
        MeasurementError: no step had a meaning.

    Example:
        A linear model's gradient similarity is ``x x' + 1``:

        >>> import torch
        >>> points = Examples.of(torch.tensor([[1.0], [2.0]]))
        >>> similarity_matrix(nn.Linear(1, 1), points).values.tolist()
        [[2.0, 3.0], [3.0, 5.0]]
    """
    _check_kinds(
        primary=(primary, Examples),
        auxiliary=(auxiliary, Examples | None),
        loss=(loss, Loss),
        prediction=(prediction, Prediction | None),
        similarity=(similarity, Similarity),
        trajectory=(trajectory, Trajectory),
        strategy=(strategy, Strategy | Auto),
    )
    if trajectory.moves and auxiliary is None:
        raise SettingError(
            "a sequential trajectory steps on auxiliary examples too, got none; "
            "pass them, or use the frozen trajectory"
        )
    question = Question(
        model,
        code(primary, auxiliary, loss),
        loss,
        prediction or loss.prediction,
        trajectory,
    )
    choice = choice_of(strategy, question)
    changes = choice.strategy.changes(question, progress)
    values, reasons = averaged(changes, similarity, primary.ids)
    words = f"{choice.strategy.name} ({choice.why})"
    used = choice.strategy
    return without_excluded(values, reasons, primary.ids, similarity, words, used.exact, used.lr)


def _check_kinds(**arguments: tuple[object, Any]) -> None:
    """Refuse arguments of another kind, such as a name or a class where an object is due."""
    for name, (value, kind) in arguments.items():
        if not isinstance(value, kind):
            wanted = getattr(kind, "__name__", str(kind))
            hint = "; wrap tensors as Examples.of(...)" if "Examples" in wanted else ""
            got = " ".join(repr(value).split())[:80]
            raise SettingError(f"expected {name} to be of {wanted}, got {got}{hint}")
