"""Continuing from topics trained before: no word of theirs is lost, new ones are learned, nothing is counted twice."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import compare, fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.models.lda.online.streaming_lda import StreamingLda
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each

ALL = planted_topics(400, 60, 4, 30, 0.1, 0.05, 0).corpus
#: Documents of the first 50 words, and later ones of all but the first 10.
EARLY = Corpus.build(ALL.counts[:200, :50], vocabulary=ALL.vocabulary[:50], name="early")
LATE = Corpus.build(ALL.counts[200:, 10:], vocabulary=ALL.vocabulary[10:], name="late")
TOLD = ("words", "alpha", "gains", "steps", "sizes", "course", "documents_met")


def trained_by(method: str = "sdm", corpus: Any = EARLY, **values: Any) -> TrainedTopics:
    return trained_topics(fit(corpus, method, **({"k": 4, "epochs": 2.0} | values)))


def continued(trained: TrainedTopics, data: Any = LATE, method: str = "sdm", **values: Any) -> Result:
    return fit(data, method, start=trained, **({"k": 4, "epochs": 1.0} | values))


def counts_of(result: Result, words: Any) -> np.ndarray:
    place = {word: row for row, word in enumerate(result.prepared.train.vocabulary)}
    return np.asarray(result.snapshot.posterior["words"][[place[word] for word in words]])


def test_words_that_do_not_come_again_keep_their_counts_with_sdm() -> None:
    trained = trained_by()
    result = continued(trained)
    np.testing.assert_array_equal(counts_of(result, EARLY.vocabulary[:10]), trained.posterior["words"][:10])
    assert result.prepared.train.vocabulary.tolist() == [*LATE.vocabulary, *EARLY.vocabulary[:10]]


@for_each("method", ["scvb0", "svb"])
def test_words_that_do_not_come_again_decay_by_the_steps_with_minibatches(method: str) -> None:
    trained = trained_by(method)
    scale = {"step_scale": 1.0} if method == "scvb0" else {}
    result = continued(trained, method=method, batch=40, step_offset=1.0, step_power=0.6, **scale)
    algorithm, batches = result.prepared.algorithm, int(trained.posterior["course"][2])
    kept = np.prod([1.0 - algorithm.step(t) for t in range(batches + 1, batches + 6)])
    grown = (EARLY.n_tokens + LATE.n_tokens) / EARLY.n_tokens  # as the topics stand for so many more
    np.testing.assert_allclose(
        counts_of(result, EARLY.vocabulary[:10]), trained.posterior["words"][:10] * kept * grown, rtol=1e-4
    )
    assert 0.01 < kept < 0.9


@for_each("method, totals", [("sdm", "running"), ("sdm", "corpus"), ("scvb0", "running"), ("svb", "corpus")])
def test_new_words_are_learned_by_the_company_they_keep(method: str, totals: str) -> None:
    # "twin" is wherever the most frequent word is.
    more = {} if method == "sdm" else {"epochs": 10.0, "batch": 20, "step_offset": 1.0}
    trained = trained_by(method, ALL, **more)
    leader = int(np.argmax(ALL.frequencies))
    twin = ALL.counts[:, [leader]].toarray()
    data = Corpus.build(np.hstack([ALL.counts.toarray(), twin]), vocabulary=[*ALL.vocabulary, "twin"])
    steps = {} if method == "sdm" else {"batch": 20, "step_offset": 1.0, "step_power": 0.6}
    result = continued(trained, data, method, totals=totals, epochs=2.0, **steps)
    own, other = counts_of(result, ["twin"])[0], counts_of(result, [ALL.vocabulary[leader]])[0]
    assert own.sum() > 0.4 * other.sum()
    assert own.argmax() == other.argmax()


def test_the_data_are_known_by_what_they_were_as_loaded() -> None:
    trained = trained_by()
    one, two = (prepare_run(LATE, "sdm", {"k": 4}, start=trained, heldout=0.1, seed=seed) for seed in (0, 1))
    assert one.data.n_words == 60
    assert one.data.fingerprint != LATE.fingerprint
    assert one.fingerprint == one.spec.of == LATE.fingerprint
    # Two runs that continue share the data, and with them the split, which is that of the data as loaded.
    assert one.data is two.data
    assert one.train is two.train
    plain = prepare_run(LATE, "sdm", {"k": 4}, heldout=0.1)
    for name in ("documents", "words", "counts"):
        np.testing.assert_array_equal(getattr(one.heldout, name), getattr(plain.heldout, name))
    # All words are known: no other vocabulary is needed.
    known = prepare_run(ALL, "sdm", {"k": 4}, start=trained_by(corpus=ALL.take_documents(np.arange(100))))
    assert (known.data is ALL, known.spec.of) == (True, "")


def test_data_on_disk_give_the_same(tmp_path: Path) -> None:
    disk = write_disk_corpus([LATE], tmp_path / "late")
    one, other = (
        continued(trained_by(), data, shuffle=False, heldout_documents=0.1) for data in (disk, LATE)
    )
    for name in TOLD:
        np.testing.assert_array_equal(one.snapshot.posterior[name], other.snapshot.posterior[name])
    pd.testing.assert_frame_equal(one.documents, other.documents)
    assert one.prepared.fingerprint == disk.fingerprint


def test_the_same_documents_are_not_counted_again(tmp_path: Path) -> None:
    """The vocabulary with the old words is the same again, so the documents are known; in a saved model too."""
    first = trained_topics(continued(trained_by()))
    assert first.documents == 400
    acvb_core.save_model(first, tmp_path / "model.npz")
    for start in (first, acvb_core.load_model(tmp_path / "model.npz")):
        for totals in ("corpus", "running"):
            again = trained_topics(continued(start, totals=totals))
            assert again.documents == 400
            np.testing.assert_array_equal(again.sizes, first.sizes)


def test_further_words_are_in_no_document(tmp_path: Path) -> None:
    disk, words = write_disk_corpus([LATE], tmp_path / "late"), ["zebra", "gnu"]
    for data in (LATE, disk):
        wide = data.with_words(words)
        assert wide.vocabulary.tolist() == [*LATE.vocabulary, *words]
        assert wide.frequencies.tolist() == [*LATE.frequencies, 0, 0]
        assert data.with_words([]) is data
        with pytest.raises(DataError, match=f"{LATE.vocabulary[4]}.*Add words that it does not have"):
            data.with_words([LATE.vocabulary[4]])
    both = disk.with_words(words)
    assert both.in_memory().fingerprint == LATE.with_words(words).fingerprint
    assert both.fingerprint == disk.with_words(["zebra"]).with_words(["gnu"]).fingerprint
    assert both.without([3]).without([5]).fingerprint == disk.without([3, 5]).with_words(words).fingerprint


def test_another_start_is_refused_with_what_to_give() -> None:
    corpus = planted_topics(30, 20, 2, 20, 0.1, 0.1, 0).corpus
    result = fit(corpus, "sdm", k=2, epochs=1)
    for wrong in ("model.npz", result):
        told = f"is a {type(wrong).__name__}; give trained topics: load_model.*trained_topics"
        for ask in (
            partial(fit, corpus, "cvb0", k=2, start=wrong),
            partial(StreamingLda.from_trained, wrong),
        ):
            with pytest.raises(ParameterError, match=told):
                ask()
    with pytest.raises(ParameterError, match="method 'vb' cannot continue from an earlier run"):
        compare(
            corpus, ["sdm", "vb"], k=2, start=trained_topics(result), watch=lambda *_: pytest.fail("a run")
        )
