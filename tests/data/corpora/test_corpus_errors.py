"""Every fault of a file of documents is named with its line, its field, its value and what to do."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus, read_texts
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.sources import source
from tests.loops import for_each
from tests.rotation import rotate

LONG = {"format": "counts"}
UCI = b"2\n3\n2\n"
TWO = b"river bank\n"
TABLE = b"id,text\n1,a river\n"
MATRIX = b"doc,sea,ship,corn\na,1,2,0\n"


def fault(source: bytes, **options) -> DataError:
    """Load `source`, which must fail, and return the error."""
    with pytest.raises(DataError) as caught:
        load_corpus(source, filename="upload.txt", **options)
    assert caught.value.source is not None
    assert caught.value.source.split(":")[0] in ("upload.txt", "the vocabulary")
    assert caught.value.remedy
    return caught.value


# name: (bytes, options, line, column, value, words of the message)
FAULTS = {
    "infinite count": (b"doc,word,count\na,x,1\na,y,inf\n", LONG | {"count_column": 2}, 3, 3, "inf", "is not a number"),
    "digits of another script": (
        "doc,word,count\na,x,1\na,y,٣\n".encode(), LONG | {"count_column": 2}, 3, 3, "٣", "is not a number",
    ),
    "too few columns": (b"a,b\nx,y\n", LONG | {"count_column": 2}, None, None, None, "no column at position 2"),
    "header only": (b"doc,word,count\n", {}, 1, None, None, "column names and no data"),
    "word not in the vocabulary": (
        b"doc,word\na,x\na,y\n", {"vocabulary": b"x\nz\n"}, 3, 2, "y", "this word is not in the vocabulary",
    ),
    "column twice": (b"doc,word\na,x\n", {"word_column": 0, "document_column": 0}, None, None, None, "column each"),
    "unknown column": (b"doc,word\na,x\n", {"word_column": "term"}, 1, None, "term", "no column of this name"),
    "docword of two fields": (UCI + b"1 1\n1 2\n", {"format": "docword"}, 4, 3, "1 1", "2 fields where 3"),
    "docword too short": (b"2\n3\n3\n1 1 1\n2 1 1\n", {}, 3, None, "3", "says that 3 lines follow, there are 2"),
    "docword too long": (b"2\n3\n1\n1 1 1\n2 1 1\n", {}, 5, None, None, "here is one more"),
    "docword size": (b"2\nmany\n1\n1 1 1\n", {"format": "docword"}, 2, 1, "many", "number of words is not a number"),
    "docword without sizes": (b"2\n", {"format": "docword"}, 2, 1, None, "number of words is blank"),
    "docword boast": (b"40000000\n3\n1\n1 1 1\n", {}, 1, None, "40000000", "claims 40,000,000 documents"),
    "docword boast of words": (b"2\n40000000\n1\n1 1 1\n", {}, 2, None, "40000000", "40,000,000 words"),
    "docword vocabulary": (
        UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\nb\n"}, None, None, None, "2 words, line 2 of upload.txt says 3",
    ),
    "vocabulary word twice": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\nb\na\n"}, 3, None, "a", "stands on line 1"),
    "vocabulary blank": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\n\nc\n"}, 2, None, None, "a word is blank"),
    "vocabulary bytes": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\n\xe9x\n"}, 2, None, "e9 78 0a", "not UTF-8"),
    "vocabulary of nothing": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"\n"}, None, None, None, "vocabulary is empty"),
    "no token": (b"2\n3\n0\n", {"format": "docword"}, None, None, None, "the corpus has no words"),
    "matrix negative": (MATRIX + b"b,1,-1,0\n", {"format": "matrix"}, 3, 3, "-1", "the count is negative"),
    "matrix fraction": (MATRIX + b"b,0.5,1,0\n", {"format": "matrix"}, 3, 2, "0.5", "not a whole number"),
    "matrix text": (MATRIX + b"b,1,0,many\n", {"format": "matrix", "document": 0}, 3, 4, "many", "not a number"),
    "matrix blank": (MATRIX + b"b,,1,0\n", {"format": "matrix"}, 3, 2, None, "the count is blank"),
    "matrix word twice": (b"doc,sea,ship,sea\na,1,0,2\n", {"format": "matrix"}, 1, 4, "sea", "stands in column 2"),
    "matrix word blank": (b"doc,sea,,ship\na,1,0,2\n", {"format": "matrix"}, 1, 3, None, "a word is blank"),
    "matrix without counts": (b"doc\na\nb\n", {"format": "matrix"}, None, None, "column 1", "no column of counts"),
    "matrix header only": (b"doc,sea,ship\n", {"format": "matrix"}, 1, None, None, "column names and no data"),
    "matrix too few fields": (MATRIX + b"b,1\n", {"format": "matrix"}, 3, 3, "b,1", "2 fields where"),
    "matrix word not in the vocabulary": (
        MATRIX, {"vocabulary": b"sea\ncorn\n"}, 1, 3, "ship", "this word is not in the vocabulary",
    ),
    "matrix of another vocabulary": (
        b"1,0,2\n0,1,1\n", {"format": "matrix", "header": False, "vocabulary": b"sea\ncorn\n"}, None, None, None,
        "the vocabulary has 2 words, the table 3 columns of counts",
    ),
    "ldac count": (b"1 0:1\n1 0:-1\n", {"format": "ldac"}, 2, 2, "0:-1", "whole numbers, none negative"),
    "ldac fraction": (b"1 0:1\n1 0:1.5\n", {"format": "ldac"}, 2, 2, "0:1.5", "whole numbers, none negative"),
    "ldac start": (b"1 0:1\nx 0:1\n", {"format": "ldac"}, 2, 1, "x", "does not begin with a whole number"),
    "ldac term": (b"1 0:1\n1 2:1\n", {"vocabulary": b"a\nb\n"}, 2, 2, "2:1", "beyond the vocabulary, whose last is 1"),
    "ldac huge count": (b"2 0:1 1:2147483648\n", {}, 1, 3, "1:2147483648", "count is beyond 2,147,483,647"),
    "ldac boast": (b"1 40000000:1\n", {}, None, None, "40000000", "claims 40,000,001 words for 1 entry"),
    "ldac of nothing": (b"0\n0\n", {"format": "ldac"}, None, None, None, "the corpus has no words"),
    "table too many fields": (TABLE + b'\n"a\nb",x,y\n', {}, 4, 3, '"a', "3 fields where the first has 2"),
    "table header only": (b"id,text\n", {}, 1, None, None, "column names and no data"),
    "unclosed quote": (TABLE + b'2,"a\nb\n3,c\n', {}, 3, 2, None, "never closed"),
    "quote in the first line": (b'"id"x,text\n', {"format": "table"}, 1, 1, "x", "text after the closing quote"),
    "no text column": (b"a,b\n1,2\n3,4\n", {"format": "table"}, None, None, "column 1, column 2", "no column of texts"),
    "not UTF-8": (TABLE + b"2,caf\xe9 x\n", {}, 3, None, "e9 20 78 0a", "is not UTF-8 text"),
    "NUL": (b"a river\na b\0nk\n", {}, 2, None, None, "NUL byte"),
    "blank lines only": (b"\n \n\n", {}, None, None, None, "only blank lines"),
    "empty": (b"", {}, None, None, None, "empty"),
    "empty gzip": (gzip.compress(b"", mtime=0), {}, None, None, None, "empty"),
    "pdf": (b"%PDF-1.7\n", {}, None, None, None, "a PDF document"),
    "no zip": (b"a river\n", {"format": "zip"}, 1, None, "a river", "this does not start like a zip archive"),
    "no word": (b"... !\n", {}, None, None, Tokeniser().token_pattern, "there is no word in the 1 text"),
    "stop words only": (b"the of\nand the\n", {}, None, None, "stop_words=('english-short',)", "3 words by stop_words"),
    "numbers only": (b"1996\n1997\n", {}, None, None, "numbers=False", "2 words by numbers"),
    "too rare": (b"the river\nthe bank\n", {}, None, None, "min_documents=2", "2 words by min_documents"),
    "too common": (TWO * 2, {}, None, None, "max_share=0.95", "2 words by max_share"),
}  # fmt: skip


@for_each("case, packed", rotate(FAULTS, [False, True]))
def test_fault_is_named_in_a_plain_and_in_a_gzipped_file(case, packed):
    source, options, line, column, value, words = FAULTS[case]
    packed = packed and line is not None  # whole files of other formats are not looked at inside of gzip
    error = fault(gzip.compress(source) if packed else source, **options)
    assert words in error.what
    assert (error.line, error.column, error.value) == (line, column, value)


def archive(files: dict[str, bytes], **options) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as writer:
        for path, content in files.items():
            writer.writestr(path, content)
    return out.getvalue()


def test_zip_archives():
    assert "no .txt file among the 2 files" in fault(archive({"a.csv": b"", "b.md": b""})).what
    assert "an Excel workbook" in fault(archive({"xl/workbook.xml": b""})).what
    assert "damaged zip" in fault(b"PK\x03\x04 and nothing").what
    assert "this is a zip archive" in fault(archive({"a.txt": b"x"}), format="lines").what


def test_a_file_of_a_zip_is_named():
    error = fault(archive({"good.txt": b"river", "b/bad.txt": b"river\ncaf\xe9 x\n"}))
    assert (error.source, error.line) == ("upload.txt: b/bad.txt", 2)
    assert "a PNG image" in fault(archive({"a.txt": b"\x89PNG\r\n"})).what


def test_damaged_zip():
    packed = bytearray(archive({"a.txt": b"river " * 100}))
    packed[60] ^= 0xFF  # in the text: its checksum is wrong
    error = fault(bytes(packed))
    assert "damaged" in error.what
    assert error.source == "upload.txt: a.txt"
    assert "damaged" in fault(bytes(packed[:-30])).what
    deflated = bytearray(archive({"a.txt": bytes(range(1, 128)) * 9}, compression=zipfile.ZIP_DEFLATED))
    deflated[40:60] = b"\xff" * 20
    assert "damaged" in fault(bytes(deflated)).what


def test_encrypted_zip():
    packed = bytearray(archive({"a.txt": b"river"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(mark) + offset] |= 1  # the flag is all that tells it
    assert fault(bytes(packed)).what == "this file of the zip archive is encrypted"


def test_bombs_are_refused(monkeypatch):
    monkeypatch.setattr(source, "MAX_TEXT_BYTES", 1 << 20)
    zeros = b"river " * (1 << 18)
    bomb = archive({"a.txt": zeros}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10_000
    assert "more than 0.000977 GB" in fault(bomb).what
    many = archive({f"{i}.txt": zeros[: 1 << 17] for i in range(9)}, compression=zipfile.ZIP_DEFLATED)
    assert "more than 0.000977 GB" in fault(many).what  # none is too large, together they are
    assert "more than 0.000977 GB" in fault(gzip.compress(zeros), format="lines").what


@for_each(
    "source, options",
    [
        (TWO, {"format": "words"}),
        (TWO, {"encoding": "klingon"}),
        (TWO, {"delimiter": ",,"}),
        (TWO, {"vocabulary": b"river\nbank\n"}),
        (TWO, {"text_column": 0}),
        (TABLE, {"word_column": 1}),
        (UCI + b"1 1 1\n2 1 1\n", {"tokeniser": Tokeniser()}),
        (UCI + b"1 1 1\n2 1 1\n", {"count_column": 2}),
    ],
)
def test_settings_that_make_no_sense(source, options):
    with pytest.raises(ParameterError):
        load_corpus(source, **options)


def test_an_option_that_there_is_not(tmp_path):
    for read in (
        load_corpus,
        read_texts,
        inspect_corpus,
        lambda *a, **k: read_to_disk(*a, tmp_path / "disk", **k),
    ):
        with pytest.raises(TypeError, match="'colour' is not an option"):
            read(TABLE, colour="red")
    assert list(tmp_path.iterdir()) == []


def test_options_of_files_are_not_for_objects():
    for option in ({"header": True}, {"sheet": "one"}, {"format": "lines"}):
        with pytest.raises(ParameterError, match=f"{next(iter(option))} is for files; this is a list"):
            load_corpus(["a river", "a bank"], **option)
    with pytest.raises(ParameterError, match="text_column is for a table; this is a list"):
        load_corpus(["a river", "a bank"], text="text")


def test_counts_have_no_texts():
    with pytest.raises(DataError, match="holds counts and no texts"):
        read_texts(b"doc,word,count\na,x,1\n")


@for_each("format", ["auto", "counts", "lines", "table", "docword"])
def test_a_sparse_matrix_is_no_corpus(format, tmp_path):
    matrix = b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 4\n2 3 1\n"
    with pytest.raises(DataError, match="this is a sparse matrix"):
        load_corpus(matrix, format=format)
    with pytest.raises(DataError, match="this is a sparse matrix"):
        read_to_disk(matrix, tmp_path / "disk", format=format)
