"""What a clustering run says in words: its question, finding, settings and notes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from localelastic.cluster import ElasticClusters, Suggestion, clustering_accuracy
from localelastic.data import Task
from localelastic.data.examples import natural_order
from localelastic.experiments.spec import ClusterSpec
from localelastic.models import ALL_LAYERS, DENSE_LAYERS, EACH_LAYER, WarmUp, side_of
from localelastic.models.classifiers import Classifier
from localelastic.report.records import Score
from localelastic.shapes import Labels
from localelastic.similarity import SIMILARITIES, asymmetry

_SKEW = 0.1
_BARELY_TRAINED = 0.95


def question(spec: ClusterSpec) -> str:
    """What the network was told, and what was asked."""
    return (
        f"A network is trained to tell {_either(spec.primary)} from {_either(spec.auxiliary)} and "
        f"nothing finer. Do its gradient steps tell {spec.clusters} groups apart "
        f"within {_either(spec.primary)}?"
    )


def finding(
    spec: ClusterSpec, known: Sequence[str] | None, labels: Labels, scores: tuple[Score, ...]
) -> str:
    """One sentence, with the numbers that matter."""
    sizes = " + ".join(str(size) for size in np.bincount(labels, minlength=spec.clusters or 2))
    if known is None:
        return (
            f"Local elasticity splits the {len(labels)} examples of {_either(spec.primary)} "
            f"into {spec.clusters} clusters of {sizes}; without fine labels no accuracy is known."
        )
    ours, others = scores[0], scores[1:]
    accuracy, chance = ours.accuracy or 0.0, ours.chance or 0.0
    best = max(others, key=lambda score: score.accuracy or 0.0)
    rival = best.accuracy or 0.0
    told = f"{_either(spec.primary)} against {_either(spec.auxiliary)}"
    uneven = f", in {_counts(spec, known)}," if _uneven(spec, known) else ""
    numbers = (
        f"{accuracy:.1%} of {len(labels)} examples{uneven} fall in the cluster of their class "
        f"({best.method} on the {_seen(spec)} {rival:.1%}, random labels {chance:.1%})"
    )
    noise = 2 * (chance * (1 - chance) / len(labels)) ** 0.5
    if accuracy <= chance + noise:
        return f"Told only {told}, the network's steps do not tell the classes apart: {numbers}."
    if accuracy <= rival:
        seen = _seen(spec)
        return f"Told only {told}, the network's steps tell no more than the {seen} do: {numbers}."
    return f"Told only {told}, the network's own steps tell {_pair(known)} apart: {numbers}."


_LAYERS = {
    EACH_LAYER: "each layer alone, in turn",
    ALL_LAYERS: "all layers",
    DENSE_LAYERS: "all layers but convolutions",
}


def layers_in_words(spec: ClusterSpec) -> str:
    """Whose weights steps move."""
    named = ", ".join(spec.layers or ())
    return _LAYERS.get(named, named)


def variation_in_words(warm_up: WarmUp) -> str:
    """What is done to images in training, to go behind the rest."""
    moved = f", images moved by up to {warm_up.shift} pixels" if warm_up.shift else ""
    return moved + (", every other mirrored" if warm_up.flip else "")


def features_in_words(classifier: Classifier | None, task: Task) -> dict[str, str]:
    """What a network sees, where it is not the examples as they are."""
    if classifier is None:
        return {}
    side = side_of(task.primary.shape)
    return {
        "features": f"what the last layer of {classifier.name} sees of images brought to {side} x "
        f"{side} pixels: {classifier.n_features} numbers, standardised"
    }


def settings_in_words(spec: ClusterSpec, task: Task, found: ElasticClusters) -> dict[str, str]:
    """Every setting, in the order in which the work is done."""
    warm_up, training = spec.settings(), found.training
    similarity = SIMILARITIES[spec.similarity]
    width = f", width {spec.width}" if spec.width else ""
    losses = f"{training.losses[0]:.3g} to {training.losses[-1]:.3g}" if training.losses else "none"
    return {
        "data": task.primary.source or spec.data,
        "primary": f"{len(task.primary)} examples of {_either(spec.primary)}",
        "auxiliary": f"{len(task.auxiliary)} examples of {_either(spec.auxiliary)}",
        "sampling": spec.sampling,
        "network": f"{spec.network}{width}" + (f", mean of {spec.networks}" * (spec.networks > 1)),
        "loss": spec.loss,
        "warm-up": (
            f"{warm_up.epochs} epochs of SGD, lr {training.lr:g}, momentum {warm_up.momentum:g}, "
            f"batch {warm_up.batch_size}{variation_in_words(warm_up)}"
        ),
        "mean loss in warm-up": losses,
        "training accuracy": f"{training.accuracy:.1%}",
        "steps on": layers_in_words(spec),
        "similarity": f"{similarity.name}: {similarity.equation}",
        "trajectory": spec.trajectory + (f", {spec.passes} passes" if spec.passes > 1 else ""),
        "change": found.similarity.strategy,
        "measured step": (
            "the limit of small steps (first order in lr)"
            if found.similarity.lr is None
            else f"a real step of lr {found.similarity.lr:g}"
        ),
        "precision": spec.precision,
        "clustering": (spec.clustering_object().words(found.similarity)),
        "clusters": str(spec.clusters),
        "seed": str(spec.seed),
    }


def notes(
    spec: ClusterSpec, task: Task, found: ElasticClusters, known: Sequence[str] | None
) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers."""
    said = [f"Change computed by {found.similarity.strategy}."]
    below = found.similarity.below_floor
    if below is not None and below.mean() > 0.01:
        said.append(
            f"{below.mean():.1%} of the changes are below the noise floor: they cannot be told "
            "from no step. A larger --lr or --precision float64 lifts them above it."
        )
    skew = asymmetry(found.similarity.values)
    if found.similarity.similarity.is_kernel and skew > _SKEW:
        said.append(
            f"S(x, x') and S(x', x) differ by {skew:.0%} of their size: steps are too large to be "
            "inner products of gradients, or too small to stand out of rounding. Another --lr, "
            "none, or --precision float64 mends that."
        )
    if spec.version != version("localelastic"):
        said.append(
            f"The specification was written by version {spec.version}; this run may differ from "
            "the earlier one."
        )
    if found.training.accuracy < _BARELY_TRAINED:
        said.append(
            f"The network tells primary from auxiliary in only {found.training.accuracy:.1%} of "
            "the training examples; similarities of a network that has not learned the task say "
            "little. More --warm-up-epochs may help."
        )
    if spec.settings().lr is None and found.training.lr < 0.01:
        said.append(
            f"The warm-up step size is {found.training.lr:.2g}: a quarter of the stability limit "
            "of the untrained network."
        )
    if spec.features is not None:
        said.append(
            "The features are of a classifier that was taught the names of many things; where the "
            "classes sought here are among them, clusters are not found without names."
        )
    twins = task.primary.duplicates()
    if twins:
        count = sum(map(len, twins))
        said.append(
            f"{count} primary examples share their input with another one, "
            f"such as {twins[0][0]} and {twins[0][1]}."
        )
    if known is not None and _uneven(spec, known):
        said.append(
            f"{_counts(spec, known)}: each class is matched with one cluster at most, and what is "
            "left without a match counts as wrong."
        )
    if lost := left_out(task, found):
        said.append(lost)
    if found.suggestion is not None:
        said.append(_number(found.suggestion))
    starts = found.clusters.start_labels
    if known is not None and len(starts) > 1:
        reached = [clustering_accuracy(known, labels) for labels in starts]
        said.append(
            f"Of {len(starts)} starts of kernel K-means the one with the least objective was kept, "
            f"without a look at the labels; over all starts the accuracy is {min(reached):.1%} to "
            f"{max(reached):.1%}, median {np.median(reached):.1%}."
        )
    many = "One network" if spec.networks == 1 else f"{spec.networks} networks"
    said.append(f"{many} and one sample: run other --seed values for the spread.")
    return tuple(said)


def left_out(task: Task, found: ElasticClusters) -> str:
    """How many examples were left out, why, and what may help; empty if none was."""
    excluded = found.similarity.excluded
    if not excluded:
        return ""
    (name, reason), *_ = excluded
    hint = "; a smaller --lr may keep them" if found.similarity.exact else ""
    return (
        f"{len(excluded)} of {len(task.primary)} examples were left out, "
        f"such as {name} ({reason}){hint}."
    )


def _number(suggestion: Suggestion) -> str:
    """Why so many clusters."""
    stable = ", ".join(f"{k}: {value:.2f}" for k, value in suggestion.stability.items())
    return (
        f"The number of clusters, {suggestion.k}, is the one on which random parts of the examples "
        f"agree most (adjusted Rand index of {stable}); the largest eigengap is at "
        f"{suggestion.gap_k}."
    )


def _uneven(spec: ClusterSpec, known: Sequence[str]) -> bool:
    return len(set(known)) != spec.clusters


def _counts(spec: ClusterSpec, known: Sequence[str]) -> str:
    return f"{spec.clusters} clusters for {len(set(known))} classes"


def _seen(spec: ClusterSpec) -> str:
    return "inputs" if spec.features is None else "features"


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)


def _pair(known: Sequence[str]) -> str:
    names = natural_order(set(known))
    return ", ".join(names[:-1]) + " and " + names[-1]
