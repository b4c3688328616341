"""The model of the IRM: lower bound, pseudo leave-one-out score, predictions, result tables, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from acvb_core.core.protocols import Array, Poll, Posterior, Responsibilities, no_poll
from acvb_core.core.spec import Values, WarmUp
from acvb_core.core.special import x_log_x
from acvb_core.data.relation import Network, Relation
from acvb_core.evaluate.heldout import LinkScore, pair_products, score_links
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.gibbs import KEPT, LABELS
from acvb_core.models.irm.gibbs_kernels import TABLE_LENGTH
from acvb_core.models.irm.kernels import (
    TWO_DOMAINS,
    BlockCounts,
    Floats,
    Layout,
    ObjectSums,
    cluster_sums,
    neighbour_sums,
    network_layout,
)
from acvb_core.models.irm.moves import TRIALS
from acvb_core.models.irm.network import NetworkPass
from acvb_core.models.irm.scores import (
    SampledPairs,
    SampledStrengths,
    clip_probability,
    count_samples,
    read_chain,
    share_company,
)
from acvb_core.models.irm.spec import MOVES_FROM, limit_splits
from acvb_core.models.irm.split import sum_pairs
from acvb_core.models.irm.state import IrmState, block_counts, hyper_of, lower_bound
from acvb_core.models.irm.sweep import CoordinateSweep, make_bounds, place_nodes

if TYPE_CHECKING:
    import pandas as pd


#: Nanoseconds of an idle processor for a block of one object, and for a cluster at one end of a link.
_NS, _LINK_NS = {"vb": 3, "gibbs": 15, "cvb0": 30, "acvb0": 30, "cvb": 40, "acvb": 40}, 1


def sweep_seconds(relation: Relation, method: str, values: dict[str, Any]) -> float:
    """Return about how long a sweep takes at most: objects times blocks, and links of either side times clusters."""
    values = _with_most_clusters(relation, values)
    k_rows = values["k_rows"]
    k_cols = values.get("k_cols", k_rows)
    blocks = sum(relation.shape) * k_rows * k_cols
    links = (relation.n_ones + relation.n_missing) * (k_rows + k_cols)
    return 1e-9 * (_NS[method] * blocks + _LINK_NS * links)


def _with_most_clusters(relation: Relation, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the most clusters that the run may get by splits; a chain has no limit."""
    if not values.get("split", True) and values["init"] != "gibbs":
        return values
    return values | {f"k_{domain}": most for domain, most in limit_splits(relation, values).items()}


#: Numbers in the tables of log Gamma that a chain writes to.
_TABLES = 3 * TABLE_LENGTH


def memory_bytes(relation: Relation, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run in bytes, beyond the relation and its transpose.

    It is that of the largest step, with the most clusters that splits may lead to: the start; a sweep, with
    responsibilities before, now and in the making, the sums over links and zeros of both sides, and the mean of an
    averaged run; a split, with the states that wait for their trial. Blocks are small in comparison. A sampler's
    clusters have no upper limit, but seldom are more than that.
    """
    n_rows, n_cols = relation.shape
    fewest = min(values["k_rows"], values.get("k_cols", values["k_rows"]))
    values = _with_most_clusters(relation, values)
    if "k_cols" not in values:
        return _network_bytes(relation, method, values, fewest)
    own = n_rows * values["k_rows"] + n_cols * values["k_cols"]
    across = n_rows * values["k_cols"] + n_cols * values["k_rows"]
    sweep = 4 * own + 2 * across
    if method in ("acvb", "acvb0"):
        sweep += own
    if method == "gibbs":
        sweep += 5 * own + _TABLES
    if method in ("acvb", "cvb"):
        sweep += own + across
        if values["variance"] == "exact":
            sweep += own + 7 * across
    start = 2 * own
    if values["init"] != "random":
        start += 4 * (n_rows + n_cols) * (max(values["k_rows"], values["k_cols"]) + 10)
    if values["init"] == "gibbs":
        start = max(start, 9 * own + 2 * across)
    split = 0
    if values.get("split", False):
        split = (4 + TRIALS) * own + across + 10 * _largest(relation, fewest)
    return 8 * max(start, sweep, split) + _sample_bytes(n_rows + n_cols, values)


def _sample_bytes(n_objects: int, values: dict[str, Any]) -> int:
    """Return the bytes of a chain: its tables, and samples with labels of two bytes and strengths of four."""
    if values["init"] != "gibbs":
        return 0
    return 8 * _TABLES + KEPT * (
        2 * n_objects + 4 * values["k_rows"] * values.get("k_cols", values["k_rows"])
    )


def _largest(relation: Relation, k: int) -> int:
    """Return how many links and unknown entries the largest cluster may have: thrice the share of an average one."""
    return (relation.n_ones + relation.n_missing) * min(3, k) // k


def _network_bytes(relation: Relation, method: str, values: dict[str, Any], fewest: int) -> int:
    """Return the peak memory of a run with one domain, whose sums over links are made node by node.

    `fewest`: the starting number of clusters.
    """
    n_nodes, k = relation.shape[0], values["k_rows"]
    own = n_nodes * k
    sweep = 6 * own
    if method in ("acvb", "acvb0"):
        sweep += own
    if method in ("acvb", "cvb"):
        sweep += own
    if method == "gibbs":
        sweep = 14 * n_nodes * max(k, 8) + _TABLES  # there is room for eight clusters at least
    start = 3 * own
    if values["init"] != "random":
        start = 2 * own + 9 * n_nodes * (k + 10) // 2
    if values["init"] == "gibbs":
        start = max(start, 11 * n_nodes * max(k, 8))
    split = 0
    if values.get("split", False):
        both_ways = relation.network is None or relation.network.directed
        # A chain leaves several clusters, however few it began with.
        clusters = max(fewest, 8) if values["init"] == "gibbs" else fewest
        split = (4 + TRIALS) * own + 6 * _largest(relation, clusters) * (2 if both_ways else 1)
    return 8 * max(start, sweep, split) + _sample_bytes(n_nodes, values)


@dataclass(frozen=True)
class IrmModel:
    """Bound, predictions and tables of a posterior of the IRM on one relation (a `Model`)."""

    relation: Relation
    layout: Layout = TWO_DOMAINS  #: which clusterings there are
    is_gamma: ClassVar[bool] = False  #: the strengths of blocks are rates of counts

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains."""
        return self.layout.domains

    def state(self, posterior: Posterior) -> IrmState:
        """Return the posterior as a state."""
        q = {domain: posterior[domain] for domain in self.domains}
        if "ones" in posterior.arrays:
            counts = posterior["ones"], posterior["entries"]
        else:
            counts = block_counts(self.observations(posterior), q, self.layout)
        return IrmState(q, *counts, hyper_of(posterior, self.is_gamma), self.layout)

    def observations(self, posterior: Posterior) -> Relation:
        """Return the data as the posterior's method saw them."""
        return self.relation

    def lower_bound(self, posterior: Posterior, responsibilities: Responsibilities | None = None) -> float:
        """Return the variational lower bound of log p(X) in nats, at the best q(v), q(theta) for given q(Z).

        IRM14 eqs. 39-49; the conjugate factors leave Beta functions of the counts.
        """
        return lower_bound(self.state(posterior))

    def pseudo_loo(
        self,
        posterior: Posterior,
        poll: Poll = no_poll,
        responsibilities: Responsibilities | None = None,
    ) -> float:
        """Return sum_i log C1_i + sum_j log C2_j at zeroth order, in nats (ACVB17; nothing is updated).

        With one domain the first sum alone.
        """
        state, relation = self.state(posterior), self.observations(posterior)
        if self.layout.one_domain:
            every = np.arange(self.relation.shape[0])
            return NetworkPass(relation, state).run("zeroth", every, poll, update=False)
        sweeps = (CoordinateSweep.of_state(relation, state, side, poll) for side in (0, 1))
        return sum(sweep.run("zeroth", np.arange(len(sweep.own)), poll, update=False) for sweep in sweeps)

    def predict(self, posterior: Posterior, heldout: HeldOut) -> Floats:
        """Return p(x_ij = 1) = sum_kl q1_ik q2_jl (a + n_kl) / (a + b + T_kl) of each held-out entry.

        A node's link to itself is inside its own cluster: sum_k q_ik (a + n_kk) / (a + b + T_kk).
        """
        strengths = self.strengths(posterior)
        rows, cols = (posterior[domain] for domain in self.layout.axes)
        probability = pair_products(rows @ strengths, cols, heldout.rows, heldout.columns)
        if self.layout.one_domain:
            own = heldout.rows == heldout.columns
            probability[own] = rows[heldout.rows[own]] @ strengths.diagonal()
        return clip_probability(probability)

    def strengths(self, posterior: Posterior) -> Floats:
        """Return the posterior mean of every block's strength, its link probability, shape (K1, K2)."""
        state = self.state(posterior)
        return state.hyper.strengths(state.ones, state.entries)

    def extras(
        self,
        posterior: Posterior,
        responsibilities: Responsibilities | None = None,
        pseudo_loo: float | None = None,
        lower_bound: float | None = None,
    ) -> dict[str, float]:
        """Return nothing: the IRM has no diagnostics of its own."""
        return {}

    def score(self, probability: Floats, heldout: HeldOut) -> LinkScore:
        """Return the scores of predictions, compared with one block: the density of the training relation."""
        return score_links(probability, heldout.values, self.relation.density)

    def predict_averaged(self, posterior: Posterior, heldout: HeldOut) -> Floats | None:
        """Return the mean prediction of the samples of a chain; None without samples."""
        if not count_samples(posterior):
            return None
        return clip_probability(SampledPairs(posterior).of(heldout.rows, heldout.columns))

    def sampled_labels(self, posterior: Posterior, domain: str) -> Array | None:
        """Return the cluster of each object in each sample, shape (S, N); None without samples."""
        return posterior[LABELS.format(domain)] if count_samples(posterior) else None

    def read_chain(self, posterior: Posterior) -> dict[str, Array]:
        """Return numbers by which the mixing of the samples' chain is judged, by name (`scores.read_chain`)."""
        return read_chain(posterior)

    def take_excerpt(self, posterior: Posterior) -> dict[str, Array]:
        """Return the most probable cluster of each object (from 0) in the least space, by domain."""
        widths = posterior.n_clusters()
        return {
            name: posterior.labels(name).astype(np.min_scalar_type(widths[name])) for name in self.domains
        }

    def complete_posterior(self, posterior: Posterior) -> Posterior:
        """Return the posterior, which is complete."""
        return posterior

    def block_table(self, state: IrmState, sampled: SampledStrengths | None) -> pd.DataFrame:
        """Return one line for each block: strength over the samples, if any, and its posterior Beta(a + n, b + N)."""
        from scipy.special import betaincinv

        n = np.maximum(state.ones, 0.0)
        alpha, beta = state.hyper.a + n, state.hyper.b + np.maximum(state.entries - n, 0.0)
        sums = {"ones": n, "entries": np.maximum(state.entries, n)}
        low, high = (betaincinv(alpha, beta, share) for share in (0.025, 0.975))
        return block_frame(sums, (alpha / (alpha + beta), low, high), sampled)

    def tables(self, posterior: Posterior) -> dict[str, Any]:
        """Return the result frames; clusters are numbered from 1, the same number everywhere.

        Returns: `rows`, and with two domains `columns`: object, cluster, probability, given_clusters, entropy.
          `blocks`: row_cluster, column_cluster, ones and entries (expected counts), mean and the bounds low, high of
          the central 95 % interval of the block's link probability, and low_given_clusters, high_given_clusters. An
          undirected network has each block once; its row cluster is the first.

        Notes
        -----
        probability, low and high come from the samples of the run (`share_company`, `SampledStrengths`); without
        samples they are NaN. Numbers given these clusters take the clustering as known, and are surer than that:
        given_clusters, the responsibility of the object's cluster; entropy (nats), of its responsibilities; and the
        bounds of the Beta posterior of a block.
        """
        ids = self.relation.ids
        frames = {"rows": assignments(ids[0], posterior, self.layout.axes[0])}
        if not self.layout.one_domain:
            frames["columns"] = assignments(ids[1], posterior, self.layout.axes[1])
        state, sampled = self.state(posterior), None
        if count_samples(posterior):
            relation = self.observations(posterior)
            sampled = SampledStrengths.of(relation, posterior, state.hyper, self.layout)
        table = self.block_table(state, sampled)
        if self.layout.symmetric:
            table = table[table["row_cluster"] <= table["column_cluster"]].reset_index(drop=True)
        return frames | {"blocks": table}


def block_frame(
    sums: dict[str, Floats],
    given_clusters: tuple[Floats, Floats, Floats],
    sampled: SampledStrengths | None,
) -> pd.DataFrame:
    """Return one line for each block.

    `sums`: columns with what is known of the blocks. `given_clusters`: mean and 95 % interval of their strengths by
    the clusters alone; `sampled`: those over the samples, if there are any.
    """
    import pandas as pd

    mean, low_given, high_given = given_clusters
    row, column = np.indices(mean.shape)
    low, high = np.full((2, *mean.shape), np.nan)
    if sampled is not None:
        mean, low, high = sampled.mean, sampled.low, sampled.high
    columns = {
        "row_cluster": row + 1,
        "column_cluster": column + 1,
        **sums,
        "mean": mean,
        "low": low,
        "high": high,
    }
    columns |= {"low_given_clusters": low_given, "high_given_clusters": high_given}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


def assignments(labels: np.ndarray, posterior: Posterior, domain: str) -> pd.DataFrame:
    """Return one line for each object: its most probable cluster, and how sure that is (`IrmModel.tables`)."""
    import pandas as pd

    responsibilities = posterior[domain]
    best = responsibilities.argmax(axis=1)
    return pd.DataFrame(
        {
            "object": labels,
            "cluster": best + 1,
            "probability": share_company(posterior, domain) if count_samples(posterior) else np.nan,
            "given_clusters": responsibilities[np.arange(len(best)), best],
            "entropy": np.maximum(-x_log_x(responsibilities).sum(axis=1), 0.0),
        }
    )


def build_network_model(network: Relation) -> IrmModel:
    """Return the model of a network."""
    return IrmModel(network, network_layout(network))


def tiny_relation() -> tuple[Relation, Values]:
    """Return two clusters of row objects, each linked to its own column objects, and the settings of a run."""
    ones = [[int((i < 6) == (j < 5) or i == j) for j in range(10)] for i in range(12)]
    return Relation.build(ones, name="tiny"), {"k_rows": 3, "k_cols": 3}


def tiny_network() -> tuple[Relation, Values]:
    """Return two groups with links between them; other kinds of networks use the same functions."""
    ones = [[int(i != j and ((i < 5) == (j < 5) or i + j == 9)) for j in range(10)] for i in range(10)]
    return Relation.build(ones, name="tiny", network=Network()), {"k_rows": 3}


def predict_links(_: IrmModel, posterior: Posterior, train: Relation) -> None:
    """Predict links by the samples of a run, if it has some; call kernels that only runs with more clusters use."""
    hard = np.eye(train.shape[1], 5)
    neighbour_sums(train.ones, hard)
    cluster_sums(hard, hard)
    sum_pairs(train.ones.indptr, train.ones.indices, hard[:, 0].copy())
    ones, sizes = np.ones((5, 2)), np.ones(2)
    blocks = BlockCounts(ones, ones, np.ones(5), False)
    make_bounds(blocks, sizes, place_nodes(ObjectSums(ones, ones), sizes, blocks, 24))
    if count_samples(posterior):
        SampledPairs(posterior).band(0, train.shape[0], 0)


#: Without the chain that a run begins with.
_SWEEPS = {"init": "random"}
#: Clusters are merged and split in the last sweep.
CASES = {
    "irm": WarmUp(tiny_relation, MOVES_FROM + 1, predict_links, other_half=_SWEEPS),
    "network": WarmUp(tiny_network, MOVES_FROM + 1, predict_links, other_half=_SWEEPS),
}
