"""Every fault of a file of documents is named, in memory and on disk, where broken lines can be left out."""

from __future__ import annotations

import gzip
import zipfile

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.sources import parse, source
from tests.data.support import EVERYTHING, zipped
from tests.loops import for_each, rotate

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
    "word not in the vocabulary": (
        b"doc,word\na,x\na,y\n", {"vocabulary": b"x\nz\n"}, 3, 2, "y", "this word is not in the vocabulary",
    ),
    "docword of two fields": (UCI + b"1 1\n1 2\n", {"format": "docword"}, 4, 3, "1 1", "2 fields where 3"),
    "docword too short": (b"2\n3\n3\n1 1 1\n2 1 1\n", {}, 3, None, "3", "says that 3 lines follow, there are 2"),
    "docword too long": (b"2\n3\n1\n1 1 1\n2 1 1\n", {}, 5, None, None, "here is one more"),
    "docword size": (b"2\nmany\n1\n1 1 1\n", {"format": "docword"}, 2, 1, "many", "number of words is not a number"),
    "docword boast": (b"40000000\n3\n1\n1 1 1\n", {}, 1, None, "40000000", "claims 40,000,000 documents"),
    "docword vocabulary": (
        UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\nb\n"}, None, None, None, "2 words, line 2 of upload.txt says 3",
    ),
    "vocabulary word twice": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\nb\na\n"}, 3, None, "a", "already on line 1"),
    "vocabulary blank": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"a\n\nc\n"}, 2, None, None, "a word is blank"),
    "vocabulary of nothing": (UCI + b"1 1 1\n2 2 1\n", {"vocabulary": b"\n"}, None, None, None, "vocabulary is empty"),
    "matrix negative": (MATRIX + b"b,1,-1,0\n", {"format": "matrix"}, 3, 3, "-1", "the count is negative"),
    "matrix text": (MATRIX + b"b,1,0,many\n", {"format": "matrix", "document": 0}, 3, 4, "many", "not a number"),
    "matrix word twice": (b"doc,sea,ship,sea\na,1,0,2\n", {"format": "matrix"}, 1, 4, "sea", "on line 1, column 2"),
    "matrix without counts": (b"doc\na\nb\n", {"format": "matrix"}, None, None, "column 1", "no column of counts"),
    "matrix word not in the vocabulary": (
        MATRIX, {"vocabulary": b"sea\ncorn\n"}, 1, 3, "ship", "this word is not in the vocabulary",
    ),
    "matrix of another vocabulary": (
        b"1,0,2\n0,1,1\n", {"format": "matrix", "header": False, "vocabulary": b"sea\ncorn\n"}, None, None, None,
        "the vocabulary has 2 words, the table 3 columns of counts",
    ),
    "ldac count": (b"1 0:1\n1 0:-1\n", {"format": "ldac"}, 2, 2, "0:-1", "whole numbers, none negative"),
    "ldac start": (b"1 0:1\nx 0:1\n", {"format": "ldac"}, 2, 1, "x", "does not begin with a whole number"),
    "ldac term": (b"1 0:1\n1 2:1\n", {"vocabulary": b"a\nb\n"}, 2, 2, "2:1", "beyond the vocabulary, whose last is 1"),
    "ldac huge count": (b"2 0:1 1:2147483648\n", {}, 1, 3, "1:2147483648", "count is beyond 2,147,483,647"),
    "ldac boast": (b"1 40000000:1\n", {}, None, None, "40000000", "claims 40,000,001 words for 1 entry"),
    "ldac of nothing": (b"0\n0\n", {"format": "ldac"}, None, None, None, "the corpus has no words"),
    "table too many fields": (TABLE + b'\n"a\nb",x,y\n', {}, 4, 3, '"a', "3 fields where the first has 2"),
    "quote in the first line": (b'"id"x,text\n', {"format": "table"}, 1, 1, "x", "text after the closing quote"),
    "no text column": (b"a,b\n1,2\n3,4\n", {"format": "table"}, None, None, "column 1, column 2", "no column of texts"),
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


def test_zip_archives():
    assert "no .txt file among the 2 files" in fault(zipped({"a.csv": b"", "b.md": b""})).what
    assert "an Excel workbook" in fault(zipped({"xl/workbook.xml": b""})).what
    assert "this is a zip archive" in fault(zipped({"a.txt": b"x"}), format="lines").what


def test_damaged_zip():
    packed = bytearray(zipped({"a.txt": b"river " * 100}))
    packed[60] ^= 0xFF  # in the text: its checksum is wrong
    error = fault(bytes(packed))
    assert "damaged" in error.what
    assert error.source == "upload.txt: a.txt"
    assert "damaged" in fault(bytes(packed[:-30])).what


def test_bombs_are_refused(monkeypatch):
    monkeypatch.setattr(source, "MAX_TEXT_BYTES", 1 << 20)
    zeros = b"river " * (1 << 18)
    bomb = zipped({"a.txt": zeros}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10_000
    assert "more than 0.000977 GB" in fault(bomb).what
    many = zipped({f"{i}.txt": zeros[: 1 << 17] for i in range(9)}, compression=zipfile.ZIP_DEFLATED)
    assert "more than 0.000977 GB" in fault(many).what  # none is too large, together they are


def test_an_option_that_there_is_not(tmp_path):
    for read in (load_corpus, lambda *a, **k: read_to_disk(*a, tmp_path / "disk", **k)):
        with pytest.raises(TypeError, match="'colour' is not an option"):
            read(TABLE, colour="red")
    assert list(tmp_path.iterdir()) == []


COUNTS = [b"d%d,w%d,%d\n" % (i // 7, i * 31 % 101, i % 3 + 1) for i in range(3000)]
LONG_UCI = [b"%d %d %d\n" % (i // 7 + 1, i * 31 % 101 + 1, i % 3 + 1) for i in range(3000)]
LDAC = [b"2 %d:1 %d:3\n" % (i % 50, i % 50 + 1) for i in range(3000)]
LINES = [b"the river bank of %d\n" % (i % 90) for i in range(3000)]
LONG_TABLE = [b'n%d,"the river, of %d"\n' % (i, i % 90) for i in range(3000)]
HEADS = {
    "counts": b"doc,word,count\n", "docword": b"429\n101\n3000\n", "ldac": b"", "lines": b"", "table": b"id,text\n",
}  # fmt: skip
BODIES = {"counts": COUNTS, "docword": LONG_UCI, "ldac": LDAC, "lines": LINES, "table": LONG_TABLE}
AT = 2000

# name: (format, broken lines in place of one, column, value, words of the message)
LINE_FAULTS = {
    "counts, too few fields": ("counts", b"d1,w1\n", 3, "d1,w1", "2 fields where"),
    "counts, text": ("counts", b"new,new,many\n", 3, "many", "the count is not a number"),
    "counts, negative": ("counts", b"new,new,-1\n", 3, "-1", "the count is negative"),
    "counts, fraction": ("counts", b"new,new,1.5\n", 3, "1.5", "not a whole number"),
    "counts, too large": ("counts", b"new,new,2147483648\n", 3, "2147483648", "not from 0 to"),
    "counts, blank count": ("counts", b"new,new,\n", 3, None, "the count is blank"),
    "counts, blank word": ("counts", b"new,,1\n", 2, None, "the word is blank"),
    "counts, NUL": ("counts", b"new,n\0ew,1\n", 2, None, "NUL"),
    "counts, not UTF-8": ("counts", b"new,n\xe9w,1\n", None, "e9 77 2c 31 0a 64 32 38", "UTF-8"),
    "counts, behind a quote": ("counts", b'new,"new"s,1\n', 2, "s", "after the closing quote"),
    "counts, open quote": ("counts", b'new,"new,1\n', 2, None, "quote that opens here is not closed"),
    "docword, too few fields": ("docword", b"1 1\n", 3, "1 1", "2 fields where the first has 3"),
    "docword, document": ("docword", b"430 1 1\n", 1, "430", "document id is not from 1 to 429"),
    "docword, word": ("docword", b"1 102 1\n", 2, "102", "word id is not from 1 to 101"),
    "ldac, form": ("ldac", b"2 0:1 x\n", 3, "x", "not of the form term:count"),
    "ldac, pairs": ("ldac", b"3 0:1 1:2\n", 1, "3", "promises 3 pairs"),
    "ldac, more pairs": ("ldac", b"1 0:1 1:2\n", 1, "1", "promises 1 pair"),
    "ldac, not UTF-8": ("ldac", b"1 0:\xe9\n", None, "e9 0a 32 20 31 3a 31 20", "UTF-8"),
    "lines, NUL": ("lines", b"the new\0 river\n", None, None, "NUL"),
    "lines, long": ("lines", b"x" * 70_000 + b"\n", None, None, "longer than 65,000 characters"),
    "lines, not UTF-8": ("lines", b"the n\xe9w river\n", None, "e9 77 20 72 69 76 65 72", "UTF-8"),
    "table, too many fields": ("table", b"new,the new,river\n", 3, "new,the new,river", "3 fields where"),
    "table, NUL": ("table", b"new,the n\0ew\n", None, None, "NUL"),
    "table, behind a quote": ("table", b'new,"the" new\n', 2, "n", "after the closing quote"),
    "table, not UTF-8": ("table", b"new,the n\xe9w\n", None, "e9 77 0a 6e 32 30 30 31", "UTF-8"),
}


def options(format: str) -> dict:
    found: dict = {"format": format, "filename": "big.txt"}
    if format == "counts":
        found["count_column"] = 2
    if format in ("lines", "table"):
        found["tokeniser"] = EVERYTHING
    return found


def broken_file(format: str, broken: bytes) -> bytes:
    """The lines of a format, one of them broken."""
    body = BODIES[format]
    return HEADS[format] + b"".join([*body[:AT], broken, *body[AT + 1 :]])


@pytest.fixture
def small_blocks(monkeypatch):
    """Read files of a few kilobytes in blocks that are as much smaller."""
    for module in ("corpora.reading", "sources.source"):
        monkeypatch.setattr(f"acvb_core.data.{module}.MAX_TEXT", 65_000)
    given = parse.RecordReader.__init__
    monkeypatch.setattr(
        parse.RecordReader, "__init__", lambda *args, **kw: given(*args, **(kw | {"block_bytes": 700}))
    )


@pytest.mark.usefixtures("small_blocks")
@for_each("name", list(LINE_FAULTS))
def test_a_broken_line_names_itself_and_can_be_left_out(tmp_path, name):
    format, broken, column, value, told = LINE_FAULTS[name]
    source, head = broken_file(format, broken), HEADS[format]
    line = AT + 1 + head.count(b"\n")
    with pytest.raises(DataError, match=told) as caught:
        read_to_disk(source, tmp_path / "c", **options(format))
    fault = caught.value
    assert (fault.source, fault.line, fault.column, fault.value) == ("big.txt", line, column, value)
    assert fault.remedy.endswith(', or continue without such lines (broken="skip").')
    assert ".," not in fault.remedy
    assert list(tmp_path.iterdir()) == []
    disk = read_to_disk(source, tmp_path / "c", broken="skip", **options(format))
    rest = load_corpus(
        head.replace(b"3000", b"2999") + b"".join(BODIES[format][:AT] + BODIES[format][AT + 1 :]),
        **options(format),
    )
    found = disk.data.in_memory()
    np.testing.assert_array_equal(found.counts.toarray(), rest.data.counts.toarray())
    assert found.vocabulary.tolist() == rest.data.vocabulary.tolist()
    names = {  # a document of texts is called by its line
        "lines": [str(i) for i in range(1, 3001) if i != AT + 1],
        "ldac": [str(i) for i in range(1, 3000)],
    }
    assert found.documents.tolist() == names.get(format, rest.data.documents.tolist())
    (fact,) = [fact for fact in disk.report.facts if fact.name == "broken_lines"]
    assert (fact.count, fact.details["lines"]) == (1, [line])
    assert fact.sentence.startswith(f"1 broken line left out (line {line:,}); the first: ")
    assert disk.report.count("wrong_total") == 0


@pytest.mark.usefixtures("small_blocks")
@for_each("said, line", [(2990, 2994), (3010, 3)])
def test_a_wrong_number_of_lines(tmp_path, said, line):
    source = b"429\n101\n%d\n" % said + b"".join(LONG_UCI)
    with pytest.raises(DataError, match=f"{said:,} lines follow") as caught:
        read_to_disk(source, tmp_path / "c", format="docword")
    assert caught.value.line == line
    disk = read_to_disk(source, tmp_path / "c", format="docword", broken="skip")
    assert disk.report.count("wrong_total") == 3000
    assert disk.data.fingerprint == load_corpus(HEADS["docword"] + b"".join(LONG_UCI)).data.fingerprint


@pytest.mark.usefixtures("small_blocks")
@for_each("format", list(BODIES))
def test_a_truncated_gzip_file(tmp_path, format, rng):
    body = [line for i in rng.integers(0, 3000, size=10) for line in BODIES[format][i:] + BODIES[format][:i]]
    head = HEADS[format].replace(b"3000", b"30000")
    packed = gzip.compress(head + b"".join(body))
    cut = packed[: len(packed) * 2 // 3]
    with pytest.raises(DataError, match="truncated") as caught:
        read_to_disk(cut, tmp_path / "c", **options(format))
    assert caught.value.remedy.endswith('or continue with what came before (broken="skip").')
    disk = read_to_disk(cut, tmp_path / "c", broken="skip", **options(format))
    assert disk.report.count("cut_short") == 1
    assert disk.report.lines()[0].endswith("it is truncated): what came before was read.")
    # What came before: all whole lines of it, and no half one (which the readers of texts count as a line).
    half = format in ("ldac", "lines", "table")
    lines = disk.report.count("lines") - HEADS[format].count(b"\n") - half
    assert 15_000 < lines < 30_000
    rest = load_corpus(head.replace(b"30000", b"%d" % lines) + b"".join(body[:lines]), **options(format))
    assert disk.data.fingerprint == rest.data.fingerprint


@pytest.mark.usefixtures("small_blocks")
@for_each("format", ["counts", "table"])
def test_a_record_without_end_is_refused(tmp_path, monkeypatch, format):
    monkeypatch.setattr(parse, "MAX_RECORD", 5_000)
    source = broken_file(format, b"new," * 5_000 + b"\n")
    with pytest.raises(DataError, match=r"begins here is longer than 5,000 bytes|has 5,001 fields") as caught:
        read_to_disk(source, tmp_path / "c", **options(format))
    assert caught.value.line == AT + 2
    disk = read_to_disk(source, tmp_path / "c", broken="skip", **options(format))
    assert disk.report.facts[0].details["lines"] == [AT + 2]
    assert disk.report.count("broken_lines") == 1
