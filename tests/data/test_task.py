import pytest
import torch

from localelastic.data import Examples, FirstSampling, RandomSampling, Task, primary_vs_auxiliary
from localelastic.errors import ClassError, DataError, SettingError
from worlds import unchecked

CLASSES = ("5", "3", "8", "5", "9", "8", "5", "3", "cat")
DATA = Examples.of(torch.arange(9.0)[:, None], classes=CLASSES, ids=list("abcdefghi"))


def task(**changes):
    asked = {"primary": ["5", 8], "auxiliary": [3], "n_primary": 4, "n_auxiliary": 1}
    return primary_vs_auxiliary(DATA, **asked | changes)


def test_first_sampling_in_data_order():
    chosen = task(sampling=FirstSampling())
    assert chosen.primary.ids == ("a", "c", "d", "f")
    assert chosen.primary.classes == ("5", "8", "5", "8")
    assert chosen.auxiliary.ids == ("b",)


def test_the_first_auxiliary_examples_are_only_roughly_even():
    chosen = task(auxiliary=["9", 3], n_auxiliary=3, sampling=FirstSampling())
    assert chosen.auxiliary.ids == ("b", "e", "h")


@pytest.mark.parametrize("seed", range(5))
def test_random_sampling_is_even_and_in_data_order(seed):
    chosen = task(auxiliary=[3, "9"], n_auxiliary=3, sampling=RandomSampling(seed))
    assert sorted(chosen.primary.classes) == ["5", "5", "8", "8"]
    assert list(chosen.primary.ids) == sorted(chosen.primary.ids)
    assert chosen.auxiliary.ids == ("b", "e", "h")


def test_all_there_are():
    chosen = task(n_primary=None, n_auxiliary=None)
    assert chosen.primary.ids == ("a", "c", "d", "f", "g")
    assert chosen.auxiliary.ids == ("b", "h")


def test_a_remainder_goes_to_the_first_class():
    assert sorted(task(n_primary=3).primary.classes) == ["5", "5", "8"]
    assert sorted(task(n_primary=3, primary=[8, 5]).primary.classes) == ["5", "8", "8"]


def test_coarse_classes_choose_and_fine_ones_stay():
    data = Examples.of(
        torch.zeros(4, 1),
        classes=["cat", "dog", "oak", "fir"],
        coarse=["animal"] * 2 + ["plant"] * 2,
    )
    chosen = primary_vs_auxiliary(
        data, primary=["animal"], auxiliary=["plant"], n_primary=2, n_auxiliary=None
    )
    assert chosen.primary.classes == ("cat", "dog")
    with pytest.raises(ClassError, match=r"got 'cat' \(known: animal, plant\)"):
        primary_vs_auxiliary(data, primary=["cat"], auxiliary=["plant"])


def test_equal_images_are_told_apart_by_id():
    same = Examples.of(torch.zeros(3, 1), classes=["5", "5", "3"], ids=["x", "y", "z"])
    chosen = primary_vs_auxiliary(same, primary=[5], auxiliary=[3], n_primary=2, n_auxiliary=1)
    assert (chosen.primary.ids, chosen.auxiliary.ids) == (("x", "y"), ("z",))
    assert same.duplicates() == (("x", "y", "z"),)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"primary": [5, 7]}, ClassError, "primary class, got '7' .known: 3, 5, 8, 9, cat"),
        ({"auxiliary": ["Cart"]}, ClassError, "got 'Cart'; did you mean 'cat'?"),
        ({"primary": [5, "5"]}, ClassError, "each primary class once, got 5"),
        ({"auxiliary": [3, 5]}, ClassError, "primary or auxiliary, got 5 as both"),
        ({"primary": []}, ClassError, "at least one primary class"),
        ({"auxiliary": []}, ClassError, "at least one auxiliary class"),
        ({"primary": "58"}, ClassError, r"write \['58'\]"),
        ({"n_primary": 6}, ClassError, "6 examples of 5, 8, got 3 of 5, 2 of 8; ask for 4"),
        ({"n_auxiliary": 3}, ClassError, "3 examples of 3, got 2 of 3; ask for 2"),
        ({"n_primary": 0}, SettingError, "n_primary of 1 or more, or None for all, got 0"),
        ({"n_auxiliary": -1}, SettingError, "n_auxiliary of 1 or more"),
        ({"n_primary": 1}, SettingError, "one example per class"),
    ],
)
def test_refused(changes, error, words):
    with pytest.raises(error, match=words):
        task(**changes)


def test_one_class_alone_is_no_list():
    with pytest.raises(ClassError, match=r"write \[3\]"):
        unchecked(primary_vs_auxiliary)(DATA, primary=["5"], auxiliary=3)


def test_examples_without_classes():
    with pytest.raises(ClassError, match="label_column or labels"):
        primary_vs_auxiliary(Examples.of([[0.0]]), primary=[1], auxiliary=[2])


def test_a_task_of_ones_own():
    near = Examples.of(torch.zeros(2, 3), ids=["a", "b"])
    with pytest.raises(DataError, match=r"1 ids on both .such as 'b'"):
        Task(near, Examples.of(torch.zeros(1, 3), ids=["b"]))
    with pytest.raises(DataError, match=r"one shape, got \(3,\) and \(4,\)"):
        Task(near, Examples.of(torch.zeros(1, 4), ids=["c"]))
