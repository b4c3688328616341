"""Collapsed Gibbs sampling for the IRM of one domain or two, under the Chinese restaurant process."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.averaging import SampleMean
from acvb_core.core.clusters import order_by_size, take
from acvb_core.core.protocols import Checkpoint, Posterior, SweepInfo, UnaveragedMethod, no_checkpoint
from acvb_core.core.rows import Values
from acvb_core.core.slice_sampling import draw_slice
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.kernels import Labels, Side
from acvb_core.models.irm.gibbs.sampling import close_gaps, count_blocks, draw_side, one_hot
from acvb_core.models.irm.hyper import Hyper, log_evidence
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.layout import TWO_DOMAINS, Layout
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import IrmState, posterior_of


@dataclass(frozen=True)
class GibbsState:
    """One sample: the cluster of every object of each domain (numbered without gaps) and the hyper-parameters."""

    labels: dict[str, Labels]
    hyper: Hyper
    #: `ones`, `entries`: shape (K1, K2); ones and observed entries of each block.
    ones: Floats
    entries: Floats


@dataclass(frozen=True)
class GibbsIrm(UnaveragedMethod):
    """Collapsed Gibbs sampler bound to a relation or a network (an `Inference`).

    Reference: Kemp et al., AAAI 2006; IRM14 eqs. 20-24 (the second domain's formula with its own superscripts);
      Escobar and West, JASA 1995, for the concentrations; Neal, Annals of Statistics 2003, for slice sampling of a and
      b.
    """

    relation: Relation
    #: The first sample is the most probable cluster of each object in the variational methods' start.
    start: Start
    hyper: Hyper  #: hyper-parameters to start from
    hyper_rule: str = "tied"  #: sample them, under Gamma(1, 1) priors, or keep them
    layout: Layout = TWO_DOMAINS  #: which clusterings there are

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> GibbsState:
        """Return the first sample."""
        q = self.start.responsibilities(self.relation, self.layout, rng, checkpoint)
        labels = {domain: close_gaps(array.argmax(axis=1)) for domain, array in q.items()}
        return GibbsState(labels, self.hyper, *count_blocks(self.relation, labels, self.layout, checkpoint))

    def draw(
        self, state: GibbsState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[GibbsState, int]:
        """Draw every row object's cluster, then every column object's; return also how many changed company."""
        relation, alpha = self.relation, state.hyper.alpha
        prior = float(state.hyper.a[0, 0]), float(state.hyper.b[0, 0])
        ones = np.rint(state.ones).astype(np.int64)
        zeros = np.rint(state.entries).astype(np.int64) - ones
        if self.layout.one_domain:
            (domain,) = self.layout.domains
            side = Side.of(relation, None, directed=not self.layout.symmetric)
            drawn = draw_side(side, state.labels[domain], ones, zeros, prior, alpha[domain], rng, checkpoint)
            labels, ones, zeros, moved = {domain: drawn.labels}, drawn.ones, drawn.zeros, drawn.moved
        else:
            side = Side.of(relation, state.labels["cols"])
            rows = draw_side(side, state.labels["rows"], ones, zeros, prior, alpha["rows"], rng, checkpoint)
            side, turned = Side.of(relation.transposed, rows.labels), (rows.ones.T, rows.zeros.T)
            cols = draw_side(side, state.labels["cols"], *turned, prior, alpha["cols"], rng, checkpoint)
            labels, ones, zeros = {"rows": rows.labels, "cols": cols.labels}, cols.ones.T, cols.zeros.T
            moved = rows.moved + cols.moved
        counted, entries = (np.ascontiguousarray(n, dtype=np.float64) for n in (ones, ones + zeros))
        return GibbsState(labels, state.hyper, counted, entries), moved

    def sweep(
        self, state: GibbsState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[GibbsState, SweepInfo]:
        """Draw every object's cluster, then the hyper-parameters."""
        hyper = state.hyper
        state, moved = self.draw(state, rng, checkpoint)
        labels, ones, entries = state.labels, state.ones, state.entries
        if self.hyper_rule == "tied":
            distinct = np.broadcast_to(self.layout.distinct(len(ones)), ones.shape) > 0
            a, b = sample_beta_prior(
                float(hyper.a[0, 0]), float(hyper.b[0, 0]), ones[distinct], entries[distinct], rng
            )
            alpha = {
                domain: sample_concentration(value, int(labels[domain].max()) + 1, len(labels[domain]), rng)
                for domain, value in hyper.alpha.items()
            }
            hyper = Hyper(alpha, np.full((1, 1), a), np.full((1, 1), b))
        change = 2.0 * moved / sum(map(len, labels.values()))
        return replace(state, hyper=hyper), SweepInfo(None, None, change=change)

    def posterior(self, state: GibbsState) -> Posterior:
        """Return the sample as one-hot responsibilities, largest cluster first."""
        return posterior_of(self.irm_state(state))

    def irm_state(self, state: GibbsState) -> IrmState:
        """Return the sample as a state of the variational methods: one-hot, largest cluster first."""
        orders = {domain: order_by_size(np.bincount(labels)) for domain, labels in state.labels.items()}
        q = {domain: take(one_hot(labels), (None, domain), orders) for domain, labels in state.labels.items()}
        ones, entries = (take(counts, self.layout.axes, orders) for counts in (state.ones, state.entries))
        return IrmState(q, ones, entries, state.hyper, self.layout)


def sample_concentration(alpha: float, n_clusters: int, n_objects: int, rng: np.random.Generator) -> float:
    """Draw the concentration given the number of clusters, under a Gamma(1, 1) prior (Escobar and West 1995)."""
    rate = 1.0 - math.log(rng.beta(alpha + 1.0, n_objects))
    odds = n_clusters / (n_objects * rate)
    shape = 1.0 + n_clusters - (0.0 if rng.random() < odds / (1.0 + odds) else 1.0)
    return float(max(rng.gamma(shape) / rate, 1e-6))


def sample_beta_prior(
    a: float, b: float, ones: Floats, entries: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Draw a, then b, of the blocks' Beta prior by slice sampling of their logarithms under Gamma(1, 1) priors."""
    ones, zeros = np.ravel(ones), np.ravel(entries - ones)

    def log_density(log_a: float, log_b: float) -> float:
        one, other = math.exp(log_a), math.exp(log_b)
        blocks = log_evidence(ones, zeros, one, other)
        return blocks - one - other + log_a + log_b  # the last two: the change to logarithms

    log_a, log_b = math.log(a), math.log(b)
    log_a = draw_slice(lambda value: log_density(value, log_b), log_a, rng)
    log_b = draw_slice(lambda value: log_density(log_a, value), log_b, rng)
    return math.exp(log_a), math.exp(log_b)


def build_gibbs(data: Any, values: Values) -> SampleMean:
    """Return Gibbs sampling on data, with the values of its parameters."""
    return SampleMean(GibbsIrm(**read_settings(data, values)), values["burn_in"])
