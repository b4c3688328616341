"""Every fault of a file of links is named with its line, its field, its value and what to do."""

from __future__ import annotations

import gzip

import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.relation_readers import inspect_source, load_relation
from tests.data.support import EVERY_WORD
from tests.loops import for_each, rotate


def fault(source: bytes, **options) -> DataError:
    """Load `source`, which must fail, and return the error."""
    with pytest.raises(DataError) as caught:
        load_relation(source, filename="upload.csv", **options)
    assert caught.value.source in ("upload.csv", "row_nodes", "column_nodes")
    assert caught.value.remedy
    return caught.value


# name: (bytes, options, line, column, value, words of the message)
FAULTS = {
    "a field too many": (b"row,col\na,x\nb,y,z\n", {}, 3, 3, "b,y,z", "3 fields where the first has 2"),
    "mixed delimiters": (
        b"row,col\na,x\nb;y\nc,z\nd,z\n", {}, 3, None, "b;y", "separated by semicolons, the file by commas",
    ),
    "a name too few": (b"a,b\nr1,1,2\nr2,3,4\n", {}, 1, None, "a,b", "first line has 2 fields, most lines have 3"),
    "not UTF-8": (b"row,col\nAnn,x\nJos\xe9,y\n", {}, 3, None, "e9 2c 79 0a", "byte 18 is not UTF-8 text"),
    "NUL": (b"row,col\na,x\nb,\0y\n", {}, 3, 2, None, "NUL byte"),
    "control character": (b"row,col\na,x\n\x01b,y\n", {}, 3, 1, None, "control character (byte 0x01)"),
    "empty": (b"", {}, None, None, None, "empty"),
    "header only": (b"source,target\n", {}, 1, None, None, "column names and no data"),
    "long field": (b"row,col\na,x\nb," + b"y" * 10_000_000 + b"\n", {}, 3, 2, None, "longer than 10,000 bytes"),
    "unclosed quote below the names": (b'row,col\na,"x\nb,y\n', {}, 2, 2, None, "never closed"),
    "unclosed quote": (b'row,col\na,x\nb,"y\nc,z\n', {}, 3, 2, None, "never closed"),
    "blank label": (b"row,col\na,x\n,y\n", {}, 3, 1, None, "label is blank"),
    "value that is none": (b"row,col,value\na,x,1\nb,y,maybe\n", {}, 3, 3, "maybe", "neither a number"),
    "contradiction": (
        b"row,col,value\na,x,0\nb,y,1\n\na,x,1\n", {}, 5, 3, "a, x", "a link on line 5 and no link on line 2",
    ),
    "index beyond the shape": (b"0,1\n2,7\n", {"shape": (3, 7)}, 2, 2, "7", "every label is an index from 0 to 6"),
    "label not in the list": (
        b"row,col\na,x\nb,y\nz,y\n", {"row_nodes": ["a", "b"]}, 4, 1, "z", "not in the node list",
    ),
    "node twice in the list": (
        b"row,col\na,x\n", {"row_nodes": ["a", "b", "a"]}, 3, None, "a", "is already on line 1",
    ),
    "unknown column name": (b"row,col\na,x\n", {"row_column": "who"}, 1, None, "who", "no column of this name"),
    "column beyond the last": (b"row,col\na,x\n", {"row_column": 2}, None, None, None, "no column at position 2"),
    "matrix cell": (b",a,b,c\nx,0,1,0\ny,1,oops,0\n", {"format": "matrix"}, 3, 3, "oops", "neither a number"),
    "matrix row twice": (b",a,b,c\nx,0,1,0\nx,1,0,1\n", {}, 3, 1, "x", "is already on line 2, column 1"),
    "matrix of another shape": (b",a,b,c\nx,0,1,0\ny,1,0,1\n", {"shape": (3, 3)}, None, None, None, "2 x 3"),
    "market size line": (
        b"%%MatrixMarket matrix coordinate pattern general\n% note\n3 x 1\n1 1\n", {}, 3, None, "3 x 1",
        "3 whole numbers",
    ),
    "empty gzip": (gzip.compress(b"", mtime=0), {}, None, None, None, "empty"),
}  # fmt: skip


@for_each("case, packed", rotate(FAULTS, [False, True]))
def test_fault_is_named_in_a_plain_and_in_a_gzipped_file(case, packed):
    source, options, line, column, value, words = FAULTS[case]
    packed = packed and line is not None  # whole files of other formats are not looked at inside of gzip
    error = fault(gzip.compress(source) if packed else source, **options)
    assert (error.line, error.column, error.value) == (line, column, value)
    assert words in error.what


@for_each(
    "options",
    [
        {"format": "table"},
        {"threshold": float("nan")},
        {"delimiter": ",,"},
        {"encoding": "base64"},
        {"shape": (0, 3)},
        {"same_nodes": True, "shape": (2, 3)},
        {"same_nodes": True, "row_nodes": ["a"], "column_nodes": ["x"]},
        {"shape": (2, 2), "row_nodes": ["a"]},
    ],
)
def test_wrong_settings_are_refused(options):
    with pytest.raises(ParameterError):
        load_relation(b"row,col,value\na,x,1\n", **options)


HEADERS = ["a,b\n", "id,height,width\n", "title;body;year", "# made by hand\nx\ty\n", "\ufeffAnn,Bob\r\n\r\n"]


@for_each("text", HEADERS)
def test_a_line_of_words_alone_is_no_relation(text: str) -> None:
    for read in (load_relation, inspect_source):
        with pytest.raises(DataError, match="no rows below") as caught:
            read(text.encode(), filename="upload.csv")
        assert (caught.value.source, caught.value.line) == ("upload.csv", 1)
        assert "first line is data" in caught.value.remedy
    assert load_relation(text.encode(), header=False).data.n_ones == 1
    with pytest.raises(DataError, match="column names and no data"):
        load_relation(text.encode(), header=True)


TEXT = "The quick brown fox number {} jumps over a lazy dog by the river bank"
REVIEWS = "author,date,review\n" + "".join(
    f"a{n % 3},2020-01-{n + 1:02},{TEXT.format(n)}\n" for n in range(25)
)


def test_a_table_of_texts_or_links_is_asked_about():
    source = REVIEWS.encode()
    with pytest.raises(DataError, match=r"documents or links .*The quick brown fox number 0") as caught:
        load_relation(source, filename="notes.csv")
    assert "load_corpus (text_column='review')" in str(caught.value)
    assert "(row_column='author') (column_column='date')" in str(caught.value)
    for answer in ({"row_column": "author", "column_column": "date"}, {"format": "edges"}, {"row_column": 0}):
        assert load_relation(source, **answer).data.shape == (3, 25)
    assert load_corpus(source, text_column="review", tokeniser=EVERY_WORD).data.n_documents == 25


@for_each(
    "table",
    [
        "".join(
            f"author {n},On the Convergence of Variational Bayes for Blocks {n % 4}\n" for n in range(20)
        ),
        "".join(f"https://example.org/a/very/long/path/to/the/page/number/{n},b{n % 3}\n" for n in range(20)),
    ],
)
def test_names_of_objects_are_no_texts(table):
    load_relation(table.encode())
