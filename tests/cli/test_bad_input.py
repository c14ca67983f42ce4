"""Bad input is refused before any work: exit code 2, a message that helps, nothing written."""

from __future__ import annotations

import numpy as np
import pytest
from blobs import QUICK, TASK, blobs, contents, pictures, save_npz
from PIL import Image

import localelastic.cli.cluster
from localelastic.cli import cluster as command


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Fails the test when the work starts all the same."""

    def work(*_: object) -> None:
        pytest.fail("the work has started")

    monkeypatch.setattr(localelastic.cli.cluster, "run_cluster", work)


def refused(run, here, words, expected):
    before = contents(here)
    ran = run(*words)
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    for word in expected.split("|"):
        assert word in ran.err
    assert ran.out == ""
    assert contents(here) == before


OPTIONS = [
    # the task
    ("--primary a z --auxiliary c", "primary class|'z'|known: a, b, c"),
    ("--primary a b --auxiliary z", "auxiliary class|'z'"),
    ("--primary a A --auxiliary c", "'A'|did you mean 'a'"),
    ("--primary a c --auxiliary c", "primary or auxiliary|c as both"),
    ("--primary a a --auxiliary c", "each primary class once"),
    ("--primary a b c", "a class to train against|got data of a, b, c alone"),
    ("--auxiliary c", "--primary classes|localelastic cluster mnist"),
    ("--primary --auxiliary c", "after --primary|got --auxiliary"),
    ("--auxiliary c --primary", "after --primary|got none"),
    ("--auxiliary c --primary -dog", "got -dog|--primary=-value"),
    ("--n-primary 0", "--n-primary of 1 or more|got 0"),
    ("--n-primary 25", "25 examples|12 of a, 12 of b|24 or fewer"),
    ("--n-primary 1", "one example per class"),
    (f"--n-primary {10**30}", "24 or fewer"),
    ("--n-auxiliary 13", "13 examples|12 of c"),
    ("--n-auxiliary -1", "--n-auxiliary of 1 or more"),
    ("--clusters 1", "--clusters of 2 or more"),
    ("--clusters 25", "distinct primary examples, 24, got 25"),
    ("--sampling last", "--sampling|random, first|'last'"),
    ("--seed -1", "--seed from 0 to 4294967295|got -1"),
    (f"--seed {2**32}", "--seed from 0 to 4294967295"),
    (f"--seed {2**63}", "--seed from 0 to 4294967295"),
    ("--seed 1.5", "--seed|integer"),
    # the data
    ("--label-column kind", "'kind'|got x, y"),
    ("--id-column name", "'name'|got x, y"),
    ("--input-columns z", "'z'|got x, y"),
    ("--input-columns", "after --input-columns|got none"),
    ("--image-size 16 16", "an .npz archive|--image-size"),
    ("--image-size 16", "--image-size|2 arguments"),
    ("--pixels grey", "--pixels|signed, unit, raw|'grey'"),
    ("--labels y.txt", "data that has its own"),
    ("--features=", "--features to be pretrained or a checkpoint"),
    # the network
    ("--network resnext", "--network|cnn, cnn-linear|'resnext'"),
    ("--network cnn", "CNN expects images|16 x 16|(6,)"),
    ("--width 0", "--width of 1 or more|got 0"),
    (f"--width {10**13}", "fit into memory|two-layer of width"),
    (f"--width {2**63}", "fit into memory"),
    ("--loss l1", "--loss|squared, cross-entropy|'l1'"),
    ("--warm-up theirs", "--warm-up|ours, photographs, published|'theirs'"),
    ("--warm-up photographs", "to be moved or mirrored|shape (6,)|--warm-up ours"),
    ("--warm-up photographs --explain", "shape (6,)"),
    ("--warm-up-epochs -1", "--warm-up-epochs of 0 or more"),
    ("--warm-up-epochs two", "--warm-up-epochs|integer"),
    ("--warm-up-lr 0", "positive, finite --warm-up-lr"),
    ("--warm-up-lr nan", "positive, finite --warm-up-lr|nan"),
    # the measurement
    ("--similarity cosine", "--similarity|kernelized|'cosine'"),
    ("--trajectory moving", "--trajectory|frozen, sequential|'moving'"),
    ("--strategy fast", "--strategy|auto, gradient, closed-form, replay|'fast'"),
    ("--precision float16", "--precision|float32, float64|'float16'"),
    ("--lr 0", "positive, finite --lr|got 0.0"),
    ("--lr -1", "positive, finite --lr|got -1.0"),
    ("--lr nan", "positive, finite --lr|got nan"),
    ("--lr inf", "positive, finite --lr|got inf"),
    ("--lr 1e39", "positive, finite --lr|3.4e+38|got 1e+39"),
    ("--lr much", "--lr|valid"),
    ("--passes 0", "--passes of 1 or more"),
    ("--passes 2", "--passes needs --trajectory sequential"),
    ("--neighbours 12 --n-primary 12", "--neighbours up to 11"),
    ("--suggest-clusters --n-primary 12", "needs 20 primary examples"),
    ("--suggest-clusters --clusters 3", "leave one out"),
    ("--clustering k-means --neighbours 3", "--neighbours needs --clustering neighbours"),
    ("--starts 5", "add --clustering k-means"),
    ("--starts 0", "--starts from 1 to 10000"),
    ("--starts 10001", "--starts from 1 to 10000"),
    ("--strategy gradient --lr 0.1", "takes no step|leave one out"),
    ("--strategy gradient --trajectory sequential", "at fixed weights|--strategy replay"),
    # the output
    ("--out taken", "new output folder|taken, which exists"),
    ("--out blobs.npz", "blobs.npz, which exists"),
    ("--out .", "which exists"),
    ("--out blobs.npz/run", "cannot make blobs.npz/run|Not a directory|--out"),
    ("--out /proc/run", "cannot make /proc/run|--out"),
    (f"--out {'x' * 300}", "name too long"),
    ("--outt x", "No such option"),
    ("--keep rows --out rows", "--keep and --out to be folders apart"),
    ("--keep rows/kept --out rows", "got rows/kept and rows"),
]


@pytest.mark.parametrize(("words", "expected"), OPTIONS, ids=[row[0][:40] for row in OPTIONS])
def test_an_option(run, here, data, words, expected):
    (here / "taken").mkdir()
    (here / "y.txt").write_text("a\n" * 36)
    task = () if "--primary" in words or "--auxiliary" in words else TASK
    refused(run, here, (data, *QUICK, *task, *words.split()), expected)


COMMANDS = [
    ((), "expected DATA|localelastic cluster mnist"),
    (("", *TASK), "expected DATA"),
    (("--primary", "a" * 300, "--auxiliary", "c"), "expected DATA"),
    ((*TASK, "mnist"), "expected DATA|'mnist' was taken for a class"),
    ((*TASK, "blobs.npz"), "'blobs.npz' was taken for a class|before the lists"),
    (("--primary", "a", "blobs.npz", "--auxiliary", "c"), "'blobs.npz' was taken for a class"),
    (("blobs.npz",), "--primary classes"),
    (("absent.npz", *TASK), "absent.npz: no such path"),
    (("mnist", "--primary", "5", "x", "--auxiliary", "3"), "'x'|known: 0, 1, 2"),
    (("mnist", *TASK, "--label-column", "y"), "the shipped MNIST digits|--label-column"),
]


@pytest.mark.parametrize(("words", "expected"), COMMANDS)
def test_a_command(run, here, data, words, expected):
    refused(run, here, words, expected)


def altered(value):
    points, _ = blobs()
    points[3, 2] = value
    return points


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def picture_folder(here, sizes):
    for number, size in enumerate(sizes):
        folder = here / "pics" / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        image = pictures(size=size)[0][number]
        Image.fromarray(image).save(folder / f"{number}.png")


def table(here, text):
    (here / "table.csv").write_text(text)


FILES = {
    "NaN": (
        lambda h: save_npz(h / "d.npz", x=altered(np.nan)),
        "d.npz",
        "NaN or infinity|first: 3",
    ),
    "infinity": (lambda h: save_npz(h / "d.npz", x=altered(np.inf)), "d.npz", "NaN or infinity"),
    "empty": (
        lambda h: save_npz(h / "d.npz", x=blobs()[0][:0], y=blobs()[1][:0]),
        "d.npz",
        "at least one example",
    ),
    "all equal": (
        lambda h: save_npz(h / "d.npz", x=np.ones((36, 6))),
        "d.npz",
        "--clusters|distinct primary examples, 1, got 2",
    ),
    "fewer labels": (lambda h: save_npz(h / "d.npz", y=blobs()[1][1:]), "d.npz", "36 entries|35"),
    "words": (lambda h: save_npz(h / "d.npz", x=blobs()[1]), "d.npz", "numbers"),
    "cut short": (lambda h: (save_npz(h / "d.npz"), cut(h / "d.npz")), "d.npz", "d.npz|cut short"),
    "no archive": (lambda h: (h / "d.npz").write_text("hello"), "d.npz", "d.npz|no archive"),
    "empty file": (lambda h: table(h, ""), "table.csv", "empty file"),
    "no rows": (lambda h: table(h, "u,v\n"), "table.csv", "expected rows"),
    "unknown kind": (lambda h: (h / "d.xyz").write_text("hello"), "d.xyz", "is its ending right"),
    "labels taken for a feature": (
        lambda h: table(h, "u,kind\n1,a\n2,b\n3,c\n"),
        "table.csv",
        "'kind'|--label-column",
    ),
    "no labels": (
        lambda h: table(h, "u,v\n1,2\n3,4\n"),
        "table.csv",
        "known classes|--label-column",
    ),
    "several sizes": (
        lambda h: picture_folder(h, [16, 16, 16, 18]),
        "pics",
        "images of one size|16 x 16|18 x 18|--image-size",
    ),
    "empty folder": (lambda h: (h / "pics").mkdir(), "pics", "empty folder"),
    "damaged image": (
        lambda h: (picture_folder(h, [16, 16, 16]), cut(h / "pics" / "a" / "0.png")),
        "pics",
        "0.png|whole",
    ),
    "no image": (
        lambda h: (picture_folder(h, [16, 16, 16]), (h / "pics/a/x.png").write_text("hello")),
        "pics",
        "x.png",
    ),
}


@pytest.mark.parametrize(("make", "name", "expected"), FILES.values(), ids=FILES)
def test_a_file(run, here, make, name, expected):
    make(here)
    refused(run, here, (name, *TASK, *QUICK), expected)


def test_an_image_too_small_for_the_cnn(run, here):
    picture_folder(here, [15] * 6)
    refused(run, here, ("pics", *TASK, "--network", "cnn"), "at least 16 x 16|(1, 15, 15)")


def test_a_parent_that_cannot_be_written(run, here, data, monkeypatch):
    def mkdir(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(command.Path, "mkdir", mkdir)
    words = (data, *TASK, *QUICK, "--out", "locked/run")
    refused(run, here, words, "cannot make locked/run|Permission denied|--out")
