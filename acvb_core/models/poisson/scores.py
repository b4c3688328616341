"""Predictions of counts: the probability that a pair is linked, and of its count."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.core.special import OPTIONS, exp, exp_single, lgamma, log
from acvb_core.data.relation import CountRelation
from acvb_core.evaluate.heldout import LinkScore, score_links
from acvb_core.models.irm.gibbs import LABELS, RATES, STRENGTHS
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.scores import one_clustering, sides

Places = NDArray[np.int64]
#: Object, cluster, probability and activity, shape (n,) each.
Members = tuple[Places, Places, Floats, Floats]
#: Clusters with less than this share of an object are left out of its predictions, and the others make up for them.
_NEGLIGIBLE = 1e-4
#: Pairs times samples that a kernel call takes: some 20 ms.
_AT_ONCE = 1_000_000


class CountScore(NamedTuple):
    """How well held-out entries were predicted: whether there is a link, as in `LinkScore`, and its count."""

    log_likelihood: float  #: mean log probability of a link, or of none, in nats
    skill: float  #: 1 - log_likelihood / log likelihood of one block (the training density for every entry)
    roc_auc: float
    average_precision: float
    count_log_likelihood: float  #: mean log probability of the count of an entry, in nats
    #: The same of the mean of what samples predict.
    averaged_log_likelihood: float = float("nan")
    averaged_skill: float = float("nan")
    averaged_roc_auc: float = float("nan")
    averaged_count_log_likelihood: float = float("nan")

    def with_averaged(self, other: CountScore) -> CountScore:
        """Return the scores with those of other predictions as the averaged ones."""
        return self._replace(
            averaged_log_likelihood=other.log_likelihood,
            averaged_skill=other.skill,
            averaged_roc_auc=other.roc_auc,
            averaged_count_log_likelihood=other.count_log_likelihood,
        )


def score_counts(predicted: Floats, linked: NDArray[np.bool_], density: float) -> CountScore:
    """Score predicted counts.

    `predicted`: shape (n, 2); the probability that an entry is a link, and that of its count.
    `linked`: shape (n,); `density`: the share of links in the training data.
    """
    links: LinkScore = score_links(predicted[:, 0], linked, density)
    return CountScore(*links[:4], float(np.log(np.maximum(predicted[:, 1], 1e-300)).mean()))


class CountPairs:
    """The predicted counts of any pair: by the clusters of a posterior, or by the mean of its samples.

    A block's rate has the Gamma distribution (a + n, b + e), so a count is negative binomial.
    """

    def __init__(
        self, relation: CountRelation, posterior: Posterior, blocks: tuple[Floats, Floats], averaged: bool
    ) -> None:
        self.relation, self.blocks = relation, blocks
        self.responsibilities = [posterior[domain] for domain in sides(posterior)]
        self.is_network = one_clustering(posterior)
        self.labels: list[NDArray[Any]] | None = None
        if averaged:
            self.labels = [posterior[LABELS.format(domain)] for domain in sides(posterior)]
            self.sampled = posterior[STRENGTHS], posterior[RATES]

    def thin(self, most: int) -> CountPairs:
        """Return the predictions of at most so many samples, evenly chosen: quicker, to rank all pairs."""
        if self.labels is None or len(self.sampled[0]) <= most:
            return self
        chosen = np.linspace(0, len(self.sampled[0]) - 1, most).round().astype(np.int64)
        thinned = copy(self)
        thinned.labels = [labels[chosen] for labels in self.labels]
        thinned.sampled = self.sampled[0][chosen], self.sampled[1][chosen]
        return thinned

    def predict(
        self, rows: NDArray[Any], columns: NDArray[Any], counts: Floats | None = None, *, tails: bool = False
    ) -> Floats:
        """Return the probability of a link and of its count, and the expected count of pairs, shape (n, 3).

        `counts`: shape (n,); 0 unless given. `tails`: return also the probability of such a count or a larger one,
        shape (n, 4).
        """
        rows, columns = rows.astype(np.int64), columns.astype(np.int64)
        exposure = self.relation.row_activity[rows] * self.relation.column_activity[columns]
        counts = np.zeros(len(rows)) if counts is None else counts
        out = np.zeros((len(rows), 4 if tails else 3))
        step = _AT_ONCE if self.labels is None else max(1, _AT_ONCE // len(self.sampled[0]))
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            pairs = rows[part], columns[part], exposure[part], counts[part]
            if self.labels is None:
                _add_clusters(*self.responsibilities, *self.blocks, self.is_network, pairs, out[part])
            else:
                _add_samples(*self.labels, *self.sampled, pairs, out[part])
        if self.labels is not None:
            out /= len(self.sampled[0])
        out[:, 0] = 1.0 - out[:, 0]
        return out

    def of(self, rows: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Return the probability of single pairs to be linked, shape (n,)."""
        return self.predict(rows, columns)[:, 0]

    def band(self, begin: int, end: int, first_column: int) -> Floats:
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on.

        Their absolute error is below 1e-6.
        """
        rows, columns = slice(begin, end), slice(first_column, None)
        active = self.relation.row_activity[rows], self.relation.column_activity[columns]
        absent = np.zeros((len(active[0]), len(active[1])))
        if self.labels is not None:
            weights = [np.ones(len(each)) for each in active]
            places = [np.arange(len(each)) for each in active]
            for at, (means, rates) in enumerate(zip(*self.sampled, strict=True)):
                labels = (
                    self.labels[0][at, rows].astype(np.int64),
                    self.labels[1][at, columns].astype(np.int64),
                )
                shapes, rates = (each.astype(np.float64) for each in (means * rates, rates))
                _add_band(*zip(places, labels, weights, active, strict=True), shapes, rates, absent)
            return 1.0 - absent / len(self.sampled[0])
        own = [
            _list_members(q[part], a)
            for q, part, a in zip(self.responsibilities, (rows, columns), active, strict=True)
        ]
        _add_band(*own, *self.blocks, absent)
        band = 1.0 - absent
        if self.is_network:
            selves = np.arange(max(begin, first_column), end)
            band[selves - begin, selves - first_column] = self.of(selves, selves)
        return band


def _list_members(responsibilities: Floats, activity: Floats) -> Members:
    """Return the clusters that objects may be in: object, cluster, probability and activity of the object."""
    kept = np.where(responsibilities >= _NEGLIGIBLE, responsibilities, 0.0)
    kept /= kept.sum(axis=1, keepdims=True)
    places, labels = np.nonzero(kept)
    return places, labels, kept[places, labels], activity[places]


def list_blocks(hyper: Hyper, ones: Floats, entries: Floats) -> tuple[Floats, Floats]:
    """Return the shape a + n and the rate b + e of each block's rate, shape (K1, K2) each."""
    shapes = hyper.a + np.maximum(ones, 0.0)
    return np.ascontiguousarray(shapes), np.ascontiguousarray(hyper.b + np.maximum(entries - ones, 0.0))


@nb.njit(**OPTIONS)
def _beta_share(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_share(b, a, 1.0 - x)
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 10_000):
        before = fraction
        for term in (
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            fraction *= c * d
        if abs(fraction - before) < 1e-12 * fraction:
            break
    return fraction * np.exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * np.log(x) + b * np.log1p(-x)) / a


@nb.njit(**OPTIONS)
def _add_pair(weight: float, shape: float, rate: float, exposure: float, count: float, out: Floats) -> None:
    """Add the probabilities of the counts 0 and `count` in one block, the expected count, and the tail if wanted."""
    absent = np.exp(-shape * np.log1p(exposure / rate))
    out[0] += weight * absent
    out[2] += weight * exposure * shape / rate
    if count > 0.0:
        log_count = lgamma(shape + count) - lgamma(shape) - lgamma(count + 1.0)
        absent *= np.exp(log_count + count * np.log(exposure / (rate + exposure)))
    out[1] += weight * absent
    if out.shape[0] > 3:
        out[3] += weight * (_beta_share(count, shape, exposure / (rate + exposure)) if count > 0.0 else 1.0)


@nb.njit(**OPTIONS)
def _list_clusters(shares: Floats, own: Places, weights: Floats) -> int:
    """Write the clusters that an object may be in and its shares of them, which add up to 1; return their number."""
    n, total = 0, 0.0
    for k in range(shares.shape[0]):
        if shares[k] >= _NEGLIGIBLE:
            own[n], weights[n] = k, shares[k]
            total += shares[k]
            n += 1
    for at in range(n):
        weights[at] /= total
    return n


@nb.njit(**OPTIONS)
def _add_clusters(
    row_shares: Floats,
    column_shares: Floats,
    shapes: Floats,
    rates: Floats,
    is_network: bool,
    pairs: tuple[Places, Places, Floats, Floats],
    out: Floats,
) -> None:
    rows, columns, exposures, counts = pairs
    clusters = np.empty((2, max(shapes.shape)), np.int64)
    weights = np.empty((2, max(shapes.shape)))
    # Shape, inverse rate, weight and log probability of a 0 of the blocks that a pair may be in.
    blocks = np.empty((4, shapes.size))
    inverse = 1.0 / rates
    last = n_rows = -1
    for e in range(rows.shape[0]):
        i, j = rows[e], columns[e]
        if i != last:
            last, n_rows = i, _list_clusters(row_shares[i], clusters[0], weights[0])
        if is_network and i == j:  # an object is in one cluster
            for at in range(n_rows):
                k, weight = clusters[0, at], weights[0, at]
                _add_pair(weight, shapes[k, k], rates[k, k], exposures[e], counts[e], out[e])
            continue
        n_columns = _list_clusters(column_shares[j], clusters[1], weights[1])
        if counts[e] > 0.0 or out.shape[1] > 3:
            for at in range(n_rows):
                for to in range(n_columns):
                    k, m = clusters[0, at], clusters[1, to]
                    weight = weights[0, at] * weights[1, to]
                    _add_pair(weight, shapes[k, m], rates[k, m], exposures[e], counts[e], out[e])
            continue
        n = 0
        for at in range(n_rows):
            shape, scale = shapes[clusters[0, at]], inverse[clusters[0, at]]
            for to in range(n_columns):
                m = clusters[1, to]
                blocks[0, n], blocks[1, n] = shape[m], scale[m]
                blocks[2, n] = weights[0, at] * weights[1, to]
                n += 1
        absent = expected = 0.0
        for t in range(n):  # loops of their own: the compiler vectorises them
            blocks[3, t] = -blocks[0, t] * log(1.0 + exposures[e] * blocks[1, t])
        for t in range(n):
            absent += blocks[2, t] * exp(blocks[3, t])
            expected += blocks[2, t] * blocks[0, t] * blocks[1, t]
        out[e, 0] += absent
        out[e, 1] += absent
        out[e, 2] += exposures[e] * expected


@nb.njit(**OPTIONS)
def _add_band(rows: Members, columns: Members, shapes: Floats, rates: Floats, out: Floats) -> None:
    """Add the probability of every pair not to be linked, shape (n_rows, n_columns)."""
    absent = np.empty(len(columns[0]), np.float32)
    (row_of, row_labels, row_weights, row_activity), (column_of, labels, weights, activity) = rows, columns
    inverse = 1.0 / rates
    for r in range(len(row_of)):
        shape, scale = shapes[row_labels[r]], inverse[row_labels[r]]
        for c in range(len(column_of)):
            exposure = row_activity[r] * activity[c] * scale[labels[c]]
            absent[c] = exp_single(np.float32(-shape[labels[c]] * log(1.0 + exposure)))
        line = out[row_of[r]]
        for c in range(len(column_of)):
            line[column_of[c]] += row_weights[r] * weights[c] * absent[c]


@nb.njit(**OPTIONS)
def _add_samples(
    row_labels: Any,
    column_labels: Any,
    strengths: Any,
    rates: Any,
    pairs: tuple[Places, Places, Floats, Floats],
    out: Floats,
) -> None:
    rows, columns, exposures, counts = pairs
    for s in range(strengths.shape[0]):
        for e in range(rows.shape[0]):
            k, m = row_labels[s, rows[e]], column_labels[s, columns[e]]
            rate = np.float64(rates[s, k, m])
            _add_pair(1.0, rate * np.float64(strengths[s, k, m]), rate, exposures[e], counts[e], out[e])
