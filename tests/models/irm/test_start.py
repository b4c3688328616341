"""The spectral start of data of any size."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, ward

from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm import start
from tests.loops import for_each


@for_each("n_points", [start._FEW, start._FEW + 1])
def test_planted_groups_of_few_and_of_many_points_are_found(n_points: int) -> None:
    rng = np.random.default_rng(n_points)
    groups = rng.integers(4, size=n_points)
    points = 10.0 * np.eye(4)[groups] + rng.normal(size=(n_points, 4))
    labels = start._cluster_points(points, 4, seed=1)
    assert set(labels) == {0, 1, 2, 3}
    assert agreement(labels, groups)["ari"] == 1.0


@for_each("n_clusters", [1, 3, 17, 40])
def test_the_hierarchy_is_scipys(n_clusters: int) -> None:
    points = np.random.default_rng(n_clusters).normal(size=(40, 5)) ** 3
    ours = start._cut_hierarchy(points, n_clusters)
    assert len(set(ours)) == n_clusters
    scipys = fcluster(ward(points), n_clusters, "maxclust")
    assert agreement(ours, scipys)["ari"] == 1.0


def test_points_that_are_alike_are_one_cluster() -> None:
    labels = start._cluster_points(np.repeat([[0.0, 1.0], [5.0, 5.0]], 6, axis=0), 4, seed=1)
    assert labels.tolist() == [labels[0]] * 6 + [labels[6]] * 6
    assert labels[0] != labels[6]
