"""The main job: from a specification to a finished, recorded clustering."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localelastic.cluster import (
    ElasticClusters,
    cluster_by_elasticity,
    kmeans,
    match_clusters,
    pca_kmeans,
    score_clusters,
)
from localelastic.data import Examples, Task
from localelastic.errors import DataError, ReadError, SettingError
from localelastic.experiments.environment import environment
from localelastic.experiments.spec import ClusterSpec
from localelastic.experiments.words import finding, notes, question, settings_in_words
from localelastic.models import LOSSES, build_network
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
    """A run whose input has been read and checked: nothing but the work is left."""

    spec: ClusterSpec
    task: Task


def prepare(spec: ClusterSpec) -> Prepared:
    """Read the data and check everything that can be wrong with it.

    Raises:
        InputError: data, classes or settings that cannot be used.
    """
    checksum = checksum_of(spec.data)
    if spec.data_sha256 not in (None, checksum):
        raise DataError(
            f"expected the data of the earlier run, got another content in {spec.data} "
            "(its checksum differs); restore it, or run without --from"
        )
    examples = spec.examples()
    spec = replace(spec.resolved(examples), data_sha256=checksum)
    task = spec.task(examples)
    _check_distinct(task.primary, spec.clusters or 2)
    build_network(spec.network or "", task.primary.shape, width=spec.width, seed=spec.seed)
    return Prepared(spec, task)


def run_cluster(prepared: Prepared, progress: Progress = silent) -> ClusterRun:
    """Train, measure, cluster, compare.

    Raises:
        InputError: the network does not fit the data.
        MeasurementError: the warm-up diverged, or no step had a meaning.
    """
    spec, task = prepared.spec, prepared.task
    n_clusters = spec.clusters or 2
    model = build_network(spec.network or "", task.primary.shape, width=spec.width, seed=spec.seed)
    found = cluster_by_elasticity(
        model,
        task.primary,
        task.auxiliary,
        n_clusters=n_clusters,
        loss=LOSSES[spec.loss],
        similarity=SIMILARITIES[spec.similarity],
        trajectory=spec.trajectory_object(),
        strategy=spec.strategy_object(),
        settings=spec.settings(),
        n_init=spec.starts,
        seed=spec.seed,
        progress=progress,
    )
    kept = task.primary.take(found.similarity.kept)
    known = kept.classes if kept.classes and len(kept.class_names) > 1 else None
    scores = [_score(OURS, known, found.clusters.labels, n_clusters)]
    for done, (name, baseline) in enumerate(BASELINES.items(), start=1):
        labels = baseline(kept.inputs, n_clusters=n_clusters, seed=spec.seed).labels
        scores.append(_score(name, known, labels, n_clusters))
        progress("baselines", done, len(BASELINES))
    record = ClusterRecord(
        question=question(spec),
        finding=finding(spec, known, found.clusters.labels, tuple(scores)),
        scores=tuple(scores) if known else (),
        ids=kept.ids,
        labels=found.clusters.labels,
        classes=known,
        matched=match_clusters(known, found.clusters.labels) if known else None,
        distances=found.clusters.distances,
        similarity=found.similarity.symmetric,
        similarity_name=f"{spec.similarity} similarity",
        inputs=kept.inputs.numpy(),
        excluded=found.similarity.excluded,
        settings=settings_in_words(spec, task, found),
        environment=environment(),
        notes=notes(spec, task, found, known),
    )
    return ClusterRun(spec, task, found, record)


def checksum_of(data: str) -> str | None:
    """SHA-256 of a file, or of the names and contents of a folder; none for a shipped data set."""
    path = Path(data)
    if path.is_file():
        return _sha256(path)
    if not path.is_dir():
        return None
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listing = "\n".join(f"{file.relative_to(path)} {_sha256(file)}" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReadError(f"cannot read {path}: {error.strerror}") from error


def _score(method: str, known: Sequence[str] | None, labels: Labels, n_clusters: int) -> Score:
    if known is None:
        return Score(method, None, None, None, None)
    scores = score_clusters(known, labels)
    return Score(method, scores.accuracy, scores.ari, scores.nmi, scores.chance)


def _check_distinct(primary: Examples, n_clusters: int) -> None:
    repeated = sum(len(group) - 1 for group in primary.duplicates())
    distinct = len(primary) - repeated
    if n_clusters > distinct:
        raise SettingError(
            f"expected --clusters up to the number of distinct primary examples, {distinct}, "
            f"got {n_clusters}; ask for fewer clusters or give more examples"
        )
