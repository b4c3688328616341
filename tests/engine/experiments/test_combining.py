"""Several runs taken together: mean predictions, consensus, matched topics."""

from __future__ import annotations

import numpy as np
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.engine.experiments.answers import average_posteriors
from acvb_core.evaluate.agreement import agreement
from acvb_core.samples.planted_relations import planted_relation
from tests.loops import for_each
from tests.models.irm.moves.adapters import mixed_network


def runs_of(data: object, method: str, n: int = 3, **settings: object) -> list[acvb_core.Result]:
    return [acvb_core.fit(data, method, seed=seed, **settings) for seed in range(n)]


@for_each("init", ["random", "gibbs"])
def test_the_mean_of_predictions_is_scored(init: str) -> None:
    relation = planted_relation(40, 30, 3, 3, 1).relation
    results = runs_of(relation, "cvb0", init=init, heldout=0.1, max_sweeps=20, k_rows=4, k_cols=4)
    combined = acvb_core.combine(results)
    prepared = results[0].prepared
    predict = prepared.model.predict if init == "random" else prepared.model.predict_averaged
    mean = np.mean([predict(result.posterior, prepared.heldout) for result in results], axis=0)
    assert combined.score == prepared.model.score(mean, prepared.heldout)
    # The logarithm is concave: the mean prediction is at least as likely as the runs' are on average.
    assert combined.score.log_likelihood >= np.mean([score.log_likelihood for score in combined.scores])


def test_the_consensus_of_short_chains_is_nearer_to_the_truth_than_the_median_run() -> None:
    relation, truth = mixed_network(3)
    results = runs_of(relation, "gibbs", 10, init="random", k_rows=8, max_sweeps=6, burn_in=5)
    labels = truth["rows"]
    single = [agreement(labels, result.labels("rows"))["ari"] for result in results]
    table = acvb_core.combine(results).consensus("rows")
    assert list(table.columns) == ["object", "cluster", "certainty", *(f"run_{n}" for n in range(1, 11))]
    assert agreement(labels, table["cluster"])["ari"] > np.median(single)
    assert table["certainty"].between(0.0, 1.0).all()
    assert table["cluster"].min() == 1


def test_topics_of_runs_are_matched_before_they_are_averaged() -> None:
    """Bars: ten topics that every run finds, in an order of its own."""
    results = runs_of(acvb_core.load_sample("bars").corpus, "cvb0", k=10, max_sweeps=60)
    combined = acvb_core.combine(results)
    assert combined.score is None, "nothing is held out"
    mean, first = (
        {frozenset(group["word"][:5]) for _, group in frame.groupby("topic")}
        for frame in (combined.tables["topics"], results[0].topics)
    )
    assert len(mean & first) >= 8


def test_runs_in_another_order_of_clusters_average_to_themselves() -> None:
    relation = planted_relation(40, 30, 3, 3, 1).relation
    posterior = acvb_core.fit(relation, "vb", max_sweeps=30).posterior
    order = np.arange(posterior.n_clusters()["rows"])[::-1]
    turned = posterior.with_arrays({"rows": posterior["rows"][:, order]})
    mean = average_posteriors([posterior, turned, posterior])
    for name in ("rows", "cols"):
        np.testing.assert_allclose(mean[name], posterior[name], atol=1e-12)
    table = acvb_core.load_sample("block_images").table
    one, other = (run.posterior for run in runs_of(table, "fab", 2, heldout=0.1, max_sweeps=20))
    mean = average_posteriors([one, other])
    for name in ("bias", "precision"):
        np.testing.assert_allclose(mean[name], (one[name] + other[name]) / 2)


def test_runs_that_cannot_be_combined_are_refused() -> None:
    relation = planted_relation(20, 15, 2, 2, 1).relation
    other = planted_relation(20, 15, 2, 2, 2).relation
    one = acvb_core.fit(relation, "vb", heldout=0.1, max_sweeps=3)
    with pytest.raises(ParameterError, match="two runs at least, not 1"):
        acvb_core.combine([one])
    with pytest.raises(ParameterError, match="have the same data"):
        acvb_core.combine([one, acvb_core.fit(other, "vb", heldout=0.1, max_sweeps=3)])
    with pytest.raises(ParameterError, match="have the same held-out data"):
        acvb_core.combine([one, acvb_core.fit(relation, "vb", heldout=0.1, heldout_seed=1, max_sweeps=3)])
    with pytest.raises(ParameterError, match=r"no consensus of 'words'; these runs have 'rows' and 'cols'"):
        acvb_core.combine([one, one]).consensus("words")


def test_the_mean_of_tables_has_the_mean_of_everything() -> None:
    one, other = (
        run.posterior
        for run in runs_of(acvb_core.load_sample("block_images").table, "fab", 2, heldout=0.1, max_sweeps=20)
    )
    precision = average_posteriors([one, other])["precision"]
    np.testing.assert_allclose(precision, (one["precision"] + other["precision"]) / 2)
    np.testing.assert_allclose(average_posteriors([one, one])["objects"], one["objects"])
