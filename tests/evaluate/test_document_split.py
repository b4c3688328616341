"""Whole documents held out: which, what of them is seen, and that all methods are judged on the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.evaluate.split import MOST_DOCUMENTS, HeldOutWords, hold_out_documents
from acvb_core.models.lda.topics import word_probability
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each

CORPUS = planted_topics(80, 50, 3, 25, 0.2, 0.1, 2).corpus


def parts(corpus: Any, share: float = 0.2, seed: int = 1) -> tuple[Any, HeldOutWords]:
    split = hold_out_documents(corpus, share, seed)
    assert split.heldout.seen is not None
    return split.train, split.heldout


@for_each("share", [0.001, 0.05, 0.2, 0.5, 0.999])
def test_every_document_is_on_one_side(share: float) -> None:
    train, heldout = parts(CORPUS, share)
    wanted = min(max(1, round(share * 80)), 79)
    assert (heldout.seen.n_documents, train.n_documents) == (wanted, 80 - wanted)
    assert sorted([*heldout.seen.documents, *train.documents]) == sorted(CORPUS.documents)
    assert train.vocabulary is CORPUS.vocabulary
    for name, row in zip(train.documents, train.counts.toarray(), strict=True):
        np.testing.assert_array_equal(row, CORPUS.counts.toarray()[CORPUS.documents == name][0])


def test_seen_and_hidden_words_are_the_documents_whole_but_for_words_nobody_else_has() -> None:
    counts = CORPUS.counts.toarray()
    counts[7, 49], counts[:7, 49], counts[8:, 49] = 5, 0, 0  # a word of one document
    corpus = Corpus.build(counts)
    for seed in range(200):
        train, heldout = parts(corpus, 0.1, seed)
        places = np.flatnonzero(np.isin(corpus.documents, heldout.seen.documents))
        assert heldout.seen.documents.tolist() == corpus.documents[places].tolist()
        whole = heldout.seen.counts.toarray()
        np.add.at(whole, (heldout.documents, heldout.words), heldout.counts)
        wanted = counts[places].copy()
        wanted[:, train.frequencies == 0] = 0
        np.testing.assert_array_equal(whole, wanted)
        # About a fifth of each document's tokens is to be predicted.
        assert heldout.n == pytest.approx(0.2 * wanted.sum(), abs=0.5 * len(places) + 1)
        note = hold_out_documents(corpus, 0.1, seed).note
        if 7 in places:
            unknown = int(counts[places].sum() - wanted.sum())
            assert unknown >= 5
            assert note is not None
            assert note.startswith(f"{unknown} words of the documents held out are left out")
            return
    raise AssertionError("the document was never held out")


def test_all_documents_are_as_likely() -> None:
    times = np.zeros(80)
    for seed in range(400):
        _, heldout = parts(CORPUS, 0.25, seed)
        times[np.isin(CORPUS.documents, heldout.seen.documents)] += 1
    # Binomial(400, 1/4): 100 give or take 8.7.
    assert times.min() > 65
    assert times.max() < 135


def test_the_same_seed_is_the_same_split() -> None:
    one, again, other = (parts(CORPUS, 0.2, seed)[1] for seed in (1, 1, 2))
    assert one.seen.fingerprint == again.seen.fingerprint
    assert one.counts.tolist() == again.counts.tolist()
    assert one.seen.documents.tolist() != other.seen.documents.tolist()


def test_a_corpus_on_disk_is_split_alike(tmp_path: Path) -> None:
    disk = write_disk_corpus([CORPUS], tmp_path / "disk", vocabulary=CORPUS.vocabulary, shard_pairs=200)
    (train, heldout), (stored, aside) = parts(CORPUS), parts(disk)
    np.testing.assert_array_equal(stored.in_memory().counts.toarray(), train.counts.toarray())
    np.testing.assert_array_equal(stored.frequencies, train.frequencies)
    np.testing.assert_array_equal(aside.seen.counts.toarray(), heldout.seen.counts.toarray())
    for name in ("documents", "words", "counts"):
        np.testing.assert_array_equal(getattr(aside, name), getattr(heldout, name))
    # What is left can be split again.
    again, second = parts(stored, 0.1, 5)
    left = train.documents[~np.isin(train.documents, second.seen.documents)]
    assert again.in_memory().documents.tolist() == left.tolist()


def test_no_more_than_enough_are_held_out() -> None:
    corpus = Corpus.build(np.tile([[2, 1]], (MOST_DOCUMENTS * 2, 1)))
    split = hold_out_documents(corpus, 0.6, 0)
    assert split.heldout.seen.n_documents == MOST_DOCUMENTS
    assert "12,000" in split.note


def test_next_to_nothing_is_split() -> None:
    alone = Corpus.build(np.array([[3, 1]]))
    split = hold_out_documents(alone, 0.5, 0)
    assert split.train is alone
    assert split.note == "There is one document only: nothing is held out."
    assert hold_out_documents(CORPUS, 0.0, 0).note is None
    short = hold_out_documents(Corpus.build(np.eye(6, 3, dtype=int) + np.eye(6, 3, -3, dtype=int)), 0.3, 0)
    assert short.heldout.n == 0
    assert "too short" in short.note
    assert prepare_run(Corpus.build(np.eye(2, dtype=int)), "sdm", heldout_documents=0.5).heldout is None
    assert fit(Corpus.build(np.eye(2, dtype=int)), "sdm", k=2, heldout_documents=0.5).snapshot.heldout is None


@for_each("share", [-0.1, 1.0, float("nan")])
def test_impossible_shares_are_refused(share: float) -> None:
    with pytest.raises(ParameterError):
        hold_out_documents(CORPUS, share, 0)
    with pytest.raises(ParameterError, match="words and whole documents cannot both be held out"):
        prepare_run(CORPUS, "sdm", heldout=0.1, heldout_documents=0.1)


def test_documents_are_taken_with_all_that_is_known_of_them() -> None:
    corpus = Corpus.build(np.array([[1, 0], [0, 2], [3, 3]]), documents=["a", "b", "c"])
    taken = corpus.take_documents(np.array([2, 0]))
    assert taken.documents.tolist() == ["c", "a"]
    np.testing.assert_array_equal(taken.counts.toarray(), [[3, 3], [1, 0]])


@for_each("method", ["sdm", "scvb0", "svb", "cvb0", "vb", "gibbs"])
def test_all_methods_predict_the_same_tokens_with_probabilities(method: str) -> None:
    small: dict[str, Any] = {"k": 3, "max_sweeps": 8} if method in ("cvb0", "vb", "gibbs") else {"k": 3}
    if method == "gibbs":
        small["burn_in"] = 3
    result = fit(CORPUS, method, heldout_documents=0.2, heldout_seed=1, **small)
    _, heldout = parts(CORPUS)
    asked = result.prepared.heldout
    np.testing.assert_array_equal(asked.seen.counts.toarray(), heldout.seen.counts.toarray())
    np.testing.assert_array_equal(asked.words, heldout.words)
    # Of every word of the vocabulary, given the seen ones.
    documents, words = (a.ravel().astype(np.int32) for a in np.indices(heldout.seen.shape))
    every = HeldOutWords(documents, words, np.ones(len(words), np.int32), heldout.seen)
    model, posterior = result.prepared.model, result.snapshot.posterior
    probability = model.predict(posterior, every).reshape(heldout.seen.shape)
    assert (probability > 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-5)
    # The shares of topics are those that the seen words imply.
    phi = word_probability(posterior)
    shares = model.transform(posterior, heldout.seen).filter(like="topic_").to_numpy()
    np.testing.assert_allclose(probability, shares @ phi, rtol=1e-4)
    mean = np.log(probability[heldout.documents, heldout.words]) @ heldout.counts / heldout.n
    score = result.summary()["heldout"]
    if method != "gibbs":  # which averages what its samples predict
        assert score["log_likelihood"] == pytest.approx(mean, rel=1e-5)
    assert (
        score["completion_perplexity"]
        == score["perplexity"]
        == pytest.approx(np.exp(-score["log_likelihood"]))
    )
    assert score["perplexity"] < 45  # 50 words; topics have learned something
