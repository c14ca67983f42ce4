"""The words of ``localelastic cluster --help``: what each option means, and in which panel.

Options not given are ``None``, and what then holds is up to ``ClusterSpec``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from localelastic.experiments import ClusterSpec
from localelastic.models import LOSSES, NETWORKS
from localelastic.similarity import SIMILARITIES


def option(
    panel: str, metavar: str, text: str, *, flag: str | None = None, default: object = None
) -> typer.models.OptionInfo:
    """An option in a panel, with what holds if it is not given."""
    flags = () if flag is None else (flag,)
    known = "" if default is None else f" [dim]\\[default: {default}][/]"
    return typer.Option(
        *flags, metavar=metavar, help=text + known, rich_help_panel=panel, show_default=False
    )


_task = partial(option, "Task")
_data = partial(option, "Data")
_network = partial(option, "Network")
_measure = partial(option, "Measurement")
_output = partial(option, "Output")

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="[bold]mnist[/] (digits that come with the package), mnist-train, fashion-mnist or "
        "cifar10 (fetched once), or a file or folder: .npz, .npy, IDX, cifar-10-batches-py, .csv, "
        ".tsv, .parquet, or images in one sub-folder per class.",
    ),
]

Primary = Annotated[
    list[str] | None,
    _task(
        "CLASS ...",
        "Classes to be told apart, or the one coarse class to split.",
        flag="--primary",
    ),
]
Auxiliary = Annotated[
    list[str] | None,
    _task("CLASS ...", "Classes to train against.", flag="--auxiliary", default="all others"),
]
Clusters = Annotated[
    int | None, _task("K", "Number of clusters.", default="one per primary class, at least 2")
]
SuggestClusters = Annotated[
    bool | None,
    typer.Option(
        "--suggest-clusters",
        help="Take their number from the similarities: as many as are stable.",
        rich_help_panel="Task",
        show_default=False,
    ),
]
NPrimary = Annotated[
    int | None, _task("N", "Primary examples, equally of each class.", default="up to 1000")
]
NAuxiliary = Annotated[
    int | None, _task("N", "Auxiliary examples, likewise.", default="up to 1000")
]
Sampling = Annotated[
    str | None,
    _task("NAME", "random, or first in data order as published.", default=ClusterSpec.sampling),
]
Seed = Annotated[
    int | None,
    _task(
        "N",
        "Of the sample, the network, its training and the clustering.",
        default=ClusterSpec.seed,
    ),
]

Labels = Annotated[
    Path | None, _data("FILE", "File with the class of each example, if DATA has none.")
]
LabelColumn = Annotated[str | None, _data("NAME", "Column (or .npz array) of the classes.")]
FineLabelColumn = Annotated[
    str | None, _data("NAME", "Column of finer classes, used for nothing but the accuracy.")
]
IdColumn = Annotated[str | None, _data("NAME", "Column (or .npz array) of ids.")]
InputColumns = Annotated[
    list[str] | None,
    _data(
        "NAME ...",
        "Columns (or the .npz array) of inputs.",
        flag="--input-columns",
        default="all others",
    ),
]
ImageSize = Annotated[
    tuple[int, int] | None, _data("HEIGHT WIDTH", "Bring the images of a folder to this size.")
]
Pixels = Annotated[
    str | None,
    _data(
        "NAME",
        "Scale of byte pixels: signed (-1 to 1), unit (0 to 1) or raw.",
        default=ClusterSpec.pixels,
    ),
]
Features = Annotated[
    str | None,
    _data(
        "FILE",
        "Show the network what a classifier of photographs sees of each image: pretrained (the "
        "packaged one), or the checkpoint of a torchvision ResNet.",
        default="the images as they are",
    ),
]

Network = Annotated[
    str | None,
    _network("NAME", f"{', '.join(NETWORKS)}.", default="cnn for images, otherwise two-layer"),
]
Width = Annotated[
    int | None,
    _network("N", "Hidden units.", default="as published; 4096 where two-layer is not named"),
]
Networks = Annotated[
    int | None,
    _network(
        "N",
        "Train N of them from other seeds and average their similarities; 1 takes a third of the "
        "time.",
        default=ClusterSpec.networks,
    ),
]
Loss = Annotated[str | None, _network("NAME", f"{' or '.join(LOSSES)}.", default=ClusterSpec.loss)]
WarmUp = Annotated[
    str | None,
    _network(
        "NAME",
        "Settings of its training: ours; photographs (longer, each image moved and mirrored at "
        "random); or published (the paper's).",
        default="photographs for colour images and a cnn, otherwise ours",
    ),
]
WarmUpEpochs = Annotated[
    int | None,
    _network(
        "N",
        "Passes of training; 0 measures the untrained network.",
        default="as the settings say: 12, 24 or as published",
    ),
]
WarmUpLr = Annotated[
    float | None, _network("LR", "Step size of training.", default="0.01 or less, or as published")
]

Similarity = Annotated[
    str | None, _measure("NAME", f"{', '.join(SIMILARITIES)}.", default=ClusterSpec.similarity)
]
Layers = Annotated[
    list[str] | None,
    _measure(
        "NAME ...",
        "What a step moves: each layer alone, in turn; all at once, as printed; "
        "all-but-convolutions; or layers by name, such as readout.",
        flag="--layers",
        default="each; with real steps all-but-convolutions",
    ),
]
Trajectory = Annotated[
    str | None,
    _measure(
        "NAME",
        "frozen (each step from the same weights) or sequential (Algorithm 1).",
        default=ClusterSpec.trajectory,
    ),
]
Passes = Annotated[
    int | None,
    _measure(
        "N", "Sequential passes; similarities are averaged over them.", default=ClusterSpec.passes
    ),
]
Strategy = Annotated[
    str | None,
    _measure(
        "NAME",
        "auto, gradient (limit of small steps), closed-form (exact steps of two-layer "
        "networks) or replay (real steps).",
        default=ClusterSpec.strategy,
    ),
]
Lr = Annotated[
    float | None,
    _measure(
        "LR",
        "Size of the measured step; asks for real steps, slow but for two-layer networks.",
        default="limit of small steps, or 0.01 where real steps are needed",
    ),
]
Precision = Annotated[
    str | None, _measure("NAME", "float32 or float64.", default=ClusterSpec.precision)
]
Memory = Annotated[
    float | None,
    _measure(
        "GIB",
        "Most memory for gradients, beside the network and the result.",
        default="4, or a quarter of what is free",
    ),
]
Clustering = Annotated[
    str | None,
    _measure(
        "NAME",
        "neighbours (spectral, on the graph of the most similar) or k-means (as in the paper).",
        default=ClusterSpec.clustering,
    ),
]
Neighbours = Annotated[
    int | None,
    _measure("N", "Most similar examples that each is joined to.", default="5, fewer of few"),
]
Starts = Annotated[
    int | None,
    _measure("N", "Starts of kernel K-means; the best is kept.", default="20"),
]

Out = Annotated[Path | None, _output("FOLDER", "New folder for the results.", default="runs/...")]
Keep = Annotated[
    Path | None,
    _output(
        "FOLDER",
        "Keep finished rows of real steps here: a run that was killed goes on from them.",
    ),
]
From = Annotated[
    Path | None,
    _output(
        "FILE",
        "Run the spec.json of an earlier run again, with the same results bit for bit.",
        flag="--from",
    ),
]
Explain = Annotated[
    bool,
    _output("", "Say which strategy would run, and why; then stop.", flag="--explain"),
]
Quiet = Annotated[bool, _output("", "Say nothing but errors.", flag="--quiet")]
Json = Annotated[bool, _output("", "Print the metrics as JSON.", flag="--json")]
