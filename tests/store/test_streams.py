"""Corpora on disk in the store: noted where they lie, opened again, removed only from the store's own folder."""

from __future__ import annotations

import gc
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.lda.export import CHUNK, name_columns, write_document_topics
from acvb_core.models.lda.trained import trained_topics
from acvb_core.samples.catalogue import load_sample
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.store.files import StoreError, read_arrays, write_arrays
from acvb_core.store.runs import RunStore
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each
from tests.store.support import SURVEY, assert_same_result

BARS = load_sample("bars").corpus
SHORT = {"k": 4, "epochs": 1.2, "window": 25}


def kept(folder: Path, corpus: Corpus = BARS, shard_pairs: int = 300) -> DiskCorpus:
    return write_disk_corpus([corpus], folder, shard_pairs=shard_pairs)


def streamed(corpus: DiskCorpus, **more: object) -> Result:
    return fit(corpus, "sdm", seed=4, **{"heldout_documents": 0.1, "heldout_seed": 2, **SHORT, **more})


def notes(store: RunStore) -> list[str]:
    return sorted(path.name for path in (store.folder / "streams").glob("*.npz"))


@pytest.fixture(params=["own", "outside"])
def folder(request: pytest.FixtureRequest, store: RunStore, tmp_path: Path) -> Path:
    return store.new_stream_folder() if request.param == "own" else tmp_path / "mine"


def test_a_folder_of_the_store_is_removed_with_its_last_user(store: RunStore, folder: Path) -> None:
    corpus = kept(folder)
    store.save_dataset("mine", corpus, ["Read it."], {"name": "bars"})
    store.save("mine", "run", 1.0, streamed(corpus))
    del corpus
    gc.collect()
    store.delete("mine", "run")
    assert folder.is_dir()
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert loaded[0].fingerprint == BARS.fingerprint
    assert loaded[1:] == (["Read it."], {"name": "bars"})
    del loaded
    gc.collect()
    store.save_dataset("mine", SURVEY, [], {})
    assert notes(store) == []
    assert folder.is_dir() == (not folder.is_relative_to(store.folder))


def test_a_folder_in_use_is_removed_after_its_last_use(store: RunStore) -> None:
    folder = store.new_stream_folder()
    corpus = kept(folder)
    store.save_dataset("mine", corpus, [], {})
    part = corpus.without([3]).with_words(["more"])
    del corpus
    store.save_dataset("mine", SURVEY, [], {})
    gc.collect()
    assert notes(store) == []
    assert part.shard(0).pointers[-1] > 0, "a run continues"
    del part
    gc.collect()
    assert not folder.exists()


def test_words_of_an_earlier_model_and_left_out_documents_are_noted(
    store: RunStore, folder: Path, executor: Executor
) -> None:
    first = fit(Corpus.build([[3, 1], [1, 2]], vocabulary=["old", "1"]), "cvb0", k=4, max_sweeps=2)
    corpus = kept(folder).without([0, 7])
    result = streamed(corpus, start=trained_topics(first))
    assert result.prepared.data.n_words > BARS.n_words
    assert result.prepared.spec.of == corpus.fingerprint
    store.save_dataset("mine", corpus, [], {})
    store.save("mine", "run", 1.0, result)
    assert len(notes(store)) == 2
    again = RunStore(store.folder).load("run", executor).result()
    assert_same_result(result, again)
    assert again.prepared.spec == result.prepared.spec
    loaded = RunStore(store.folder).load_dataset("mine")
    assert loaded is not None
    assert loaded[0].fingerprint == corpus.fingerprint
    del first, corpus, result, again, loaded
    store.delete("mine", "run")
    gc.collect()
    assert folder.is_dir(), "the workspace has it still"


def test_a_folder_with_another_corpus_is_named(store: RunStore, folder: Path, executor: Executor) -> None:
    store.save("mine", "run", 1.0, streamed(kept(folder)))
    assert len(RunStore(store.folder).outlines(store.runs("mine"))) == 1
    gc.collect()
    shutil.rmtree(folder)
    assert RunStore(store.folder).outlines(store.runs("mine")) == {}, (
        "a note does not say that they are there"
    )
    kept(folder, replace(BARS, counts=BARS.counts * 2))
    with pytest.raises(StoreError, match="holds other documents now than those of bars"):
        RunStore(store.folder).load("run", executor)
    (folder / "meta.json").write_text("{}")
    with pytest.raises(StoreError, match="documents of bars cannot be read from"):
        RunStore(store.folder).load("run", executor)


@for_each("name", ["..", ".", "", "../../precious", "/precious"])
def test_a_changed_note_never_removes_anything_else(name: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "kept")
    precious = tmp_path / "precious" / "file"
    precious.parent.mkdir()
    precious.write_text("mine")
    store.save_dataset("mine", kept(store.new_stream_folder()), [], {})
    (note,) = (store.folder / "streams").glob("*.npz")
    arrays = read_arrays(note, version=1)
    about = json.loads(arrays["about"].tobytes()) | {"folder": name}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    write_arrays(note, arrays, version=1)
    with pytest.raises(StoreError, match="is damaged"):
        RunStore(store.folder).load_dataset("mine")
    gc.collect()
    store.save_dataset("mine", SURVEY, [], {})
    assert precious.read_text() == "mine"
    assert store.folder.is_dir()
    assert notes(store) == []


def test_no_folder_is_removed_while_a_note_cannot_be_read(store: RunStore) -> None:
    """Written by a newer version, perhaps: it may tell of any of the folders."""
    folder = store.new_stream_folder()
    store.save("mine", "run", 1.0, streamed(kept(folder)))
    (note,) = (store.folder / "streams").glob("*.npz")
    note.write_bytes(b"of another time")
    long_ago = time.time() - 48 * 3600
    os.utime(folder, (long_ago, long_ago))
    gc.collect()
    again = RunStore(store.folder)
    assert folder.is_dir()
    other = again.new_stream_folder()
    again.save("mine", "other", 2.0, streamed(kept(other)))
    again.delete("mine", "other")
    gc.collect()
    assert folder.is_dir()
    assert other.is_dir()
    note.unlink()
    os.utime(other, (long_ago, long_ago))
    RunStore(store.folder)
    assert not folder.exists()
    assert not other.exists()


# What leaves the program of a run on disk.


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """More documents than are shown, and than one chunk has; their names are their numbers."""
    corpus = planted_topics(CHUNK + 1_200, 30, 3, 8.0, 0.2, 0.2, seed=1).corpus
    folder = tmp_path_factory.mktemp("large") / "corpus"
    return fit(kept(folder, corpus, 20_000), "sdm", k=3, epochs=1.0, heldout_documents=0.01)


def test_all_documents_are_written_chunk_by_chunk(large: Result, tmp_path: Path) -> None:
    told: list[float] = []
    write_document_topics(large, tmp_path / "documents.csv", told.append)
    assert told[-1] == 1.0
    assert len(told) == 2
    frame = pd.read_csv(tmp_path / "documents.csv", dtype={"document": str})
    data = large.prepared.data
    whole = data.in_memory()
    assert list(frame["document"]) == list(whole.documents)
    expected = name_columns(large.transform(whole), large.names["topics"])
    pd.testing.assert_frame_equal(
        frame.drop(columns="document"), expected.drop(columns=["document", "unknown"]), rtol=1e-5
    )
    shown = large.documents.set_index("document")
    # Counts settle to 1e-4, in another order of the topics where all of a sample are worked out.
    written = frame.set_index("document").loc[shown.index]
    np.testing.assert_allclose(written.to_numpy(), shown.to_numpy(), rtol=1e-3)
    assert [path.name for path in tmp_path.iterdir()] == ["documents.csv"]


def repeated(snippet: str) -> Result:
    names: dict[str, object] = {}
    exec(compile(snippet, "snippet", "exec"), names)
    again = names["result"]
    assert isinstance(again, Result)
    return again


def test_the_snippet_names_the_model_that_a_run_started_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Corpus.build([[3, 1], [1, 2]], vocabulary=["old", "1"], name="two\nlines")
    first = fit(old, "cvb0", k=4, max_sweeps=2)
    acvb_core.save_model(first, tmp_path / "model.npz")
    result = fit(BARS, "sdm", start=trained_topics(first), **SHORT)
    snippet = python_snippet(result)
    assert "    start=acvb_core.load_model('model.npz'),  # 4 topics of two lines by cvb0\n" in snippet
    assert BARS.fingerprint in snippet
    monkeypatch.chdir(tmp_path)
    assert np.array_equal(repeated(snippet).posterior["words"], result.posterior["words"])
