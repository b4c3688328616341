"""Likely and surprising pairs of blocks of counts, against plain sums over clusters and samples."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import special, stats

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.gibbs import LABELS, RATES, STRENGTHS
from acvb_core.models.poisson import export
from acvb_core.models.poisson.scores import _beta_share, list_blocks


@cache
def letters() -> Result:
    """Two groups of twelve who write to each other, one of each far more than the others; one pair far too often."""
    rng = np.random.default_rng(3)
    groups, activity = np.repeat([0, 1], 12), np.where(np.arange(24) % 12, 1.0, 5.0)
    counts = rng.poisson(np.outer(activity, activity) * np.array([[1.0, 0.1], [0.1, 1.5]])[groups][:, groups])
    counts[3, 20] = 4
    np.fill_diagonal(counts, 0)
    network = Relation.build(counts, threshold=0, network=Network(directed=True), name="letters")
    return fit(network, "cvb0", model="poisson-network", k_rows=3, unit=1.0)


def mixture(result: Result, row: int, column: int, averaged: bool) -> list[tuple[float, float, float]]:
    """Weight, shape and success probability of the negative binomial counts that a pair's count is a mixture of."""
    posterior, model = result.posterior, result.prepared.model
    counted = model.observations(posterior)
    exposure = counted.row_activity[row] * counted.column_activity[column]
    if averaged:
        labels, rates, means = (posterior[name] for name in (LABELS.format("rows"), RATES, STRENGTHS))
        blocks = [(rates[s, a, b], means[s, a, b]) for s, (a, b) in enumerate(labels[:, [row, column]])]
        return [(1 / len(blocks), rate * mean, rate / (rate + exposure)) for rate, mean in blocks]
    state = model.state(posterior)
    shapes, rates = list_blocks(state.hyper, state.ones, state.entries)
    q = posterior["rows"]
    return [
        (q[row, k] * q[column, m], shapes[k, m], rates[k, m] / (rates[k, m] + exposure))
        for k in range(len(shapes))
        for m in range(len(shapes))
    ]


@pytest.mark.parametrize("averaged", [True, False])
def test_tails_and_expected_counts_are_those_of_the_mixture(averaged: bool) -> None:
    """Every surprising pair has the tail on the side on which its count is, and they are in that order."""
    result = letters()
    relation = result.prepared.data
    counts = relation.links.toarray()
    places = {str(name): at for at, name in enumerate(relation.row_labels)}
    table = export.surprising_links(result, 10_000, averaged)
    assert len(table) == relation.n_links
    assert export.surprising_links(result, 3, averaged)["tail"].tolist() == table["tail"][:3].tolist()
    assert table.loc[0, ["row", "column"]].tolist() == ["3", "20"]
    assert (np.diff(table["tail"]) >= 0).all()
    for line in table.iloc[::7].itertuples():
        row, column = places[line.row], places[line.column]
        parts = mixture(result, row, column, averaged)
        assert line.count == counts[row, column]
        below, above, none, mean = (
            sum(weight * of(shape, p) for weight, shape, p in parts)
            for of in (
                lambda shape, p, x=line.count: stats.nbinom.cdf(x, shape, p),
                lambda shape, p, x=line.count: stats.nbinom.sf(x - 1, shape, p),
                lambda shape, p: stats.nbinom.pmf(0, shape, p),
                stats.nbinom.mean,
            )
        )
        assert line.tail == pytest.approx(min(below, above), rel=1e-5)
        assert line.probability == pytest.approx(1.0 - none, rel=1e-5)
        assert line.expected == pytest.approx(mean, rel=1e-5)


def test_likely_links_are_unlinked_pairs_by_their_exact_probability() -> None:
    """The samples that rank the pairs are fewer than those that predict the ones listed."""
    result = letters()
    relation = result.prepared.data
    table = export.likely_links(result, 30, "unlinked")
    rows, columns = (np.array([int(name) for name in table[side]]) for side in ("row", "column"))
    pairs = result.prepared.model.pairs(result.posterior, True)
    assert not relation.ones.toarray()[rows, columns].any()
    assert (rows != columns).all()
    np.testing.assert_allclose(table["probability"], pairs.of(rows, columns))
    assert (np.diff(table["probability"]) <= 0).all()
    every = np.argwhere(~relation.ones.toarray() & ~np.eye(24, dtype=np.bool_))
    best = np.sort(pairs.of(*every.T))[::-1][:30]
    assert table["probability"].sum() == pytest.approx(best.sum(), rel=0.02)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("band", [(2, 9, 0), (5, 12, 5)])
def test_bands_of_pairs_have_the_probabilities_of_single_ones(
    averaged: bool, band: tuple[int, int, int]
) -> None:
    posterior = letters().posterior
    q = np.random.default_rng(1).dirichlet(np.full(posterior["rows"].shape[1], 0.3), 24)
    uncertain = posterior.with_arrays({"rows": q}, axes={"rows": (None, "rows")})
    pairs = letters().prepared.model.pairs(uncertain, averaged)
    rows, columns = (side.ravel() for side in np.mgrid[band[0] : band[1], band[2] : 24])
    np.testing.assert_allclose(pairs.band(*band).ravel(), pairs.of(rows, columns), rtol=0, atol=1e-6)


def test_the_share_of_a_beta_distribution_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for a, b in 10 ** rng.uniform(-2, 5, (500, 2)):
        for x in (rng.random(), np.clip(a / (a + b) * (1 + 0.05 * rng.normal()), 1e-9, 1 - 1e-9)):
            expected = special.betainc(a, b, x)
            assert _beta_share(a, b, x) == pytest.approx(expected, rel=1e-6, abs=1e-200)
