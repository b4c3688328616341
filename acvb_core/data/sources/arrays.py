"""Arrays and sparse matrices, in memory and in NumPy's files: their claims are checked first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.report import plural
from acvb_core.data.sources.frames import is_frame
from acvb_core.data.sources.source import ByteSource

#: Objects of a side that a matrix or a shape may claim without naming them: each costs about 100 bytes.
MAX_SIDE = 50_000_000
#: Cells of a dense table that a sparse matrix may claim whatever it stores; 8 bytes each.
MAX_DENSE_CELLS = 100_000_000
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


#: Arrays of a sparse file that say where its entries are.
_POSITIONS = {"indices", "indptr", "row", "col", "coords", "offsets", "shape"}
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
#: Arrays in one file at most: the cells, and what may stand beside them.
MAX_ARRAYS = 1_000
_SAVE_ARRAYS = (
    "Save real numbers with numpy.save or numpy.savez again; names and labels as texts (no objects)."
)
#: The last code of a letter; the first of those of half letters, and how many there are.
_LAST_LETTER, _HALVES, _N_HALVES = 0x10FFFF, 0xD800, 0x800


def load_npy(source: ByteSource) -> NDArray[Any]:
    """Return the array of an npy file; nothing in it is ever run (no pickle).

    A file that is damaged, holds objects, or claims more than it holds is a DataError.
    """
    with _report_unreadable(source, "the array", _SAVE_ARRAYS):
        stream = source.seekable()
        size = stream.seek(0, 2)
        stream.seek(0)
        _check_header(stream, size, source)
        stream.seek(0)
        return _read_array(stream)


def _read_array(stream: BinaryIO | Any) -> NDArray[Any]:
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    if array.dtype.kind == "U":
        # NumPy keeps whatever number stands for a letter, and Python fails at those that are none.
        codes = (
            np.ascontiguousarray(array).reshape(-1).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        )
        if ((codes > _LAST_LETTER) | (codes - _HALVES < _N_HALVES)).any():
            raise ValueError("it holds numbers that are no letters")
    return array


def load_npz(source: ByteSource) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file by name, as `load_npy` does; one that unpacks to too much is a DataError."""
    arrays = {}
    with _report_unreadable(source, "the array", _SAVE_ARRAYS):
        archive = source.archive()
        members = archive.infolist()
        if len(members) > MAX_ARRAYS:
            what = f"this .npz holds {len(members):,} arrays; at most {MAX_ARRAYS:,} are read"
            raise source.fault(what, "Save one array of cells, and beside it rows, columns and labels.")
        # The archive's own list of sizes is a limit: zipfile reads no more of a member than that.
        source.check_room(sum(member.file_size for member in members))
        for member in members:
            name = member.filename.removesuffix(".npy")
            with _report_unreadable(source, f"the array {name!r}", _SAVE_ARRAYS):
                with archive.open(member) as stream:
                    _check_header(stream, member.file_size, source)
                with archive.open(member) as stream:
                    arrays[name] = _read_array(stream)
    return arrays


def is_sparse(names: list[str]) -> bool:
    """Return whether an npz file with arrays of these names was written by `scipy.sparse.save_npz`."""
    return {"format.npy", "shape.npy", "data.npy"} <= set(names)


def load_sparse(source: ByteSource) -> Any:
    """Return the matrix of `scipy.sparse.save_npz`, in its own format and sound; otherwise a DataError."""
    arrays = load_npz(source)
    # Arrays that do not belong together make SciPy raise all sorts.
    with _report_unreadable(source, "the sparse matrix", "Save it with scipy.sparse.save_npz again."):
        kind = arrays["format"].item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
        if kind not in ("csr", "csc", "bsr", "coo", "dia"):
            raise ValueError(f"there is no sparse format {kind!r}")
        wrong = [name for name in _POSITIONS & set(arrays) if arrays[name].dtype.kind not in "iu"]
        if wrong:
            raise ValueError(f"{wrong[0]!r} must hold whole numbers")
        shape = tuple(arrays["shape"].tolist())
        if kind == "coo":
            where: Any = tuple(arrays["coords"]) if "coords" in arrays else (arrays["row"], arrays["col"])
        else:
            where = arrays["offsets"] if kind == "dia" else (arrays["indices"], arrays["indptr"])
        data = machine_numbers(arrays["data"])
        parts = (data, *where) if kind in ("csr", "csc", "bsr") else (data, where)
        matrix = getattr(sparse, f"{kind}_array")(parts, shape=shape)
        try:
            return check_sparse(matrix, source.name)
        except DataError as fault:
            raise ValueError(fault.what) from None


@contextmanager
def _report_unreadable(source: ByteSource, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever a damaged file makes NumPy, SciPy, zipfile and zlib raise into a DataError."""
    try:
        yield
    except DataError:
        raise
    except Exception as problem:
        why = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise source.fault(f"{what} cannot be read ({why})", remedy) from None


def _check_header(stream: BinaryIO | Any, size: int, source: ByteSource) -> None:
    """Refuse an array whose header claims more than the file holds, or holds neither numbers nor text."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"its header is of version {version}")
    shape, _, dtype = _HEADERS[version](stream)
    cells = math.prod(int(n) for n in shape)
    n_bytes = cells * dtype.itemsize
    if dtype.hasobject or dtype.kind not in "biufcSU" or (dtype.itemsize == 0 and cells):
        raise ValueError(f"its entries are of type {dtype}")
    if min(shape, default=0) < 0:
        raise ValueError(f"it claims the shape {shape}")
    if n_bytes > size - stream.tell():
        raise ValueError(f"it claims the shape {shape}, {n_bytes:,} bytes; the file holds {size:,}")
    if dtype.kind in "biufc":
        source.check_room(8 * cells)  # as the doubles that they become
