"""The counts of a network's blocks after one of its clusters was split: two rows and two columns change."""

from __future__ import annotations

import numba as nb
import numpy as np

from acvb_core.core.protocols import Poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import OPTIONS, Floats
from acvb_core.models.irm.network.kernels import Indices
from acvb_core.models.irm.state import IrmState, observed_sums

#: Ones and zeros, shape (N, K) each.
Sums = tuple[Floats, Floats]


class SplitCounts:
    """Counts after splits of the clusters of a state; what they share is computed once, until the state is another."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._known: tuple[Floats, Sums, Sums] | None = None

    def count(self, state: IrmState, moved: Floats, k: int, poll: Poll) -> tuple[Floats, Floats]:
        """Return the ones and the observed entries of each block, shape (K + 1, K + 1), the new cluster last.

        `moved`: shape (N,); what each object gives of cluster k to the new one.
        """
        symmetric, (going, coming) = state.layout.symmetric, self._sums_of(state, poll)
        patterns, self_links = (self.relation.ones, self.relation.missing), self.relation.self_links
        moved = np.ascontiguousarray(moved)
        linked, unknown = (sum_pairs(pattern.indptr, pattern.indices, moved) for pattern in patterns)
        poll()
        among = np.array([linked, moved.sum() ** 2 - linked - unknown]) - moved**2 @ self_links
        counts = []
        for which, before in enumerate((state.ones, state.entries - state.ones)):
            row, column = moved @ going[which], moved @ coming[which]
            own, pairs = moved @ self_links[:, which], among[which]
            inside = pairs / 2.0 if symmetric else pairs
            counted = np.zeros((len(before) + 1, len(before) + 1))
            counted[:-1, :-1] = before
            counted[k, :-1] -= row
            counted[:-1, k] -= column
            counted[k, k] += inside - own + (row[k] if symmetric else 0.0)
            counted[-1, :-1], counted[:-1, -1] = row, column
            counted[[k, -1], [-1, k]] -= pairs
            counted[-1, -1] = inside + own
            counts.append(counted)
        return counts[0], counts[0] + counts[1]

    def _sums_of(self, state: IrmState, poll: Poll) -> tuple[Sums, Sums]:
        """Return the links of every object to each cluster, and from each."""
        (q,) = state.q.values()
        if self._known is None or self._known[0] is not q:
            going = coming = _sum_between(self.relation, q, poll)
            if not state.layout.symmetric:
                coming = _sum_between(self.relation.transposed, q, poll)
            self._known = q, going, coming
        return self._known[1:]


@nb.njit(**OPTIONS)
def sum_pairs(indptr: Indices, indices: Indices, shares: Floats) -> float:
    """Return the sum of s_i s_j over the stored entries (i, j) of a pattern."""
    total = 0.0
    for i in range(shares.shape[0]):
        if shares[i] != 0.0:
            beside = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                beside += shares[indices[p]]
            total += shares[i] * beside
    return total


def _sum_between(relation: Relation, q: Floats, poll: Poll) -> Sums:
    """Return the ones and the zeros of each object by cluster of the others, itself left out."""
    links, zeros = observed_sums(relation, q, poll)
    own = relation.self_links
    return links - own[:, :1] * q, zeros - own[:, 1:] * q
