"""Tokens set aside: how many, which, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse, stats

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.split import hold_out_tokens
from tests.costs import units_of
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
    assert (held.documents.dtype, held.words.dtype, held.counts.dtype) == (np.int32, np.int32, np.int32)
    assert len(held.documents) == len(held.words) == len(held.counts)
    assert held.n == held.counts.sum() == corpus.n_tokens - train.n_tokens
    assert (held.counts > 0).all()
    assert (np.diff(held.documents.astype(np.int64) * corpus.n_words + held.words) > 0).all()
    # Every document gives its share, rounded up or down, and keeps a token.
    given_away = corpus.lengths - train.lengths
    limit = np.maximum(corpus.lengths - 1, 0)
    assert (given_away >= np.minimum(np.floor(share * corpus.lengths), limit)).all()
    assert (given_away <= np.minimum(np.ceil(share * corpus.lengths), limit)).all()
    # The train corpus is as valid as one that was built.
    assert (train.counts.data > 0).all()
    assert train.counts.dtype == np.int32
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


def test_the_share_is_right_on_average():
    corpus = Corpus.build(np.full((20_000, 3), 1))
    held = hold_out_tokens(corpus, 0.1, 0).heldout
    # Each document gives one token with probability 0.3.
    assert abs(held.n - 6_000) < 4 * np.sqrt(20_000 * 0.3 * 0.7)
    assert held.counts.max() == 1
    assert stats.chisquare(np.bincount(held.words)).pvalue > 0.001


def test_same_seed_same_bits_other_seed_others():
    corpus = Corpus.build(np.random.default_rng(0).poisson(2, (30, 40)))
    first, again, other = (hold_out_tokens(corpus, 0.1, seed) for seed in (7, 7, 8))
    assert first.heldout.counts.tobytes() == again.heldout.counts.tobytes()
    assert first.train.fingerprint == again.train.fingerprint != other.train.fingerprint


def test_a_share_of_nothing_holds_nothing_out():
    corpus = Corpus.build(np.ones((3, 4), dtype=int))
    split = hold_out_tokens(corpus, 0.0, 0)
    assert (split.heldout.n, len(split.heldout.counts), split.note) == (0, 0, None)
    assert split.train is corpus


def test_short_documents_keep_a_token_and_the_note_counts_them():
    corpus = Corpus.build([[0, 0], [1, 0], [0, 1], [50, 50]])
    split = hold_out_tokens(corpus, 0.99, 0)
    np.testing.assert_array_equal(split.train.lengths, [0, 1, 1, 1])
    assert split.note == "2 documents were too short to have a word held out."
    assert hold_out_tokens(Corpus.build([[1, 0], [5, 5]]), 0.9, 0).note.startswith("1 document was ")
    single = Corpus.build(np.eye(3))
    split = hold_out_tokens(single, 0.5, 0)
    assert split.train is single
    assert "nothing is held out" in split.note
    assert hold_out_tokens(Corpus.build([[5, 5]]), 0.5, 0).note is None


def test_everything_known_of_the_documents_is_kept():
    corpus = Corpus.build(
        [[9, 9], [9, 9]],
        vocabulary=["a", "b"],
        documents=["x", "y"],
        name="two",
        texts=["s", "t"],
        labels=["p", "q"],
    )
    train = hold_out_tokens(corpus, 0.5, 0).train
    assert (train.name, train.texts, train.labels.tolist()) == ("two", ("s", "t"), ["p", "q"])
    assert (train.vocabulary.tolist(), train.documents.tolist()) == (["a", "b"], ["x", "y"])
    assert corpus.n_tokens == 36


def test_huge_counts_take_no_longer():
    most = 2**31 - 1
    corpus = Corpus.build([[most, most, 1], [0, most, 3]])
    assert units_of(lambda: hold_out_tokens(corpus, 0.3, 1)) < 50
    split = hold_out_tokens(corpus, 0.3, 1)
    np.testing.assert_array_equal(
        split.train.counts.toarray() + dense(split, corpus), corpus.counts.toarray()
    )
    given_away = corpus.lengths - split.train.lengths
    assert (np.abs(given_away - 0.3 * corpus.lengths) <= 1).all()
    # Within a document the two large words give alike: 8 standard deviations.
    words = dense(split, corpus)[0].astype(np.float64)
    assert abs(words[0] - words[1]) < 8 * np.sqrt(2 * most * 0.3 * 0.7)


def test_a_million_tokens_take_little_time():
    rng = np.random.default_rng(0)
    counts = sparse.random_array((10_000, 13_000), density=0.005, rng=rng, format="csr")
    counts.data = rng.geometric(0.65, counts.nnz).astype(np.int32)
    corpus = Corpus.build(counts)
    hold_out_tokens(Corpus.build([[5, 5]]), 0.5, 0)  # compiled
    assert units_of(lambda: hold_out_tokens(corpus, 0.1, 0)) < 50
    split = hold_out_tokens(corpus, 0.1, 0)
    assert abs(split.heldout.n / corpus.n_tokens - 0.1) < 0.001


@for_each("share", [-0.1, 1.0, 1.5, float("nan")])
def test_shares_that_make_no_sense(share):
    with pytest.raises(ParameterError, match="share"):
        hold_out_tokens(Corpus.build([[1]]), share, 0)


def test_negative_seeds_make_no_sense():
    with pytest.raises(ParameterError, match="Seed"):
        hold_out_tokens(Corpus.build([[1]]), 0.1, -1)
