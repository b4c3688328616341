"""What the numbers of a matrix in memory say: links, no links, missing entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from acvb_core.data.sources.objects import to_sparse
from acvb_core.data.sources.values import checked_threshold
from acvb_core.errors import DataError


def read_links(given: Any, threshold: float | None, name: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the patterns of the links and of the missing entries of a matrix, as `as_pattern` gives them.

    Entries that a sparse matrix stores twice are added up where there is a threshold; otherwise a link given twice
    is one link.

    Parameters
    ----------
    given : sparse or dense array, shape (n_rows, n_columns)
    threshold : float or None
        A value above it is a link. None: every value must be 0 or 1.
    name : str
        What the user calls the matrix.

    Returns
    -------
    links, missing : csr_array of bool, shape (n_rows, n_columns)
        Missing are entries that are NaN or masked.

    Raises
    ------
    DataError
        The matrix is broken, or holds a value that is not 0, 1 or NaN and there is no threshold for it.
    ParameterError
        The threshold is negative or not finite.
    """
    limit = None if threshold is None else checked_threshold(threshold)
    matrix = to_sparse(given, name)
    if matrix.dtype == np.bool_:
        return as_pattern(matrix), sparse.csr_array(matrix.shape, dtype=np.bool_)
    entries = sparse.coo_array(matrix)  # in this form SciPy has not added up repeated entries yet
    check_links(entries, limit, name)
    unknown = np.isnan(entries.data)
    links = _chosen(entries, ~unknown)
    if limit is not None:
        links.sum_duplicates()
        links.data = links.data > limit
    return as_pattern(links), as_pattern(_chosen(entries, unknown))


def check_links(entries: sparse.coo_array, threshold: float | None, name: str) -> None:
    """Raise DataError for a number that is infinite, or that is not 0, 1 or NaN and has no threshold."""
    numbers = entries.data
    fits = (numbers == 0) | (numbers == 1) if threshold is None else np.isfinite(numbers)
    fits |= np.isnan(numbers)
    if not fits.all():
        raise _bad_value(entries, int(fits.argmin()), name)


def read_marks(given: Any, name: str) -> sparse.csr_array:
    """Return the pattern of a matrix that marks missing entries.

    Raises
    ------
    DataError
        As `read_links`; or it holds NaN.
    """
    marks, holes = read_links(given, None, name)
    if holes.nnz:
        raise DataError(
            "the array that marks missing entries holds NaN",
            source=name,
            remedy="Give 1 (or True) for a missing entry and 0 for the others.",
        )
    return marks


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


def _chosen(entries: sparse.coo_array, which: Any) -> sparse.csr_array:
    where = entries.row[which], entries.col[which]
    return sparse.csr_array((entries.data[which], where), shape=entries.shape)


def _bad_value(entries: sparse.coo_array, at: int, name: str) -> DataError:
    where = f"row {int(entries.row[at]) + 1:,}, column {int(entries.col[at]) + 1:,}"
    value = entries.data[at]
    if np.isinf(value):
        what, remedy = "is infinite", "Give finite numbers, and NaN for missing entries."
    else:
        what = "is neither 0 (no link) nor 1 (link) nor NaN (missing)"
        remedy = "Say which values are links: with threshold=0 every value above 0 is one."
    return DataError(f"the value in {where} {what}", source=name, value=f"{value:g}", remedy=remedy)
