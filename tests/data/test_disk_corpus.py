"""What a corpus on disk says of itself is what the same corpus says in memory, whatever the size of the shards."""

from __future__ import annotations

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import ShardWriter, write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus, shard_file
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


def test_sizes_and_identity_are_those_of_the_corpus_in_memory(disk, corpus):
    assert disk.identity() == corpus.identity()
    assert disk.shape == corpus.shape
    assert (disk.n_pairs, disk.n_tokens) == (corpus.n_pairs, corpus.n_tokens)
    assert disk.size_text == f"{corpus.size_text} · on disk"
    np.testing.assert_array_equal(disk.frequencies, corpus.frequencies)
    assert disk.vocabulary.tolist() == corpus.vocabulary.tolist()
    assert disk.labels is None
    assert disk.texts is None
    assert disk.bytes_on_disk == sum(len(path.read_bytes()) for path in disk.folder.iterdir())


def test_shards_hold_the_documents_in_order(disk, corpus):
    assert sum(disk.shard_sizes) == N
    found = []
    for number in range(disk.n_shards):
        pointers, words, counts = disk.shard(number)
        assert (pointers.dtype, words.dtype, counts.dtype) == (np.int64, np.int32, np.float32)
        assert len(pointers) == disk.shard_sizes[number] + 1
        found.append(sparse.csr_array((counts, words, pointers), shape=(len(pointers) - 1, V)).toarray())
    np.testing.assert_array_equal(np.vstack(found), corpus.counts.toarray())


def test_a_shard_is_as_large_as_asked(corpus, tmp_path):
    disk = write_disk_corpus([corpus], tmp_path / "c", shard_pairs=25)
    sizes = [len(disk.shard(number).words) for number in range(disk.n_shards)]
    assert max(sizes) <= 25
    # None could have taken the next one's first document as well.
    firsts = [int(disk.shard(number).pointers[1]) for number in range(1, disk.n_shards)]
    assert all(size + first > 25 for size, first in zip(sizes, firsts, strict=False))


def test_numbers_are_stored_small(corpus, tmp_path):
    disk = write_disk_corpus([corpus], tmp_path / "c")
    stored = {part: np.load(disk.folder / shard_file(0, part)) for part in ("pointers", "words", "counts")}
    assert {part: array.dtype.name for part, array in stored.items()} == {
        "pointers": "uint32", "words": "uint16", "counts": "uint32",  # there is a count of 70,000
    }  # fmt: skip
    small = write_disk_corpus(
        [([0, 2], [1, 69_999], [255, 1])], tmp_path / "d", vocabulary=list(range(70_000))
    )
    assert np.load(small.folder / shard_file(0, "words")).dtype == np.uint32
    assert np.load(small.folder / shard_file(0, "counts")).dtype == np.uint8
    assert small.shard(0).words.tolist() == [1, 69_999]


def test_chosen_documents_come_in_the_order_asked(disk, corpus):
    numbers = [N - 1, 3, 7, 58, 0]
    some = disk.documents(numbers)
    np.testing.assert_array_equal(some.counts.toarray(), rows(corpus, numbers))
    assert some.documents.tolist() == [f"doc {i}" for i in numbers]
    assert some.texts == tuple(corpus.texts[i] for i in numbers)
    assert disk.documents([]).shape == (0, V)


def test_documents_left_out_are_as_if_never_there(disk, corpus):
    out = [59, 0, 7, 20, 21]
    rest = disk.without(out)
    kept = np.setdiff1d(np.arange(N), out)
    expected = Corpus.build(rows(corpus, kept), vocabulary=corpus.vocabulary)
    assert rest.left_out.tolist() == sorted(out)
    assert (rest.shape, rest.n_pairs, rest.n_tokens) == (expected.shape, expected.n_pairs, expected.n_tokens)
    np.testing.assert_array_equal(rest.frequencies, expected.frequencies)
    assert sum(rest.shard_sizes) == len(kept)
    found = []
    for number in range(rest.n_shards):
        pointers, words, counts = rest.shard(number)
        assert len(pointers) == rest.shard_sizes[number] + 1
        found.append(sparse.csr_array((counts, words, pointers), shape=(len(pointers) - 1, V)).toarray())
    np.testing.assert_array_equal(np.vstack(found), expected.counts.toarray())
    assert rest.in_memory().documents.tolist() == [f"doc {i}" for i in kept]
    assert rest.documents([0]).documents.tolist() == ["doc 0"]  # numbers stay, and held-out ones can be read
    np.testing.assert_array_equal(disk.frequencies, corpus.frequencies)  # the original is as it was


def test_left_out_twice_is_left_out_at_once(disk):
    twice, once = disk.without([4, 9]).without([9, 30]), disk.without([30, 4, 9])
    assert twice.fingerprint == once.fingerprint != disk.fingerprint
    assert disk.without([4, 9, 31]).fingerprint != once.fingerprint
    np.testing.assert_array_equal(twice.frequencies, once.frequencies)
    assert (twice.n_pairs, twice.n_tokens, twice.n_documents) == (once.n_pairs, once.n_tokens, N - 3)
    assert disk.without([]).fingerprint == disk.fingerprint


def test_a_sample_is_of_documents_that_are_in(disk):
    rest = disk.without(np.arange(0, N, 2))
    names = rest.sample(10, seed=1).documents.tolist()
    numbers = [int(name.split()[1]) for name in names]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 10
    assert all(number % 2 for number in numbers)
    assert rest.sample(10, seed=1).documents.tolist() == names != rest.sample(10, seed=2).documents.tolist()
    assert rest.sample(10**6).n_documents == N // 2


def test_shards_can_be_read_by_threads_at_once(corpus, tmp_path):
    disk = write_disk_corpus([corpus], tmp_path / "c", shard_pairs=10)
    numbers = list(range(disk.n_shards)) * 3
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(disk.shard, numbers))
    for number, shard in zip(numbers, found, strict=True):
        for one, other in zip(shard, disk.shard(number), strict=True):
            np.testing.assert_array_equal(one, other)


@for_each("wrong", [[-1], [3, N]])
def test_numbers_beyond_the_documents_are_refused(disk, wrong):
    for read in (disk.documents, disk.without, disk.document_names):
        with pytest.raises(ParameterError, match="no document number"):
            read(wrong)


def test_something_must_stay_in(disk):
    with pytest.raises(ParameterError, match="leave some in"):
        disk.without(np.arange(N))


def test_opened_again_it_is_the_same(disk):
    again = DiskCorpus.open(str(disk.folder))
    assert again.identity() == disk.identity()
    np.testing.assert_array_equal(again.begins, disk.begins)


def damage(folder: Path, what: str) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    if what == "later":
        meta["version"] = 99
    elif what == "foreign":
        meta = {"some": "thing"}
    elif what == "incomplete":
        del meta["tokens"]
    elif what == "missing shard":
        (folder / shard_file(0, "words")).unlink()
    elif what == "cut shard":
        (folder / shard_file(0, "words")).write_bytes((folder / shard_file(0, "words")).read_bytes()[:-5])
    elif what == "no meta":
        shutil.rmtree(folder)
        folder.mkdir()
        return
    (folder / "meta.json").write_text("{" if what == "half" else json.dumps(meta))


@for_each(
    "what, told",
    [
        ("later", "of version 99"),
        ("foreign", "not that of a corpus"),
        ("incomplete", "damaged"),
        ("missing shard", "damaged"),
        ("cut shard", "damaged"),
        ("half", "damaged"),
        ("no meta", "holds no corpus"),
    ],
)
def test_a_folder_that_cannot_be_read_says_why(corpus, tmp_path, what, told):
    folder = write_disk_corpus([corpus], tmp_path / "c").folder
    damage(folder, what)
    with pytest.raises(DataError, match=told) as caught:
        DiskCorpus.open(folder)
    assert caught.value.source == str(folder)


@for_each("part, value", [("words", V), ("pointers", 10_000)])
def test_numbers_that_would_lead_out_of_the_arrays_are_refused(corpus, tmp_path, part, value):
    disk = write_disk_corpus([corpus], tmp_path / "c")
    path = disk.folder / shard_file(0, part)
    array = np.load(path)
    array[3] = value
    np.save(path, array)
    with pytest.raises(DataError, match="contradict"):
        DiskCorpus.open(disk.folder).shard(0)
    with pytest.raises(DataError, match="contradict"):
        DiskCorpus.open(disk.folder).documents(range(10))


@for_each(
    "name, old, new",
    [("names.utf8", b"d", b"\xff"), ("texts.utf8", b"o", b"\xff"), ("names.npy", b")", b"(")],
)
def test_a_byte_that_was_changed_is_damage(corpus, tmp_path, name, old, new):
    path = write_disk_corpus([corpus], tmp_path / "c").folder / name
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(DataError, match=rf"damaged \({name}"):
        DiskCorpus.open(path.parent).in_memory()


def pieces(corpus: Corpus, sizes: list[int]):
    begin = 0
    for size in sizes:
        part = corpus.counts[begin : begin + size]
        yield part.indptr, part.indices, part.data
        begin += size


def test_pieces_of_any_size_make_the_same_corpus(corpus, tmp_path):
    begins = []
    for at, sizes in enumerate(([N], [1] * N, [0, 7, 0, 50, 3])):
        given = pieces(corpus, sizes)
        disk = write_disk_corpus(given, tmp_path / str(at), vocabulary=corpus.vocabulary, shard_pairs=30)
        assert disk.fingerprint == corpus.fingerprint
        assert disk.document_names([0, 1]) == ["1", "2"]
        assert not (disk.folder / "names.utf8").exists()
        begins.append(disk.begins.tolist())
    assert begins[0] == begins[1] == begins[2]
    assert len(begins[0]) > 5


def test_a_piece_is_put_in_order_and_added_up(tmp_path):
    with ShardWriter(tmp_path / "c") as writer:
        writer.add(*map(np.array, ([0, 4, 4, 5], [2, 0, 2, 1, 1], [1, 2, 4, 0, 9])))
        disk = writer.finish(["a", "b", "c"])
    assert disk.in_memory().counts.toarray().tolist() == [[2, 0, 5], [0, 0, 0], [0, 9, 0]]
    assert (writer.zeros, writer.repeated, writer.n_empty, writer.first_empty) == (1, 1, 1, [1])


def test_corpora_of_other_words_are_matched_by_name(tmp_path):
    one = Corpus.build([[1, 2]], vocabulary=["a", "b"], documents=["x"])
    two = Corpus.build([[3, 4], [0, 5]], vocabulary=["c", "a"], documents=["x", "y"])
    disk = write_disk_corpus([one, two], tmp_path / "c")
    assert disk.vocabulary.tolist() == ["a", "b", "c"]
    assert disk.in_memory().counts.toarray().tolist() == [[1, 2, 0], [4, 0, 3], [5, 0, 0]]
    assert disk.document_names([0, 1, 2]) == ["x", "x (2)", "y"]
    with pytest.raises(DataError, match="not in the vocabulary") as caught:
        write_disk_corpus([one, two], tmp_path / "d", vocabulary=["a", "b"])
    assert caught.value.value == "c"
    with pytest.raises(DataError, match="1 names were given for 2 documents"):
        write_disk_corpus([one, ([0, 1], [0], [1])], tmp_path / "d", vocabulary=["a", "b"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]


@for_each(
    "piece, told",
    [
        (([0, 2], [0], [1]), "no documents"),
        (([0, 2, 1], [0, 1], [1, 1]), "broken|rise"),
        (([1, 2], [0, 1], [1, 1]), "should start with 0"),
        (([0, 1], [-1], [1]), "broken|index -1"),
        (([0, 1], [0.5], [1]), "not whole numbers"),
        (([0, 1], [0], [-1]), "negative"),
        (([0, 1], [0], [0.5]), "not a whole number"),
        (([0, 1], [0], [np.nan]), "missing"),
        (([0, 1], [0], [np.inf]), "larger than 2,147,483,647"),
        (([0, 2], [0, 0], [2**31 - 1, 1]), "larger than 2,147,483,647"),
        (([0, 1], [2], [1]), "broken|index 2"),
        (([0, 0], [], []), "no words"),
    ],
)
def test_a_wrong_piece_is_refused_and_leaves_nothing(tmp_path, piece, told):
    with pytest.raises(DataError, match=told):
        write_disk_corpus([tuple(np.asarray(part) for part in piece)], tmp_path / "c", vocabulary=["a", "b"])
    assert list(tmp_path.iterdir()) == []


def test_what_is_interrupted_leaves_nothing(corpus, tmp_path):
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
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="already"):
        write_disk_corpus([corpus], tmp_path / "file")
    with pytest.raises(DataError, match="cannot be written"):
        write_disk_corpus([corpus], tmp_path / "file" / "below")
    (tmp_path / "empty").mkdir()
    assert write_disk_corpus([corpus], tmp_path / "empty").fingerprint == corpus.fingerprint


def test_a_full_disk_is_told(corpus, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        write_disk_corpus([corpus], tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_is_of_these_bytes(tmp_path):
    disk = write_disk_corpus(
        [([0, 2, 3], [0, 2, 1], [1, 2, 3])], tmp_path / "c", vocabulary=list("abc"), shard_pairs=2
    )
    whole = b"corpus(2, 3)"
    for values, kind in (([0, 2, 3], "<i8"), ([0, 2, 1], "<i4"), ([1, 2, 3], "<i4")):
        whole += np.array(values, dtype=kind).tobytes()
    assert disk.n_shards == 2
    assert disk.fingerprint == hashlib.sha256(whole).hexdigest()


def test_a_folder_that_went_away_is_no_damage(corpus, tmp_path):
    kept = write_disk_corpus([corpus], tmp_path / "kept")
    (tmp_path / "kept" / shard_file(0, "words")).unlink()
    with pytest.raises(DataError, match=r"damaged \(shard-00000-words.npy is missing\)"):
        kept.shard(0)
    shutil.rmtree(tmp_path / "kept")
    with pytest.raises(DataError, match="not there any more; its folder was deleted or moved"):
        kept.shard(0)
