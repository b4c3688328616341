"""Compiled inner loops for two-domain relations: sums over links, block terms, CVB0 updates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.parallel import map_together
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import INLINE, OPTIONS, lbeta, lbeta_large, lgamma, lgamma_two, log
from acvb_core.data.relation import EQUAL, Relation

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
#: A cluster whose bound is so many nats below another's weight gets nothing of the object: e^-40 is lost against 1 in
#: double precision, and the tables' single precision is far better than the margin.
OUT_OF_REACH = 40.0
#: Tables are too high by this many nats for each of an object's ones, and by this share of g(0, M). So they are still
#: bounds after relative changes of a block up to this.
_SLACK = 1e-2


class Bounds(NamedTuple):
    """Tables of g for the blocks as they are; clusters of the swept domain are the last axis.

    g(n, N) is the log probability that a cluster gives n ones and N zeros. It is convex, and g(0, 0) = 0. So an object
    with a share o of M has at most o g(n / o, M - n / o), of counts o g(n / o, M), and a chord of that is larger still.
    """

    sizes: Floats  #: shape (L,); M, at least what any object has: ones and zeros, of counts the exposure
    nodes: Floats  #: shape (L, J); ones at the nodes, at least 1
    empty: Singles  #: shape (L, K); g(0, M)
    whole: Floats  #: shape (K,); the sum of `empty` over l; of counts 0, as their exposures differ by much
    chords: Singles  #: shape (J, L, K); g(n, M - n) - g(0, M) at each node, of counts g(n, M) - g(0, M)
    slopes: Floats  #: shape (K,); the sum over l of the slopes of the chords before the first node
    stale: Floats  #: shape (K,); how much of objects came or went since a cluster's tables were made
    drift: Floats  #: shape (K, L); relative changes of a block that the tables have not followed
    is_gamma: bool  #: as in `BlockCounts`


@nb.njit(**OPTIONS)
def largest_count(sums: ObjectSums, sizes: Floats, is_gamma: bool) -> float:
    """Return the largest n / o of any object; see `Bounds`."""
    ones, zeros = sums
    most = np.zeros(sizes.shape[0])
    for i in range(ones.shape[0]):
        for m in range(sizes.shape[0]):
            reached = zeros[i, m] if is_gamma else ones[i, m] + zeros[i, m]
            scaled = ones[i, m] / max(reached / max(sizes[m], 1e-12), 1e-12)
            most[m] = scaled if scaled > most[m] else most[m]
    return most.max()


@nb.njit(**INLINE)
def _log_empty(ones: float, zeros: float, size: float, is_gamma: bool) -> float:
    """Return g(0, M) of a block, too high by the slack."""
    if is_gamma:
        return (_SLACK - 1.0) * ones * log(1.0 + size / zeros)
    return (1.0 - _SLACK) * (lgamma_two(zeros + size, ones + zeros) - lgamma_two(zeros, ones + zeros + size))


@nb.njit(**OPTIONS)
def tabulate_cluster(k: int, ones: Floats, zeros: Floats, bounds: Bounds) -> None:
    """Bring the tables of cluster k up to date."""
    sizes, nodes, empty, whole, chords, slopes, stale, drift, is_gamma = bounds
    n_other = sizes.shape[0]
    before, out = np.empty(n_other), np.empty(n_other)
    total = 0.0
    for m in range(n_other):
        out[m] = _log_empty(ones[m], zeros[m], sizes[m], is_gamma)
        total += out[m]
        before[m] = lgamma(ones[m]) if is_gamma else lgamma_two(ones[m], zeros[m] + sizes[m])
    whole[k] = 0.0 if is_gamma else total
    for m in range(n_other):
        empty[m, k] = out[m]
        drift[k, m] = 0.0
    for j in range(nodes.shape[1]):
        for m in range(n_other):
            n = nodes[m, j]
            if is_gamma:
                out[m] = lgamma(ones[m] + n) - before[m] - n * (log(zeros[m] + sizes[m]) - _SLACK)
            else:
                out[m] = lgamma_two(ones[m] + n, zeros[m] + sizes[m] - n) - before[m] + n * _SLACK
        for m in range(n_other):
            chords[j, m, k] = out[m]
    total = 0.0
    for m in range(n_other):
        total += np.float64(chords[0, m, k]) / nodes[m, 0]
    slopes[k] = total
    stale[k] = 0.0


@nb.njit(**OPTIONS)
def loosen_cluster(
    k: int, change: float, plus: Floats, minus: Floats, ones: Floats, zeros: Floats, bounds: Bounds
) -> None:
    """Keep the tables of a cluster above g, after a share of an object came or went; new tables take longer.

    The slack covers small changes of a block. After a larger one its chords rise by the most that each one can gain: a
    chord sums log (a + s) - log (b + M - 1 - s) over s < n, and of counts log (a + s) - log (b + M).
    """
    sizes, nodes, empty, whole, chords, slopes, _, drift, is_gamma = bounds
    n_other, last = sizes.shape[0], nodes.shape[1] - 1
    came = max(change, 0.0)
    for m in range(n_other):
        share_ones = plus[m] / max(ones[m] - came * plus[m], SMALLEST)
        share_zeros = minus[m] / max(zeros[m] - came * minus[m], SMALLEST)
        drift[k, m] += abs(change) * (share_ones if share_ones > share_zeros else share_zeros)
    for m in range(n_other):
        if drift[k, m] <= _SLACK:
            continue
        top = 0.0 if change > 0.0 else nodes[m, last]
        before = max(ones[m] - change * plus[m], SMALLEST) + top
        least = zeros[m] + sizes[m] - (0.0 if is_gamma else top)
        share_ones = plus[m] / max(ones[m] - came * plus[m], SMALLEST)
        share_zeros = minus[m] / max(zeros[m] - came * minus[m], SMALLEST)
        passed = drift[k, m] - abs(change) * max(share_ones, share_zeros)
        more = passed + log((ones[m] + top) / before * (1.0 - change * minus[m] / least))
        slopes[k] += more
        for j in range(nodes.shape[1]):
            chords[j, m, k] += nodes[m, j] * more
        now = _log_empty(ones[m], zeros[m], sizes[m], is_gamma)
        whole[k] += 0.0 if is_gamma else now - empty[m, k]
        empty[m, k] = now
        drift[k, m] = 0.0


@nb.njit(**OPTIONS)
def bound_weights(links: Floats, zeros: Floats, bounds: Bounds, out: Singles) -> None:
    """Write an upper bound on the log probability of an object's links and zeros in each cluster that it may join."""
    sizes, nodes, empty, whole, chords, slopes, _, _, is_gamma = bounds
    n_own = whole.shape[0]
    # Up to the first node a chord is straight, so what an object has of every cluster is bounded for all at once. The
    # start spreads a share of the links over all clusters: cluster by cluster, it would take K L additions an object.
    spread = np.inf
    for m in range(sizes.shape[0]):
        reached = zeros[m] if is_gamma else links[m] + zeros[m]
        spread = min(spread, links[m], min(reached / max(sizes[m], 1e-12), 1.0) * nodes[m, 0])
    spread = spread if spread > 1e-9 else 0.0
    for k in range(n_own):
        out[k] = whole[k] + spread * slopes[k]
    for m in range(sizes.shape[0]):
        n = links[m]
        reached = zeros[m] if is_gamma else n + zeros[m]
        observed = max(reached / max(sizes[m], 1e-12), 1e-12)
        if is_gamma or observed < 1.0 - 1e-9:
            share = np.float32(observed if is_gamma else observed - 1.0)
            for k in range(n_own):
                out[k] += share * empty[m, k]
        if n > spread + 1e-9:
            n = min(n / observed, nodes[m, nodes.shape[1] - 1])
            j = 0
            while nodes[m, j] < n:
                j += 1
            before = nodes[m, j - 1] if j else 0.0
            near = (n - before) / (nodes[m, j] - before)
            upper = np.float32(observed * near)
            if j:
                lower = np.float32(observed * (1.0 - near))
                for k in range(n_own):
                    out[k] += lower * chords[j - 1, m, k] + upper * chords[j, m, k]
            else:
                for k in range(n_own):
                    out[k] += upper * chords[j, m, k]
            if spread > 0.0:
                shared = np.float32(spread / nodes[m, 0])
                for k in range(n_own):
                    out[k] -= shared * chords[0, m, k]


#: Responsibilities and their changes below this count as zero in the counts, which are rebuilt in every sweep.
NEGLIGIBLE = 1e-12
#: Least value of a + n and b + N; every prior is larger.
SMALLEST = 1e-8


class ObjectSums(NamedTuple):
    """n+ and N+ of every object, its links and its zeros by cluster of the other domain, shape (N, L)."""

    links: Floats
    zeros: Floats


class BlockCounts(NamedTuple):
    """a + n and b + N of every block, shape (K, L), and the cluster sizes, shape (K,); kept up to date.

    Of counts, n is their sum and N the exposure: the sum of what the activity of the objects lets expect.
    """

    ones: Floats
    zeros: Floats
    mass: Floats
    is_gamma: bool  #: a strength is a rate of counts with a Gamma prior, no probability with a Beta prior

    def with_counts(self, ones: Floats, zeros: Floats, mass: Floats) -> BlockCounts:
        """Return blocks of the same kind with other counts."""
        return BlockCounts(ones, zeros, mass, self.is_gamma)


class Limits(NamedTuple):
    """Thresholds below which an update skips clusters and changes."""

    #: Only clusters that have more of an object than this share it out among themselves; negative for all clusters.
    least: float = -1.0
    #: Smaller responsibilities, and changes of them, are not taken out of the counts of the blocks or put in.
    negligible: float = NEGLIGIBLE
    #: A cluster that must weigh so many nats less than another does not get any of an object.
    reach: float = OUT_OF_REACH
    #: The tables of a cluster's bounds are rebuilt when this share of its objects has come or gone.
    tolerance: float = 0.1


#: All clusters are weighed, and every change is taken over.
NO_LIMITS = Limits()


class Scratch(NamedTuple):
    """Working arrays of a sweep, and known sums of log B(a + n, b + N) over a cluster's blocks."""

    x: Floats
    y: Floats
    terms: Floats
    log_weights: Floats
    prior: Floats
    shares: Floats
    choices: NDArray[np.int64]
    tops: Singles
    bases: Floats
    known: NDArray[np.bool_]


def make_scratch(n_own: int, n_other: int) -> Scratch:
    """Return working arrays for so many clusters of both domains; no sum is known."""
    counts, rows = (2 * n_own, n_other), (n_own,)
    return Scratch(
        np.empty(counts), np.empty(counts), np.empty(2 * n_own * n_other),
        np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows, np.int64), np.empty(rows, np.float32),
        np.empty(rows), np.zeros(rows, np.bool_),
    )  # fmt: skip


def chunk_length(n_rows: int, n_columns: int, ns_per_block: float = 6.0) -> int:
    """Return how many objects a kernel call may take so that it returns within some 30 ms."""
    return int(max(16, 30e6 / (n_rows * n_columns * ns_per_block + 500.0)))


@nb.njit(**OPTIONS)
def log_prior(mass: Floats, alpha: float, out: Floats) -> None:
    """Write log p(z = k | others) of the stick-breaking prior truncated at K = len(mass), with v_K = 1.

    `mass`: expected cluster sizes without the object. The exponentials sum to one.
    """
    n_clusters = mass.shape[0]
    stay, beyond = np.empty(n_clusters), 0.0
    for k in range(n_clusters - 1, -1, -1):
        out[k] = beyond
        beyond += mass[k]
    for k in range(n_clusters):  # a loop of its own: the compiler vectorises it
        total = mass[k] + out[k] + alpha + 1.0
        stay[k] = log((mass[k] + 1.0) / total)
        out[k] = log((out[k] + alpha) / total)
    passed = 0.0
    for k in range(n_clusters - 1):
        beyond = passed + out[k]
        out[k] = passed + stay[k]
        passed = beyond
    out[n_clusters - 1] = passed


@nb.njit(**OPTIONS)
def normalise(log_weights: Floats) -> float:
    """Turn log weights into probabilities in place; return the log of their sum."""
    top = log_weights[0]
    for k in range(1, log_weights.shape[0]):  # compiles faster than `max`, by a second
        top = max(top, log_weights[k])
    total = 0.0
    for k in range(log_weights.shape[0]):
        log_weights[k] = math.exp(log_weights[k] - top)
        total += log_weights[k]
    for k in range(log_weights.shape[0]):
        log_weights[k] /= total
    return top + math.log(total)


@nb.njit(**INLINE)
def block_term(x: float, y: float, is_gamma: bool) -> float:
    """Return the log evidence of a block with x = a + n and y = b + N, up to a constant.

    It is log B(x, y), and for counts log Gamma(x) - x log y.
    """
    return lgamma(x) - x * log(y) if is_gamma else lbeta(x, y)


@nb.njit(**OPTIONS)
def block_terms(x: Floats, y: Floats, length: int, is_gamma: bool, out: Floats) -> None:
    """Write the `block_term` of the first `length` elements."""
    if is_gamma:
        for t in range(length):
            out[t] = lgamma(x[t]) - x[t] * log(y[t])
        return
    n_small = 0
    for t in range(length):
        n_small += 1 if y[t] < 7.0 else 0
    if n_small == 0:
        for t in range(length):
            out[t] = lbeta_large(x[t], y[t])
    else:
        for t in range(length):
            out[t] = lbeta(x[t], y[t])


@nb.njit(**OPTIONS)
def total_of(values: Floats) -> float:
    """Return the sum of values by a plain loop, which the compiler vectorises, unlike `ndarray.sum`."""
    total = 0.0
    for t in range(values.shape[0]):
        total += values[t]
    return total


@nb.njit(**OPTIONS)
def add_share(base: Floats, row: Floats, share: float, out: Floats) -> None:
    """Write base + share * row for one cluster, at least `SMALLEST`, as rounding may leave less than a tiny prior."""
    for m in range(base.shape[0]):
        out[m] = max(base[m] + share * row[m], SMALLEST)


@nb.njit(**OPTIONS)
def zeroth_order(
    objects: NDArray[np.int64],
    q: Floats,
    sums: ObjectSums,
    blocks: BlockCounts,
    bounds: Bounds,
    scratch: Scratch,
    alpha: float,
    update: bool,
    limits: Limits,
) -> float:
    """CVB0 update of some objects (IRM14 §5 with counts replaced by their means); returns sum of log C_i.

    `objects`: objects to update, in this order.
    `q`: shape (N, K); responsibilities of the swept domain; changed in place when `update`.
    `bounds`: tables of the blocks, kept up to date; if they are empty, all clusters are weighed.
    `alpha`: concentration of the stick-breaking prior.
    `update`: False only evaluates the normalisers.
    """
    links, zeros = sums
    beta_ones, beta_zeros, mass, is_gamma = blocks
    x, y, terms, log_weights, prior, shares, choices, tops, bases, known = scratch
    least, negligible, out_of_reach, tolerance = limits
    n_own, n_other = beta_ones.shape
    are_bounded = bounds.whole.shape[0] > 0
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    log_normaliser = 0.0
    for visit in range(objects.shape[0]):
        i = objects[visit]
        plus = links[i]
        minus = zeros[i]
        held, n_held = 0.0, 0
        for k in range(n_own):
            share = q[i, k]
            shares[k] = max(mass[k] - share, 0.0)
            if share > negligible and share > least:
                held += share
                choices[n_held] = k
                n_held += 1
        if n_held <= 1 and least >= 0.0:
            continue
        log_prior(shares, alpha, prior)
        if least < 0.0:
            held = 1.0
            if are_bounded:
                bound_weights(plus, minus, bounds, tops)
                for k in range(n_own):
                    tops[k] += np.float32(prior[k])
            else:
                tops[:] = np.inf
            for at in range(n_held):
                tops[choices[at]] = -np.inf
        # First the clusters that have some of the object, with it and without it; then the most promising one of those
        # that may take some of it, and then the others.
        n_choices, n_weighed, reach = n_held, 0, -np.inf
        for stage in range(3 if least < 0.0 else 1):
            if stage == 1:
                best = 0
                for k in range(1, n_own):
                    best = k if tops[k] > tops[best] else best
                if not tops[best] > reach:
                    break
                choices[n_choices] = best
                tops[best] = -np.inf
                n_choices += 1
            elif stage == 2:
                for k in range(n_own):
                    if tops[k] > reach:
                        choices[n_choices] = k
                        n_choices += 1
            n_rows = 0
            for at in range(n_weighed, n_choices):
                k = choices[at]
                share = q[i, k] if stage == 0 else 0.0
                add_share(beta_ones[k], plus, 1.0 - share, x[n_rows])
                add_share(beta_zeros[k], minus, 1.0 - share, y[n_rows])
                n_rows += 1
                if stage == 0 or not known[k]:
                    add_share(beta_ones[k], plus, -share, x[n_rows])
                    add_share(beta_zeros[k], minus, -share, y[n_rows])
                    n_rows += 1
            block_terms(flat_x, flat_y, n_rows * n_other, is_gamma, terms)
            n_rows = 0
            for at in range(n_weighed, n_choices):
                k = choices[at]
                weight = total_of(terms[n_rows * n_other : (n_rows + 1) * n_other])
                n_rows += 1
                without = bases[k]
                if stage == 0 or not known[k]:
                    without = total_of(terms[n_rows * n_other : (n_rows + 1) * n_other])
                    n_rows += 1
                if stage > 0:
                    bases[k] = without
                    known[k] = True
                log_weights[at] = prior[k] + weight - without
                reach = max(reach, log_weights[at] - out_of_reach)
            n_weighed = n_choices
        log_normaliser += normalise(log_weights[:n_choices])
        if not update:
            continue
        for k in range(n_own):
            shares[k] = 0.0 if least < 0.0 else q[i, k]
        for at in range(n_choices):
            shares[choices[at]] = held * log_weights[at]
        for k in range(n_own):
            change = shares[k] - q[i, k]
            q[i, k] = shares[k]
            mass[k] += change
            if abs(change) > negligible:
                add_share(beta_ones[k], plus, change, beta_ones[k])
                add_share(beta_zeros[k], minus, change, beta_zeros[k])
                known[k] = False
                if are_bounded:
                    bounds.stale[k] += abs(change)
                    if bounds.stale[k] > tolerance * (1.0 + mass[k]):
                        tabulate_cluster(k, beta_ones[k], beta_zeros[k], bounds)
                    else:
                        loosen_cluster(k, change, plus, minus, beta_ones[k], beta_zeros[k], bounds)
    return log_normaliser


@dataclass(frozen=True)
class Layout:
    """The clusterings along the two sides of a relation."""

    #: Domain of the row objects and of the column objects; the same one if these are the same objects.
    axes: tuple[str, str] = ("rows", "cols")
    #: Blocks (k, l) and (l, k) are one, with one strength (undirected networks). The counts are a symmetric matrix, and
    #: count each unordered pair of objects once.
    symmetric: bool = False

    @property
    def one_domain(self) -> bool:
        """Return whether one clustering serves both sides."""
        return self.axes[0] == self.axes[1]

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains, each once."""
        return self.axes[:1] if self.one_domain else self.axes

    def distinct(self, n_clusters: int) -> NDArray[np.float64]:
        """Return the weight of each block in a sum, shape (K, K) or (1, 1): 0 for a block's mirror image."""
        if not self.symmetric:
            return np.ones((1, 1))
        return np.triu(np.ones((n_clusters, n_clusters)))


#: Row objects and column objects have clusters of their own.
TWO_DOMAINS = Layout()
_DIRECTED, _UNDIRECTED = Layout(("rows", "rows")), Layout(("rows", "rows"), symmetric=True)


def network_layout(relation: Relation) -> Layout:
    """Return the layout of one clustering for both sides of a relation; without a `network` it counts as directed."""
    undirected = relation.network is not None and not relation.network.directed
    return _UNDIRECTED if undirected else _DIRECTED


#: Additions of a kernel call: some 10 ms.
_ADDITIONS = 2_000_000
#: Rows that a kernel call adds up at least.
_ROWS = 10_000
#: Below this share of non-negligible responsibilities the compressed form is the faster one.
_COMPRESS_BELOW = 0.4


def neighbour_sums(
    pattern: sparse.csr_array, responsibilities: Floats, poll: Poll = no_poll, weights: Floats = EQUAL
) -> Floats:
    """Return pattern @ responsibilities, shape (N, K); responsibilities below 1e-12 may count as zero.

    `weights`: of the stored entries; none if all are 1.
    """
    responsibilities = np.ascontiguousarray(responsibilities, dtype=np.float64)
    even, n_counted = count_apart(responsibilities)
    if pattern.nnz == 0 or n_counted > _COMPRESS_BELOW * responsibilities.size:
        return pattern_product(pattern, responsibilities, poll, weights)
    out = np.zeros((pattern.shape[0], responsibilities.shape[1]))
    pairs, shares, starts, clusters, values = compress(responsibilities, n_counted, even)
    per_link = max(n_counted / len(responsibilities), 1.0)

    compressed = pairs, shares, starts, clusters, values
    add = partial(_add_compressed, pattern.indptr, pattern.indices, weights, compressed, out)
    map_together(add, _runs_of_rows(pattern.indptr, int(_ADDITIONS / per_link)), poll)
    if even:
        out += even * sum_weights(pattern, weights)[:, None]
    return out


def sum_weights(pattern: sparse.csr_array, weights: Floats) -> NDArray[np.float64]:
    """Return the sum of the weights of each row's stored entries; how many there are if all count as 1."""
    if not len(weights):
        return np.diff(pattern.indptr)
    return np.diff(np.concatenate([[0.0], np.cumsum(weights)])[pattern.indptr])


def cluster_sums(responsibilities: Floats, values: Floats) -> Floats:
    """Return responsibilities.T @ values, shape (K, L), for values of any size; see `neighbour_sums`."""
    even, n_counted = count_apart(responsibilities)
    if n_counted > _COMPRESS_BELOW * responsibilities.size:
        return np.asarray(responsibilities.T @ values)
    responsibilities, values = np.ascontiguousarray(responsibilities), np.ascontiguousarray(values)

    def add(rows: slice) -> Floats:
        out = np.zeros((responsibilities.shape[1], values.shape[1]))
        _add_to_clusters(responsibilities[rows], values[rows], even, out)
        return out

    step = max(_ROWS, len(values) // 8 + 1)
    sums = sum(map_together(add, [slice(at, at + step) for at in range(0, max(len(values), 1), step)]))
    return np.asarray(sums + even * values.sum(axis=0) if even else sums)


def pattern_product(
    pattern: sparse.csr_array, values: Floats, poll: Poll = no_poll, weights: Floats = EQUAL
) -> Floats:
    """Return pattern @ values for any values, shape (N, K); `weights` as in `neighbour_sums`."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    out = np.zeros((pattern.shape[0], values.shape[1]))
    if pattern.nnz == 0:
        return out

    add = partial(_add_dense, pattern.indptr, pattern.indices, weights, values, out)
    map_together(add, _runs_of_rows(pattern.indptr, _ADDITIONS // values.shape[1]), poll)
    return out


def _runs_of_rows(indptr: NDArray[np.int32], links_per_run: int) -> list[tuple[int, int]]:
    """Return runs of rows with at most about `links_per_run` stored entries each; a single row may have more."""
    n_rows = len(indptr) - 1
    if indptr[-1] <= links_per_run:
        return [(0, n_rows)]
    marks = np.arange(links_per_run, int(indptr[-1]), links_per_run)
    edges = np.unique(np.concatenate([[0], np.searchsorted(indptr, marks, side="left"), [n_rows]]))
    return [(int(begin), int(end)) for begin, end in zip(edges[:-1], edges[1:], strict=True)]


def count_apart(responsibilities: Floats) -> tuple[float, int]:
    """Return a share that every object has of every cluster, and how many responsibilities are larger.

    The share is zero unless most responsibilities are worth counting.
    """
    n_counted = count_large(responsibilities, 0.0)
    if n_counted <= _COMPRESS_BELOW * responsibilities.size:
        return 0.0, n_counted
    even = float(responsibilities.min())
    return even, count_large(responsibilities, even)


@nb.njit(**OPTIONS)
def count_large(responsibilities: Floats, even: float) -> int:
    """Return how many responsibilities exceed the share that all have."""
    count = 0
    for i in range(responsibilities.shape[0]):
        for k in range(responsibilities.shape[1]):
            if responsibilities[i, k] - even > NEGLIGIBLE:
                count += 1
    return count


@nb.njit(**OPTIONS)
def compress(responsibilities: Floats, count: int, even: float):  # type: ignore[no-untyped-def]
    """Return the non-negligible responsibilities beyond `even`: clusters and values of two of each object, then others.

    Most objects have one or two, and reading always two is faster than a loop. A missing second one is a zero in the
    first one's cluster.
    """
    n = responsibilities.shape[0]
    pairs, shares = np.zeros((n, 2), np.int32), np.zeros((n, 2))
    starts = np.zeros(n + 1, np.int32)
    clusters = np.empty(count, np.int32)
    values = np.empty(count)
    at = 0
    for i in range(n):
        n_found = 0
        for k in range(responsibilities.shape[1]):
            share = responsibilities[i, k] - even
            if share > NEGLIGIBLE:
                if n_found < 2:
                    shares[i, n_found] = share
                    pairs[i, 1] = k
                    if n_found == 0:
                        pairs[i, 0] = k
                else:
                    clusters[at] = k
                    values[at] = share
                    at += 1
                n_found += 1
        starts[i + 1] = at
    return pairs, shares, starts, clusters, values


@nb.njit(**OPTIONS)
def _add_to_clusters(responsibilities: Floats, values: Floats, even: float, out: Floats) -> None:
    for i in range(responsibilities.shape[0]):
        for k in range(responsibilities.shape[1]):
            share = responsibilities[i, k] - even
            if share > NEGLIGIBLE:
                for m in range(values.shape[1]):
                    out[k, m] += share * values[i, m]


@nb.njit(**OPTIONS)
def _add_dense(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    weights: Floats,
    values: Floats,
    out: Floats,
    rows: tuple[int, int],
) -> None:
    n_columns = values.shape[1]
    for i in range(rows[0], rows[1]):
        row = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            other = values[indices[p]]
            if weights.shape[0]:
                for k in range(n_columns):
                    row[k] += weights[p] * other[k]
            else:
                for k in range(n_columns):
                    row[k] += other[k]


@nb.njit(**OPTIONS)
def _add_compressed(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    weights: Floats,
    compressed: tuple[NDArray[np.int32], Floats, NDArray[np.int32], NDArray[np.int32], Floats],
    out: Floats,
    rows: tuple[int, int],
) -> None:
    pairs, shares, starts, clusters, values = compressed
    if weights.shape[0]:
        for i in range(rows[0], rows[1]):
            for p in range(indptr[i], indptr[i + 1]):
                j, weight = indices[p], weights[p]
                out[i, pairs[j, 0]] += weight * shares[j, 0]
                out[i, pairs[j, 1]] += weight * shares[j, 1]
                for e in range(starts[j], starts[j + 1]):
                    out[i, clusters[e]] += weight * values[e]
        return
    for i in range(rows[0], rows[1]):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            out[i, pairs[j, 0]] += shares[j, 0]
            out[i, pairs[j, 1]] += shares[j, 1]
            for e in range(starts[j], starts[j + 1]):
                out[i, clusters[e]] += values[e]
