"""Arrays, sparse matrices and data frames in memory: their claims are checked first.

SciPy trusts the indices of a sparse matrix: one that points outside makes compiled code write outside its memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import plural
from acvb_core.data.sources.frames import Frame

#: Objects of a side that a matrix or a shape may claim without naming them: each costs about 100 bytes.
MAX_SIDE = 50_000_000
#: Cells of a dense table that a sparse matrix may claim whatever it stores; 8 bytes each.
MAX_DENSE_CELLS = 100_000_000
_PROTOCOLS = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
#: What the graphs of each library have; the library need not be imported to say so.
_GRAPHS = {
    "networkx": ("is_directed", "is_multigraph", "nodes", "edges", "adj"),
    "igraph": ("is_directed", "vcount", "vs", "es"),
    "graph-tool": ("is_directed", "num_vertices", "vertex_properties", "edge_properties"),
}


def check_size(
    number: int, what: str, entries: int, place: dict[str, Any], *, allowed: int = 1_000_000
) -> None:
    """Refuse a number of objects that a few entries claim: each costs memory, used or not.

    As many as `allowed` need no entries.
    """
    if number > max(allowed, 100 * entries):
        raise DataError(
            f"this claims {number:,} {what} for {plural(entries, 'entry', 'entries')}",
            **place,
            remedy="Correct the number; leave out what never occurs.",
        )


def check_sparse(matrix: Any, name: str) -> Any:
    """Return a SciPy matrix of any format, in its own one, whose structure is sound: DataError says what is not."""
    remedy = "Build the matrix again from correct indices."
    try:
        if matrix.ndim != 2:
            remedy = "Give a matrix of two dimensions."
            raise ValueError(f"the array has {matrix.ndim} dimensions")
        if min(matrix.shape) < 0:
            raise ValueError(f"the matrix has the shape {matrix.shape}")
        if matrix.format in ("lil", "dok"):
            matrix = _without_lists(matrix)
        if matrix.dtype.kind not in "biuf":
            remedy = "Give real numbers, whole numbers or a pattern of True and False."
            raise ValueError(f"the entries are of type {matrix.dtype}")
        data = machine_numbers(matrix.data)
        if data is not matrix.data:
            matrix = matrix.copy()
            matrix.data = data
        if matrix.format in ("csr", "csc", "bsr"):
            return _check_compressed(matrix)
        if matrix.format == "dia":
            _check_diagonals(matrix)
        else:
            _check_coordinates(matrix)
        return matrix
    except ValueError as problem:
        raise DataError(str(problem), source=name, remedy=remedy) from None


def to_dense(matrix: Any, name: str) -> NDArray[Any]:
    """Return a SciPy matrix as a dense array; one that has far more cells than entries is a DataError."""
    matrix = check_sparse(matrix, name)
    n_rows, n_columns = map(int, matrix.shape)
    stored = int(np.prod(matrix.data.shape))
    if n_rows * n_columns > max(MAX_DENSE_CELLS, 100 * stored):
        raise DataError(
            f"the sparse matrix is {n_rows:,} x {n_columns:,} with {plural(stored, 'entry', 'entries')}: "
            f"as a table it would need {8 * n_rows * n_columns:,} bytes",
            source=name,
            remedy="Keep fewer rows and columns. A table holds every cell, zeros too.",
        )
    dense: NDArray[Any] = matrix.toarray()
    return dense


def to_sparse(given: Any, name: str) -> Any:
    """Return a matrix of SciPy, NumPy, pandas or lists as a sound SciPy matrix of numbers; masked and None are NaN."""
    if sparse.issparse(given):
        matrix = check_sparse(given, name)
        if max(matrix.shape) > MAX_SIDE:
            remedy = f"Each side may have {MAX_SIDE:,} objects at most."
            raise DataError(f"the matrix is {_size(matrix)}", source=name, remedy=remedy)
        return matrix
    array = to_array(given, name)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        what = f"the array has the shape {array.shape} and the type {array.dtype}"
        remedy = "Give real numbers in two dimensions: rows and columns."
        raise DataError(what, source=name, remedy=remedy)
    return sparse.csr_array(machine_numbers(array))


def machine_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in a type that SciPy computes with: in the machine's byte order, floats of 4 or 8 bytes."""
    odd = array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)
    with np.errstate(over="ignore"):  # what is infinite then, the readers find
        found: NDArray[Any] = array.astype(np.float64 if odd else array.dtype.newbyteorder("="), copy=False)
    return found


def to_array(given: Any, name: str) -> NDArray[Any]:
    """Return a dense array; masked cells, and None or NA among numbers, are NaN."""
    if np.ma.isMaskedArray(given):
        masked = np.ma.getmaskarray(given)
        given = given.data
        if masked.any() and given.dtype.kind in "biufO":
            given = given.astype(np.float64 if given.dtype.kind != "O" else object)
            given[masked] = np.nan
    try:
        array = np.asarray(given)
    except ValueError:
        raise DataError(
            "the rows have different lengths", source=name, remedy="Give every row as many cells."
        ) from None
    if array.dtype != object:
        return array
    import pandas as pd  # slow to import, and objects are rare

    try:
        if hasattr(given, "iloc"):  # a pandas frame, whose sign for missing NumPy does not know
            return np.asarray(given.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError):
        return array


def _without_lists(matrix: Any) -> Any:
    """Return a matrix that Python lists hold as one of arrays."""
    if matrix.format == "lil" and any(
        len(row) != len(values) for row, values in zip(matrix.rows, matrix.data, strict=False)
    ):
        raise ValueError("a row has more indices than entries, or fewer")
    try:
        return matrix.tocsr() if matrix.format == "lil" else matrix.tocoo()
    except (ValueError, TypeError, IndexError, OverflowError) as problem:
        raise ValueError(f"the sparse matrix is broken ({problem})") from None


def _check_compressed(matrix: Any) -> Any:
    pointers, indices, data = matrix.indptr, matrix.indices, matrix.data
    block = data.shape[1:] if matrix.format == "bsr" else (1, 1)
    if len(block) != 2 or 0 in block or any(n % b for n, b in zip(matrix.shape, block, strict=True)):
        raise ValueError(f"blocks of {block} do not fill a matrix of {matrix.shape}")
    major, minor = matrix.shape[0] // block[0], matrix.shape[1] // block[1]
    side = "column"
    if matrix.format == "csc":
        major, minor, side = minor, major, "row"
    for what, array in (("pointers", pointers), ("indices", indices)):
        if not _are_positions(array):
            raise ValueError(f"the {what} are of type {array.dtype} and shape {array.shape}")
    if len(pointers) != major + 1:
        raise ValueError(f"there are {len(pointers):,} pointers where {major + 1:,} are needed")
    if pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any():
        raise ValueError("the pointers of the sparse matrix do not start at 0 or do not rise")
    stored = int(pointers[-1])
    if len(indices) < stored or len(data) < stored:
        there = f"there are {len(indices):,} indices and {len(data):,} values"
        raise ValueError(f"the pointers promise {stored:,} entries; {there}")
    _check_range(indices[:stored], minor, side)
    if max(len(indices), len(data)) > stored:  # room for more entries, which SciPy does not count
        matrix = matrix.copy()
        matrix.prune()
    return matrix


def _check_coordinates(matrix: Any) -> None:
    for indices, n, side in zip(matrix.coords, matrix.shape, ("row", "column"), strict=True):
        if not _are_positions(indices) or len(indices) != len(matrix.data):
            kind = f"of shape {indices.shape} and type {indices.dtype}"
            raise ValueError(f"there are {len(matrix.data):,} values for {side} indices {kind}")
        _check_range(indices, n, side)


def _check_diagonals(matrix: Any) -> None:
    offsets = matrix.offsets
    if matrix.data.ndim != 2 or not _are_positions(offsets):
        raise ValueError("the diagonals are not stored row by row with one whole offset each")
    different = len(np.unique(offsets))
    if not len(offsets) == different == len(matrix.data):
        raise ValueError(f"there are {different:,} different offsets for {len(matrix.data):,} diagonals")
    outside = (offsets <= -matrix.shape[0]) | (offsets >= matrix.shape[1])
    if outside.any():
        at = int(offsets[outside.argmax()])
        raise ValueError(f"a diagonal has the offset {at:,}, outside a matrix of {_size(matrix)}")


def _are_positions(array: NDArray[Any]) -> bool:
    return array.ndim == 1 and array.dtype in (np.int32, np.int64)


def _check_range(indices: NDArray[Any], n: int, side: str) -> None:
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= n):
        at = int(((indices < 0) | (indices >= n)).argmax())
        index = f"the {side} index {int(indices[at]):,}"
        raise ValueError(f"entry {at + 1:,} has {index}; indices run from 0 to {n - 1:,}")


def _size(matrix: Any) -> str:
    return f"{matrix.shape[0]:,} x {matrix.shape[1]:,}"


def is_frame(source: Any) -> bool:
    """Return whether an object holds named columns: a frame of pandas, polars, pyarrow, duckdb or another library."""
    if isinstance(source, type):
        return False
    if type(source).__module__.startswith("polars") and not hasattr(source, "columns"):
        return False  # a series
    named = hasattr(source, "columns") or hasattr(source, "schema")  # as a reader of record batches
    return named and any(hasattr(source, name) for name in _PROTOCOLS)


def graph_library(source: Any) -> str | None:
    """Return the library that a graph in memory is of: networkx, igraph or graph-tool; None for anything else."""
    if isinstance(source, type) or is_frame(source):
        return None
    return next((name for name, parts in _GRAPHS.items() if all(hasattr(source, p) for p in parts)), None)


def refuse_graph(source: Any, wanted: str) -> None:
    """Raise ParameterError for a graph in memory where other data are wanted: "texts", say."""
    library = graph_library(source)
    if library is not None:
        raise ParameterError(
            f"A graph ({library}) holds nodes and links, and no {wanted}. Read it with load_relation."
        )


def open_object(source: Any) -> Frame:
    """Return the columns of a data frame; one without rows or columns is a DataError.

    A pandas index becomes the first column where it has a name, is not made of whole numbers, or is the same as the
    names of the columns; otherwise it is only a numbering.
    """
    import pyarrow as pa

    has_index = False
    kind = type(source).__module__.split(".")[0]
    try:
        if kind == "pandas":
            table, has_index = _of_pandas(source)
        elif hasattr(source, "__arrow_c_stream__"):
            table = pa.table(source)
        elif hasattr(source, "__arrow_c_array__"):
            table = pa.Table.from_batches([pa.record_batch(source)])
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(source)
    except (pa.ArrowException, NotImplementedError, TypeError, ValueError) as problem:
        raise DataError(
            f"the columns of this {kind} object cannot be read ({problem})",
            source="the data frame",
            remedy="Give columns of numbers, texts, dates or true / false.",
        ) from None
    if not table.num_rows or not table.num_columns:
        raise DataError(
            f"the data frame has {table.num_rows:,} rows and {table.num_columns:,} columns",
            source="the data frame",
            remedy="Give at least one row and one column.",
        )

    return Frame(
        "frame",
        f"a {kind} data frame",
        tuple(table.column_names),
        True,
        lambda: iter(table.to_batches()),
        n_rows=table.num_rows,
        has_index=has_index,
    )


def _of_pandas(frame: Any) -> tuple[Any, bool]:
    """Return an Arrow table of a pandas frame, and whether its first column is the index."""
    import pandas as pd
    import pyarrow as pa

    index = frame.index
    numbering = isinstance(index, pd.RangeIndex) or pd.api.types.is_integer_dtype(index.dtype)
    kept = index.nlevels > 1 or index.name is not None or not numbering or index.equals(frame.columns)
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    arrays = [_array_of(column) for column in columns]
    if kept:
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        arrays = [_array_of(level.to_series()) for level in levels] + arrays
        names = ["" if name is None else str(name) for name in index.names] + names
    return pa.Table.from_arrays(arrays, names=names), kept and index.nlevels == 1


def _array_of(column: Any) -> Any:
    """Return a pandas series as an Arrow array; one of mixed objects, of periods or of intervals as texts."""
    import pandas as pd
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(column)
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if not (pa.types.is_struct(kind) or isinstance(kind, pa.BaseExtensionType)):
            return array
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    missing = pd.isna(column)
    return pa.array([None if blank else str(value) for value, blank in zip(column, missing, strict=True)])
