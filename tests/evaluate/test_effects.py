"""Labels compared with clusters: against SciPy's exact test, and on simulated data with a known difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from acvb_core.core.errors import ParameterError
from acvb_core.evaluate.effects import compare_numbers, over_representation
from acvb_core.evaluate.significance import adjust_holm


def test_counts_and_p_are_those_of_fishers_test() -> None:
    rng = np.random.default_rng(1)
    clusters, labels = rng.integers(3, size=40), rng.choice(["a", "b", ""], size=40)
    table = over_representation(labels, clusters)
    known = labels != ""
    for line in table.itertuples():
        inside, has = clusters[known] == line.cluster, labels[known] == line.label
        cells = [
            [(inside & has).sum(), (inside & ~has).sum()],
            [(~inside & has).sum(), (~inside & ~has).sum()],
        ]
        tails = [stats.fisher_exact(cells, alternative=side).pvalue for side in ("less", "greater")]
        np.testing.assert_allclose(line.p, min(1.0, 2 * min(tails)), rtol=1e-9)
        assert line.count == cells[0][0]
        np.testing.assert_allclose(line.expected, inside.sum() * has.sum() / known.sum())
        np.testing.assert_allclose(line.difference, has[inside].mean() - has[~inside].mean())
        assert line.low < line.difference < line.high
    np.testing.assert_allclose(table["p_holm"], adjust_holm(table["p"]))
    assert len(table) == 6


def test_samples_that_disagree_widen_the_interval() -> None:
    """Half of the objects with the label change their cluster in every second sample."""
    clusters = np.repeat([0, 1], 200)
    labels = np.where(np.arange(400) < 100, "a", "b")
    other = clusters.copy()
    other[:50] = 1
    one, both = (
        over_representation(labels, clusters),
        over_representation(labels, np.array([clusters, other])),
    )
    same = over_representation(labels, np.array([clusters, clusters]))
    assert one.drop(columns=["low", "high"]).equals(same.drop(columns=["low", "high"]))
    assert both["high"][0] - both["low"][0] > 2 * (one["high"][0] - one["low"][0])
    assert (both["count"][0], one["count"][0]) == (75, 100)


def test_intervals_contain_the_true_difference_and_labels_without_one_are_seldom_found() -> None:
    rng = np.random.default_rng(2)
    covered, found, false = 0, 0, 0
    for _ in range(100):
        clusters = np.repeat([0, 1, 2], 60)
        labels = np.where(rng.random(180) < np.where(clusters == 0, 0.6, 0.2), "a", "b")
        table = over_representation(labels, clusters)
        line = table[(table["cluster"] == 0) & (table["label"] == "a")].iloc[0]
        covered += line["low"] < 0.4 < line["high"]
        found += line["p_holm"] < 0.05
        false += bool((over_representation(rng.permutation(labels), clusters)["p_holm"] < 0.05).any())
    assert 88 <= covered <= 99
    assert found >= 95
    assert false <= 8


def test_numbers_are_compared_by_ranks() -> None:
    rng = np.random.default_rng(3)
    clusters, values = rng.integers(3, size=60), rng.normal(size=60)
    values[5] = np.nan
    clusters[6] = -1
    table = compare_numbers(values, clusters)
    kept = np.isfinite(values) & (clusters >= 0)
    for line in table.itertuples():
        inside, outside = values[kept & (clusters == line.cluster)], values[kept & (clusters != line.cluster)]
        expected = len(inside), np.median(inside), np.median(outside)
        np.testing.assert_allclose((line.count, line.median, line.others), expected)
        np.testing.assert_allclose(line.p, stats.mannwhitneyu(inside, outside, method="asymptotic").pvalue)
    assert np.isnan(compare_numbers(values, np.zeros(60, dtype=int))["p"]).all()


def test_clusters_of_other_objects_are_refused() -> None:
    with pytest.raises(ParameterError, match="Clusters of 3 objects are needed, not of 2"):
        over_representation(["a", "b", "a"], [0, 1])


def test_one_cluster_and_no_labels_are_no_comparison() -> None:
    alone = over_representation(["a", "b", "a"], [4, 4, 4])
    assert alone["cluster"].tolist() == [4, 4]
    assert alone["share"].tolist() == [2 / 3, 1 / 3]
    assert alone[["others", "low", "high"]].isna().all(axis=None)
    assert over_representation(["", ""], [0, 1]).empty
    assert compare_numbers([np.nan, np.nan], [0, 1]).empty
