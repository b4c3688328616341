"""Lists of (row, column) codes that grow while a file streams past, and their linear-time turn into CSR."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

Codes = NDArray[np.int32]


# Pairs in one block. Blocks of 64 MB are mapped by themselves (no allocator keeps them once they are let go), and
# the part that is not written to yet takes no memory.
_BLOCK = 1 << 23


class Pairs:
    """A growing list of pairs: 8 bytes each, in large blocks."""

    def __init__(self) -> None:
        self._blocks: list[Codes] = []
        self._filled = _BLOCK  # in the last block
        self.n = 0

    def add(self, rows: Codes, columns: Codes) -> None:
        """Append pairs; both arrays have shape (n,) and are copied."""
        start = 0
        while start < len(rows):
            if self._filled == _BLOCK:
                self._blocks.append(np.empty((2, _BLOCK), dtype=np.int32))
                self._filled = 0
            count = min(len(rows) - start, _BLOCK - self._filled)
            block = self._blocks[-1]
            block[0, self._filled : self._filled + count] = rows[start : start + count]
            block[1, self._filled : self._filled + count] = columns[start : start + count]
            self._filled += count
            self.n += count
            start += count

    def to_csr(self, row_map: Codes, column_map: Codes, shape: tuple[int, int]) -> sparse.csr_array:
        """Return the distinct pairs as a canonical bool CSR array, and forget the list.

        Two counting sorts, by column and then by row, leave every row sorted without a comparison. The peak
        is 12 bytes a pair: the blocks are let go one by one as the first sort copies them.

        Parameters
        ----------
        row_map, column_map : int32 arrays
            The final index of each row code and each column code.
        shape : (n_rows, n_columns)
        """
        n_rows, n_columns = shape
        column_starts = np.zeros(n_columns + 1, dtype=np.int64)
        row_starts = np.zeros(n_rows + 1, dtype=np.int64)
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][:, : self._filled]
        for rows, columns in self._blocks:
            _count(columns, column_map, column_starts)
            _count(rows, row_map, row_starts)
        np.cumsum(column_starts, out=column_starts)
        np.cumsum(row_starts, out=row_starts)
        by_column = np.empty(self.n, dtype=np.int32)
        heads = column_starts[:-1].copy()
        while self._blocks:
            rows, columns = self._blocks.pop()
            _scatter(rows, columns, row_map, column_map, heads, by_column)
            del rows, columns  # or the block would live until the next one replaces it
        self.n, self._filled = 0, _BLOCK
        indices = np.empty(len(by_column), dtype=np.int32)
        _transpose(column_starts, by_column, row_starts[:-1].copy(), indices)
        del by_column
        n_distinct = _drop_repeats(row_starts, indices)
        # Giving the tail back in place keeps the peak down; no other array looks at this memory.
        indices.resize(n_distinct, refcheck=False)
        pointers = row_starts.astype(np.int32 if n_distinct < 2**31 else np.int64)
        matrix = sparse.csr_array((np.ones(n_distinct, dtype=np.bool_), indices, pointers), shape=shape)
        matrix.has_canonical_format = True
        return matrix


class NumberedPairs:
    """Pairs with a number each, for values that only count when they are added up."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Codes, Codes, NDArray[np.float64]]] = []

    def add(self, rows: Codes, columns: Codes, numbers: NDArray[np.float64]) -> None:
        """Append pairs; all arrays have shape (n,)."""
        if len(rows):
            self._pieces.append((rows, columns, numbers))

    def above(self, threshold: float, row_map: Codes, column_map: Codes, shape: tuple[int, int]) -> Found:
        """Return the pairs whose numbers add up to more than `threshold`."""
        if not self._pieces:
            empty = np.empty(0, dtype=np.int32)
            return Found(empty, empty)
        rows, columns, numbers = (np.concatenate(part) for part in zip(*self._pieces, strict=True))
        total = sparse.coo_array((numbers, (row_map[rows], column_map[columns])), shape=shape)
        total.sum_duplicates()
        over = total.data > threshold
        return Found(total.row[over].astype(np.int32), total.col[over].astype(np.int32))


class Found(NamedTuple):
    """Some pairs: int32 arrays of shape (n,)."""

    rows: Codes
    columns: Codes


@njit(nogil=True, cache=True)
def _count(codes: Any, final: Any, starts: Any) -> None:
    for code in codes:
        starts[final[code] + 1] += 1


@njit(nogil=True, cache=True)
def _scatter(rows: Any, columns: Any, row_map: Any, column_map: Any, heads: Any, by_column: Any) -> None:
    for p in range(rows.shape[0]):
        column = column_map[columns[p]]
        by_column[heads[column]] = row_map[rows[p]]
        heads[column] += 1


@njit(nogil=True, cache=True)
def _transpose(column_starts: Any, by_column: Any, heads: Any, indices: Any) -> None:
    for column in range(column_starts.shape[0] - 1):
        for p in range(column_starts[column], column_starts[column + 1]):
            row = by_column[p]
            indices[heads[row]] = column
            heads[row] += 1


@njit(nogil=True, cache=True)
def _drop_repeats(starts: Any, indices: Any) -> Any:
    """Close the gaps that repeated columns leave in each sorted row, in place; return what is left."""
    written = 0
    begin = starts[0]
    for row in range(starts.shape[0] - 1):
        end = starts[row + 1]
        starts[row] = written
        previous = -1
        for p in range(begin, end):
            column = indices[p]
            if column != previous:
                indices[written] = column
                written += 1
                previous = column
        begin = end
    starts[starts.shape[0] - 1] = written
    return written
