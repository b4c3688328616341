"""Set entries aside to score predictions on: uniformly, zeros as well as ones, missing entries never."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.relation import Relation
from acvb_core.data.relations.patterns import as_pattern
from acvb_core.errors import ParameterError

MAX_ENTRIES = 5_000_000  # the standard error of a mean score is far below any difference of interest by then


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Entries set aside, sorted by row, then column.

    Attributes
    ----------
    rows, columns : int32 arrays, shape (n,)
    values : bool array, shape (n,)
        True where the entry is a link.
    """

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of entries."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Split:
    """Data to fit, without what was set aside, and what was set aside to score on.

    Attributes
    ----------
    train : Relation or Table (the entries set aside are missing in it) or Corpus (it has fewer tokens)
    heldout : HeldOut, HeldOutCells or HeldOutWords
        Each has its size as `n`.
    note : str or None
        What to tell the user when less than asked was set aside.
    """

    train: Any
    heldout: Any
    note: str | None


def check_share(share: float, seed: int) -> None:
    """Refuse a share or a seed that no split can be drawn with.

    Raises
    ------
    ParameterError
        `share` is outside [0, 1), or `seed` is negative.
    """
    if not (math.isfinite(share) and 0 <= share < 1):
        raise ParameterError(f"The share held out must be at least 0 and below 1, not {share}.")
    if seed < 0:
        raise ParameterError(f"Seeds must be at least 0, not {seed}.")


def hold_out(relation: Relation, share: float, seed: int, *, max_entries: int = MAX_ENTRIES) -> Split:
    """Set a share of the observed entries aside, drawn uniformly without replacement.

    Time and memory grow with the ones, the missing entries and the entries drawn, not with the cells. A pair of an
    undirected network is held out once, as the entry above the diagonal, and is missing from both sides of it.

    Parameters
    ----------
    relation : Relation
    share : float
        Share of the observed entries, 0 <= share < 1; the number is rounded.
    seed : int
        The same seed gives the same entries.
    max_entries : int
        At most so many.

    Raises
    ------
    ParameterError
        `share` is outside [0, 1), or `seed` or `max_entries` is negative.
    """
    check_share(share, seed)
    if max_entries < 0:
        raise ParameterError(f"max_entries must be at least 0, not {max_entries}.")
    undirected = relation.network is not None and not relation.network.directed
    ones, missing = relation.ones, relation.missing
    if undirected:
        ones, missing = as_pattern(sparse.triu(ones)), as_pattern(sparse.triu(missing))
    starts = _row_starts(relation.shape, upper=undirected)
    n_observed = int(starts[-1]) - int(missing.nnz)
    wanted = round(share * n_observed)
    number = min(wanted, max_entries)
    note = None
    if number < wanted:
        note = f"Held out {number:,} entries, the most that are used, in place of {wanted:,}."
    elif share > 0 and number == 0:
        note = "The share is less than half an entry: nothing is held out."
    ranks = _distinct(n_observed, number, np.random.default_rng(seed))
    rows, columns = _cells(missing, starts, ranks)
    values = np.zeros(number, dtype=np.bool_)
    keep = np.ones(ones.nnz, dtype=np.bool_)
    _take(ones.indptr, ones.indices, rows, columns, values, keep)
    ones, missing = _kept(ones, keep), _joined(missing, rows, columns)
    if undirected:
        ones, missing = as_pattern(ones + ones.T), as_pattern(missing + missing.T)
    return Split(replace(relation, ones=ones, missing=missing), HeldOut(rows, columns, values), note)


def _row_starts(shape: tuple[int, int], *, upper: bool) -> NDArray[np.int64]:
    """Return where each row begins when the cells are counted row by row, shape (n_rows + 1,).

    `upper` counts the cells on and above the diagonal only.
    """
    n_rows, n_cols = shape
    lengths = n_cols - np.arange(n_rows, dtype=np.int64) if upper else np.full(n_rows, n_cols, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)])


def _distinct(population: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `number` distinct integers below `population`, sorted, every set of them equally likely."""
    if 2 * number > population:
        # Draw the smaller rest instead. The table has fewer than 2 * number places.
        chosen = np.ones(population, dtype=np.bool_)
        chosen[_distinct(population, population - number, rng)] = False
        return np.flatnonzero(chosen)
    # The first `number` distinct values of a uniform stream are a uniform subset.
    drawn = np.empty(0, dtype=np.int64)
    while True:
        lacking = number - len(drawn)
        if lacking == 0:
            return np.sort(drawn)
        more = np.concatenate([drawn, rng.integers(population, size=lacking + lacking // 8 + 16)])
        _, first = np.unique(more, return_index=True)
        drawn = more[np.sort(first)[:number]]


def _cells(
    missing: sparse.csr_array, starts: NDArray[np.int64], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return row and column of the observed entries with these ranks (row by row, missing ones passed over)."""
    n_cols = missing.shape[1]
    # Where a row is cut off on the left (the lower triangle), its last cell still is the last column's.
    shift = starts[1:] - n_cols
    holes = np.repeat(shift, np.diff(missing.indptr)) + missing.indices
    # Hole j has j holes before it, so it stands in front of the observed entry of rank holes[j] - j.
    cells = ranks + np.searchsorted(holes - np.arange(len(holes)), ranks, side="right")
    rows = np.searchsorted(starts, cells, side="right") - 1
    return rows.astype(np.int32), (cells - shift[rows]).astype(np.int32)


def _kept(pattern: sparse.csr_array, keep: NDArray[np.bool_]) -> sparse.csr_array:
    before = np.concatenate([[0], np.cumsum(keep)])
    pointers = before[pattern.indptr].astype(pattern.indptr.dtype)
    indices = pattern.indices[keep]
    return as_pattern(
        sparse.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=pattern.shape)
    )


def _joined(
    pattern: sparse.csr_array, rows: NDArray[np.int32], columns: NDArray[np.int32]
) -> sparse.csr_array:
    per_row = np.bincount(rows, minlength=pattern.shape[0])
    pointers = np.concatenate([[0], np.cumsum(per_row)]).astype(np.int32)
    added = sparse.csr_array((np.ones(len(rows), dtype=np.bool_), columns, pointers), shape=pattern.shape)
    return as_pattern(pattern + added)


@njit(nogil=True, cache=True)
def _take(indptr: Any, indices: Any, rows: Any, columns: Any, values: Any, keep: Any) -> None:
    """Look every cell up in its row (rows and columns are sorted); mark the ones that are taken away."""
    at = 0
    row = -1
    for i in range(rows.shape[0]):
        if rows[i] != row:
            row = rows[i]
            at = indptr[row]
        while at < indptr[row + 1] and indices[at] < columns[i]:
            at += 1
        if at < indptr[row + 1] and indices[at] == columns[i]:
            values[i] = True
            keep[at] = False
