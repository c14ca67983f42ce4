"""``localelastic cluster``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from localelastic.cli import options
from localelastic.cli.progress import shown
from localelastic.cli.telling import tell, tell_plan
from localelastic.data.load import SHIPPED
from localelastic.errors import SettingError
from localelastic.experiments import (
    PRETRAINED,
    ClusterSpec,
    as_json,
    metrics,
    new_folder,
    prepare,
    run_cluster,
    unused_folder,
    write_run,
)
from localelastic.experiments import explain as what_would_run

_EXAMPLE = "localelastic cluster mnist --primary 5 8 --auxiliary 3 9"


def cluster(
    data: options.Data = None,
    primary: options.Primary = None,
    auxiliary: options.Auxiliary = None,
    clusters: options.Clusters = None,
    suggest_clusters: options.SuggestClusters = None,
    n_primary: options.NPrimary = None,
    n_auxiliary: options.NAuxiliary = None,
    sampling: options.Sampling = None,
    seed: options.Seed = None,
    labels: options.Labels = None,
    label_column: options.LabelColumn = None,
    fine_label_column: options.FineLabelColumn = None,
    id_column: options.IdColumn = None,
    input_columns: options.InputColumns = None,
    image_size: options.ImageSize = None,
    pixels: options.Pixels = None,
    features: options.Features = None,
    network: options.Network = None,
    width: options.Width = None,
    networks: options.Networks = None,
    loss: options.Loss = None,
    warm_up: options.WarmUp = None,
    warm_up_epochs: options.WarmUpEpochs = None,
    warm_up_lr: options.WarmUpLr = None,
    similarity: options.Similarity = None,
    layers: options.Layers = None,
    trajectory: options.Trajectory = None,
    passes: options.Passes = None,
    strategy: options.Strategy = None,
    lr: options.Lr = None,
    precision: options.Precision = None,
    memory: options.Memory = None,
    clustering: options.Clustering = None,
    neighbours: options.Neighbours = None,
    starts: options.Starts = None,
    out: options.Out = None,
    keep: options.Keep = None,
    from_: options.From = None,
    explain: options.Explain = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Cluster a coarse class into finer ones by local elasticity.

    A network learns to tell PRIMARY from AUXILIARY examples and is told nothing finer. A gradient
    step on one example moves the predictions of similar ones most: from this the similarity of
    every pair of primary examples is measured, and the examples are clustered by it.

    [bold]localelastic cluster mnist --primary 5 8 --auxiliary 3 9[/]

    Results go into a new folder: report.html to look at, labels.csv, metrics.json, the similarity
    matrix, and spec.json to run it again.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    spec = _spec_of(given) if from_ is None else _spec_again(from_, given)
    if explain:
        tell_plan(what_would_run(prepare(spec)))
        return
    target = out.expanduser() if out else unused_folder(Path("runs", _name(spec)))
    _expect_apart(target, keep)
    with new_folder(target) as folder:
        prepared = prepare(spec)
        with shown(quiet=quiet) as progress:
            run = run_cluster(prepared, progress, keep)
        write_run(run, folder)
    if json:
        print(as_json({**metrics(run), "folder": str(target)}), end="")
    elif not quiet:
        tell(run, target)


def _spec_of(given: Mapping[str, Any]) -> ClusterSpec:
    """The specification in the words of the command line, its paths made absolute."""
    if not given.get("data"):
        raise SettingError(f"expected DATA, such as in: {_EXAMPLE}{_misplaced(given)}")
    if not given.get("primary"):
        raise SettingError(f"expected --primary classes, such as in: {_EXAMPLE}")
    names = {field.name for field in fields(ClusterSpec)} & given.keys()
    values: dict[str, Any] = {name: _frozen(given[name]) for name in names}
    if values["data"] not in SHIPPED:
        values["data"] = _absolute(Path(values["data"]))
    if values.get("features", PRETRAINED) not in (PRETRAINED, ""):
        values["features"] = _absolute(Path(values["features"]))
    if "labels" in values:
        values["labels"] = _absolute(values["labels"])
    return ClusterSpec(**values)


def _spec_again(path: Path, given: Mapping[str, Any]) -> ClusterSpec:
    """The specification in a file, which nothing may contradict."""
    if beside := sorted(given.keys() - {"from_", "out", "keep", "explain", "quiet", "json"}):
        words = ["DATA" if name == "data" else f"--{name.replace('_', '-')}" for name in beside]
        raise SettingError(
            f"--from takes everything from the file, got also {', '.join(words)}; "
            "leave that out, or change it in a copy of the file"
        )
    return ClusterSpec.read(path.expanduser())


def _expect_apart(out: Path, keep: Path | None) -> None:
    """Refuse results among kept rows, and rows among results."""
    if keep is None:
        return
    with suppress(OSError, RuntimeError):  # what is wrong with a place is said later
        one, other = out.resolve(), keep.expanduser().resolve()
        if one == other or one in other.parents or other in one.parents:
            raise SettingError(
                f"expected --keep and --out to be folders apart, got {keep} and {out}; name another"
            )


def _misplaced(given: Mapping[str, Any]) -> str:
    """A hint, if the last of the classes looks like DATA."""
    for word in [given[side][-1] for side in ("auxiliary", "primary") if given.get(side)]:
        with suppress(OSError):  # such as a name too long for a file
            if word in SHIPPED or Path(word).exists():
                return f" ({word!r} was taken for a class: DATA comes before the lists of classes)"
    return ""


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _absolute(path: Path) -> str:
    return str(path.expanduser().absolute())


def _name(spec: ClusterSpec) -> str:
    """Of the folder of a run: says what was run, and is short enough for every file system."""
    words = [
        Path(spec.data).stem,
        *spec.primary,
        "vs",
        *(spec.auxiliary or ["others"]),
        f"seed{spec.seed}",
    ]
    plain = re.sub(r"[^\w.-]+", "_", "-".join(words)).lstrip(".")
    return plain.encode()[:100].decode(errors="ignore")
