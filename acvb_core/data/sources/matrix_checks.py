"""Matrices from files and from memory: their structure and size are checked before anything relies on them.

SciPy trusts the indices of a sparse matrix: one that points outside makes compiled code write outside its memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.report import plural
from acvb_core.errors import DataError

#: Objects of a side that a matrix or a shape may claim without naming them: each costs about 100 bytes.
MAX_SIDE = 50_000_000
#: Cells of a dense table that a sparse matrix may claim whatever it stores; 8 bytes each.
MAX_DENSE_CELLS = 100_000_000
_BUILD_AGAIN = "Build the matrix again from correct indices."


def check_size(number: int, what: str, entries: int, place: dict[str, Any]) -> None:
    """Refuse a number of objects that a few entries claim: each costs memory, used or not."""
    if number > max(1_000_000, 100 * entries):
        raise DataError(
            f"this claims {number:,} {what} for {plural(entries, 'entry', 'entries')}",
            **place,
            remedy="Correct the number; leave out what never occurs.",
        )


def check_sparse(matrix: Any, name: str) -> Any:
    """Return a SciPy matrix whose structure is sound, in its own format.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array of any format
    name : str
        What the user calls it.

    Raises
    ------
    DataError
        It is not two-dimensional, its entries are no real numbers, its arrays do not fit together, or an index is
        outside the matrix.
    """
    if matrix.ndim != 2:
        raise _fault(f"the array has {matrix.ndim} dimensions", name, "Give a matrix of two dimensions.")
    if min(matrix.shape) < 0:
        raise _fault(f"the matrix has the shape {matrix.shape}", name)
    if matrix.format in ("lil", "dok"):
        matrix = _without_lists(matrix, name)
    if matrix.dtype.kind not in "biuf":
        remedy = "Give real numbers, whole numbers or a pattern of True and False."
        raise _fault(f"the entries are of type {matrix.dtype}", name, remedy)
    data = machine_numbers(matrix.data)
    if data is not matrix.data:
        matrix = matrix.copy()
        matrix.data = data
    if matrix.format in ("csr", "csc", "bsr"):
        return _check_compressed(matrix, name)
    if matrix.format == "dia":
        _check_diagonals(matrix, name)
    else:
        _check_coordinates(matrix, name)
    return matrix


def to_dense(matrix: Any, name: str) -> NDArray[Any]:
    """Return a SciPy matrix as a dense array; what it does not store is 0.

    Raises
    ------
    DataError
        As `check_sparse`; or it has far more cells than entries.
    """
    matrix = check_sparse(matrix, name)
    n_rows, n_columns = map(int, matrix.shape)
    stored = int(np.prod(matrix.data.shape))
    if n_rows * n_columns > max(MAX_DENSE_CELLS, 100 * stored):
        raise _fault(
            f"the sparse matrix is {n_rows:,} x {n_columns:,} with {plural(stored, 'entry', 'entries')}: "
            f"as a table it would need {8 * n_rows * n_columns:,} bytes",
            name,
            "Keep fewer rows and columns. A table holds every cell, zeros too.",
        )
    found: NDArray[Any] = matrix.toarray()
    return found


def to_sparse(given: Any, name: str) -> Any:
    """Return a matrix of any kind as a sound SciPy matrix of numbers; masked cells and None are NaN.

    Parameters
    ----------
    given : SciPy matrix, NumPy array, masked array, pandas frame or lists, shape (n_rows, n_columns)
    name : str
        What the user calls it.

    Raises
    ------
    DataError
        As `check_sparse`.
    """
    if sparse.issparse(given):
        matrix = check_sparse(given, name)
        if max(matrix.shape) > MAX_SIDE:
            raise _fault(
                f"the matrix is {_size(matrix)}", name, f"Each side may have {MAX_SIDE:,} objects at most."
            )
        return matrix
    array = to_array(given, name)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        remedy = "Give real numbers in two dimensions: rows and columns."
        raise _fault(f"the array has the shape {array.shape} and the type {array.dtype}", name, remedy)
    return sparse.csr_array(machine_numbers(array))


def machine_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in a type that SciPy computes with: in the machine's byte order, floats of 4 or 8 bytes."""
    odd = array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)
    with np.errstate(over="ignore"):  # what is infinite then, the readers find
        found: NDArray[Any] = array.astype(np.float64 if odd else array.dtype.newbyteorder("="), copy=False)
    return found


def to_array(given: Any, name: str) -> NDArray[Any]:
    """Return a dense array; masked cells, and None or NA among numbers, are NaN.

    Raises
    ------
    DataError
        Rows have different lengths.
    """
    if np.ma.isMaskedArray(given):
        masked = np.ma.getmaskarray(given)
        given = given.data
        if masked.any() and given.dtype.kind in "biufO":
            given = given.astype(np.float64 if given.dtype.kind != "O" else object)
            given[masked] = np.nan
    try:
        array = np.asarray(given)
    except ValueError:
        raise _fault("the rows have different lengths", name, "Give every row as many cells.") from None
    if array.dtype != object:
        return array
    import pandas as pd  # slow to import, and objects are rare

    try:
        if hasattr(given, "iloc"):  # a pandas frame, whose sign for missing NumPy does not know
            return np.asarray(given.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError):
        return array


def _without_lists(matrix: Any, name: str) -> Any:
    """Return a matrix that Python lists hold as one of arrays."""
    if matrix.format == "lil" and any(
        len(row) != len(values) for row, values in zip(matrix.rows, matrix.data, strict=False)
    ):
        raise _fault("a row has more indices than entries, or fewer", name)
    try:
        return matrix.tocsr() if matrix.format == "lil" else matrix.tocoo()
    except (ValueError, TypeError, IndexError, OverflowError) as problem:
        raise _fault(f"the sparse matrix is broken ({problem})", name) from None


def _check_compressed(matrix: Any, name: str) -> Any:
    pointers, indices, data = matrix.indptr, matrix.indices, matrix.data
    block = data.shape[1:] if matrix.format == "bsr" else (1, 1)
    if matrix.format == "bsr" and (
        len(block) != 2 or 0 in block or any(n % b for n, b in zip(matrix.shape, block, strict=True))
    ):
        raise _fault(f"blocks of {block} do not fill a matrix of {matrix.shape}", name)
    major, minor = matrix.shape[0] // block[0], matrix.shape[1] // block[1]
    side = "column"
    if matrix.format == "csc":
        major, minor, side = minor, major, "row"
    for what, array in (("pointers", pointers), ("indices", indices)):
        if array.ndim != 1 or array.dtype not in (np.int32, np.int64):
            raise _fault(f"the {what} are of type {array.dtype} and shape {array.shape}", name)
    if len(pointers) != major + 1:
        raise _fault(f"there are {len(pointers):,} pointers where {major + 1:,} are needed", name)
    if pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any():
        raise _fault("the pointers of the sparse matrix do not start at 0 or do not rise", name)
    stored = int(pointers[-1])
    if len(indices) < stored or len(data) < stored:
        raise _fault(
            f"the pointers promise {stored:,} entries; there are {len(indices):,} indices and {len(data):,} values",
            name,
        )
    _check_range(indices[:stored], minor, side, name)
    if max(len(indices), len(data)) > stored:  # room for more entries, which SciPy does not count
        matrix = matrix.copy()
        matrix.prune()
    return matrix


def _check_coordinates(matrix: Any, name: str) -> None:
    for indices, n, side in zip(matrix.coords, matrix.shape, ("row", "column"), strict=True):
        if indices.ndim != 1 or indices.dtype not in (np.int32, np.int64) or len(indices) != len(matrix.data):
            raise _fault(
                f"there are {len(matrix.data):,} values for {side} indices of shape {indices.shape} and type "
                f"{indices.dtype}",
                name,
            )
        _check_range(indices, n, side, name)


def _check_diagonals(matrix: Any, name: str) -> None:
    offsets = matrix.offsets
    if matrix.data.ndim != 2 or offsets.ndim != 1 or offsets.dtype not in (np.int32, np.int64):
        raise _fault("the diagonals are not stored row by row with one whole offset each", name)
    if not len(offsets) == len(np.unique(offsets)) == len(matrix.data):
        raise _fault(
            f"there are {len(np.unique(offsets)):,} different offsets for {len(matrix.data):,} diagonals",
            name,
        )
    outside = (offsets <= -matrix.shape[0]) | (offsets >= matrix.shape[1])
    if outside.any():
        at = int(offsets[outside.argmax()])
        raise _fault(f"a diagonal has the offset {at:,}, outside a matrix of {_size(matrix)}", name)


def _check_range(indices: NDArray[Any], n: int, side: str, name: str) -> None:
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= n):
        at = int(((indices < 0) | (indices >= n)).argmax())
        raise _fault(
            f"entry {at + 1:,} has the {side} index {int(indices[at]):,}; indices run from 0 to {n - 1:,}",
            name,
        )


def _size(matrix: Any) -> str:
    return f"{matrix.shape[0]:,} x {matrix.shape[1]:,}"


def _fault(what: str, name: str, remedy: str = _BUILD_AGAIN) -> DataError:
    return DataError(what, source=name, remedy=remedy)
