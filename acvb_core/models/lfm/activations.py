"""E[z] of all features given the weights, feature after feature, in blocks that share one matrix product."""

from __future__ import annotations

import numpy as np

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.kernels import update_feature
from acvb_core.models.lfm.least_squares import Fit

#: Features whose fields come from one product; with missing cells every pair of a block has a product of its own.
_BLOCK, _BLOCK_MISSING = 16, 4
#: Relative change of a feature's share at which its repeated update ends.
_STILL = 1e-4


def update_activations(
    cells: Cells,
    mu: Floats,
    fit: Fit,
    shares: Floats,
    penalty: float,
    rounds: int = 1,
    poll: Poll = no_poll,
) -> tuple[Floats, Floats]:
    """Return E[z] after one pass over all features, and their shares.

    `mu`: shape (K, N); E[z] before; it is left as it is.
    `shares`: shape (K,); pi.
    `penalty`: D / 2 for FAB, 0 for EM.
    `rounds`: 1 is the plain E step; more bring each feature and its share to their common fixed point (HF13 Alg. 2).
    """
    mu, shares = mu.copy(), shares.copy()
    scratch = np.empty(cells.n_objects)
    weighted = fit.weights * fit.precision
    missing = cells.observed is not None
    residual = cells.residuals(mu.T, fit.weights, fit.bias) if missing else None
    size = _BLOCK_MISSING if missing else _BLOCK
    for begin in range(0, len(mu), size):
        poll()
        block = slice(begin, begin + size)
        old = mu[block].copy()
        if residual is None:
            fields, coupling = _shared_fields(cells, mu, fit, weighted, block)
        else:
            fields, coupling = _own_fields(cells, residual, fit, weighted, block)
        for j in range(len(old)):
            poll()
            shares[begin + j] = update_feature(
                j, fields, coupling, old, mu[block], scratch, shares[begin + j], penalty, rounds, _STILL
            )
        if residual is not None and cells.observed is not None:
            step = (mu[block] - old).T @ fit.weights[block]
            step *= cells.observed
            residual -= step
    return mu, shares


def _shared_fields(
    cells: Cells, mu: Floats, fit: Fit, weighted: Floats, block: slice
) -> tuple[Floats, Floats]:
    """Return a block's fields and couplings where all cells are known: the couplings are those of all objects."""
    gram = weighted[block] @ fit.weights.T
    fields = weighted[block] @ cells.values.T
    fields -= gram @ mu
    fields -= (weighted[block] @ fit.bias)[:, None]
    own = gram[:, block]
    lower = np.tril_indices(len(own))
    return fields, np.ascontiguousarray(own[lower][:, None])


def _own_fields(
    cells: Cells, residual: Floats, fit: Fit, weighted: Floats, block: slice
) -> tuple[Floats, Floats]:
    """Return a block's fields and couplings, each object's over its own known cells."""
    assert cells.observed is not None
    later, earlier = np.tril_indices(len(weighted[block]))
    pairs = weighted[block][later] * fit.weights[block][earlier]
    return weighted[block] @ residual.T, pairs @ cells.observed.T
