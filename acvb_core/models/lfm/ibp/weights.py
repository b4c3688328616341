"""The weights' posterior given the features that objects have: one linear regression for each column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.models.lfm.cells import Cells, Floats

#: Least precision of a weight's prior, as a share of the largest that the cells give any weight. It keeps features of
#: the same objects from being singular in columns whose unit is much smaller than that of the others.
LEAST_PRIOR = 1e-11


class Widths(NamedTuple):
    """Variances of the normal distributions of the model."""

    noise: Floats  #: shape (D,)
    #: `weights`, `bias`: of the weights and of the baselines, whose means are 0.
    weights: float
    bias: float

    def prior(self, n_features: int) -> Floats:
        """Return the prior variance of the baseline and of each weight of a column, shape (K + 1,)."""
        variances = np.full(n_features + 1, self.weights)
        variances[0] = self.bias
        return variances


class WeightPosterior(NamedTuple):
    """Normal distributions, one a column; slot 0 is the baseline."""

    #: Shape (K + 1, K + 1, D); of each pair of slots at least the one where the first is not the smaller is right (see
    #: `visit`).
    cov: Floats
    mean: Floats  #: shape (K + 1, D)

    def variances(self) -> Floats:
        """Return the variance of each weight, shape (K + 1, D)."""
        return np.ascontiguousarray(np.einsum("kkd->kd", self.cov))


def moments(cells: Cells, z: NDArray[np.int8], poll: Poll = no_poll) -> tuple[Floats, Floats]:
    """Return the sums of z z', (K + 1, K + 1, D), and of x z, (K + 1, D), over the known cells of each column.

    `z` is int8, shape (N, K); the baseline has slot 0.
    """
    n_objects, n_columns = cells.values.shape
    design = np.concatenate([np.ones((n_objects, 1)), z], axis=1)
    xz = design.T @ cells.values
    width = design.shape[1]
    if cells.observed is None:
        return np.repeat((design.T @ design)[:, :, None], n_columns, axis=2), xz
    zz = np.empty((width, width, n_columns))
    for k in range(width):
        own = design[:, k] > 0
        zz[k, : k + 1] = design[own, : k + 1].T @ cells.observed[own]
        zz[:k, k] = zz[k, :k]
        poll()
    return zz, xz


def weight_posterior(known: tuple[Floats, Floats], widths: Widths, poll: Poll = no_poll) -> WeightPosterior:
    """Return the posterior of the weights of every column, given the sums that `moments` returns."""
    zz, xz = known
    width, n_columns = xz.shape
    inner = np.arange(width)
    prior = 1.0 / widths.prior(width - 1)
    cov = np.empty_like(zz)
    some = max(1, int(1e7 / width**3))
    for at in range(0, n_columns, some):
        part = slice(at, at + some)
        information = np.ascontiguousarray((zz[:, :, part] / widths.noise[part]).transpose(2, 0, 1))
        least = LEAST_PRIOR * information[:, inner, inner].max(axis=1, keepdims=True)
        information[:, inner, inner] += np.maximum(prior, least)
        cov[:, :, part] = np.linalg.inv(information).transpose(1, 2, 0)
        poll()
    return WeightPosterior(cov, np.einsum("kld,ld->kd", cov, xz / widths.noise))


def draw_weights(posterior: WeightPosterior, rng: np.random.Generator) -> Floats:
    """Draw the weights of every column, shape (K + 1, D)."""
    root = np.linalg.cholesky(posterior.cov.transpose(2, 0, 1))
    return posterior.mean + np.einsum("dkl,ld->kd", root, rng.standard_normal(posterior.mean.shape))
