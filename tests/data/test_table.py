import gzip
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from localelastic.data import load_examples
from localelastic.errors import DataError, ReadError

ROWS = "name,a,b,kind,breed\nr1,1,2.5,cat,007\nr2,3,-1,dog,8\n"
NAMED = {"label_column": "kind", "fine_label_column": "breed", "id_column": "name"}


@pytest.fixture
def csv(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def check(examples):
    assert examples.inputs.tolist() == [[1, 2.5], [3, -1]]
    assert examples.inputs.dtype == torch.float32
    assert examples.ids == ("r1", "r2")
    assert (examples.coarse, examples.classes) == (("cat", "dog"), ("007", "8"))
    assert "2 columns, labels 'kind'; float64 values converted to float32" in examples.source


def test_csv_tsv_gzip_and_byte_order_mark(csv):
    check(load_examples(csv(ROWS), **NAMED))
    check(load_examples(csv(ROWS.replace(",", "\t"), "data.tsv"), **NAMED))
    check(load_examples(csv(gzip.compress(ROWS.encode()), "data.csv.gz"), **NAMED))
    check(load_examples(csv(b"\xef\xbb\xbf" + ROWS.encode()), **NAMED))


def test_parquet(tmp_path):
    columns = {"name": ["r1", "r2"], "a": [1, 3], "b": [2.5, -1.0]}
    columns |= {"kind": pa.array(["cat", "dog"]).dictionary_encode()}
    columns |= {"breed": pa.array(["007", "8"], pa.large_string())}
    parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    check(load_examples(tmp_path / "data.parquet", **NAMED))


def test_without_labels_every_column_is_a_feature(csv):
    examples = load_examples(csv("a,b\n1,2\n3,4\n"))
    assert examples.inputs.tolist() == [[1, 2], [3, 4]]
    assert (examples.ids, examples.classes) == (("0", "1"), None)


def test_columns_are_chosen_in_the_order_given(csv):
    path = csv(ROWS)
    assert load_examples(path, input_columns=["b", "a"]).inputs.tolist() == [[2.5, 1], [-1, 3]]
    assert load_examples(path, input_columns="b").inputs.tolist() == [[2.5], [-1]]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [("5 8", ("5", "8")), ("5.0 8.0", ("5", "8")), ("5.5 8", ("5.5", "8")), ("NA x", ("NA", "x"))],
)
def test_classes_are_called_as_in_the_data(csv, labels, classes):
    first, second = labels.split()
    path = csv(f"a,y\n1,{first}\n2,{second}\n")
    assert load_examples(path, label_column="y").classes == classes


def test_number_labels_of_parquet(tmp_path):
    table = pa.table({"a": [1, 2], "y": [5.0, 8.0]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert load_examples(tmp_path / "a.parquet", label_column="y").classes == ("5", "8")


def test_small_numbers_in_a_table_are_no_pixels(tmp_path):
    table = pa.table({"a": pa.array([0, 255], pa.uint8()), "b": [True, False]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert load_examples(tmp_path / "a.parquet").inputs.tolist() == [[0, 1], [255, 0]]


def test_rows_may_be_very_long(csv):
    path = csv("a,b\n" + f"1,2.{'0' * 2_200_000}\n" * 3)
    assert load_examples(path).inputs.tolist() == [[1, 2]] * 3


def test_counted_column_names_are_names(csv):
    assert load_examples(csv("0,1\n5,6\n")).inputs.tolist() == [[5, 6]]


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        (ROWS, {"label_column": "Kind"}, ReadError, "'Kind' .*columns name, a, b, kind, breed"),
        (ROWS, {"id_column": "id"}, ReadError, "a column 'id'"),
        (ROWS, {"input_columns": ["a", "z"]}, ReadError, "a column 'z'"),
        (ROWS, {"label_column": "breed"}, ReadError, r"'name', 'kind' \(2 of 4\); .*input_columns"),
        ("a,b\n1,2\n3,\n", {}, DataError, "1 missing in column 'b' .first: row 2"),
        ("a,b\n1,nan\n3,4\n", {}, DataError, "column 'b' .first: row 1"),
        ("a,b\n1,\n3,\n", {}, DataError, "2 missing in column 'b'"),
        ("a,y\n1,x\n3, \n", {"label_column": "y"}, DataError, "column 'y' .first: row 2"),
        ("a,y\n1,x\n3,x\n", {"id_column": "y"}, DataError, "unique ids, got 'x'"),
        ("a,b\n1,inf\n", {}, DataError, "NaN or infinity in 1 of 1"),
        ("a\n1e39\n", {}, DataError, r"fit float32, got 1e\+39"),
        ("a,b\n", {}, ReadError, "rows in .*columns a, b"),
        ("\n", {}, ReadError, "Empty CSV"),
        ("a,a\n1,2\n", {}, ReadError, "its own name, got .'a'"),
        ("a,b\n1\n", {}, ReadError, "Expected 2 columns, got 1"),
        ("1.5,2\n3,4\n", {}, ReadError, "only numbers .1.5, 2"),
        (",a\n0,5\n1,6\n", {}, ReadError, "row number in column ''"),
        ("y\nx\n", {"label_column": "y"}, ReadError, "expected feature columns"),
        (b"a,y\n1,caf\xe9\n", {"label_column": "y"}, ReadError, "UTF8"),
    ],
)
def test_refused(csv, text, options, error, words):
    path = csv(text)
    with pytest.raises(error, match=words) as caught:
        load_examples(path, **options)
    if error is ReadError:
        assert str(path) in str(caught.value)


def test_missing_cells_of_parquet(tmp_path):
    table = pa.table({"a": [1.0, np.nan], "b": [1, 2], "y": ["u", None]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"column 'a' .first: row 2"):
        load_examples(tmp_path / "a.parquet", input_columns="a")
    with pytest.raises(DataError, match=r"column 'y' .first: row 2"):
        load_examples(tmp_path / "a.parquet", label_column="y", input_columns="b")


def test_columns_that_hold_no_numbers(tmp_path):
    table = pa.table({"a": [1.0], "when": [date(2020, 1, 1)], "many": [[1, 2]]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"'when', 'many' .2 of 3"):
        load_examples(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.csv.gz"])
def test_garbage(csv, name):
    path = csv(np.random.default_rng(0).bytes(500), name)
    with pytest.raises(ReadError, match=str(path)):
        load_examples(path)


def test_gzip_cut_short(csv):
    path = csv(gzip.compress(ROWS.encode())[:-9], "a.csv.gz")
    with pytest.raises(ReadError, match="EOFError"):
        load_examples(path)
