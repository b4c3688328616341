"""Sums of responsibilities over the links of each object: the one product every method needs.

A pattern needs no stored values, and after some sweeps most objects sit in one cluster: then only the
responsibilities worth counting are added, which is faster than a dense product. At the start most objects sit in one
cluster but for a share that is spread evenly over all: it is added at once, and the rest as later.
"""

from __future__ import annotations

from functools import partial

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.parallel import map_together
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.irm.kernels import NEGLIGIBLE, OPTIONS, Floats

#: Additions a kernel call may do: some 10 ms.
_ADDITIONS = 2_000_000
#: Rows that are added up at least at a time.
_ROWS = 10_000
#: Below this share of non-negligible responsibilities the compressed form is the faster one.
_COMPRESS_BELOW = 0.4


def neighbour_sums(pattern: sparse.csr_array, responsibilities: Floats, poll: Poll = no_poll) -> Floats:
    """Return pattern @ responsibilities, shape (N, K), for values in [0, 1]; those below 1e-12 may count as zero."""
    responsibilities = np.ascontiguousarray(responsibilities, dtype=np.float64)
    even, n_counted = count_apart(responsibilities)
    if pattern.nnz == 0 or n_counted > _COMPRESS_BELOW * responsibilities.size:
        return pattern_product(pattern, responsibilities, poll)
    out = np.zeros((pattern.shape[0], responsibilities.shape[1]))
    pairs, shares, starts, clusters, values = compress(responsibilities, n_counted, even)
    per_link = max(n_counted / len(responsibilities), 1.0)

    add = partial(
        _add_compressed, pattern.indptr, pattern.indices, pairs, shares, starts, clusters, values, out
    )
    map_together(add, _runs_of_rows(pattern.indptr, int(_ADDITIONS / per_link)), poll)
    if even:
        out += even * np.diff(pattern.indptr)[:, None]
    return out


def cluster_sums(responsibilities: Floats, values: Floats) -> Floats:
    """Return responsibilities.T @ values, shape (K, L), for values of any size; see `neighbour_sums`."""
    even, n_counted = count_apart(responsibilities)
    if n_counted > _COMPRESS_BELOW * responsibilities.size:
        return np.asarray(responsibilities.T @ values)
    responsibilities, values = np.ascontiguousarray(responsibilities), np.ascontiguousarray(values)

    def add(rows: slice) -> Floats:
        out = np.zeros((responsibilities.shape[1], values.shape[1]))
        _add_to_clusters(responsibilities[rows], values[rows], even, out)
        return out

    step = max(_ROWS, len(values) // 8 + 1)
    sums = sum(map_together(add, [slice(at, at + step) for at in range(0, max(len(values), 1), step)]))
    return np.asarray(sums + even * values.sum(axis=0) if even else sums)


def pattern_product(pattern: sparse.csr_array, values: Floats, poll: Poll = no_poll) -> Floats:
    """Return pattern @ values for any values, shape (N, K)."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    out = np.zeros((pattern.shape[0], values.shape[1]))
    if pattern.nnz == 0:
        return out

    add = partial(_add_dense, pattern.indptr, pattern.indices, values, out)
    map_together(add, _runs_of_rows(pattern.indptr, _ADDITIONS // values.shape[1]), poll)
    return out


def _runs_of_rows(indptr: NDArray[np.int32], links_per_run: int) -> list[tuple[int, int]]:
    """Cut rows into runs of at most about `links_per_run` stored entries (a single row may hold more)."""
    n_rows = len(indptr) - 1
    if indptr[-1] <= links_per_run:
        return [(0, n_rows)]
    marks = np.arange(links_per_run, int(indptr[-1]), links_per_run)
    edges = np.unique(np.concatenate([[0], np.searchsorted(indptr, marks, side="left"), [n_rows]]))
    return [(int(begin), int(end)) for begin, end in zip(edges[:-1], edges[1:], strict=True)]


def count_apart(responsibilities: Floats) -> tuple[float, int]:
    """Return the share that every object has of every cluster, and how many responsibilities are larger.

    It is looked for, and may be more than zero, only where most responsibilities are worth counting.
    """
    n_counted = count_large(responsibilities, 0.0)
    if n_counted <= _COMPRESS_BELOW * responsibilities.size:
        return 0.0, n_counted
    even = float(responsibilities.min())
    return even, count_large(responsibilities, even)


@nb.njit(**OPTIONS)
def count_large(responsibilities: Floats, even: float) -> int:
    """Return how many responsibilities are not negligible beside what all have."""
    count = 0
    for i in range(responsibilities.shape[0]):
        for k in range(responsibilities.shape[1]):
            if responsibilities[i, k] - even > NEGLIGIBLE:
                count += 1
    return count


@nb.njit(**OPTIONS)
def compress(responsibilities: Floats, count: int, even: float):  # type: ignore[no-untyped-def]
    """Return the non-negligible responsibilities: clusters and values of two of each object, and then the rest.

    Values are what there is beyond `even`.

    Most objects have one or two, and reading two without asking is faster than a loop of one or two steps. A missing
    second one is a zero in the first one's cluster.
    """
    n = responsibilities.shape[0]
    pairs, shares = np.zeros((n, 2), np.int32), np.zeros((n, 2))
    starts = np.zeros(n + 1, np.int32)
    clusters = np.empty(count, np.int32)
    values = np.empty(count)
    at = 0
    for i in range(n):
        n_found = 0
        for k in range(responsibilities.shape[1]):
            share = responsibilities[i, k] - even
            if share > NEGLIGIBLE:
                if n_found < 2:
                    shares[i, n_found] = share
                    pairs[i, 1] = k
                    if n_found == 0:
                        pairs[i, 0] = k
                else:
                    clusters[at] = k
                    values[at] = share
                    at += 1
                n_found += 1
        starts[i + 1] = at
    return pairs, shares, starts, clusters, values


@nb.njit(**OPTIONS)
def _add_to_clusters(responsibilities: Floats, values: Floats, even: float, out: Floats) -> None:
    for i in range(responsibilities.shape[0]):
        for k in range(responsibilities.shape[1]):
            share = responsibilities[i, k] - even
            if share > NEGLIGIBLE:
                for m in range(values.shape[1]):
                    out[k, m] += share * values[i, m]


@nb.njit(**OPTIONS)
def _add_dense(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], values: Floats, out: Floats, rows: tuple[int, int]
) -> None:
    n_columns = values.shape[1]
    for i in range(rows[0], rows[1]):
        row = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            other = values[indices[p]]
            for k in range(n_columns):
                row[k] += other[k]


@nb.njit(**OPTIONS)
def _add_compressed(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    pairs: NDArray[np.int32],
    shares: Floats,
    starts: NDArray[np.int32],
    clusters: NDArray[np.int32],
    values: Floats,
    out: Floats,
    rows: tuple[int, int],
) -> None:
    for i in range(rows[0], rows[1]):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            out[i, pairs[j, 0]] += shares[j, 0]
            out[i, pairs[j, 1]] += shares[j, 1]
            for e in range(starts[j], starts[j + 1]):
                out[i, clusters[e]] += values[e]
