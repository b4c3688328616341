"""Going on from topics trained before: no word of theirs is lost, new ones are learned, nothing is counted twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.fitting import compare, fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.models.lda.online.streaming_lda import StreamingLda
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each

STREAMS = ("sdm", "scvb0", "svb")
ALL = planted_topics(400, 60, 4, 30, 0.1, 0.05, 0).corpus
#: Documents of the first 50 words, and later ones of all but the first 10.
EARLY = Corpus.build(ALL.counts[:200, :50], vocabulary=ALL.vocabulary[:50], name="early")
LATE = Corpus.build(ALL.counts[200:, 10:], vocabulary=ALL.vocabulary[10:], name="late")
TOLD = ("words", "alpha", "gains", "steps", "sizes", "course", "documents_met")


def trained_by(method: str = "sdm", corpus: Any = EARLY, **values: Any) -> TrainedTopics:
    return trained_topics(fit(corpus, method, **({"k": 4, "epochs": 2.0} | values)))


def gone_on(trained: TrainedTopics, data: Any = LATE, method: str = "sdm", **values: Any) -> Result:
    return fit(data, method, start=trained, **({"k": 4, "epochs": 1.0} | values))


def counts_of(result: Result, words: Any) -> np.ndarray:
    place = {word: row for row, word in enumerate(result.prepared.train.vocabulary)}
    return np.asarray(result.snapshot.posterior["words"][[place[word] for word in words]])


def test_words_that_do_not_come_again_keep_their_counts_with_sdm() -> None:
    trained = trained_by()
    result = gone_on(trained)
    np.testing.assert_array_equal(counts_of(result, EARLY.vocabulary[:10]), trained.counts_at(np.arange(10)))
    assert result.prepared.train.vocabulary.tolist() == [*LATE.vocabulary, *EARLY.vocabulary[:10]]


@for_each("method", ["scvb0", "svb"])
def test_words_that_do_not_come_again_decay_by_the_steps_with_minibatches(method: str) -> None:
    trained = trained_by(method)
    scale = {"step_scale": 1.0} if method == "scvb0" else {}
    result = gone_on(trained, method=method, batch=40, step_offset=1.0, step_power=0.6, **scale)
    algorithm, batches = result.prepared.algorithm, int(trained.posterior["course"][2])
    kept = np.prod([1.0 - algorithm.step(t) for t in range(batches + 1, batches + 6)])
    grown = (EARLY.n_tokens + LATE.n_tokens) / EARLY.n_tokens  # as the topics stand for so many more
    np.testing.assert_allclose(
        counts_of(result, EARLY.vocabulary[:10]), trained.counts_at(np.arange(10)) * kept * grown, rtol=1e-4
    )
    assert 0.01 < kept < 0.9


@for_each("method, totals", [("sdm", "running"), ("sdm", "corpus"), ("scvb0", "running"), ("svb", "corpus")])
def test_new_words_are_learned_by_the_company_they_keep(method: str, totals: str) -> None:
    # "twin" stands wherever the first word of a topic does.
    trained = (
        trained_by(method, ALL, epochs=10.0, batch=20, step_offset=1.0)
        if method != "sdm"
        else trained_by(method, ALL)
    )
    leader = int(np.argmax(ALL.frequencies))
    twin = ALL.counts[:, [leader]].toarray()
    data = Corpus.build(np.hstack([ALL.counts.toarray(), twin]), vocabulary=[*ALL.vocabulary, "twin"])
    assert "twin" not in trained.vocabulary
    steps = {} if method == "sdm" else {"batch": 20, "step_offset": 1.0, "step_power": 0.6}
    result = gone_on(trained, data, method, totals=totals, epochs=2.0, **steps)
    own, other = counts_of(result, ["twin"])[0], counts_of(result, [ALL.vocabulary[leader]])[0]
    assert own.sum() > 0.4 * other.sum()
    assert own.argmax() == other.argmax()


def test_a_word_not_met_for_very_long_is_learned_again_by_svb() -> None:
    # exp(psi(beta)) is far too small for a single-precision number.
    trained = trained_by("svb", ALL)
    words = trained.posterior["words"].copy()
    words[3] = 0.0
    posterior = trained.posterior.with_arrays({"words": words})
    faded = TrainedTopics(posterior, trained.vocabulary, trained.sizes, trained.documents, "faded", "svb")
    result = gone_on(faded, ALL, "svb", beta=0.001)
    expected = ALL.frequencies[3] * 0.02
    assert counts_of(result, [ALL.vocabulary[3]]).sum() > expected


@for_each("method", [*STREAMS, "asdm"])
def test_what_is_known_of_no_new_word_needs_no_other_vocabulary(method: str) -> None:
    trained = trained_by(corpus=ALL.take_documents(np.arange(100)))
    prepared = prepare_run(ALL, method, {"k": 4}, start=trained)
    assert prepared.data is ALL
    assert prepared.spec.of == ""
    assert prepared.fingerprint == ALL.fingerprint


def test_the_data_are_known_by_what_they_were_as_loaded() -> None:
    prepared = prepare_run(LATE, "sdm", {"k": 4}, start=trained_by())
    assert prepared.data.n_words == 60
    assert prepared.data.fingerprint != LATE.fingerprint
    assert prepared.fingerprint == prepared.spec.of == LATE.fingerprint
    assert prepare_run(LATE, "sdm", {"k": 4}).fingerprint == LATE.fingerprint
    # Two runs that continue share the data, and with them the split.
    trained = trained_by()
    one, two = (prepare_run(LATE, "sdm", {"k": 4}, start=trained, heldout=0.1, seed=seed) for seed in (0, 1))
    assert one.data is two.data
    assert one.train is two.train


@for_each("share", [{"heldout": 0.1}, {"heldout_documents": 0.1}])
def test_the_same_words_are_held_out_with_and_without_the_old_vocabulary(share: dict[str, float]) -> None:
    plain = prepare_run(LATE, "sdm", {"k": 4}, **share)  # type: ignore[arg-type]
    extended = prepare_run(LATE, "sdm", {"k": 4}, start=trained_by(), **share)  # type: ignore[arg-type]
    one, other = (getattr(p.heldout, "hidden", p.heldout) for p in (plain, extended))
    for name in ("documents", "words", "counts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    result = gone_on(trained_by(), **share)
    assert result.snapshot.heldout is not None
    assert result.snapshot.heldout.perplexity < 60


def test_data_on_disk_go_on_alike(tmp_path: Path) -> None:
    disk = write_disk_corpus([LATE], tmp_path / "late")
    trained = trained_by()
    for share in (0.0, 0.1):
        one = gone_on(trained, disk, shuffle=False, heldout_documents=share)
        other = gone_on(trained, LATE, shuffle=False, heldout_documents=share)
        assert isinstance(one.prepared.train, DiskCorpus)
        for name in TOLD:
            np.testing.assert_array_equal(one.snapshot.posterior[name], other.snapshot.posterior[name])
        pd.testing.assert_frame_equal(one.documents, other.documents)
        assert one.prepared.fingerprint == disk.fingerprint


def test_the_same_documents_are_not_counted_again() -> None:
    first = trained_topics(gone_on(trained_by()))
    assert first.documents == 400
    # The vocabulary with the old words is the same again, so the documents are known.
    again = trained_topics(gone_on(first))
    assert again.documents == 400
    np.testing.assert_array_equal(again.sizes, first.sizes)
    running = trained_topics(gone_on(first, totals="running"))
    assert running.documents == 400
    np.testing.assert_array_equal(running.sizes, first.sizes)


@for_each("method", STREAMS)
def test_saved_topics_go_on_like_those_in_memory(method: str, tmp_path: Path) -> None:
    trained = trained_by(method)
    acvb_core.save_model(trained, tmp_path / f"{method}.npz")
    loaded = acvb_core.load_model(tmp_path / f"{method}.npz")
    one, other = gone_on(loaded, method=method), gone_on(trained, method=method)
    for name in TOLD:
        np.testing.assert_array_equal(one.snapshot.posterior[name], other.snapshot.posterior[name])
    np.testing.assert_array_equal(one.prepared.train.vocabulary, other.prepared.train.vocabulary)


def test_learning_the_prior_goes_on_where_it_was() -> None:
    corpus = planted_topics(1200, 40, 3, 8, 0.1, 0.1, 0).corpus
    for prior in ("left_to_right", "paper"):
        trained = trained_by("sdm", corpus, k=3, epochs=1.0, prior=prior)
        assert trained.posterior["course"][1] > 1190
        result = gone_on(trained, corpus.take_documents(np.arange(50)), k=3, prior=prior)
        # It would stand still for 1,000 documents if begun anew.
        assert np.abs(result.snapshot.posterior["alpha"] - trained.posterior["alpha"]).max() > 1e-6
        assert result.snapshot.posterior["course"][1] > 1240
    # The other rule has learned from nothing yet.
    other = gone_on(trained, corpus.take_documents(np.arange(50)), k=3, prior="left_to_right")
    assert other.snapshot.posterior["course"][1] <= 50
    np.testing.assert_array_equal(other.snapshot.posterior["alpha"], trained.posterior["alpha"])


def test_further_words_stand_in_no_document(tmp_path: Path) -> None:
    disk = write_disk_corpus([LATE], tmp_path / "late")
    for data in (LATE, disk):
        wide = data.with_words(["zebra", "gnu"])
        assert wide.vocabulary.tolist() == [*LATE.vocabulary, "zebra", "gnu"]
        assert wide.frequencies.tolist() == [*LATE.frequencies, 0, 0]
        assert (wide.n_documents, wide.n_tokens, wide.n_pairs) == (
            LATE.n_documents,
            LATE.n_tokens,
            LATE.n_pairs,
        )
        assert wide.fingerprint != data.fingerprint
        assert data.n_words == 50
        assert data.with_words([]) is data
        for words in (["zebra", "zebra"], [LATE.vocabulary[4]]):
            with pytest.raises(DataError, match=f"{words[0]}.*Add words that it does not have"):
                data.with_words(words)
    both = disk.with_words(["zebra", "gnu"])
    assert both.in_memory().fingerprint == LATE.with_words(["zebra", "gnu"]).fingerprint
    assert both.fingerprint == disk.with_words(["zebra"]).with_words(["gnu"]).fingerprint
    assert both.fingerprint != disk.with_words(["gnu", "zebra"]).fingerprint
    assert (
        both.without([3]).without([5]).fingerprint
        == disk.without([3, 5]).with_words(["zebra", "gnu"]).fingerprint
    )
    assert both.added.tolist() == ["zebra", "gnu"]


def test_what_is_no_trained_topics_is_refused_and_the_way_is_told() -> None:
    corpus = planted_topics(30, 20, 2, 20, 0.1, 0.1, 0).corpus
    result = fit(corpus, "sdm", k=2, epochs=1)
    for wrong in ("model.npz", result):
        told = f"is a {type(wrong).__name__}; give trained topics: load_model.*trained_topics"
        with pytest.raises(ParameterError, match=told):
            fit(corpus, "sdm", k=2, start=wrong)
        with pytest.raises(ParameterError, match=told):
            fit(corpus, "cvb0", k=2, start=wrong)
        with pytest.raises(ParameterError, match=told):
            StreamingLda.from_trained(wrong)  # type: ignore[arg-type]


def test_a_comparison_refuses_what_cannot_go_on_before_the_first_run() -> None:
    corpus = planted_topics(30, 20, 2, 20, 0.1, 0.1, 0).corpus
    start, seen = trained_topics(fit(corpus, "sdm", k=2, epochs=1)), []
    with pytest.raises(ParameterError, match="method 'vb' cannot continue from an earlier run"):
        compare(corpus, ["sdm", "vb"], k=2, start=start, watch=lambda *at: seen.append(at))
    assert not seen
