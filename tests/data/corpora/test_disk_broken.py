"""A broken line far down names itself and offers to continue without it; then the rest is as if it had never been."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.sources import parse
from tests.loops import for_each

EVERYTHING = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)
COUNTS = [b"d%d,w%d,%d\n" % (i // 7, i * 31 % 101, i % 3 + 1) for i in range(3000)]
UCI = [b"%d %d %d\n" % (i // 7 + 1, i * 31 % 101 + 1, i % 3 + 1) for i in range(3000)]
LDAC = [b"2 %d:1 %d:3\n" % (i % 50, i % 50 + 1) for i in range(3000)]
LINES = [b"the river bank of %d\n" % (i % 90) for i in range(3000)]
TABLE = [b'n%d,"the river, of %d"\n' % (i, i % 90) for i in range(3000)]
HEADS = {
    "counts": b"doc,word,count\n", "docword": b"429\n101\n3000\n", "ldac": b"", "lines": b"", "table": b"id,text\n",
}  # fmt: skip
BODIES = {"counts": COUNTS, "docword": UCI, "ldac": LDAC, "lines": LINES, "table": TABLE}
AT = 2000

# name: (format, broken lines in place of one, column, value, words of the message)
FAULTS = {
    "counts, too few fields": ("counts", b"d1,w1\n", 3, "d1,w1", "2 fields where"),
    "counts, too many fields": ("counts", b"d1,w1,1,1\n", 4, "d1,w1,1,1", "4 fields where"),
    "counts, text": ("counts", b"new,new,many\n", 3, "many", "the count is not a number"),
    "counts, negative": ("counts", b"new,new,-1\n", 3, "-1", "the count is negative"),
    "counts, fraction": ("counts", b"new,new,1.5\n", 3, "1.5", "not a whole number"),
    "counts, too large": ("counts", b"new,new,2147483648\n", 3, "2147483648", "not from 0 to"),
    "counts, far too large": ("counts", b"new,new,99999999999999999999\n", 3, "9" * 20, "not from 0 to"),
    "counts, blank count": ("counts", b"new,new,\n", 3, None, "the count is blank"),
    "counts, blank word": ("counts", b"new,,1\n", 2, None, "the word is blank"),
    "counts, blank document": ("counts", b",new,1\n", 1, None, "the document is blank"),
    "counts, NUL": ("counts", b"new,n\0ew,1\n", 2, None, "NUL"),
    "counts, not UTF-8": ("counts", b"new,n\xe9w,1\n", None, "e9 77 2c 31 0a 64 32 38", "UTF-8"),
    "counts, behind a quote": ("counts", b'new,"new"s,1\n', 2, "s", "after the closing quote"),
    "counts, long": ("counts", b"new," + b"w" * 20_000 + b",1\n", 2, None, "longer than 10,000 bytes"),
    "counts, open quote": ("counts", b'new,"new,1\n', 2, None, "quote that opens here is not closed"),
    "docword, too few fields": ("docword", b"1 1\n", 3, "1 1", "2 fields where the first has 3"),
    "docword, text": ("docword", b"one 1 1\n", 1, "one", "the document id is not a number"),
    "docword, document": ("docword", b"430 1 1\n", 1, "430", "document id is not from 1 to 429"),
    "docword, document 0": ("docword", b"0 1 1\n", 1, "0", "document id is not from 1"),
    "docword, word": ("docword", b"1 102 1\n", 2, "102", "word id is not from 1 to 101"),
    "docword, count": ("docword", b"1 1 -1\n", 3, "-1", "the count is negative"),
    "ldac, form": ("ldac", b"2 0:1 x\n", 3, "x", "not of the form term:count"),
    "ldac, pairs": ("ldac", b"3 0:1 1:2\n", 1, "3", "promises 3 pairs"),
    "ldac, not UTF-8": ("ldac", b"1 0:\xe9\n", None, "e9 0a 32 20 31 3a 31 20", "UTF-8"),
    "lines, NUL": ("lines", b"the new\0 river\n", None, None, "NUL"),
    "lines, not UTF-8": ("lines", b"the n\xe9w river\n", None, "e9 77 20 72 69 76 65 72", "UTF-8"),
    "table, too few fields": ("table", b"new\n", 2, "new", "1 field where the first has 2"),
    "table, too many fields": ("table", b"new,the new,river\n", 3, "new,the new,river", "3 fields where"),
    "table, NUL": ("table", b"new,the n\0ew\n", None, None, "NUL"),
    "table, behind a quote": ("table", b'new,"the" new\n', 2, "n", "after the closing quote"),
    "table, open quote": ("table", b'new,"the new\n', 2, "t", "after the closing quote"),
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


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Read files of a few kilobytes in blocks that are as much smaller."""
    given = parse.RecordReader.__init__
    monkeypatch.setattr(
        parse.RecordReader, "__init__", lambda *args, **kw: given(*args, **(kw | {"block_bytes": 700}))
    )


@for_each("name", list(FAULTS))
def test_a_broken_line_names_itself_and_can_be_left_out(tmp_path, name):
    format, broken, column, value, told = FAULTS[name]
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


def test_broken_lines_are_counted_and_the_first_are_named(tmp_path):
    lines = [b"x,y\n" if i % 10 == 5 else line for i, line in enumerate(COUNTS)]
    disk = read_to_disk(
        b"doc,word,count\n" + b"".join(lines), tmp_path / "c", broken="skip", **options("counts")
    )
    (fact,) = [fact for fact in disk.report.facts if fact.name == "broken_lines"]
    assert (fact.count, fact.details["lines"]) == (300, [7, 17, 27, 37, 47])
    assert fact.sentence == (
        "300 broken lines left out (line 7, line 17, line 27, line 37, line 47, …); "
        "the first: this line has 2 fields where the first has 3, 'doc,word,count', separated by commas, found 'x,y'."
    )
    assert disk.report.lines()[0] == fact.sentence
    rest = load_corpus(
        b"doc,word,count\n" + b"".join(line for line in lines if line != b"x,y\n"), **options("counts")
    )
    assert disk.data.fingerprint == rest.data.fingerprint


def test_a_word_that_the_vocabulary_does_not_hold(tmp_path):
    words = b"".join(b"w%d\n" % i for i in range(101))
    source = broken_file("counts", b"new,new,1\n")
    with pytest.raises(DataError, match="not in the vocabulary") as caught:
        read_to_disk(source, tmp_path / "c", vocabulary=words, **options("counts"))
    assert (caught.value.line, caught.value.column, caught.value.value) == (2002, 2, "new")
    disk = read_to_disk(source, tmp_path / "c", vocabulary=words, broken="skip", **options("counts"))
    assert disk.report.count("broken_lines") == 1
    assert "new" not in disk.data.in_memory().documents
    assert disk.data.n_words == 101


def test_sizes_in_front_are_never_left_out(tmp_path):
    for source in (b"2\nmany\n1\n1 1 1\n", b"9000000\n3\n1\n1 1 1\n"):
        with pytest.raises(DataError) as caught:
            read_to_disk(source, tmp_path / "c", format="docword", broken="skip")
        assert "broken=" not in caught.value.remedy


@for_each("said, line", [(2990, 2994), (3010, 3)])
def test_a_wrong_number_of_lines(tmp_path, said, line):
    source = b"429\n101\n%d\n" % said + b"".join(UCI)
    with pytest.raises(DataError, match=f"{said:,} lines follow") as caught:
        read_to_disk(source, tmp_path / "c", format="docword")
    assert caught.value.line == line
    disk = read_to_disk(source, tmp_path / "c", format="docword", broken="skip")
    assert disk.report.count("wrong_total") == 3000
    assert disk.data.fingerprint == load_corpus(HEADS["docword"] + b"".join(UCI)).data.fingerprint


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


def test_a_long_quoted_record_is_read_again_from_its_second_line_only_so_far(tmp_path, monkeypatch):
    monkeypatch.setattr("acvb_core.data.corpora.build._PATIENT_TEXT", 2000)
    quoted = [line.replace(b'"', b"").replace(b", of", b" of") for line in TABLE]
    source = b"id,text\n" + b"".join([*quoted[:AT], b'new,"the new\n', *quoted[AT + 1 :]])
    disk = read_to_disk(source, tmp_path / "c", broken="skip", **options("table"))
    assert disk.data.n_documents == 2999
    assert disk.report.facts[0].details["lines"] == [AT + 2]


def test_records_of_several_lines_around_a_broken_one(tmp_path):
    record = b'a%d,"the\n\nriver ""of"" %d"\n'
    good = b"".join(record % (i, i) for i in range(10))
    more = b"".join(record % (i, i) for i in range(10, 20))
    disk = read_to_disk(
        b"id,text\n" + good + b"\nbad\n" + more, tmp_path / "c", broken="skip", **options("table")
    )
    assert disk.data.in_memory().documents.tolist() == [f"a{i}" for i in range(20)]
    assert disk.data.in_memory().texts[19] == 'the\n\nriver "of" 19'
    (fact,) = [fact for fact in disk.report.facts if fact.name == "broken_lines"]
    assert fact.details["lines"] == [33]


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    for module in ("corpora.reading", "sources.source"):
        monkeypatch.setattr(f"acvb_core.data.{module}.MAX_TEXT", 1000)
    source = b"a short line\n" + b"word " * 1000 + b"\nand a third\n"
    with pytest.raises(DataError, match="longer than 1,000 characters") as caught:
        read_to_disk(source, tmp_path / "c", **options("lines"))
    assert caught.value.line == 2
    disk = read_to_disk(source, tmp_path / "c", broken="skip", **options("lines"))
    assert disk.data.in_memory().documents.tolist() == ["1", "3"]


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


@for_each("size", [998, 999, 1000, 1001])
def test_a_line_as_long_as_may_be(tmp_path, monkeypatch, size):
    for module in ("corpora.reading", "sources.source"):
        monkeypatch.setattr(f"acvb_core.data.{module}.MAX_TEXT", 1000)
    source = b"a line\n" + b"x" * (size - 1) + b"\nanother\n"
    disk = read_to_disk(source, tmp_path / "c", broken="skip", **options("lines"))
    assert disk.data.n_documents == (3 if size <= 1000 else 2)


def test_nothing_but_broken_lines(tmp_path):
    with pytest.raises(DataError, match=r"no words|no data"):
        read_to_disk(b"2\n2\n2\nx y z\n1 2\n", tmp_path / "c", format="docword", broken="skip")
    assert list(tmp_path.iterdir()) == []
