"""Warm-up cases of relations and networks: tiny data on which every compiled function is used once."""

from __future__ import annotations

import numpy as np

from acvb_core.core.protocols import Posterior
from acvb_core.core.rows import Values, WarmUp
from acvb_core.data.relation import Network, Relation
from acvb_core.models.irm.evaluate.sampled import SampledPairs, count_samples
from acvb_core.models.irm.figures.binning import count_in_bins
from acvb_core.models.irm.model import IrmModel
from acvb_core.models.irm.moves.neighbours import cluster_sums, neighbour_sums
from acvb_core.models.irm.moves.schedule import MOVES_FROM
from acvb_core.models.irm.network.split_counts import sum_pairs
from acvb_core.models.irm.sweeps.bounds import make_bounds


def tiny_relation() -> tuple[Relation, Values]:
    """Return two clusters of row objects, each linked to its own column objects, and the settings of a run."""
    ones = [[int((i < 6) == (j < 5) or i == j) for j in range(10)] for i in range(12)]
    return Relation.build(ones, name="tiny"), {"k_rows": 3, "k_cols": 3}


def tiny_network() -> tuple[Relation, Values]:
    """Return two groups with links between them; other kinds of networks use the same functions."""
    ones = [[int(i != j and ((i < 5) == (j < 5) or i + j == 9)) for j in range(10)] for i in range(10)]
    return Relation.build(ones, name="tiny", network=Network()), {"k_rows": 3}


def use_figures() -> None:
    """Count links in the bins of a block matrix."""
    relation, _ = tiny_relation()
    row_bin, column_bin = (np.arange(n, dtype=np.int32) // 2 for n in relation.shape)
    count_in_bins(relation.ones, row_bin, column_bin, (int(row_bin[-1]) + 1, int(column_bin[-1]) + 1))


def predict_links(_: IrmModel, posterior: Posterior, train: Relation) -> None:
    """Predict links by the samples of a run, where it has some; do what only runs with more clusters do."""
    hard = np.eye(train.shape[1], 5)
    neighbour_sums(train.ones, hard)
    cluster_sums(hard, hard)
    sum_pairs(train.ones.indptr, train.ones.indices, hard[:, 0].copy())
    blocks = np.ones((5, 2))
    make_bounds(blocks, blocks, blocks, np.ones(2), 24)
    if count_samples(posterior):
        SampledPairs.of_posterior(posterior).band(0, train.shape[0], 0)


#: Without the chain that a run begins with.
_SWEEPS = {"init": "random"}
#: Clusters are merged and split in the last sweep.
CASES = {
    "irm": WarmUp(tiny_relation, MOVES_FROM + 1, predict_links, use_figures, other_half=_SWEEPS),
    "network": WarmUp(tiny_network, MOVES_FROM + 1, predict_links, other_half=_SWEEPS),
}
