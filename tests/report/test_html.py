import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from localelastic.report import Score
from localelastic.report.html import render_report

VOID = {"meta", "link", "img", "br", "source"}


class Page(HTMLParser):
    """The tags, attributes and text of a page, refusing one that is not well formed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.headings = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names))
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def attributes(self, *names):
        return [of[name] for _, of in self.tags for name in names if name in of]


def vectors(record, d):
    return replace(record, inputs=np.arange(8.0 * d).reshape(8, d))


def one_cluster(record):
    return replace(
        record,
        labels=np.zeros(8, int),
        distances=record.distances[:, :1],
        matched=("dog",),
    )


def many_clusters(record):
    return replace(
        record,
        labels=np.array([0, 0, 1, 2, 3, 4, 5, 6]),
        distances=np.linspace(1, 2, 64).reshape(8, 8),
        matched=("cat", "dog", *[None] * 6),
    )


def bare(record):
    return replace(record, excluded=(), notes=(), settings={}, environment={}, scores=())


KINDS = {
    "images": lambda record: record,
    "grey": lambda record: replace(record, inputs=record.inputs[:, :1]),
    "curves": lambda record: vectors(record, 4),
    "numbers": lambda record: vectors(record, 2),
    "positive": lambda record: replace(record, similarity=np.abs(record.similarity)),
    "constant": lambda record: replace(record, similarity=np.ones((8, 8))),
    "one cluster": one_cluster,
    "many clusters, one empty": many_clusters,
    "bare": bare,
    "partly scored": lambda record: replace(
        record, scores=(*record.scores, Score("Other", None, None, None, None))
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [True, False])
def test_every_kind_of_record_gives_a_well_formed_page(record, kind, known):
    record = KINDS[kind](record)
    if not known:
        record = replace(record, classes=None, matched=None, scores=())
    page = Page(render_report(record))
    assert not {"nan", "inf", "undefined"} & set(re.findall("[a-z]+", page.text.lower()))
    assert set(re.findall(r"\bNone\b.", page.text)) <= {"None.", "None:"}
    ours = page.text.replace("Training accuracy was 0.6.", "").lower()
    assert ("accuracy" in ours) is (known and kind != "bare")
    assert ("Clusters and classes" in page.headings) is known


@pytest.mark.parametrize(
    "name",
    ["relative", "signed relative", "kernelized", "normalized kernelized", "centred kernelized"],
)
def test_the_equation_is_that_of_the_similarity(record, name):
    page = Page(render_report(replace(record, similarity_name=f"{name} similarity")))
    assert ("equation 2 of the paper" in page.text) is ("relative" in name)
    assert ("equation 3 of the paper" in page.text) is ("kernelized" in name)
    assert [tag for tag, _ in page.tags].count("math") == (
        1 + ("normalized" in name) + 2 * ("centred" in name)
    )
    assert page.words.count("|") == (4 if name == "relative" else 0)


def test_nothing_is_loaded_from_anywhere(record):
    text = render_report(record)
    page = Page(text)
    loads = page.attributes("src", "srcset", "poster", "data", "action")
    assert loads
    assert all(load.startswith("data:") for load in loads)
    links = [of["href"] for tag, of in page.tags if tag == "a"]
    outside = [link for link in links if not link.startswith("#")]
    assert outside == ["https://arxiv.org/abs/1910.06943"]
    assert [of["href"] for tag, of in page.tags if tag == "link"] == ["data:,"]
    assert not {"script", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert "url(" not in text
    assert "@import" not in text


def test_links_within_the_page_lead_somewhere(record):
    page = Page(render_report(record))
    inside = [href[1:] for href in page.attributes("href") if href.startswith("#")]
    assert sorted(inside) == ["excluded", "notes"]
    assert set(inside) <= set(page.attributes("id"))


def test_what_the_user_wrote_is_text_and_never_markup(record):
    nasty = "<b>&\"'<script>alert(1)</script>"
    record = replace(
        record,
        question=f"q{nasty}",
        finding=f"f{nasty}",
        ids=tuple(f"{letter}{nasty}" for letter in "abcdefgh"),
        classes=tuple(name + nasty for name in record.classes),
        matched=tuple(name + nasty for name in record.matched),
        scores=tuple(replace(score, method=score.method + nasty) for score in record.scores),
        similarity_name=f"s{nasty}",
        excluded=((f"z{nasty}", nasty),),
        settings={f"k{nasty}": f"v{nasty}"},
        environment={f"m{nasty}": f"n{nasty}"},
        notes=(f"note{nasty}",),
    )
    text = render_report(record)
    page = Page(text)
    assert "<script" not in text
    assert not {"script"} & {tag for tag, _ in page.tags}
    for start in ("q", "f", "cat", "K-means", "s", "z", "k", "v", "m", "n", "note"):
        assert f"{start}{nasty}" in page.text
    assert f"c{nasty}" in page.attributes("alt")
    assert any(
        title.startswith(f"c{nasty} · class dog{nasty}") for title in page.attributes("title")
    )


def test_the_wrong_ones_are_framed_and_named(record):
    text = render_report(record)
    framed = {of["title"].split()[0] for tag, of in Page(text).tags if of.get("class") == "wrong"}
    assert framed == {"pets/b.png", "pets/c.png", "pets/h.png"}
    assert text.index("pets/c.png · class dog · margin 6") < text.rindex("pets/b.png · class dog")


def test_more_wrong_ones_than_pictures_are_all_listed(record):
    n = 60
    ids = tuple(f"id{i:02}" for i in range(n))
    record = replace(
        record,
        ids=ids,
        labels=np.arange(n) % 2,
        classes=("cat",) * n,
        distances=np.arange(2.0 * n).reshape(n, 2),
        similarity=np.eye(n),
        inputs=np.zeros((n, 2, 2)),
    )
    page = Page(render_report(record))
    assert "the first 12 of 30" in page.text
    assert all(name in page.words for name in ids[1::2])


def test_empty_parts_are_said_in_words_or_left_out(record):
    right = replace(bare(record), classes=("cat",) * 4 + ("dog",) * 4)
    page = Page(render_report(right))
    assert page.text.count("In the wrong cluster None.") == 2
    assert not {"Left out", "Notes", "Compared with other methods"} & set(page.headings)
    assert "no example is in this cluster" in Page(render_report(many_clusters(record))).text
    assert "there is only one cluster" in Page(render_report(one_cluster(record))).text


def test_scores_are_written_with_a_minus_and_a_bar_from_chance(record):
    page = Page(render_report(record))
    assert "−0.012" in page.text  # noqa: RUF001
    bars = [
        of["style"] for tag, of in page.tags if tag == "i" and of.get("style", "")[:5] == "width"
    ]
    assert bars == ["width: 25.0%", "width: 0%", "width: 50.0%"]


def test_a_thousand_images_stay_small(record):
    n, random = 1000, np.random.default_rng(0)
    labels = np.arange(n) % 7
    large = replace(
        record,
        ids=tuple(map(str, range(n))),
        labels=labels,
        classes=tuple(map(str, random.permutation(labels))),
        matched=tuple(map(str, range(7))),
        distances=random.random((n, 7)),
        similarity=random.random((n, n)),
        inputs=random.random((n, 3, 64, 64), dtype=np.float32),
    )
    assert len(render_report(large)) < 4e6
