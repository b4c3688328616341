"""Sums over links against SciPy's products."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from acvb_core.core.parallel import use_threads
from acvb_core.data.relation import as_pattern
from acvb_core.models.irm import kernels as neighbours
from acvb_core.models.irm.kernels import cluster_sums, count_apart, neighbour_sums
from tests.loops import for_each


def sparse_pattern(rng: np.random.Generator) -> sparse.csr_array:
    return as_pattern(sparse.random_array((60, 45), density=0.1, rng=rng, format="csr"))


@for_each("concentration", [0.01, 1.0])
def test_sums(concentration: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of compressed and of dense responsibilities."""
    monkeypatch.setattr(neighbours, "_ADDITIONS", 50)  # many runs of rows
    pattern, q = sparse_pattern(rng), rng.dirichlet(np.full(6, concentration), 45)
    calls = []
    with use_threads(1):  # others call no poll
        found = neighbour_sums(pattern, q, lambda: calls.append(1))
    np.testing.assert_allclose(found, pattern.astype(float) @ q, atol=1e-10)
    assert len(calls) > 3


def test_what_is_spread_over_all_clusters_is_added_at_once(rng: np.random.Generator) -> None:
    pattern, values = sparse_pattern(rng), rng.random((45, 4))
    q = 0.02 + 0.9 * np.eye(5)[rng.integers(5, size=45)]
    q[3] = [0.5, 0.4, 0.04, 0.04, 0.02]
    even, n_larger = count_apart(q)
    assert (even, n_larger) == (0.02, 45 - 1 + 4)
    np.testing.assert_allclose(neighbour_sums(pattern, q), pattern.astype(float) @ q, atol=1e-12)
    np.testing.assert_allclose(cluster_sums(q, values), q.T @ values, atol=1e-12)
    assert count_apart(np.eye(5)[rng.integers(5, size=45)]) == (0.0, 45)
