"""Known labels and numbers compared with clusters: which cluster has more of a label than the others have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from acvb_core.core.errors import ParameterError
from acvb_core.evaluate.significance import adjust_holm

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Draws from the posterior of two shares for one interval of their difference.
_DRAWS = 4000


def over_representation(
    labels: ArrayLike, clusters: ArrayLike, *, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Test for each cluster and label whether the cluster has more or less of the label than the others.

    The test is Fisher's exact one, two-sided by doubling the smaller tail. With several samples of the clusters,
    counts and p are means over the samples, and the interval contains the differences between the samples too; a
    mean of p-values is a posterior predictive p-value (Meng, Annals of Statistics 22, 1994).

    Parameters
    ----------
    labels : sequence of str, shape (n,)
        An object with the label "" is left out.
    clusters : array of int, shape (n,) or (n_samples, n)
        The cluster of each object, in each sample if there are several (aligned: a number means the same cluster in
        all). An object below 0 is left out of that sample.
    level : float
        Of the intervals.
    seed : int
        Of the draws for the intervals.

    Returns
    -------
    DataFrame
        One line for each cluster and label: `cluster` (as given), `label`; `count` and `expected` (objects, if labels
        and clusters were independent), `ratio` of both; `share` of the label in the cluster, `others` in the other
        clusters, `difference`, and its interval from `low` to `high` (equal tails, Jeffreys prior); `p`, and `p_holm`,
        which is adjusted for all lines.
    """
    known = np.asarray(labels, dtype=object).astype(str)
    samples = _samples(clusters, len(known))[:, known != ""]
    names, codes = np.unique(known[known != ""], return_inverse=True)
    numbers = np.unique(samples[samples >= 0])
    counts = np.array([_cross_table(row, codes, numbers, len(names)) for row in samples], dtype=np.int64)
    return _compare_shares(counts, numbers, names, level, np.random.default_rng(seed))


def compare_numbers(values: ArrayLike, clusters: ArrayLike) -> pd.DataFrame:
    """Test for each cluster whether a number is larger or smaller in it than in the others.

    The test is the rank-sum test of Mann and Whitney (two-sided, corrected for ties). Over several samples of the
    clusters, all columns are means.

    Parameters
    ----------
    values : sequence of float, shape (n,)
        An object without a number (NaN) is left out.
    clusters : array of int, shape (n,) or (n_samples, n)
        As for `over_representation`.

    Returns
    -------
    DataFrame
        One line for each cluster: `cluster` (as given), `count` (objects), `median`, `others` (median of the other
        clusters), `p`, and `p_holm`, which is adjusted for all lines. NaN for a cluster with all objects, or without
        any.
    """
    import pandas as pd

    given = np.asarray(values, dtype=np.float64)
    samples = _samples(clusters, len(given))[:, np.isfinite(given)]
    known = given[np.isfinite(given)]
    numbers = np.unique(samples[samples >= 0])
    rows = []
    for number in numbers:
        found = [_compare_ranks(known[row == number], known[(row >= 0) & (row != number)]) for row in samples]
        rows.append(np.mean(found, axis=0))
    table = pd.DataFrame(np.reshape(rows, (-1, 4)), columns=["count", "median", "others", "p"])
    table.insert(0, "cluster", numbers)
    return table.assign(p_holm=adjust_holm(table["p"]))


def _samples(clusters: ArrayLike, n: int) -> Integers:
    samples = np.atleast_2d(np.asarray(clusters, dtype=np.int64))
    if samples.shape[1] != n or samples.ndim != 2:
        raise ParameterError(f"Clusters of {n:,} objects are needed, not of {samples.shape[-1]:,}.")
    return samples


def _cross_table(clusters: Integers, codes: Integers, numbers: Integers, n_labels: int) -> Integers:
    """Return how many objects of each cluster have each label, shape (n_clusters, n_labels)."""
    kept = clusters >= 0
    cells = np.searchsorted(numbers, clusters[kept]) * n_labels + codes[kept]
    return np.bincount(cells, minlength=len(numbers) * n_labels).reshape(len(numbers), n_labels)


def _compare_shares(
    counts: Integers, numbers: Integers, names: NDArray[Any], level: float, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the table of `over_representation` from counts of shape (n_samples, n_clusters, n_labels)."""
    import pandas as pd

    sizes, with_label = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    total = counts.sum(axis=(1, 2), keepdims=True)
    p = np.minimum(1.0, 2 * _smaller_tail(counts, total, with_label, sizes)).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (sizes * with_label / total).mean(axis=0)
        share, others = _mean_share(counts, sizes), _mean_share(with_label - counts, total - sizes)
        ratio = counts.mean(axis=0) / expected
    shape = counts.shape[1:]
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    at = np.resize(np.arange(len(counts)), max(_DRAWS, len(counts)))  # every sample as often
    for cluster, label in np.argwhere(np.isfinite(share - others)):
        inside, outside = counts[at, cluster, label], (with_label - counts)[at, cluster, label]
        n_inside, n_outside = sizes[at, cluster, 0], (total - sizes)[at, cluster, 0]
        drawn = rng.beta(inside + 0.5, n_inside - inside + 0.5)
        drawn -= rng.beta(outside + 0.5, n_outside - outside + 0.5)
        low[cluster, label], high[cluster, label] = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    columns = {
        "cluster": np.repeat(numbers, len(names)),
        "label": np.tile(names.astype(object), len(numbers)),
        "count": counts.mean(axis=0).ravel(),
        "expected": expected.ravel(),
        "ratio": ratio.ravel(),
        "share": share.ravel(),
        "others": others.ravel(),
        "difference": (share - others).ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "p": p.ravel(),
        "p_holm": adjust_holm(p.ravel()),
    }
    return pd.DataFrame(columns)


def _mean_share(counts: Integers, sizes: Integers) -> Floats:
    """Return the mean share over the samples with an object at all; NaN without any."""
    shares = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    return np.asarray(shares.sum(axis=0) / (sizes > 0).sum(axis=0), dtype=np.float64)


def _smaller_tail(count: Integers, total: Integers, with_label: Integers, size: Integers) -> Floats:
    """Return the smaller of the two tails of the hypergeometric distribution, the count itself in both."""
    # Samples differ in a few objects: the same four numbers return many times.
    cells = np.stack(np.broadcast_arrays(count, total, with_label, size)).reshape(4, -1)
    different, at = np.unique(cells, axis=1, return_inverse=True)
    law = stats.hypergeom(different[1], different[2], different[3])
    tail = np.minimum(law.cdf(different[0]), law.sf(different[0] - 1))
    return np.asarray(tail[at.ravel()].reshape(count.shape), dtype=np.float64)


def _compare_ranks(inside: Floats, outside: Floats) -> tuple[float, float, float, float]:
    if not len(inside) or not len(outside):
        return float(len(inside)), np.nan, np.nan, np.nan
    p = float(stats.mannwhitneyu(inside, outside, method="asymptotic").pvalue)
    return float(len(inside)), float(np.median(inside)), float(np.median(outside)), p
