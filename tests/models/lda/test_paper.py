"""LDA as the papers print it: the first sweeps of `preset="paper"` against plain references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from acvb_core.engine.prepared import prepare_run
from acvb_core.models.lda import cvb, hyper, kernels, start
from acvb_core.models.lda import kernels as kernels_second
from acvb_core.models.lda import state as lda_state
from acvb_core.models.lda.hyper import Concentrations, sample_concentrations
from acvb_core.models.lda.kernels import Counts
from acvb_core.samples.planted_mixtures import planted_topics
from tests.models.lda.adapters import run_in_double
from tests.models.lda.online.adapters import BETA, first_state, some_words, swept
from tests.oracles import dense_lda as dense
from tests.oracles import dense_stream as plain
from tests.oracles.lda_cases import LdaCase, small_case, triplets_of

CORPUS = planted_topics(12, 15, 3, 9, 0.3, 0.2, 3).corpus
K = 3
#: What a collapsed method computes with.
MODULES = (cvb, hyper, kernels, kernels_second, start, lda_state)


def method_of(name: str, **values: Any) -> Any:
    prepared = prepare_run(CORPUS, name, {"preset": "paper", "k": K} | values, seed=1)
    return prepared.algorithm


def test_variational_sweep_from_random_responsibilities() -> None:
    triplets = triplets_of(CORPUS)
    method = method_of("vb")
    state = method.init(np.random.default_rng(5))
    gamma = np.random.default_rng(5).random((len(triplets.counts), K))
    gamma /= gamma.sum(axis=1, keepdims=True)
    for _ in range(3):
        gamma = dense.vb_sweep(triplets, gamma, np.full(K, 0.1), 0.1)
        state, _ = method.sweep(state, np.random.default_rng(0))
        wanted = dense.expected_counts(triplets, gamma)
        np.testing.assert_allclose(state.counts.by_document, wanted.documents, atol=1e-9)
        np.testing.assert_allclose(state.counts.by_word, wanted.words, atol=1e-9)
    assert (state.hyper.alpha == 0.1).all()
    assert state.hyper.beta == 0.1


@pytest.mark.parametrize(("name", "sweep"), [("cvb", dense.cvb_sweep), ("cvb0", dense.cvb0_sweep)])
def test_collapsed_sweeps(monkeypatch: pytest.MonkeyPatch, name: str, sweep: Any) -> None:
    """Two sweeps in double precision; compiled ones are in single. The totals are those of the document's start."""
    run_in_double(monkeypatch, MODULES)
    triplets, method = triplets_of(CORPUS), method_of(name)
    state = method.init(np.random.default_rng(5))
    assert state.buffers.q.dtype == np.float64
    if name == "cvb":
        assert (state.hyper.alpha == 0.1).all()
        assert state.hyper.beta == 0.1
    gamma = state.buffers.q.copy()
    for _ in range(2):
        gamma, _ = sweep(triplets, gamma, state.hyper.alpha, state.hyper.beta)
        state, _ = method.sweep(state, np.random.default_rng(0))
        np.testing.assert_allclose(state.buffers.q, gamma, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "sweep"), [("cvb", dense.cvb_sweep), ("cvb0", dense.cvb0_sweep)])
def test_compiled_collapsed_sweep(name: str, sweep: Any) -> None:
    """To the precision of the responsibilities, which is single."""
    triplets, method = triplets_of(CORPUS), method_of(name)
    state = method.init(np.random.default_rng(5))
    gamma = state.buffers.q.astype(np.float64)
    gamma /= gamma.sum(axis=1, keepdims=True)
    gamma, _ = sweep(triplets, gamma, state.hyper.alpha, state.hyper.beta)
    state, _ = method.sweep(state, np.random.default_rng(0))
    np.testing.assert_allclose(state.buffers.q, gamma, atol=1e-5)


@pytest.mark.parametrize("name", ["acvb0", "acvb", "cvb0"])
def test_plain_fixed_point_of_the_concentrations(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    run_in_double(monkeypatch, MODULES)
    triplets, method = triplets_of(CORPUS), method_of(name)
    method = getattr(method, "inner", method)
    state = method.init(np.random.default_rng(5))
    for _ in range(10):
        before = state.hyper
        state, _ = method.sweep(state, np.random.default_rng(0))
    alpha, beta = dense.minka_step(dense.plug_in, triplets, state.buffers.q, before.alpha, before.beta)
    np.testing.assert_allclose(state.hyper.alpha, alpha, rtol=1e-9)
    assert state.hyper.beta == pytest.approx(beta, rel=1e-9)


def test_sampled_concentrations_are_drawn_from_their_posterior() -> None:
    """Mean and spread of log alpha and log beta, against a grid of their densities under Gamma(1, 1) priors."""
    rng = np.random.default_rng(0)
    by_document, by_word = rng.integers(0, 6, (9, K)), rng.integers(0, 4, (15, K))
    counts = Counts(
        by_document.astype(np.float32), by_word.astype(np.float32), by_word.sum(axis=0).astype(float)
    )
    given, drawn = Concentrations.symmetric(K, 1.0, 1.0), []
    for _ in range(4_000):
        given = sample_concentrations(given, counts, rng)
        drawn.append((np.log(given.alpha[0]), np.log(given.beta)))
    found = np.array(drawn)
    x = np.linspace(-7, 5, 4_001)
    for at, rows in enumerate((by_document, by_word.T)):
        c = np.exp(x)[:, None]
        terms = gammaln(rows.shape[1] * c) - gammaln(rows.shape[1] * c + rows.sum(axis=1))
        logs = terms.sum(axis=1) - np.exp(x) + x
        logs += sum((gammaln(c + row) - gammaln(c)).sum(axis=1) for row in rows)
        density = np.exp(logs - logs.max())
        density /= density.sum()
        mean, sd = density @ x, np.sqrt(density @ x**2 - (density @ x) ** 2)
        assert found[:, at].mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(1_000))
        assert found[:, at].std() == pytest.approx(sd, rel=0.1)


def stream_of(name: str) -> tuple[LdaCase, Any]:
    case = small_case(1)._replace(alpha=np.full(3, 0.01))
    values = {"preset": "paper", "k": case.size, "beta": BETA, "window": 100, "shuffle": False}
    return case, prepare_run(case.corpus, name, values).algorithm


@pytest.mark.parametrize("name", ["sdm", "scvb0", "svb"])
def test_streams(name: str) -> None:
    """Two epochs in double precision, with the steps, passes and rules that the papers print."""
    case, method = stream_of(name)
    rule = {"sdm": "paper", "svb": "bound"}.get(name, "symmetric")
    words, alpha = some_words(case), case.alpha
    sticks = np.append(np.log(alpha.sum()), np.log(1.0 / np.arange(case.size - 1, 0, -1)))
    prior = plain.Prior(alpha.copy(), 0.9 * alpha, 0.8, 0 if rule == "symmetric" else 5_000, sticks, rule)
    topics = plain.Topics(words, prior, BETA)
    topics.documents, topics.tokens = case.corpus.n_documents, case.corpus.n_tokens
    state, steps = first_state(method, words, prior), np.zeros(len(words))
    documents = plain.documents_of(case.corpus)

    def infer(topics: plain.Topics, ids: Any, counts: Any) -> Any:
        if name == "svb":
            return plain.svb_document(topics, ids, counts, most=100, settled=1e-3)
        return plain.scvb0_document(topics, ids, counts, inner=lambda t: (10 + t) ** -0.9, burn_in=5)

    for _ in range(2):
        state, _ = swept(method, state)
        if name == "sdm":
            sizes = case.corpus.frequencies
            plain.sdm(documents, words, steps, sizes, prior, BETA, passes=5, power=0.7, batch=1_000)
        else:
            step = (lambda t: (1024 + t) ** -0.7) if name == "svb" else (lambda t: 10 * (1000 + t) ** -0.9)
            by = "documents" if name == "svb" else "tokens"
            plain.minibatches(topics, documents, 100, infer, step, by=by, counting=False)
        wanted = words if name == "sdm" else topics.words
        np.testing.assert_allclose(state.by_word, wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(state.prior.alpha, prior.alpha, rtol=1e-9)


@pytest.mark.parametrize("window", [3, 100])
def test_mini_batches_of_divergence_minimisation(window: int) -> None:
    """Two epochs: documents of a mini-batch are inferred by the topics of its beginning, of the next by those after it.

    A mini-batch ends with a window at the latest.
    """
    case = small_case(1)._replace(alpha=np.full(3, 0.01))
    assert case.corpus.n_documents > 2 * 3
    values = {"preset": "paper", "k": case.size, "beta": BETA, "window": window, "shuffle": False, "batch": 3}
    method = prepare_run(case.corpus, "sdm", values).algorithm
    words, alpha = some_words(case), case.alpha
    sticks = np.append(np.log(alpha.sum()), np.log(1.0 / np.arange(case.size - 1, 0, -1)))
    prior = plain.Prior(alpha.copy(), 0.9 * alpha, 0.8, 5_000, sticks, "paper")
    state, steps = first_state(method, words, prior), np.zeros(len(words))
    documents = plain.documents_of(case.corpus)
    for _ in range(2):
        for begin in range(0, len(documents), window):
            state, _ = swept(method, state)
            plain.sdm(
                documents[begin : begin + window], words, steps, case.corpus.frequencies, prior, BETA,
                passes=5, power=0.7, batch=3,
            )  # fmt: skip
            np.testing.assert_allclose(state.by_word, words, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(state.prior.alpha, prior.alpha, rtol=1e-9)


def test_collapsed_methods_differ_from_their_defaults() -> None:
    """The preset is not what a run does anyway."""
    for name in ("cvb", "cvb0", "acvb0", "vb", "gibbs", "sdm", "scvb0", "svb"):
        usual = prepare_run(CORPUS, name, {"k": K}).spec.values
        printed = prepare_run(CORPUS, name, {"k": K, "preset": "paper"}).spec.values
        assert {key for key in usual if usual[key] != printed[key]} > {"preset"}
