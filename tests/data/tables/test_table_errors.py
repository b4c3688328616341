"""What a table cannot be read from: one error, with the place, the value and what to do."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import load_relation
from acvb_core.data.table_build import inspect_table, load_table
from tests.loops import for_each
from tests.rotation import rotate


def saved(save, *arrays, **named):
    out = io.BytesIO()
    save(out, *arrays, **named)
    return out.getvalue()


TEXTS = [
    # text, options, line, column, value, words of the message
    ("a,b\n1,2\n3,oops\n4,5\n", {}, 3, 2, "oops", "text among the numbers of the column 'b'"),
    ("a,b,c\n", {}, 1, None, None, "column names and no data"),
    ("a,b,a\n1,2,3\n4,5,6\n", {}, 1, 3, "a", "Give every column a name of its own"),
    ("a,b\n1,oops\n3,2\n4,5\n", {}, 2, 2, "oops", "text among the numbers of the column 'b'"),
    ("a;b\n1,5;2\n7 %;3\n4,5;3\n", {}, 3, 1, "7 %", "without units. Otherwise corr"),
    ('n,a\n1,"1,250"\n2,"2,500"\n', {}, 2, 2, "1,250", "1.25 (decimal=',') or 1250 (decimal='.')"),
    ("n;a\n1;$ 5\n2;7 %\n", {}, 2, 2, "$ 5", "without units. Otherwise code"),
    ("n;a\n1;7 %\n2;7 pieces\n", {}, 2, 2, "7 %", "(found '7 %'). Code them"),
    ("n;a\n1;2024-01-02\n2;2024-01-03\n", {}, 2, 2, "2024-01-02", "). Code them"),
    ("a;b\n" + "1.5;2\n" * 300 + "1,234;3\n", {}, 302, 1, "1,234", "or 1234 (decimal='.')"),
    ("a;b\n1;2\n1.2345;3\n", {"decimal": ","}, 3, 1, "1.2345", "a decimal point (decimal='.')"),
    ("a,b\n1,2\n-nan,3\n", {}, 3, 1, "-nan", "text among the numbers"),
    ("a,b\n1,2\nnan(1),3\n", {}, 3, 1, "nan(1)", "text among the numbers"),
    ('a,b\n1,2\n"x\ny",2\n3,nil\n', {"categories": "one-hot"}, 3, 1, "x\ny", "text among the numbers"),
    ("a,b\n1,2\n3,inf\n", {}, 3, 2, "inf", "column 'b' is infinite"),
    ("a,b\n1,2\n3,-Infinity\n", {}, 3, 2, "-Infinity", "column 'b' is infinite"),
    ("a,b\n1,2\n3,1e400\n", {}, 3, 2, "1e400", "column 'b' is infinite"),
    ("a,b\n1,2\n-2e100,4\n", {}, 3, 1, "-2e100", "column 'a' is infinite"),
    ("id,b\n1,2\n1,4\n2e101,5\n", {}, 4, 1, "2e101", "column 'id' is infinite"),
    ("a,b\n1,2\n3\n", {}, 3, 2, "3", "1 field where the first has 2, 'a,b'"),
    ("a,b,b\n1,2,3\n3,4,5\n", {}, 1, 3, "b", "already stands on line 1, column 2"),
    ("a,,c\n1,2,3\n3,4,5\n", {}, 1, 2, None, "a column label is blank"),
    (",x\nA,1\nB,2\nA,3\n", {}, 4, 1, "A", "already stands on line 2, column 1"),
    (",x\nA,1\nB,2\n,3\n", {}, 4, 1, None, "a row label is blank"),
    ("x,y\nA,1\nB,2\nA,3\n", {"row_labels": "x"}, 4, 1, "A", "already stands on line 2"),
    ("x,y\nA,1\nB,2\nA,3\n", {}, 2, 1, "A", "1 column of text among the columns of numbers: 'x'"),
    (
        "x,y,z\n1,u,a\n2,v,b\n3,u,b\n",
        {},
        2,
        2,
        "u",
        "2 columns of text among the columns of numbers: 'y', 'z'",
    ),
    ("x,y\n1,2\n3,2\n", {}, 1, 2, None, r"1 column has no two different values: 'y'"),
    ("x,y\n1,2\n1,2\n", {"constants": "leave-out"}, 1, 1, None, "2 columns have no two different values"),
    ("x,y\n1,2\n", {"header": True}, 1, 1, None, "2 columns have no two different values"),
    ("a,b\n1,2\n", {"row_labels": "c"}, 1, None, "c", "Choose among 'a', 'b'"),
    ("a,b\n1,2\n2,3\n", {"label_column": 5}, None, None, None, "no column at position 5"),
    ("a,b\n1,2\n2,3\n", {"leave_out": ["a", "b"]}, None, None, None, "no column of numbers"),
    (
        "a,b\nu,x\nv,y\n",
        {"categories": "leave-out", "header": True},
        None,
        None,
        None,
        "no column of numbers",
    ),
    ("a,b\n1,2\n2,3\n", {"image": "2x2"}, None, None, None, "2 x 2 has 4 pixels, but there are 2 columns"),
    ("a\n1\n2\n", {}, 1, None, "a", "one field only"),
    (
        "a,b\nr1,1,2\nr2,3,4\n",
        {},
        1,
        None,
        "a,b",
        "most lines have 3, separated by commas: line 2 is 'r1,1,2'",
    ),
    ("a,b\n", {"header": True}, 1, None, None, "column names and no data"),
    ("", {}, None, None, None, "the file is empty"),
    ('a,b\n3,4\n1,"2\n', {}, 3, 2, None, "never closed"),
]


@for_each("case, block", rotate(TEXTS, [16, 1 << 19]))
def test_the_place_and_the_value_are_told(case, block):
    text, options, line, column, value, words = case
    with pytest.raises(DataError) as caught:
        load_table(text.encode(), filename="f.csv", block_bytes=block, **options)
    found = caught.value
    assert words in str(found)
    assert (found.line, found.column, found.value) == (line, column, value)
    assert found.source == "f.csv"
    assert found.remedy.endswith(".")


def test_texts_that_are_mostly_numbers_are_no_category():
    """The head of the column is text, what follows is numbers."""
    text = "x,y\n" + "1,unknown\n" * 60 + "".join(f"2,{i}\n" for i in range(30))
    with pytest.raises(
        DataError, match="line 2, column 2: there is text among the numbers of the column 'y'"
    ):
        load_table(text.encode(), categories="one-hot")


def test_too_many_categories_are_none():
    text = "x,y\n" + "".join(f"{i},name {i}\n" for i in range(101))
    with pytest.raises(DataError, match="'y' has 101 different texts"):
        load_table(text.encode(), categories="one-hot")
    fewer = text.rsplit("\n", 2)[0] + "\n"
    assert load_table(fewer.encode(), categories="one-hot").data.n_columns == 101


def test_a_picture_is_not_of_categories():
    with pytest.raises(DataError, match="2 x 1 has 2 pixels, but there are 3 columns"):
        load_table(b"a,b\n1,u\n2,v\n", image=(2, 1), categories="one-hot")


ARRAYS = [
    (saved(np.save, np.arange(3.0)), r"the shape \(3,\)"),
    (saved(np.save, np.array([["a", "b"]])), "the type <U1"),
    (saved(np.save, np.array([[1j, 2]])), "the type complex128"),
    (saved(np.save, np.zeros((0, 3))), r"the shape \(0, 3\)"),
    (saved(np.save, np.array([[1, None]], dtype=object)), "cannot be read"),
    (saved(np.save, np.eye(4))[:-20], "cannot be read"),
    (saved(np.save, np.array([[1.0, np.inf], [2.0, 3.0]])), r"column 2: .*'x2' \(row 1\) is infinite"),
    (saved(np.savez, np.eye(2), np.eye(2)), "arr_0, arr_1: 2 arrays that may be the cells"),
    (saved(np.savez, rows=["a"]), "rows: 0 arrays that may be the cells"),
    (saved(np.savez, x=np.eye(2), rows=["a"]), "1 row labels were given for 2 rows"),
    (saved(np.savez, x=np.eye(2), labels=["a"]), "1 labels were given for 2 rows"),
    (saved(np.savez, x=np.eye(2), columns=["a"]), "1 column labels were given for 2 columns"),
    (saved(np.savez, x=np.eye(2), rows=["a", "a"]), "row label stands 2 times"),
    (saved(np.savez, x=np.eye(3))[:-30], "damaged zip archive"),
    (b"%PDF-1.7", "a PDF document"),
]


@for_each("data, words", ARRAYS)
def test_arrays_that_are_no_tables(data, words):
    with pytest.raises(DataError, match=words) as caught:
        load_table(data, filename="f.npz")
    assert caught.value.source in ("f.npz", "f")


FRAMES = [
    (
        pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
        "column 't': 1 column of text .*'2020-01-01",
    ),
    (pd.DataFrame({"x": [1, 2, "oops"], "y": [1, 2, 3]}), "text among the numbers of the column 'x'.*'oops'"),
    (pd.DataFrame({"x": [1.0, np.inf]}), r"row 2, column 'x': a number of the column 'x' is infinite"),
    (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), "row label stands 2 times"),
    (pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"]), "column label stands 2 times"),
    (pd.DataFrame({"x": []}), "0 rows and 1 columns"),
    (pd.DataFrame({"x": [1, 2], "k": ["a", "b"]}), "1 column of text .*'k'"),
]


@for_each("frame, words", FRAMES)
def test_frames_that_are_no_tables(frame, words):
    with pytest.raises(DataError, match=words):
        load_table(frame, name="frame")


@for_each(
    "options",
    [
        {"categories": "drop"},
        {"constants": "drop"},
        {"image": "8"},
        {"image": "0x8"},
        {"image": (8, 8, 3)},
        {"image": (2.5, 2)},
        {"header": "yes"},
        {"decimal": "'"},
        {"delimiter": "ab"},
        {"encoding": "utf-99"},
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(ParameterError):
        load_table(b"a,b\n1,2\n3,4\n", **options)


@for_each(
    "load, source",
    [(load_table, [[1, 2], [3, 4]]), (load_table, None), (load_relation, None), (load_corpus, None)],
)
def test_what_is_no_source(load, source):
    with pytest.raises(ParameterError, match=type(source).__name__):
        load(source)


def test_looking_at_a_file():
    layout = inspect_table(b"name;a;b;c;d\nA;1,5;x;;3\nB;2;y;;z\n", "f.csv")
    assert (layout.delimiter, layout.decimal, layout.header, layout.row_column) == (";", ",", True, 0)
    assert layout.kinds == ("text", "numbers", "text", "missing", "mixed")
    assert layout.rows == (("A", "1,5", "x", "", "3"), ("B", "2", "y", "", "z"))
    ragged = inspect_table(b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,5,3\n")
    assert (ragged.rows, ragged.lines) == ((("1", "2", "3"), ("1", "5", "3")), (2, 5))
    assert inspect_table(saved(np.save, np.eye(2))).format == "npy"
    assert inspect_table(saved(np.savez, np.eye(2))).format == "npz"
