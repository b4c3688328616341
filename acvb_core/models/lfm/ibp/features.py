"""Draws of the features that objects have, and moves of whole features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.cells import Cells
from acvb_core.models.lfm.ibp.kernels import BIRTHS, Bits, FeatureSlots, Floats, NoisyCells, visit
from acvb_core.models.lfm.ibp.weights import WeightPosterior, Widths

#: Operations of the kernel, about 30 ms of them, between two polls.
_PIECE = 3e7


def draw_features(
    cells: Cells,
    z: Bits,
    posterior: WeightPosterior,
    widths: Widths,
    alpha: float,
    most: int,
    rng: np.random.Generator,
    poll: Poll = no_poll,
) -> tuple[Bits, WeightPosterior, int]:
    """Draw the features of every object, in a fresh random order.

    `z`: shape (N, K).
    `posterior`: given z and `widths`.
    `most`: limit of the features alive.
    Returns: the new z, in which every feature has an object; the posterior given it; the number of entries that
      changed.
    """
    n, n_columns = cells.values.shape
    observed = np.ones_like(cells.values) if cells.observed is None else cells.observed
    objects = rng.permutation(n)
    width = z.shape[1] + 1
    z = np.concatenate([np.ones((n, 1), dtype=np.int8), z], axis=1)
    size, cov, mean = z.sum(axis=0, dtype=np.float64), posterior.cov, posterior.mean
    noisy = NoisyCells(cells.values, observed, widths.noise)
    at = changed = 0
    while at < n:
        # Always room for features to be born; the kernel comes back when it may be used up.
        room = min(max(width + width // 2, width + 2 * BIRTHS), most + 1)
        z, size = _resize(z, (n, room)), _resize(size, (room,))
        cov, mean = _resize(cov, (room, room, n_columns)), _resize(mean, (room, n_columns))
        slots = FeatureSlots(z, size, cov, mean)
        length = max(1, int(_PIECE / (room * (room + 6) * n_columns)))
        done = 1
        while at < n and done:
            chunk = objects[at : at + length]
            uniforms = rng.random((len(chunk), room + 1))
            done, width, moved = visit(chunk, slots, width, noisy, widths.weights, alpha, most, uniforms)
            at += done
            changed += moved
            poll()
    return z[:, 1:width].copy(), WeightPosterior(cov[:width, :width], mean[:width]), changed


def _resize(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array at the front of a larger one of zeros, or its front."""
    out = np.zeros(shape, dtype=array.dtype)
    keep = tuple(slice(0, min(have, want)) for have, want in zip(array.shape, shape, strict=True))
    out[keep] = array[keep]
    return out


def flip_features(
    z: Bits, drawn: Floats, bias_variance: float, rng: np.random.Generator
) -> tuple[Bits, Floats]:
    """Flip features at random: the other objects have it then, its weights change sign, the baseline absorbs them.

    The data are explained as before, so the priors alone decide; entries that change one at a time do not get there.
    Takes and returns z (N, K) and the drawn weights (K + 1, D), the baseline's first.
    """
    z, drawn = z.copy(), drawn.copy()
    size = z.sum(axis=0, dtype=np.float64)
    uniforms = rng.random(len(size))
    for k in range(len(size)):
        if size[k] == len(z):
            continue
        moved = drawn[0] + drawn[k + 1]
        log_odds = math.log(size[k] / (len(z) - size[k]))
        log_odds -= 0.5 * float((moved**2 - drawn[0] ** 2).sum()) / bias_variance
        if uniforms[k] < math.exp(min(log_odds, 0.0)):
            z[:, k] = 1 - z[:, k]
            drawn[0] = moved
            drawn[k + 1] *= -1.0
    return z, drawn


def log_joint(
    cells: Cells,
    z: Bits,
    known: tuple[Floats, Floats],
    posterior: WeightPosterior,
    widths: Widths,
    alpha: float,
) -> float:
    """Return log p(X, Z) with the weights integrated out, up to what does not depend on Z, in nats.

    Identical features are counted as if they were not (the factor of their orders is left out).
    """
    n, size = len(z), z.sum(axis=0, dtype=np.float64)
    prior = len(size) * math.log(alpha)
    prior += float((gammaln(size) + gammaln(n - size + 1.0) - gammaln(n + 1.0)).sum())
    likelihood = float(np.linalg.slogdet(posterior.cov.transpose(2, 0, 1))[1].sum())
    likelihood += float((posterior.mean * known[1] / widths.noise).sum())
    likelihood -= cells.n_columns * float(np.log(widths.prior(len(size))).sum())
    return prior + 0.5 * likelihood
