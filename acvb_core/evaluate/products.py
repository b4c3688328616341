"""Inner products of pairs of rows: the probability a model gives to single entries, without forming all of them."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.parallel import map_together
from acvb_core.core.special import FAST

_AT_ONCE = 20_000_000  # numbers that one call of the kernel takes: some 20 ms


def pair_products(
    left: NDArray[Any], right: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any]
) -> NDArray[np.float64]:
    """Return sum_k left[rows[i], k] * right[columns[i], k] for each pair, shape (n,).

    `left`, `right`: shapes (N, K), (M, K).
    `rows`, `columns`: shape (n,).
    """
    out = np.empty(len(rows))
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    step = max(1, _AT_ONCE // max(left.shape[1], 1))

    def multiply(begin: int) -> None:
        part = slice(begin, begin + step)
        _products(left, right, rows[part], columns[part], out[part])

    map_together(multiply, range(0, len(out), step))
    return out


@nb.njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _products(left: Any, right: Any, rows: Any, columns: Any, out: Any) -> None:
    for e in range(rows.shape[0]):
        one = left[rows[e]]
        other = right[columns[e]]
        total = left.dtype.type(0)
        for k in range(one.shape[0]):
            total += one[k] * other[k]
        out[e] = total
