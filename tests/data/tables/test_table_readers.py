"""Every way a table of numbers comes in, and what the report says of it."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.table import Table
from acvb_core.data.table_build import inspect_table, load_table
from tests.loops import for_each

NAN = np.nan


def load(text, **options):
    return load_table(text.encode() if isinstance(text, str) else text, **options)


def saved(save, *arrays, **named):
    out = io.BytesIO()
    save(out, *arrays, **named)
    return out.getvalue()


def check(loaded, values, columns=None, rows=None):
    np.testing.assert_array_equal(loaded.data.values, np.array(values, dtype=np.float64))
    if columns is not None:
        assert loaded.data.columns.tolist() == columns
    if rows is not None:
        assert loaded.data.rows.tolist() == rows


def test_a_plain_table():
    loaded = load("a,b\n1,2\n3,NA\n4,-5e-1\n", name="plain")
    check(loaded, [[1, 2], [3, NAN], [4, -0.5]], ["a", "b"], ["0", "1", "2"])
    assert (loaded.data.name, loaded.data.standardise, loaded.data.labels) == ("plain", True, None)
    assert loaded.report.lines() == [
        "Read 4 lines; the first holds names.",
        "3 rows.",
        "2 columns of numbers.",
        "1 cell missing (16.7 %).",
    ]
    assert loaded.schema.to_dict()["column_names"] == ["a", "b"]


@for_each("delimiter", [",", "\t", ";", "|"])
def test_delimiters_are_guessed(delimiter):
    text = "city,rain,sun\nBari,588,2459\nOslo,,1668\nRome,799,2473\n".replace(",", delimiter)
    rows = ["Bari", "Oslo", "Rome"]
    check(load(text), [[588, 2459], [NAN, 1668], [799, 2473]], ["rain", "sun"], rows)


def test_spaces_between_numbers_are_a_delimiter():
    check(load("1  2 3\n4 5   6\n"), [[1, 2, 3], [4, 5, 6]], ["x1", "x2", "x3"])


@for_each("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_and_gzip(encoding):
    data = gzip.compress("Straße,Höhe\n1,2\n3,4\n".encode(encoding))
    told = {"encoding": encoding} if encoding == "cp1252" else {}
    loaded = load_table(io.BytesIO(data), filename="streets.csv.gz", **told)
    check(loaded, [[1, 2], [3, 4]], ["Straße", "Höhe"])
    assert (loaded.data.name, loaded.schema.gzipped) == ("streets", True)


# Numbers


def test_numbers_are_read_to_the_last_bit():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 4_000, dtype=np.uint64).view(np.float64)
    bits = bits[np.isfinite(bits) & (np.abs(bits) < 1e100)]
    texts = [repr(float(number)) for number in bits]
    texts += [
        f"{number:.{digits}f}" for number in rng.standard_normal(50) * 1e4 for digits in range(0, 25, 3)
    ]
    texts += [f"{number:+.{digits}E}" for number in rng.standard_normal(50) for digits in range(0, 25, 3)]
    texts += ["9007199254740993", "9007199254740992", "0.1", ".5", "5.", "1e22", "1e23", "123456789012345678"]
    texts += ["-0", "0.000000000000000000000000000001", "1" * 45, "0." + "3" * 60, "1e-400", "0e999", "00012"]
    loaded = load("a,b\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)))
    np.testing.assert_array_equal(loaded.data.values[:, 0], [float(text) for text in texts])


@for_each("block", [1, 7, 64, 1 << 19])
def test_blocks_do_not_show(block):
    text = "name,a,b\n" + "".join(f'"r, {i}",{i / 7!r},{"NA" if i % 5 == 0 else i}\n' for i in range(40))
    loaded = load(text, block_bytes=block)
    check(
        loaded,
        [[i / 7, NAN if i % 5 == 0 else i] for i in range(40)],
        ["a", "b"],
        [f"r, {i}" for i in range(40)],
    )


def test_decimal_commas():
    text = "name;a;b\nA;1,5;2\nB;-2,25e1;-\n;;\nC;3;1\n"
    loaded = load(text, row_labels=False, leave_out=["name"])
    check(loaded, [[1.5, 2], [-22.5, NAN], [NAN, NAN], [3, 1]], ["a", "b"])
    assert "comma" in " ".join(loaded.report.lines())
    # With 17 digits, too.
    check(load("a;b\n0,12345678901234567;1\n0,5;2\n"), [[0.12345678901234567, 1], [0.5, 2]])
    # A number with a point says that commas are no decimal signs.
    with pytest.raises(DataError, match=r"line 3, column 1: .* decimal or .*found '2,5'.*decimal=','"):
        load("a;b\n1.5;2\n2,5;3\n")
    check(load("a;b\n1,5;2\n3;3\n", decimal=","), [[1.5, 2], [3, 3]])


@for_each("sign", ["", "NA", "n/a", "NaN", "?", "null", "-", "None", "."])
def test_signs_for_missing_cells(sign):
    check(load(f"a,b\n1,2\n{sign},3\n4,{sign}\n"), [[1, 2], [NAN, 3], [4, NAN]])


def test_further_signs_for_missing_cells():
    text = "a,b,g\n1,2,x\n-99,3,unknown\n-99.0,refused,x\n4,5,y\n"
    loaded = load(text, missing=["-99", "Refused", "unknown"], label_column="g")
    check(loaded, [[1, 2], [NAN, 3], [NAN, NAN], [4, 5]])
    assert loaded.data.labels.tolist() == ["x", "", "x", "y"]
    assert loaded.report.lines()[1:] == [
        "2 known groups of rows in the column 'g' (1 row without).",
        "4 rows.",
        "2 columns of numbers.",
        "3 cells missing (37.5 %).",
        "1 row without any known cell: kept ('2').",
    ]


# Header, names of rows, groups


@for_each(
    "text, header",
    [
        ("a,b\n1,2\n3,4\n", True),
        ("1,2\n3,4\n", False),
        ("a,b\nx,2\ny,4\n", True),
        ("x,2\ny,4\n", False),
        (',1960,1961\nA,2,"3"\nB,4,5\n', True),
        ("country,1960,1961,1962,1963\nA,2,3,4,4\nB,4,5,5,6\n", True),
        ("0,1,2,3\n5,6,6,1\n7,2,2,3\n", True),
        ("0,1,2\n5,6,6\n7,2,2\n", False),
        ("0,1,2,3\n4,5,6,7\n8,9,10,12\n", False),
        ("NA,2\n3,4\n5,6\n", False),
    ],
)
def test_headers_are_guessed(text, header):
    loaded = load(text)
    assert loaded.schema.header is header
    assert f"the first holds {'names' if header else 'data'}" in loaded.report.lines()[0]
    assert inspect_table(text.encode()) == loaded.schema


def test_headers_are_as_they_are_told():
    check(load("1,2\n3,4\n5,7\n", header=True), [[3, 4], [5, 7]], ["1", "2"])
    check(load("2020,2021\n3,4\n5,7\n", header=False), [[2020, 2021], [3, 4], [5, 7]], ["x1", "x2"])
    check(load("2020,2021\n3,4\n5,7\n", header="auto"), [[2020, 2021], [3, 4], [5, 7]])


def test_a_first_column_of_texts_names_the_rows():
    loaded = load("city,rain\nBari,588\nOslo,763\n")
    check(loaded, [[588], [763]], ["rain"], ["Bari", "Oslo"])
    assert "Rows are named by the column 'city'." in loaded.report.lines()
    # So does a column of numbers under a blank heading (or "id"), as R and pandas write them.
    for corner in ('""', "", "id"):
        loaded = load(f"{corner},rain\n7,588\n3,763\n")
        check(loaded, [[588], [763]], ["rain"], ["7", "3"])
    assert "Rows are named by column 1." in load(",rain\n7,588\n3,763\n").report.lines()
    # Numbers under "id" that repeat are numbers.
    check(load("id,rain\n7,588\n3,763\n3,1\n"), [[7, 588], [3, 763], [3, 1]], ["id", "rain"])
    # Nor do further columns name rows unless they are asked to.
    check(
        load("rain,city\n588,Bari\n763,Oslo\n", row_labels="city"), [[588], [763]], ["rain"], ["Bari", "Oslo"]
    )
    check(load("rain,city\n588,4\n763,04\n", row_labels=1), [[588], [763]], ["rain"], ["4", "04"])


# Categories, constants, what is left out


SPECIES = "species,mass,sex\nA,3,f\nB,4,\nA,5,m\n"


def test_categories_are_coded():
    loaded = load(SPECIES, categories="one-hot")
    columns = ["species=A", "species=B", "mass", "sex=f", "sex=m"]
    check(loaded, [[1, 0, 3, 1, 0], [0, 1, 4, NAN, NAN], [1, 0, 5, 0, 1]], columns)
    assert loaded.report.count("one_hot") == 4
    assert "The column 'sex' was coded as 2 columns of 0 and 1: 'sex=f', 'sex=m'." in loaded.report.lines()


def test_numbers_can_be_categories():
    loaded = load("kind,x\n1,5\n2,6\n?,7\n1,7\n", category_columns=["kind"], categories="one-hot")
    check(loaded, [[1, 0, 5], [0, 1, 6], [NAN, NAN, 7], [1, 0, 7]], ["kind=1", "kind=2", "x"])
    with pytest.raises(DataError, match="column of text among the columns of numbers: 'kind'"):
        load("kind,x\n1,5\n2,6\n", category_columns="kind")


def test_yes_and_no_are_numbers():
    loaded = load("x,smokes\n1,yes\n2,No\n3,\n4,TRUE\n")
    check(loaded, [[1, 1], [2, 0], [3, NAN], [4, 1]])
    assert "The column 'smokes' says yes (1) or no (0)." in loaded.report.lines()


def test_texts_below_a_long_blank_start():
    """A column whose head is blank turns out to be text, or numbers, later on."""
    lines = "".join(f"{i},,\n" for i in range(200))
    text = f"x,kind,y\n{lines}1,a,3\n2,b,4\n"
    loaded = load(text, categories="one-hot", block_bytes=256)
    assert loaded.data.columns.tolist() == ["x", "kind=a", "kind=b", "y"]
    np.testing.assert_array_equal(loaded.data.values[-2:], [[1, 1, 0, 3], [2, 0, 1, 4]])
    assert loaded.data.n_missing == 600
    loaded = load(f"x,y\n{lines.replace(',,', ',')}1,-99\n2,-99.0\n3,4\n5,-1\n", missing="-99")
    np.testing.assert_array_equal(loaded.data.values[-4:, 1], [NAN, NAN, 4, -1])


def test_constants_are_left_out():
    loaded = load("a,b,c\n1,5,\n2,5,\n3,,\n", constants="leave-out")
    check(loaded, [[1], [2], [3]], ["a"])
    assert "2 columns without two different values: left out ('b', 'c')." in loaded.report.lines()


def test_a_delimiter_at_the_end_of_every_line():
    loaded = load("a,b,\n1,2,\n3,4,\n")
    check(loaded, [[1, 2], [3, 4]], ["a", "b"])
    assert "1 column without a name and without a value: left out." in loaded.report.lines()


# Pictures


@for_each("size", ["2x2", (2, 2), "2 × 2"])
def test_pictures(size):
    loaded = load("name,a,b,c,d\nu,1,0,7,4\nv,2,0,7,5\n", image=size, constants="leave-out")
    check(loaded, [[1, 4], [2, 5]], ["a", "d"], ["u", "v"])
    image = loaded.data.image
    assert (image.height, image.width, image.pixels.tolist()) == (2, 2, [0, 3])
    assert image.picture(loaded.data.values[1]).tolist() == [[2, 0], [7, 5]]


# Arrays and frames


def test_numpy_files(tmp_path):
    values = np.array([[1.0, NAN], [3.0, 4.0], [3.0, 5.0]])
    check(load(saved(np.save, values)), values, ["x1", "x2"])
    check(load(gzip.compress(saved(np.save, values.astype(np.float32)))), values)
    np.save(tmp_path / "cells.npy", np.array([[1, 2], [3, 4]], dtype=np.uint8, order="F"))
    loaded = load_table(tmp_path / "cells.npy")
    check(loaded, [[1, 2], [3, 4]])
    assert (loaded.data.name, loaded.schema.format) == ("cells", "npy")
    data = saved(
        np.savez_compressed, cells=values, rows=["a", "b", "c"], columns=["u", "v"], labels=[1, 2, 1]
    )
    loaded = load(data)
    check(loaded, values, ["u", "v"], ["a", "b", "c"])
    assert loaded.data.labels.tolist() == ["1", "2", "1"]
    assert loaded.schema.format == "npz"
    check(load(data, leave_out="v"), values[:, :1], ["u"])


def test_pictures_in_an_array():
    pictures = np.arange(24.0).reshape(3, 2, 4)
    pictures[:, 0, 1] = 9.0
    loaded = load(saved(np.savez, pictures), constants="leave-out")
    assert loaded.data.columns.tolist() == ["r1c1", "r1c3", "r1c4", "r2c1", "r2c2", "r2c3", "r2c4"]
    np.testing.assert_array_equal(loaded.data.image.picture(loaded.data.values[2]), pictures[2])
    assert "pictures of 2 x 4 pixels" in loaded.report.lines()[0]


def test_a_signalling_nan_is_a_missing_cell() -> None:
    """A warning would fail this test."""
    cells = np.array([[1, 2], [0x7FA00000, 4], [5, 6]], dtype=np.uint32)
    cells[cells < 7] = cells[cells < 7].astype(np.float32).view(np.uint32)
    table = Table.build(cells.view(np.float32))
    np.testing.assert_array_equal(np.isnan(table.values), [[False, False], [True, False], [False, False]])


def test_a_column_of_ids_names_the_rows() -> None:
    ids = list(range(1001, 1006))
    frame = pd.DataFrame({"customer_id": ids, "paid": [5.0, 4.0, 3.0, 2.0, 1.0], "age": [40, 30, 20, 50, 60]})
    for given in (frame, frame.set_index("customer_id"), frame.to_csv(index=False).encode()):
        table = load_table(given).data
        assert table.rows.tolist() == [str(one) for one in ids]
        assert table.columns.tolist() == ["paid", "age"]
    paid = frame.drop(columns="customer_id")
    assert load_table(paid).data.columns.tolist() == ["paid", "age"], (
        "whole numbers that end a name in id by chance"
    )
