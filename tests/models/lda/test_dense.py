"""Sweeps, bounds and predictions against references in dense double precision, and against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, polygamma

from acvb_core.core.spec import MethodSpec
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.evaluate.split import HeldOutWords
from acvb_core.models.lda import kernels
from acvb_core.models.lda.cvb import sum_counts
from acvb_core.models.lda.exact import exact_order, transform_counts
from acvb_core.models.lda.kernels import SinglePrior, log_gamma_gain, multiply_absences, trigamma_sum
from acvb_core.models.lda.state import BlockPartition, zero_counts
from acvb_core.models.lda.text import facts
from acvb_core.models.lda.topics import build_topics
from acvb_core.registry import method_row, methods_of, model_row
from acvb_core.samples.planted_mixtures import planted_topics
from acvb_core.store.plausible import check_run
from acvb_core.views.comparison_table import comparison_table
from tests.contract.cases import known
from tests.loops import for_each
from tests.models.lda.adapters import (
    ORDERS,
    Order,
    assert_counts,
    collapsed,
    counts_of,
    entries_of,
    given_of,
    hyper_of,
    model_of,
    posterior_of_case,
    state_of,
    variational,
    variational_state,
)
from tests.oracles import dense_lda as dense
from tests.oracles.lda_cases import LdaCase, edge_cases, random_case, scaled, small_case, triplets_of
from tests.oracles.lda_enumeration import expected_log_joint, joint_table, log_evidence

RNG = np.random.default_rng(0)
SWEEPS = {"zeroth": dense.cvb0_sweep, "second": dense.cvb_sweep}
CASES: dict[str, LdaCase] = {
    **{f"small {seed}": small_case(seed) for seed in range(3)},
    **{f"tiny {seed}": random_case(seed) for seed in range(2)},
    "long": scaled(small_case(1), 7),
    **edge_cases(),
}
every_case = for_each("name", list(CASES))


@for_each("order", ORDERS)
@every_case
def test_sweeps_of_cvb(name: str, order: Order) -> None:
    """Several in a row: rows, counts, their variances, the change and the pseudo leave-one-out."""
    case = CASES[name]
    algorithm, state = collapsed(case, order), state_of(case, order)
    # A variance over the square of a concentration of a thousandth: rounding is enlarged a million times.
    loose = (name, order) == ("tiny concentrations", "second")
    for _ in range(3):
        # The reference starts from the package's state, so that small differences do not accumulate.
        old = state.buffers.q.astype(np.float64)
        gamma = old / old.sum(axis=1, keepdims=True)
        gamma, loo = SWEEPS[order](case.triplets, gamma, case.alpha, case.beta)
        state, info = algorithm.sweep(state, RNG)
        np.testing.assert_allclose(state.buffers.q, gamma, atol=5e-3 if loose else 5e-5)
        assert info.pseudo_loo == pytest.approx(loo, rel=2e-5, abs=1e-4)
        moved = np.abs(gamma - old).sum(axis=1) @ case.triplets.counts / case.triplets.counts.sum()
        assert info.change == pytest.approx(moved, rel=1e-3, abs=1e-4)
        slack = (1e-2 if loose else 1e-4) * max(1, case.triplets.counts.max())
        assert_counts(state.counts, dense.expected_counts(case.triplets, gamma), rtol=1e-4, atol=slack)
        if order == "second":
            assert_counts(state.variances, dense.count_variances(case.triplets, gamma), rtol=1e-3, atol=slack)


@every_case
def test_counts_variances_and_presence(name: str) -> None:
    case = CASES[name]
    tokens, q = entries_of(case.triplets), given_of(case).q
    partition, slack = BlockPartition.cut(tokens), {"rtol": 1e-4, "atol": 1e-5}
    assert_counts(sum_counts(partition, q), dense.expected_counts(case.triplets, case.gamma), **slack)
    variances = sum_counts(partition, q, spread=True)
    assert_counts(variances, dense.count_variances(case.triplets, case.gamma), **slack)
    absent = zero_counts(tokens, case.size)
    absent.by_document.fill(1.0)
    absent.by_word.fill(1.0)
    multiply_absences(0, tokens.n_documents, tokens.documents, q, absent)
    wanted = dense.presence(case.triplets, case.gamma)
    np.testing.assert_allclose(1 - absent.by_document, wanted.documents, **slack)
    np.testing.assert_allclose(1 - absent.by_word, wanted.words, **slack)


@for_each("inner, cells", [(1, 1), (3, 1), (1, 4)])
@every_case
def test_sweeps_of_variational_bayes(name: str, inner: int, cells: int) -> None:
    case = CASES[name]
    algorithm = variational(case, inner=inner, cells=cells)
    state, gamma = variational_state(case), case.gamma
    for _ in range(3):
        gamma = dense.vb_sweep(case.triplets, gamma, case.alpha, case.beta, inner)
        state, _ = algorithm.sweep(state, RNG)
        assert_counts(state.counts, dense.expected_counts(case.triplets, gamma), rtol=1e-9, atol=1e-9)
        assert state.entropy == pytest.approx(dense.entropy(case.triplets, gamma), rel=1e-9, abs=1e-9)
        bound = dense.lower_bound(case.triplets, gamma, case.alpha, case.beta)
        found = model_of(case).lower_bound(algorithm.posterior(state))
        assert found == pytest.approx(bound, rel=1e-9, abs=1e-8)


@every_case
def test_bounds_and_pseudo_leave_one_out(name: str) -> None:
    case = CASES[name]
    model, posterior, given = model_of(case), posterior_of_case(case), given_of(case)
    arguments = (case.triplets, case.gamma, case.alpha, case.beta)
    assert model.lower_bound(posterior) is None
    lower = model.lower_bound(posterior, given)
    assert lower == pytest.approx(dense.lower_bound(*arguments), rel=1e-6, abs=2e-5)
    second = model.collapsed_bound(posterior, given)
    assert second == pytest.approx(dense.collapsed_bound_second_order(*arguments), rel=1e-6, abs=1e-4)
    assert model.extras(posterior, given)["collapsed_bound"] == second
    if not name.startswith(("small", "long")):  # slow: the law of every count
        exact = dense.collapsed_bound_exact(*arguments)
        assert model.exact_bound(posterior, given) == pytest.approx(exact, rel=1e-6, abs=1e-5)
    loo = model.pseudo_loo(posterior, responsibilities=given)
    assert loo == pytest.approx(dense.pseudo_loo(*arguments), rel=2e-5, abs=1e-4)
    perplexity = pytest.approx(np.exp(-loo / case.triplets.counts.sum()))
    assert model.extras(posterior, None, loo) == {"loo_perplexity": perplexity}
    # Without responsibilities: those that the counts imply.
    n, t = dense.expected_counts(case.triplets, case.gamma), case.triplets
    by_document, by_word, totals = (
        n.documents[t.documents],
        n.words[t.words],
        t.shape[1] * case.beta + n.topics,
    )
    implied = (case.alpha + by_document) * (case.beta + by_word) / totals
    implied /= implied.sum(axis=1, keepdims=True)
    document = np.maximum(by_document - implied, 0) + case.alpha
    word = (np.maximum(by_word - implied, 0) + case.beta) / (totals - implied)
    chances = (document * word).sum(axis=1) / (t.lengths[t.documents] - 1 + case.alpha.sum())
    assert model.pseudo_loo(posterior) == pytest.approx(t.counts @ np.log(chances), rel=2e-5, abs=1e-4)


@every_case
def test_predictions_and_topics(name: str) -> None:
    case = CASES[name]
    posterior, arguments = posterior_of_case(case), (case.triplets, case.gamma, case.alpha, case.beta)
    documents, words = (index.ravel().astype(np.int32) for index in np.indices(case.triplets.shape))
    heldout = HeldOutWords(documents, words, np.ones(len(words), np.int32))
    found = model_of(case).predict(posterior, heldout)
    np.testing.assert_allclose(found, dense.predict(*arguments).ravel(), rtol=1e-5)
    theta, phi = dense.estimates(*arguments)
    topics, n_k = build_topics(posterior), dense.expected_counts(case.triplets, case.gamma).topics
    np.testing.assert_allclose(topics.document_share, theta, rtol=1e-9)
    np.testing.assert_allclose(topics.word_probability, phi.T, rtol=1e-9)
    np.testing.assert_allclose(topics.share, n_k / n_k.sum(), rtol=1e-9)


@for_each("order", [*ORDERS, "variational"])
@for_each("name", [name for name in CASES if name not in ("hard", "large concentrations")])
def test_steps_of_the_hyper_parameters(name: str, order: Any) -> None:
    """At the end of a sweep, from its counts: weighted by presence in the collapsed methods, plain in VB."""
    case = CASES[name]
    if order == "variational":
        state, _ = variational(case, learn=True).sweep(variational_state(case, 9, True), RNG)
        gamma = dense.vb_sweep(case.triplets, case.gamma, case.alpha, case.beta)
        alpha, beta = dense.minka_step(dense.plug_in, case.triplets, gamma, case.alpha, case.beta)
    else:
        state, _ = collapsed(case, order, learn=True).sweep(state_of(case, order, 9, True), RNG)
        gamma = state.buffers.q / state.buffers.q.astype(np.float64).sum(axis=1, keepdims=True)
        alpha, beta = dense.weighted_minka_step(case.triplets, gamma, case.alpha, case.beta)
    np.testing.assert_allclose(state.hyper.alpha, np.clip(alpha, 1e-4, 1e4), rtol=2e-4)
    assert state.hyper.beta == pytest.approx(np.clip(beta, 1e-4, 1e4), rel=2e-4)


@for_each("at_once, dtype", [(7, np.float32), (7, np.float64), (4_000_000, np.float32)])
def test_sums_of_log_gamma_and_trigamma_are_scipys(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: type, at_once: int
) -> None:
    monkeypatch.setattr(kernels, "_AT_ONCE", at_once)
    counts = (rng.gamma(0.3, 1, (40, 5)) * 10.0 ** rng.integers(-6, 7, (40, 5))).astype(dtype)
    counts[3, 0], counts[4] = -5e-5, 0.0
    concentration = np.array([1e-4, 0.05, 0.5, 1.0, 700.0])
    weights, n = rng.random((40, 5)).astype(dtype), np.maximum(counts, 0).astype(np.float64)
    gain = (gammaln(concentration + n) - gammaln(concentration)).sum()
    assert log_gamma_gain(counts, concentration) == pytest.approx(gain, rel=1e-11)
    weighted = (polygamma(1, concentration + n) * weights).sum()
    assert trigamma_sum(counts, concentration, weights) == pytest.approx(weighted, rel=1e-11)


# ------------------------------------------------------------------------------------------- exact expectations


def exact_sweep(case: LdaCase, end: int) -> Any:
    """Return the responsibilities after an update of the first documents in double precision."""
    tokens, q, beta = entries_of(case.triplets), np.array(case.gamma), float(case.beta)
    nodes, transforms = transform_counts(tokens, q, hyper_of(case))
    prior = SinglePrior(np.asarray(case.alpha, dtype=float), beta, tokens.n_words * beta)  # type: ignore[arg-type]
    exact_order(0, end, tokens.documents, q, counts_of(case), transforms, nodes, prior)
    return q


@for_each("case", {f"small {seed}": small_case(seed, 3.0) for seed in range(2)} | edge_cases())
def test_exact_sweep_follows_the_law_of_every_count(case: LdaCase) -> None:
    """The reference uses the Poisson-binomial law of every count without one token (TNW07 appendix)."""
    gamma = case.gamma.copy()
    for d in range(case.triplets.shape[0]):
        for p in case.triplets.of_document(d):
            gamma[p] = dense.cvb_exact_update(case.triplets, gamma, p, case.alpha, case.beta)
    np.testing.assert_allclose(exact_sweep(case, case.triplets.shape[0]), gamma, atol=1e-9)


def test_exact_bound_by_enumeration() -> None:
    case = random_case(1)
    table = joint_table(case.triplets, case.alpha, case.beta)
    wanted = expected_log_joint(table, case.gamma) + dense.entropy(case.triplets, case.gamma)
    found = model_of(case).exact_bound(posterior_of_case(case), given_of(case))
    assert found == pytest.approx(wanted, rel=1e-6)


@for_each("method", ["acvb", "cvb_exact"])
def test_a_second_order_bound_that_broke_down_is_not_shown(method: str) -> None:
    """Each document predicts its own words with certainty here, so no bound is above 0 nats."""
    counts = np.eye(6, 4, dtype=int) + np.eye(6, 4, -4, dtype=int)
    result = fit(counts, method, model="lda", k=10, heldout=0.0)
    assert np.isnan(result.snapshot.extras["collapsed_bound"])
    assert any("broke down" in value for _, value in facts(result))
    table = comparison_table([result], ["run"])
    assert "Collapsed bound" not in table.frame
    assert any("broke down" in note for note in table.notes)
    check_run(result)


# ------------------------------------------------------------------------------------------------------- bounds

TINY = [random_case(0), random_case(11, (7,), 4, 2), random_case(12, (3, 0, 2), 3, 3)]
#: Streams have no bound: they do not keep the documents.
BOUNDED = [row for row in methods_of("lda") if not row.streams]


@for_each("row", BOUNDED)
def test_bounds_are_below_the_evidence(row: MethodSpec) -> None:
    for case in TINY:
        for hyper in ("fixed", "minka"):
            values = {"k": case.size, "alpha": 0.4, "beta": 0.3, "hyper": hyper, "shrink": 0.0, "burn_in": 3}
            algorithm, model = row.build(case.corpus, row.values(known(row, values))), model_of(case)
            state = algorithm.init(np.random.default_rng(5))
            for sweep in range(1, 41):
                state, _ = algorithm.sweep(state, np.random.default_rng([5, sweep]))
                if sweep in (1, 5, 12, 40):
                    posterior = algorithm.posterior(state)
                    bound = model.lower_bound(posterior, algorithm.responsibilities(state))
                    alpha, beta = posterior["alpha"].astype(np.float64), posterior.hyper["beta"]
                    limit = log_evidence(joint_table(case.triplets, alpha, beta))
                    assert limit - 20 < bound <= limit + 1e-5 * (1 + abs(limit))


@for_each("inner, hyper", [(1, "fixed"), (3, "minka"), (1, "minka")])
def test_bound_of_variational_bayes_never_falls(inner: int, hyper: str) -> None:
    corpus = planted_topics(60, 80, 4, 20, 0.3, 0.1, 3).corpus
    row = method_row("lda", "vb")
    algorithm = row.build(corpus, row.values({"k": 8, "inner": inner, "hyper": hyper, "shrink": 0.0}))
    model, state, bounds = model_row("lda").build(corpus), algorithm.init(np.random.default_rng(0)), []
    for sweep in range(160):
        state, _ = algorithm.sweep(state, np.random.default_rng(sweep))
        bounds.append(model.lower_bound(algorithm.posterior(state)))
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[-1])
    assert bounds[-1] - bounds[0] > 10


# ------------------------------------------------------------------------------------------- as the papers print it


def test_presets_of_the_papers() -> None:
    """First sweeps: VB from random responsibilities, and plain steps of the concentrations in CVB0."""
    corpus = planted_topics(12, 15, 3, 9, 0.3, 0.2, 3).corpus
    triplets, paper = triplets_of(corpus), {"preset": "paper", "k": 3}
    vb: Any = prepare_run(corpus, "vb", paper).algorithm
    state, gamma = (
        vb.init(np.random.default_rng(5)),
        np.random.default_rng(5).random((len(triplets.counts), 3)),
    )
    gamma = dense.vb_sweep(triplets, gamma / gamma.sum(axis=1, keepdims=True), np.full(3, 0.1), 0.1)
    assert_counts(vb.sweep(state, RNG)[0].counts, dense.expected_counts(triplets, gamma), atol=1e-9)
    cvb0: Any = prepare_run(corpus, "cvb0", paper).algorithm
    state = cvb0.init(np.random.default_rng(5))
    for _ in range(10):
        before = state.hyper
        state, _ = cvb0.sweep(state, RNG)
    alpha, beta = dense.minka_step(dense.plug_in, triplets, state.buffers.q, before.alpha, before.beta)
    np.testing.assert_allclose(state.hyper.alpha, alpha, rtol=1e-4)
    assert state.hyper.beta == pytest.approx(beta, rel=1e-4)
