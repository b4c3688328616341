"""Uncertainty: the chain against enumeration, and results from its samples against dense computations."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from acvb_core.core.protocols import Posterior, no_poll
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.gibbs import KEPT, GibbsIrm, count_blocks, one_hot, run_chain
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import TWO_DOMAINS, Layout, network_layout
from acvb_core.models.irm.scores import SampledStrengths, count_sampled_clusters, share_company
from acvb_core.models.irm.start import Start
from tests.loops import for_each
from tests.models.irm.evaluate.test_links import NETWORKS, case
from tests.oracles.enumeration import Partition, canonical_partition, partitions

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
    layout = TWO_DOMAINS if relation.network is None else network_layout(relation)
    exact = exact_posterior(relation, layout)
    seen: Counter[tuple[Partition, ...]] = Counter()
    for seed in range(60):
        hyper = Hyper.single_prior(1.0, 0.1, 1.0, layout.domains)
        sampler = GibbsIrm(relation, Start(20, 20, "spectral"), hyper, "tied", layout)
        samples = run_chain(sampler, np.random.default_rng(seed), no_poll).samples
        labels = [samples[f"sampled_{domain}"] for domain in layout.domains]
        assert len(labels[0]) == KEPT
        seen.update(tuple(map(canonical_partition, drawn)) for drawn in zip(*labels, strict=True))
    frequency = {chosen: n / seen.total() for chosen, n in seen.items()}
    distance = sum(abs(frequency.get(chosen, 0.0) - p) for chosen, p in exact.items()) / 2
    assert distance < 0.05


def with_samples(kind: str) -> tuple[Relation, Posterior, Layout]:
    """A posterior with three samples of other numbers of clusters; object 0 is alone in its cluster."""
    relation, posterior, _ = case(kind, n=11)
    layout = TWO_DOMAINS if relation.network is None else network_layout(relation)
    rng = np.random.default_rng(4)
    arrays, axes = dict(posterior.arrays), dict(posterior.axes)
    for domain, n in zip(layout.domains, relation.shape, strict=False):
        arrays[domain] = one_hot(np.append(3, np.append(np.arange(3), rng.integers(3, size=n - 4))))
        drawn = [np.append(np.arange(k), rng.integers(k, size=n - k)) for k in (2, 4, 4)]
        arrays[f"sampled_{domain}"] = np.array(drawn, dtype=np.int16)
        axes[f"sampled_{domain}"] = (None, None)
    levels = rng.random((3, 4, 4))
    arrays["sampled_strengths"], axes["sampled_strengths"] = (levels + levels.transpose(0, 2, 1)) / 2, (None,) * 3
    return relation, Posterior(arrays, axes, layout.domains), layout


@for_each("kind", list(NETWORKS))
def test_strengths_from_samples_average_the_pairs_of_each_block(kind: str) -> None:
    """They equal the mean over every pair of the posterior means of each sample's own blocks."""
    relation, posterior, layout = with_samples(kind)
    hyper = Hyper.single_prior(1.0, 50.0, 80.0, layout.domains)
    found = SampledStrengths.of(relation, posterior, hyper, layout)
    rows, cols = (posterior.labels(domain) for domain in layout.axes)
    expected = np.zeros((4, 4))
    for at in range(3):
        labels = {domain: posterior[f"sampled_{domain}"][at].astype(np.int64) for domain in layout.domains}
        ones, entries = count_blocks(relation, labels, layout)
        strengths = (50.0 + ones) / (130.0 + entries)
        dense = strengths[np.ix_(*(labels[domain] for domain in layout.axes))]
        is_pair = np.ones(dense.shape, dtype=bool)
        if relation.network is not None and not relation.network.self_links:
            np.fill_diagonal(is_pair, False)
        for k, m in product(range(4), range(4)):
            inside = np.outer(rows == k, cols == m)
            shown = inside & is_pair if (inside & is_pair).any() else inside
            expected[k, m] += dense[shown].mean() / 3
    np.testing.assert_allclose(found.mean, expected, rtol=1e-9)
    assert (found.low < expected).all()
    assert (expected < found.high).all()


def test_company_is_counted_over_samples_and_members() -> None:
    _, posterior, _ = with_samples("two sides")
    own, samples = posterior.labels("rows"), posterior["sampled_rows"]
    for i, share in enumerate(share_company(posterior, "rows")):
        others = np.flatnonzero((own == own[i]) & (np.arange(len(own)) != i))
        met = [drawn[j] == drawn[i] for drawn in samples for j in others]
        alone = [(drawn == drawn[i]).sum() == 1 for drawn in samples]
        assert share == pytest.approx(np.mean(met if len(others) else alone))
    assert {name: list(n) for name, n in count_sampled_clusters(posterior).items()} == {
        "rows": [2, 4, 4],
        "cols": [2, 4, 4],
    }
