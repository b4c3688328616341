"""Ways to cut a cluster's members in two: leading directions of what the cluster does not explain of their links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Poll
from acvb_core.data.relation import Relation
from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.moves.subspace import leading_vectors
from acvb_core.models.irm.state import IrmState

#: Directions of each kind, vectors carried along beside them, and iterations.
_DIRECTIONS, _EXTRA, _ITERATIONS = 2, 6, 6
#: Of so few members the directions are computed exactly: a product with one vector for each costs no more than the
#: iterations do.
_FEW = (_DIRECTIONS + _EXTRA) * _ITERATIONS


class Residuals:
    """Links of a cluster's members, less what the cluster's block strengths let expect.

    The objects of the domain are the rows of `relation`; `links` and `zeros`, shape (N, L), are the ones and zeros of
    every row object by cluster of the columns, where at hand.
    """

    def __init__(
        self,
        state: IrmState,
        relation: Relation,
        domain: str,
        k: int,
        members: NDArray[np.int64],
        links: Floats | None,
        zeros: Floats | None,
    ) -> None:
        self.members, self.layout = members, state.layout
        hyper = state.hyper
        strengths = (hyper.a + state.ones) / (hyper.a + hyper.b + state.entries)
        if self.layout.one_domain:
            q = state.q[domain]
            sides = [(relation, strengths[k], q)]
            if not self.layout.symmetric:
                sides.append((relation.transposed, strengths[:, k], q))
        elif domain == self.layout.axes[0]:
            sides = [(relation, strengths[k], state.q[self.layout.axes[1]])]
        else:
            sides = [(relation, strengths[:, k], state.q[self.layout.axes[0]])]
        self.sides = sides
        self.known = [
            (_take_rows(one.ones, members), _take_rows(one.missing, members)) for one, _, _ in sides
        ]
        self.given = None if links is None or zeros is None else (links[members], zeros[members])

    def directions(self, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Give vectors over the members, shape (n_members,): of whole rows, of block profiles, of their own block."""
        yield from self._of_rows(rng, poll)
        yield from self._of_profiles(poll)
        if self.layout.one_domain:
            yield from self._of_own_block(rng, poll)

    def _of_rows(self, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Members' rows against the other objects one by one, scaled to unit variance."""
        known, expected = [], []
        for (ones, missing), (_, strength, other) in zip(self.known, self.sides, strict=True):
            p = np.clip(other @ strength, 1e-9, 1.0)
            scale = 1.0 / np.sqrt(p)
            # An unknown entry is taken to be what is expected of it.
            known.append(_scale_columns(ones, scale) + _scale_columns(missing, p * scale))
            expected.append(p * scale)
            poll()
        is_dense, mean = isinstance(known[0], np.ndarray), np.concatenate(expected)
        matrix: Any = np.hstack(known) if is_dense else sparse.hstack(known, format="csr")
        turned = matrix.T if is_dense else matrix.T.tocsr()

        def forward(vectors: Floats) -> Floats:
            poll()
            return np.asarray(matrix @ vectors - mean @ vectors)

        def backward(vectors: Floats) -> Floats:
            poll()
            return np.asarray(turned @ vectors - np.outer(mean, vectors.sum(axis=0)))

        yield from self._leading(forward, backward, matrix.shape, rng)

    def _of_profiles(self, poll: Poll) -> Iterator[Floats]:
        """Members' links by cluster of the other objects, scaled to unit variance."""
        parts = []
        for (ones, missing), (_, strength, other) in zip(self.known, self.sides, strict=True):
            if self.given is not None:
                links, zeros = self.given
            else:
                links, zeros = _sums_of(ones, missing, other, poll)
            expected = (links + zeros) * strength
            parts.append((links - expected) / np.sqrt(np.maximum(expected, 1e-9)))
        profiles = np.hstack(parts)
        profiles -= profiles.mean(axis=0)
        left = np.linalg.svd(profiles, full_matrices=False)[0]
        yield from left[:, :_DIRECTIONS].T

    def _of_own_block(self, rng: np.random.Generator, poll: Poll) -> Iterator[Floats]:
        """Members' links among each other, in both directions: a group that avoids itself has a negative eigenvalue."""
        ones, missing = (rows[:, self.members].astype(np.float64) for rows in self.known[0])
        n_links, n_members = ones.sum(), len(self.members)
        if not n_links:
            return
        density = n_links / max(n_members**2 - missing.sum(), 1)
        matrix = ones + density * missing
        if not self.layout.symmetric:
            matrix = matrix + matrix.T
            density *= 2.0

        def product(vectors: Floats) -> Floats:
            poll()
            return np.asarray(matrix @ vectors - density * vectors.sum(axis=0))

        yield from self._leading(product, product, matrix.shape, rng)

    def _leading(self, forward, backward, shape, rng: np.random.Generator) -> Iterator[Floats]:  # type: ignore[no-untyped-def]
        n_members = shape[0]
        if n_members <= _FEW:
            left = np.linalg.eigh(forward(backward(np.eye(n_members))))[1][:, ::-1]
        else:
            left = leading_vectors(forward, backward, shape, _DIRECTIONS + _EXTRA, _ITERATIONS, rng)[0]
        yield from left[:, :_DIRECTIONS].T


def _take_rows(pattern: sparse.csr_array, members: NDArray[np.int64]) -> Any:
    """Return some rows of a pattern, as an array of numbers where they are few: sparse ones take longer to handle."""
    if len(members) > _FEW:
        return pattern[members]
    rows = np.zeros((len(members), pattern.shape[1]))
    for row, i in zip(rows, members, strict=True):
        row[pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]] = 1.0
    return rows


def _scale_columns(rows: Any, scale: Floats) -> Any:
    """Return rows of a pattern with each stored entry at its column's scale."""
    if isinstance(rows, np.ndarray):
        return rows * scale
    return sparse.csr_array((scale[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


def _sums_of(ones: Any, missing: Any, other: Floats, poll: Poll) -> tuple[Floats, Floats]:
    """Return the members' ones and zeros by cluster of the other objects (an object's link to itself included)."""
    links = ones @ other
    poll()
    return links, np.maximum(other.sum(axis=0) - links - missing @ other, 0.0)
