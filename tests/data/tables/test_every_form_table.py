"""One table through every form it can have: the same cells, names and groups come out."""

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
from pyarrow import feather, parquet
from scipy import sparse

import acvb_core
from acvb_core.core.errors import DataError
from acvb_core.data.table import Table
from acvb_core.data.table_build import load_table
from tests.loops import for_each

NAN = np.nan
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


def saved(save: Callable[..., Any], *given: Any, **named: Any) -> bytes:
    out = io.BytesIO()
    save(out, *given, **named)
    return out.getvalue()


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
    "pandas with Arrow's types": lambda: pandas_frame().convert_dtypes(dtype_backend="pyarrow"),
    "pandas with categories": lambda: pandas_frame(kind="category", group="category"),
    "pandas of objects": lambda: pd.DataFrame(RECORDS, dtype=object).replace({None: pd.NA}).set_index("who"),
    "polars": lambda: polars.from_arrow(ARROW),
    "pyarrow table": lambda: ARROW,
    "pyarrow batch": lambda: ARROW.to_batches()[0],
    "pyarrow reader": lambda: ARROW.to_reader(),
    "duckdb": lambda: duckdb.sql("SELECT * FROM ARROW"),
    "the dataframe protocol": lambda: SimpleNamespace(
        __dataframe__=lambda **_: ARROW.__dataframe__(), columns=ARROW.column_names
    ),
}

FILES: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "csv": (lambda _: CSV.encode(), {}),
    "tsv": (lambda _: CSV.replace(",", "\t").encode(), {}),
    "semicolons and decimal commas": (lambda _: CSV.replace(",", ";").replace(".", ",").encode(), {}),
    "gzip": (lambda _: gzip.compress(CSV.encode("utf-16")), {}),
    "a text stream": (lambda _: io.StringIO(CSV), {}),
    "parquet": (lambda _: saved(lambda out: parquet.write_table(ARROW, out)), {}),
    "feather": (lambda _: saved(lambda out: feather.write_feather(ARROW, out)), {}),
    "excel": (lambda _: workbook(), {"sheet": "numbers"}),
    "json lines": (lambda _: "".join(json.dumps(record) + "\n" for record in RECORDS).encode(), {}),
    "sqlite": (database, {"table": "people"}),
    "a query": (database, {"query": "SELECT * FROM people WHERE who < 'Z'"}),
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "array": lambda: VALUES,
    "masked array": lambda: np.ma.masked_array(np.nan_to_num(VALUES, nan=9e9), np.isnan(VALUES)),
    "array of objects": lambda: np.where(np.isnan(VALUES), None, VALUES.astype(object)),
    "objects and NA": lambda: np.where(np.isnan(VALUES), pd.NA, VALUES.astype(object)),
    "masked objects": lambda: np.ma.masked_array(VALUES.astype(object), np.isnan(VALUES)),
    "sparse array": lambda: sparse.csc_array(VALUES),
    "sparse matrix": lambda: sparse.coo_matrix(VALUES),
    "npy": lambda: saved(np.save, VALUES),
    "sparse npz": lambda: saved(sparse.save_npz, sparse.csr_array(VALUES)),
}


def check(table: Table, *, named: bool = True, labels: list[str] | None = LABELS) -> None:
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.fingerprint == PRINT
    if named:
        assert (table.rows.tolist(), table.columns.tolist()) == (ROWS, COLUMNS)
    assert labels is None or table.labels.tolist() == labels


@for_each("form", [*FRAMES, *FILES])
def test_a_table_of_mixed_columns(form: str, tmp_path: Path) -> None:
    make, options = FILES.get(form, (lambda _: FRAMES[form](), {}))
    loaded = load_table(make(tmp_path), categories="one-hot", label_column="group", **options)
    check(loaded.data)


@for_each("form", list(ARRAYS))
def test_a_table_of_numbers(form: str) -> None:
    check(load_table(ARRAYS[form]()).data, named=False, labels=None)


def test_an_archive_of_arrays_with_names() -> None:
    check(load_table(saved(np.savez, cells=VALUES, rows=ROWS, columns=COLUMNS, labels=LABELS)).data)


@for_each("cells", [VALUES, sparse.csr_array(VALUES), np.ma.masked_invalid(VALUES)])
def test_annotated_data(cells: Any) -> None:
    groups = pd.DataFrame({"group": pd.Categorical([label or None for label in LABELS])}, index=ROWS)
    data = SimpleNamespace(X=cells, obs=groups, obs_names=pd.Index(ROWS), var_names=pd.Index(COLUMNS))
    loaded = load_table(data, label_column="group")
    check(loaded.data)
    check(load_table(data).data, labels=None)
    with pytest.raises(DataError, match="no column of this name"):
        load_table(data, label_column="batch")
    with pytest.raises(DataError, match="has no X"):
        load_table(SimpleNamespace(**{**vars(data), "X": None}))
    vast = sparse.csr_array((10**6, 10**6))
    with pytest.raises(DataError, match="1,000,000 x 1,000,000"):
        load_table(SimpleNamespace(**{**vars(data), "X": vast}))


NUMBERS = pd.DataFrame(VALUES, index=ROWS, columns=COLUMNS)


@for_each("frame", [NUMBERS, NUMBERS.convert_dtypes(), NUMBERS.astype(object).where(NUMBERS.notna(), None)])
def test_a_frame_of_numbers_keeps_its_names(frame: pd.DataFrame) -> None:
    check(Table.build(frame), labels=None)
    check(Table.build(frame, labels=LABELS))
    assert Table.build(frame, rows=list("vwxyz")).rows.tolist() == list("vwxyz")
    assert Table.build(frame.reset_index(drop=True)).rows.tolist() == list("01234")
    check(acvb_core.fit(frame, "fab", max_sweeps=1).prepared.data, labels=None)
    check(acvb_core.compare(frame, ["fab"], max_sweeps=1).results[0].prepared.data, labels=None)


def test_frames_of_other_libraries_keep_their_names() -> None:
    for frame in (polars.from_pandas(NUMBERS), pa.Table.from_pandas(NUMBERS, preserve_index=False)):
        table = Table.build(frame, rows=ROWS)
        check(table, labels=None)
    with pytest.raises(DataError, match=r"column 'kind': there are values of the type .*load_table"):
        Table.build(ARROW.select(["a", "kind"]))


# Errors say the row and the name of the column


@for_each("form", ["pandas", "polars", "parquet", "excel", "json lines"])
def test_a_fault_is_told_with_its_row_and_column(form: str) -> None:
    columns = {"who": ["Ann", "Bob", "Cy"], "a": ["1", "2", "oops"], "b": ["4", "", "5"]}
    frame = pd.DataFrame(columns)
    book = io.BytesIO()
    frame.to_excel(book, index=False)
    forms = {
        "pandas": (frame, "row 3"),
        "polars": (polars.from_pandas(frame), "row 3"),
        "parquet": (saved(lambda out: parquet.write_table(pa.table(columns), out)), "row 3"),
        "excel": (book.getvalue(), "row 4"),
        "json lines": (frame.to_json(orient="records", lines=True).encode(), "line 3"),
    }
    given, place = forms[form]
    with pytest.raises(DataError) as caught:
        load_table(given, filename="f")
    told = str(caught.value)
    assert told.startswith(f"f, {place}, column 'a': there is text among the numbers of the column 'a'")
    assert "'oops'" in told


@for_each("kind", ["times", "lists"])
def test_columns_that_are_no_numbers_can_be_left_out(kind: str) -> None:
    odd = {"times": pd.to_datetime(["2020-01-01", "2021-01-01", None]), "lists": [[1], [2], [3]]}[kind]
    frame = pd.DataFrame({"x": [1, 2, 4], "odd": odd})
    with pytest.raises(DataError, match=r"column 'odd': .*leave (it|them) out"):
        load_table(frame)
    assert load_table(frame, leave_out=["odd"]).data.columns.tolist() == ["x"]
    if kind == "times":
        assert load_table(frame, categories="leave-out").data.metadata["odd"].dtype == "datetime64[D]"
        assert load_table(frame, label_column="odd").data.labels.tolist()[2] == ""


def test_numbers_keep_every_bit_and_signs_for_missing_hold() -> None:
    values = [0.1, -99, 1 / 3, 123456789.12345679]
    for form in (pa.float64(), pa.float32()):
        column = pa.array(values, form)
        loaded = load_table(pa.table({"x": column, "y": ["1", "-99", "-99.0", "4"]}), missing=["-99"])
        wanted = column.to_numpy().astype(np.float64)
        wanted[1] = NAN
        np.testing.assert_array_equal(loaded.data.values[:, 0], wanted)
        np.testing.assert_array_equal(loaded.data.values[:, 1], [1, NAN, NAN, 4])


def test_values_of_pandas_that_arrow_has_no_text_for_are_categories() -> None:
    frame = pd.DataFrame({"x": [1, 2, 4], "age": pd.cut([1, 5, 9], [0, 4, 10])})
    table = load_table(frame, categories="one-hot").data
    assert table.columns.tolist() == ["x", "age=(0, 4]", "age=(4, 10]"]
    years = pd.DataFrame({"x": [1, 2], "year": pd.period_range("2020", "2021", freq="Y")})
    assert load_table(years).data.values.tolist() == [[1, 2020], [2, 2021]]


@for_each("index", [None, [5, 3], pd.to_datetime(["2020-01-01", "2021-01-01"])])
def test_a_square_frame_without_names_has_no_further_column(index: Any) -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]], index=index)
    for table in (load_table(frame).data, Table.build(frame)):
        assert (table.columns.tolist(), table.values.tolist()) == (["0", "1"], [[1, 2], [3, 4]])
        assert table.rows.tolist() == [str(row) for row in frame.index]
