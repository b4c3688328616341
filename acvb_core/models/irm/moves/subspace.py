"""Leading singular vectors of a matrix that is only known by its products with blocks of vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from acvb_core.models.irm.kernels import Floats

Product = Callable[[Floats], Floats]


def leading_vectors(
    forward: Product,
    backward: Product,
    shape: tuple[int, int],
    width: int,
    iterations: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Return leading left singular vectors, singular values and right singular vectors by subspace iteration.

    `forward` and `backward` multiply the matrix of that `shape`, and its transpose, with a block of vectors; `width`
    vectors are carried along, some more than are wanted, the last ones being inexact.

    Reference: Halko, Martinsson and Tropp, SIAM Review 2011.
    """
    width = min(width, *shape)
    basis = _orthonormal(forward(rng.standard_normal((shape[1], width))))
    for _ in range(iterations):
        basis = _orthonormal(forward(_orthonormal(backward(basis))))
    right, values, within = np.linalg.svd(backward(basis), full_matrices=False)
    return basis @ within.T, values, right


def _orthonormal(vectors: Floats) -> Floats:
    return np.linalg.qr(vectors)[0]
