"""The chain before a run: its samples against the exact posterior, its start, its limits."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from acvb_core.core.protocols import Posterior, SweepInfo, no_poll
from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.evaluate.chains import measure_mixing
from acvb_core.models.irm import cvb as sweeping
from acvb_core.models.irm import gibbs as chain
from acvb_core.models.irm.cvb import build_cvb0
from acvb_core.models.irm.gibbs import (
    GibbsIrm,
    GibbsState,
    count_blocks,
    keep_clusters,
    run_chain,
)
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Layout
from acvb_core.models.irm.moves import merge_clusters
from acvb_core.models.irm.scores import SampledPairs, count_samples
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import IrmState, block_counts, hyper_of, lower_bound
from acvb_core.registry import method_row
from acvb_core.samples.catalogue import load_sample
from acvb_core.samples.planted_relations import planted_relation
from tests.contract.cases import bits_of
from tests.loops import for_each
from tests.models.irm.adapters import layout_of
from tests.models.irm.test_scores import NETWORKS, case
from tests.oracles.dense_network import sorted_by_size
from tests.oracles.enumeration import Partition, canonical_partition, partitions

#: The hyper-parameters that runs begin with.
SINGLE = Hyper.single_prior(1.0, 0.1, 1.0)


def few_columns() -> Relation:
    """Many objects in seven clusters, and fifteen columns that are all different, as properties of animals are."""
    return planted_relation(120, 15, 7, 15, 2).relation


def test_a_run_begins_at_the_bound_of_the_best_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its clusters and its hyper-parameters: with others the first sweeps lose what the chain has found."""
    heights: list[float] = []

    def record(state: GibbsState, layout: Layout) -> float:
        heights.append(measure(state, layout))
        return heights[-1]

    measure = chain.measure_bound
    monkeypatch.setattr(chain, "measure_bound", record)
    values = {parameter.name: parameter.default for parameter in method_row("irm", "cvb0").parameters}
    algorithm = build_cvb0(few_columns(), values)
    state = algorithm.init(np.random.default_rng(0), no_poll)
    assert lower_bound(state) == pytest.approx(max(heights))


def test_a_chain_ends_when_its_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    relation = few_columns()
    sampler = GibbsIrm(relation, Start(5, 5), SINGLE)
    whole = run_chain(sampler, np.random.default_rng(0), no_poll).samples
    assert len(whole["sampled_rows"]) == chain.KEPT
    monkeypatch.setattr(chain, "_WORK", 60_000.0)
    some = run_chain(sampler, np.random.default_rng(0), no_poll).samples
    assert 0 < len(some["sampled_rows"]) < chain.KEPT
    monkeypatch.setattr(chain, "_WORK", 0.0)
    assert len(run_chain(sampler, np.random.default_rng(0), no_poll).samples["sampled_rows"]) == 1


RESTLESS, RESTING = 0.5, 0.0
_LONG = list(range(chain.BURN_IN, chain.BURN_IN + chain.KEPT))


@for_each(
    "moved, rising, many, expected",
    {
        "the burn-in ends ten sweeps after the bound last rose": (
            [RESTLESS],
            10,
            0,
            range(20, 20 + chain.KEPT),
        ),
        "merges are tried after ten sweeps, which do not count": (
            [RESTLESS],
            11,
            0,
            range(21, 21 + chain.KEPT),
        ),
        "a burn-in has a longest length": ([RESTLESS], 1000, 0, _LONG),
        "at rest in the burn-in": ([RESTLESS] * 5 + [RESTING], 1000, 0, range(5, 5 + chain.SETTLED)),
        "at rest after it": (
            [RESTLESS] * (chain.BURN_IN + 20) + [RESTING],
            1000,
            0,
            range(chain.BURN_IN + 20, chain.BURN_IN + 20 + chain.SETTLED),
        ),
        "few objects": ([RESTING], 1000, chain.MANY_OBJECTS, _LONG),
        "moves again": (([RESTING] * (chain.SETTLED - 1) + [RESTLESS]) * 100, 1000, 0, _LONG),
        "five of a thousand may move": ([4.9e-3], 1000, 0, range(chain.SETTLED)),
        "no more": ([5.1e-3], 1000, 0, _LONG),
    },
)
def test_which_sweeps_of_a_chain_are_kept(
    moved: list[float], rising: int, many: int, expected: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The objects move as given, the last for ever; the bound rises in `rising` sweeps."""
    sampler = GibbsIrm(few_columns(), Start(5, 5), SINGLE, "fixed")
    first = sampler.init(np.random.default_rng(0))
    drawn: list[int] = []
    merging_after: list[int] = []

    def sweep(*_: object) -> tuple[GibbsState, SweepInfo]:
        drawn.append(len(drawn))
        share = moved[min(len(drawn), len(moved)) - 1]
        numbered = replace(first.hyper, a=np.full((1, 1), float(drawn[-1])))
        return replace(first, hyper=numbered), SweepInfo(None, None, change=2.0 * share)

    monkeypatch.setattr(chain, "MANY_OBJECTS", many)
    monkeypatch.setattr(GibbsIrm, "sweep", sweep)
    monkeypatch.setattr(chain, "try_merges", lambda *_: merging_after.append(len(drawn)))
    monkeypatch.setattr(chain, "measure_bound", lambda *_: float(min(len(drawn), rising)))
    monkeypatch.setattr(
        chain, "pack_samples", lambda samples: {"kept": [int(state.hyper.a.item()) for state, _ in samples]}
    )
    kept = run_chain(sampler, np.random.default_rng(0), no_poll).samples["kept"]
    assert kept == list(expected)
    assert kept[-1] == drawn[-1]
    assert merging_after == [10][: len(drawn) > 10]


def test_merges_are_kept_only_where_they_leave_objects_at_rest() -> None:
    planted = planted_relation(300, 200, 4, 3, 0)
    hyper = SINGLE
    rng = np.random.default_rng(0)
    plain = GibbsIrm(planted.relation, Start(12, 12), hyper)
    merged = chain.try_merges(plain, plain.init(rng), rng, no_poll)
    assert merged is not None
    assert merged.ones.shape == (4, 3)
    again = chain.try_merges(plain, merged, rng, no_poll)
    assert again is None  # nothing is left to merge
    vague = GibbsIrm(load_sample("southern_women").relation, Start(12, 12, "random"), hyper)
    state = vague.init(rng)
    assert merge_clusters(vague.irm_state(state))[1] > 0
    assert chain.try_merges(vague, state, rng, no_poll) is None


def test_a_start_keeps_to_the_limit_of_clusters() -> None:
    q = np.eye(4)[[0, 1, 2, 3, 0]]
    np.testing.assert_allclose(keep_clusters(q, 2), [[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5], [1, 0]])
    relation = few_columns()
    found = fit(relation, "cvb0", k_rows=2, k_cols=3, split=False).snapshot.effective_k
    assert found["rows"] <= 2
    assert found["cols"] <= 3


@for_each("kind", list(NETWORKS))
def test_the_bound_of_each_sample_is_kept_and_shows_whether_the_chain_has_mixed(kind: str) -> None:
    relation, _, _ = case(kind, 0)
    result = fit(relation, "cvb0", hyper="fixed", k_rows=6)
    posterior, layout = result.snapshot.posterior, result.prepared.model.layout
    for at in (0, 77, 139):
        labels = {domain: posterior[f"sampled_{domain}"][at].astype(np.int64) for domain in layout.domains}
        q = {domain: sorted_by_size(chain.one_hot(of)) for domain, of in labels.items()}
        state = IrmState(q, *block_counts(relation, q, layout), hyper_of(posterior), layout)
        assert posterior["sampled_bounds"][at] == pytest.approx(lower_bound(state), rel=1e-12)
    report = result.chain
    assert report.n_samples == chain.KEPT
    assert report.quantities["lower_bound"] == measure_mixing(posterior["sampled_bounds"])
    assert report.quantities.keys() == {"lower_bound", *(f"k_{domain}" for domain in layout.domains)}
    assert result.summary()["samples"]["n"] == chain.KEPT


@for_each("method", ["vb", "acvb0"])
def test_the_scores_of_averaged_predictions_come_with_the_answer(method: str) -> None:
    result = fit(few_columns(), method, heldout=0.1, max_sweeps=40)
    score, heldout = result.snapshot.heldout, result.prepared.heldout
    pairs = SampledPairs(result.posterior)
    assert count_samples(result.posterior) == chain.KEPT
    expected = result.prepared.model.score(pairs.of(heldout.rows, heldout.columns), heldout)
    assert score.averaged_skill == pytest.approx(expected.skill)
    assert score.averaged_log_likelihood == pytest.approx(expected.log_likelihood)
    assert score.averaged_roc_auc == pytest.approx(expected.roc_auc)
    assert result.history["heldout_averaged_skill"].notna().sum() == 1


@pytest.mark.parametrize("seeds", [(4, 4), (4, 5)])
def test_methods_that_start_together_share_a_chain(
    seeds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another seed a run has a chain of its own; in any case it gives what it gives alone."""
    begun, chains = threading.Barrier(2, timeout=30.0), []

    def note_chain(*arguments: Any) -> chain.ChainStart:
        chains.append(arguments)
        for _ in range(20):  # the other run comes meanwhile
            time.sleep(0.1)
            arguments[-1]()  # the poll
        return run_chain(*arguments)

    def fit_one(method: str, seed: int, wait: Callable[[], object] = lambda: None) -> Posterior:
        wait()
        return fit(relation, method, seed=seed, max_sweeps=3).posterior

    relation = few_columns()
    runs = list(zip(("acvb0", "vb"), seeds, strict=True))
    alone = [fit_one(*run) for run in runs]
    monkeypatch.setattr(sweeping, "run_chain", note_chain)
    with ThreadPoolExecutor(2) as threads:
        together = [threads.submit(fit_one, *run, begun.wait) for run in runs]
    assert len(chains) == len(set(seeds))
    for wanted, one in zip(alone, together, strict=True):
        assert bits_of(one.result()) == bits_of(wanted)


#: Points of the logarithms of the concentration, and of a and b, over which the exact posterior is integrated.
_CONCENTRATIONS, _PRIORS = np.linspace(-16.0, 8.0, 241), np.linspace(-12.0, 4.0, 81)


def log_partition_prior(partition: Partition) -> float:
    """Return log p(partition) of a Chinese restaurant process with a Gamma(1, 1) concentration, up to a constant."""
    sizes = np.bincount(partition)
    alpha = np.exp(_CONCENTRATIONS)
    terms = (
        len(sizes) * _CONCENTRATIONS + gammaln(alpha) - gammaln(alpha + sizes.sum()) - alpha + _CONCENTRATIONS
    )
    return float(logsumexp(terms) + gammaln(sizes).sum())


def log_block_evidence(ones: np.ndarray, zeros: np.ndarray) -> float:
    """Return log p(entries | partitions) with Gamma(1, 1) priors of a and b, up to a constant."""
    a, b = np.meshgrid(np.exp(_PRIORS), np.exp(_PRIORS), indexing="ij")
    total = -a - b + np.log(a) + np.log(b)
    for n, m in zip(ones, zeros, strict=True):
        total = total + betaln(a + n, b + m) - betaln(a, b)
    return float(logsumexp(total))


def exact_posterior(relation: Relation, layout: Layout) -> dict[tuple[Partition, ...], float]:
    """Return the probability of every clustering, hyper-parameters integrated out on a grid."""
    sizes = relation.shape[: len(layout.domains)]
    known: dict[tuple[tuple[float, float], ...], float] = {}
    logs = {}
    for chosen in product(*(partitions(n) for n in sizes)):
        labels = {domain: np.array(part) for domain, part in zip(layout.domains, chosen, strict=True)}
        ones, entries = count_blocks(relation, labels, layout)
        distinct = np.broadcast_to(layout.distinct(len(ones)), ones.shape) > 0
        blocks = tuple(sorted(zip(ones[distinct], (entries - ones)[distinct], strict=True)))
        if blocks not in known:
            known[blocks] = log_block_evidence(*np.array(blocks).T)
        logs[chosen] = known[blocks] + sum(map(log_partition_prior, chosen))
    total = logsumexp(list(logs.values()))
    return {chosen: float(np.exp(log - total)) for chosen, log in logs.items()}


def tiny(kind: str) -> Relation:
    if kind == "two sides":
        return Relation.build(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [np.nan, 0, 1]]))
    links = np.array([[0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0]])
    missing = np.zeros((5, 5), dtype=bool)
    missing[0, 4] = missing[4, 0] = True
    if kind == "undirected":
        return Relation.build(links, missing, network=Network(directed=False))
    links[0, 1] = links[3, 2] = 0
    links[2, 2] = 1
    return Relation.build(links, missing, network=Network(directed=True, self_links=True))


@pytest.mark.parametrize("kind", ["two sides", "undirected", "directed"])
def test_default_chains_follow_the_exact_posterior(kind: str) -> None:
    """Sixty chains as runs begin with; a rule that ends chains early by their state is seen here."""
    relation = tiny(kind)
    layout = layout_of(relation)
    exact = exact_posterior(relation, layout)
    seen: Counter[tuple[Partition, ...]] = Counter()
    for seed in range(60):
        hyper = Hyper.single_prior(1.0, 0.1, 1.0, layout.domains)
        sampler = GibbsIrm(relation, Start(20, 20, "spectral"), hyper, "tied", layout)
        samples = run_chain(sampler, np.random.default_rng(seed), no_poll).samples
        labels = [samples[f"sampled_{domain}"] for domain in layout.domains]
        assert len(labels[0]) == chain.KEPT
        seen.update(tuple(map(canonical_partition, drawn)) for drawn in zip(*labels, strict=True))
    frequency = {chosen: n / seen.total() for chosen, n in seen.items()}
    distance = sum(abs(frequency.get(chosen, 0.0) - p) for chosen, p in exact.items()) / 2
    assert distance < 0.05
