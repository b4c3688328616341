"""Small random counts for checking Gamma-Poisson blocks against their oracles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.oracles.cases import hard_rows, soft_rows
from tests.oracles.dense_irm import Array
from tests.oracles.dense_poisson import CountData, Parts
from tests.oracles.network_cases import KINDS as NETWORKS

#: (directed, self-links) by name; of two domains directed is None.
KINDS: dict[str, tuple[bool | None, bool]] = {"two domains": (None, True), **NETWORKS}


class CountCase(NamedTuple):
    """Small counts, responsibilities of their objects and hyper-parameters."""

    data: CountData
    q: Parts
    a: float | Array
    b: float | Array
    alphas: tuple[float, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of clusters of each domain."""
        return tuple(part.shape[1] for part in self.q)

    @property
    def hyper(self) -> tuple[float | Array, float | Array, tuple[float, ...]]:
        """(a, b, alphas)."""
        return self.a, self.b, self.alphas

    @property
    def T(self) -> CountCase:  # noqa: N802 - the name NumPy uses
        """The same problem with rows and columns swapped."""
        a, b = np.transpose(self.a), np.transpose(self.b)
        return CountCase(self.data.T, self.q[::-1], a, b, self.alphas[::-1])


def random_counts(
    rng: np.random.Generator,
    shape: tuple[int, int],
    kind: str,
    missing: float = 0.2,
    mean: float | Array = 1.0,
) -> CountData:
    """Independent counts of objects that differ in activity; of an undirected network both sides are the same."""
    directed, self_links = KINDS[kind]
    t, f = (np.exp(rng.normal(0.0, 0.7, n)) for n in shape)
    t, f = t / t.mean(), f / f.mean()
    if directed is False:
        f = t
    x = rng.poisson(mean * np.outer(t, f)).astype(float)
    x[rng.random(shape) < missing] = np.nan
    if directed is False:
        x = np.triu(x) + np.triu(x, 1).T
    if not self_links:
        np.fill_diagonal(x, np.nan)
    return CountData(x, t, f, directed)


def random_count_case(
    seed: int,
    kind: str,
    shape: tuple[int, int] = (5, 4),
    sizes: tuple[int, int] = (2, 2),
    missing: float = 0.2,
    mean: float = 1.0,
    hard: bool = False,
    per_block: bool = False,
) -> CountCase:
    """A case drawn from ``seed``; a network takes the first of ``shape`` and ``sizes``.

    ``per_block`` gives every block its own a and b, symmetric when undirected.
    """
    rng = np.random.default_rng(seed)
    directed, domains = KINDS[kind][0], 2
    if directed is not None:
        shape, sizes, domains = (shape[0],) * 2, (sizes[0],) * 2, 1
    data = random_counts(rng, shape, kind, missing, mean)
    rows = hard_rows if hard else soft_rows
    q = tuple(rows(rng, n, k) for n, k in zip(shape[:domains], sizes, strict=False))
    a, b = (rng.uniform(0.2, 3.0, sizes if per_block else None) for _ in range(2))
    if per_block and directed is False:
        a, b = (np.triu(part) + np.triu(part, 1).T for part in (a, b))
    return CountCase(data, q, a, b, tuple(float(c) for c in rng.uniform(0.3, 4.0, domains)))
