"""``localelastic run`` and ``list`` as users meet them."""

from __future__ import annotations

import json

import pytest

from localelastic.report.experiment_record import ExperimentRecord

NAMES = [
    *(f"figure{number}" for number in (1, 2, 4, 5, 6, 7)),
    *("relative-change", "over-training", "better", "better-cifar"),
    *(f"table{number}" for number in range(1, 9)),
]


def test_all_are_listed_and_no_name_is_cut(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call("list")
    assert code == 0
    for name in NAMES:
        assert f"{name} " in out
    listed = json.loads(call("list", "--json")[1])
    assert sorted(listed) == sorted(NAMES)
    assert set(listed["figure1"]["costs"]) == {"smoke", "quick", "paper"}


def test_a_run_leaves_a_folder(call, here):
    code, out, _ = call("run", "figure2", "--scale", "smoke", "--seeds", 2, "--seed", 3)
    assert code == 0
    folder = here / "runs" / "figure2-smoke"
    assert {path.name for path in folder.iterdir()} == {
        *("figure2.pdf", "figure2.png", "record.json", "report.html", "series.npz")
    }
    record = ExperimentRecord.read(folder)
    assert record.seeds == (3, 4)
    assert record.command == "localelastic run figure2 --scale smoke --seeds 2 --seed 3"
    assert "numbers mean nothing" in record.notes[0]
    assert record.finding in out
    page = (folder / "report.html").read_text()
    assert "95 % interval" in page
    assert record.to_json() == (folder / "record.json").read_text()
    assert call("run", "figure2", "--scale", "smoke", "--out", folder)[0] == 2


def test_json(call, here):
    code, out, _ = call("run", "figure2", "--scale", "smoke", "--json", "--out", "o")
    assert code == 0
    assert json.loads(out)["name"] == "figure2"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "expected EXPERIMENT"),
        ("figure3", "unknown experiment 'figure3'; choose one of"),
        ("figure2 --scale tiny", "smoke, quick, paper"),
        ("figure2 --seeds 0", "--seeds from 1 to 1000"),
        ("figure2 --seeds 2000000", "--seeds from 1 to 1000"),
        ("figure2 --seed -1", "seeds from 0"),
        ("figure2 --seed 99999999999999999999999", "seeds from 0"),
        ("figure1 --workers 0", "workers of 1 or more"),
        ("figure1 --photos .", "does not take photos"),
        ("figure1 --protocol ours", "does not take protocol"),
        ("figure2 --only CNN", "does not take only"),
        ("table3 --scale smoke --only perceptron", "expected only to be part of a name in table3"),
        ("table1 --scale smoke --protocol mine", "expected protocol to be one of"),
        ("table2 --scale smoke --data none.npz", "none.npz"),
        ("table4 --scale smoke --classifier none.pth", "none.pth"),
    ],
)
def test_refusals(call, here, words, message):
    code, out, err = call("run", *words.split())
    assert code == 2
    assert message in err
    assert not out
    assert not (here / "runs").exists()
