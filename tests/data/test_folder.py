import numpy as np
import pytest
from PIL import Image

from localelastic.data import Pixels, load_examples
from localelastic.errors import DataError, ReadError

GREY = np.array([[0, 51, 255], [1, 2, 3]], dtype=np.uint8)
RGB = np.stack([GREY, GREY + 1, GREY + 2], axis=2)


@pytest.fixture
def folder(tmp_path):
    """Saves images by path: an array, or bytes of any kind."""

    def save(**files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                image = content if isinstance(content, Image.Image) else Image.fromarray(content)
                image.save(path)
        return tmp_path

    return save


def test_one_folder_per_class(folder):
    path = folder(dog__1_png=GREY, cat__2_bmp=GREY + 1, cat__10_tiff=GREY)
    examples = load_examples(path, pixels=Pixels.RAW)
    assert examples.ids == ("cat/10.tiff", "cat/2.bmp", "dog/1.png")
    assert (examples.classes, examples.coarse) == (("cat", "cat", "dog"), None)
    assert examples.inputs[2].tolist() == [GREY.tolist()]
    assert examples.source == f"images in {path.name}; pixels scaled to [0, 255]"


def test_coarse_folders_hold_class_folders(folder):
    examples = load_examples(folder(animal__cat__1_png=GREY, plant__oak__1_png=GREY))
    assert (examples.coarse, examples.classes) == (("animal", "plant"), ("cat", "oak"))


def test_images_alone(folder, tmp_path_factory):
    path = folder(a_png=GREY, b_png=GREY)
    assert load_examples(path).classes is None
    labels = tmp_path_factory.mktemp("labels") / "y.txt"
    labels.write_text("cat\ndog")
    assert load_examples(path, labels=labels).classes == ("cat", "dog")


@pytest.mark.parametrize("ending", ["png", "bmp", "tiff", "webp", "gif", "jpg"])
def test_formats(folder, ending):
    flat = np.full((8, 8), 128, np.uint8)
    options = {"lossless": True} if ending == "webp" else {}
    path = folder()
    Image.fromarray(flat).save(path / f"a.{ending}", **options)
    inputs = load_examples(path, pixels=Pixels.RAW).inputs
    assert inputs.shape[2:] == (8, 8)
    assert (inputs == 128).all()


def test_colour_is_channel_first(folder):
    examples = load_examples(folder(a_png=RGB), pixels=Pixels.RAW)
    assert examples.inputs[0].tolist() == RGB.transpose(2, 0, 1).tolist()


def test_grey_beside_colour_becomes_colour(folder):
    examples = load_examples(folder(a_png=GREY, b_png=RGB), pixels=Pixels.RAW)
    assert examples.inputs[0].tolist() == [GREY.tolist()] * 3
    assert ", grey made RGB; " in examples.source


def test_other_modes_are_told(folder):
    opaque = np.dstack([RGB, np.full_like(GREY, 255)])
    path = folder(a_png=opaque, b_png=Image.fromarray(RGB).convert("P"), c_png=RGB)
    examples = load_examples(path, pixels=Pixels.RAW)
    assert examples.inputs[0].tolist() == RGB.transpose(2, 0, 1).tolist()
    assert "converted from other modes: 1 of mode RGBA, 1 of mode P; " in examples.source


def test_black_and_white(folder):
    examples = load_examples(folder(a_png=Image.fromarray(GREY > 2)), pixels=Pixels.RAW)
    assert examples.inputs[0].tolist() == [[[0, 255, 255], [0, 0, 255]]]


def test_a_photograph_held_upright(folder):
    image = Image.fromarray(GREY)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned clockwise
    path = folder()
    image.save(path / "a.png", exif=exif)
    inputs = load_examples(path, pixels=Pixels.RAW).inputs
    assert inputs[0, 0].tolist() == np.rot90(GREY, -1).tolist()


def test_image_size(folder):
    path = folder(a_png=np.full((4, 6), 9, np.uint8), b_png=np.full((2, 3), 9, np.uint8))
    examples = load_examples(path, image_size=(2, 3), pixels=Pixels.RAW)
    assert examples.inputs.tolist() == [[[[9] * 3] * 2]] * 2
    assert ", brought to 2 x 3; " in examples.source


def test_litter_is_passed_over(folder):
    path = folder(cat__1_png=GREY, dog__1_png=GREY, Thumbs_db=b"x", __MACOSX__a=b"x")
    (path / "cat" / ".DS_Store").write_bytes(b"x")
    (path / ".git").mkdir()
    assert load_examples(path).ids == ("cat/1.png", "dog/1.png")


def damaged(kind):
    from io import BytesIO

    file = BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 40), np.uint8)).save(file, kind)
    return file.getvalue()[:900]


TRANSPARENT = np.dstack([RGB, GREY])
FRAMES = [Image.fromarray(np.full((4, 4), v, np.uint8)) for v in (0, 99)]


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        ({}, ReadError, "empty folder"),
        ({"cat__1_png": GREY, "a_csv": b"x,y"}, ReadError, r"nothing but images .*a\.csv; move it"),
        ({"a_png": b"\x89PNG garbage"}, ReadError, r"nothing but images .*a\.png"),
        ({"a_png": damaged("png")}, ReadError, r"a\.png as an image"),
        ({"a_jpg": damaged("jpeg")}, ReadError, r"a\.jpg as an image .*truncated"),
        ({"cat__1_png": GREY, "2_png": GREY}, ReadError, r"equally deep.*2\.png beside cat/1\.png"),
        ({"a__b__c__1_png": GREY}, ReadError, "two folders deep, got the folder .*c"),
        ({"a__1_png": GREY, "b__2_png": GREY.T}, DataError, r"a/1.png \(2 x 3\) .*image_size"),
        ({"a_png": GREY.astype(np.uint16)}, ReadError, "8 bits per channel .*I;16"),
        ({"a_png": TRANSPARENT}, ReadError, "opaque image .*transparent"),
    ],
)
def test_refused(folder, files, error, words):
    with pytest.raises(error, match=words):
        load_examples(folder(**files))


def test_an_empty_class_folder(folder):
    path = folder(cat__1_png=GREY)
    (path / "dog").mkdir()
    with pytest.raises(ReadError, match=r"every class folder, got none in .*dog"):
        load_examples(path)


def test_a_photograph_with_its_preview_is_one_image(folder):
    path = folder()
    FRAMES[1].save(path / "a.mpo", save_all=True, append_images=FRAMES[:1])
    assert (load_examples(path, pixels=Pixels.RAW).inputs == 99).all()


def test_a_film_is_no_image(folder):
    path = folder()
    FRAMES[0].save(path / "a.gif", save_all=True, append_images=FRAMES[1:])
    with pytest.raises(ReadError, match=r"one image in .*a\.gif, got 2 frames"):
        load_examples(path)
