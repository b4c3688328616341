"""Collapsed Gibbs sampling for the two-domain IRM under the Chinese restaurant process."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from acvb_core.core.clusters import order_by_size, take
from acvb_core.core.protocols import Checkpoint, Posterior, SweepInfo, UnaveragedMethod, no_checkpoint
from acvb_core.data.relation import Relation
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import (
    OPTIONS,
    Floats,
    add_row,
    add_share,
    block_bases,
    block_terms,
    chunk_length,
    normalise,
    total_of,
)
from acvb_core.models.irm.layout import TWO_DOMAINS, Layout
from acvb_core.models.irm.start import Start
from acvb_core.models.irm.state import IrmState, block_counts, observed_sums, posterior_of

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class GibbsState:
    """One sample: the cluster of every object of each domain (numbered without gaps) and the hyper-parameters."""

    labels: dict[str, Labels]
    hyper: Hyper


@dataclass(frozen=True)
class SamplingMethod(UnaveragedMethod, ABC):
    """What the Gibbs samplers of two domains and of one have in common.

    Attributes
    ----------
    relation : Relation
    start : Start
        The first sample is the most probable cluster of each object in the variational methods' start.
    hyper : Hyper
        Hyper-parameters to start from.
    hyper_rule : "tied" or "fixed"
        Whether they are sampled, under Gamma(1, 1) priors.
    layout : Layout
        Which clusterings there are.
    """

    relation: Relation
    start: Start
    hyper: Hyper
    hyper_rule: str = "tied"
    layout: Layout = TWO_DOMAINS

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> GibbsState:
        """Return the first sample."""
        q = self.start.responsibilities(self.relation, self.layout, rng, checkpoint)
        labels = {domain: close_gaps(array.argmax(axis=1)) for domain, array in q.items()}
        return GibbsState(labels, self.hyper)

    @abstractmethod
    def draw(
        self, state: GibbsState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[dict[str, Labels], int]:
        """Draw every object's cluster; return them, and how many objects changed company."""

    def sweep(
        self, state: GibbsState, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[GibbsState, SweepInfo]:
        """Draw every object's cluster, then the hyper-parameters."""
        hyper = state.hyper
        labels, moved = self.draw(state, rng, checkpoint)
        if self.hyper_rule == "tied":
            q = {domain: one_hot(found) for domain, found in labels.items()}
            ones, entries = block_counts(self.relation, q, self.layout, checkpoint)
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
        return GibbsState(labels, hyper), SweepInfo(None, None, change=change)

    def posterior(self, state: GibbsState) -> Posterior:
        """Return the sample as one-hot responsibilities, largest cluster first."""
        q = {domain: one_hot(labels) for domain, labels in state.labels.items()}
        q = {
            domain: take(array, (None, domain), {domain: order_by_size(array.sum(axis=0))})
            for domain, array in q.items()
        }
        ones, entries = block_counts(self.relation, q, self.layout)
        return posterior_of(IrmState(q, ones, entries, state.hyper, self.layout))


@dataclass(frozen=True)
class GibbsIrm(SamplingMethod):
    """Collapsed Gibbs sampler of two domains bound to a relation (an `Inference`).

    References
    ----------
    IRM14 eqs. 20-24 (the second domain's formula with its own superscripts); Escobar and West, JASA 1995, for
    the concentrations; Neal, Annals of Statistics 2003, for slice sampling of a and b.
    """

    def draw(
        self, state: GibbsState, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> tuple[dict[str, Labels], int]:
        """Draw every row object's cluster, then every column object's."""
        a, b = float(state.hyper.a[0, 0]), float(state.hyper.b[0, 0])
        alpha, labels = state.hyper.alpha, state.labels
        rows, moved_rows = sample_domain(
            self.relation, labels["rows"], one_hot(labels["cols"]), a, b, alpha["rows"], rng, checkpoint
        )
        cols, moved_cols = sample_domain(
            self.relation.transposed, labels["cols"], one_hot(rows), a, b, alpha["cols"], rng, checkpoint
        )
        return {"rows": rows, "cols": cols}, moved_rows + moved_cols


def one_hot(labels: Labels) -> Floats:
    """Return labels 0..K-1 as responsibilities, shape (N, K)."""
    out = np.zeros((len(labels), int(labels.max()) + 1))
    out[np.arange(len(labels)), labels] = 1.0
    return out


def close_gaps(labels: Labels) -> Labels:
    """Return labels 0..K-1 of the same clusters, every number in use."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def sample_domain(
    relation: Relation,
    labels: Labels,
    other: Floats,
    a: float,
    b: float,
    alpha: float,
    rng: np.random.Generator,
    checkpoint: Checkpoint = no_checkpoint,
) -> tuple[Labels, int]:
    """Draw the cluster of every row object in turn, in a fresh random order.

    Parameters
    ----------
    labels : ndarray of int64, shape (N,)
        Clusters now, without gaps.
    other : ndarray, shape (N', L)
        One-hot responsibilities of the column objects.

    Returns
    -------
    labels : ndarray, without gaps
    moved : int
        How many objects changed company (their cluster's number before, renumbering left out).
    """
    links, zeros = observed_sums(relation, other, checkpoint)
    objects, uniforms = rng.permutation(len(labels)), rng.random(len(labels))
    labels = labels.copy()
    width = int(labels.max()) + 1
    q = one_hot(labels)
    size = np.bincount(labels, minlength=width).astype(np.float64)
    beta_ones, beta_zeros = a + q.T @ links, b + q.T @ zeros
    at = moved = 0
    while at < len(objects):
        # Always room for a cluster to be born, by doubling; the kernel comes back when it has used it up.
        room = max(2 * width, 8)
        size = extend_rows(size, room, 0.0)
        beta_ones, beta_zeros = extend_rows(beta_ones, room, a), extend_rows(beta_zeros, room, b)
        end = min(at + chunk_length(room, beta_ones.shape[1]), len(objects))
        while at < end and width < room:
            at, width, changed = _sample_some(
                objects[at:end],
                at,
                labels,
                links,
                zeros,
                beta_ones,
                beta_zeros,
                size,
                width,
                a,
                b,
                alpha,
                uniforms,
            )
            moved += changed
        checkpoint()
    return close_gaps(labels), moved


def extend_rows(array: Floats, length: int, fill: float) -> Floats:
    """Return the array with its first axis made `length` long."""
    out = np.full((length, *array.shape[1:]), fill)
    keep = min(length, len(array))
    out[:keep] = array[:keep]
    return out


@nb.njit(**OPTIONS)
def _sample_some(
    objects: Labels,
    at: int,
    labels: Labels,
    links: Floats,
    zeros: Floats,
    beta_ones: Floats,
    beta_zeros: Floats,
    size: Floats,
    width: int,
    a: float,
    b: float,
    alpha: float,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw objects until the run is through or there is no room for another cluster.

    Rows of `beta_ones` (a + n) and `beta_zeros` (b + N) from `width` on stand for clusters yet to be born and hold
    the prior alone. Returns the position of the next object, the number of clusters in use (a cluster that dies
    is closed up by moving the last into its place), and how many objects changed company.
    """
    room, n_other = beta_ones.shape
    x, y = np.empty((room, n_other)), np.empty((room, n_other))
    terms = np.empty(room * n_other)
    bases = np.empty(room)
    block_bases(beta_ones, beta_zeros, bases)
    moved = 0
    for i in objects:
        if width == room:
            break
        plus, minus = links[i], zeros[i]
        k = labels[i]
        size[k] -= 1.0
        alone = size[k] < 0.5
        if alone:
            width -= 1
            if k != width:
                beta_ones[k] = beta_ones[width]
                beta_zeros[k] = beta_zeros[width]
                size[k], bases[k] = size[width], bases[width]
                for j in range(labels.shape[0]):
                    if labels[j] == width:
                        labels[j] = k
            beta_ones[width] = a
            beta_zeros[width] = b
            size[width] = 0.0
            bases[width] = bases[width + 1]
        else:
            _put(beta_ones[k], beta_zeros[k], plus, minus, -1.0, terms, bases, k)
        choices = width + 1
        add_row(beta_ones[:choices], plus, x)
        add_row(beta_zeros[:choices], minus, y)
        block_terms(x.reshape(-1), y.reshape(-1), choices * n_other, terms)
        weights = np.empty(choices)
        for c in range(choices):
            weights[c] = total_of(terms[c * n_other : (c + 1) * n_other]) - bases[c]
            weights[c] += math.log(size[c]) if c < width else math.log(alpha)
        normalise(weights)
        left = uniforms[at]
        new = 0
        while new < width and left > weights[new]:
            left -= weights[new]
            new += 1
        if (new == width) != alone or (not alone and new != k):
            moved += 1
        labels[i] = new
        size[new] += 1.0
        _put(beta_ones[new], beta_zeros[new], plus, minus, 1.0, terms, bases, new)
        if new == width:
            width += 1
        at += 1
    return at, width, moved


@nb.njit(**OPTIONS)
def _put(
    beta_ones: Floats,
    beta_zeros: Floats,
    plus: Floats,
    minus: Floats,
    sign: float,
    terms: Floats,
    bases: Floats,
    k: int,
) -> None:
    """Put an object into cluster k (sign 1) or take it out (-1), and bring the cluster's base up to date."""
    add_share(beta_ones, plus, sign, beta_ones)
    add_share(beta_zeros, minus, sign, beta_zeros)
    block_terms(beta_ones, beta_zeros, len(plus), terms)
    bases[k] = total_of(terms[: len(plus)])


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
    zeros = entries - ones

    def log_density(log_a: float, log_b: float) -> float:
        one, other = math.exp(log_a), math.exp(log_b)
        blocks = float((betaln(one + ones, other + zeros) - betaln(one, other)).sum())
        return blocks - one - other + log_a + log_b  # the last two: the change to logarithms

    log_a, log_b = math.log(a), math.log(b)
    log_a = _slice(lambda value: log_density(value, log_b), log_a, rng)
    log_b = _slice(lambda value: log_density(log_a, value), log_b, rng)
    return math.exp(log_a), math.exp(log_b)


def _slice(log_density, value: float, rng: np.random.Generator) -> float:  # type: ignore[no-untyped-def]
    """Return the next point of a slice sampler with stepping out (width 1, within [-12, 12])."""
    level = log_density(value) - rng.exponential()
    low = value - rng.random()
    high = low + 1.0
    while low > -12.0 and log_density(low) > level:
        low -= 1.0
    while high < 12.0 and log_density(high) > level:
        high += 1.0
    while True:
        proposal = rng.uniform(low, high)
        if log_density(proposal) > level or high - low < 1e-12:
            return float(proposal)
        if proposal < value:
            low = proposal
        else:
            high = proposal
