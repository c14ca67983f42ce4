"""The record of a measurement as a page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from test_html import Page

from localelastic.plots.effect import DARK, first_order_scatter, sorted_sizes
from localelastic.report import Check, MeasureRecord, ShownExample, effect
from localelastic.report.effect import probe_groups, stepped_group, tiles
from localelastic.report.html import render_measure
from localelastic.report.inline import MINUS

MOVED = np.array([0.5, -0.25, 1e-9, 0.0])


def shown(k, **changed):
    one = ShownExample(f"pics/{k}.png", "cat", None, np.eye(4) * k, MOVED[k], abs(MOVED[k]), k > 1)
    return replace(one, **changed)


@pytest.fixture
def record():
    return MeasureRecord(
        question="One step <here>?",
        finding="It moved & how.",
        prediction="logits",
        outputs=3,
        self_size=1.0,
        moved=MOVED,
        size=np.abs(MOVED),
        relative=np.abs(MOVED),
        first_order=MOVED * 1.5,
        noise_floor=np.full(4, 1e-6),
        hidden=np.array([False, False, True, True]),
        against=np.array([False, True, False, False]),
        linearity=-0.5,
        n_stepped=1,
        stepped=(shown(0, id="me", relative=None),),
        most=(shown(0), shown(1)),
        least=(shown(3), shown(2)),
        opposite=(shown(1),),
        span=(0.0, 3.0),
        checks=(Check("warning", "dropout", "<random>"), Check("ok", "weights", "fine")),
        notes=("a note",),
        settings={"step": "SGD"},
        environment={"torch": "2"},
        command="localelastic measure a.py:f",
    )


def text(one):
    return replace(one, values=None, text="a <i>text</i> " + "x" * 500)


def without_pictures(record, change):
    groups = ("stepped", "most", "least", "opposite")
    return replace(record, **{name: tuple(map(change, getattr(record, name))) for name in groups})


KINDS = {
    "images": lambda record: record,
    "texts": lambda record: without_pictures(record, text),
    "names": lambda record: without_pictures(
        record, lambda one: replace(one, values=None, known=None)
    ),
    "no first order": lambda record: replace(record, first_order=None, linearity=None),
    "one output": lambda record: replace(record, outputs=1),
    "nothing moved": lambda record: replace(
        record,
        self_size=0.0,
        moved=0 * MOVED,
        size=0 * MOVED,
        first_order=0 * MOVED,
        noise_floor=0 * MOVED,
        opposite=(),
        against=np.zeros(4, bool),
    ),
    "bare": lambda record: replace(record, checks=(), notes=(), settings={}, environment={}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_record_gives_a_well_formed_page(record, kind, monkeypatch):
    if kind not in ("images", "nothing moved"):
        monkeypatch.setattr(effect, "_png", lambda *_: "data:image/png;base64,")
    page = Page(render_measure(KINDS[kind](record)))
    assert "It moved & how." in page.headings
    assert "One step <here>?" in page.text
    assert "undefined" not in page.text
    assert "nan" not in page.text.split()
    assert "localelastic measure a.py:f" in page.text
    loads = page.attributes("src", "srcset")
    assert all(load.startswith("data:image/png") for load in loads)
    charts = 1 if kind == "no first order" else 2
    pictures = 6 if kind not in ("texts", "names", "nothing moved") else 0
    pictures = 5 if kind == "nothing moved" else pictures
    assert len(loads) == 2 * charts + pictures
    assert ("a <i>text</i>" in page.text) is (kind == "texts")
    assert ("<random>" in page.text) is (kind != "bare")


def test_tiles(record):
    assert [(one.label, one.value + one.unit) for one in tiles(record)] == [
        ("self-change", "1"),
        ("median relative change", "0.125"),
        ("below the noise floor", "50.0%"),
        ("linearity", f"{MINUS}0.500"),
    ]


def test_cards(record):
    (me,) = stepped_group(record).cards
    assert (me.moved, me.relative, me.short, me.against) == ("+0.5", "", "me", False)
    most, opposite, least = probe_groups(record)
    assert [card.moved for card in most.cards] == ["+0.5", f"{MINUS}0.25"]
    assert [card.short for card in opposite.cards] == ["1.png"]
    assert opposite.cards[0].against
    assert [card.hidden for card in least.cards] == [True, True]


@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_each_probe_is_drawn_once(record, floor):
    floors = np.full(4, floor)
    first = first_order_scatter(
        Figure().subplots(),
        record.moved,
        record.first_order,
        noise_floor=floors,
        against=record.against,
        meaning="change",
    )
    drawn = np.concatenate([dots.get_offsets() for dots in first.collections])
    assert sorted(drawn[:, 1].tolist()) == sorted(MOVED.tolist())
    assert sorted(drawn[:, 0].tolist()) == sorted((MOVED * 1.5).tolist())
    second = sorted_sizes(
        Figure().subplots(),
        record.size,
        noise_floor=floors,
        against=record.against,
        self_size=1.0,
        meaning="size",
        ink=DARK,
    )
    drawn = np.concatenate([dots.get_offsets() for dots in second.collections])
    assert sorted(map(tuple, drawn.tolist())) == [(1, 0.5), (2, 0.25), (3, 1e-9)]
