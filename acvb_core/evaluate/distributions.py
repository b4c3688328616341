"""Checks of distributions over words, and the distances between them."""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import DataError
from acvb_core.core.special import FAST, log

Floats = NDArray[np.float64]

#: How far a row may sum from one: what single precision leaves of a sum over a large vocabulary.
SUM_TOLERANCE = 1e-3
#: Divergences below this are what rounding leaves of zero.
ROUNDING = 1e-14


def distributions(given: ArrayLike, what: str = "the topics", n_words: int | None = None) -> Floats:
    """Return an array of distributions, one a row, in double precision.

    `given`: shape (K, V); rows that sum to one.
    `what`: their name in a message.
    `n_words`: the number of columns there must be.
    Raises DataError: there is no row or no column, an entry is negative or not finite, a row does not sum to one, or
      the number of columns is another.
    """
    rows = np.ascontiguousarray(given, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape:
        raise DataError(
            f"{what} have the shape {rows.shape}",
            remedy="Give an array with one distribution a row, at least one.",
        )
    if n_words is not None and rows.shape[1] != n_words:
        raise DataError(
            f"{what} are over {rows.shape[1]:,} words where {n_words:,} are expected",
            remedy="Only distributions over the same vocabulary can be used together.",
        )
    total = rows.sum(axis=1)
    wrong = ~(np.abs(total - 1.0) <= SUM_TOLERANCE) | (rows.min(axis=1) < 0.0)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{what}: row {row + 1:,} is not a distribution (sum {total[row]:g}, least value {rows[row].min():g})",
            remedy="Give probabilities: at least 0, and 1 in all.",
        )
    return rows


def jensen_shannon(one: ArrayLike, other: ArrayLike | None = None) -> Floats:
    """Return the Jensen-Shannon distances between the rows of two arrays of distributions.

    The distance is the square root of the divergence to base 2: a metric between 0 (the same) and 1 (no word in
    common). Time grows with K L V, some 2 ns each; memory with K V and L V.

    `one`: shape (K, V).
    `other`: shape (L, V); by default `one`, which takes half the time.
    Returns: shape (K, L); symmetric with a zero diagonal when there is no `other`. Distances below 1e-7 are rounding,
      and given as 0.
    Reference: Endres and Schindelin 2003 (the square root is a metric).
    """
    rows = distributions(one)
    own = _p_log_p(rows)
    if other is None:
        columns, theirs = rows, own
    else:
        columns = distributions(other, n_words=rows.shape[1])
        theirs = _p_log_p(columns)
    divergence = np.zeros((len(rows), len(columns)))
    for i in range(len(rows)):
        start = i + 1 if other is None else 0
        # One call a row: other threads run in between.
        _divergences(rows[i], own[i], columns[start:], theirs[start:], divergence[i, start:])
    if other is None:
        divergence += divergence.T
    divergence /= math.log(2.0)
    divergence[divergence < ROUNDING] = 0.0
    return np.sqrt(np.minimum(divergence, 1.0))


def _p_log_p(rows: Floats) -> Floats:
    out = np.empty_like(rows)
    for row, into in zip(rows, out, strict=True):
        _x_log_x(row, into)
    return out


@nb.njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _x_log_x(x: Any, out: Any) -> None:
    """Write x log x; the logarithm of zero is finite here, so that 0 log 0 is 0."""
    for w in range(x.shape[0]):
        out[w] = x[w] * log(x[w])


@nb.njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _divergences(p: Any, p_log_p: Any, q: Any, q_log_q: Any, out: Any) -> None:
    """Write the divergence (nats) of p from each row of q: sum of (p log p + q log q) / 2 - m log m.

    Taken word by word, not as a difference of three entropies: what is alike cancels before it is added up.
    """
    for j in range(q.shape[0]):
        total = 0.0
        for w in range(p.shape[0]):
            m = 0.5 * (p[w] + q[j, w])
            total += 0.5 * (p_log_p[w] + q_log_q[j, w]) - m * log(m)
        out[j] = total
