"""Predictions and uncertainty of a clustering: block strengths, samples of the chain, likely and surprising links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.core.special import OPTIONS
from acvb_core.data.relation import CountRelation, Relation
from acvb_core.evaluate.heldout import pair_products
from acvb_core.models.irm.gibbs import BOUNDS, CHAINS, LABELS, PRIORS, STRENGTHS, count_blocks
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats, Layout

if TYPE_CHECKING:
    import pandas as pd


def sides(posterior: Posterior) -> tuple[str, str]:
    """Return the domains of the rows and of the columns: "rows" and "cols", or twice "rows" if both are one."""
    return ("rows", "cols" if "cols" in posterior.arrays else "rows")


def one_clustering(posterior: Posterior) -> bool:
    """Return whether rows and columns are the same objects in the same clusters."""
    first, second = sides(posterior)
    return first == second


def block_shape(posterior: Posterior) -> tuple[int, int]:
    """Return the numbers of clusters of the rows and of the columns."""
    first, second = (posterior[domain].shape[1] for domain in sides(posterior))
    return first, second


def has_directions(relation: Relation) -> bool:
    """Return whether the relation is a network whose links have a direction."""
    return relation.network is not None and relation.network.directed


def is_mirrored(relation: Relation) -> bool:
    """Return whether an entry and its mirror image are the same pair (an undirected network)."""
    return relation.network is not None and not relation.network.directed


def without_diagonal(relation: Relation) -> bool:
    """Return whether the diagonal is no part of the data: a network whose self-links do not count."""
    return relation.network is not None and not relation.network.self_links


def links_of(relation: Relation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two ends of each link, those of an undirected network once, shapes (n_links,).

    They are sorted by row, then column; an undirected one is the entry on or above the diagonal.
    """
    ones = relation.ones
    rows = np.repeat(np.arange(relation.shape[0], dtype=np.int64), np.diff(ones.indptr))
    columns = ones.indices.astype(np.int64)
    if is_mirrored(relation):
        upper = rows <= columns
        rows, columns = rows[upper], columns[upper]
    return rows, columns


def block_matrix(blocks: pd.DataFrame, column: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return a column of a result's `blocks` as a matrix, row clusters down and column clusters across.

    If only the blocks on and above the diagonal are listed (an undirected network), the others are the same.
    """
    k, m = blocks["row_cluster"].to_numpy() - 1, blocks["column_cluster"].to_numpy() - 1
    values = blocks[column].to_numpy(dtype=np.float64)
    matrix = np.full(shape, np.nan)
    if len(blocks) < matrix.size:
        matrix[m, k] = values
    matrix[k, m] = values
    return matrix


class ShownStrengths(NamedTuple):
    """The strengths of blocks as matrices, and the words for their interval."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    interval: str  #: says if it takes the clusters as known, as without samples
    #: Of blocks of counts, whose strengths are ratios: the counts, and those that are expected.
    counted: NDArray[np.float64] | None = None
    expected: NDArray[np.float64] | None = None

    def describe_ratio(self, k: int, m: int) -> list[str]:
        """Return the lines of a block of counts (from 0): what was counted and expected, and their ratio."""
        assert self.counted is not None
        assert self.expected is not None
        low, high = self.low[k, m], self.high[k, m]
        return [
            f"{self.counted[k, m]:,.4g} counted, {self.expected[k, m]:,.4g} expected",
            f"{self.mean[k, m]:.3g} × expected, {self.interval} {low:.3g} to {high:.3g}",
        ]


def shown_strengths(blocks: pd.DataFrame, shape: tuple[int, int]) -> ShownStrengths:
    """Return the strengths of a result's `blocks`: from samples if it has some, else given these clusters."""
    sampled = blocks["low"].notna().any()
    names = ("low", "high") if sampled else ("low_given_clusters", "high_given_clusters")
    mean, low, high = (block_matrix(blocks, name, shape) for name in ("mean", *names))
    counts = [block_matrix(blocks, name, shape) for name in ("count", "expected") if name in blocks]
    interval = "95 % interval" if sampled else "95 % interval given these clusters"
    return ShownStrengths(mean, low, high, interval, *counts)


def n_components(network: Relation) -> int:
    """Return the number of connected components, without regard to the direction of links."""
    from scipy.sparse.csgraph import connected_components

    number: int = connected_components(network.ones, directed=False, return_labels=False)
    return number


#: Draws behind an interval, at least: fewer samples are drawn from several times.
_DRAWS = 560
#: Numbers that the draws of all blocks take at most: with many blocks, only some of the samples are drawn from.
_MOST_NUMBERS = 50_000_000
_AT_ONCE = 20_000_000  # probabilities of single samples that one call of a kernel adds up: some 20 ms


def count_samples(posterior: Posterior) -> int:
    """Return how many samples a posterior has."""
    return len(posterior[STRENGTHS]) if STRENGTHS in posterior.arrays else 0


class PairPredictor(Protocol):
    """The predicted probability of any pair to be linked."""

    def of(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the probability of single pairs, shape (n,)."""

    def band(self, begin: int, end: int, first_column: int) -> Floats:
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on."""


class SampledPairs:
    """The mean over the samples of a posterior, which has some, of the probability of any pair to be linked."""

    def __init__(self, posterior: Posterior) -> None:
        # Shapes (S, N1), (S, N2): cluster of each object in each sample; (S, K, L): link probability of each block.
        self.rows, self.columns = (posterior[LABELS.format(domain)] for domain in sides(posterior))
        self.strengths = posterior[STRENGTHS]

    def of(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the probability of single pairs, shape (n,)."""
        # One type of index, for which the kernel is compiled once.
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


class ClusterPairs:
    """The probability of any pair to be linked, by the clusters of a posterior."""

    def __init__(self, posterior: Posterior, strengths: Floats) -> None:
        rows, self.columns = (posterior[domain] for domain in sides(posterior))
        self.left = rows @ strengths
        # An object is in one cluster, so a self-link is in a block of the diagonal.
        self.own = rows @ np.diagonal(strengths) if one_clustering(posterior) else None

    def of(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the probability of single pairs, shape (n,)."""
        probability = pair_products(self.left, self.columns, rows, columns)
        if self.own is not None:
            selves = rows == columns
            probability[selves] = self.own[rows[selves]]
        return probability

    def band(self, begin: int, end: int, first_column: int) -> Floats:
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on."""
        probability: Floats = self.left[begin:end] @ self.columns[first_column:].T
        if self.own is not None:
            at = np.arange(begin, end)
            probability[at - begin, at - first_column] = self.own[begin:end]
        return probability


def count_sampled_clusters(posterior: Posterior) -> dict[str, NDArray[np.int64]]:
    """Return the number of clusters in each sample, shape (S,), by domain; nothing without samples."""
    domains = dict.fromkeys(sides(posterior)) if count_samples(posterior) else {}
    return {
        domain: np.array([len(np.unique(labels)) for labels in posterior[LABELS.format(domain)]])
        for domain in domains
    }


def range_of_clusters(posterior: Posterior) -> dict[str, tuple[int, int]]:
    """Return the range of the number of clusters in 95 % of the samples, by domain; nothing without samples."""
    counts = count_sampled_clusters(posterior)
    ends = {domain: np.quantile(n, [0.025, 0.975], method="nearest") for domain, n in counts.items()}
    return {domain: (int(low), int(high)) for domain, (low, high) in ends.items()}


def read_chain(posterior: Posterior) -> dict[str, NDArray[Any]]:
    """Return numbers by which the mixing of chains is judged: clusters, and the bounds if kept.

    Shape (S,) each, or (C, S) if there are several chains; of longer chains the last samples.
    """
    numbers = {f"k_{domain}": k for domain, k in count_sampled_clusters(posterior).items()}
    if BOUNDS in posterior.arrays:
        numbers["lower_bound"] = posterior[BOUNDS]
    if CHAINS not in posterior.arrays:
        return numbers
    ends = np.cumsum(np.bincount(posterior[CHAINS]))
    shortest = int(np.diff(ends, prepend=0).min())
    return {name: np.stack([each[end - shortest : end] for end in ends]) for name, each in numbers.items()}


#: Samples of a coarser grouping: its cluster that has most objects of each object's cluster, shape (S, N).
GROUPS = "grouped_{}"


def sampled_company(posterior: Posterior, domain: str) -> NDArray[Any]:
    """Return labels by which objects of a domain share a cluster in each sample, shape (S, N).

    Of a coarser grouping, clusters of a sample that belong to one of its clusters count as one.
    """
    return posterior.arrays.get(GROUPS.format(domain), posterior[LABELS.format(domain)])


def share_company(posterior: Posterior, domain: str) -> Floats:
    """Return how often each object is with the other members of its cluster: a share of samples and members.

    An object that is alone in its cluster: the share of the samples in which it is alone.

    Returns: shape (N,).
    """
    own, samples = posterior.labels(domain), sampled_company(posterior, domain)
    n_clusters = posterior[domain].shape[1]
    others = np.bincount(own, minlength=n_clusters)[own] - 1
    met, alone = np.zeros((2, len(own)))
    for labels in samples:
        met += _cross_tabulate(own, labels, n_clusters)[own, labels] - 1
        alone += np.bincount(labels)[labels] == 1
    return np.where(others > 0, met / np.maximum(others, 1), alone) / len(samples)


def measure_company(posterior: Posterior, domain: str, groups: NDArray[np.int64]) -> Floats:
    """Return how often the objects of two groups share a cluster: the mean over samples and over pairs.

    `groups`: shape (N,); the group of each object, from 0 without gaps. With one object in each, this is the matrix
      of all pairs. An object is no pair with itself, except in a group of its own.

    Returns: shape (n_groups, n_groups).
    """
    samples = sampled_company(posterior, domain)
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
        ours = [float(np.median(hyper.a)), float(np.median(hyper.b))]
        priors = posterior.arrays.get(PRIORS, np.tile(ours, (n_samples, 1)))
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
            prior = replace(hyper, a=a, b=b)
            average = _BlockAverage(relation, own, labels, widths, layout)
            mean += average(prior.strengths(ones, entries)) / len(chosen)
            for repeat in range(repeats):
                strengths = prior.draw_strengths(ones, entries, rng)
                if layout.symmetric:
                    strengths = np.triu(strengths) + np.triu(strengths, 1).T
                draws[place * repeats + repeat] = average(strengths)
        # By this method 95 % of a further draw lies between the two; by NumPy's own, 94 % with so few draws.
        low, high = np.quantile(draws, [0.025, 0.975], axis=0, method="weibull")
        return cls(mean, low, high)


class _BlockAverage:
    """Averages a matrix over the blocks of one sample to the blocks of another clustering of the same objects."""

    def __init__(
        self,
        relation: Relation,
        own: dict[str, NDArray[np.int64]],
        labels: dict[str, NDArray[np.int64]],
        widths: dict[str, int],
        layout: Layout,
    ) -> None:
        # Objects of each cluster in each cluster of the sample, shapes (K1, S1), (K2, S2), and the pairs of each block.
        # Where links are counted, an object counts as much as it is active, and a pair as much as its exposure.
        active: tuple[Floats | None, ...] = (None, None, None)
        if isinstance(relation, CountRelation):
            active = relation.row_activity, relation.column_activity, None
            if layout.one_domain:
                active = *active[:2], relation.row_activity * relation.column_activity
        tables = [
            _cross_tabulate(own[one], labels[one], widths[one], by)
            for one, by in zip(layout.axes, active, strict=False)
        ]
        self.rows, self.columns = tables
        self.pairs = np.outer(self.rows.sum(axis=1), self.columns.sum(axis=1))
        self.without_own = layout.one_domain and without_diagonal(relation)
        if self.without_own:
            one = layout.axes[0]
            self.alone = np.bincount(own[one], minlength=widths[one]) < 2
            self.inner = (
                self.rows
                if active[2] is None
                else _cross_tabulate(own[one], labels[one], widths[one], active[2])
            )
            self.pairs[np.diag_indices_from(self.pairs)] -= self.inner.sum(axis=1)

    def __call__(self, strengths: Floats) -> Floats:
        sums, pairs = self.rows @ strengths @ self.columns.T, self.pairs
        if self.without_own:
            diagonal, inner = np.diag_indices_from(sums), self.inner @ strengths.diagonal()
            # A cluster of one object has no pair inside: the block of its own cluster in the sample replaces it.
            pairs = pairs.copy()
            pairs[diagonal] = np.where(self.alone, self.inner.sum(axis=1), pairs[diagonal])
            sums[diagonal] = np.where(self.alone, inner, sums[diagonal] - inner)
        return sums / np.where(pairs > 0.0, pairs, 1.0)


def _cross_tabulate(
    one: NDArray[np.int64], other: NDArray[np.int64], width: int, weights: Floats | None = None
) -> Floats:
    n = int(other.max()) + 1
    return np.bincount(one * n + other, weights, width * n).reshape(width, n).astype(np.float64)


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


Places = NDArray[np.int64]
Among = Literal["missing", "unlinked"]
_CELLS_AT_ONCE = 4_000_000  # probabilities in memory at a time: 32 MB
#: Probabilities that differ by less count as equal: their last digits depend on how many are computed at once.
_TIE = 1e-12
_DIGITS = 12


def likely_links(
    relation: Relation,
    posterior: Posterior,
    strengths: Floats,
    n: int = 20,
    *,
    among: Among = "missing",
    averaged: bool = True,
) -> pd.DataFrame:
    """Return the pairs without an observed link that are most likely to be links.

    Time for `among="unlinked"` grows with the cells, times the samples; memory never does.

    `strengths`: shape (K, L); posterior mean of every block's link probability.
    `n`: at most so many pairs; equally likely ones by row, then column.
    `among`: unknown pairs ("missing"), or pairs known to be unlinked. A diagonal that does not count is neither.
    `averaged`: predict by the mean of the posterior's samples, if it has some, in place of the clusters.
    Returns one line a pair, the most likely first; of an undirected network the entry on or above the diagonal:
      row, column (names); row_cluster, column_cluster (the most probable ones, from 1); probability, which by the
      clusters is sum_kl q_ik q_jl strength_kl, of a self-link under one clustering sum_k q_ik strength_kk;
      block_probability (strength of the block of these two clusters); row_links, column_links (of the two objects: out
      and in, for a directed network).
    Raises ParameterError: `n` is negative, or `among` is neither.
    """
    _check_number(n)
    pairs = choose_predictor(posterior, strengths, averaged)
    return pair_table(relation, posterior, strengths, *rank_likely(relation, pairs, n, among))


def surprising_links(
    relation: Relation, posterior: Posterior, strengths: Floats, n: int = 20, *, averaged: bool = True
) -> pd.DataFrame:
    """Return the observed links of least predicted probability, the least probable first.

    Parameters and columns are those of `likely_links`; a link whose `probability` is far below the
    `block_probability` belongs to an object between two clusters.
    """
    _check_number(n)
    rows, columns = links_of(relation)
    probability = clip_probability(choose_predictor(posterior, strengths, averaged).of(rows, columns))
    value, rows, columns = _top(-probability, rows, columns, n)
    return pair_table(relation, posterior, strengths, -value, rows, columns)


def _check_number(n: int) -> None:
    if n < 0:
        raise ParameterError(f"The number of pairs must be at least 0, not {n}.")


def choose_predictor(posterior: Posterior, strengths: Floats, averaged: bool) -> PairPredictor:
    """Return the samples of a posterior, if they are asked for and it has some, else its clusters."""
    if strengths.shape != (shape := block_shape(posterior)):
        raise ParameterError(
            f"The strengths are {strengths.shape}, but there are {shape[0]} x {shape[1]} blocks."
        )
    has_samples = averaged and count_samples(posterior) > 0
    return SampledPairs(posterior) if has_samples else ClusterPairs(posterior, strengths)


def rank_likely(
    relation: Relation, pairs: PairPredictor, n: int, among: Among
) -> tuple[Floats, Places, Places]:
    """Return probability, row and column of the n pairs without an observed link that are most likely to be links."""
    if among == "missing":
        rows, columns = _missing(relation)
        return _top(clip_probability(pairs.of(rows, columns)), rows, columns, n)
    if among == "unlinked":
        return _top_unlinked(relation, pairs, n)
    raise ParameterError(f"Likely links can be searched among 'missing' or 'unlinked' pairs, not {among!r}.")


def pair_table(
    relation: Relation,
    posterior: Posterior,
    strengths: Floats,
    probability: Floats,
    rows: Places,
    columns: Places,
) -> pd.DataFrame:
    """Return one line for each of some pairs (`likely_links`)."""
    import pandas as pd

    row_cluster, column_cluster = (
        posterior.labels(domain)[places]
        for domain, places in zip(sides(posterior), (rows, columns), strict=True)
    )
    row_links = np.diff(relation.ones.indptr)
    column_links = np.bincount(relation.ones.indices, minlength=relation.shape[1])
    return pd.DataFrame(
        {
            "row": relation.row_labels[rows],
            "column": relation.column_labels[columns],
            "row_cluster": row_cluster + 1,
            "column_cluster": column_cluster + 1,
            "probability": probability,
            "block_probability": strengths[row_cluster, column_cluster],
            "row_links": row_links[rows].astype(np.int64),
            "column_links": column_links[columns].astype(np.int64),
        }
    )


def clip_probability(probability: Floats) -> Floats:
    """Return probabilities, in place, neither 0 nor 1: no pair is certain."""
    return np.clip(probability, 1e-12, 1.0 - 1e-12, out=probability)


def _missing(relation: Relation) -> tuple[Places, Places]:
    """Return the unknown pairs, each once, without a diagonal that does not count."""
    rows = np.repeat(np.arange(relation.shape[0], dtype=np.int64), np.diff(relation.missing.indptr))
    columns = relation.missing.indices.astype(np.int64)
    counted = np.ones(len(rows), dtype=np.bool_)
    if is_mirrored(relation):
        counted &= rows <= columns
    if without_diagonal(relation):
        counted &= rows != columns
    return rows[counted], columns[counted]


def _top_unlinked(relation: Relation, pairs: PairPredictor, n: int) -> tuple[Floats, Places, Places]:
    """Return probability, row and column of the n most likely among the observed zeros."""
    n_rows, n_columns = relation.shape
    best = (np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    begin = 0
    while begin < n_rows and n:
        first = begin if is_mirrored(relation) else 0
        end = min(begin + max(1, _CELLS_AT_ONCE // (n_columns - first)), n_rows)
        band = clip_probability(pairs.band(begin, end, first))
        # Links and unknown pairs are no observed zeros, nor are the mirror images of pairs.
        for pattern in (relation.ones, relation.missing):
            inside = pattern[begin:end].tocoo()
            shown = inside.col >= first
            band[inside.row[shown], inside.col[shown] - first] = -1.0
        if is_mirrored(relation):
            band[np.tril_indices(end - begin, -1)] = -1.0
        # Later pairs lose against equally likely ones that came before.
        least = best[0].min() + _TIE if len(best[0]) == n else 0.0
        flat = np.flatnonzero(band > least)
        value = band.ravel()[flat]
        chosen = _best(value, n)
        flat, value = flat[chosen], value[chosen]
        found = (value, flat // band.shape[1] + begin, flat % band.shape[1] + first)
        value, rows, columns = (np.concatenate(parts) for parts in zip(best, found, strict=True))
        best = _top(value, rows, columns, n)
        begin = end
    return best


def _best(value: Floats, n: int) -> Places:
    """Return the places of the n largest values in ascending order; the first of equal ones."""
    if len(value) <= n:
        return np.arange(len(value))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    least = float(np.partition(value, len(value) - n)[len(value) - n])
    sure = np.flatnonzero(value > least + _TIE)
    tied = np.flatnonzero(np.abs(value - least) <= _TIE)
    return np.sort(np.concatenate([sure, tied[: n - len(sure)]]))


def _top(value: Floats, rows: Places, columns: Places, n: int) -> tuple[Floats, Places, Places]:
    """Return the n largest values with their rows and columns, the largest first, ties by row, then column."""
    chosen = _best(value, n)
    value, rows, columns = value[chosen], rows[chosen], columns[chosen]
    order = np.lexsort((columns, rows, -np.round(value, _DIGITS)))
    return value[order], rows[order], columns[order]
