"""Columns that are no text: data frames of any library, Parquet, Arrow, workbooks, JSON Lines, databases."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.estimate import estimate
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.sources import containers
from acvb_core.data.sources.containers import inspect_choices
from acvb_core.data.table_build import load_table
from tests.data.support import saved
from tests.loops import for_each

ROWS = {
    "person": ["Ann", "Bob", "Ann", "Cy"],
    "event": ["Fair", "Fair", "Ball", "Ball"],
    "n": [1, 0, 3, None],
}
TABLE = pd.DataFrame(ROWS)


def workbook(
    sheets: dict[str, pd.DataFrame], engine: str = "openpyxl", startrow: int = 0, hidden: Sequence[str] = ()
) -> bytes:
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine=engine) as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False, startrow=startrow)
        for name in hidden:
            writer.sheets[name].sheet_state = "hidden"
    return out.getvalue()


def database(path: Path, **tables: pd.DataFrame) -> Path:
    base = sqlite3.connect(path)
    for name, frame in tables.items():
        frame.to_sql(name, base, index=False)
    base.commit()
    base.close()
    return path


JSON_LINES = "".join(
    json.dumps({key: value for key, value in row.items() if value == value}) + "\n"
    for row in TABLE.to_dict("records")
).encode()
FORMS: dict[str, Any] = {
    "csv": TABLE.to_csv(index=False).encode(),
    "pandas": TABLE,
    "pandas with an index of its columns": TABLE.set_index(["person", "event"]),
    "polars": pl.DataFrame(ROWS),
    "pyarrow": pa.table(ROWS),
    "pyarrow with categories": pa.table(ROWS).set_column(
        0, "person", pa.array(ROWS["person"]).dictionary_encode()
    ),
    "duckdb": duckdb.from_arrow(pa.table(ROWS)),
    "Parquet": saved(TABLE.to_parquet),
    "Feather": saved(TABLE.to_feather),
    "Excel": workbook({"links": TABLE}),
    "Excel below a title row that is blank": workbook({"links": TABLE}, startrow=3),
    "OpenDocument": workbook({"links": TABLE}, engine="odf"),
    "JSON Lines with blank lines": JSON_LINES.replace(b"\n", b"\n\n"),
}


@for_each("form", FORMS.values())
def test_every_form_gives_the_same_relation(form: Any) -> None:
    expected = load_relation(FORMS["csv"], name="r", threshold=0).data
    found = load_relation(form, name="r", threshold=0).data
    assert found.fingerprint == expected.fingerprint
    assert found.row_labels.tolist() == expected.row_labels.tolist()
    assert found.column_labels.tolist() == expected.column_labels.tolist()
    assert found.row_kind == "person"


def test_a_database_is_read_by_table_or_query(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", links=TABLE, other=TABLE[:1])
    expected = load_relation(FORMS["csv"]).data.fingerprint
    assert load_relation(path, table="links", threshold=0).data.fingerprint == expected
    by_query = load_relation(path.read_bytes(), query="SELECT * FROM links", threshold=0)
    assert by_query.data.fingerprint == expected
    with pytest.raises(DataError, match="among 'links', 'other'"):
        load_relation(path)
    with pytest.raises(DataError, match="the database has no table of this name"):
        load_relation(path, table="x")
    with pytest.raises(ParameterError, match="not both"):
        load_relation(path, table="links", query="SELECT 1")


@for_each(
    "query",
    [
        "DELETE FROM links",
        "ATTACH 'other.db' AS o",
        "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a, a FROM n",
        "SELECT load_extension('x')",
    ],
)
def test_a_query_only_reads(tmp_path: Path, query: str) -> None:
    path = database(tmp_path / "a.db", links=TABLE)
    before = path.read_bytes()
    with pytest.raises(DataError, match="the query cannot be run"):
        load_relation(path, query=query)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.db"]


def test_a_query_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "QUERY_SECONDS", 0.05)
    path = database(tmp_path / "a.db", links=TABLE)
    joined = ", ".join(f"links {alias}" for alias in "abcdefghijklmnopqrst")
    query = f"SELECT DISTINCT a.person, a.event FROM {joined} WHERE a.person = 'Cy'"
    with pytest.raises(DataError, match="no further row within"):
        load_relation(path, query=query)


def test_a_sheet_is_chosen_and_others_are_reported() -> None:
    book = workbook({"notes": pd.DataFrame(), "links": TABLE, "more": TABLE[:1]})
    loaded = load_relation(book, threshold=0)
    assert "2 sheets with data; 'links' was read, 'more' not" in " ".join(loaded.report.lines())
    assert load_relation(book, sheet="more").data.n_ones == load_relation(book, sheet=2).data.n_ones == 1
    with pytest.raises(DataError, match="there is no sheet of this name") as caught:
        load_relation(book, sheet="x")
    assert "'notes', 'links', 'more'" in caught.value.remedy
    with pytest.raises(DataError, match=r"is empty|are empty"):
        load_relation(book, sheet="notes")


@for_each("engine", ["openpyxl", "odf"])
def test_the_visible_sheet_with_most_rows_is_read(engine: str) -> None:
    about = pd.DataFrame({"Read me": ["Who met whom.", "", "By Ann.", None]})
    numbers = pd.DataFrame({"height": [1.5, 2.0, 4.5, 5.0], "width": [2, 5, 9, 7], "depth": [1, 2, 2, 4]})
    book = workbook({"Read me": about, "links": TABLE, "same": TABLE[::-1]}, engine=engine)
    assert load_relation(book, threshold=0).data.shape == load_relation(TABLE, threshold=0).data.shape
    assert "'links' was read" in " ".join(load_relation(book, threshold=0).report.lines())
    assert inspect_choices(book).default == "links"
    book = workbook({"Read me": about, "numbers": numbers}, engine=engine)
    assert load_table(book).data.columns.tolist() == ["height", "width", "depth"]


def test_a_fault_of_json_lines_is_named() -> None:
    lines = b'{"a":"x","b":"y"}\n\n{"a":"x","b":}\n'
    with pytest.raises(DataError, match="no JSON") as caught:
        load_relation(lines, filename="data.jsonl")
    assert caught.value.line == 3
    late = b'{"a":"x","b":"y"}\n' * 10_001 + b'{"a":"x","b":"y","c":1}\n'
    with pytest.raises(DataError, match="'c' is not in the first") as caught:
        load_relation(late, filename="data.jsonl")
    assert caught.value.line == 10_002
    nested = b'{"a":{"name":"x"},"b":"y","when":[1,2]}\n' * 2
    assert inspect_source(nested, "data.jsonl").column_names == ("a.name", "b", "when")


@for_each(
    "content, kind",
    [
        (FORMS["Parquet"][:-40], "a Parquet file"),
        (FORMS["Feather"][:200], "an Arrow file"),
        (FORMS["Excel"][:900], "a damaged zip archive"),
        (b"SQLite format 3\x00" + bytes(900), "an SQLite database"),
    ],
)
def test_a_damaged_file_is_named(content: bytes, kind: str) -> None:
    with pytest.raises(DataError, match=f"this is {kind}") as caught:
        load_relation(content, filename="data")
    assert "again" in caught.value.remedy


TEXTS = pd.DataFrame(
    {
        "name": [f"d{i}" for i in range(40)],
        "text": [f'The cat of house {i} sat, and "slept";\nthe dog {i % 3} ran.' for i in range(39)] + [None],
        "group": ["a", "b"] * 20,
    }
)
COUNTS = pd.DataFrame({"document": list("aabcb"), "word": list("xyxzx"), "count": [1, 2, 3, 1, 1]})


def forms_of(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    frame.to_parquet(folder / "a.parquet")
    frame.to_feather(folder / "a.feather")
    frame.to_json(folder / "a.jsonl", orient="records", lines=True)
    (folder / "a.xlsx").write_bytes(workbook({"texts": frame}))
    (folder / "a.ods").write_bytes(workbook({"texts": frame}, engine="odf"))
    database(folder / "a.db", texts=frame)
    files = {path.suffix: path for path in sorted(folder.iterdir())}
    return {
        "csv": frame.to_csv(index=False).encode(),
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        **files,
    }


@for_each("frame, tokeniser", [(TEXTS, Tokeniser(min_documents=1, max_share=1.0)), (COUNTS, None)])
def test_every_form_gives_the_same_corpus_in_memory_and_on_disk(
    frame: pd.DataFrame, tokeniser: Tokeniser | None, tmp_path: Path
) -> None:
    (tmp_path / "forms").mkdir()
    forms = forms_of(frame, tmp_path / "forms")
    assert len(forms) == 9
    expected = load_corpus(forms["csv"], tokeniser=tokeniser).data
    for number, (form, source) in enumerate(forms.items()):
        found = load_corpus(source, tokeniser=tokeniser).data
        disk = read_to_disk(source, tmp_path / f"disk{number}", tokeniser=tokeniser).data
        assert found.fingerprint == expected.fingerprint, form
        assert found.documents.tolist() == expected.documents.tolist(), form
        assert found.vocabulary.tolist() == disk.vocabulary.tolist() == expected.vocabulary.tolist(), form
        assert (disk.n_documents, disk.n_tokens) == (expected.n_documents, expected.n_tokens), form
        if expected.labels is not None:
            assert found.labels is not None, form
            assert found.labels.tolist() == expected.labels.tolist(), form
        guess = estimate(source, tokeniser=tokeniser)
        assert (guess.documents, guess.words, guess.tokens) == (*expected.shape, expected.n_tokens), form


@for_each("written", [lambda frame: frame, pa.Table.from_pandas, lambda frame: saved(frame.to_parquet)])
def test_an_index_names_the_rows_unless_it_numbers_them(written: Callable[[pd.DataFrame], Any]) -> None:
    cells = pd.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1], "c": [1, 1, 0]})
    ids = pd.Index([0, 1, 2], name="id")
    for index in ([3, 2, 0], list("xyz"), ids, range(100, 103), pd.RangeIndex(6, 0, -2)):
        names = [str(one) for one in index]
        given = written(cells.set_axis(index))
        assert load_relation(given).data.row_labels.tolist() == names
        table = load_table(given)
        assert (table.data.rows.tolist(), table.data.columns.tolist()) == (names, ["a", "b", "c"])
    plain = written(cells.set_axis(pd.Index([0, 1, 2])))
    assert load_relation(plain).data.fingerprint == load_relation(cells).data.fingerprint
    assert load_table(plain).data.fingerprint == load_table(cells).data.fingerprint
    texts = pd.DataFrame({"text": ["the old river", "a bank", "the bank"]}, index=[3, 5, 9])
    found = load_corpus(written(texts), tokeniser=Tokeniser(min_documents=1, max_share=1.0))
    assert found.data.documents.tolist() == ["3", "5", "9"]


def test_metadata_that_pandas_did_not_write_are_passed_over() -> None:
    table = pa.table({"person": ["Ann", "Bob"], "event": ["Fair", "Ball"]})
    for about in (
        b"{",
        b"[]",
        b'{"index_columns": ["x"]}',
        b'{"index_columns": [{}]}',
        b'{"index_columns": [{"name": null, "start": 1, "step": 0}]}',
        b'{"index_columns": [{"name": null, "start": 99999999999999999999, "step": 1}]}',
        b'{"index_columns": [{"name": [1], "start": 0, "step": 1}]}',
    ):
        found = load_relation(table.replace_schema_metadata({b"pandas": about}))
        assert found.data.row_labels.tolist() == ["Ann", "Bob"]
