import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localelastic.data import FirstSampling, RandomSampling
from localelastic.errors import ClassError, SettingError

MEMBERS = {"b": np.array([1, 3, 5, 7]), "a": np.array([0, 2, 4])}


@given(st.integers(0, 2**70), st.integers(2, 7))
def test_random_takes_equal_numbers_without_replacement(seed, count):
    drawn = RandomSampling(seed).primary(MEMBERS, count=count)
    assert len(set(drawn)) == count
    assert np.isin(drawn, MEMBERS["b"]).sum() == -(-count // 2)


def test_random_is_fixed_by_the_seed():
    many = {"a": np.arange(100)}
    draws = [tuple(RandomSampling(seed).primary(many, count=9)) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


def test_a_class_is_drawn_alike_whatever_the_others_are():
    alone = RandomSampling(0).primary({"a": np.arange(50)}, count=10)
    pair = {"b": np.arange(50, 90), "a": np.arange(50)}
    with_other = RandomSampling(0).auxiliary(pair, count=24)
    assert set(alone) <= set(with_other)


def test_classes_are_drawn_independently():
    same = {"a": np.arange(100), "b": np.arange(100)}
    drawn = RandomSampling(0).primary(same, count=20)
    assert set(drawn[:10]) != set(drawn[10:])


def test_the_global_random_state_is_left_alone():
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()
    RandomSampling(3).primary(MEMBERS, count=4)
    assert np.random.get_state()[1].tolist() == before


def test_first_is_even_for_primary_and_pooled_for_auxiliary():
    uneven = {"a": np.array([0, 1, 2, 8]), "b": np.array([3, 9])}
    assert sorted(FirstSampling().primary(uneven, count=3)) == [0, 1, 3]
    assert FirstSampling().auxiliary(uneven, count=4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("sampling", [RandomSampling().primary, FirstSampling().primary])
def test_too_few(sampling):
    assert len(sampling(MEMBERS, count=7)) == 7
    with pytest.raises(ClassError, match="8 examples of b, a, got 4 of b, 3 of a; ask for 6"):
        sampling(MEMBERS, count=8)
    with pytest.raises(SettingError, match="one example per class or more, got 1 of b, a"):
        sampling(MEMBERS, count=1)


def test_too_few_in_all():
    with pytest.raises(ClassError, match="8 examples of b, a, got 4 of b, 3 of a; ask for 7"):
        FirstSampling().auxiliary(MEMBERS, count=8)


def test_a_seed_is_not_negative():
    with pytest.raises(SettingError, match="seed of 0 or more, got -1"):
        RandomSampling(-1)
