"""Functions as users write them, in a file of their own."""

from __future__ import annotations

SUBJECTS = '''
import torch
from torch import nn

from localelastic import Examples


class Words(nn.Module):
    """A bag of letters, from texts to two classes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(26, 2)

    def forward(self, texts):
        counts = [[text.count(chr(97 + k)) for k in range(26)] for text in texts]
        return self.layer(torch.tensor(counts, dtype=self.layer.weight.dtype))


def made(shape, outputs):
    torch.manual_seed(0)
    wide = torch.Size(shape).numel()
    model = nn.Sequential(nn.Flatten(), nn.Linear(wide, 5), nn.Tanh(), nn.Linear(5, outputs))
    return model, torch.randn(12, *shape)


def pictures():
    print("a word of the user's")
    model, inputs = made((1, 6, 6), 3)
    kinds = ["cat", "dog", "eel"] * 4
    ids = [f"p{k}" for k in range(12)]
    targets = torch.arange(12) % 3
    return model, Examples.of(inputs, ids=ids, classes=kinds, targets=targets)


def plain():
    model, inputs = made((4,), 1)
    return model, inputs


def triple():
    model, inputs = made((4,), 1)
    return model, inputs, torch.ones(12)


def texts():
    torch.manual_seed(0)
    said = ["a good day", "bad <b>day</b>", "so good", "so bad", "a day"]
    return {"model": Words(), "examples": said, "targets": torch.tensor([1, 0, 1, 0, 1])}


def tokens():
    model, inputs = made((4,), 3)
    return {
        "model": model,
        "examples": inputs,
        "targets": torch.arange(12) % 3,
        "texts": [f"text {k}" for k in range(12)],
        "step_on": [3, 4],
        "lr": 0.5,
        "prediction": lambda output: output[:, 1],
    }


def own_optimizer():
    model, inputs = made((4,), 1)
    return {"model": model, "examples": inputs, "optimizer": torch.optim.Adam(model.parameters())}


def lone():
    model, inputs = made((4,), 1)
    return model, inputs[:1]


def needs(path, size=3):
    return None


def breaks():
    raise RuntimeError("no such\\ncheckpoint")


def leaves():
    raise SystemExit(3)


def nothing():
    return None


class Raises(nn.Linear):
    def forward(self, x):
        raise ValueError("two\\nlines")


def failing():
    return Raises(3, 1), torch.ones(3, 3)


def other_shape():
    return nn.Linear(4, 1), torch.ones(3, 3)


def batch_norm():
    return nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1)), torch.ones(3, 3)


def bad_call():
    return {"model": nn.Linear(3, 1), "examples": torch.ones(3, 3), "call": lambda model: model}


def bad_targets():
    return nn.Linear(3, 1), torch.ones(3, 3), "abc"


def bad_step_on():
    return {"model": nn.Linear(3, 1), "examples": torch.ones(3, 3), "step_on": 1.5}


def labels_as_array():
    model, inputs = made((4,), 3)
    return {
        "model": model,
        "examples": inputs.numpy(),
        "targets": (torch.arange(12) % 3).numpy(),
        "step_on": torch.tensor([1, 2]),
    }


def four():
    return 1, 2, 3, 4


def swapped():
    model, inputs = made((4,), 1)
    return inputs, model


def unknown():
    model, inputs = made((4,), 1)
    return {"model": model, "examples": inputs, "looss": None}


def missing():
    return {"model": made((4,), 1)[0]}


def not_finite():
    model, inputs = made((4,), 1)
    return model, inputs / 0


def no_inputs():
    return made((4,), 1)[0], object()


def few_texts():
    model, inputs = made((4,), 1)
    return {"model": model, "examples": inputs, "texts": ["one"]}


answer = 42
'''
