"""Small random networks for checking the one-domain IRM against its oracles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.oracles.cases import blocks_apart, hard_rows, soft_rows, with_some_astray
from tests.oracles.dense_irm import Array
from tests.oracles.dense_network import NetworkData, network

#: (directed, self_links) of the four kinds of network, by name.
KINDS = {
    "directed": (True, False),
    "directed, self-links": (True, True),
    "undirected": (False, False),
    "undirected, self-links": (False, True),
}


class NetworkCase(NamedTuple):
    """A small network, responsibilities of its objects and hyper-parameters."""

    data: NetworkData
    q: Array
    a: float | Array
    b: float | Array
    alpha: float

    @property
    def size(self) -> int:
        """K."""
        return self.q.shape[1]

    @property
    def hyper(self) -> tuple[float | Array, float | Array, float]:
        """(a, b, alpha)."""
        return self.a, self.b, self.alpha


def random_network(
    rng: np.random.Generator, n: int, kind: str, missing: float = 0.2, density: float = 0.4
) -> NetworkData:
    """Independent entries; what stands at a missing entry is NaN, so that reading it shows."""
    x = (rng.random((n, n)) < density).astype(float)
    return network(x, rng.random((n, n)) >= missing, *KINDS[kind])


def random_network_case(
    seed: int,
    kind: str,
    n: int = 5,
    size: int = 2,
    missing: float = 0.2,
    hard: bool = False,
    per_block: bool = False,
    decided: bool = False,
) -> NetworkCase:
    """A case drawn from ``seed``; ``per_block`` gives every block its own a and b, symmetric when undirected.

    ``decided``: as for `random_case`.
    """
    rng = np.random.default_rng(seed)
    data = random_network(rng, n, kind, missing, density=rng.uniform(0.2, 0.8))
    q = (hard_rows if hard else soft_rows)(rng, n, size)
    if decided:
        q = hard_rows(rng, n, size)
        links = (rng.random((n, n)) < q @ blocks_apart(size, size) @ q.T).astype(float)
        data = network(links, rng.random((n, n)) >= missing, *KINDS[kind])
        q = with_some_astray(rng, q)
    least, most = (0.05, 0.2) if decided else (0.2, 3.0)
    a, b = (rng.uniform(least, most, (size, size) if per_block else None) for _ in range(2))
    if per_block and not data.directed:
        a, b = (np.triu(part) + np.triu(part, 1).T for part in (a, b))
    return NetworkCase(data, q, a, b, float(rng.uniform(0.3, 4.0)))
