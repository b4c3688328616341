"""Set entries of a relation or cells of a table aside to score predictions on: uniformly, missing ones never."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.data.relation import Relation, as_pattern
from acvb_core.data.report import plural
from acvb_core.data.table import Table, same_valued

MAX_ENTRIES = 5_000_000  # the standard error of a mean score is far below any difference of interest by then


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Entries of a relation or cells of a table set aside, sorted by row, then column; each array has shape (n,)."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[
        Any
    ]  # of a relation bool: whether there is a link; of a table float64, in the user's units

    @property
    def n(self) -> int:
        """Number of entries."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Split:
    """Data to fit, without what was set aside, and what was set aside to score on."""

    train: Any  # a Relation or Table (the entries set aside are missing) or a Corpus (with fewer tokens)
    heldout: Any  # a HeldOut or HeldOutWords; each has its size as `n`
    note: str | None  # what to tell the user when less than asked was set aside


def check_share(share: float, seed: int) -> None:
    """Refuse a share outside [0, 1) and a negative seed with a ParameterError."""
    if not (math.isfinite(share) and 0 <= share < 1):
        raise ParameterError(f"The share held out must be at least 0 and below 1, not {share}.")
    if seed < 0:
        raise ParameterError(f"Seeds must be at least 0, not {seed}.")


def hold_out(relation: Relation, share: float, seed: int, *, max_entries: int = MAX_ENTRIES) -> Split:
    """Set a share of the observed entries aside, zeros as well as ones, drawn uniformly without replacement.

    Time and memory grow with the ones, the missing entries and the entries drawn, not with the cells. A pair of an
    undirected network is held out once, as the entry above the diagonal, and is missing from both sides of it.

    `share` is of the observed entries, 0 <= share < 1; the number is rounded and at most `max_entries`. The same seed
    gives the same entries. A ParameterError refuses a share outside that, and a negative seed or number.
    """
    undirected = relation.network is not None and not relation.network.directed
    ones, missing = relation.ones, relation.missing
    if undirected:
        ones, missing = as_pattern(sparse.triu(ones)), as_pattern(sparse.triu(missing))
    starts = _row_starts(relation.shape, upper=undirected)
    n_observed = int(starts[-1]) - int(missing.nnz)
    number, note = _number_to_hold_out(n_observed, share, seed, max_entries, ("an entry", "entries"))
    ranks = _draw_distinct(n_observed, number, np.random.default_rng(seed))
    rows, columns = _find_cells(missing, starts, ranks)
    # Each entry taken carries its number from 1, so that those that are links are found by number.
    taken = sparse.csr_array((np.arange(1, number + 1), (rows, columns)), shape=relation.shape)
    values = np.zeros(number, dtype=np.bool_)
    values[taken.multiply(ones).data - 1] = True
    pattern = as_pattern(taken)
    ones, missing = as_pattern(ones > pattern), as_pattern(missing + pattern)
    if undirected:
        ones, missing = as_pattern(ones + ones.T), as_pattern(missing + missing.T)
    return Split(replace(relation, ones=ones, missing=missing), HeldOut(rows, columns, values), note)


def hold_out_cells(table: Table, share: float, seed: int, *, max_entries: int = MAX_ENTRIES) -> Split:
    """Set a share of the known cells of a table aside; parameters and errors are those of `hold_out`.

    A column that is left without two different values gets as few of its cells back, drawn uniformly, as it takes
    to have two. Where nothing is set aside, `train` is the table itself.
    """
    number, note = _number_to_hold_out(table.n_observed, share, seed, max_entries, ("a cell", "cells"))
    held = np.zeros(table.shape, dtype=np.bool_)
    train = table
    if number:
        rng = np.random.default_rng(seed)
        chosen = rng.choice(table.n_observed, number, replace=False, shuffle=False)
        held.flat[np.flatnonzero(table.observed)[chosen]] = True
        values = np.where(held, np.nan, table.values)
        returned = _give_back(table, values, held, rng)
        if returned:
            were = f"{plural(returned, 'cell was', 'cells were')} given back"
            note = " ".join(filter(None, (note, f"{were}, so that every column keeps two different values.")))
        train = table.with_values(values)
    rows, columns = np.nonzero(held)
    heldout = HeldOut(rows.astype(np.int32), columns.astype(np.int32), table.values[held])
    return Split(train, heldout, note)


def _number_to_hold_out(
    n: int, share: float, seed: int, most: int, what: tuple[str, str]
) -> tuple[int, str | None]:
    """Return how many of `n` entries are held out, and a note if fewer than asked."""
    check_share(share, seed)
    if most < 0:
        raise ParameterError(f"max_entries must be at least 0, not {most}.")
    one, many = what
    wanted = round(share * n)
    if wanted > most:
        return most, f"Held out {most:,} {many}, the most that are used, in place of {wanted:,}."
    if share and not wanted:
        return 0, f"The share is less than half {one}: nothing is held out."
    return wanted, None


def _row_starts(shape: tuple[int, int], *, upper: bool) -> NDArray[np.int64]:
    """Return where each row begins when the cells are counted row by row, shape (n_rows + 1,).

    `upper` counts the cells on and above the diagonal only.
    """
    n_rows, n_cols = shape
    lengths = n_cols - np.arange(n_rows, dtype=np.int64) if upper else np.full(n_rows, n_cols, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)])


def _draw_distinct(population: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `number` distinct integers below `population`, sorted, every set of them equally likely."""
    if 2 * number > population:
        # Draw the smaller rest instead. The table has fewer than 2 * number places.
        chosen = np.ones(population, dtype=np.bool_)
        chosen[_draw_distinct(population, population - number, rng)] = False
        return np.flatnonzero(chosen)
    # The first `number` distinct values of a uniform stream are a uniform subset.
    drawn = np.empty(0, dtype=np.int64)
    while lacking := number - len(drawn):
        more = np.concatenate([drawn, rng.integers(population, size=lacking + lacking // 8 + 16)])
        _, first = np.unique(more, return_index=True)
        drawn = more[np.sort(first)[:number]]
    return np.sort(drawn)


def _find_cells(
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


def _give_back(table: Table, train: NDArray[np.float64], held: NDArray[Any], rng: np.random.Generator) -> int:
    """Give columns cells back until each has two different values; return how many."""
    returned = 0
    for column in np.flatnonzero(same_valued(train)):
        while same_valued(train[:, [column]])[0]:
            left = train[~np.isnan(train[:, column]), column]
            given = table.values[:, column]
            useful = held[:, column] & (given != left[0] if len(left) else True)
            row = rng.choice(np.flatnonzero(useful))
            train[row, column] = given[row]
            held[row, column] = False
            returned += 1
    return returned
