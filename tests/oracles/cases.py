"""Small random problems for checking the IRM against its oracles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.oracles.dense_irm import Array, DenseData


class Case(NamedTuple):
    """A small relation, responsibilities for both domains and hyper-parameters."""

    data: DenseData
    q1: Array
    q2: Array
    a: float | Array
    b: float | Array
    alpha1: float
    alpha2: float

    @property
    def sizes(self) -> tuple[int, int]:
        """(K1, K2)."""
        return self.q1.shape[1], self.q2.shape[1]

    @property
    def hyper(self) -> tuple[float | Array, float | Array, float, float]:
        """(a, b, alpha1, alpha2)."""
        return self.a, self.b, self.alpha1, self.alpha2

    @property
    def T(self) -> Case:  # noqa: N802 - the name NumPy uses
        """The same problem with its domains swapped."""
        a, b = np.transpose(self.a), np.transpose(self.b)
        return Case(self.data.T, self.q2, self.q1, a, b, self.alpha2, self.alpha1)


def random_data(
    rng: np.random.Generator, shape: tuple[int, int], missing: float, density: float
) -> DenseData:
    """Independent entries; what stands at a missing entry is NaN, so that reading it shows."""
    observed = rng.random(shape) >= missing
    return DenseData(np.where(observed, rng.random(shape) < density, np.nan), observed)


def soft_rows(rng: np.random.Generator, n: int, size: int, concentration: float = 1.0) -> Array:
    """Dirichlet rows: small concentrations give nearly hard assignments."""
    return rng.dirichlet(np.full(size, concentration), n)


def hard_rows(rng: np.random.Generator, n: int, size: int) -> Array:
    """One-hot rows."""
    return np.eye(size)[rng.integers(size, size=n)]


def blocks_apart(n_rows: int, n_columns: int) -> Array:
    """Strengths that distinguish any two clusters: nearly all links on the diagonal, nearly none elsewhere."""
    return 0.01 + 0.98 * np.eye(n_rows, n_columns)


def with_some_astray(rng: np.random.Generator, q: Array) -> Array:
    """One-hot rows with a tenth or so in another cluster, and one undecided."""
    q = np.where(rng.random((len(q), 1)) < 0.1, hard_rows(rng, *q.shape), q)
    q[rng.integers(len(q))] = soft_rows(rng, 1, q.shape[1])
    return q


def random_case(
    seed: int,
    shape: tuple[int, int] = (3, 3),
    sizes: tuple[int, int] = (2, 2),
    missing: float = 0.2,
    hard: bool = False,
    per_block: bool = False,
    decided: bool = False,
) -> Case:
    """A case drawn from ``seed``; ``per_block`` gives every block its own a and b.

    With ``decided`` links follow blocks that differ much, and most objects are in their own cluster: to them all
    other clusters are next to impossible.
    """
    rng = np.random.default_rng(seed)
    data = random_data(rng, shape, missing, density=rng.uniform(0.2, 0.8))
    rows = hard_rows if hard else soft_rows
    q1, q2 = rows(rng, shape[0], sizes[0]), rows(rng, shape[1], sizes[1])
    if decided:
        q1, q2 = hard_rows(rng, shape[0], sizes[0]), hard_rows(rng, shape[1], sizes[1])
        links = rng.random(shape) < q1 @ blocks_apart(*sizes) @ q2.T
        data = DenseData(np.where(data.observed, links, np.nan), data.observed)
        q1, q2 = with_some_astray(rng, q1), with_some_astray(rng, q2)
    least, most = (0.05, 0.2) if decided else (0.2, 3.0)
    a, b = (rng.uniform(least, most, sizes if per_block else None) for _ in range(2))
    alpha1, alpha2 = rng.uniform(0.3, 4.0, 2)
    return Case(data, q1, q2, a, b, float(alpha1), float(alpha2))
