"""Decimal commas and separators of thousands, in tables, links, matrices and word counts alike."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.sources.values import RecordBatch, ask_style, find_style, value_kind
from acvb_core.data.table_build import load_table
from tests.loops import for_each

#: Fields, the signs that they have without doubt, and the number that the first of them is.
STYLES = [
    (["1.234"], ".", "", 1.234),
    (["1,5", "2"], ",", "", 1.5),
    (["1.234", "1,5"], ",", ".", 1234),
    (["1.234,5"], ",", ".", 1234.5),
    (["1.234.567"], ",", ".", 1234567),
    (["1,234.5"], ".", ",", 1234.5),
    (["1,234,567"], ".", ",", 1234567),
    (["1,234", "0.5"], ".", ",", 1234),
    (["1 234,5"], ",", " ", 1234.5),
    (["1\u00a0234,5"], ",", " ", 1234.5),
    (["1\u202f234.5"], ".", " ", 1234.5),
    (["-12 345 678"], ".", " ", -12345678),
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
    assert ask_style("abc", find_style([])) == ""
    with pytest.raises(ParameterError, match="decimal is"):
        load_relation(b"a,b\nc,d\n", decimal=";")


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
    with pytest.raises(
        DataError, match=r"column of text .*found '2,5'.* decimal comma \(decimal=','\), or .* code"
    ):
        load_table(b"n;a;b\nx;1.5;2,5\ny;2.5;3,5\nz;3.5;7,25\n")
    # What is no number in any style, or stands for a missing cell, says nothing of the others.
    cells = load_table(b"a;b\n1,5;1\n.;2\n2,5;4\n").data.values
    np.testing.assert_array_equal(cells, [[1.5, 1], [np.nan, 2], [2.5, 4]])
    with pytest.raises(DataError, match=r"line 4, .*'1.2.3'"):
        load_table(b"a;b\n1,5;1\n2,5;2\n1.2.3;4\n7,5;4\n")
    mixed = pd.DataFrame({"x": [1.234, 2.345, 3.5], "y": ["1,5", "2,5", "1.234,5"]})
    np.testing.assert_array_equal(load_table(mixed).data.values, [[1.234, 1.5], [2.345, 2.5], [3.5, 1234.5]])


GERMAN = "a;b;w\nx;y;1.234,5\ny;z;0,25\nz;x;2\n"


def test_links_are_read_with_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text(GERMAN)
    frame = pd.read_csv(path, sep=";")
    assert value_kind(frame["w"]) == "numbers"
    for given in (path, gzip.compress(GERMAN.encode()), frame):
        loaded = load_relation(given, threshold=0.5, domains="one", directed=True)
        links = {(str(loaded.data.row_labels[i]), str(loaded.data.column_labels[j]))
                 for i, j in zip(*loaded.data.ones.nonzero(), strict=True)}  # fmt: skip
        assert links == {("x", "y"), ("z", "x")}
        assert "Numbers are read with a decimal comma and . between thousands." in loaded.report.lines()
    # Numbers of a frame have no signs that could be mistaken.
    typed = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "w": [1.234, 0.5]})
    assert load_relation(typed, threshold=2, decimal=",").data.n_ones == 0
    with pytest.raises(DataError, match=r"found '1.234'.*threshold=0"):
        load_relation(typed)


def test_a_matrix_is_read_with_decimal_commas() -> None:
    text = ";u;v;w\nx;1,5;0;0\ny;0;0;1.234,5\nz;0,5;1;0\n"
    loaded = load_relation(text.encode(), threshold=0.7)
    assert loaded.schema is not None
    assert loaded.schema.format == "matrix"
    np.testing.assert_array_equal(loaded.data.ones.toarray(), [[1, 0, 0], [0, 0, 1], [0, 1, 0]])


@for_each("on_disk", [False, True])
def test_word_counts_are_read_with_thousands(on_disk: bool, tmp_path: Path) -> None:
    text = b"doc;word;count\nx;river;1.234\nx;bank;3,0\ny;bank;1.000\ny;sea;2.345.678\n"
    loaded = read_to_disk(text, tmp_path / "c") if on_disk else load_corpus(text)
    corpus = loaded.data.in_memory() if on_disk else loaded.data
    assert corpus.counts.sum() == 1234 + 3 + 1000 + 2345678
    with pytest.raises(DataError, match=r"line 2, column 3: the count is not a whole number .*decimal=','"):
        load_corpus(text.replace(b"3,0", b"3").replace(b"2.345.678", b"9"))
    again = load_corpus(text.replace(b"3,0", b"3").replace(b"2.345.678", b"9"), decimal=",")
    assert again.data.counts.sum() == 1234 + 3 + 1000 + 9


def test_fields_of_chosen_records_are_read() -> None:
    """Records that are left out leave gaps between the fields of the others."""
    text = np.frombuffer(b"1.234,5;x;7;oops;yy;8;2,5;;99", dtype=np.uint8).copy()
    ends = np.array([at for at, sign in enumerate(text) if sign == ord(";")] + [len(text)], dtype=np.int32)
    starts = np.append(np.int32(0), ends[:-1] + np.int32(1)).astype(np.int32)
    chosen = [0, 1, 2, 6, 7, 8]
    batch = RecordBatch(text, starts[chosen], ends[chosen], np.array([1, 3]), 3)
    numbers = batch.numbers([2, 0], find_style([["1.234,5"]]))
    np.testing.assert_array_equal(numbers, [[7, 1234.5], [99, 2.5]])


def test_labels_are_no_numbers() -> None:
    """Signs in names of objects say nothing of values."""
    loaded = load_relation(b"source;target\n1.234.567;x\n1,5;y\n")
    assert loaded.report.count("links") == 2
    assert "decimal" not in " ".join(loaded.report.lines())
