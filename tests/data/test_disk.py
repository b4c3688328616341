"""A corpus on disk is the same as in memory, however it was read and whatever the size of its shards."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora import disk_build
from acvb_core.data.corpora.disk_build import read_to_disk, write_disk_corpus
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus, shard_file
from acvb_core.data.sources import source as sources
from tests.data.support import EVERYTHING, zipped
from tests.loops import for_each

N, V = 60, 40


@pytest.fixture
def corpus(rng):
    counts = rng.poisson(0.3, size=(N, V))
    counts[7] = 0  # an empty document
    counts[-1] = 0
    counts[:, 5] = 0  # an unused word
    counts[20, 3] = 70_000
    return Corpus.build(
        counts,
        vocabulary=[f"wörd {i}" for i in range(V)],
        documents=[f"doc {i}" for i in range(N)],
        texts=[f"text\nof {i}" * (i % 4) for i in range(N)],
        name="some",
    )


@pytest.fixture(params=[1, 25, 10**6])
def disk(request, corpus, tmp_path):
    return write_disk_corpus([corpus], tmp_path / "c", shard_pairs=request.param)


def rows(corpus: Corpus, numbers) -> np.ndarray:
    return corpus.counts.toarray()[numbers]


def counts_of(disk: DiskCorpus) -> np.ndarray:
    """Return the counts of all shards, one below the other."""
    found = []
    for size, (pointers, words, counts) in zip(
        disk.shard_sizes, map(disk.shard, range(disk.n_shards)), strict=True
    ):
        assert (pointers.dtype, words.dtype, counts.dtype) == (np.int64, np.int32, np.float32)
        found.append(sparse.csr_array((counts, words, pointers), shape=(size, V)).toarray())
    return np.vstack(found)


def test_sizes_and_identity_are_those_of_the_corpus_in_memory(disk, corpus):
    assert disk.identity() == corpus.identity()
    assert disk.shape == corpus.shape
    assert (disk.n_pairs, disk.n_tokens) == (corpus.n_pairs, corpus.n_tokens)
    assert disk.size_text == f"{corpus.size_text} · on disk"
    np.testing.assert_array_equal(disk.frequencies, corpus.frequencies)
    assert disk.bytes_on_disk == sum(len(path.read_bytes()) for path in disk.folder.iterdir())


def test_shards_hold_the_documents_in_order(disk, corpus):
    assert sum(disk.shard_sizes) == N
    np.testing.assert_array_equal(counts_of(disk), corpus.counts.toarray())


def test_documents_left_out_are_as_if_never_there(disk, corpus):
    out = [59, 0, 7, 20, 21]
    rest = disk.without(out)
    kept = np.setdiff1d(np.arange(N), out)
    expected = Corpus.build(rows(corpus, kept), vocabulary=corpus.vocabulary)
    assert rest.left_out.tolist() == sorted(out)
    assert (rest.shape, rest.n_pairs, rest.n_tokens) == (expected.shape, expected.n_pairs, expected.n_tokens)
    np.testing.assert_array_equal(rest.frequencies, expected.frequencies)
    assert sum(rest.shard_sizes) == len(kept)
    np.testing.assert_array_equal(counts_of(rest), expected.counts.toarray())
    assert rest.in_memory().documents.tolist() == [f"doc {i}" for i in kept]
    assert rest.documents([0]).documents.tolist() == ["doc 0"]  # numbers stay, and held-out ones can be read
    np.testing.assert_array_equal(disk.frequencies, corpus.frequencies)  # the original is as it was


def test_a_sample_is_of_documents_that_are_in(disk):
    rest = disk.without(np.arange(0, N, 2))
    names = rest.sample(10, seed=1).documents.tolist()
    numbers = [int(name.split()[1]) for name in names]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 10
    assert all(number % 2 for number in numbers)
    assert rest.sample(10, seed=1).documents.tolist() == names != rest.sample(10, seed=2).documents.tolist()


WORDS_FILE = shard_file(0, "words")


@for_each(
    "name, change, told",
    [
        ("meta.json", lambda content: content.replace(b'"version": ', b'"version": 9'), "of version 9"),
        ("meta.json", lambda content: b'{"some": "thing"}', "not that of a corpus"),
        ("meta.json", lambda content: content.replace(b'"tokens"', b'"token"'), "damaged"),
        ("meta.json", lambda content: b"{", "damaged"),
        ("meta.json", None, "holds no corpus"),
        (WORDS_FILE, None, "damaged"),
        (WORDS_FILE, lambda content: content[:-5], "damaged"),
        ("names.utf8", lambda content: content.replace(b"d", b"\xff", 1), r"damaged \(names.utf8"),
        ("names.npy", lambda content: content.replace(b")", b"(", 1), r"damaged \(names.npy"),
    ],
)
def test_a_damaged_folder_is_refused_with_the_reason(corpus, tmp_path, name, change, told):
    path = write_disk_corpus([corpus], tmp_path / "c").folder / name
    content = path.read_bytes()
    path.unlink()
    if change is not None:
        path.write_bytes(change(content))
    with pytest.raises(DataError, match=told) as caught:
        DiskCorpus.open(path.parent).in_memory()
    assert caught.value.source == str(path.parent)


@for_each("part, value", [("words", V), ("pointers", 10_000)])
def test_numbers_that_would_lead_out_of_the_arrays_are_refused(corpus, tmp_path, part, value):
    disk = write_disk_corpus([corpus], tmp_path / "c")
    path = disk.folder / shard_file(0, part)
    array = np.load(path)
    array[3] = value
    np.save(path, array)
    with pytest.raises(DataError, match="contradict"):
        DiskCorpus.open(disk.folder).shard(0)


def test_corpora_of_other_words_are_matched_by_name(tmp_path):
    one = Corpus.build([[1, 2]], vocabulary=["a", "b"], documents=["x"])
    two = Corpus.build([[3, 4], [0, 5]], vocabulary=["c", "a"], documents=["x", "y"])
    disk = write_disk_corpus([one, two], tmp_path / "c")
    assert disk.vocabulary.tolist() == ["a", "b", "c"]
    assert disk.in_memory().counts.toarray().tolist() == [[1, 2, 0], [4, 0, 3], [5, 0, 0]]
    assert disk.document_names([0, 1, 2]) == ["x", "x (2)", "y"]
    blank = Corpus.build([[1]], texts=[""])
    assert write_disk_corpus([blank], tmp_path / "blank").in_memory().texts == ("",)
    shutil.rmtree(tmp_path / "blank")
    with pytest.raises(ParameterError, match="no document number -1 "):
        disk.documents([0, -1, 9])
    with pytest.raises(DataError, match="not in the vocabulary") as caught:
        write_disk_corpus([one, two], tmp_path / "d", vocabulary=["a", "b"])
    assert caught.value.value == "c"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


@for_each(
    "piece, told",
    [
        (([0, 2], [0], [1]), "no documents"),
        (([0, 2, 1], [0, 1], [1, 1]), "broken|rise"),
        (([1, 2], [0, 1], [1, 1]), "should start with 0"),
        (([0, 1], [-1], [1]), "broken|index -1"),
        (([0, 1], [0], [-1]), "negative"),
        (([0, 1], [0], [0.5]), "not a whole number"),
        (([0, 2], [0, 0], [2**31 - 1, 1]), "larger than 2,147,483,647"),
        (([0, 1], [2], [1]), "broken|index 2"),
        (([0, 0], [], []), "no words"),
    ],
)
def test_a_wrong_piece_is_refused_and_leaves_nothing(tmp_path, piece, told):
    with pytest.raises(DataError, match=told):
        write_disk_corpus([tuple(np.asarray(part) for part in piece)], tmp_path / "c", vocabulary=["a", "b"])
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_reading_leaves_nothing(corpus, tmp_path):
    def stream():
        yield corpus
        assert [path.name[:3] for path in tmp_path.iterdir()] == [".c-"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_disk_corpus(stream(), tmp_path / "c", shard_pairs=5)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(corpus, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine.txt").write_text("dear")
    with pytest.raises(ParameterError, match="already"):
        write_disk_corpus([corpus], tmp_path / "c")
    assert (tmp_path / "c" / "mine.txt").read_text() == "dear"
    (tmp_path / "empty").mkdir()
    assert write_disk_corpus([corpus], tmp_path / "empty").fingerprint == corpus.fingerprint


def test_a_folder_that_went_away_is_no_damage(corpus, tmp_path):
    kept = write_disk_corpus([corpus], tmp_path / "kept")
    (tmp_path / "kept" / shard_file(0, "words")).unlink()
    with pytest.raises(DataError, match=r"damaged \(shard-00000-words.npy is missing\)"):
        kept.shard(0)
    shutil.rmtree(tmp_path / "kept")
    with pytest.raises(DataError, match="not there any more; its folder was deleted or moved"):
        kept.shard(0)


LONG = b'doc,word,count\nb,cat,2\na,cat,1\nb,dog,1\nb,cat,3\nc,dog,0\na,"the ""x""",7\n'
UCI = b"4\n5\n6\n3 1 2\n1 1 1\n3 4 300\n1 1 2\n4 2 1.00\n1 5 0\n"
LDAC = b"2 0:1 3:2\n0\n1 2:5\n\n2 3:1 3:2\n"
PROSE = "The river bank 1999\nmoney in the bank\n\nThe river runs\nbank of the Fluß and river bank\n".encode()
TABLE = (
    b'id,text,topic\nx,"a river, bank",one\nx,money bank,two\n\n,river ""bank,one\ny,"multi\nline ""river""\n",one\n'
    b"x,nothing else,one\nx (2),bank,two\n"
)


# name: (bytes, options)
FILES = {
    "counts": (LONG, {}),
    "counts of a vocabulary": (LONG, {"vocabulary": b'dog\ncow\ncat\nthe "x"\n'}),
    "counts in a table of many columns": (
        b"".join(b",".join([row, *[b"1"] * 32]) + b"\n" for row in (b"a,x,1", b"b,y,2")),
        {"format": "counts", "header": False, "count_column": 2},
    ),
    "counts with columns beside them": (
        b"doc,word,count,year\na,x,1,1999\nb,y,2,2001\na,y,3,1999\n", {"format": "counts"},
    ),
    "table of counts": (b"doc,river,lake,bank,class\na,2,0,1,x\nb,0,3,0,y\nc,0,0,0,x\n", {"format": "matrix"}),
    "docword": (UCI, {}),
    "ldac": (LDAC, {}),
    "ldac with a vocabulary": (LDAC, {"vocabulary": b"v\nw\nx\ny\nz\n"}),
    "lines": (PROSE, {"format": "lines"}),
    "lines, phrases": (PROSE, {"format": "lines", "tokeniser": Tokeniser(ngrams=3, min_documents=1, max_share=0.5)}),
    "lines, latin-1": (PROSE.decode().encode("latin-1"), {"format": "lines", "encoding": "latin-1"}),
    "lines, CR": (PROSE.replace(b"\n", b"\r"), {"format": "lines"}),
    "table": (TABLE, {"format": "table"}),
    "table by column": (
        TABLE, {"format": "table", "text_column": "topic", "name_column": "text", "tokeniser": EVERYTHING},
    ),
    "zip": (
        zipped({"a/x.txt": "the river bank", "b/x.txt": "money river bank", "b/empty.txt": "", "read.md": "no"}),
        {"tokeniser": EVERYTHING},
    ),
}  # fmt: skip


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
def test_a_file_read_to_disk_is_the_same_as_in_memory(tmp_path, name, broken):
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


def test_a_full_disk_is_reported(corpus, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        write_disk_corpus([corpus], tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_text_that_memory_would_not_hold_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_TEXT_BYTES", 1 << 19)
    text = b"".join(b"the river bank of %d\n" % (i % 100) for i in range(30_000))
    with pytest.raises(DataError, match="GB of text"):
        load_corpus(text, format="lines")
    disk = read_to_disk(text, tmp_path / "c", tokeniser=EVERYTHING, format="lines")
    assert disk.data.n_documents == 30_000


def test_arguments_that_make_no_sense(tmp_path):
    for wrong, told in (({"broken": "maybe"}, "choose refuse or skip"), ({"shard_pairs": 0}, "at least 1")):
        with pytest.raises(ParameterError, match=told):
            read_to_disk(UCI, tmp_path / "c", **wrong)


LISTS = [["river", "bank", "river"], [], ["bank", "money"]]


@for_each(
    "source",
    [
        LISTS,
        [[(0, 2), (2, 1)], [], [(2, 3)]],
        np.array([[2, 0, 1], [0, 0, 0], [0, 0, 3]]),
    ],
)
def test_python_objects_are_read_to_disk_as_into_memory(source, tmp_path):
    loaded = load_corpus(source, name="mine")
    shares: list[float] = []
    disk = read_to_disk(source, tmp_path / "disk", name="mine", progress=shares.append)
    assert disk.data.identity() == loaded.data.identity()
    assert disk.data.documents([0, 1, 2]).texts == loaded.data.texts
    assert disk.report == loaded.report
    assert shares == [1.0]
    bare = read_to_disk(source, tmp_path / "bare", keep_texts=False).data
    assert not bare.has_texts
    assert bare.fingerprint == loaded.data.fingerprint
