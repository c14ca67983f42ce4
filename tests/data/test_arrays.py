import numpy as np
import pytest
import torch

from localelastic.data import Pixels, load_examples
from localelastic.errors import DataError, ReadError

X = np.array([[1.5, 2.5], [3.5, 4.5]], dtype=np.float32)
Y = np.array([1, 0])


@pytest.fixture
def npz(tmp_path):
    def save(**arrays):
        path = tmp_path / "data.npz"
        np.savez(path, **arrays)
        return path

    return save


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        ("x", "y"),
        ("X", "y"),
        ("X", "Y"),
        ("images", "labels"),
        ("inputs", "targets"),
        ("inputs", "labels"),
        ("features", "labels"),
        ("data", "labels"),
        ("x_train", "y_train"),
        ("X_train", "y_train"),
        ("train_images", "train_labels"),
    ],
)
def test_usual_names(npz, inputs, labels):
    examples = load_examples(npz(**{labels: Y, inputs: X, "x_test": X, "other": Y}))
    assert torch.equal(examples.inputs, torch.from_numpy(X))
    assert examples.classes == ("1", "0")
    assert examples.source == (
        f"data.npz, inputs {inputs!r}, labels {labels!r}; float32 values left as they are"
    )


def test_names_given(npz):
    path = npz(a=X, b=Y, c=np.array(["u", "v"]), d=np.array(["i", "j"]), x=X + 1, y=Y)
    examples = load_examples(
        path, input_columns="a", label_column="b", fine_label_column="c", id_column="d"
    )
    assert torch.equal(examples.inputs, torch.from_numpy(X))
    assert (examples.coarse, examples.classes) == (("1", "0"), ("u", "v"))
    assert examples.ids == ("i", "j")


def test_inputs_alone(npz):
    assert load_examples(npz(anything=X)).classes is None
    assert load_examples(npz(x=X, other=X)).classes is None


def test_class_names_and_ids(npz):
    path = npz(x=X, y=Y[:, None], class_names=np.array(["1", "dog"]), ids=np.array(["p", "q"]))
    examples = load_examples(path)
    assert (examples.classes, examples.ids) == (("dog", "1"), ("p", "q"))
    path = npz(x=X, y=np.array([b"dog", b"cat"]), class_names=np.array(["cat", "dog"]))
    assert load_examples(path).classes == ("dog", "cat")


def test_class_names_are_of_the_fine_classes(npz):
    path = npz(x=X, y=Y, fine=np.array([0, 2]), class_names=np.array(["a", "b", "c"]))
    examples = load_examples(path, fine_label_column="fine")
    assert (examples.coarse, examples.classes) == (("1", "0"), ("a", "c"))


def test_channel_last_images_of_bytes(npz):
    images = np.arange(24, dtype=np.uint8).reshape(1, 2, 4, 3)
    examples = load_examples(npz(images=images), pixels=Pixels.RAW)
    assert examples.inputs.tolist() == images.transpose(0, 3, 1, 2).tolist()
    assert examples.source.endswith("pixels scaled to [0, 255], channels moved first")


@pytest.mark.parametrize(
    ("arrays", "options", "error", "words"),
    [
        ({"a": X, "b": Y}, {}, ReadError, r"one array of inputs .*got a, b; .*input_columns"),
        ({"x": X, "images": X}, {}, ReadError, "got x, images"),
        ({}, {}, ReadError, "got none"),
        ({"x": X}, {"label_column": "z"}, ReadError, "an array 'z' in .*got x"),
        ({"x": X, "y": Y[:1]}, {}, ReadError, "2 entries in 'y' .*got 1"),
        ({"x": X, "y": np.array(1)}, {}, ReadError, "'y' .*single value"),
        ({"x": X, "y": np.eye(2)}, {}, DataError, "one label per example .*argmax"),
        ({"x": X, "y": [0.0, np.nan]}, {}, DataError, "a label for every example .*NaN"),
        ({"x": X, "y": [0, 2], "class_names": ["a", "b"]}, {}, DataError, "0 .. 1 .*got 2"),
        ({"x": np.array([None, {}])}, {}, ReadError, "allow_pickle"),
        ({"x": X * np.nan}, {}, DataError, "NaN or infinity in 2 of 2"),
        ({"x": np.array(["a", "b"])}, {}, DataError, "inputs that are numbers"),
    ],
)
def test_refused(npz, arrays, options, error, words):
    with pytest.raises(error, match=words):
        load_examples(npz(**arrays), **options)


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 4, 4), np.uint8))
    np.save(tmp_path / "y.npy", np.array([3.0, 5.0]))
    examples = load_examples(tmp_path / "x.npy", labels=tmp_path / "y.npy")
    assert (examples.shape, examples.classes) == ((1, 4, 4), ("3", "5"))
    assert examples.source == "x.npy, labels from y.npy; pixels scaled to [-1, 1]"


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
@pytest.mark.parametrize("damage", ["garbage", "cut", "other"])
def test_damaged(tmp_path, name, damage):
    path, whole = tmp_path / name, tmp_path / f"whole{name}"
    np.save(whole, X) if name == "a.npy" else np.savez(whole, x=X)
    contents = {"garbage": bytes(range(256)), "cut": whole.read_bytes()[:-5], "other": b"a,b\n1,2"}
    path.write_bytes(contents[damage])
    with pytest.raises(ReadError, match=str(path)):
        load_examples(path)


def test_a_pickle_is_never_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([print]), allow_pickle=True)
    with pytest.raises(ReadError, match="allow_pickle"):
        load_examples(tmp_path / "a.npy")


def test_a_damaged_member(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.zeros((50, 50)))
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    with pytest.raises(ReadError, match="CRC"):
        load_examples(path)
