"""Inner products of pairs of rows on numbers that can be checked by hand, and in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.evaluate.heldout import pair_products
from tests.loops import for_each


def test_by_hand() -> None:
    theta = np.array([[0.25, 0.75], [1.0, 0.0]])
    phi = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    found = pair_products(theta, phi.T, np.array([0, 0, 1]), np.array([0, 2, 2]))
    np.testing.assert_allclose(found, [0.125 + 0.15, 0.45, 0.0])


@for_each("dtype", [np.float32, np.float64])
def test_in_pieces(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    theta, phi = (
        rng.dirichlet(np.ones(3), size=8).astype(dtype),
        rng.dirichlet(np.ones(9), size=3).astype(dtype),
    )
    documents, words = rng.integers(8, size=50), rng.integers(9, size=50)
    monkeypatch.setattr("acvb_core.evaluate.heldout._AT_ONCE", 21)
    found = pair_products(theta, phi.T, documents, words)
    np.testing.assert_allclose(found, (theta @ phi)[documents, words], rtol=1e-6)


def test_no_pairs() -> None:
    nothing = np.zeros(0, dtype=np.int32)
    assert pair_products(np.ones((2, 3)), np.ones((4, 3)), nothing, nothing).shape == (0,)
