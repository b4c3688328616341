"""NumPy's files (npy, npz) and SciPy's sparse ones: what they claim is checked before it is read."""

from __future__ import annotations

import math
import zipfile
from typing import Any, BinaryIO

from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.matrix_checks import check_sparse, machine_numbers
from acvb_core.errors import DataError

#: Arrays of a sparse file that say where its entries are.
_POSITIONS = {"indices", "indptr", "row", "col", "coords", "offsets", "shape"}
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def load_npy(source: ByteSource) -> NDArray[Any]:
    """Return the array of an npy file; nothing in it is ever run (no pickle).

    Raises
    ------
    DataError
        The file is damaged, holds objects, or claims more than it holds.
    """
    try:
        stream = source.seekable()
        stream.seek(0, 2)
        size = stream.tell()
        stream.seek(0)
        _check_header(stream, size, source, "the array")
        stream.seek(0)
        found: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
        return found
    except DataError:
        raise
    except Exception as problem:  # a damaged file makes NumPy raise all sorts
        raise _unreadable(source.name, problem) from None


def load_npz(source: ByteSource) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file by name; nothing in it is ever run (no pickle).

    Raises
    ------
    DataError
        As `load_npy`; or the archive unpacks to more than there is room for.
    """
    try:
        with zipfile.ZipFile(source.seekable()) as archive:
            members = archive.infolist()
            # The archive's own list of sizes is a limit: zipfile reads no more of a member than that.
            source.check_room(sum(member.file_size for member in members))
            arrays = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as stream:
                    _check_header(stream, member.file_size, source, f"the array {name!r}")
                with archive.open(member) as stream:
                    arrays[name] = npy.read_array(stream, allow_pickle=False)
            return arrays
    except DataError:
        raise
    except Exception as problem:  # a damaged archive makes zipfile, zlib and NumPy raise all sorts
        raise _unreadable(source.name, problem) from None


def is_sparse(names: list[str]) -> bool:
    """Whether an npz file with arrays of these names was written by `scipy.sparse.save_npz`."""
    return {"format.npy", "shape.npy", "data.npy"} <= set(names)


def load_sparse(source: ByteSource) -> Any:
    """Return the matrix of `scipy.sparse.save_npz`, in its own format and sound.

    Raises
    ------
    DataError
        As `load_npz` and `check_sparse`.
    """
    arrays = load_npz(source)
    try:
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
        matrix = check_sparse(getattr(sparse, f"{kind}_array")(parts, shape=shape), source.name)
    except Exception as problem:  # arrays that do not belong together make SciPy raise all sorts
        why = problem.what if isinstance(problem, DataError) else _text(problem)
        raise DataError(
            f"the sparse matrix cannot be read ({why})",
            source=source.name,
            remedy="Save it with scipy.sparse.save_npz again.",
        ) from None
    return matrix


def _check_header(stream: BinaryIO | Any, size: int, source: ByteSource, what: str) -> None:
    """Refuse an array whose header claims more than the file holds, or holds neither numbers nor text."""
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise _refused(f"{what} cannot be read (its header is of version {version})", source.name)
    shape, _, dtype = _HEADERS[version](stream)
    cells = math.prod(int(n) for n in shape)
    if dtype.hasobject or dtype.kind not in "biufcSU" or (dtype.itemsize == 0 and cells):
        raise _refused(f"{what} cannot be read (its entries are of type {dtype})", source.name)
    if min(shape, default=0) < 0:
        raise _refused(f"{what} cannot be read (it claims the shape {shape})", source.name)
    if cells * dtype.itemsize > size - stream.tell():
        claim = f"the shape {shape}, {cells * dtype.itemsize:,} bytes"
        raise _refused(f"{what} cannot be read (it claims {claim}; the file holds {size:,})", source.name)
    if dtype.kind in "biufc":
        source.check_room(8 * cells)  # as the doubles that they become


def _refused(what: str, name: str) -> DataError:
    return DataError(
        what,
        source=name,
        remedy="Save real numbers with numpy.save or numpy.savez again; names and labels as texts (no objects).",
    )


def _unreadable(name: str, problem: Exception) -> DataError:
    return _refused(f"the array cannot be read ({_text(problem)})", name)


def _text(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]
