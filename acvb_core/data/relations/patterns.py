"""Patterns (bool CSR arrays) of numbers in memory, and of pairs that a file streams past."""

from __future__ import annotations

from typing import Any

import numpy as np
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

        `row_map` and `column_map` hold the final index of each code. Each block is sorted, added and let go
        by itself, so that the whole list and the whole array never stand in memory together.
        """
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][:, : self._filled]
        matrix = sparse.csr_array(shape, dtype=np.bool_)
        while self._blocks:
            block = self._blocks.pop()
            for codes, final in zip(block, (row_map, column_map), strict=True):
                np.take(final, codes, out=codes, mode="clip")  # in place, for which NumPy wants a mode
            links = np.ones(block.shape[1], dtype=np.bool_)
            matrix = matrix + sparse.coo_array((links, tuple(block)), shape=shape).tocsr()
            del block, codes  # or it would live until the next one replaces it
        self.n, self._filled = 0, _BLOCK
        return as_pattern(matrix)
