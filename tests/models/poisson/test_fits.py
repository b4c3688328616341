"""Fits of blocks of counts: units of weights, the choice of the degrees, links compared with counts, and scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nbinom

import acvb_core
from acvb_core.cli import main
from acvb_core.core.errors import DataError
from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import label_agreement
from acvb_core.models.poisson.counts import count_links, find_unit
from acvb_core.models.poisson.methods import DegreeChoice
from acvb_core.registry import model_row
from acvb_core.samples.planted_relations import large_relation, planted_hubs
from tests.loops import for_each


def amounts_of(seed: int = 0) -> Relation:
    """Return a network without hubs whose weights are amounts, some of them far below a unit."""
    network = planted_hubs(60, 3, seed, skew=0.0).relation
    pairs = network.links.tocoo()
    noise = np.random.default_rng(seed).gamma(2.0, 1.3, network.shape)
    return replace(network, weights=pairs.data * (noise + noise.T)[pairs.row, pairs.col])


def test_amounts_are_counted_in_the_unit_in_which_their_variance_is_their_mean() -> None:
    data = amounts_of()
    unit = find_unit(data)
    assert (data.weights / unit).var() == pytest.approx((data.weights / unit).mean(), rel=1e-12)
    counted = count_links(data, "none").counts
    np.testing.assert_array_equal(counted, np.maximum(np.round(data.weights / unit), 1.0))
    assert counted.min() == 1.0 < counted.max()
    other = replace(data, weights=data.weights * 0.037)  # in another currency
    np.testing.assert_array_equal(count_links(other, "none").counts, counted)
    whole = replace(data, weights=7.0 * counted)
    np.testing.assert_array_equal(count_links(whole, "none").counts, whole.weights)


def test_the_unit_is_in_the_files_and_in_the_words_of_a_run() -> None:
    network = amounts_of()
    result = acvb_core.fit(network, "vb", model="poisson-network", k_rows=4, init="spectral", max_sweeps=4)
    row = model_row("poisson-network")
    assert row.part("export").facts(result)["unit"] == pytest.approx(find_unit(network))
    assert dict(row.part("text").facts(result))["unit of the counts"] == f"{find_unit(network):.4g}"


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
        choice = DegreeChoice.of_posterior(result.posterior)
        assert choice.degree == wanted
        assert (choice.corrected > choice.without) == (wanted == "corrected")
        assert label_agreement(result.labels("rows"), planted.row_clusters.astype(str)).ari > ari


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
        heldout.values, np.maximum(np.round(heldout.weights / find_unit(result.prepared.train)), 1), 0
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
