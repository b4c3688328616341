"""Tables from files: every form gives the same cells, names and groups, in every style of numbers."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

import acvb_core
from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources.values import find_style
from acvb_core.data.table import Table
from acvb_core.data.table_build import inspect_table, load_table
from tests.data.support import saved
from tests.loops import for_each

NAN = np.nan


def load(text, **options):
    return load_table(text.encode() if isinstance(text, str) else text, **options)


def check(loaded, values, columns=None, rows=None):
    np.testing.assert_array_equal(loaded.data.values, np.array(values, dtype=np.float64))
    if columns is not None:
        assert loaded.data.columns.tolist() == columns
    if rows is not None:
        assert loaded.data.rows.tolist() == rows


# Numbers


def test_numbers_are_read_to_the_last_bit():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 4_000, dtype=np.uint64).view(np.float64)
    bits = bits[np.isfinite(bits) & (np.abs(bits) < 1e100)]
    texts = [repr(float(number)) for number in bits]
    texts += [f"{number:+.{digits}E}" for number in rng.standard_normal(50) for digits in range(0, 25, 3)]
    texts += ["9007199254740993", "9007199254740992", "0.1", ".5", "5.", "1e22", "1e23", "123456789012345678"]
    texts += ["-0", "0.000000000000000000000000000001", "1" * 45, "0." + "3" * 60, "1e-400", "0e999", "00012"]
    loaded = load("a,b\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)))
    np.testing.assert_array_equal(loaded.data.values[:, 0], [float(text) for text in texts])


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
        ("x,2\ny,4\n", False),
        (',1960,1961\nA,2,"3"\nB,4,5\n', True),
        ("country,1960,1961,1962,1963\nA,2,3,4,4\nB,4,5,5,6\n", True),
        ("0,1,2,3\n5,6,6,1\n7,2,2,3\n", True),
        ("0,1,2,3\n4,5,6,7\n8,9,10,12\n", False),
        ("NA,2\n3,4\n5,6\n", False),
    ],
)
def test_headers_are_guessed(text, header):
    loaded = load(text)
    assert loaded.schema.header is header
    assert f"the first holds {'names' if header else 'data'}" in loaded.report.lines()[0]
    assert inspect_table(text.encode()) == loaded.schema


def test_a_first_column_of_texts_names_the_rows():
    loaded = load("city,rain\nBari,588\nOslo,763\n")
    check(loaded, [[588], [763]], ["rain"], ["Bari", "Oslo"])
    assert "Rows are named by the column 'city'." in loaded.report.lines()
    # So does a column of numbers under a blank heading (or "id"), as R and pandas write them.
    for corner in ('""', "", "id"):
        loaded = load(f"{corner},rain\n7,588\n3,763\n")
        check(loaded, [[588], [763]], ["rain"], ["7", "3"])
    loaded = load("city,rain\nBari,588\nBari,763\n", categories="leave-out")
    assert "Rows are numbered: some names in the column 'city' repeat." in loaded.report.lines()
    # Numbers under "id" that repeat are numbers.
    check(load("id,rain\n7,588\n3,763\n3,1\n"), [[7, 588], [3, 763], [3, 1]], ["id", "rain"])
    check(load("rain,city\n588,4\n763,04\n", row_labels=1), [[588], [763]], ["rain"], ["4", "04"])


# Categories, constants, what is left out


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


# Pictures


# Arrays and frames


def test_a_column_of_ids_names_the_rows() -> None:
    ids = list(range(1001, 1006))
    frame = pd.DataFrame({"customer_id": ids, "paid": [5.0, 4.0, 3.0, 2.0, 1.0], "age": [40, 30, 20, 50, 60]})
    for given in (frame, frame.set_index("customer_id"), frame.to_csv(index=False).encode()):
        table = load_table(given).data
        assert table.rows.tolist() == [str(one) for one in ids]
        assert table.columns.tolist() == ["paid", "age"]


CSV = (
    "who,a,b,on,kind,group\n"
    "Ann,1.25,,1,u,g1\n"
    "Bob,3,-0.007,0,,g2\n"
    "Cy,,2,1,v,g1\n"
    "Dee,4.5,0.1,,u,\n"
    "Eve,1e3,7,0,v,g2\n"
)
VALUES = np.array(
    [
        [1.25, NAN, 1, 1, 0],
        [3, -0.007, 0, NAN, NAN],
        [NAN, 2, 1, 0, 1],
        [4.5, 0.1, NAN, 1, 0],
        [1000, 7, 0, 0, 1],
    ]
)
ROWS = ["Ann", "Bob", "Cy", "Dee", "Eve"]
COLUMNS = ["a", "b", "on", "kind=u", "kind=v"]
LABELS = ["g1", "g2", "g1", "", "g2"]
#: The fingerprint of these cells, whatever they came in.
PRINT = Table.build(VALUES).fingerprint
RECORDS = pd.read_csv(io.StringIO(CSV)).astype(object).replace({NAN: None}).to_dict("records")
ARROW = pa.table(
    {
        "who": ROWS,
        "a": pa.array([1.25, 3, None, 4.5, 1000]),
        "b": pa.array([NAN, -0.007, 2, 0.1, 7]),
        "on": pa.array([True, False, True, None, False]),
        "kind": pa.array(["u", None, "v", "u", "v"]).dictionary_encode(),
        "group": ["g1", "g2", "g1", None, "g2"],
    }
)


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["notes"])
    sheet = book.create_sheet("numbers")
    sheet.append(list(RECORDS[0]))
    for record in RECORDS:
        sheet.append(list(record.values()))
    return saved(lambda out: book.save(out))


def database(folder: Path) -> Path:
    path = folder / "table.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE other (x)")
        pd.DataFrame(RECORDS).to_sql("people", base, index=False)
    base.close()
    return path


def pandas_frame(**types: Any) -> pd.DataFrame:
    frame = pd.read_csv(io.StringIO(CSV), dtype=types or None)
    return frame.set_index("who")


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "pandas with pandas' own types": lambda: pandas_frame().convert_dtypes(),
    "pandas with categories": lambda: pandas_frame(kind="category", group="category"),
    "pandas of objects": lambda: pd.DataFrame(RECORDS, dtype=object).replace({None: pd.NA}).set_index("who"),
    "polars": lambda: polars.from_arrow(ARROW),
    "pyarrow table": lambda: ARROW,
    "duckdb": lambda: duckdb.sql("SELECT * FROM ARROW"),
    "the dataframe protocol": lambda: SimpleNamespace(
        __dataframe__=lambda **_: ARROW.__dataframe__(), columns=ARROW.column_names
    ),
}

FILES: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "csv": (lambda _: CSV.encode(), {}),
    "semicolons and decimal commas": (lambda _: CSV.replace(",", ";").replace(".", ",").encode(), {}),
    "gzip": (lambda _: gzip.compress(CSV.encode("utf-16")), {}),
    "parquet": (lambda _: saved(lambda out: parquet.write_table(ARROW, out)), {}),
    "excel": (lambda _: workbook(), {"sheet": "numbers"}),
    "json lines": (lambda _: "".join(json.dumps(record) + "\n" for record in RECORDS).encode(), {}),
    "sqlite": (database, {"table": "people"}),
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "array": lambda: VALUES,
    "masked array": lambda: np.ma.masked_array(np.nan_to_num(VALUES, nan=9e9), np.isnan(VALUES)),
    "array of objects": lambda: np.where(np.isnan(VALUES), None, VALUES.astype(object)),
    "masked objects": lambda: np.ma.masked_array(VALUES.astype(object), np.isnan(VALUES)),
    "sparse array": lambda: sparse.csc_array(VALUES),
    "sparse npz": lambda: saved(sparse.save_npz, sparse.csr_array(VALUES)),
}


def check_mixed(table: Table, *, named: bool = True, labels: list[str] | None = LABELS) -> None:
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.fingerprint == PRINT
    if named:
        assert (table.rows.tolist(), table.columns.tolist()) == (ROWS, COLUMNS)
    assert labels is None or table.labels.tolist() == labels


@for_each("form", [*FRAMES, *FILES])
def test_a_table_of_mixed_columns(form: str, tmp_path: Path) -> None:
    make, options = FILES.get(form, (lambda _: FRAMES[form](), {}))
    loaded = load_table(make(tmp_path), categories="one-hot", label_column="group", **options)
    check_mixed(loaded.data)


@for_each("form", list(ARRAYS))
def test_a_table_of_numbers(form: str) -> None:
    check_mixed(load_table(ARRAYS[form]()).data, named=False, labels=None)


def test_an_archive_of_arrays_with_names() -> None:
    check_mixed(load_table(saved(np.savez, cells=VALUES, rows=ROWS, columns=COLUMNS, labels=LABELS)).data)


@for_each("cells", [VALUES, sparse.csr_array(VALUES), np.ma.masked_invalid(VALUES)])
def test_annotated_data(cells: Any) -> None:
    groups = pd.DataFrame({"group": pd.Categorical([label or None for label in LABELS])}, index=ROWS)
    data = SimpleNamespace(X=cells, obs=groups, obs_names=pd.Index(ROWS), var_names=pd.Index(COLUMNS))
    loaded = load_table(data, label_column="group")
    check_mixed(loaded.data)
    check_mixed(load_table(data).data, labels=None)
    for wrong, words in ((None, "has no X"), (sparse.csr_array((10**6, 10**6)), "1,000,000 x 1,000,000")):
        with pytest.raises(DataError, match=words):
            load_table(SimpleNamespace(**{**vars(data), "X": wrong}))


NUMBERS = pd.DataFrame(VALUES, index=ROWS, columns=COLUMNS)


@for_each("frame", [NUMBERS, NUMBERS.convert_dtypes(), NUMBERS.astype(object).where(NUMBERS.notna(), None)])
def test_a_frame_of_numbers_keeps_its_names(frame: pd.DataFrame) -> None:
    check_mixed(Table.build(frame), labels=None)
    check_mixed(Table.build(frame, labels=LABELS))
    check_mixed(acvb_core.fit(frame, "fab", max_sweeps=1).prepared.data, labels=None)


# Errors say the row and the name of the column


ODD = pd.DataFrame({"who": ["Ann", "Bob", "Cy"], "a": ["1", "2", "oops"], "b": ["4", "", "5"]})


@for_each(
    "given, place",
    [
        (ODD, "row 3"),
        (saved(ODD.to_parquet), "row 3"),
        (saved(lambda out: ODD.to_excel(out, index=False)), "row 4"),
        (ODD.to_json(orient="records", lines=True).encode(), "line 3"),
    ],
)
def test_an_error_names_the_row_and_the_column(given: Any, place: str) -> None:
    told = f"f, {place}, column 'a': there is text among the numbers of the column 'a'.*'oops'"
    with pytest.raises(DataError, match=told):
        load_table(given, filename="f")


@for_each("kind", ["times", "lists"])
def test_columns_that_are_no_numbers_can_be_left_out(kind: str) -> None:
    odd = {"times": pd.to_datetime(["2020-01-01", "2021-01-01", None]), "lists": [[1], [2], [3]]}[kind]
    frame = pd.DataFrame({"x": [1, 2, 4], "odd": odd})
    with pytest.raises(DataError, match=r"column 'odd': .*leave (it|them) out"):
        load_table(frame)
    assert load_table(frame, leave_out=["odd"]).data.columns.tolist() == ["x"]


#: Fields, the signs that they have without doubt, and the number that the first of them is.
STYLES = [
    (["1.234"], ".", "", 1.234),
    (["1,5", "2"], ",", "", 1.5),
    (["1.234", "1,5"], ",", ".", 1234),
    (["1.234,5"], ",", ".", 1234.5),
    (["1,234.5"], ".", ",", 1234.5),
    (["1,234", "0.5"], ".", ",", 1234),
    (["1 234,5"], ",", " ", 1234.5),
    (["1\u202f234.5"], ".", " ", 1234.5),
    (["1'234.5"], ".", "'", 1234.5),
    (["1\u2019234,5e2"], ",", "'", 123450),
    (["0,123", "NA"], ",", "", 0.123),
    (["1.5", "2,5"], ".", "", 1.5),
    (["1.5", "192.168.100.200", "10.0.0.1", "x"], ".", "", 1.5),
    (["12.05.2024", "13.05.2024"], ".", "", np.nan),
]


@for_each("fields, decimal, thousands, number", STYLES)
def test_the_signs_in_numbers_are_found(
    fields: list[str], decimal: str, thousands: str, number: float
) -> None:
    style = find_style([fields])
    assert style == (decimal, thousands)
    np.testing.assert_equal(style.number(fields[0]), number)
    cells = "".join(f"{i};{field};{i}\n" for i, field in enumerate(fields, start=1))
    if np.isnan(number) or any(np.isnan(style.number(field)) and field != "NA" for field in fields):
        return
    table = load_table(f"a;b;c\n{cells}9;;8\n8;1;7\n".encode()).data
    assert table.values[0, table.columns.tolist().index("b")] == number


def test_a_number_that_may_be_two_is_asked_about() -> None:
    assert find_style([["1,234", "2,500"]]) == (".", "")
    wanted = r"line 2, column {}: .*found '1,234'.*1.234 \(decimal=','\) or 1234 \(decimal='.'\)"
    for load, text, at in (
        (load_table, "a;b\n1,234;1\n2,500;2\n", 1),
        (load_relation, "a;b;w\nx;y;1,234\ny;z;2,500\n", 3),
        (load_corpus, "doc;word;count\nx;y;1,234\nx;z;2,500\n", 3),
    ):
        for data in (text.encode(), gzip.compress(text.encode())):
            with pytest.raises(DataError, match=wanted.format(at)):
                load(data)
            options = {"threshold": 0} if load is load_relation else {}
            assert load(data, decimal=".", **options).report.count("lines") == 3


def test_columns_that_contradict_each_other_are_read_plainly() -> None:
    """Codes with points are no numbers beside numbers with points."""
    text = "sku;price;n\n1.234.567;1.5;3\n1.234.568;2;4\n1.234.569;2.5;1\n"
    table = load_table(text.encode()).data
    assert table.rows.tolist() == ["1.234.567", "1.234.568", "1.234.569"]
    assert table.values[:, 0].tolist() == [1.5, 2, 2.5]
    with pytest.raises(
        DataError, match=r"column 'b' has an unexpected .*found '2,5'.* decimal comma \(decimal=','\)"
    ):
        load_table(b"a;b\n1.5;2,5\n2.5;3,5\n3.5;7\n")
    # What is no number in any style, or stands for a missing cell, says nothing of the others.
    cells = load_table(b"a;b\n1,5;1\n.;2\n2,5;4\n").data.values
    np.testing.assert_array_equal(cells, [[1.5, 1], [np.nan, 2], [2.5, 4]])
