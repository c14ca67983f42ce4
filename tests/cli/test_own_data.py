"""The user's own data: every kind of file, coarse and fine classes, awkward names."""

from __future__ import annotations

import csv
import json
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from blobs import QUICK, TASK, blobs, pictures, save_npz
from PIL import Image
from pyarrow import parquet


def table(here: Path, name: str, labels: dict[str, list[str]]) -> str:
    points, _ = blobs(n=8, d=5)
    columns = {f"feature {i}": points[:, i] for i in range(5)} | labels
    path = here / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))
    return name


def npy(here: Path) -> str:
    points, labels = blobs()
    np.save(here / "x.npy", points)
    np.save(here / "y.npy", labels)
    return "x.npy"


def idx(here: Path) -> str:
    images, labels = pictures([0, 1, 2])
    for name, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
        content = array.astype(np.uint8)
        header = struct.pack(f">BBBB{content.ndim}I", 0, 0, 8, content.ndim, *content.shape)
        (here / name).write_bytes(header + content.tobytes())
    return "images-idx3-ubyte"


def folder(here: Path, *, above: dict[str, str] | None = None) -> str:
    images, labels = pictures()
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        place = Path((above or {}).get(label, ""), label, f"picture {number}.png")
        (here / "pics" / place).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(here / "pics" / place)
    return "pics"


ABC = {"kind": ["a"] * 8 + ["b"] * 8 + ["c"] * 8}
KINDS = {
    "npz": (lambda h: save_npz(h / "d.npz"), (*TASK, *QUICK)),
    "npy": (npy, ("--labels", "y.npy", *TASK, *QUICK)),
    "idx": (idx, ("--primary", 0, 1, "--auxiliary", 2, "--warm-up-epochs", 2)),
    "folder": (folder, (*TASK, "--warm-up-epochs", 2)),
    "resized": (folder, (*TASK, *QUICK, "--image-size", 8, 9)),
    "csv": (lambda h: table(h, "t.csv", ABC), ("--label-column", "kind", *TASK, *QUICK)),
    "parquet": (
        lambda h: table(h, "t.parquet", ABC),
        (
            "--label-column",
            "kind",
            "--input-columns",
            *map("feature {}".format, range(4)),
            *TASK,
            *QUICK,
        ),
    ),
}


@pytest.mark.parametrize(("make", "words"), KINDS.values(), ids=KINDS)
def test_every_kind_of_data(run, here, make, words):
    ran = run(make(here), *words, "--json", "--out", "o")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["methods"]["local elasticity"]["accuracy"] == 1.0


NAMES = {
    "spaces and letters": (
        ["crème brûlée", "日本 猫", ":cat: [bold]"],
        ("--primary", "crème brûlée", "日本 猫", "--auxiliary", ":cat: [bold]"),
    ),
    "signs": (["-1", "1", "0"], ("--primary", -1, 1, "--auxiliary", 0)),
    "joined": (["-1", "1", "0"], ("--primary=-1", 1, "--auxiliary=0")),
    "like options": (
        ["--help", "-dog", "c"],
        ("--primary=--help", "--primary=-dog", "--auxiliary", "c"),
    ),
    "whole numbers stored as floats": (
        ["5.0", "8.0", "3.0"],
        ("--primary", 5, 8, "--auxiliary", 3),
    ),
}


@pytest.mark.parametrize(("classes", "task"), NAMES.values(), ids=NAMES)
def test_awkward_names(run, here, classes, task):
    labels = {"Art / kind": list(np.repeat(classes, 8))}
    data = table(here, "Meine Daten, été/tàble 1.csv", labels)
    ran = run(data, "--label-column", "Art / kind", *task, *QUICK)
    assert ran.code == 0, ran.err
    (made,) = (here / "runs").iterdir()
    known = {str(int(float(c))) if ".0" in c else c for c in classes[:2]}
    with (made / "labels.csv").open(newline="", encoding="utf-8") as file:
        assert {row["class"] for row in csv.DictReader(file)} == known
    for name in known:
        assert name in ran.out
    assert f"Report: {made.relative_to(here)}/report.html" in ran.out


def test_a_file_name_that_is_not_unicode(run, here):
    folder(here)
    first = sorted((here / "pics" / "a").iterdir())[0]
    first.rename(first.with_name("caf\udce9.png"))  # the byte E9, as Latin-1 writes an é
    assert run("pics", *TASK, *QUICK, "--out", "o", "--quiet").code == 0
    assert "caf\\udce9.png" in (here / "o" / "labels.csv").read_text(encoding="utf-8")
    assert run("--from", "o", "--out", "again", "--quiet").code == 0


# --- coarse and fine classes, counts ---

COARSE = {"coarse": ["A"] * 16 + ["B"] * 8, "fine": ["x"] * 8 + ["y"] * 8 + ["z"] * 8}
SPLIT = ("--label-column", "coarse", "--primary", "A", "--auxiliary", "B")


def test_a_coarse_class_is_scored_by_its_fine_ones(run, here):
    data = table(here, "t.csv", COARSE)
    ran = run(data, *SPLIT, "--fine-label-column", "fine", *QUICK, "--json")
    scores = json.loads(ran.out)["methods"]
    assert scores["local elasticity"]["accuracy"] == 1.0


def test_folders_in_folders(run, here):
    data = folder(here, above={"a": "A", "b": "A", "c": "B"})
    words = ("--primary", "A", "--auxiliary", "B", "--warm-up-epochs", 2, "--json")
    told = json.loads(run(data, *words, "--clusters", 3, "--n-primary", 15).out)
    assert told["n_primary"] == sum(told["clusters"]) == 15
    assert sorted(told["matched"], key=str) == [None, "a", "b"]
    assert "in 3 clusters for 2 classes" in told["finding"]


UNKNOWN = {
    "a coarse label alone": (
        lambda h: table(h, "t.csv", {"coarse": COARSE["coarse"]}),
        SPLIT,
        "16 examples of A into 2 clusters",
    ),
    "a single class": (
        lambda h: save_npz(h / "d.npz"),
        ("--primary", "a", "--auxiliary", "b", "c"),
        "12 examples of a into 2 clusters",
    ),
}


@pytest.mark.parametrize(("make", "words", "said"), UNKNOWN.values(), ids=UNKNOWN)
def test_without_fine_labels_no_accuracy(run, here, make, words, said):
    ran = run(make(here), *words, *QUICK, "--out", "o")
    assert ran.code == 0, ran.err
    assert said in ran.out
    assert "no accuracy is known" in ran.out
    assert "K-means" not in ran.out
    metrics = json.loads((here / "o" / "metrics.json").read_text())
    assert metrics["methods"] == {}
    assert metrics["matched"] is None


COUNTS = [
    (("--n-primary", 11), {"a": 6, "b": 5}),
    (("--n-primary", 11, "--sampling", "first"), {"a": 6, "b": 5}),
    (("--n-primary", 2), {"a": 1, "b": 1}),
    ((), {"a": 12, "b": 12}),
]


@pytest.mark.parametrize(("words", "expected"), COUNTS)
def test_counts(run, here, data, words, expected):
    assert run(data, *TASK, *QUICK, *words, "--n-auxiliary", 5, "--out", "o").code == 0
    with (here / "o" / "labels.csv").open(newline="") as file:
        assert Counter(row["class"] for row in csv.DictReader(file)) == expected
    assert json.loads((here / "o" / "metrics.json").read_text())["n_auxiliary"] == 5
