"""How a shift of logits changes probabilities, without losing digits to subtraction.

With ``p`` the probabilities before a step, ``log p_k`` changes by
``u_k - log(1 + sum_j p_j (exp(u_j) - 1))``, which stays precise however small the shift ``u``.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

LogitsOf = Float[Tensor, "n *out c"]


def log_probability_change(output: LogitsOf, shift: LogitsOf) -> LogitsOf:
    """How every ``log p_k`` changes; digits are kept by working with the shift alone."""
    # A shift common to all classes changes nothing: without it the rest is small where it can be.
    shift = shift - (output.softmax(-1) * shift).sum(-1, keepdim=True)
    grown = (output.softmax(-1) * torch.expm1(shift)).sum(-1, keepdim=True)
    careful = shift - torch.log1p(grown)
    plain = (output + shift).log_softmax(-1) - output.log_softmax(-1)
    return torch.where(shift.abs().amax(-1, keepdim=True) < 1, careful, plain)


def kullback_leibler(output: LogitsOf, shift: LogitsOf) -> Tensor:
    """``KL(before || after) = sum_k p_k (log p_k - log q_k)`` in nats.

    Written ``sum_k p_k (exp(d_k) - 1 - d_k)`` with ``d`` the change of ``log p``: the terms are all
    positive, where those of the definition cancel.
    """
    d = log_probability_change(output, shift)
    series = d.square() * (0.5 + d / 6 + d.square() / 24)
    terms = torch.where(d.abs() < 1e-3, series, torch.expm1(d) - d)
    return (output.softmax(-1) * terms).sum(-1)
