"""Set cells of a table aside to score predictions on: uniformly among those that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.report import plural
from acvb_core.data.split import MAX_ENTRIES, Split, check_share
from acvb_core.data.table import Table, same_valued
from acvb_core.errors import ParameterError

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HeldOutCells:
    """Cells set aside, sorted by row, then column.

    Attributes
    ----------
    rows, columns : int32 arrays, shape (n,)
    values : float64 array, shape (n,)
        In the user's units.
    """

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Number of cells."""
        return len(self.values)


def hold_out_cells(table: Table, share: float, seed: int, *, max_entries: int = MAX_ENTRIES) -> Split:
    """Set a share of the known cells aside, drawn uniformly without replacement.

    A column that is left without two different values gets as few of its cells back, drawn uniformly, as it takes
    to have two.

    Parameters
    ----------
    table : Table
    share : float
        Share of the known cells, 0 <= share < 1; the number is rounded.
    seed : int
        The same seed gives the same cells.
    max_entries : int
        At most so many.

    Returns
    -------
    Split
        `train` is the Table with these cells missing (the table itself where nothing is set aside), `heldout` the
        HeldOutCells.

    Raises
    ------
    ParameterError
        `share` is outside [0, 1), or `seed` or `max_entries` is negative.
    """
    check_share(share, seed)
    if max_entries < 0:
        raise ParameterError(f"max_entries must be at least 0, not {max_entries}.")
    wanted = round(share * table.n_observed)
    number = min(wanted, max_entries)
    if number == 0:
        return Split(table, _taken(table, np.zeros(table.shape, dtype=np.bool_)), _note(share, wanted, 0, 0))
    rng = np.random.default_rng(seed)
    chosen = np.zeros(table.n_observed, dtype=np.bool_)
    chosen[rng.choice(table.n_observed, number, replace=False, shuffle=False)] = True
    held = np.zeros(table.shape, dtype=np.bool_)
    held[table.observed] = chosen
    train = table.values.copy()
    train[held] = np.nan
    returned = _give_back(table, train, held, rng)
    return Split(table.with_values(train), _taken(table, held), _note(share, wanted, number, returned))


def _taken(table: Table, held: Mask) -> HeldOutCells:
    rows, columns = np.nonzero(held)
    return HeldOutCells(rows.astype(np.int32), columns.astype(np.int32), table.values[rows, columns])


def _give_back(table: Table, train: NDArray[np.float64], held: Mask, rng: np.random.Generator) -> int:
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


def _note(share: float, wanted: int, number: int, returned: int) -> str | None:
    if not share:
        return None
    if not wanted:
        return "The share is less than half a cell: nothing is held out."
    parts = []
    if number < wanted:
        parts.append(f"Held out {number:,} cells, the most that are used, in place of {wanted:,}.")
    if returned:
        were = "was" if returned == 1 else "were"
        parts.append(
            f"{plural(returned, 'cell')} {were} given back, so that every column keeps two different values."
        )
    return " ".join(parts) or None
