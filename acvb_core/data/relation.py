"""The validated relation between two sets of objects: which pairs are linked, which are unknown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.data.names import unique_names
from acvb_core.errors import DataError


@dataclass(frozen=True, eq=False)
class Relation:
    """Binary relation between row objects and column objects.

    An entry is 1 (stored in `ones`), missing (stored in `missing`) or 0 (stored nowhere).

    Attributes
    ----------
    ones, missing : csr_array of bool, shape (n_rows, n_cols)
        Sparse patterns: sorted int32 indices, no duplicates, disjoint. Every stored value is True.
    row_labels, column_labels : ndarray of str (object dtype), shapes (n_rows,), (n_cols,)
        Unique names of the objects.
    name : str
        What the user calls the relation.
    row_kind, column_kind : str
        What a row and a column are ("person", "event"), used as axis titles.
    """

    ones: sparse.csr_array
    missing: sparse.csr_array
    row_labels: NDArray[Any]
    column_labels: NDArray[Any]
    name: str = "relation"
    row_kind: str = "row"
    column_kind: str = "column"

    @classmethod
    def build(
        cls,
        ones: Any,
        missing: Any = None,
        *,
        row_labels: ArrayLike | None = None,
        column_labels: ArrayLike | None = None,
        name: str = "relation",
        row_kind: str = "row",
        column_kind: str = "column",
    ) -> Relation:
        """Validate and normalise a relation.

        Parameters
        ----------
        ones : sparse or dense array, shape (n_rows, n_cols)
            Non-zero entries are links.
        missing : sparse or dense array of the same shape, optional
            Non-zero entries are unknown.
        row_labels, column_labels : sequences of str, optional
            Default: "0", "1", …

        Raises
        ------
        DataError
            Shapes disagree, an entry is both 1 and missing, a label is repeated, or a side is empty.
        """
        links = as_pattern(ones)
        unknown = as_pattern(sparse.csr_array(links.shape, dtype=np.bool_) if missing is None else missing)
        if links.shape != unknown.shape:
            raise DataError(
                f"the ones are {links.shape[0]:,} x {links.shape[1]:,} but the missing entries "
                f"{unknown.shape[0]:,} x {unknown.shape[1]:,}",
                source=name,
                remedy="Give both the same shape.",
            )
        if min(links.shape) == 0:
            raise DataError(
                f"the relation is {links.shape[0]:,} x {links.shape[1]:,}",
                source=name,
                remedy="Give at least one row object and one column object.",
            )
        overlap = links.multiply(unknown).nnz if links.nnz and unknown.nnz else 0
        if overlap:
            raise DataError(
                f"{overlap:,} entries are both 1 and missing",
                source=name,
                remedy="Remove them from one of the two.",
            )
        return cls(
            links,
            unknown,
            unique_names(row_labels, links.shape[0], "row", name),
            unique_names(column_labels, links.shape[1], "column", name),
            name,
            row_kind,
            column_kind,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row objects and of column objects."""
        rows, columns = self.ones.shape
        return int(rows), int(columns)

    @property
    def n_ones(self) -> int:
        """Number of links."""
        return int(self.ones.nnz)

    @property
    def n_missing(self) -> int:
        """Number of unknown entries."""
        return int(self.missing.nnz)

    @property
    def n_observed(self) -> int:
        """Number of entries that are known to be 0 or 1."""
        return self.shape[0] * self.shape[1] - self.n_missing

    @property
    def density(self) -> float:
        """Share of ones among the observed entries (0 when nothing is observed)."""
        return self.n_ones / self.n_observed if self.n_observed else 0.0

    @property
    def size_text(self) -> str:
        """Size in words: objects of both sides, links."""
        return f"{self.shape[0]:,} × {self.shape[1]:,} · {self.n_ones:,} links"

    def identity(self) -> dict[str, Any]:
        """Return name, size and fingerprint as plain values: what tells these data from others."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "ones": self.n_ones,
            "missing": self.n_missing,
            "fingerprint": self.fingerprint,
        }

    @cached_property
    def transposed(self) -> Relation:
        """The same relation with the two sides swapped."""
        turned = replace(
            self,
            ones=as_pattern(self.ones.T),
            missing=as_pattern(self.missing.T),
            row_labels=self.column_labels,
            column_labels=self.row_labels,
            row_kind=self.column_kind,
            column_kind=self.row_kind,
        )
        turned.__dict__["transposed"] = self
        return turned

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the shape, the ones and the missing entries: equal data, equal fingerprint."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for pattern in (self.ones, self.missing):
            digest.update(pattern.indptr.astype("<i8").tobytes())
            digest.update(pattern.indices.astype("<i4", copy=False).tobytes())
        return digest.hexdigest()


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
