"""Collapsed Gibbs sampling for the IRM of one domain or two, under the Chinese restaurant process."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numba as nb
import numpy as np

from acvb_core.core.averaging import SampleMean
from acvb_core.core.clusters import order_by_size, take
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.rows import Values
from acvb_core.data.relation import Relation
from acvb_core.models.irm.gibbs.kernels import Labels, Side
from acvb_core.models.irm.gibbs.sampling import close_gaps, count_blocks, draw_side, one_hot
from acvb_core.models.irm.hyper import Hyper, log_evidence
from acvb_core.models.irm.kernels import OPTIONS, Floats
from acvb_core.models.irm.layout import TWO_DOMAINS, Layout
from acvb_core.models.irm.start import Start, read_settings
from acvb_core.models.irm.state import IrmState, posterior_of

#: Random numbers for a point of a slice sampler: more are not needed but once in a billion points.
_UNIFORMS = 64


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
    """Collapsed Gibbs sampler bound to a relation or a network (an `Algorithm`).

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

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> GibbsState:
        """Return the first sample."""
        q = self.start.responsibilities(self.relation, self.layout, rng, poll)
        labels = {domain: close_gaps(array.argmax(axis=1)) for domain, array in q.items()}
        return GibbsState(labels, self.hyper, *count_blocks(self.relation, labels, self.layout, poll))

    def draw(self, state: GibbsState, rng: np.random.Generator, poll: Poll) -> tuple[GibbsState, int]:
        """Draw every row object's cluster, then every column object's; return also how many changed company."""
        relation, alpha = self.relation, state.hyper.alpha
        prior = float(state.hyper.a[0, 0]), float(state.hyper.b[0, 0])
        ones = np.rint(state.ones).astype(np.int64)
        zeros = np.rint(state.entries).astype(np.int64) - ones
        if self.layout.one_domain:
            (domain,) = self.layout.domains
            side = Side.of(relation, None, directed=not self.layout.symmetric)
            drawn = draw_side(side, state.labels[domain], ones, zeros, prior, alpha[domain], rng, poll)
            labels, ones, zeros, moved = {domain: drawn.labels}, drawn.ones, drawn.zeros, drawn.moved
        else:
            side = Side.of(relation, state.labels["cols"])
            rows = draw_side(side, state.labels["rows"], ones, zeros, prior, alpha["rows"], rng, poll)
            side, turned = Side.of(relation.transposed, rows.labels), (rows.ones.T, rows.zeros.T)
            cols = draw_side(side, state.labels["cols"], *turned, prior, alpha["cols"], rng, poll)
            labels, ones, zeros = {"rows": rows.labels, "cols": cols.labels}, cols.ones.T, cols.zeros.T
            moved = rows.moved + cols.moved
        counted, entries = (np.ascontiguousarray(n, dtype=np.float64) for n in (ones, ones + zeros))
        return GibbsState(labels, state.hyper, counted, entries), moved

    def sweep(
        self, state: GibbsState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[GibbsState, SweepInfo]:
        """Draw every object's cluster, then the hyper-parameters."""
        hyper = state.hyper
        state, moved = self.draw(state, rng, poll)
        labels, ones, entries = state.labels, state.ones, state.entries
        if self.hyper_rule == "tied":
            prior, symmetric = (float(hyper.a[0, 0]), float(hyper.b[0, 0])), self.layout.symmetric
            a, b = sample_beta_prior(*prior, ones, entries, rng, symmetric=symmetric)
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
    a: float, b: float, ones: Floats, entries: Floats, rng: np.random.Generator, *, symmetric: bool = False
) -> tuple[float, float]:
    """Draw a, then b, of the blocks' Beta prior by slice sampling of their logarithms under Gamma(1, 1) priors.

    `symmetric`: blocks (k, l) and (l, k) are one.
    """
    log_a, log_b = _slice_logarithms(
        math.log(a), math.log(b), ones, entries, symmetric, rng.random((2, _UNIFORMS))
    )
    return math.exp(log_a), math.exp(log_b)


@nb.njit(**OPTIONS)
def _slice_logarithms(
    log_a: float, log_b: float, ones: Floats, entries: Floats, symmetric: bool, uniforms: Floats
) -> tuple[float, float]:
    """Return the next points of two slice samplers: `core.slice_sampling.draw_slice`, compiled."""
    n, zeros = np.empty(ones.size), np.empty(ones.size)
    n_blocks = 0
    for k in range(ones.shape[0]):
        for m in range(k if symmetric else 0, ones.shape[1]):
            n[n_blocks], zeros[n_blocks] = ones[k, m], entries[k, m] - ones[k, m]
            n_blocks += 1
    n, zeros = n[:n_blocks], zeros[:n_blocks]
    point = np.array([log_a, log_b])
    for which in range(2):
        value, drawn = point[which], uniforms[which]
        level = _log_density(n, zeros, point) + math.log(drawn[0])
        low = value - drawn[1]
        high = low + 1.0
        point[which] = low
        while low > -12.0 and _log_density(n, zeros, point) > level:
            low -= 1.0
            point[which] = low
        point[which] = high
        while high < 12.0 and _log_density(n, zeros, point) > level:
            high += 1.0
            point[which] = high
        for uniform in drawn[2:]:
            point[which] = low + (high - low) * uniform
            if _log_density(n, zeros, point) > level:
                break
            if point[which] < value:
                low = point[which]
            else:
                high = point[which]
    return point[0], point[1]


@nb.njit(**OPTIONS)
def _log_density(ones: Floats, zeros: Floats, point: Floats) -> float:
    a, b = math.exp(point[0]), math.exp(point[1])
    # The last two: the change to logarithms.
    return log_evidence(ones, zeros, a, b) - a - b + point[0] + point[1]


def build_gibbs(data: Any, values: Values) -> SampleMean:
    """Return Gibbs sampling on data, with the values of its parameters."""
    return SampleMean(GibbsIrm(**read_settings(data, values)), values["burn_in"])
