"""Compiled inner loop of the accelerated Gibbs sampler: one object after another, with the weights integrated out.

For every column d the weights' posterior is kept as a covariance and a mean (slot 0 is the baseline, which every
object has). An object is taken out of it and put back by changes of rank one, so that a visit costs O(K^2) for each
known cell and nothing is solved. Columns run along the last axis of every array, where the loops vectorise; a
missing cell has the weight 0 and changes nothing.

Of `cov`, shape (room, room, D), only slots [k, l] with l <= k are kept up to date.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import OPTIONS, log
from acvb_core.models.lfm.kernels import Bits, Floats

#: Most features that can be born with one object in one visit.
BIRTHS = 6


class FeatureSlots(NamedTuple):
    """The sample and the posterior of the weights given all objects, with room for features; slot 0 is the baseline."""

    z: Bits  #: shape (N, room); slot 0 is one for every object
    size: Floats  #: shape (room,); number of objects with each feature
    cov: Floats  #: shape (room, room, D)
    mean: Floats  #: shape (room, D)


class NoisyCells(NamedTuple):
    """The cells of a table."""

    values: Floats  #: shape (N, D)
    observed: Floats  #: shape (N, D); 1 if a cell is known, 0 if it is missing
    noise: Floats  #: shape (D,); variances of their noise


@nb.njit(**OPTIONS)
def visit(
    objects: NDArray[np.int64],
    slots: FeatureSlots,
    width: int,
    cells: NoisyCells,
    weight_variance: float,
    alpha: float,
    most: int,
    uniforms: Floats,
) -> tuple[int, int, int]:
    """Draw the features of objects until all are done or there may be no room for those born.

    The slots are changed in place; `width` of them are in use, the baseline's included.

    `most`: limit of the features alive.
    `uniforms`: shape (n, room + 1).
    Returns: objects visited, slots in use now, and entries of z that changed (births and deaths included).
    """
    z, size, cov, mean = slots
    values, observed, noise = cells
    n_columns = values.shape[1]
    room = cov.shape[0]
    hz = np.empty((room, n_columns))
    v = np.empty(n_columns)
    mu = np.empty(n_columns)
    gain = np.empty(n_columns)
    shift = np.empty(n_columns)
    changed = 0
    for i in range(len(objects)):
        if width + min(BIRTHS, most + 1 - width) > room:
            return i, width, changed
        n = objects[i]
        x = values[n]
        known = observed[n]
        _project(z[n], cov, mean, width, hz, v, mu)
        for d in range(n_columns):
            gain[d] = known[d] / (noise[d] - v[d])
            shift[d] = -gain[d] * (x[d] - mu[d])
        _rank_one(cov, mean, hz, gain, shift, width)
        for d in range(n_columns):
            by = 1.0 + gain[d] * v[d]
            mu[d] += shift[d] * v[d]
            for k in range(width):
                hz[k, d] *= by
            v[d] *= by
        for k in range(1, width):
            size[k] -= z[n, k]
        # Features that only this object has stay while the others are drawn: those are drawn given them.
        for k in range(1, width):
            if size[k] > 0.5:
                changed += _draw_entry(
                    k, z[n], size, len(z), cov, mean, width, x, known, noise, hz, v, mu, uniforms[i, k]
                )
        died = 0
        for k in range(width - 1, 0, -1):
            if size[k] < 0.5:
                # Without the object its weights are as the prior says: it adds that to the variance.
                for d in range(n_columns):
                    v[d] += cov[k, k, d] - 2.0 * hz[k, d]
                    mu[d] -= mean[k, d]
                _drop(k, width, z, size, cov, mean, hz)
                width -= 1
                died += 1
        born = _draw_births(
            min(BIRTHS, most + 1 - width), alpha / len(z), x, known, noise, weight_variance, v, mu,
            uniforms[i, room],
        )  # fmt: skip
        for k in range(width, width + born):
            for other in range(k):
                cov[k, other] = 0.0
            cov[k, k] = weight_variance
            mean[k] = 0.0
            hz[k] = weight_variance
            v += weight_variance
            z[n, k] = 1
            size[k] = 0.0
        width += born
        changed += abs(born - died)
        for k in range(1, width):
            size[k] += z[n, k]
        for d in range(n_columns):
            gain[d] = -known[d] / (noise[d] + v[d])
            shift[d] = -gain[d] * (x[d] - mu[d])
        _rank_one(cov, mean, hz, gain, shift, width)
    return len(objects), width, changed


@nb.njit(**OPTIONS)
def _project(row: Bits, cov: Floats, mean: Floats, width: int, hz: Floats, v: Floats, mu: Floats) -> None:
    """Write cov z, z' cov z and z' mean of an object's features, column by column."""
    v[:] = 0.0
    mu[:] = 0.0
    for k in range(width):
        out = hz[k]
        out[:] = 0.0
        for other in range(width):
            if row[other]:
                part = cov[max(k, other), min(k, other)]
                for d in range(len(v)):
                    out[d] += part[d]
        if row[k]:
            weights = mean[k]
            for d in range(len(v)):
                v[d] += out[d]
                mu[d] += weights[d]


@nb.njit(**OPTIONS)
def _rank_one(cov: Floats, mean: Floats, hz: Floats, gain: Floats, shift: Floats, width: int) -> None:
    """Add gain * (cov z)(cov z)' to the covariance and shift * cov z to the mean, column by column."""
    scaled = np.empty(len(gain))
    for k in range(width):
        own = hz[k]
        weights = mean[k]
        for d in range(len(gain)):
            scaled[d] = gain[d] * own[d]
            weights[d] += shift[d] * own[d]
        for other in range(k + 1):
            part = cov[k, other]
            theirs = hz[other]
            for d in range(len(gain)):
                part[d] += scaled[d] * theirs[d]


@nb.njit(**OPTIONS)
def _drop(k: int, width: int, z: Bits, size: Floats, cov: Floats, mean: Floats, hz: Floats) -> None:
    """Close up the place of a feature that no object has by moving the last one into it."""
    last = width - 1
    for n in range(len(z)):
        z[n, k] = z[n, last]
        z[n, last] = 0
    if k == last:
        z[:, k] = 0
        return
    for other in range(last):
        if other != k:
            cov[max(k, other), min(k, other)] = cov[last, other]
    cov[k, k] = cov[last, last]
    mean[k] = mean[last]
    hz[k] = hz[last]
    size[k] = size[last]


@nb.njit(**OPTIONS)
def _draw_entry(
    k: int,
    row: Bits,
    size: Floats,
    n_objects: int,
    cov: Floats,
    mean: Floats,
    width: int,
    x: Floats,
    known: Floats,
    noise: Floats,
    hz: Floats,
    v: Floats,
    mu: Floats,
    uniform: float,
) -> int:
    """Draw whether an object has a feature that others have; return 1 when that changed."""
    sign = -1.0 if row[k] else 1.0
    own, weights, spread = hz[k], mean[k], cov[k, k]
    total = 0.0
    for d in range(len(v)):
        now = noise[d] + v[d]
        new = now + sign * 2.0 * own[d] + spread[d]
        error = x[d] - mu[d]
        other = error - sign * weights[d]
        total += known[d] * (error * error / now - other * other / new - log(new / now))
    log_odds = 0.5 * total + sign * math.log(size[k] / (n_objects - size[k]))
    if not uniform * (1.0 + math.exp(-log_odds)) < 1.0:
        return 0
    for d in range(len(v)):
        v[d] += sign * 2.0 * own[d] + spread[d]
        mu[d] += sign * weights[d]
    for other_k in range(width):
        part = cov[max(k, other_k), min(k, other_k)]
        out = hz[other_k]
        for d in range(len(v)):
            out[d] += sign * part[d]
    row[k] = 1 - row[k]
    return 1


@nb.njit(**OPTIONS)
def _draw_births(
    most: int,
    rate: float,
    x: Floats,
    known: Floats,
    noise: Floats,
    weight_variance: float,
    v: Floats,
    mu: Floats,
    uniform: float,
) -> int:
    """Draw how many features only this object has, from 0 to `most`, their weights integrated out."""
    if most < 1:
        return 0
    weights = np.empty(most + 1)
    prior = 0.0
    for j in range(most + 1):
        if j:
            prior += math.log(rate / j)
        total = 0.0
        for d in range(len(v)):
            variance = noise[d] + v[d] + j * weight_variance
            error = x[d] - mu[d]
            total += known[d] * (error * error / variance + log(variance))
        weights[j] = prior - 0.5 * total
    top = weights.max()
    total = 0.0
    for j in range(most + 1):
        weights[j] = math.exp(weights[j] - top)
        total += weights[j]
    threshold = uniform * total
    for j in range(most):
        threshold -= weights[j]
        if threshold < 0.0:
            return j
    return most
