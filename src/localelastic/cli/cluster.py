"""``localelastic cluster``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from localelastic.cli.progress import shown
from localelastic.data.load import SHIPPED
from localelastic.errors import SettingError
from localelastic.experiments import (
    ClusterRun,
    ClusterSpec,
    as_json,
    metrics,
    new_folder,
    prepare,
    run_cluster,
    write_run,
)
from localelastic.models import LOSSES, NETWORKS
from localelastic.similarity import SIMILARITIES

TASK, NETWORK, MEASURE, OUTPUT = "Task", "Network", "Measurement", "Output"


def _option(help_: str, panel: str, *flags: str) -> typer.models.OptionInfo:
    return typer.Option(*flags, help=help_, rich_help_panel=panel, show_default=True)


def _one_of(names: object) -> str:
    return ", ".join(map(str, names))  # type: ignore[call-overload]


def cluster(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="[bold]mnist[/] (digits that come with the package), or a file or folder: .npz, "
            ".npy, IDX, .csv, .tsv, .parquet, or images in one sub-folder per class.",
        ),
    ] = None,
    primary: Annotated[
        list[str] | None,
        _option("Classes to be told apart, or the one coarse class to split.", TASK, "--primary"),
    ] = None,
    auxiliary: Annotated[
        list[str] | None, _option("Classes to train against.", TASK, "--auxiliary")
    ] = None,
    clusters: Annotated[
        int | None,
        _option("Number of clusters. [dim]\\[default: one per primary class, at least 2][/]", TASK),
    ] = None,
    n_primary: Annotated[
        int | None,
        _option("Primary examples, equally of each class. [dim]\\[default: up to 1000][/]", TASK),
    ] = None,
    n_auxiliary: Annotated[
        int | None, _option("Auxiliary examples. [dim]\\[default: up to 1000][/]", TASK)
    ] = None,
    sampling: Annotated[
        str, _option("random, or first (in data order, as published).", TASK)
    ] = "random",
    seed: Annotated[
        int, _option("Of the sample, the network, its training and the clustering.", TASK)
    ] = 0,
    labels: Annotated[
        Path | None, _option("File with the class of each example, if DATA has none.", TASK)
    ] = None,
    label_column: Annotated[str | None, _option("Column (or .npz array) of classes.", TASK)] = None,
    fine_label_column: Annotated[
        str | None,
        _option("Column of finer classes, used for the accuracy alone.", TASK),
    ] = None,
    id_column: Annotated[str | None, _option("Column of ids.", TASK)] = None,
    input_columns: Annotated[
        list[str] | None,
        _option("Columns of inputs. [dim]\\[default: all others][/]", TASK, "--input-columns"),
    ] = None,
    image_size: Annotated[
        tuple[int, int] | None, _option("Bring images of a folder to this height and width.", TASK)
    ] = None,
    pixels: Annotated[
        str, _option("Scale of byte pixels: signed [-1, 1], unit [0, 1] or raw.", TASK)
    ] = "signed",
    network: Annotated[
        str | None,
        _option(
            f"{_one_of(NETWORKS)}. [dim]\\[default: cnn for images, else two-layer][/]", NETWORK
        ),
    ] = None,
    width: Annotated[
        int | None, _option("Hidden units. [dim]\\[default: published][/]", NETWORK)
    ] = None,
    loss: Annotated[str, _option(f"{_one_of(LOSSES)}.", NETWORK)] = "squared",
    warm_up: Annotated[
        str, _option("Preset of the warm-up: ours, or the paper's published settings.", NETWORK)
    ] = "ours",
    warm_up_epochs: Annotated[
        int | None, _option("Passes of training; 0 measures the untrained network.", NETWORK)
    ] = None,
    warm_up_lr: Annotated[
        float | None,
        _option("Its step size. [dim]\\[default: 0.01 or less][/]", NETWORK),
    ] = None,
    similarity: Annotated[str, _option(f"{_one_of(SIMILARITIES)}.", MEASURE)] = "kernelized",
    trajectory: Annotated[
        str,
        _option("frozen (each step from the same weights) or sequential (Algorithm 1).", MEASURE),
    ] = "frozen",
    passes: Annotated[
        int, _option("Sequential passes; similarities are averaged over them.", MEASURE)
    ] = 1,
    strategy: Annotated[
        str, _option("auto, gradient (limit of small steps) or replay (real steps).", MEASURE)
    ] = "auto",
    lr: Annotated[
        float | None,
        _option("Size of the measured step; asks for real steps, which are slower.", MEASURE),
    ] = None,
    precision: Annotated[str, _option("float32 or float64.", MEASURE)] = "float32",
    starts: Annotated[int, _option("Starts of kernel K-means; the best is kept.", MEASURE)] = 20,
    out: Annotated[
        Path | None, _option("New folder for the results. [dim]\\[default: runs/...][/]", OUTPUT)
    ] = None,
    from_: Annotated[
        Path | None,
        _option("Run a spec.json again; gives the same results bit for bit.", OUTPUT, "--from"),
    ] = None,
    quiet: Annotated[bool, _option("Say nothing but errors.", OUTPUT, "--quiet")] = False,
    json: Annotated[bool, _option("Print the metrics as JSON.", OUTPUT, "--json")] = False,
) -> None:
    """Cluster a coarse class into finer ones by local elasticity.

    A network learns to tell PRIMARY from AUXILIARY examples and is told nothing finer. A gradient
    step on one example moves the predictions of similar ones most: from this the similarity of
    every pair of primary examples is measured, and the examples are clustered by it.

    [bold]localelastic cluster mnist --primary 5 8 --auxiliary 3 9[/]

    Results go into a new folder: report.html to look at, labels.csv, metrics.json, the similarity
    matrix, and spec.json to run it again.
    """
    if from_ is not None:
        if data is not None or primary or auxiliary:
            raise SettingError("--from takes everything from the file; leave DATA and classes out")
        spec = ClusterSpec.read(from_)
    else:
        spec = ClusterSpec(
            data=_place(data, primary, auxiliary),
            primary=tuple(primary or ()),
            auxiliary=tuple(auxiliary or ()),
            labels=None if labels is None else str(labels.absolute()),
            label_column=label_column,
            fine_label_column=fine_label_column,
            input_columns=tuple(input_columns) if input_columns else None,
            id_column=id_column,
            image_size=image_size,
            pixels=pixels,
            n_primary=n_primary,
            n_auxiliary=n_auxiliary,
            sampling=sampling,
            network=network,
            width=width,
            loss=loss,
            warm_up=warm_up,
            warm_up_epochs=warm_up_epochs,
            warm_up_lr=warm_up_lr,
            similarity=similarity,
            trajectory=trajectory,
            passes=passes,
            strategy=strategy,
            lr=lr,
            precision=precision,
            clusters=clusters,
            starts=starts,
            seed=seed,
        )
    target = out or _unused(spec)
    with new_folder(target) as folder:
        prepared = prepare(spec)
        with shown(quiet=quiet or json) as progress:
            run = run_cluster(prepared, progress)
        write_run(run, folder)
    if json:
        print(as_json({**metrics(run), "folder": str(target)}), end="")
    elif not quiet:
        _print(run, target)


def _place(data: str | None, primary: list[str] | None, auxiliary: list[str] | None) -> str:
    """The data as given, a path made absolute, with the usual slip named."""
    if data is None:
        last = next((word for words in (auxiliary, primary) for word in (words or ())[-1:]), None)
        slip = last is not None and (last in SHIPPED or Path(last).exists())
        hint = f"; {last!r} was taken for a class: put it before --primary" if slip else ""
        raise SettingError(f"expected DATA, such as mnist or a path, got none{hint}")
    if not primary or not auxiliary:
        raise SettingError(
            "expected --primary and --auxiliary classes, such as --primary 5 8 --auxiliary 3 9"
        )
    return data if data in SHIPPED else str(Path(data).expanduser().absolute())


def _unused(spec: ClusterSpec) -> Path:
    """A folder name that says what was run and is not taken."""
    words = [Path(spec.data).stem, *spec.primary, "vs", *spec.auxiliary, f"seed{spec.seed}"]
    stem = re.sub(r"[^\w.-]+", "_", "-".join(words))[:80]
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 10**6))
    return next(path for path in (Path("runs", name) for name in names) if not path.exists())


def _print(run: ClusterRun, target: Path) -> None:
    console = Console()
    if run.record.scores:
        table = Table("method", *(("accuracy", "ARI", "NMI", "chance")))
        for score in run.record.scores:
            table.add_row(
                score.method,
                f"{score.accuracy:.1%}",
                f"{score.ari:.3f}",
                f"{score.nmi:.3f}",
                f"{score.chance:.1%}",
            )
        console.print(table)
    console.print(run.record.finding, highlight=False, markup=False)
    if run.record.excluded:
        name, reason = run.record.excluded[0]
        console.print(
            f"{len(run.record.excluded)} examples left out, such as {name}: {reason}.",
            highlight=False,
            markup=False,
        )
    console.print(
        f"Report: {target / 'report.html'}", highlight=False, markup=False, soft_wrap=True
    )
