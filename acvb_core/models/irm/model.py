"""The IRM seen from outside: lower bound, pseudo leave-one-out, predictions, result tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.core.protocols import Array, Poll, Posterior, Responsibilities, no_poll
from acvb_core.core.special import x_log_x
from acvb_core.data.relation import Relation
from acvb_core.evaluate.heldout import LinkScore, score_links
from acvb_core.evaluate.products import pair_products
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.domain import DomainPass
from acvb_core.models.irm.evaluate.sampled import (
    SampledPairs,
    SampledStrengths,
    count_samples,
    read_chain,
    share_company,
)
from acvb_core.models.irm.gibbs.chain import LABELS
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.layout import TWO_DOMAINS, Layout, network_layout
from acvb_core.models.irm.network.model import NetworkPass
from acvb_core.models.irm.state import IrmState, block_counts, hyper_of, lower_bound

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class IrmModel:
    """Bound, predictions and tables of a posterior of the IRM on one relation (a `Model`)."""

    relation: Relation
    layout: Layout = TWO_DOMAINS  #: which clusterings there are

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains."""
        return self.layout.domains

    def counts(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Return expected ones and observed entries of each block, shape (K1, K2)."""
        if "ones" in posterior.arrays:
            return posterior["ones"], posterior["entries"]
        return block_counts(self.relation, self._responsibilities(posterior), self.layout)

    def _responsibilities(self, posterior: Posterior) -> dict[str, Floats]:
        return {domain: posterior[domain] for domain in self.domains}

    def lower_bound(self, posterior: Posterior, responsibilities: Responsibilities | None = None) -> float:
        """Return the variational lower bound of log p(X) in nats, at the best q(v), q(theta) for given q(Z).

        IRM14 eqs. 39-49 with the conjugate factors put in, which leaves Beta functions of the counts.
        """
        ones, entries = self.counts(posterior)
        return lower_bound(
            IrmState(self._responsibilities(posterior), ones, entries, hyper_of(posterior), self.layout)
        )

    def pseudo_loo(
        self,
        posterior: Posterior,
        poll: Poll = no_poll,
        responsibilities: Responsibilities | None = None,
    ) -> float:
        """Return sum_i log C1_i + sum_j log C2_j at zeroth order, in nats (ACVB17; nothing is updated).

        With one domain the first sum alone.
        """
        hyper = hyper_of(posterior)
        if self.layout.one_domain:
            ones, entries = self.counts(posterior)
            state = IrmState(self._responsibilities(posterior), ones, entries, hyper, self.layout)
            every = np.arange(self.relation.shape[0])
            return NetworkPass(self.relation, state).run("zeroth", every, poll, update=False)
        rows, cols = posterior["rows"], posterior["cols"]
        a, b = hyper.blocks((rows.shape[1], cols.shape[1]))
        forward = DomainPass(self.relation, rows, cols, a, b, hyper.alpha["rows"], poll)
        total = forward.run("zeroth", np.arange(len(rows)), poll, update=False)
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        backward = DomainPass(self.relation.transposed, cols, rows, a, b, hyper.alpha["cols"], poll)
        return total + backward.run("zeroth", np.arange(len(cols)), poll, update=False)

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
        return np.clip(probability, 1e-12, 1.0 - 1e-12)

    def strengths(self, posterior: Posterior) -> Floats:
        """Return the posterior mean of every block's link probability, shape (K1, K2)."""
        ones, entries = self.counts(posterior)
        hyper = hyper_of(posterior)
        return (hyper.a + ones) / (hyper.a + hyper.b + entries)

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
        """Return the scores of predictions, against the density of the training relation: what one block predicts."""
        return score_links(probability, heldout.values, self.relation.density)

    def predict_averaged(self, posterior: Posterior, heldout: HeldOut) -> Floats | None:
        """Return the mean of what the samples of a chain predict; None where there are none."""
        if not count_samples(posterior):
            return None
        probability = SampledPairs.of_posterior(posterior).of(heldout.rows, heldout.columns)
        return np.clip(probability, 1e-12, 1.0 - 1e-12)

    def sampled_labels(self, posterior: Posterior, domain: str) -> Array | None:
        """Return the cluster of each object in each sample, shape (S, N); None where there are no samples."""
        return posterior[LABELS.format(domain)] if count_samples(posterior) else None

    def read_chain(self, posterior: Posterior) -> dict[str, Array]:
        """Return what tells whether the chain of the samples has mixed, by name (`sampled.read_chain`)."""
        return read_chain(posterior)

    def complete_posterior(self, posterior: Posterior) -> Posterior:
        """Return the posterior: there is all of it."""
        return posterior

    def tables(self, posterior: Posterior) -> dict[str, Any]:
        """Return the frames `rows`, `columns` (two domains only) and `blocks` (see `result_tables`)."""
        ones, entries = self.counts(posterior)
        return result_tables(self.relation, posterior, ones, entries, hyper_of(posterior), self.layout)


def result_tables(
    relation: Relation, posterior: Posterior, ones: Floats, entries: Floats, hyper: Hyper, layout: Layout
) -> dict[str, pd.DataFrame]:
    """Return the result frames; clusters are numbered from 1, the same number everywhere.

    Returns: `rows`, and with two domains `columns`: object, cluster, probability, given_clusters, entropy.
      `blocks`: row_cluster, column_cluster, ones and entries (expected counts), mean and the bounds low, high of the
      central 95 % interval of the block's link probability, and low_given_clusters, high_given_clusters; in an
      undirected network each block once, the row cluster being the first.

    Notes
    -----
    probability, low and high come from the samples of the run (`sampled.share_company`, `SampledStrengths`); they are
    NaN where a run has no samples. What is given these clusters takes the clustering as known, and is surer than that:
    given_clusters, the responsibility of the object's cluster; entropy (nats), of its responsibilities; and the bounds
    of the Beta posterior of a block.
    """
    frames = {"rows": assignments(relation.ids[0], posterior, layout.axes[0])}
    if not layout.one_domain:
        frames["columns"] = assignments(relation.ids[1], posterior, layout.axes[1])
    sampled = SampledStrengths.of(relation, posterior, hyper, layout) if count_samples(posterior) else None
    table = blocks(ones, entries, hyper, sampled)
    if layout.symmetric:
        table = table[table["row_cluster"] <= table["column_cluster"]].reset_index(drop=True)
    return frames | {"blocks": table}


def assignments(labels: np.ndarray, posterior: Posterior, domain: str) -> pd.DataFrame:
    """Return one line for each object: its most probable cluster, and how sure that is (see `result_tables`)."""
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


def blocks(ones: Floats, entries: Floats, hyper: Hyper, sampled: SampledStrengths | None) -> pd.DataFrame:
    """Return one line for each block: its strength over the samples, if any, and given these clusters.

    The latter is the posterior Beta(a + n, b + N) of the block.
    """
    import pandas as pd
    from scipy.special import betaincinv

    n = np.maximum(ones, 0.0)
    alpha = np.broadcast_to(hyper.a, n.shape) + n
    beta = np.broadcast_to(hyper.b, n.shape) + np.maximum(entries - n, 0.0)
    row, column = np.indices(n.shape)
    unknown = np.full(n.shape, np.nan)
    mean, low, high = (
        (alpha / (alpha + beta), unknown, unknown)
        if sampled is None
        else (sampled.mean, sampled.low, sampled.high)
    )
    columns = {
        "row_cluster": row + 1,
        "column_cluster": column + 1,
        "ones": n,
        "entries": np.maximum(entries, n),
        "mean": mean,
        "low": low,
        "high": high,
        "low_given_clusters": betaincinv(alpha, beta, 0.025),
        "high_given_clusters": betaincinv(alpha, beta, 0.975),
    }
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


def build_network_model(network: Relation) -> IrmModel:
    """Return the model of a network."""
    return IrmModel(network, network_layout(network))
