"""Patterns (bool CSR arrays) of numbers in memory, and of pairs that a file streams past."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.sources.objects import to_sparse
from acvb_core.data.sources.values import checked_threshold

Codes = NDArray[np.int32]

# Pairs in one block. Blocks of 64 MB are mapped by themselves (no allocator keeps them once they are let go), and
# the part that is not written to yet takes no memory.
_BLOCK = 1 << 23


def as_pattern(array: Any) -> sparse.csr_array:
    """Return the non-zero pattern as a canonical bool CSR array with int32 indices where they fit."""
    matrix = sparse.csr_array(array)
    if matrix.dtype != np.bool_:
        matrix = matrix.astype(np.bool_)
    if matrix.nnz and not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    # SciPy wants both index arrays of one type; the kernels are compiled for int32 first.
    index_type = np.int32 if max(*matrix.shape, matrix.nnz) < 2**31 else np.int64
    matrix.indices = matrix.indices.astype(index_type, copy=False)
    matrix.indptr = matrix.indptr.astype(index_type, copy=False)
    return matrix


def intersect(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """Return the entries that are in both of two patterns."""
    return as_pattern(a.multiply(b)) if a.nnz and b.nnz else sparse.csr_array(a.shape, dtype=np.bool_)


def subtract(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """Return the entries of one pattern that are not in another."""
    shared = intersect(a, b)
    return as_pattern(a.astype(np.int8) - shared.astype(np.int8)) if shared.nnz else a


def read_links(given: Any, threshold: float | None, name: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the patterns of the links and of the missing entries (NaN or masked) of a matrix in memory.

    A value above the threshold is a link; without one, every value must be 0 or 1. Entries that a sparse matrix
    stores twice are added up where there is a threshold; otherwise a link given twice is one link.
    """
    limit = None if threshold is None else checked_threshold(threshold)
    matrix = to_sparse(given, name)
    if matrix.dtype == np.bool_:
        return as_pattern(matrix), sparse.csr_array(matrix.shape, dtype=np.bool_)
    entries = sparse.coo_array(matrix)  # in this form SciPy has not added up repeated entries yet
    check_links(entries, limit, name)
    unknown = np.isnan(entries.data)
    links = _choose_entries(entries, ~unknown)
    if limit is not None:
        links.sum_duplicates()
        links.data = links.data > limit
    return as_pattern(links), as_pattern(_choose_entries(entries, unknown))


def check_links(entries: sparse.coo_array, threshold: float | None, name: str) -> None:
    """Raise DataError for a number that is infinite, or that is not 0, 1 or NaN and has no threshold."""
    numbers = entries.data
    fits = (numbers == 0) | (numbers == 1) if threshold is None else np.isfinite(numbers)
    fits |= np.isnan(numbers)
    if fits.all():
        return
    at = int(fits.argmin())
    what = "is neither 0 (no link) nor 1 (link) nor NaN (missing)"
    remedy = "Say which values are links: with threshold=0 every value above 0 is one."
    if np.isinf(numbers[at]):
        what, remedy = "is infinite", "Give finite numbers, and NaN for missing entries."
    where = f"row {int(entries.row[at]) + 1:,}, column {int(entries.col[at]) + 1:,}"
    raise DataError(f"the value in {where} {what}", source=name, value=f"{numbers[at]:g}", remedy=remedy)


def _choose_entries(entries: sparse.coo_array, which: Any) -> sparse.csr_array:
    where = entries.row[which], entries.col[which]
    return sparse.csr_array((entries.data[which], where), shape=entries.shape)


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
            room = self._blocks[-1][:, self._filled : self._filled + count]
            room[0] = rows[start : start + count]
            room[1] = columns[start : start + count]
            self._filled += count
            self.n += count
            start += count

    def to_csr(self, row_map: Codes, column_map: Codes, shape: tuple[int, int]) -> sparse.csr_array:
        """Return the distinct pairs as a canonical bool CSR array, and forget the list.

        `row_map` and `column_map` hold the final index of each code. Two counting sorts, by column and then by row,
        leave every row sorted without a comparison. The peak is 12 bytes a pair: the blocks are let go one by one as
        the first sort copies them.
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
