"""Models of every kind that a measurement may meet, small, in float64, with inputs for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

FEATURES, WORDS, LENGTH = 6, 9, 5


def vectors(n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, FEATURES, dtype=torch.float64, generator=generator)


def images(n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 1, 6, 6, dtype=torch.float64, generator=generator)


def tokens(n: int, seed: int) -> Tensor:
    return torch.randint(1, WORDS, (n, LENGTH), generator=torch.Generator().manual_seed(seed))


def padded(n: int, seed: int) -> dict[str, Tensor]:
    """Tokens of several lengths, and where they are only padding."""
    lengths = 2 + torch.arange(n) % (LENGTH - 1)
    return {"tokens": tokens(n, seed), "padding": torch.arange(LENGTH) >= lengths[:, None]}


class ConvNorm(nn.Module):
    def __init__(self, out: int) -> None:
        super().__init__()
        self.conv, self.norm, self.readout = (
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.Linear(4, out),
        )
        with torch.no_grad():
            self.norm.running_mean.uniform_(-0.3, 0.3)
            self.norm.running_var.uniform_(0.5, 2)
        self.norm.eval()

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(torch.relu(self.norm(self.conv(inputs))).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], out: int) -> None:
        super().__init__()
        self.layer, self.readout = kind(2, 4, batch_first=True), nn.Linear(4, out)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(self.layer(inputs.reshape(len(inputs), 3, 2))[0][:, -1])


class Encoder(nn.Module):
    """A transformer whose inputs are a mapping, with a padding mask."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, 4)
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.encoder, self.readout = nn.TransformerEncoder(layer, 2), nn.Linear(4, out)
        self.eval()

    def forward(self, tokens: Tensor, padding: Tensor) -> Tensor:
        hidden = self.encoder(self.table(tokens), src_key_padding_mask=padding)
        return self.readout(hidden.masked_fill(padding[:, :, None], 0).sum(1))


class TiedHead(nn.Module):
    """The head is the table that the tokens were looked up in."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.table, self.mix = nn.Embedding(WORDS, 4), nn.Linear(4, 4)
        self.head = nn.Linear(4, WORDS, bias=False)
        self.head.weight = self.table.weight
        self.out = out

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(torch.tanh(self.mix(self.table(inputs))).mean(1))[:, : self.out]


class Adapter(nn.Module):
    """A frozen layer with a trainable one of low rank beside it."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.base, self.down, self.up = nn.Linear(6, 5), nn.Linear(6, 2, False), nn.Linear(2, 5)
        self.readout = nn.Linear(5, out)
        for parameter in (*self.base.parameters(), *self.readout.parameters()):
            parameter.requires_grad_(False)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.base(inputs) + self.up(self.down(inputs))))


class SparseWords(nn.Module):
    def __init__(self, out: int) -> None:
        super().__init__()
        self.table, self.readout = nn.Embedding(WORDS, 4, sparse=True), nn.Linear(4, out)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.table(inputs)).mean(1))


class Twice(nn.Module):
    def __init__(self, out: int) -> None:
        super().__init__()
        self.layer, self.readout = nn.Linear(6, 6), nn.Linear(6, out)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(functional.relu(self.layer(functional.relu(self.layer(inputs), True))))


class Inner(nn.Module):
    def __init__(self, shared: nn.Linear) -> None:
        super().__init__()
        self.o = shared

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.sin(self.o(inputs))


class TwoPaths(nn.Module):
    """The same layer under two names."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.o = nn.Linear(6, 6)
        self.inner, self.readout = Inner(self.o), nn.Linear(6, out)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.o(self.inner(inputs))))


class Checkpointed(nn.Module):
    def __init__(self, out: int, reentrant: bool) -> None:
        super().__init__()
        self.first, self.readout = nn.Linear(6, 5), nn.Linear(5, out)
        self.block = nn.Sequential(nn.Linear(5, 5), nn.Tanh())
        self.reentrant = reentrant

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.first(inputs)
        return self.readout(checkpoint(self.block, hidden, use_reentrant=self.reentrant))


class OldSquare(torch.autograd.Function):
    """In the style with ``ctx`` in forward."""

    @staticmethod
    def forward(ctx, values):
        ctx.save_for_backward(values)
        return values * values

    @staticmethod
    def backward(ctx, grad):
        (values,) = ctx.saved_tensors
        return 2 * values * grad


class DetachedSquare(torch.autograd.Function):
    """Its backward pass cannot be differentiated, and nobody is told."""

    @staticmethod
    def forward(ctx, values):
        ctx.save_for_backward(values)
        return values * values

    @staticmethod
    def backward(ctx, grad):
        (values,) = ctx.saved_tensors
        return 2 * values.detach() * grad.detach()


class Squared(nn.Module):
    """A function of the user's own between two layers."""

    def __init__(self, out: int, function: type[torch.autograd.Function]) -> None:
        super().__init__()
        self.first, self.readout, self.function = nn.Linear(6, 4), nn.Linear(4, out), function

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(self.function.apply(self.first(inputs)))


class Decides(nn.Module):
    """Its way depends on the data."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.first, self.readout = nn.Linear(6, 4), nn.Linear(4, out)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.first(inputs)
        if inputs.mean().item() > 0:
            return self.readout(torch.tanh(hidden))
        return self.readout(torch.sigmoid(hidden))


class Mixed(nn.Module):
    """Half of it in single precision."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.first, self.readout = nn.Linear(6, 5), nn.Linear(5, out)

    def double(self) -> Mixed:
        self.readout.double()
        return self

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.first(inputs.float())).double())


class MasksEach(nn.Module):
    """A bare parameter, attention of its own and a tuple as what comes back."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.query, self.readout = nn.Parameter(torch.randn(2)), nn.Linear(2, out)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        places = inputs.reshape(len(inputs), 3, 2)
        weights = (places @ self.query).softmax(1)
        return self.readout(torch.tanh((weights[:, :, None] * places).sum(1))), weights


def _hooked(out: int) -> nn.Module:
    model = _mlp(out, nn.Tanh())
    model[0].register_full_backward_hook(lambda module, into, outof: None)
    return model


def _mlp(out: int, *between: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 5), *between, nn.Linear(5, out))


def _old_weight_norm(out: int) -> nn.Module:
    model = _mlp(out, nn.Tanh())
    nn.utils.weight_norm(model[0])
    return model


def _scripted(out: int) -> nn.Module:
    return torch.jit.script(_mlp(out, nn.ReLU()).double())


@dataclass(frozen=True)
class Kind:
    """How a model is made for a number of outputs, and examples for it."""

    build: Callable[[int], nn.Module]
    inputs: Callable[[int, int], Any] = vectors

    def model(self, out: int, seed: int = 0) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return self.build(out).double()


KINDS: dict[str, Kind] = {
    "two layers": Kind(lambda out: _mlp(out, nn.ReLU())),
    "convolution and batch norm in eval": Kind(ConvNorm, images),
    "layer norm": Kind(lambda out: _mlp(out, nn.LayerNorm(5), nn.GELU())),
    "dropout in train": Kind(lambda out: _mlp(out, nn.Tanh(), nn.Dropout(0.4))),
    "GRU": Kind(lambda out: Recurrent(nn.GRU, out)),
    "LSTM": Kind(lambda out: Recurrent(nn.LSTM, out)),
    "transformer with padding": Kind(Encoder, padded),
    "table tied to the head": Kind(TiedHead, tokens),
    "adapter on a frozen base": Kind(Adapter),
    "weight norm of old": Kind(_old_weight_norm),
    "weight norm": Kind(
        lambda out: nn.Sequential(
            nn.utils.parametrizations.weight_norm(nn.Linear(6, 5)), nn.Tanh(), nn.Linear(5, out)
        )
    ),
    "spectral norm in eval": Kind(
        lambda out: nn.Sequential(
            nn.utils.parametrizations.spectral_norm(nn.Linear(6, 5)), nn.Tanh(), nn.Linear(5, out)
        ).eval()
    ),
    "sparse table": Kind(SparseWords, tokens),
    "layer used twice": Kind(Twice),
    "layer under two names": Kind(TwoPaths),
    "checkpoint, reentrant": Kind(lambda out: Checkpointed(out, True)),
    "checkpoint": Kind(lambda out: Checkpointed(out, False)),
    "function of old style": Kind(lambda out: Squared(out, OldSquare)),
    "function that detaches": Kind(lambda out: Squared(out, DetachedSquare)),
    "data-dependent way": Kind(Decides),
    "full backward hook": Kind(_hooked),
    "scripted": Kind(_scripted),
    "two precisions": Kind(Mixed),
    "bare parameter, returns a tuple": Kind(MasksEach),
}
