"""Words, and whole documents, set aside: how many, which, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse, stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.evaluate.split import HeldOutWords, hold_out_documents, hold_out_tokens
from acvb_core.models.lda.topics import word_probability
from acvb_core.samples.planted_mixtures import planted_topics
from tests.loops import for_each


def dense(split, corpus):
    held = split.heldout
    return sparse.csr_array((held.counts, (held.documents, held.words)), shape=corpus.shape).toarray()


@given(
    arrays.arrays(
        np.int64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(0, 6)
    ),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 2**32),
)
def test_the_parts_make_up_the_whole(counts, share, seed):
    counts[0, 0] += 1
    corpus = Corpus.build(counts)
    split = hold_out_tokens(corpus, share, seed)
    held, train = split.heldout, split.train
    np.testing.assert_array_equal(train.counts.toarray() + dense(split, corpus), counts)
    assert held.n == held.counts.sum() == corpus.n_tokens - train.n_tokens
    assert (held.counts > 0).all()
    assert (np.diff(held.documents.astype(np.int64) * corpus.n_words + held.words) > 0).all()
    # Every document gives its share, rounded up or down, and keeps a token.
    given_away = corpus.lengths - train.lengths
    limit = np.maximum(corpus.lengths - 1, 0)
    assert (given_away >= np.minimum(np.floor(share * corpus.lengths), limit)).all()
    assert (given_away <= np.minimum(np.ceil(share * corpus.lengths), limit)).all()
    if train.n_tokens:
        assert Corpus.build(train.counts).fingerprint == train.fingerprint


def test_every_set_of_tokens_is_as_likely():
    """The distribution of what a document gives is the multivariate hypergeometric, listed in full."""
    counts = np.array([3, 1, 2, 4])
    corpus = Corpus.build(counts[None, :])
    draws = 6000
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(draws):
        given_away = tuple(dense(hold_out_tokens(corpus, 0.4, seed), corpus)[0].tolist())
        seen[given_away] = seen.get(given_away, 0) + 1
    law = stats.multivariate_hypergeom(counts, 4)
    every = [taken for taken in np.ndindex(*(counts + 1)) if sum(taken) == 4]
    assert set(seen) <= set(every)
    expected = np.array([draws * law.pmf(taken) for taken in every])
    found = np.array([seen.get(taken, 0) for taken in every])
    common = expected > 5
    statistic = ((found - expected)[common] ** 2 / expected[common]).sum()
    assert 0.001 < stats.chi2.sf(statistic, common.sum() - 1) < 0.999


def test_short_documents_keep_a_token_and_the_note_counts_them():
    corpus = Corpus.build([[0, 0], [1, 0], [0, 1], [50, 50]])
    split = hold_out_tokens(corpus, 0.99, 0)
    np.testing.assert_array_equal(split.train.lengths, [0, 1, 1, 1])
    assert split.note == "2 documents were too short to have a word held out."
    single = Corpus.build(np.eye(3))
    split = hold_out_tokens(single, 0.5, 0)
    assert split.train is single
    assert "nothing is held out" in split.note
    assert hold_out_tokens(Corpus.build([[5, 5]]), 0.5, 0).note is None


CORPUS = planted_topics(80, 50, 3, 25, 0.2, 0.1, 2).corpus


def parts(corpus: Any, share: float = 0.2, seed: int = 1) -> tuple[Any, HeldOutWords]:
    split = hold_out_documents(corpus, share, seed)
    assert split.heldout.seen is not None
    return split.train, split.heldout


@for_each("share", [0.001, 0.2, 0.999])
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
            assert note.startswith(f"{unknown} words of the documents held out are left out")
            return
    raise AssertionError("the document was never held out")


def test_a_corpus_on_disk_is_split_alike(tmp_path: Path) -> None:
    disk = write_disk_corpus([CORPUS], tmp_path / "disk", vocabulary=CORPUS.vocabulary, shard_pairs=200)
    (train, heldout), (stored, aside) = parts(CORPUS), parts(disk)
    np.testing.assert_array_equal(stored.in_memory().counts.toarray(), train.counts.toarray())
    np.testing.assert_array_equal(stored.frequencies, train.frequencies)
    np.testing.assert_array_equal(aside.seen.counts.toarray(), heldout.seen.counts.toarray())
    for name in ("documents", "words", "counts"):
        np.testing.assert_array_equal(getattr(aside, name), getattr(heldout, name))


def test_next_to_nothing_is_split() -> None:
    alone = Corpus.build(np.array([[3, 1]]))
    split = hold_out_documents(alone, 0.5, 0)
    assert split.train is alone
    assert split.note == "There is one document only: nothing is held out."
    assert hold_out_documents(CORPUS, 0.0, 0).note is None
    short = hold_out_documents(Corpus.build(np.eye(6, 3, dtype=int) + np.eye(6, 3, -3, dtype=int)), 0.3, 0)
    assert short.heldout.n == 0
    assert "too short" in short.note
    assert fit(Corpus.build(np.eye(2, dtype=int)), "sdm", k=2, heldout_documents=0.5).snapshot.heldout is None


def test_words_and_documents_are_not_held_out_together() -> None:
    with pytest.raises(ParameterError, match="words and whole documents cannot both be held out"):
        prepare_run(CORPUS, "sdm", heldout=0.1, heldout_documents=0.1)


@for_each("method", ["scvb0", "svb", "cvb0", "vb"])
def test_all_methods_predict_the_same_tokens_with_probabilities(method: str) -> None:
    few = {"max_sweeps": 8} if method in ("cvb0", "vb") else {}
    result = fit(CORPUS, method, heldout_documents=0.2, heldout_seed=1, k=3, **few)
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
    assert score["log_likelihood"] == pytest.approx(mean, rel=1e-5)
    assert score["completion_perplexity"] == score["perplexity"] == pytest.approx(np.exp(-mean), rel=1e-5)
