"""The main job: from a specification to a finished, recorded clustering."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import nn

from localelastic.change import Question as Measurement
from localelastic.change import choice_of
from localelastic.cluster import (
    ElasticClusters,
    cluster_by_elasticity,
    kmeans,
    match_clusters,
    pca_kmeans,
    score_clusters,
)
from localelastic.cluster.number import LEAST
from localelastic.data import Examples, Pixels, Task
from localelastic.data.origin import Origin, checksum_of
from localelastic.errors import DataError, MeasurementError, MemoryBudgetError, SettingError
from localelastic.experiments.environment import environment
from localelastic.experiments.spec import PRETRAINED, ClusterSpec
from localelastic.experiments.words import (
    features_in_words,
    finding,
    layers_in_words,
    notes,
    question,
    settings_in_words,
    variation_in_words,
)
from localelastic.models import (
    LOSSES,
    build_network,
    check_images,
    code,
    on_features,
    stepping_on,
    turns,
    two_layer,
)
from localelastic.models.classifiers import Classifier
from localelastic.report.records import ClusterRecord, Score
from localelastic.shapes import Labels, Progress, silent
from localelastic.similarity import SIMILARITIES

OURS = "local elasticity"
BASELINES = {"K-means": kmeans, "PCA + K-means": pca_kmeans}


@dataclass(frozen=True, eq=False)
class ClusterRun:
    """A finished run: the specification as resolved, the raw result, and the record for people."""

    spec: ClusterSpec
    task: Task
    found: ElasticClusters
    record: ClusterRecord


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run whose input has been read and checked: nothing but the work is left.

    Args:
        spec: as resolved.
        task: the examples.
        classifier: whose features of them a network sees, if not the examples as they are.
    """

    spec: ClusterSpec
    task: Task
    classifier: Classifier | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input of a network."""
        return self.task.primary.shape if self.classifier is None else (self.classifier.n_features,)

    def shown(self, progress: Progress) -> Task:
        """What a network sees."""
        if self.classifier is None:
            return self.task
        return on_features(
            self.task,
            pixels=Pixels[self.spec.pixels.upper()],
            classifier=self.classifier,
            progress=progress,
        )


def prepare(spec: ClusterSpec) -> Prepared:
    """Read the data and check everything that can be wrong with it.

    Raises:
        InputError: data, classes or settings that cannot be used.
    """
    examples = spec.examples()
    checksum = checksum_of(examples)
    if spec.data_sha256 not in (None, checksum):
        raise DataError(
            f"expected the data of the earlier run, got other examples in {spec.data} "
            "(the checksum differs); restore the data, or run without --from"
        )
    classifier = spec.classifier()
    seen = None if spec.features in (None, PRETRAINED) else Origin.of_file(spec.features).sha256
    if spec.features_sha256 not in (None, seen):
        raise DataError(
            f"expected the checkpoint of the earlier run, got another in {spec.features} "
            "(the checksum differs); restore it, or run without --from"
        )
    spec = replace(spec.resolved(examples), data_sha256=checksum, features_sha256=seen)
    task = spec.task(examples)
    _check_distinct(task.primary, spec.clusters or 2)
    n = len(task.primary)
    if spec.suggest_clusters and n < LEAST:
        raise SettingError(
            f"--suggest-clusters needs {LEAST} primary examples or more, got {n}; "
            "give --clusters instead"
        )
    if spec.neighbours is not None and spec.neighbours >= n:
        raise SettingError(
            f"expected --neighbours up to {n - 1}, the number of other primary examples, got "
            f"{spec.neighbours}"
        )
    prepared = Prepared(spec, task, classifier)
    if prepared.classifier is not None:
        for side in (task.primary, task.auxiliary):
            check_images(side.inputs, Pixels[spec.pixels.upper()])
    spec.settings().check(prepared.shape)
    network = _network(spec, prepared.shape)
    with _first_turn(network, spec):
        dense = two_layer(network)
    if spec.strategy == "closed-form" and isinstance(dense, str):
        raise SettingError(
            f"--strategy closed-form is for two-layer networks, got --network {spec.network}, "
            f"where {dense}; use --strategy auto or replay"
        )
    return prepared


def explain(prepared: Prepared) -> dict[str, str]:
    """In words, what a run would do and why; nothing is trained or measured."""
    spec, task = prepared.spec, prepared.task
    model = _network(spec, prepared.shape)
    loss = LOSSES[spec.loss]
    coded = code(*_placeholders(prepared), loss)
    asked = Measurement(model, coded, loss, loss.prediction, spec.trajectory_object())
    with _first_turn(model, spec):
        choice = choice_of(spec.strategy_object(), asked)
    warm_up = spec.settings()
    fused = not warm_up.varies and not isinstance(two_layer(model), str)
    weights = sum(p.numel() for p in model.parameters())
    return {
        "primary": f"{len(task.primary)} examples of shape {task.primary.shape}",
        "auxiliary": f"{len(task.auxiliary)} examples",
        **features_in_words(prepared.classifier, task),
        "network": f"{spec.network}, {weights:,} weights",
        "warm-up": f"{warm_up.epochs} epochs, {'fused steps' if fused else 'by autograd'}"
        + variation_in_words(warm_up),
        "strategy": f"{choice.strategy.name}, because: {choice.why}",
        "exactness": "that of the finite step" if choice.strategy.exact else "first order in lr",
        "steps on": layers_in_words(spec),
        "similarity": f"{spec.similarity}: {SIMILARITIES[spec.similarity].equation}",
        "clusters": "as many as are stable" if spec.suggest_clusters else str(spec.clusters),
    }


def _placeholders(prepared: Prepared) -> tuple[Examples, Examples]:
    """Examples of the shape that a network will see; what they hold does not matter here."""
    task = prepared.task
    if prepared.classifier is None:
        return task.primary, task.auxiliary
    primary, auxiliary = (
        replace(side, inputs=torch.zeros(len(side), *prepared.shape))
        for side in (task.primary, task.auxiliary)
    )
    return primary, auxiliary


def _first_turn(model: nn.Module, spec: ClusterSpec) -> AbstractContextManager[None]:
    """Inside, steps move what they move first: every turn asks the same of a strategy."""
    first, *_ = turns(model, spec.layers or ())
    return stepping_on(model, first)


def run_cluster(
    prepared: Prepared, progress: Progress = silent, keep: Path | None = None
) -> ClusterRun:
    """Train, measure, cluster, compare.

    Args:
        prepared: what to run.
        progress: told as the work goes on.
        keep: a folder for finished rows of real steps, for a run that may be killed.

    Raises:
        MeasurementError: the warm-up diverged, no step had a meaning, or the steps see so many
            examples as the same that there are too few to be clustered.
    """
    spec = prepared.spec
    models = [
        _network(replace(spec, seed=spec.seed + number), prepared.shape)
        for number in range(spec.networks)
    ]
    task = prepared.shown(progress)
    try:
        found = _found(spec, task, models, progress, keep)
        kept = task.primary.take(found.similarity.kept)
        known = kept.classes if len(kept.class_names) > 1 else None
        told = _told(spec, found)
        scores = _scores(told, kept, found.clusters.labels, progress) if known else ()
    except MemoryBudgetError:
        raise
    except SettingError as error:  # the examples as given are enough: that has been checked
        reason = str(error).partition(";")[0]
        raise MeasurementError(
            f"the steps tell too few examples apart ({reason}); train longer, or take a wider "
            "network or another --lr"
        ) from error
    record = _record(replace(prepared, spec=told), found, known, scores)
    return ClusterRun(prepared.spec, prepared.task, found, record)


def _told(spec: ClusterSpec, found: ElasticClusters) -> ClusterSpec:
    """With the number of clusters that was taken."""
    if found.suggestion is None:
        return spec
    return replace(spec, suggest_clusters=False, clusters=found.suggestion.k)


def _found(
    spec: ClusterSpec, task: Task, models: list[nn.Module], progress: Progress, keep: Path | None
) -> ElasticClusters:
    return cluster_by_elasticity(
        models,
        task.primary,
        task.auxiliary,
        n_clusters=spec.clusters,
        loss=LOSSES[spec.loss],
        similarity=SIMILARITIES[spec.similarity],
        layers=spec.layers,
        trajectory=spec.trajectory_object(),
        strategy=spec.strategy_object(),
        settings=spec.settings(),
        clustering=spec.clustering_object(),
        seed=spec.seed,
        keep=keep,
        progress=progress,
    )


def _record(
    prepared: Prepared,
    found: ElasticClusters,
    known: tuple[str, ...] | None,
    scores: tuple[Score, ...],
) -> ClusterRecord:
    spec, task = prepared.spec, prepared.task
    kept = task.primary.take(found.similarity.kept)
    return ClusterRecord(
        question=question(spec),
        finding=finding(spec, known, found.clusters.labels, scores),
        scores=scores,
        ids=kept.ids,
        labels=found.clusters.labels,
        classes=known,
        matched=match_clusters(known, found.clusters.labels) if known else None,
        distances=found.clusters.distances,
        similarity=found.similarity.symmetric,
        similarity_name=f"{spec.similarity} similarity",
        inputs=kept.inputs.numpy(),
        excluded=found.similarity.excluded,
        settings=settings_in_words(spec, task, found)
        | features_in_words(prepared.classifier, task),
        environment=environment(),
        notes=notes(spec, task, found, known),
    )


def _network(spec: ClusterSpec, shape: tuple[int, ...]) -> nn.Module:
    try:
        return build_network(spec.network or "", shape, width=spec.width, seed=spec.seed)
    except (MemoryError, OverflowError, RuntimeError, TypeError) as error:
        width = spec.width or "as published"
        raise SettingError(
            f"expected a --network and --width that fit into memory, got {spec.network} of width "
            f"{width} on inputs of shape {shape}; take a smaller one"
        ) from error


def _scores(
    spec: ClusterSpec, kept: Examples, ours: Labels, progress: Progress
) -> tuple[Score, ...]:
    """Of our clusters, then of each baseline's, against the known classes."""
    found = {OURS: ours}
    for done, (name, baseline) in enumerate(BASELINES.items(), start=1):
        clusters = baseline(kept.inputs, n_clusters=spec.clusters or 2, seed=spec.seed)
        found[name] = clusters.labels
        progress("baselines", done, len(BASELINES))
    known = kept.classes or ()
    return tuple(
        Score(name, **asdict(score_clusters(known, labels))) for name, labels in found.items()
    )


def _check_distinct(primary: Examples, n_clusters: int) -> None:
    repeated = sum(len(group) - 1 for group in primary.duplicates())
    distinct = len(primary) - repeated
    if n_clusters > distinct:
        raise SettingError(
            f"expected --clusters up to the number of distinct primary examples, {distinct}, "
            f"got {n_clusters}; ask for fewer clusters or give more examples"
        )
