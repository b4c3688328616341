"""Predictions of counts: the probability that a pair is linked, and of its count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.core.special import OPTIONS, lgamma
from acvb_core.evaluate.heldout import LinkScore, score_links
from acvb_core.models.irm.gibbs import LABELS, RATES, STRENGTHS
from acvb_core.models.irm.hyper import Hyper
from acvb_core.models.irm.kernels import CountRelation, Floats
from acvb_core.models.irm.scores import one_clustering, sides

Places = NDArray[np.int64]
#: Responsibilities below this are left out of predictions.
_NEGLIGIBLE = 1e-9
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

    def predict(self, rows: NDArray[Any], columns: NDArray[Any], counts: Floats | None = None) -> Floats:
        """Return the probability of a link and of its count, and the expected count of pairs, shape (n, 3).

        `counts`: shape (n,); 0 unless given.
        """
        rows, columns = rows.astype(np.int64), columns.astype(np.int64)
        exposure = self.relation.row_activity[rows] * self.relation.column_activity[columns]
        counts = np.zeros(len(rows)) if counts is None else counts
        out = np.zeros((len(rows), 3))
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
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on."""
        n_columns = self.relation.shape[1] - first_column
        rows = np.repeat(np.arange(begin, end), n_columns)
        columns = np.tile(np.arange(first_column, first_column + n_columns), end - begin)
        return self.of(rows, columns).reshape(end - begin, n_columns)


def list_blocks(hyper: Hyper, ones: Floats, entries: Floats) -> tuple[Floats, Floats]:
    """Return the shape a + n and the rate b + e of each block's rate, shape (K1, K2) each."""
    shapes = hyper.a + np.maximum(ones, 0.0)
    return np.ascontiguousarray(shapes), np.ascontiguousarray(hyper.b + np.maximum(entries - ones, 0.0))


@nb.njit(**OPTIONS)
def _add_pair(weight: float, shape: float, rate: float, exposure: float, count: float, out: Floats) -> None:
    """Add the probabilities of the counts 0 and `count` in one block, and the expected count."""
    absent = np.exp(-shape * np.log1p(exposure / rate))
    out[0] += weight * absent
    out[2] += weight * exposure * shape / rate
    if count > 0.0:
        log_count = lgamma(shape + count) - lgamma(shape) - lgamma(count + 1.0)
        absent *= np.exp(log_count + count * np.log(exposure / (rate + exposure)))
    out[1] += weight * absent


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
    for e in range(rows.shape[0]):
        i, j = rows[e], columns[e]
        for k in range(shapes.shape[0]):
            if row_shares[i, k] < _NEGLIGIBLE:
                continue
            if is_network and i == j:  # an object is in one cluster
                _add_pair(row_shares[i, k], shapes[k, k], rates[k, k], exposures[e], counts[e], out[e])
                continue
            for m in range(shapes.shape[1]):
                weight = row_shares[i, k] * column_shares[j, m]
                if weight >= _NEGLIGIBLE:
                    _add_pair(weight, shapes[k, m], rates[k, m], exposures[e], counts[e], out[e])


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
