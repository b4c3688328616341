"""Variances of the block counts under factorised responsibilities, in linear time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.moves.neighbours import neighbour_sums


class _Sums(NamedTuple):
    """Sums over the entries of one pattern: of r, r^2 for each row object, of p, p^2 for each column object."""

    r: Floats
    r_squared: Floats
    p: Floats
    p_squared: Floats

    def less(self, other: _Sums) -> _Sums:
        return _Sums(*(own - part for own, part in zip(self, other, strict=True)))


def count_variances(
    relation: Relation, rows: Floats, cols: Floats, *, exact: bool, poll: Poll = no_poll
) -> Floats:
    """Return the variances of the ones, zeros and observed entries of every block.

    `rows`, `cols`: shapes (N1, K1), (N2, K2); responsibilities p and r.
    `exact`: False: sum of p(1-p) r(1-r) over the entries (IRM14 eq. 91). True: the variance of the count, in which
      entries that share an object are correlated: sum (p r - p^2 r^2) + sum_i p(1-p) [(sum_j r)^2 - sum_j r^2] + sum_j
      r(1-r) [(sum_i p)^2 - sum_i p^2].
    Returns: shape (3, K1, K2); in the order ones, zeros, observed entries.
    """
    if exact:
        links = _pattern_sums(relation, rows, cols, "ones", poll)
        unknown = _pattern_sums(relation, rows, cols, "missing", poll)
        observed = _all_entries(rows, cols).less(unknown)
        parts = [_exact(sums, rows, cols) for sums in (links, observed.less(links), observed)]
    else:
        p, r = rows * (1.0 - rows), cols * (1.0 - cols)
        of_ones = p.T @ neighbour_sums(relation.ones, r, poll)
        of_unknown = p.T @ neighbour_sums(relation.missing, r, poll)
        of_observed = np.outer(p.sum(axis=0), r.sum(axis=0)) - of_unknown
        parts = [of_ones, of_observed - of_ones, of_observed]
    return np.ascontiguousarray(np.maximum(np.stack(parts), 0.0))


def _pattern_sums(relation: Relation, rows: Floats, cols: Floats, which: str, poll: Poll) -> _Sums:
    pattern, turned = getattr(relation, which), getattr(relation.transposed, which)
    return _Sums(
        neighbour_sums(pattern, cols, poll),
        neighbour_sums(pattern, cols**2, poll),
        neighbour_sums(turned, rows, poll),
        neighbour_sums(turned, rows**2, poll),
    )


def _all_entries(rows: Floats, cols: Floats) -> _Sums:
    def whole(values: Floats, count: int) -> Floats:
        return np.broadcast_to(values.sum(axis=0), (count, values.shape[1]))

    return _Sums(
        whole(cols, len(rows)), whole(cols**2, len(rows)), whole(rows, len(cols)), whole(rows**2, len(cols))
    )


def _exact(sums: _Sums, p: Floats, r: Floats) -> Floats:
    return (
        p.T @ sums.r
        - (p**2).T @ sums.r_squared
        + (p * (1.0 - p)).T @ (sums.r**2 - sums.r_squared)
        + (sums.p**2 - sums.p_squared).T @ (r * (1.0 - r))
    )
