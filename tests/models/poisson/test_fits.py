"""Fits of blocks of counts: units of weights, the choice of the degrees, links compared with counts, and scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom

import acvb_core
from acvb_core.cli import main
from acvb_core.core.errors import DataError
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import label_agreement
from acvb_core.models.poisson.methods import CountChoice
from acvb_core.registry import model_row
from acvb_core.samples.planted_relations import large_relation, planted_hubs
from tests.loops import for_each


def amounts_of(seed: int = 0) -> Relation:
    """Return a network without hubs whose weights are amounts, some of them far below a unit."""
    network = planted_hubs(60, 3, seed, skew=0.0).relation
    pairs = network.links.tocoo()
    noise = np.random.default_rng(seed).gamma(2.0, 1.3, network.shape)
    return replace(network, weights=pairs.data * (noise + noise.T)[pairs.row, pairs.col])


def unit_of(data: Relation, **values: Any) -> float:
    model = "poisson" if data.network is None else "poisson-network"
    settings = dict.fromkeys(("k_rows", "k_cols") if data.network is None else ("k_rows",), 8)
    result = acvb_core.fit(data, "vb", model=model, init="spectral", max_sweeps=1, **settings, **values)
    return CountChoice.of_posterior(result.posterior).unit


def test_weights_are_counted_in_the_unit_in_which_alike_pairs_vary_as_counts() -> None:
    network = planted_hubs(300, 5, 0, mean_weight=200.0).relation
    assert unit_of(network) == pytest.approx(1.0, abs=0.05), "Poisson counts, whatever their blocks"
    assert unit_of(replace(network, weights=7.0 * network.weights)) == pytest.approx(7.0, rel=0.1)
    cents = unit_of(replace(network, weights=0.01 * network.weights))
    assert cents == pytest.approx(0.01, rel=0.1)
    # Geometric weights of mean m have E x^2 / E x = 2 m - 1; activities and blocks explain some of that.
    links = large_relation(300, 400, 2_400, 4, 4, 1).relation
    weights = np.random.default_rng(0).geometric(1 / 4.0, links.n_ones).astype(float)
    assert 3.0 < unit_of(replace(links, weights=weights)) < 7.0
    assert unit_of(links) == 1.0
    assert unit_of(replace(links, weights=weights), unit=2.5) == 2.5


def test_weights_that_only_vary_are_no_clusters() -> None:
    """As they are, such weights end in a hundred clusters a side: one for each large weight."""
    links = large_relation(200, 300, 9_000, 4, 4, 1)
    weights = np.random.default_rng(0).geometric(1 / 4.0, links.relation.n_ones).astype(float)
    weighted = replace(links.relation, weights=weights)
    result = acvb_core.fit(weighted, model="poisson", k_rows=10, k_cols=10, seed=0, max_sweeps=40)
    assert max(result.posterior.n_clusters().values()) <= 6
    assert label_agreement(result.labels("rows"), links.row_clusters.astype(str)).ari > 0.9


def test_the_unit_is_in_the_files_and_in_the_words_of_a_run() -> None:
    network = amounts_of()
    result = acvb_core.fit(network, "vb", model="poisson-network", k_rows=4, init="spectral", max_sweeps=4)
    row, unit = model_row("poisson-network"), CountChoice.of_posterior(result.posterior).unit
    assert row.part("export").facts(result)["unit"] == unit
    assert dict(row.part("text").facts(result))["unit of the counts"] == f"{unit:.4g}"
    counted = result.prepared.model.observations(result.posterior).counts
    np.testing.assert_array_equal(counted, np.maximum(np.round(network.weights / unit), 1.0))


def test_values_below_0_are_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = "".join(f"a{i},b{j},{(i + j) % 3 - 1}\n" for i in range(4) for j in range(5))
    path = tmp_path / "signed.csv"
    path.write_text(f"one,two,value\n{links}")
    data = acvb_core.load_relation(path, threshold=0).data
    assert data.negative == links.count("-1")
    wanted = f"{data.negative} values are below 0.*Choose a model of links"
    with pytest.raises(DataError, match=wanted):
        acvb_core.fit(data, "acvb0", model="poisson")
    with pytest.raises(DataError, match=wanted):
        acvb_core.experiment(data, ["vb"], model="poisson", splits=2)
    assert main(["fit", str(path), "--threshold", "0", "--model", "poisson"]) != 0
    assert "Choose a model of links" in capsys.readouterr().err


@for_each("skew, wanted, ari", [(1.0, "corrected", 0.7), (0.0, "none", 0.95)])
def test_degrees_are_corrected_for_if_groups_have_hubs_and_not_otherwise(
    skew: float, wanted: str, ari: float
) -> None:
    for seed in range(3):
        planted = planted_hubs(200, 4, seed, skew=skew)
        result = acvb_core.fit(planted.relation, "cvb0", model="poisson-network", k_rows=10)
        choice = CountChoice.of_posterior(result.posterior)
        assert choice.degree == wanted
        assert (choice.corrected > choice.without) == (wanted == "corrected")
        assert label_agreement(result.labels("rows"), planted.row_clusters.astype(str)).ari > ari


def test_groups_with_hubs_are_found_where_the_model_of_links_finds_hubs() -> None:
    for seed in range(2):
        planted = planted_hubs(400, 4, seed, mean_weight=60.0)
        of_counts, of_links = (
            label_agreement(
                acvb_core.fit(planted.relation, model=model, seed=seed).labels("rows"),
                planted.row_clusters.astype(str),
            ).ari
            for model in ("poisson-network", "network")
        )
        assert of_counts > 0.95
        assert of_links < 0.6
    club = acvb_core.load_sample("karate").relation
    settings = {"k_rows": 2, "init": "spectral", "merge": False, "split": False, "degree": "corrected"}
    result = acvb_core.fit(club, model="poisson-network", **settings)
    (camps,) = club.attributes.values()
    assert label_agreement(result.labels("rows"), camps).ari > 0.87, "one member in the other camp"


def test_sparse_links_are_predicted_as_by_the_model_of_links() -> None:
    """The fewer links there are, the less likely is a count above 1: both models then have the same likelihood."""
    relation = large_relation(300, 400, 2_400, 4, 4, 1).relation
    predicted = []
    for model, values in (("irm", {}), ("poisson", {"degree": "none"})):
        settings = {"k_rows": 6, "k_cols": 6, "init": "spectral", "max_sweeps": 60, **values}
        result = acvb_core.fit(relation, "cvb0", model=model, heldout=0.1, **settings)
        probability = result.prepared.model.predict(result.posterior, result.prepared.heldout)
        predicted.append(probability.reshape(len(probability), -1)[:, 0])
    of_links, of_counts = predicted
    assert np.ptp(of_links) > 0.05, "blocks differ"
    assert np.abs(of_counts - of_links).max() < 0.01
    assert np.median(np.abs(of_counts / of_links - 1.0)) < 0.03


def predict_densely(result: Result) -> np.ndarray:
    """Return the mean probability of each held-out count, as a mixture of negative binomial distributions."""
    posterior, heldout = result.posterior, result.prepared.heldout
    model, q = result.prepared.model, posterior["rows"]
    counted = model.observations(posterior)
    shapes = posterior.hyper["a"] + posterior["ones"]
    rates = posterior.hyper["b"] + posterior["entries"] - posterior["ones"]
    exposure = counted.row_activity[heldout.rows] * counted.column_activity[heldout.columns]
    counts = np.where(
        heldout.values, np.maximum(np.round(heldout.weights / CountChoice.of_posterior(posterior).unit), 1), 0
    )
    each = nbinom.pmf(counts[:, None, None], shapes, rates / (rates + exposure[:, None, None]))
    return np.einsum("nkl,nk,nl->n", each, q[heldout.rows], q[heldout.columns])


@for_each("degree", ["corrected", "none"])
def test_held_out_weights_are_scored(degree: str) -> None:
    settings = {"k_rows": 4, "init": "spectral", "max_sweeps": 6, "degree": degree}
    result = acvb_core.fit(amounts_of(1), "cvb0", model="poisson-network", heldout=0.2, **settings)
    score, heldout = result.snapshot.heldout, result.prepared.heldout
    assert (heldout.weights > 0).tolist() == heldout.values.tolist()
    assert score.count_log_likelihood == pytest.approx(np.log(predict_densely(result)).mean(), rel=1e-4)
    others = replace(heldout, weights=heldout.weights * 3.0)
    model = result.prepared.model
    worse = model.score(model.predict(result.posterior, others), others)
    assert worse.log_likelihood == score.log_likelihood, "the same pairs are linked"
    assert worse.count_log_likelihood < score.count_log_likelihood - 0.1
