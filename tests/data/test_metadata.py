"""Columns beside the data keep their types everywhere; names that no file could contain are mended."""

from __future__ import annotations

import io
import json
import resource
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.core.errors import AcvbError, DataError, ParameterError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.metadata import kind_of_column, type_column
from acvb_core.data.corpora.readers import load_corpus, read_texts
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.names import kind_of, string_values, typed_column, typed_values
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.data.table_build import load_table
from acvb_core.engine.fitting import fit
from acvb_core.store.codecs import CORPORA, TABLES
from acvb_core.store.export import write_run
from tests.data.support import EVERYTHING
from tests.loops import for_each

TABLE = b"""id,date,text,section,stars,pages,seen,code
a,2024-01-31,the river bank,news,4.5,3,2024-01-31 10:00,007
b,2024-02-29,the money bank,sport,,12,2024-02-29T23:59:59,1
c,,river and money,news,-1e3,0,,2
d,2023-12-01,"a bank, a river",sport,2,-7,2023-12-01,x
"""
WANTED = {
    "date": np.array(["2024-01-31", "2024-02-29", "NaT", "2023-12-01"], dtype="datetime64[D]"),
    "stars": np.array([4.5, np.nan, -1000.0, 2.0]),
    "pages": np.array([3, 12, 0, -7]),
    "seen": np.array(
        ["2024-01-31T10:00", "2024-02-29T23:59:59", "NaT", "2023-12-01"], dtype="datetime64[us]"
    ),
    "code": np.array(["007", "1", "2", "x"], dtype=object),
}
OPTIONS = {"filename": "talks.csv", "tokeniser": EVERYTHING, "label_column": "section"}


def assert_metadata(found, wanted=WANTED, chosen=slice(None)) -> None:
    assert list(found) == list(wanted)
    for name, column in wanted.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column[chosen])


@pytest.fixture
def corpus() -> Corpus:
    return load_corpus(TABLE, **OPTIONS).data


@for_each(
    "values, dtype",
    [
        (["1", "-2", " +3 "], "int64"),
        (["1", "", "3"], "float64"),
        (["1", "2.5", ".5", "1e-3"], "float64"),
        (["2024-02-29", "2024/03/01", ""], "datetime64[D]"),
        (["2024-02-29 10:00", "2024-02-29"], "datetime64[us]"),
        (["2024-02-29T10:00:01.25Z"], "datetime64[us]"),
        (["2024-02-30"], "object"),
        (["007", "1"], "object"),
        (["12345678901234567890"], "object"),
        (["1", "two"], "object"),
        (["NA", "2024-01-01"], "datetime64[D]"),
        (["2024-01-01 00:00:00.000000000", "2024-01-02T00:00Z"], "datetime64[D]"),
        (["", ""], "object"),
    ],
)
def test_strings_get_the_type_of_their_values(values, dtype):
    assert typed_column(values).dtype == np.dtype(dtype)


DATES = st.datetimes().map(lambda date: np.datetime64(date, "us"))
COLUMNS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda values: np.array(values, dtype=np.int64)),
    st.lists(st.floats(width=64)).map(lambda values: np.array(values, dtype=np.float64)),
    st.lists(DATES).map(lambda values: np.array(values, dtype="datetime64[us]")),
    st.lists(st.dates()).map(lambda values: np.array(values, dtype="datetime64[D]")),
    st.lists(st.text()).map(lambda values: np.array([*values, None], dtype=object)[:-1]),
)


@given(COLUMNS)
def test_typed_values_come_back_from_strings(column):
    found = typed_values(string_values(column), kind_of(column))
    assert found.dtype == column.dtype
    np.testing.assert_array_equal(found, column)


def test_further_columns_are_kept(corpus):
    loaded = load_corpus(TABLE, **OPTIONS)
    assert_metadata(loaded.data.metadata)
    assert loaded.data.labels.tolist() == ["news", "sport", "news", "sport"]
    assert loaded.data.label_name == "section"
    assert CORPORA.decode(CORPORA.encode(loaded.data)).label_name == "section"
    told = "5 other columns are kept: date (date), stars (number), pages (number), seen (date), code (text)."
    assert told in loaded.report.lines()
    assert_metadata(read_texts(TABLE, filename="talks.csv", label_column="section").metadata)


@for_each(
    "values, dates",
    [
        (["03.04.2023", "1.2.23"], ["2023-04-03", "2023-02-01"]),
        (["03/04/2023", "25/12/1999"], ["2023-04-03", "1999-12-25"]),
        (["03/04/2023", "12/25/1999", ""], ["2023-03-04", "1999-12-25", "NaT"]),
        (["12/25/1999 1:05 PM", "1/2/2000 12:30 am"], ["1999-12-25T13:05", "2000-01-02T00:30"]),
        (["2023-04-03 10:00:00+02:00"], ["2023-04-03T10:00"]),
        (["2023-04", "2023-12"], ["2023-04-01", "2023-12-01"]),
        (["2023 Q1", "2023-Q4"], ["2023-01-01", "2023-10-01"]),
        (["Apr 3, 2023", "March 2023", "3 May 2023"], ["2023-04-03", "2023-03-01", "2023-05-03"]),
        (["Mon, 3 Apr 2023 10:00:00 +0000"], ["2023-04-03T10:00:00"]),
        ([*["2023-04-03"] * 9, "soon"], [*["2023-04-03"] * 9, "NaT"]),
        (["1.2", "3.4"], None),
        (["12-34-56", "78-90-12"], None),
        (["2023-04-03", "soon"], None),
        (["May be", "3 men 2023"], None),
    ],
)
def test_dates_are_recognised_in_many_forms(values, dates):
    found = type_column("when", values).values
    if dates is None:
        assert found.dtype.kind != "M"
    else:
        np.testing.assert_array_equal(found, np.array(dates, dtype=found.dtype))


TICKETS = "text,when,year,stars,city,code\n" + "".join(
    f"the river bank number {'abcde'[i % 5]},{i % 12 + 1}/{i % 5 + 20}/2023,{2000 + i % 7},{i % 3},c{i},7\n"
    for i in range(60)
).replace("1/20/2023", "soon", 1)


def test_kinds_are_recognised_and_can_be_chosen(tmp_path):
    options = {"filename": "tickets.csv", "text": "text", "label_column": False, "name_column": False}
    options |= {"tokeniser": EVERYTHING}
    chosen = {"stars": "group", "city": "none", "code": "date", "year": "date"}
    source = TICKETS.replace(",7\n", ",20230405\n").encode()
    for at, (kinds, expected, unread) in enumerate(
        [
            (None, ["date", "number", "number", "text", "number"], 1),
            (chosen, ["date", "date", "group", "date"], 1),
            (["when=text", "city=group"], ["text", "number", "number", "text", "number"], 0),
        ]
    ):
        loaded = load_corpus(source, column_kinds=kinds, **options)
        found = {name: kind_of_column(column) for name, column in loaded.data.metadata.items()}
        assert list(found.values()) == expected
        assert loaded.report.count("unread_dates") == unread
        assert loaded.report.count("no_groups") == expected.count("text")
        disk = read_to_disk(source, tmp_path / str(at), column_kinds=kinds, **options)
        assert disk.report.to_dict() == loaded.report.to_dict()
        assert_metadata(disk.data.in_memory().metadata, loaded.data.metadata)
        assert disk.data.fingerprint == loaded.data.fingerprint
    told = "1 value of the column 'when' is no date: taken as missing ('soon')."
    assert told in load_corpus(source, **options).report.lines()


@for_each("first", ["2023-01-{day:02}T10:{minute:02}", "{day}.1.2023", "2023-{month:02}"])
def test_dates_name_and_group_no_documents(first):
    days = [first.format(day=i % 28 + 1, minute=i, month=i % 9 + 1) for i in range(40)]
    rows = [f"{day},the river bank number {'abc'[i % 3]},{'xy'[i % 2]}" for i, day in enumerate(days)]
    source = "\n".join(["when,text,product", *rows]).encode()
    loaded = load_corpus(source, filename="t.csv", tokeniser=EVERYTHING)
    assert kind_of_column(loaded.data.metadata["when"]) == "date"
    assert (loaded.data.label_name, loaded.data.documents[0]) == ("product", "1")


@for_each(
    "kinds, told",
    [
        ({"nothing": "date"}, "no further column has this name"),
        ({"city": "date"}, "no value of the column 'city' is a date"),
        ({"city": "number"}, "no value of the column 'city' is a number"),
        ({"city": "day"}, "'day' is no kind of a column"),
        (["city"], "write it as created=date"),
    ],
)
def test_impossible_kinds_are_refused(kinds, told):
    with pytest.raises(AcvbError, match=told):
        load_corpus(TICKETS.encode(), filename="tickets.csv", text="text", column_kinds=kinds)


@for_each("batch", [2, 5000])
def test_they_are_kept_on_disk(tmp_path, monkeypatch, corpus, batch):
    monkeypatch.setattr("acvb_core.data.corpora.build._BATCH_TEXTS", batch)
    loaded = read_to_disk(TABLE, tmp_path / "c", **OPTIONS)
    assert loaded.report.to_dict() == load_corpus(TABLE, **OPTIONS).report.to_dict()
    disk = DiskCorpus.open(tmp_path / "c")
    assert_metadata(disk.in_memory().metadata)
    assert disk.in_memory().labels.tolist() == corpus.labels.tolist()
    assert disk.in_memory().label_name == "section"
    assert_metadata(disk.documents([3, 0]).metadata, chosen=[3, 0])
    left = disk.without([1])
    assert left.column("code").tolist() == ["007", "2", "x"]
    with pytest.raises(ParameterError, match="no column 'when'; its columns are: 'date'"):
        disk.column("when")


def test_more_columns_than_files_can_be_open_are_kept_on_disk(tmp_path):
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    names = [f"c{i}" for i in range(300)]
    lines = [["text", *names], ["the river", *["1"] * 300], ["river bank", *["2"] * 300]]
    source = "".join(",".join(line) + "\n" for line in lines).encode()
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        disk = read_to_disk(source, tmp_path / "c", format="table", tokeniser=EVERYTHING).data
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
    assert list(disk.columns) == names
    assert disk.column("c299").tolist() == [1, 2]


CELLS = """who,x,y,born,stars,note,kind
Ann,1,5,2024-01-31,4.5,=risk,u
Bob,2,4,,1,"a, b",v
Cy,4,9,2023-12-01,,,u
"""
BESIDE = {
    "born": np.array(["2024-01-31", "NaT", "2023-12-01"], dtype="datetime64[D]"),
    "stars": np.array([4.5, 1, np.nan]),
    "note": np.array(["=risk", "a, b", ""], dtype=object),
    "kind": np.array(["u", "v", "u"], dtype=object),
}


@for_each("given", [CELLS.encode(), pd.read_csv(io.StringIO(CELLS), parse_dates=["born"])])
def test_columns_that_a_table_leaves_out_are_kept(given):
    loaded = load_table(given, leave_out=["stars", "born"], categories="leave-out")
    assert set(loaded.data.metadata) == set(BESIDE)
    assert_metadata({name: loaded.data.metadata[name] for name in BESIDE}, BESIDE)
    assert loaded.data.columns.tolist() == ["x", "y"]
    told = " ".join(loaded.report.lines())
    assert "2 columns left out as asked and kept as metadata: 'born', 'stars'." in told
    assert "2 columns of text left out and kept as metadata: 'note', 'kind'." in told
    assert loaded.data.fingerprint == Table.build(loaded.data.values).fingerprint


def test_the_metadata_of_a_table_are_stored_and_exported(tmp_path):
    table = load_table(CELLS.encode(), leave_out=["born", "stars"], categories="leave-out").data
    TABLES.write(tmp_path / "t.npz", table)
    back = TABLES.read(tmp_path / "t.npz")
    assert_metadata({name: back.metadata[name] for name in BESIDE}, BESIDE)
    plain = Table.build(table.values, rows=table.rows, columns=table.columns, name=table.name)
    assert TABLES.key(back) == TABLES.key(table) != TABLES.key(plain)
    result = fit(table, "em", max_sweeps=2)
    write_run(result, tmp_path / "run")
    objects = pd.read_csv(tmp_path / "run" / "objects.csv", keep_default_na=False)
    assert objects["known_kind"].tolist() == ["u", "v", "u"]
    assert objects["known_note"].tolist()[0] == "'=risk"
    with pytest.raises(DataError, match=r"'x' has the shape \(2,\) for 3 rows"):
        Table.build(table.values, metadata={"x": [1, 2]})


HALF, MENDED = "half \ud800 pair", "half \\ud800 pair"
NAMES = [HALF, "b", "c"]


@for_each("kind", ["relation", "corpus", "table"])
def test_a_run_on_such_names_can_be_written(kind: str, tmp_path: Path) -> None:
    counts = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 2]])
    if kind == "relation":
        sides = {"row_labels": NAMES, "column_labels": NAMES, "row_kind": HALF, "attributes": {HALF: NAMES}}
        data = Relation.build(counts > 0, name=HALF, **sides)
    elif kind == "corpus":
        parts = dict.fromkeys(("vocabulary", "documents", "texts", "labels"), NAMES)
        data = Corpus.build(counts, name=HALF, metadata={HALF: NAMES}, **parts)
        assert data.texts == (MENDED, "b", "c")
    else:
        data = Table.build(counts, rows=NAMES, columns=NAMES, labels=NAMES, name=HALF)
    assert data.name == MENDED
    result = fit(
        data, "em" if kind == "table" else "vb", max_sweeps=2, **({"k": 2} if kind == "corpus" else {})
    )
    write_run(result, tmp_path)
    assert MENDED in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["data"]["name"]


NUMBERS = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])


def test_whole_numbers_are_one_name_with_and_without_a_point() -> None:
    ids = [1.0, 20.0, 3.0]
    frame = pd.DataFrame(NUMBERS, columns=["x", "y"])
    tables = [
        load_table(frame.set_axis(ids)).data,
        load_table(frame.assign(key=ids), row_labels="key").data,
        load_table(b"key,x,y\n1.0,1,2\n20.0,3,5\n3,4,1\n", row_labels="key").data,
        load_table(np.column_stack([ids, NUMBERS]), row_labels=0).data,
        Table.build(NUMBERS, rows=ids),
    ]
    assert [table.rows.tolist() for table in tables] == [["1", "20", "3"]] * len(tables)
    grouped = load_table(frame.assign(label=[1.0, np.nan, 2.0]), label_column="label").data
    assert grouped.labels is not None
    assert grouped.labels.tolist() == ["1", "", "2"]
