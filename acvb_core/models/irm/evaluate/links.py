"""Single pairs that stand out: unlinked or unknown ones that are probably links, and links hardly to be expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Posterior
from acvb_core.data.relation import Relation
from acvb_core.evaluate.products import pair_products
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.irm.evaluate.sampled import SampledPairs, count_samples
from acvb_core.models.irm.evaluate.sides import is_mirrored, links_of, one_clustering, sides, without_diagonal

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Among = Literal["missing", "unlinked"]

_CELLS_AT_ONCE = 4_000_000  # probabilities held at a time: 32 MB
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
    heldout: HeldOut | None = None,
    averaged: bool = True,
) -> pd.DataFrame:
    """Return the pairs without an observed link that are most likely to be links.

    Time for `among="unlinked"` grows with the cells, times the samples; memory never does.

    `strengths`: shape (K, L); posterior mean of every block's link probability.
    `n`: at most so many pairs; of equally likely ones those that come first, by row, then column.
    `among`: pairs of which nothing is known, or pairs known to be unlinked. A diagonal that does not count is neither.
    `heldout`: pairs to leave out: they are missing from what a run learns from, but not from the data.
    `averaged`: take the mean of what the samples of the posterior predict, where it has some, in place of the clusters'
      prediction.
    Returns one line a pair, the most likely first; of an undirected network the entry on or above the diagonal:
      row, column (names); row_cluster, column_cluster (the most probable ones, from 1); probability, which by the
      clusters is sum_kl q_ik q_jl strength_kl, of a self-link under one clustering sum_k q_ik strength_kk;
      block_probability (strength of the block of these two clusters); row_links, column_links (of the two objects: out
      and in, for a directed network).
    Raises ParameterError: `n` is negative, or `among` is neither.
    """
    if n < 0:
        raise ParameterError(f"The number of pairs must be at least 0, not {n}.")
    predicted = _PairProbabilities(relation, posterior, strengths, averaged)
    if among == "missing":
        rows, columns = _missing(relation)
        rows, columns = _leave_out(relation, rows, columns, heldout)
        return predicted.table(*_top(predicted.of(rows, columns), rows, columns, n))
    if among == "unlinked":
        return predicted.table(*_top_unlinked(predicted, n, heldout))
    raise ParameterError(f"Likely links can be searched among 'missing' or 'unlinked' pairs, not {among!r}.")


def surprising_links(
    relation: Relation,
    posterior: Posterior,
    strengths: Floats,
    n: int = 20,
    *,
    heldout: HeldOut | None = None,
    averaged: bool = True,
) -> pd.DataFrame:
    """Return the observed links of least predicted probability, the least probable first.

    Parameters and columns are those of `likely_links`; a link whose `probability` is far below the
    `block_probability` belongs to an object between two clusters.
    """
    if n < 0:
        raise ParameterError(f"The number of pairs must be at least 0, not {n}.")
    predicted = _PairProbabilities(relation, posterior, strengths, averaged)
    rows, columns = links_of(relation)
    rows, columns = _leave_out(relation, rows, columns, heldout)
    value, rows, columns = _top(-predicted.of(rows, columns), rows, columns, n)
    return predicted.table(-value, rows, columns)


class _PairProbabilities:
    """The predicted probability of any pair of a relation."""

    def __init__(self, relation: Relation, posterior: Posterior, strengths: Floats, averaged: bool) -> None:
        first, second = sides(posterior)
        self.relation = relation
        self.strengths = np.asarray(strengths, dtype=np.float64)
        self.rows = np.asarray(posterior[first], dtype=np.float64)
        self.columns = np.asarray(posterior[second], dtype=np.float64)
        expected = (self.rows.shape[1], self.columns.shape[1])
        if self.strengths.shape != expected:
            raise ParameterError(
                f"The strengths are {self.strengths.shape}, but there are {expected[0]} x {expected[1]} blocks."
            )
        has_samples = averaged and count_samples(posterior) > 0
        self.sampled = SampledPairs.of_posterior(posterior) if has_samples else None
        self.left = self.rows @ self.strengths
        # An object is in one cluster, so a self-link is in a block of the diagonal.
        self.own = self.rows @ np.diagonal(self.strengths) if one_clustering(posterior) else None

    def of(self, rows: Places, columns: Places) -> Floats:
        """Return the probability of single pairs, shape (n,)."""
        if self.sampled is not None:
            return _clip(self.sampled.of(rows, columns))
        probability = pair_products(self.left, self.columns, rows, columns)
        if self.own is not None:
            selves = rows == columns
            probability[selves] = self.own[rows[selves]]
        return _clip(probability)

    def band(self, begin: int, end: int, first_column: int) -> Floats:
        """Return the probabilities of rows begin … end - 1 with the columns from `first_column` on."""
        if self.sampled is not None:
            return _clip(self.sampled.band(begin, end, first_column))
        probability = self.left[begin:end] @ self.columns[first_column:].T
        if self.own is not None:
            at = np.arange(begin, end)
            probability[at - begin, at - first_column] = self.own[begin:end]
        return _clip(probability)

    def table(self, probability: Floats, rows: Places, columns: Places) -> pd.DataFrame:
        """Return one line for each of some pairs."""
        import pandas as pd

        relation = self.relation
        row_cluster = self.rows.argmax(axis=1)[rows]
        column_cluster = self.columns.argmax(axis=1)[columns]
        row_links = np.diff(relation.ones.indptr)
        column_links = np.bincount(relation.ones.indices, minlength=relation.shape[1])
        return pd.DataFrame(
            {
                "row": relation.row_labels[rows],
                "column": relation.column_labels[columns],
                "row_cluster": row_cluster + 1,
                "column_cluster": column_cluster + 1,
                "probability": probability,
                "block_probability": self.strengths[row_cluster, column_cluster],
                "row_links": row_links[rows].astype(np.int64),
                "column_links": column_links[columns].astype(np.int64),
            }
        )


def _clip(probability: Floats) -> Floats:
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


def _codes(relation: Relation, rows: NDArray[Any], columns: NDArray[Any]) -> Places:
    return rows.astype(np.int64) * relation.shape[1] + columns


def _heldout_codes(relation: Relation, heldout: HeldOut) -> Places:
    rows, columns = heldout.rows, heldout.columns
    if is_mirrored(relation):
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    return np.sort(_codes(relation, rows, columns))


def _leave_out(
    relation: Relation, rows: Places, columns: Places, heldout: HeldOut | None
) -> tuple[Places, Places]:
    """Return the pairs that are not held out."""
    if heldout is None:
        return rows, columns
    seen = ~np.isin(_codes(relation, rows, columns), _heldout_codes(relation, heldout))
    return rows[seen], columns[seen]


def _top_unlinked(
    predicted: _PairProbabilities, n: int, heldout: HeldOut | None
) -> tuple[Floats, Places, Places]:
    """Return probability, row and column of the n most likely among the observed zeros."""
    relation = predicted.relation
    n_rows, n_columns = relation.shape
    upper = is_mirrored(relation)
    held = np.empty(0, dtype=np.int64) if heldout is None else _heldout_codes(relation, heldout)
    best = (np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    begin = 0
    while begin < n_rows and n:
        first = begin if upper else 0
        end = min(begin + max(1, _CELLS_AT_ONCE // (n_columns - first)), n_rows)
        band = predicted.band(begin, end, first)
        _strike_out(band, relation, held, begin, end, first, upper)
        # Later pairs lose against equally likely ones that came before.
        least = best[0].min() + _TIE if len(best[0]) == n else 0.0
        flat = np.flatnonzero(band > least)
        value = band.ravel()[flat]
        chosen = _best(value, n)
        flat, value = flat[chosen], value[chosen]
        rows, columns = flat // band.shape[1] + begin, flat % band.shape[1] + first
        best = _top(
            np.concatenate([best[0], value]),
            np.concatenate([best[1], rows]),
            np.concatenate([best[2], columns]),
            n,
        )
        begin = end
    return best


def _strike_out(
    band: Floats, relation: Relation, held: Places, begin: int, end: int, first: int, upper: bool
) -> None:
    """Set to -1 what is no observed zero, in place."""
    for pattern in (relation.ones, relation.missing):
        low, high = pattern.indptr[begin], pattern.indptr[end]
        rows = np.repeat(np.arange(end - begin), np.diff(pattern.indptr[begin : end + 1]))
        columns = pattern.indices[low:high].astype(np.int64) - first
        inside = columns >= 0
        band[rows[inside], columns[inside]] = -1.0
    low, high = np.searchsorted(held, [begin * relation.shape[1], end * relation.shape[1]])
    band[held[low:high] // relation.shape[1] - begin, held[low:high] % relation.shape[1] - first] = -1.0
    if upper:
        band[np.tril_indices(end - begin, -1)] = -1.0


def _best(value: Floats, n: int) -> Places:
    """Return the places of the n largest values in ascending order; of equal ones the first."""
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
