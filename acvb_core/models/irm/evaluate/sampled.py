"""Answers from the samples of a chain (`chain`): links as their mean predicts them, and how sure an answer is.

Intervals and shares from samples count all clusterings that the data allow. What a posterior gives for one clustering,
its own, is surer than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.core.special import OPTIONS
from acvb_core.data.relation import Relation
from acvb_core.models.irm.evaluate.sides import sides, without_diagonal
from acvb_core.models.irm.gibbs.chain import BOUNDS, LABELS, PRIORS, STRENGTHS
from acvb_core.models.irm.gibbs.sampling import count_blocks
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.layout import Layout

#: Draws behind an interval, at least: samples of which there are fewer are drawn from several times.
_DRAWS = 560
#: Numbers that the draws of all blocks take at most: with many blocks, some of the samples are drawn from.
_MOST_NUMBERS = 50_000_000
_AT_ONCE = 20_000_000  # probabilities of single samples that one call of a kernel adds up: some 20 ms


def count_samples(posterior: Posterior) -> int:
    """Return how many samples a posterior has."""
    return len(posterior[STRENGTHS]) if STRENGTHS in posterior.arrays else 0


@dataclass(frozen=True)
class SampledPairs:
    """The mean over samples of the probability of any pair to be linked."""

    rows: NDArray[Any]  #: shape (S, N1); cluster of each row object in each sample
    columns: NDArray[Any]  #: shape (S, N2)
    strengths: NDArray[np.float32]  #: shape (S, K, L); link probability of each block in each sample

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> SampledPairs:
        """Return the samples of a posterior that has some."""
        rows, columns = (posterior[LABELS.format(domain)] for domain in sides(posterior))
        return cls(rows, columns, posterior[STRENGTHS])

    def of(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the probability of single pairs, shape (n,)."""
        # One type of places, for which the kernel is compiled once.
        rows, columns = rows.astype(np.int64), columns.astype(np.int64)
        out = np.zeros(len(rows))
        step = max(1, _AT_ONCE // len(self.strengths))
        for begin in range(0, len(out), step):
            part = slice(begin, begin + step)
            _add_pairs(self.rows, self.columns, self.strengths, rows[part], columns[part], out[part])
        return out / len(self.strengths)

    def band(self, begin: int, end: int, first_column: int) -> Floats:
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on."""
        columns = np.ascontiguousarray(self.columns[:, first_column:])
        out = np.zeros((end - begin, columns.shape[1]))
        step = max(1, _AT_ONCE // max(len(self.strengths) * columns.shape[1], 1))
        for at in range(begin, end, step):
            rows = np.ascontiguousarray(self.rows[:, at : min(at + step, end)])
            _add_band(rows, columns, self.strengths, out[at - begin : at - begin + rows.shape[1]])
        return out / len(self.strengths)


def count_sampled_clusters(posterior: Posterior) -> dict[str, NDArray[np.int64]]:
    """Return the number of clusters in each sample, shape (S,), by domain; nothing without samples."""
    if not count_samples(posterior):
        return {}
    domains = dict.fromkeys(sides(posterior))
    return {
        domain: np.array([len(np.unique(labels)) for labels in posterior[LABELS.format(domain)]])
        for domain in domains
    }


def read_chain(posterior: Posterior) -> dict[str, NDArray[Any]]:
    """Return what tells whether a chain has mixed, shape (S,) each: numbers of clusters, and the bounds if kept."""
    counts = {f"k_{domain}": k for domain, k in count_sampled_clusters(posterior).items()}
    return counts | ({"lower_bound": posterior[BOUNDS]} if BOUNDS in posterior.arrays else {})


def share_company(posterior: Posterior, domain: str) -> Floats:
    """Return how often each object is with the other members of its cluster: a share of samples and members.

    An object that is alone in its cluster: the share of the samples in which it is alone.

    Returns: shape (N,).
    """
    own, samples = posterior.labels(domain), posterior[LABELS.format(domain)]
    n_clusters = posterior[domain].shape[1]
    others = np.bincount(own, minlength=n_clusters)[own] - 1
    met, alone = np.zeros((2, len(own)))
    for labels in samples:
        width = int(labels.max()) + 1
        together = np.bincount(own * width + labels, minlength=n_clusters * width)
        met += together[own * width + labels] - 1
        alone += np.bincount(labels, minlength=width)[labels] == 1
    return np.where(others > 0, met / np.maximum(others, 1), alone) / len(samples)


def measure_company(posterior: Posterior, domain: str, groups: NDArray[np.int64]) -> Floats:
    """Return how often the objects of two groups share a cluster: the mean over samples and over pairs.

    `groups`: shape (N,); the group of each object, from 0 without gaps. With one object in each, this is the matrix
      of all pairs. An object is no pair with itself, except in a group of its own.

    Returns: shape (n_groups, n_groups).
    """
    samples = posterior[LABELS.format(domain)]
    n_groups = int(groups.max()) + 1
    sizes = np.bincount(groups).astype(np.float64)
    total = np.zeros((n_groups, n_groups))
    for labels in samples:
        table = _cross_tabulate(groups, labels.astype(np.int64), n_groups)
        total += table @ table.T
    pairs, diagonal = np.outer(sizes, sizes), np.diag_indices(n_groups)
    several = sizes > 1
    total[diagonal] -= np.where(several, sizes * len(samples), 0.0)
    pairs[diagonal] -= np.where(several, sizes, 0.0)
    return total / (pairs * len(samples))


def range_of_clusters(posterior: Posterior) -> dict[str, tuple[int, int]]:
    """Return from how many to how many clusters 95 % of the samples have, by domain; nothing without samples."""
    counts = count_sampled_clusters(posterior)
    ends = {domain: np.quantile(n, [0.025, 0.975], method="nearest") for domain, n in counts.items()}
    return {domain: (int(low), int(high)) for domain, (low, high) in ends.items()}


@dataclass(frozen=True)
class SampledStrengths:
    """The strength of every block of a posterior over the samples: the mean of its pairs' link probabilities.

    All of shape (K1, K2): the mean, and the bounds of the central 95 % interval.
    """

    mean: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, relation: Relation, posterior: Posterior, hyper: Hyper, layout: Layout) -> SampledStrengths:
        """Draw the strengths of each sample's own blocks, and average them over the pairs of each block shown.

        The draws are the same at every call. `hyper`: of the run, for samples that do not have their own.
        """
        rng = np.random.default_rng(0)
        n_samples = count_samples(posterior)
        prior = [float(np.median(hyper.a)), float(np.median(hyper.b))]
        priors = posterior.arrays.get(PRIORS, np.tile(prior, (n_samples, 1)))
        own = {domain: posterior.labels(domain) for domain in layout.domains}
        widths = {domain: posterior[domain].shape[1] for domain in layout.domains}
        shape = tuple(widths[domain] for domain in layout.axes)
        n_draws = max(20, min(max(_DRAWS, n_samples), _MOST_NUMBERS // (shape[0] * shape[1])))
        chosen = np.linspace(0, n_samples - 1, min(n_samples, n_draws)).round().astype(np.int64)
        repeats = -(-n_draws // len(chosen))
        draws, mean = np.empty((len(chosen) * repeats, *shape), dtype=np.float32), np.zeros(shape)
        for place, at in enumerate(chosen):
            labels = {
                domain: posterior[LABELS.format(domain)][at].astype(np.int64) for domain in layout.domains
            }
            ones, entries = count_blocks(relation, labels, layout)
            a, b = priors[at]
            average = _BlockAverage.of(relation, own, labels, widths, layout)
            mean += average((a + ones) / (a + b + entries)) / len(chosen)
            for repeat in range(repeats):
                strengths = rng.beta(a + ones, b + np.maximum(entries - ones, 0.0))
                if layout.symmetric:
                    strengths = np.triu(strengths) + np.triu(strengths, 1).T
                draws[place * repeats + repeat] = average(strengths)
        # By this method 95 % of a further draw lies between the two; by NumPy's own, 94 % with so few draws.
        low, high = np.quantile(draws, [0.025, 0.975], axis=0, method="weibull")
        return cls(mean, low, high)


@dataclass(frozen=True)
class _BlockAverage:
    """Averages a matrix over the blocks of one sample to the blocks of another clustering of the same objects."""

    rows: Floats  #: shape (K1, S1); objects of each row cluster in each row cluster of the sample
    columns: Floats  #: shape (K2, S2)
    pairs: Floats  #: shape (K1, K2); the pairs of each block
    has_diagonal: bool  #: the pair of an object with itself is none

    @classmethod
    def of(
        cls,
        relation: Relation,
        own: dict[str, NDArray[np.int64]],
        labels: dict[str, NDArray[np.int64]],
        widths: dict[str, int],
        layout: Layout,
    ) -> _BlockAverage:
        rows, columns = (_cross_tabulate(own[one], labels[one], widths[one]) for one in layout.axes)
        pairs = np.outer(rows.sum(axis=1), columns.sum(axis=1))
        has_diagonal = layout.one_domain and without_diagonal(relation)
        if has_diagonal:
            pairs[np.diag_indices_from(pairs)] -= rows.sum(axis=1)
        return cls(rows, columns, pairs, has_diagonal)

    def __call__(self, strengths: Floats) -> Floats:
        sums = self.rows @ strengths @ self.columns.T
        if self.has_diagonal:
            diagonal, inner = np.diag_indices_from(sums), self.rows @ strengths.diagonal()
            # A cluster of one object has no pair inside: the object's own cluster in the sample says what one would be.
            sums[diagonal] = np.where(self.pairs[diagonal] > 0, sums[diagonal] - inner, inner)
        return sums / np.maximum(self.pairs, 1.0)


def _cross_tabulate(one: NDArray[np.int64], other: NDArray[np.int64], width: int) -> Floats:
    n = int(other.max()) + 1
    return np.bincount(one * n + other, minlength=width * n).reshape(width, n).astype(np.float64)


@nb.njit(**OPTIONS)
def _add_pairs(
    row_labels: Any, column_labels: Any, strengths: Any, rows: Any, columns: Any, out: Floats
) -> None:
    for s in range(strengths.shape[0]):
        for e in range(rows.shape[0]):
            out[e] += strengths[s, row_labels[s, rows[e]], column_labels[s, columns[e]]]


@nb.njit(**OPTIONS)
def _add_band(row_labels: Any, column_labels: Any, strengths: Any, out: Floats) -> None:
    for s in range(strengths.shape[0]):
        for i in range(out.shape[0]):
            block = strengths[s, row_labels[s, i]]
            for j in range(out.shape[1]):
                out[i, j] += block[column_labels[s, j]]
