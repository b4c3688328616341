"""Corpora come back from disk with everything they hold, beside relations, and what is damaged is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.store import datasets, files
from acvb_core.store.codecs import CORPORA
from acvb_core.store.files import StoreError
from acvb_core.store.runs import RunStore
from tests.store.support import SURVEY, assert_same_corpus, assert_same_relation, odd_corpus


def plain_corpus() -> Corpus:
    """Counts, and nothing that a reader of texts would know."""
    return Corpus.build(np.array([[1, 2], [0, 0], [3, 0]]))


@pytest.mark.parametrize("corpus", [odd_corpus(), plain_corpus()], ids=["odd", "plain"])
def test_a_corpus_comes_back(store: RunStore, corpus: Corpus) -> None:
    settings = {"source": "öl.zip", "tokeniser": Tokeniser().to_dict()}
    store.save_dataset("mine", corpus, ["Read 3 lines.", "日本"], settings)
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert_same_corpus(loaded[0], corpus)
    assert loaded[1] == ["Read 3 lines.", "日本"]
    assert loaded[2] == settings | {"tokeniser": Tokeniser().to_dict()}


CHANGES: list[dict[str, Any]] = [
    {"counts": Corpus.build(np.eye(15, 4, dtype=int)).counts},
    {"vocabulary": np.array(["", "=a", "日本", "other"], dtype=object)},
    {"documents": odd_corpus("other").documents},
    {"name": "other"},
    {"texts": None},
    {"texts": (*(odd_corpus().texts or ())[:-1], "other")},
    {"labels": None},
    {"labels": np.array(["same"] * 14 + ["other"], dtype=object)},
    {"tokeniser": None},
    {"tokeniser": Tokeniser()},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_whatever_differs_is_kept_apart(store: RunStore, change: dict[str, Any]) -> None:
    one, other = odd_corpus(), replace(odd_corpus(), **change)
    assert CORPORA.key(one) == CORPORA.key(odd_corpus())
    assert CORPORA.key(one) != CORPORA.key(other)
    for workspace, corpus in (("a", one), ("b", other)):
        store.save_dataset(workspace, corpus, [], {})
    for workspace, corpus in (("a", one), ("b", other)):
        loaded = store.load_dataset(workspace)
        assert loaded is not None
        assert_same_corpus(loaded[0], corpus)


def test_texts_and_labels_that_trade_places_are_kept_apart() -> None:
    words = ("a", "b", "c")
    with_texts = replace(plain_corpus(), texts=words)
    with_labels = replace(plain_corpus(), labels=np.array(words, dtype=object))
    assert CORPORA.key(with_texts) != CORPORA.key(with_labels)


def test_a_workspace_may_go_from_one_kind_to_the_other_and_back(store: RunStore) -> None:
    def files_kept() -> tuple[int, int]:
        return tuple(len(list((store.folder / name).iterdir())) for name in ("relations", "corpora"))  # type: ignore[return-value]

    store.save_dataset("mine", odd_corpus(), [], {})
    assert files_kept() == (0, 1)
    store.save_dataset("mine", SURVEY, [], {})
    assert files_kept() == (1, 0)
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert_same_relation(loaded[0], SURVEY)
    store.save_dataset("mine", odd_corpus(), [], {})
    assert files_kept() == (0, 1)


def test_what_is_no_data_cannot_be_stored(store: RunStore) -> None:
    with pytest.raises(StoreError, match="a dict cannot be stored; relations, corpora and tables can"):
        store.save_dataset("mine", {}, [], {})


def test_the_table_of_kinds_has_no_two_alike() -> None:
    for column in ("name", "data_type", "folder"):
        assert len({getattr(kind, column) for kind in datasets.KINDS}) == len(datasets.KINDS)
    with pytest.raises(StoreError, match="kind 'graph' cannot be read by this version"):
        datasets.find_kind("graph")


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped", "foreign"])
def test_a_damaged_corpus_is_named(store: RunStore, damage: str) -> None:
    store.save_dataset("mine", odd_corpus(), [], {})
    (path,) = (store.folder / "corpora").iterdir()
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "gone":
        path.unlink()
    elif damage == "foreign":
        with path.open("wb") as file:
            np.savez(file, version=1, something=np.arange(3))
    else:
        flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
        path.write_bytes({"empty": b"", "cut": whole[:middle], "flipped": flipped}[damage])
    with pytest.raises(StoreError) as error:
        RunStore(store.folder).load_dataset("mine")
    assert str(path) in str(error.value)


FAULTS: dict[str, dict[str, Any]] = {
    "negative count": {"counts": np.array([-1, 1, 1], dtype=np.int32)},
    "count that is none": {"counts": np.array([0.5, 1, 1])},
    "word out of range": {"indices": np.array([0, 1, 7], dtype=np.int32)},
    "pointers that fall": {"indptr": np.array([0, 3, 1, 3], dtype=np.int32)},
    "missing vocabulary": {"vocabulary": files.labels_bytes(["a"])},
    "repeated word": {"vocabulary": files.labels_bytes(["a", "a"])},
    "too few texts": {"texts": files.labels_bytes(["a"])},
    "too many labels": {"labels": files.labels_bytes(["a"] * 4)},
    "no JSON": {"about": np.frombuffer(b"{", dtype=np.uint8)},
    "no name": {"about": files.text_bytes({"tokeniser": None})},
    "a list for a mapping": {"about": files.text_bytes([])},
    "a mapping for a name": {"about": files.text_bytes({"name": {}, "tokeniser": None})},
    "numbers for texts": {"texts": files.text_bytes([1, 2])},
    "numbers in a column": {"metadata": files.text_bytes({"day": ["integer", [1, 2]]})},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_contents_that_make_no_sense_are_damage(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "corpus.npz"
    CORPORA.write(path, plain_corpus())
    arrays = files.read_arrays(path, version=CORPORA.version)
    files.write_arrays(path, arrays | FAULTS[fault], version=CORPORA.version)
    with pytest.raises(StoreError, match=r"corpus\.npz is damaged"):
        CORPORA.read(path)


def test_a_tokeniser_of_another_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "corpus.npz"
    CORPORA.write(path, plain_corpus())
    about = files.text_bytes({"name": "new", "tokeniser": {"magic": True}})
    arrays = files.read_arrays(path, version=CORPORA.version)
    files.write_arrays(path, arrays | {"about": about}, version=CORPORA.version)
    with pytest.raises(StoreError, match=r"corpus\.npz holds a corpus that .* no setting 'magic'"):
        CORPORA.read(path)


def test_a_corpus_in_the_place_of_another_is_noticed(store: RunStore) -> None:
    store.save_dataset("mine", odd_corpus(), [], {})
    (path,) = (store.folder / "corpora").iterdir()
    CORPORA.write(path, plain_corpus())
    with pytest.raises(StoreError, match="not the corpus it was stored as"):
        RunStore(store.folder).load_dataset("mine")


def test_texts_cut_in_another_place_have_another_key() -> None:
    parts = [{"a": b"fire", "b": b"fly"}, {"a": b"fir", "b": b"efly"}, {"a": b"firefly", "b": b""}]
    keys = {
        files.texts_key("same", {name: np.frombuffer(text, np.uint8) for name, text in part.items()})
        for part in parts
    }
    assert len(keys) == len(parts)


def test_a_key_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = odd_corpus()
    key = datasets.dataset_key(corpus)
    monkeypatch.setattr("acvb_core.store.codecs.texts_key", None)
    assert datasets.dataset_key(corpus) == key


def test_long_texts_cost_their_length_and_no_more(tmp_path: Path) -> None:
    """One text far longer than the others is stored at its own length; twice as many take about twice as long."""
    texts = ["word " * 400_000, *("short" for _ in range(3000))]
    corpus = Corpus.build(np.ones((len(texts), 1), dtype=int), texts=texts)
    CORPORA.write(tmp_path / "c.npz", corpus)
    assert (tmp_path / "c.npz").stat().st_size < 2_300_000
    assert_same_corpus(CORPORA.read(tmp_path / "c.npz"), corpus)
    seconds = []
    for n in (20_000, 160_000):
        many = Corpus.build(np.ones((n, 1), dtype=int), texts=["a few words"] * n)
        begin = process_time()
        CORPORA.key(many)
        seconds.append(process_time() - begin)
    assert seconds[1] < 40 * max(seconds[0], 0.005), "quadratic would be 64 times"
