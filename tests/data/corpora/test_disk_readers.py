"""What is read to disk is what `load_corpus` reads: the same words, counts, names, texts and report."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora import build, disk_build, reading
from acvb_core.data.corpora.disk_build import EntrySpool, read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.sources import source as sources
from tests.loops import for_each

EVERYTHING = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)
LONG = b'doc,word,count\nb,cat,2\na,cat,1\nb,dog,1\nb,cat,3\nc,dog,0\na,"the ""x""",7\n'
TOKENS = b"doc\tword\nb\tcat\na\tcat\nb\tdog\nb\tcat\n"
UCI = b"4\n5\n6\n3 1 2\n1 1 1\n3 4 300\n1 1 2\n4 2 1.00\n1 5 0\n"
LDAC = b"2 0:1 3:2\n0\n1 2:5\n\n2 3:1 3:2\n"
PROSE = "The river bank 1999\nmoney in the bank\n\nThe river runs\nbank of the Fluß and river bank\n".encode()
TABLE = (
    b'id,text,topic\nx,"a river, bank",one\nx,money bank,two\n\n,river ""bank,one\ny,"multi\nline ""river""\n",one\n'
    b"x,nothing else,one\nx (2),bank,two\n"
)


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("a/x.txt", "the river bank")
        packed.writestr("b/x.txt", "money river bank")
        packed.writestr("b/empty.txt", "")
        packed.writestr("read.md", "no")
    return out.getvalue()


# name: (bytes, options)
FILES = {
    "counts": (LONG, {}),
    "tokens": (TOKENS, {}),
    "counts of a vocabulary": (LONG, {"vocabulary": b'dog\ncow\ncat\nthe "x"\n'}),
    "counts without a header": (b"a;x;1\nb;y;2\n", {"format": "counts", "header": False, "delimiter": ";"}),
    "counts by column": (
        b"n,w,d\n1,x,a\n2,y,b\n",
        {"format": "counts", "document_column": "d", "word_column": 1, "count_column": "n"},
    ),
    "counts as tokens": (b"d,w,n\na,x,5\na,x,6\n", {"format": "counts", "count_column": False}),
    "counts in a table of many columns": (
        b"".join(b",".join([row, *[b"1"] * 32]) + b"\n" for row in (b"a,x,1", b"b,y,2")),
        {"format": "counts", "header": False, "count_column": 2},
    ),
    "counts with columns beside them": (
        b"doc,word,count,year\na,x,1,1999\nb,y,2,2001\na,y,3,1999\n",
        {"format": "counts"},
    ),
    "table of counts": (
        b"doc,river,lake,bank,class\na,2,0,1,x\nb,0,3,0,y\nc,0,0,0,x\n",
        {"format": "matrix"},
    ),
    "docword": (UCI, {}),
    "docword with a vocabulary": (UCI, {"vocabulary": b"v\nw\nx\ny\nz\n"}),
    "docword by tabs, CR LF": (UCI.replace(b" ", b"\t").replace(b"\n", b"\r\n"), {}),
    "ldac": (LDAC, {}),
    "ldac with a vocabulary": (LDAC, {"vocabulary": b"v\nw\nx\ny\nz\n"}),
    "lines": (PROSE, {"format": "lines"}),
    "lines, everything": (PROSE, {"format": "lines", "tokeniser": EVERYTHING}),
    "lines, phrases": (
        PROSE,
        {"format": "lines", "tokeniser": Tokeniser(ngrams=3, min_documents=1, max_share=0.5)},
    ),
    "lines, most words": (PROSE, {"format": "lines", "tokeniser": Tokeniser(max_words=1, min_documents=1)}),
    "lines, UTF-16": (PROSE.decode().encode("utf-16"), {"format": "lines"}),
    "lines, latin-1": (PROSE.decode().encode("latin-1"), {"format": "lines", "encoding": "latin-1"}),
    "lines, CR": (PROSE.replace(b"\n", b"\r"), {"format": "lines"}),
    "lines without an end": (PROSE.rstrip(b"\n"), {"format": "lines"}),
    "table": (TABLE, {"format": "table"}),
    "table by column": (
        TABLE,
        {"format": "table", "text_column": "topic", "name_column": "text", "tokeniser": EVERYTHING},
    ),
    "table without names": (TABLE, {"format": "table", "name_column": False}),
    "zip": (archive(), {"tokeniser": EVERYTHING}),
}


def assert_same(loaded, disk) -> None:
    """Assert that a corpus on disk and its report are those that were loaded into memory."""
    corpus, whole = loaded.data, disk.data.in_memory()
    assert disk.data.identity() == corpus.identity()
    np.testing.assert_array_equal(whole.counts.toarray(), corpus.counts.toarray())
    assert whole.vocabulary.tolist() == corpus.vocabulary.tolist()
    assert whole.documents.tolist() == corpus.documents.tolist()
    assert whole.texts == corpus.texts
    assert (whole.labels is None) == (corpus.labels is None)
    if corpus.labels is not None:
        assert whole.labels.tolist() == corpus.labels.tolist()
    assert whole.metadata.keys() == corpus.metadata.keys()
    for column in corpus.metadata:
        np.testing.assert_array_equal(whole.metadata[column], corpus.metadata[column])
    assert disk.report.to_dict() == loaded.report.to_dict()
    assert disk.schema == loaded.schema


@for_each("broken", ["refuse", "skip"])
@for_each("name", list(FILES))
def test_it_is_what_load_corpus_reads(tmp_path, name, broken):
    source, options = FILES[name]
    loaded = load_corpus(source, filename="upload.txt", **options)
    for shard_pairs in (2, 10**6):
        disk = read_to_disk(
            source,
            tmp_path / str(shard_pairs),
            filename="upload.txt",
            shard_pairs=shard_pairs,
            broken=broken,
            **options,
        )
        assert_same(loaded, disk)
        meta = json.loads((disk.data.folder / "meta.json").read_text())
        assert {path.name for path in disk.data.folder.iterdir()} == {*meta["files"], "meta.json"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1000000", "2"]


def test_texts_in_many_batches_are_cut_as_in_one(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "_BATCH_TEXTS", 3)
    source = Path(acvb_core.__file__).parents[1] / "sample_data" / "bible.csv.gz"
    text = b"".join(gzip.decompress(source.read_bytes()).splitlines(keepends=True)[:60])
    how = Tokeniser(ngrams=2, max_share=0.5, max_words=300, numbers=True)
    loaded = load_corpus(text, filename="bible.csv", tokeniser=how)
    assert_same(loaded, read_to_disk(text, tmp_path / "c", filename="bible.csv", tokeniser=how))
    assert loaded.data.n_words == 300
    assert {"dropped_stop_word", "dropped_too_rare", "dropped_too_common", "dropped_beyond_cap"} <= {
        fact.name for fact in loaded.report.facts
    }


ENTRIES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=80
)


@settings(max_examples=30)
@given(entries=ENTRIES, at_once=st.integers(1, 20))
def test_any_order_of_documents(tmp_path_factory, entries, at_once):
    folder = tmp_path_factory.mktemp("any")
    body = "".join(f"{d + 1} {w + 1} {c}\n" for d, w, c in entries) + "10 7 1\n"
    source = f"10\n7\n{len(entries) + 1}\n{body}".encode()
    loaded = load_corpus(source, filename="x")
    with patch.object(disk_build, "AT_ONCE", at_once):
        disk = read_to_disk(source, folder / "c", filename="x", shard_pairs=at_once)
    assert_same(loaded, disk)


@for_each("in_order", [False, True])
def test_what_the_spool_takes_it_gives_back_by_document(tmp_path, rng, in_order):
    documents, words = rng.integers(0, 30, size=(2, 1000))
    if in_order:
        documents.sort()
    spool = EntrySpool(tmp_path, at_once=50)
    for part in np.array_split(np.arange(1000), 70):
        spool.add(documents[part], words[part], part + 1)
    spool.add(*np.empty((3, 0), dtype=int))
    pieces = list(spool.documents(33))
    assert list(tmp_path.iterdir()) == []
    sizes = np.concatenate([np.diff(pointers) for pointers, _, _ in pieces])
    np.testing.assert_array_equal(sizes, np.bincount(documents, minlength=33))
    order = np.argsort(documents, kind="stable")
    np.testing.assert_array_equal(np.concatenate([words for _, words, _ in pieces]), words[order])
    np.testing.assert_array_equal(np.concatenate([counts for *_, counts in pieces]), order + 1)
    assert max(len(words) for _, words, _ in pieces) < 100
    assert len(pieces) >= 10


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch, rng):
    """The peak stays below a cap that is a fraction of what the counts in memory take."""
    monkeypatch.setattr(disk_build, "AT_ONCE", 1 << 14)
    n = 800_000
    documents, words = rng.integers(1, 2001, size=n), rng.integers(1, 5001, size=n)
    path = tmp_path / "docword.txt"
    lines = np.char.add(np.char.add(documents.astype(str), " "), np.char.add(words.astype(str), " 1\n"))
    path.write_text(f"2000\n5000\n{n}\n{''.join(lines.tolist())}")
    del lines
    read_to_disk(UCI, tmp_path / "first")  # what is compiled and imported once
    tracemalloc.start()
    disk = read_to_disk(path, tmp_path / "c", shard_pairs=1 << 14)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    load_corpus(path)
    whole = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert disk.data.n_tokens == n
    # A block of 0.5 MB of text takes about 25 MB to cut into fields, whatever the file's size.
    assert peak < 30e6 < whole


def test_text_that_memory_would_not_hold_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_TEXT_BYTES", 1 << 19)
    text = b"".join(b"the river bank of %d\n" % (i % 100) for i in range(30_000))
    for at, options in enumerate(
        ({"format": "lines"}, {"format": "table", "text_column": 0, "delimiter": ","})
    ):
        with pytest.raises(DataError, match="GB of text"):
            load_corpus(text, **options)
        disk = read_to_disk(text, tmp_path / str(at), tokeniser=EVERYTHING, **options)
        assert disk.data.n_documents >= 29_999


def test_progress_runs_from_nothing_to_all(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_SECONDS", 0.0)
    body = b"".join(b"%d 1 1\n" % (i + 1) for i in range(300_000))
    shares: list[float] = []
    read_to_disk(b"300000\n1\n300000\n" + body, tmp_path / "c", progress=shares.append)
    assert shares == sorted(shares)
    assert len(shares) > 5
    assert 0.0 < shares[0] < 0.5
    assert shares[-1] == 1.0
    packed: list[float] = []
    read_to_disk(gzip.compress(b"300000\n1\n300000\n" + body), tmp_path / "d", progress=packed.append)
    assert packed == sorted(packed)
    assert 0.0 < packed[0] < 0.5


def test_giving_up_leaves_nothing(tmp_path):
    def give_up(share: float) -> None:
        raise KeyboardInterrupt

    for source, options in FILES.values():
        with pytest.raises(KeyboardInterrupt):
            read_to_disk(source, tmp_path / "c", progress=give_up, **options)
    assert list(tmp_path.iterdir()) == []


@for_each(
    "source, options, told",
    [
        (UCI, {"broken": "maybe"}, "choose refuse or skip"),
        (UCI, {"tokeniser": EVERYTHING}, "A tokeniser is for texts"),
        (PROSE, {"format": "lines", "vocabulary": b"a\n"}, "A vocabulary is for word counts"),
        (UCI, {"text_column": 1}, "text_column does not apply"),
        (UCI, {"format": "parquet"}, "no format"),
        (UCI, {"shard_pairs": 0}, "at least 1"),
    ],
)
def test_arguments_that_make_no_sense(tmp_path, source, options, told):
    with pytest.raises(ParameterError, match=told):
        read_to_disk(source, tmp_path / "c", **options)
    assert list(tmp_path.iterdir()) == []
