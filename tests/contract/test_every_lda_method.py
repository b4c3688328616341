"""What every method keeps to that finds topics."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.online.stream import Prior, StreamState
from acvb_core.registry import method_row, methods_of, model_row
from tests.loops import for_each
from tests.oracles.dense_lda import log_joint, tokens_of
from tests.oracles.lda_cases import triplets_of

from .cases import bits_of, built, course, data_of, last_of, methods_for
from .test_every_method import assert_posterior

CORPORA = data_of("lda")
every_method = methods_for("lda")
AVERAGED = ("acvb0", "acvb")
COLLAPSED = (*AVERAGED, "cvb0", "cvb", "cvb_exact")


def asymmetric(state: Any, alpha: np.ndarray) -> Any:
    """Return a first state with other concentrations of the topics."""
    inner = getattr(state, "inner", state)
    if isinstance(inner, StreamState):
        changed = replace(inner, prior=Prior.begin(alpha))
    else:
        changed = replace(inner, hyper=Concentrations(alpha, inner.hyper.beta))
    return changed if inner is state else replace(state, inner=changed)


@every_method
def test_topics_that_are_dropped_leave_their_tokens_to_others(row: MethodSpec) -> None:
    corpus, alpha = CORPORA["planted"], np.linspace(0.02, 0.2, 15)
    if row.streams:  # theirs are in single precision
        alpha = alpha.astype(np.float32).astype(np.float64)
    algorithm = built(row, corpus, k=15, shrink=0.05, hyper="fixed", prior="symmetric", burn_in=1000)
    state, dropped, left = asymmetric(algorithm.init(np.random.default_rng(0)), alpha), 0, np.arange(15)
    for sweep in range(40):
        before = algorithm.current(state)
        state, info = algorithm.sweep(state, np.random.default_rng(sweep))
        after = algorithm.current(state)
        assert_posterior(after, row, corpus, True)
        if info.cluster_permutation is None:
            assert after.n_clusters() == before.n_clusters()
            continue
        order = info.cluster_permutation["topics"]
        assert set(info.cluster_permutation) == {"topics"}
        assert len(order) == after.n_clusters()["topics"] < before.n_clusters()["topics"]
        assert (np.diff(order) > 0).all()
        left, dropped = left[order], dropped + 1
        np.testing.assert_array_equal(after["alpha"], alpha[left])
    assert bool(dropped) == ("shrink" in {p.name for p in row.parameters})
    np.testing.assert_array_equal(algorithm.current(state)["alpha"], alpha[left])


@every_method
def test_the_topics_dropped_are_the_small_ones(row: MethodSpec) -> None:
    """Beside a twin that keeps all: the same up to the first drop, which takes out what is small in the twin."""
    corpus = CORPORA["planted"]
    twins = [built(row, corpus, k=15, shrink=shrink, hyper="fixed", burn_in=1000) for shrink in (0.05, 0.0)]
    for (state, info), (whole, _) in zip(*(course(twin, 30) for twin in twins), strict=True):
        if info is not None and info.cluster_permutation is not None:
            break
        assert bits_of(twins[0].current(state)) == bits_of(twins[1].current(whole))
    else:
        assert row.name == "gibbs" or row.streams
        return
    order, masses = info.cluster_permutation["topics"], twins[1].current(whole).masses()["topics"]
    np.testing.assert_array_equal(order, np.flatnonzero(masses >= 0.05 * corpus.n_tokens))
    given, before = twins[0].responsibilities(state), twins[1].responsibilities(whole)
    if row.name in COLLAPSED:
        left = before.q[:, order] / before.q[:, order].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(given.q, left, rtol=1e-5)
        documents = np.repeat(np.arange(corpus.n_documents), np.diff(corpus.counts.indptr))
        counts = np.zeros((corpus.n_documents, len(order)))
        np.add.at(counts, documents, given.weights[:, None] * left)
        np.testing.assert_allclose(twins[0].current(state)["documents"], counts, rtol=1e-5, atol=1e-5)


@every_method
def test_every_topic_is_kept_if_so_asked(row: MethodSpec) -> None:
    """Also those that hold next to nothing or, by rounding, less. Each method meets every third corpus."""
    for name in list(CORPORA)[methods_of("lda").index(row) % 3 :: 3]:
        algorithm = built(row, CORPORA[name], k=40, shrink=0.0)
        for state, info in course(algorithm, 60):
            assert algorithm.posterior(state).n_clusters() == {"topics": 40}, name
            assert info is None or info.cluster_permutation is None, name


@for_each("row", [row for row in methods_of("lda") if not row.streams])
@for_each("name", list(CORPORA))
def test_one_topic_leaves_nothing_to_infer(row: MethodSpec, name: str) -> None:
    """With one topic the labels are known, and every bound is the log evidence itself."""
    corpus = CORPORA[name]
    if corpus.n_tokens > 1000:  # the oracle goes token by token
        return
    algorithm, model = built(row, corpus, k=1, hyper="fixed", beta=0.3), model_row("lda").build(corpus)
    state = last_of(algorithm, 4)
    posterior = algorithm.posterior(state)
    np.testing.assert_allclose(posterior["documents"][:, 0], corpus.lengths)
    np.testing.assert_allclose(posterior["words"][:, 0], corpus.frequencies)
    tokens = tokens_of(triplets_of(corpus))
    exact = log_joint(tokens, np.zeros(len(tokens.words), dtype=np.int64), np.array([0.1]), 0.3)
    given = algorithm.responsibilities(state)
    assert model.lower_bound(posterior, given) == pytest.approx(exact, rel=1e-6, abs=1e-5)
    if given is not None:
        assert model.collapsed_bound(posterior, given) == pytest.approx(exact, rel=1e-6, abs=1e-5)


@for_each("row", [row for row in methods_of("lda") if row.streams])
@for_each("name", list(CORPORA))
def test_one_topic_of_a_stream_has_the_counts_of_all_tokens(row: MethodSpec, name: str) -> None:
    """With one topic the words are as likely as in the whole corpus, whatever the others of a document are."""
    corpus, sdm = CORPORA[name], "sdm" in row.name
    exact = np.maximum(corpus.frequencies - 1.0, 0.0) if sdm else corpus.frequencies.astype(np.float64)
    # A minibatch is all documents, and every step a whole one: 1e6 / t, or t to the power of 0.
    whole = {"step_scale": 1e6} if "scvb0" in row.name else {} if sdm else {"step_power": 0.0}
    algorithm = built(row, corpus, k=1, window=100, batch=100, beta=0.3, renew=False, **whole)
    *_, (state, info) = course(algorithm, 4)
    np.testing.assert_allclose(algorithm.posterior(state)["words"][:, 0], exact, rtol=1e-5, atol=1e-6)
    longer = corpus.lengths > 1
    if not longer.any():
        assert info.pseudo_loo is None
        return
    told = float((corpus.counts.toarray()[longer] @ np.log((exact + 0.3) / (exact + 0.3).sum())).sum())
    told *= corpus.n_tokens / corpus.lengths[longer].sum()
    assert info.pseudo_loo == pytest.approx(told, rel=1e-5, abs=1e-5)


@for_each("track", [True, False])
@for_each("name", AVERAGED)
@for_each("data", ["planted", "documents of one token", "very long counts"])
def test_change_of_the_mean_is_bounded(name: str, data: str, track: bool) -> None:
    """ACVB17 Lemma 1: at most 2 / s; and that of the counts is at most that of the responsibilities."""
    row = method_row("lda", name)
    algorithm = built(row, CORPORA[data], track=track, burn_in=1, hyper="fixed", shrink=0.0)
    checked = 0
    for (before, _), (after, _) in pairwise(course(algorithm, 80)):
        phase = algorithm.phase(after)
        assert (algorithm.responsibilities(after) is not None) or not track
        if phase.samples < 2:
            assert phase.mean_change is None
            continue
        checked += 1
        assert phase.samples == after.sweeps - 1
        assert 0 <= phase.mean_change <= 2 / phase.samples * (1 + 1e-5)
        moved = sum(np.abs(after.mean[n] - before.mean[n]).sum(dtype=float) for n in ("documents", "words"))
        of_counts = moved / (2 * CORPORA[data].n_tokens)
        if track:
            assert of_counts <= phase.mean_change * (1 + 1e-3) + 1e-6
        else:
            assert phase.mean_change == pytest.approx(of_counts, rel=1e-3, abs=1e-7)
    assert checked > 70
