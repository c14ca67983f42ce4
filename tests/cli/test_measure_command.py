"""``localelastic measure`` and ``check`` as users meet them: a file of theirs, a folder of ours."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest
from blobs import contents
from subjects import SUBJECTS

import localelastic
import localelastic.experiments.measure as job
import localelastic.report.effect as pictures
from localelastic import Logits, OneClass, prediction_change
from localelastic.experiments.subject import load_subject
from localelastic.measure import Finding, Preflight

FINDINGS = (
    Finding("ok", "weights", "all trainable"),
    Finding("warning", "dropout", "random; dtype=torch.float64 helps"),
)


@pytest.fixture
def measure(call, here, monkeypatch):
    """``measure("measure", "model.py:pictures", ...)``: exit code and both streams."""
    (here / "model.py").write_text(SUBJECTS)
    path, modules = sys.path[:], set(sys.modules)
    monkeypatch.setattr(job, "preflight", lambda *_, **__: Preflight(FINDINGS))
    monkeypatch.setattr(pictures, "_png", lambda *_: "data:image/png;base64,")
    yield call
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name in ("model", "pack", "pack.inner", "broken", "wrong"):
            del sys.modules[name]


def rows(folder):
    with (folder / "changes.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def column(table, name):
    return np.array([float(row[name]) for row in table])


def expected(name, step_on, **settings):
    """What the Python function says of the same."""
    subject = load_subject(f"model.py:{name}")
    rest = [k for k in range(len(subject.examples)) if k not in step_on]
    arguments = {**subject.settings, **settings}
    stepped, probes = subject.examples.take(step_on), subject.examples.take(rest)
    return prediction_change(subject.model, stepped, probes, **arguments)


def report(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def test_pictures(measure, here):
    code, out, err = measure("measure", "model.py:pictures", "--step-on", "p4", "--out", "run")
    assert code == 0, err
    assert contents(here / "run") == {"changes.csv", "measure.json", "report.html"}
    found, table = expected("pictures", [4]), rows(here / "run")
    assert [row["id"] for row in table] == list(found.ids)
    assert [row["class"] for row in table][:2] == ["cat", "dog"]
    for name in ("change", "size", "relative", "kl", "first_order", "gap", "noise_floor"):
        np.testing.assert_array_equal(column(table, name), getattr(found, name))
    np.testing.assert_array_equal(column(table, "below_floor"), found.below_floor)
    values = json.loads((here / "run" / "measure.json").read_text())
    assert values["finding"] == found.sentence
    assert values["linearity"] == found.linearity
    assert values["self_change"] == found.self_change.tolist()
    assert values["most"] == [found.ids[k] for k in found.most(8)]
    assert values["checks"][1]["level"] == "warning"
    assert "torch" in values["environment"]
    assert found.sentence in out
    assert "other way" in out
    assert f"{found.change[found.most(1)[0]]:+.3g}" in out
    assert "Report: run/report.html" in out
    assert "Warning: dropout: random; --precision float64 helps" in err
    assert "a word of the user's" in err
    assert "a word of the user's" not in out


def test_the_report_of_pictures(measure, here):
    measure("measure", "model.py:pictures", "--out", "run", "--quiet", "--top", "3")
    page = report(here / "run")
    for part in ("Stepped on", "Moved most", "Moved the other way", "Moved least", "linearity"):
        assert part in page
    for part in ("first order says", "by how far it moved", "below the noise floor"):
        assert part in page
    assert "random; --precision float64 helps" in page
    assert page.count('<img src="data:image/png') >= 1 + 3 + 3 + 2
    assert "localelastic measure model.py:pictures" in page


def test_a_mini_batch(measure, here):
    code, _, err = measure(
        *("measure", "model.py:pictures", "--step-on", "p4", "p0", "--probes", "p1", "p2"),
        *("--out", "run", "--output", "logits", "--lr", "0.3", "--mode", "eval"),
    )
    assert code == 0, err
    found, table = expected("pictures", [4, 0], prediction=Logits(), lr=0.3), rows(here / "run")
    assert [row["id"] for row in table] == ["p1", "p2"]
    for k in range(3):
        np.testing.assert_allclose(column(table, f"change_{k}"), found.change[:2, k], rtol=1e-4)
        np.testing.assert_allclose(
            column(table, f"first_order_{k}"), found.first_order[:2, k], rtol=1e-4
        )
    np.testing.assert_allclose(column(table, "along"), found.along[:2], rtol=1e-4)
    assert "Stepped on, all 2 in one step" in report(here / "run")
    assert "--step-on p4 p0 --probes p1 p2 --lr 0.3" in report(here / "run")


def test_texts(measure, here):
    code, out, err = measure("measure", "model.py:texts", "--out", "run", "--class", "1")
    assert code == 0, err
    np.testing.assert_array_equal(
        column(rows(here / "run"), "change"), expected("texts", [0], prediction=OneClass(1)).change
    )
    page = report(here / "run")
    assert "<blockquote>so good</blockquote>" in page
    assert "bad &lt;b&gt;day&lt;/b&gt;" in page
    assert "class" not in out.splitlines()[1]


def test_what_the_function_says_beside(measure, here):
    code, _, err = measure("measure", "model.py:tokens", "--out", "run", "--no-first-order")
    assert code == 0, err
    found, table = expected("tokens", [3, 4], first_order=False), rows(here / "run")
    assert found.step_ids == ("3", "4")
    assert found.step.startswith("SGD with lr=0.5")
    np.testing.assert_array_equal(column(table, "change"), found.change)
    assert {row["first_order"] + row["gap"] for row in table} == {""}
    page = report(here / "run")
    assert "<blockquote>text 5</blockquote>" in page
    assert "linearity" not in page
    assert page.count('class="chart"') == 1


def test_json_is_all_there_is_on_standard_output(measure, here):
    code, out, _ = measure("measure", "model.py:pictures", "--json", "--precision", "float64")
    values = json.loads(out)
    assert code == 0
    assert values["folder"] == "runs/measure-model-pictures"
    assert values["settings"]["precision"] == "float64"
    assert (here / values["folder"] / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (("plain", "--optimizer", "adamw", "--lr", "0.5"), "AdamW with lr=0.5"),
        (("plain", "--optimizer", "sgd"), "SGD with lr=0.01"),
        (("own_optimizer",), "Adam with lr=0.001"),
        (("own_optimizer", "--optimizer", "rmsprop"), "RMSprop with lr=0.01"),
        (("tokens", "--lr", "2"), "SGD with lr=2"),
    ],
)
def test_whose_step(measure, words, step):
    name, *rest = words
    code, out, err = measure("measure", f"model.py:{name}", "--json", "--quiet", *rest)
    assert code == 0, err
    assert json.loads(out)["step"].startswith(step)


@pytest.mark.parametrize("name", ["pictures", "texts", "tokens", "labels_as_array"])
def test_the_checks_themselves(measure, here, monkeypatch, name):
    monkeypatch.setattr(job, "preflight", localelastic.preflight)
    code, out, err = measure("measure", f"model.py:{name}", "--json", "--quiet")
    assert code == 0, err
    said = measure("check", f"model.py:{name}", "--json")[1]
    names = [one["check"] for one in json.loads(said)["checks"]]
    assert "weights" in names
    assert [one["check"] for one in json.loads(out)["checks"]] == names


def test_a_module_by_name(measure, here):
    (here / "pack").mkdir()
    (here / "pack" / "inner.py").write_text("from model import pictures\n")
    assert measure("check", "pack.inner:pictures")[0] == 0


def test_check(measure, here):
    before = contents(here)
    code, out, err = measure("check", "model.py:pictures")
    assert code == 0, err
    assert "dropout" in out
    assert "all trainable" in out
    code, out, _ = measure("check", "model.py:pictures", "--json")
    assert json.loads(out)["checks"][0] == {
        "level": "ok",
        "check": "weights",
        "found": "all trainable",
    }
    assert {path for path in contents(here) if "pycache" not in path} == before


BAD = [
    ("", "expected MODULE:FUNCTION|model.py:digits"),
    ("--step-on 1 model.py:plain", "'model.py:plain' was taken for an id|comes first"),
    ("model.py", "got 'model.py'"),
    ("model.py:", "got 'model.py:'"),
    ("absent.py:plain", "absent.py: no such file"),
    ("absent:plain", "no module 'absent'"),
    ("json.absent:plain", "no module 'json.absent'"),
    ("broken.py:plain", "broken.py was imported|ModuleNotFoundError|'absent'|line 2"),
    ("broken:plain", "broken was imported|ModuleNotFoundError|'absent'|line 2"),
    ("wrong.py:plain", "wrong.py was imported|SyntaxError|line 3"),
    ("model.py:absent", "no such function|known: Words, made, pictures"),
    ("model.py:answer", "'answer'|got a int"),
    ("model.py:needs", "no arguments|needs path|defaults"),
    ("model.py:breaks", "RuntimeError: no such checkpoint|model.py:breaks was called"),
    ("model.py:leaves", "SystemExit: 3"),
    ("model.py:nothing", "to return (model, examples)|got None"),
    ("model.py:four", "a tuple of 4"),
    ("model.py:swapped", "torch.nn.Module|got Tensor"),
    ("model.py:unknown", "got also 'looss'"),
    ("model.py:missing", "got none of examples"),
    ("model.py:not_finite", "the examples of model.py:not_finite|NaN or infinity"),
    ("model.py:no_inputs", "the examples of|got object"),
    ("model.py:bad_targets", "targets as numbers|str"),
    ("model.py:bad_step_on", "'step_on' of model.py:bad_step_on|1.5"),
    ("model.py:few_texts", "12 texts|got 1"),
    ("model.py:pictures --step-on p99", "--step-on to be ids|'p99'|did you mean 'p9'"),
    ("model.py:pictures --step-on p1 p1", "--step-on once|'p1' twice"),
    ("model.py:pictures --lr 0", "finite --lr|got 0"),
    ("model.py:pictures --optimizer lbfgs", "--optimizer|sgd, adam|'lbfgs'"),
    ("model.py:pictures --output logit", "--output|logits, log-probability|'logit'"),
    ("model.py:pictures --output logits --class 1", "--output or --class"),
    ("model.py:pictures --class -1", "--class of 0 or more"),
    ("model.py:pictures --mode test", "--mode|eval, train|'test'"),
    ("model.py:pictures --precision half", "--precision|float32, float64|'half'"),
    ("model.py:own_optimizer --lr 1", "its own step size|--optimizer"),
]
BAD_TO_MEASURE = [
    (
        "model.py:failing",
        "model.py:failing (model.py, line |the model failed on inputs of|ValueError: two lines",
    ),
    (
        "model.py:other_shape",
        "model.py:other_shape: the model failed on inputs of (1, 3) float32: RuntimeError",
    ),
    ("model.py:batch_norm --probes 1", "pass --mode eval to use"),
    ("model.py:bad_call", "model failed on inputs of|TypeError|call="),
    ("model.py:lone", "an example to probe|got none|--probes"),
    ("model.py:pictures --probes 3", "probes to be ids|'3'"),
    ("model.py:pictures --top 0", "--top of 1 or more"),
    ("model.py:pictures --class 3", "class from 0 to 2|got 3"),
    ("model.py:pictures --output scalar", "one output per example"),
    ("model.py:pictures --out taken", "new output folder|which exists"),
]
TABLES = [("measure", BAD + BAD_TO_MEASURE), ("check", BAD[::4])]


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [(command, *row) for command, rows in TABLES for row in rows],
)
def test_bad_input(measure, here, command, words, said):
    (here / "broken.py").write_text("import json\nimport absent\n")
    (here / "wrong.py").write_text("\n\ndef f(:\n")
    (here / "taken").mkdir()
    before = contents(here)
    code, out, err = measure(command, *words.split())
    assert code == 2, err
    assert out == ""
    assert err.startswith("Error: ") or "Error: " in err.splitlines()[-1]
    assert "Traceback" not in err
    for word in said.split("|"):
        assert word in err
    assert {path for path in contents(here) if "pycache" not in path} == before


def test_a_step_that_diverges_is_no_bad_input_and_leaves_nothing(measure, here):
    words = ("measure", "model.py:triple", "--lr", "3e38", "--out", "new/run")
    code, _, err = measure(*words)
    assert code == 1, err
    assert "not finite" in err
    assert not (here / "new").exists()


def test_a_full_disk(measure, here, disk_full_at):
    disk_full_at("changes.csv")
    code, _, err = measure("measure", "model.py:pictures", "--out", "run")
    assert code == 2
    assert "--out" in err
    assert not (here / "run").exists()


@pytest.mark.parametrize("command", ["measure", "check"])
def test_help(measure, command):
    code, out, _ = measure(command, "--help")
    assert code == 0
    assert f"localelastic {command} model.py:digits" in out
