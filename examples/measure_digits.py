"""One step on one digit: which other digits does a small classifier move with it?

    localelastic measure examples/measure_digits.py:digits

The command calls ``digits`` and measures what it returns: a model, examples to step on and to
probe, and what else is to be said. Put your own model in its place.
"""

import torch
from torch import nn
from torch.nn import functional

from localelastic import load_mnist


def digits() -> dict[str, object]:
    """A classifier of the ten digits, trained for a few seconds, and digits it has not seen."""
    torch.manual_seed(0)
    data = load_mnist()
    labels = torch.tensor([int(name) for name in data.classes or ()])
    unseen, seen = data.take(range(600)), slice(600, 6600)
    model = nn.Sequential(
        nn.Flatten(),
        nn.Linear(28 * 28, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    inputs, targets = data.inputs[seen], labels[seen]
    for _ in range(5):
        for batch in torch.randperm(len(inputs)).split(300):
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs[batch]), targets[batch]).backward()
            optimizer.step()
    model.eval()
    losses = functional.cross_entropy(model(unseen.inputs), labels[:600], reduction="none")
    return {
        "model": model,
        "examples": unseen,
        "targets": labels[:600],
        "lr": 3e-4,
        "step_on": unseen.ids[int(losses.argmax())],  # the digit it reads worst
    }
