import pytest

from localelastic.data.reading import Options, class_names, reading
from localelastic.errors import DataError, ReadError, SettingError


@pytest.mark.parametrize("error", [OSError("no disk\nat all"), MemoryError("much"), EOFError()])
def test_what_a_parser_raises_becomes_a_read_error(tmp_path, error):
    words = rf"a\.b as a thing \({type(error).__name__}"
    with (
        pytest.raises(ReadError, match=words) as caught,
        reading(tmp_path / "a.b", kind="a thing"),
    ):
        raise error
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)


def test_our_own_errors_pass(tmp_path):
    own = DataError("mine")
    with pytest.raises(DataError, match=r"^mine$"), reading(tmp_path, kind="a thing"):
        raise own


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([5, 8], ("5", "8")),
        ([5.0, 8.0], ("5", "8")),
        (["5.", "8.000e+00"], ("5", "8")),
        ([5.5, 8.0], ("5.5", "8.0")),
        (["007", "cat"], ("007", "cat")),
        (["007", "08"], ("007", "08")),
        (["1.0", "cat"], ("1.0", "cat")),
        (["inf", "1.0"], ("inf", "1.0")),
        ([" a ", True], ("a", "True")),
    ],
)
def test_class_names(values, names):
    assert class_names(values) == names


def test_given_options_exclude_pixels():
    assert Options().given == frozenset()
    assert Options(label_column="y", image_size=(1, 1)).given == {"label_column", "image_size"}


def test_an_image_has_a_size():
    with pytest.raises(SettingError, match=r"image_size.*\(0, 3\)"):
        Options(image_size=(0, 3))
