"""The command from end to end: what it prints, what it leaves, and that it can be repeated."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from blobs import QUICK, TASK, blobs, contents, save_npz

from localelastic.cli import cluster as command

FILES = {
    "spec.json",
    "metrics.json",
    "environment.json",
    "labels.csv",
    "similarity.npz",
    "report.html",
}


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(folder: Path, name: str = "metrics.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_the_shipped_digits(run, here):
    ran = run(
        *("mnist", "--primary", 0, 1, "--auxiliary", 3, 9, "--n-primary", 61, "--n-auxiliary", 60),
        *("--network", "two-layer", "--width", 64, "--out", "digits"),
    )
    assert ran.code == 0, ran.err
    folder = here / "digits"
    assert contents(here) == {"digits", *(f"digits/{name}" for name in FILES)}
    metrics, labels = read(folder), rows(folder)

    scores = metrics["methods"]
    assert list(scores) == ["local elasticity", "K-means", "PCA + K-means"]
    assert all(set(score) == {"accuracy", "ari", "nmi", "chance"} for score in scores.values())
    accuracy = scores["local elasticity"]["accuracy"]
    assert accuracy > 0.9
    right = sum((row["class"] == "1") == (row["cluster"] == "1") for row in labels)
    assert accuracy == max(right, 61 - right) / 61
    assert 0.5 < scores["K-means"]["chance"] < 0.65

    assert [row["class"] for row in labels].count("0") == 31
    assert sum(metrics["clusters"]) == metrics["n_primary"] == len(labels) == 61
    with np.load(folder / "similarity.npz") as stored:
        assert stored["values"].shape == (61, 61)
        assert np.isfinite(stored["values"]).all()
        assert list(stored["ids"]) == [row["id"] for row in labels]
    assert read(folder, "environment.json")["torch"]

    table, _, sentences = ran.out.partition("└")
    for word in ("accuracy", "ARI", "NMI", "chance", "PCA + K-means", f"{accuracy:.1%}"):
        assert word in table
    _, finding, report, end = sentences.split("\n")
    assert finding == metrics["finding"]
    assert (report, end) == ("Report: digits/report.html", "")
    assert finding in (folder / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")
    for word in ("warm-up", "12/12", "gradients", "baselines", "left"):
        assert word in ran.err


def test_json_alone_on_standard_output(run, here, data):
    ran = run(data, *TASK, *QUICK, "--out", "o", "--json")
    told = json.loads(ran.out)
    assert told.pop("folder") == "o"
    assert told == read(here / "o")
    assert "warm-up" in ran.err


def test_quiet(run, here, data):
    assert run(data, *TASK, *QUICK, "--out", "o", "--quiet")._asdict() == {
        "code": 0,
        "out": "",
        "err": "",
    }
    assert (here / "o" / "report.html").is_file()


def test_the_default_folder(run, here, data):
    for _ in range(2):
        assert run(data, *TASK, *QUICK, "--quiet").code == 0
    name = "blobs-a-b-vs-c-seed0"
    assert {path.name for path in (here / "runs").iterdir()} == {name, f"{name}-2"}


def test_examples_that_are_left_out(run, here):
    points, _ = blobs()
    points[2] = 1e19  # finite, but its square is not
    save_npz(here / "d.npz", x=points)
    ran = run("d.npz", *TASK, *QUICK, "--warm-up-epochs", 0, "--lr", 1e-3, "--out", "o")
    assert ran.code == 0, ran.err
    told = "1 of 24 examples were left out, such as 2 ("
    assert told in ran.out
    assert "a smaller --lr may keep them." in ran.out
    assert any(told in note for note in read(here / "o")["notes"])
    (lost,) = [row for row in rows(here / "o") if not row["cluster"]]
    assert lost["id"] == "2"
    assert read(here / "o")["excluded"] == {"2": lost["left_out_because"]}


# --- once more ---


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--trajectory", "sequential", "--passes", "2", "--similarity", "relative"),
        ("--lr", "0.001", "--precision", "float64", "--loss", "cross-entropy", "--seed", "7"),
    ],
    ids=["defaults", "sequential", "real steps"],
)
def test_again_from_the_specification(run, here, data, monkeypatch, options):
    assert run(data, *TASK, *QUICK, *options, "--out", "first").code == 0
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert run("--from", "../first/spec.json", "--out", "second").code == 0
    first, second = here / "first", elsewhere / "second"
    for name in FILES - {"similarity.npz"}:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    with np.load(first / "similarity.npz") as one, np.load(second / "similarity.npz") as other:
        for name in one:
            assert one[name].tobytes() == other[name].tobytes(), name


def test_again_beside_a_folder_of_the_name_of_a_shipped_set(run, here):
    task = ("--primary", 0, 1, "--auxiliary", 3, "--n-primary", 20, "--n-auxiliary", 10)
    assert run("mnist", *task, *QUICK, "--out", "o").code == 0
    (here / "mnist").mkdir()
    (here / "mnist" / "other.txt").write_text("not the digits")
    assert run("--from", "o", "--out", "again").code == 0
    assert read(here / "o") == read(here / "again")


@pytest.mark.parametrize("changed", ["x", "y"])
def test_changed_data_is_noticed(run, here, data, changed):
    assert run(data, *TASK, *QUICK, "--out", "o", "--quiet").code == 0
    points, labels = blobs()
    points[20] += 0.001
    labels[[0, 35]] = labels[[35, 0]]
    save_npz(here / data, **{"x": {"x": points}, "y": {"y": labels}}[changed])
    ran = run("--from", "o/spec.json", "--out", "again")
    assert ran.code == 2
    assert "data of the earlier run" in ran.err
    assert not (here / "again").exists()


def test_a_file_of_labels_belongs_to_the_data(run, here):
    points, labels = blobs()
    np.save(here / "x.npy", points)
    (here / "y.txt").write_text("\n".join(labels))
    words = ("x.npy", "--labels", "y.txt", *TASK, *QUICK, "--quiet")
    assert run(*words, "--out", "o").code == 0
    assert run("--from", "o/spec.json", "--out", "again").code == 0
    (here / "y.txt").write_text("\n".join(labels[::-1]))
    assert run("--from", "o/spec.json", "--out", "changed").code == 2


@pytest.mark.parametrize(
    ("beside", "named"),
    [
        (("blobs.npz",), "DATA"),
        (("--seed", "0"), "--seed"),
        (("--n-primary", 5, "--primary", "a", "b"), "--n-primary, --primary"),
    ],
)
def test_nothing_beside_a_specification(run, here, data, beside, named):
    ran = run(*beside, "--from", "spec.json")
    assert ran.code == 2
    assert f"--from takes everything from the file, got also {named};" in ran.err
    assert contents(here) == {data}


# --- work that fails ---


def test_a_warm_up_that_diverges(run, here):
    ran = run(
        *("mnist", "--primary", 5, 8, "--auxiliary", 3, 9, "--n-primary", 40, "--n-auxiliary", 40),
        *("--warm-up-lr", 1000, "--out", "o"),
    )
    assert ran.code == 1
    assert "warm-up diverged" in ran.err
    assert "lr=1000" in ran.err
    assert "Traceback" not in ran.err
    assert contents(here) == set()


def test_a_memory_budget_that_is_too_small(run, here):
    ran = run(
        *("mnist", "--primary", 5, 8, "--auxiliary", 3, 9, "--n-primary", 40, "--n-auxiliary", 40),
        *("--warm-up-epochs", 0, "--memory", 1e-6, "--out", "o"),
    )
    assert ran.code == 2
    assert "expected memory for the factors" in ran.err
    assert "give more memory" in ran.err
    assert contents(here) == set()


@pytest.mark.parametrize(("lr", "why"), [(1e38, "step diverged"), (1e-40, "no self-change")])
def test_no_step_with_a_meaning(run, here, data, lr, why):
    ran = run(data, *TASK, *QUICK, "--strategy", "replay", "--lr", lr, "--out", "o")
    assert ran.code == 1
    assert f"none of the 24 steps had a meaning (first: {why}" in ran.err.replace(
        "a prediction is not finite: the ", ""
    )
    assert contents(here) == {data}


@pytest.mark.parametrize("name", ["spec.json", "labels.csv", "similarity.npz", "report.html"])
def test_a_full_disk(run, here, data, name, disk_full_at):
    disk_full_at(name)
    ran = run(data, *TASK, *QUICK, "--out", "deep/er/o")
    assert ran.code == 2
    assert "cannot write the results into deep/er: No space left on device" in ran.err
    assert contents(here) == {data}


def test_too_little_memory(run, here, data, monkeypatch):
    def work(*_: object) -> None:
        raise MemoryError("Unable to allocate 74.5 GiB")

    monkeypatch.setattr(command, "run_cluster", work)
    ran = run(data, *TASK, *QUICK, "--out", "o")
    assert ran.code == 1
    assert "74.5 GiB" in ran.err
    assert "--n-primary" in ran.err
    assert contents(here) == {data}


def test_a_terminal_that_lacks_letters(run, here, monkeypatch):
    save_npz(here / "d.npz", y=blobs(["ä", "日", "c"])[1])
    run("d.npz", "--primary", "ä", "日", "--auxiliary", "c", *QUICK, "--out", "o", "--quiet")
    sys.stdout.reconfigure(encoding="ascii")
    ran = run("d.npz", "--primary", "ä", "日", "--auxiliary", "c", *QUICK, "--out", "p")
    sys.stdout.reconfigure(encoding="utf-8")
    assert ran.code == 0
    assert "\\xe4" in ran.out
    assert {row["class"] for row in rows(here / "p")} == {"ä", "日"}
