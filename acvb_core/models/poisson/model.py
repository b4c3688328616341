"""Bound, predictions and tables of blocks of counts, and what a run of them takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from acvb_core.core.protocols import Poll, Posterior, Responsibilities, no_poll
from acvb_core.core.spec import Values, WarmUp
from acvb_core.data.relation import CountRelation, Network, Relation
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm import model as irm
from acvb_core.models.irm.kernels import Floats, network_layout
from acvb_core.models.irm.scores import SampledStrengths, clip_probability, count_samples
from acvb_core.models.irm.spec import MOVES_FROM
from acvb_core.models.irm.state import IrmState
from acvb_core.models.poisson.activity import draw_activity
from acvb_core.models.poisson.counts import count_links, log_base, loo_base, round_weights
from acvb_core.models.poisson.methods import CLUSTERS, MOST_LINKS, CountChoice, plan_chains
from acvb_core.models.poisson.scores import CountPairs, CountScore, list_blocks, score_counts

if TYPE_CHECKING:
    import pandas as pd


def memory_bytes(relation: Relation, method: str, values: Values) -> int:
    """Return the peak memory of a run in bytes, beyond the relation: that of links, and counts of either side.

    Second-order runs have three sums over the neighbours of each object. A sampler opens clusters of either side.
    """
    counts = 16 * relation.n_ones + 8 * sum(relation.shape)
    sizes = {name: values[name] for name in ("k_rows", "k_cols") if name in values}
    if method == "gibbs":
        values = values | dict.fromkeys(sizes, max(sizes.values()))
    links = irm.memory_bytes(relation, method, values | {"variance": "paper"})
    finds_unit = relation.weights is not None and not values["unit"]
    if values["degree"] == "auto" or finds_unit:
        short = {"init": "spectral", "split": False} | {name: min(k, CLUSTERS) for name, k in sizes.items()}
        unit = 100 * min(relation.n_ones, MOST_LINKS) if finds_unit else 0
        links = max(links, unit, irm.memory_bytes(relation, "cvb0", values | short))
    k_rows: int = values["k_rows"]
    k_cols: int = values.get("k_cols", k_rows)
    if method in ("cvb", "acvb"):
        links += 24 * (relation.shape[0] * k_cols + relation.shape[1] * k_rows)
    if values["init"] != "gibbs":
        return links + counts
    n_objects = sum(relation.shape[: len(sizes)])
    return counts + _chain_bytes(n_objects, k_rows, k_cols, links)


def _chain_bytes(n_objects: int, k_rows: int, k_cols: int, links: int) -> int:
    """Return the peak memory in bytes of the chains before a run, or of the run with their samples if that is more.

    Each chain has a spectral start. A sample has labels and activities of eight bytes each, and labels of two once the
    chains are over. A network's objects have two activities.
    `links`: bytes of the run.
    """
    plan, blocks = plan_chains(n_objects), k_rows * k_cols
    work = max(plan.work, plan.total)
    kept = min(plan.samples * plan.chains, int(work / (n_objects * blocks)) + plan.chains)
    clusters = plan.breadth * max(k_rows, k_cols)
    start = 8 * n_objects * (4 * (clusters + 10) + 2 * clusters)
    return max(links, start + kept * (24 * n_objects + 16 * blocks)) + kept * (2 * n_objects + 8 * blocks)


@dataclass(frozen=True)
class PoissonModel(irm.IrmModel):
    """Bound, predictions and tables of a posterior of blocks of counts on one relation (a `Model`).

    x_ij ~ Poisson(t_i f_j lambda_kl) for objects i and j of clusters k and l, with lambda_kl ~ Gamma(a, b) and
    activities t and f that are fixed by the degrees.

    Reference: after Karrer and Newman, Phys. Rev. E 83 (2011), who fit the rates.
    """

    is_gamma: ClassVar[bool] = True

    def observations(self, posterior: Posterior) -> CountRelation:
        """Return the data as counts, with the activities that the posterior's method has chosen."""
        choice = CountChoice.of_posterior(posterior)
        return count_links(self.relation, choice.degree, choice.unit)

    def lower_bound(self, posterior: Posterior, responsibilities: Responsibilities | None = None) -> float:
        """Return the variational lower bound of log p(X) in nats, at the best q(v), q(lambda) for given q(Z)."""
        return super().lower_bound(posterior) + log_base(self.observations(posterior))

    def pseudo_loo(
        self,
        posterior: Posterior,
        poll: Poll = no_poll,
        responsibilities: Responsibilities | None = None,
    ) -> float:
        """Return the pseudo leave-one-out log likelihood in nats, with the part that is free of the clusters."""
        return super().pseudo_loo(posterior, poll) + loo_base(self.observations(posterior))

    def pairs(self, posterior: Posterior, averaged: bool = False) -> CountPairs:
        """Return the predictions of any pair, by the clusters or by the mean of the posterior's samples."""
        state = self.state(posterior)
        blocks = list_blocks(state.hyper, state.ones, state.entries)
        return CountPairs(self.observations(posterior), posterior, blocks, averaged)

    def predict(self, posterior: Posterior, heldout: HeldOut) -> Floats:
        """Return p(x_ij > 0) and p(x_ij) of each held-out entry, shape (n, 2), by the clusters."""
        return self._predict(posterior, heldout, averaged=False)

    def predict_averaged(self, posterior: Posterior, heldout: HeldOut) -> Floats | None:
        """Return the mean prediction of the samples of a chain; None without samples."""
        if not count_samples(posterior):
            return None
        return self._predict(posterior, heldout, averaged=True)

    def _predict(self, posterior: Posterior, heldout: HeldOut, *, averaged: bool) -> Floats:
        weights = heldout.values.astype(np.float64) if heldout.weights is None else heldout.weights
        counts = round_weights(weights, CountChoice.of_posterior(posterior).unit)
        predicted = self.pairs(posterior, averaged).predict(heldout.rows, heldout.columns, counts)[:, :2]
        clip_probability(predicted[:, 0])
        return predicted

    def score(self, probability: Floats, heldout: HeldOut) -> CountScore:  # type: ignore[override]
        """Return the scores of predictions, of links compared with the density of the training relation."""
        return score_counts(probability, heldout.values, self.relation.density)

    def block_table(self, state: IrmState, sampled: SampledStrengths | None) -> pd.DataFrame:
        """Return one line for each block: its count, the count that activity lets expect, and the ratio of the two."""
        from scipy.special import gammaincinv

        shapes, rates = list_blocks(state.hyper, state.ones, state.entries)
        low, high = (gammaincinv(shapes, share) / rates for share in (0.025, 0.975))
        sums = {"count": np.maximum(state.ones, 0.0), "expected": np.maximum(state.entries - state.ones, 0.0)}
        return irm.block_frame(sums, (shapes / rates, low, high), sampled)


def build_model(relation: Relation) -> PoissonModel:
    """Return the model of a relation or a network."""
    return PoissonModel(relation)


def build_network_model(network: Relation) -> PoissonModel:
    """Return the model of a network."""
    return PoissonModel(network, network_layout(network))


def tiny_counts() -> tuple[Relation, Values]:
    """Return two clusters of row objects, each linked to its own column objects, and the settings of a run."""
    relation, values = irm.tiny_relation()
    return replace(relation, weights=np.arange(relation.n_ones, dtype=np.float64) % 3 + 1.0), values


def tiny_network() -> tuple[Relation, Values]:
    """Return two groups with links between them; other kinds of networks use the same functions."""
    network, values = irm.tiny_network()
    return replace(network, network=Network(), weights=np.full(network.n_ones, 2.0)), values


def predict_links(model: PoissonModel, posterior: Posterior, train: Relation) -> None:
    """Predict links by the samples of a run, if it has some; call kernels that only other runs use."""
    some = np.arange(2)
    pairs = model.pairs(posterior, averaged=count_samples(posterior) > 0)
    pairs.predict(some, some)
    pairs.band(0, 2, 0)
    labels = {domain: posterior.labels(domain) for domain in posterior.averaged}
    draw_activity(
        pairs.relation, pairs.relation, labels, pairs.blocks[0], model.layout, np.random.default_rng(0)
    )


_SWEEPS = {"init": "random", "degree": "corrected"}
CASES = {
    "poisson": WarmUp(tiny_counts, MOVES_FROM + 1, predict_links, other_half=_SWEEPS),
    "poisson-network": WarmUp(tiny_network, MOVES_FROM + 1, predict_links, other_half=_SWEEPS),
}
