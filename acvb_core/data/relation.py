"""The validated relation between two sets of objects, or within one: which pairs are linked, which are unknown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError
from acvb_core.data.names import mend_text, text_array, text_of, unique_names
from acvb_core.data.sources.arrays import to_sparse
from acvb_core.data.sources.values import checked_threshold

Codes = NDArray[np.int32]
#: Pairs that are made a matrix at a time.
_BLOCK = 1 << 20


def as_pattern(array: Any) -> sparse.csr_array:
    """Return the non-zero pattern as a canonical bool CSR array with int32 indices if they fit."""
    matrix = sparse.csr_array(array)
    return canonical(matrix if matrix.dtype == np.bool_ else matrix.astype(np.bool_))


def canonical(array: Any) -> sparse.csr_array:
    """Return a CSR array with sorted indices, of int32 if they fit, and without stored zeros or duplicates."""
    matrix = sparse.csr_array(array)
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


def add_directions(links: sparse.csr_array) -> sparse.csr_array:
    """Return the links of an undirected network, both ways round, from those of one direction or of both.

    The weight of a pair is the sum of both directions, or that of either if all weights are the same both ways.
    """
    turned = canonical(links.T)
    if links.dtype == np.bool_:
        return as_pattern(links + turned)
    if links.nnz == turned.nnz and not (links != turned).nnz:
        return links
    return canonical(links + sparse.triu(turned, 1) + sparse.tril(turned, -1))


def split_weights(links: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.float64] | None]:
    """Return the pattern of links and their weights, None if each is 1."""
    return as_pattern(links), None if (links.data == 1).all() else links.data


def read_links(
    given: Any, threshold: float | None, name: str
) -> tuple[sparse.csr_array, sparse.csr_array, int]:
    """Return the links and the missing entries (NaN or masked) of a matrix in memory, and how many are negative.

    A value above the threshold is a link, and its weight; without one, every value must be 0 or 1. Entries that a
    sparse matrix stores twice are added up if there is a threshold; otherwise a link given twice is one link.
    """
    limit = None if threshold is None else checked_threshold(threshold)
    matrix = to_sparse(given, name)
    if matrix.dtype == np.bool_:
        return as_pattern(matrix), sparse.csr_array(matrix.shape, dtype=np.bool_), 0
    entries = sparse.coo_array(matrix)  # in this form SciPy has not added up repeated entries yet
    check_links(entries, limit, name)
    # Small whole numbers could overflow when they are added up.
    numbers = entries.data if limit is None else entries.data.astype(np.float64, copy=False)
    unknown = np.isnan(numbers)
    links, missing = (
        sparse.csr_array((numbers[kind], (entries.row[kind], entries.col[kind])), shape=entries.shape)
        for kind in (~unknown if unknown.any() else slice(None), unknown)
    )
    if limit is None:
        return as_pattern(links), as_pattern(missing), 0
    negative = int((links.data < 0).sum())
    links.data[links.data <= limit] = 0.0
    links = canonical(links)
    return links if (links.data != 1).any() else as_pattern(links), as_pattern(missing), negative


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


class Pairs:
    """A growing list of pairs: 8 bytes each, and 8 more for numbers other than 1."""

    def __init__(self) -> None:
        self._parts: list[tuple[Codes, NDArray[np.float64] | None]] = []
        self.n = 0

    def add(self, rows: Codes, columns: Codes, numbers: NDArray[np.float64] | None = None) -> None:
        """Append pairs, each with a number above 0 (default: 1); the arrays have shape (n,), codes are copied."""
        given = None if numbers is None or (numbers == 1).all() else numbers
        self._parts.append((np.array([rows, columns], dtype=np.int32), given))
        self.n += len(rows)

    def to_csr(self, row_map: Codes, column_map: Codes, shape: tuple[int, int]) -> sparse.csr_array:
        """Return the distinct pairs as a canonical CSR array, and forget the list.

        The array is of bool if all numbers are 1; otherwise it holds the sum of each pair's numbers, as float64.
        `row_map` and `column_map` hold the final index of each code. Parts are sorted, added and let go block by block,
        so that the whole list and the whole array are never in memory together.
        """
        kind = np.bool_ if all(numbers is None for _, numbers in self._parts) else np.float64
        matrix = sparse.csr_array(shape, dtype=kind)
        while self._parts:
            parts, values, n = [], [], 0
            while self._parts and n < _BLOCK:
                pairs, numbers = self._parts.pop()
                parts.append(pairs)
                values.append(np.ones(pairs.shape[1], dtype=kind) if numbers is None else numbers)
                n += pairs.shape[1]
            rows, columns = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
            place = row_map[rows], column_map[columns]
            matrix = matrix + sparse.coo_array((np.concatenate(values), place), shape=shape).tocsr()
        self.n = 0
        return canonical(matrix)


@dataclass(frozen=True)
class Network:
    """Kind of network that a relation is whose two sides are the same objects.

    Attributes
    ----------
    directed : bool
        Whether i to j and j to i are different links.
    self_links : bool
        Whether links of an object to itself count; if not, the diagonal is missing.
    """

    directed: bool = True
    self_links: bool = False

    @property
    def text(self) -> str:
        """The kind in words."""
        kind = "directed" if self.directed else "undirected"
        return f"{kind}, self-links count" if self.self_links else kind


@dataclass(frozen=True, eq=False)
class Relation:
    """Binary relation between row objects and column objects.

    An entry is 1 (stored in `ones`), missing (stored in `missing`) or 0 (stored nowhere). Where both sides are
    the same objects (`network`), the entries of an undirected network are stored both ways round, and the
    diagonal is missing unless self-links count.

    Attributes
    ----------
    ones, missing : csr_array of bool, shape (n_rows, n_cols)
        Sparse patterns: sorted int32 indices, no duplicates, disjoint. Every stored value is True.
    row_labels, column_labels : ndarray of str (object dtype), shapes (n_rows,), (n_cols,)
        Unique names of the objects.
    name : str
        The user's name of the relation.
    row_kind, column_kind : str
        Kinds of a row and of a column ("person", "event"), used as axis titles.
    network : Network or None
        The kind of network; None if the two sides are two sets of objects.
    attributes : mapping of str to ndarray of str (object dtype), shape (n_rows,)
        Known labels of the row objects, by name ("department"): to compare clusters with, never used
        by the inference. "" if nothing is known of an object.
    column_attributes : mapping of str to ndarray of str (object dtype), shape (n_cols,)
        The same of the column objects; of a network empty (`attributes_of`).
    id_names : (str, str)
        The attributes that are the ids of rows, and of columns, if these are named by something else (`with_names`).
    numbered : (bool, bool)
        Whether an object in memory gave the ids of rows, and of columns, as whole numbers: results then do, too.
    weights : ndarray of float, shape (n_ones,), or None
        The value of each link, above 0, in the order of `ones.indices`; None if every link counts as 1.
    negative : int
        How many values below 0 the data had: they count as no link.
    """

    ones: sparse.csr_array
    missing: sparse.csr_array
    row_labels: NDArray[Any]
    column_labels: NDArray[Any]
    name: str = "relation"
    row_kind: str = "row"
    column_kind: str = "column"
    network: Network | None = None
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    numbered: tuple[bool, bool] = (False, False)
    weights: NDArray[np.float64] | None = None
    negative: int = 0
    column_attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    id_names: tuple[str, str] = ("", "")

    @classmethod
    def build(
        cls,
        ones: Any,
        missing: Any = None,
        *,
        threshold: float | None = None,
        row_labels: ArrayLike | None = None,
        column_labels: ArrayLike | None = None,
        name: str = "relation",
        row_kind: str = "row",
        column_kind: str = "column",
        network: Network | None = None,
        attributes: Mapping[str, ArrayLike] | None = None,
    ) -> Relation:
        """Validate and normalise a relation.

        Parameters
        ----------
        ones : sparse or dense array or data frame, shape (n_rows, n_cols)
            1 is a link, 0 is none, NaN is missing, and so is a masked entry. Other values need a threshold.
        missing : sparse or dense array of the same shape, optional
            1 is a missing entry, 0 is none.
        threshold : float, optional
            A value of `ones` above it is a link, and its weight; never negative, as what a sparse matrix does not
            store is 0.
        row_labels, column_labels : sequences of str, optional
            Default: those of a data frame, else "0", "1", …
        network : Network, optional
            Both sides are the same objects. Of an undirected network either triangle will do, or both: the weights
            of the two are added up unless they are all the same. The diagonal of a network whose self-links do not
            count is made missing.
        attributes : mapping of str to sequence of str, optional
            One label for each row object.

        Raises
        ------
        DataError
            Shapes disagree, a value needs a threshold, a sparse matrix is broken, an entry is both 1 and missing, a
            label is repeated, or a side is empty; a network is not square, has other labels for its columns than for
            its rows, or self-links that do not count.
        ParameterError
            The threshold is negative or not finite.

        Examples
        --------
        >>> ratings = [[5, 0, 2], [float("nan"), 4, 0]]
        >>> Relation.build(ratings, threshold=3).size_text
        '2 × 3 · 2 links'
        """
        links, unknown, negative = read_links(ones, threshold, name)
        if hasattr(ones, "iloc") and getattr(ones, "ndim", 0) == 2:  # a frame of pandas
            row_labels = list(map(text_of, ones.index)) if row_labels is None else row_labels
            column_labels = list(map(text_of, ones.columns)) if column_labels is None else column_labels
        if missing is not None:
            unknown = _add_marks(unknown, missing, name)
        if min(links.shape) == 0:
            what = f"the relation is {_size(links)}"
            raise DataError(what, source=name, remedy="Give at least one row object and one column object.")
        if network is not None:
            links, unknown = _as_network(links, unknown, network, name)
            column_labels = _same_labels(row_labels, column_labels, name)
            column_kind = row_kind
        overlap = links.multiply(unknown).nnz if links.nnz and unknown.nnz else 0
        if overlap:
            what = f"{overlap:,} entries are both 1 and missing"
            raise DataError(what, source=name, remedy="Remove them from one of the two.")
        rows = unique_names(row_labels, links.shape[0], "row", name)
        columns = unique_names(column_labels, links.shape[1], "column", name)
        known = check_attributes(attributes or {}, links.shape[0], name)
        texts = mend_text(name), mend_text(row_kind), mend_text(column_kind)
        pattern, weights = split_weights(links)
        if weights is not None and not np.isfinite(weights).all():
            what = "the values of a pair add up to more than any number"
            raise DataError(what, source=name, remedy="Give smaller values.")
        return cls(
            pattern, unknown, rows, columns, *texts, network, known, weights=weights, negative=negative
        )

    @property
    def ids(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The labels of rows and of columns, as int64 if they were given as whole numbers."""
        labels = self.row_labels, self.column_labels
        rows, columns = (
            names.astype(np.int64) if whole else names
            for names, whole in zip(labels, self.numbered, strict=True)
        )
        return rows, columns

    def attributes_of(self, domain: str) -> Mapping[str, NDArray[Any]]:
        """Return the known labels of the objects of a domain, "rows" or "cols"; of a network those of its nodes."""
        is_column = domain == "cols" and self.network is None
        return self.column_attributes if is_column else self.attributes

    def labels_of(self, domain: str) -> dict[str, NDArray[Any]]:
        """Return the attributes of a domain that clusters can be compared with: without ids, which may be numbers."""
        ids = self.id_names[domain == "cols"]
        return {name: values for name, values in self.attributes_of(domain).items() if name != ids}

    @property
    def links(self) -> sparse.csr_array:
        """The links with their weights as values, as float64; `ones` itself if every link counts as 1."""
        if self.weights is None:
            return self.ones
        return sparse.csr_array((self.weights, self.ones.indices, self.ones.indptr), shape=self.shape)

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
    def n_links(self) -> int:
        """Number of links, those of an undirected network counted once."""
        return self._each_once(self.n_ones, int(self.ones.diagonal().sum()))

    @property
    def n_known(self) -> int:
        """Number of entries known to be 0 or 1, pairs of an undirected network counted once."""
        own = 0 if self.network is None else self.shape[0] - int(self.missing.diagonal().sum())
        return self._each_once(self.n_observed, own)

    @property
    def n_unknown(self) -> int:
        """Number of unknown entries that count, pairs of an undirected network once."""
        if self.network is None:
            return self.n_missing
        own = int(self.missing.diagonal().sum())
        return self._each_once(self.n_missing, own) - (0 if self.network.self_links else own)

    def _each_once(self, n_entries: int, n_on_diagonal: int) -> int:
        """Return how many of an undirected network's entries are on or above the diagonal; otherwise all of them."""
        if self.network is None or self.network.directed:
            return n_entries
        return (n_entries + n_on_diagonal) // 2

    @property
    def density(self) -> float:
        """Share of ones among the observed entries (0 when nothing is observed)."""
        return self.n_ones / self.n_observed if self.n_observed else 0.0

    def __repr__(self) -> str:
        return f"Relation({self.name!r}: {self.size_text})"

    @property
    def size_text(self) -> str:
        """Size in words: objects of both sides, links, the range of their weights."""
        known = f"{self.n_links:,} links"
        if self.weights is not None and len(self.weights):
            low, high = self.weights.min(), self.weights.max()
            known += f" · weights {low:g} to {high:g}" if low < high else f" · weight {low:g}"
        if self.network is not None:
            return f"{self.shape[0]:,} nodes · {known} · {self.network.text}"
        return f"{self.shape[0]:,} × {self.shape[1]:,} · {known}"

    def identity(self) -> dict[str, Any]:
        """Return name, size and fingerprint as plain values: what tells these data from others."""
        size = {"shape": list(self.shape), "ones": self.n_ones, "missing": self.n_missing}
        kind = {} if self.network is None else {"network": self.network.text}
        return {"name": self.name, **size, "fingerprint": self.fingerprint, **kind}

    @cached_property
    def transposed(self) -> Relation:
        """The same relation with the two sides swapped; what is known of the objects stays behind."""
        if self.network is not None and not self.network.directed:
            return self
        patterns = as_pattern(self.ones.T), as_pattern(self.missing.T)
        labels, kinds = (self.column_labels, self.row_labels), (self.column_kind, self.row_kind)
        numbered = self.numbered[1], self.numbered[0]
        weights = None if self.weights is None else canonical(self.links.T).data
        turned = Relation(
            *patterns,
            *labels,
            self.name,
            *kinds,
            self.network,
            numbered=numbered,
            weights=weights,
            negative=self.negative,
        )
        turned.__dict__["transposed"] = self
        return turned

    @cached_property
    def self_links(self) -> NDArray[np.float64]:
        """Each object's link to itself, shape (n, 2): (1, 0) linked, (0, 1) not linked, (0, 0) missing."""
        linked = self.ones.diagonal().astype(np.float64)
        missing = self.missing.diagonal().astype(np.float64)
        return np.ascontiguousarray(np.stack([linked, 1.0 - linked - missing], axis=1))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of shape, links, missing entries and kind of network: equal data, equal fingerprint."""
        kind = "" if self.network is None else self.network.text
        digest = hashlib.sha256((repr(self.shape) + kind).encode())
        for pattern in (self.ones, self.missing):
            digest.update(pattern.indptr.astype("<i8").tobytes())
            digest.update(pattern.indices.astype("<i4", copy=False).tobytes())
        if self.weights is not None:
            digest.update(self.weights.astype("<f8", copy=False).tobytes())
        return digest.hexdigest()


#: The weights of entries that all count as 1.
EQUAL = np.zeros(0)


@dataclass(frozen=True, eq=False)
class CountRelation(Relation):
    """A relation whose links are counted, in `weights`, and whose objects differ in activity.

    The exposure of an entry, by which the rate of its block is multiplied, is `row_activity` x `column_activity`.
    """

    row_activity: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  #: shape (n_rows,)
    column_activity: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  #: shape (n_cols,)

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """The counts of the links, in the order of `ones`."""
        return np.ones(self.n_ones) if self.weights is None else self.weights

    @property
    def factors(self) -> NDArray[np.float64]:
        """Factors of the links in sums over neighbours: their counts, or nothing if all are 1."""
        return EQUAL if self.weights is None else self.weights

    @property
    def activity(self) -> NDArray[np.float64]:
        """The activity of the objects of a network as rows and as columns, shape (2, N)."""
        return np.stack([self.row_activity, self.column_activity])

    @property
    def link_exposures(self) -> NDArray[np.float64]:
        """The exposures of the links, in the order of `ones`."""
        return (
            np.repeat(self.row_activity, np.diff(self.ones.indptr)) * self.column_activity[self.ones.indices]
        )

    @cached_property
    def transposed(self) -> CountRelation:
        """The same relation with the two sides swapped."""
        turned = super().transposed
        if turned is self:
            return self
        swapped = self.of(turned, turned.weights, self.column_activity, self.row_activity)
        swapped.__dict__["transposed"] = self
        return swapped

    @cached_property
    def self_links(self) -> NDArray[np.float64]:
        """Each object's entry with itself, shape (n, 2): its count and its exposure, 0 if it is missing."""
        exposure = ~self.missing.diagonal() * self.row_activity * self.column_activity
        return np.ascontiguousarray(np.stack([self.links.diagonal().astype(np.float64), exposure], axis=1))

    @classmethod
    def of(
        cls,
        relation: Relation,
        counts: NDArray[np.float64] | None,
        row_activity: NDArray[np.float64],
        column_activity: NDArray[np.float64],
    ) -> CountRelation:
        """Return a relation with counts of its links and activities of its objects."""
        given = {each.name: getattr(relation, each.name) for each in fields(Relation)} | {"weights": counts}
        return cls(**given, row_activity=row_activity, column_activity=column_activity)

    def with_activity(self, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> CountRelation:
        """Return the same counts with other activities; the transpose is not sorted again."""
        changed, turned = self.of(self, self.weights, rows, columns), self.transposed
        if turned is not self:
            swapped = self.of(turned, turned.weights, columns, rows)
            changed.__dict__["transposed"], swapped.__dict__["transposed"] = swapped, changed
        return changed

    @cached_property
    def squared(self) -> CountRelation:
        """The relation with the squares of its counts and activities."""
        return self.of(self, self.counts**2, self.row_activity**2, self.column_activity**2)

    @cached_property
    def multiplied(self) -> CountRelation:
        """The relation with each count times its exposure, and without activity."""
        nothing = np.zeros_like(self.row_activity), np.zeros_like(self.column_activity)
        return self.of(self, self.counts * self.link_exposures, *nothing)


def _size(pattern: sparse.csr_array) -> str:
    return f"{pattern.shape[0]:,} x {pattern.shape[1]:,}"


def _add_marks(unknown: sparse.csr_array, missing: Any, name: str) -> sparse.csr_array:
    """Return the missing entries with those that a second matrix marks."""
    marks, holes, _ = read_links(missing, None, name)
    if holes.nnz:
        what = "the array that marks missing entries holds NaN"
        remedy = "Give 1 (or True) for a missing entry and 0 for the others."
        raise DataError(what, source=name, remedy=remedy)
    if marks.shape != unknown.shape:
        what = f"the ones are {_size(unknown)} but the missing entries {_size(marks)}"
        raise DataError(what, source=name, remedy="Give both the same shape.")
    return as_pattern(marks + unknown) if unknown.nnz else marks


def _as_network(
    links: sparse.csr_array, unknown: sparse.csr_array, network: Network, name: str
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return links and missing entries of a network: both ways if undirected, the diagonal missing if not counted."""
    if links.shape[0] != links.shape[1]:
        what = f"a network has the same objects on both sides, but this relation is {_size(links)}"
        raise DataError(what, source=name, remedy="Give a square relation, or no network.")
    if not network.directed:
        links, unknown = add_directions(links), as_pattern(unknown + unknown.T)
    if not network.self_links:
        own = int(np.count_nonzero(links.diagonal()))
        if own:
            what = f"{own:,} objects are linked to themselves, but self-links are not to count"
            raise DataError(what, source=name, remedy="Remove these links, or let self-links count.")
        unknown = as_pattern(unknown + sparse.eye_array(links.shape[0], dtype=np.bool_, format="csr"))
    return links, unknown


def _same_labels(rows: ArrayLike | None, columns: ArrayLike | None, name: str) -> ArrayLike | None:
    """Return the labels of a network's nodes."""
    if rows is not None and columns is not None and list(map(str, rows)) != list(map(str, columns)):  # type: ignore[arg-type]
        what = "a network has the same objects on both sides, but rows and columns have other labels"
        raise DataError(what, source=name, remedy="Give the same labels in the same order, or no network.")
    if rows is None and columns is not None:
        what = "the columns of a network have labels, but its rows have none"
        raise DataError(what, source=name, remedy="Give the labels as those of the rows.")
    return rows


def check_attributes(given: Mapping[str, ArrayLike], n_objects: int, name: str) -> dict[str, NDArray[Any]]:
    """Return the attributes as arrays of text; each must have one value for each object of a side."""
    checked = {}
    for attribute, values in given.items():
        labels = text_array(values)
        if len(labels) != n_objects:
            what = f"the attribute {attribute!r} has {len(labels):,} values for {n_objects:,} objects"
            raise DataError(what, source=name, remedy="Give one value for each.")
        checked[mend_text(str(attribute))] = labels
    return checked
