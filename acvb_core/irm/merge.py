"""Merge clusters when the lower bound rises: a move that coordinate-wise sweeps cannot make.

Two clusters that split one true group are a fixed point of every variational method here, each object content
where it is, although the bound of the merged state is higher by tens of nats.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numba as nb
import numpy as np
from scipy.special import betaln, xlogy

from acvb_core.irm.hyper import Hyper
from acvb_core.irm.kernels import OPTIONS, Floats
from acvb_core.irm.state import IrmState, stick_log_evidence
from acvb_core.protocols import Checkpoint, no_checkpoint
from acvb_core.special import lbeta

#: A merge must raise the bound by more than this (nats), or rounding could undo and redo it.
_LEAST_GAIN = 1e-6


def merge_clusters(
    state: IrmState, *, largest_first: bool = True, checkpoint: Checkpoint = no_checkpoint
) -> tuple[IrmState, int]:
    """Merge pairs of clusters, best first, while the lower bound rises.

    Parameters
    ----------
    state : IrmState
        With its counts up to date.
    largest_first : bool
        Whether the merged clusters will be put in order of size (the stick-breaking prior depends on it).

    Returns
    -------
    state : IrmState
    merged : int
        Number of merges made.
    """
    merged = 0
    while True:
        best: tuple[float, str, int, int] | None = None
        for domain in ("rows", "cols"):
            found = _best_pair(state, domain, largest_first, checkpoint)
            if found is not None and (best is None or found[0] > best[0]):
                best = (found[0], domain, found[1], found[2])
        if best is None:
            return state, merged
        state = _merged(state, *best[1:])
        merged += 1


def _best_pair(
    state: IrmState, domain: str, largest_first: bool, checkpoint: Checkpoint
) -> tuple[float, int, int] | None:
    """Return the gain in the bound and the clusters of the best merge of a domain, None if none gains."""
    q, ones, entries, a, b, alpha = _domain_view(state, domain)
    n_clusters = q.shape[1]
    if n_clusters < 2:
        return None
    n, zeros = np.maximum(ones, 0.0), np.maximum(entries - ones, 0.0)
    own = (betaln(a + n, b + zeros) - betaln(a, b)).sum(axis=1)
    mass = q.sum(axis=0)
    sticks = stick_log_evidence(mass, alpha)
    limits = np.full((n_clusters, n_clusters), -np.inf)
    for k in range(n_clusters - 1):
        _gains_without_entropy(k, n, zeros, a, b, own, mass, alpha, sticks, largest_first, limits[k])
        checkpoint()
    # The entropy only falls in a merge, so the gain without it is an upper limit: look at the highest first.
    best: tuple[float, int, int] | None = None
    for pair in np.argsort(-limits, axis=None, kind="stable"):
        k, other = divmod(int(pair), n_clusters)
        least = _LEAST_GAIN if best is None else best[0]
        if limits[k, other] <= least:
            break
        both = q[:, k] + q[:, other]
        entropy = float((xlogy(q[:, k], q[:, k]) + xlogy(q[:, other], q[:, other]) - xlogy(both, both)).sum())
        if limits[k, other] + entropy > least:
            best = (float(limits[k, other]) + entropy, k, other)
        checkpoint()
    return best


@nb.njit(**OPTIONS)
def _gains_without_entropy(
    k: int,
    n: Floats,
    zeros: Floats,
    a: Floats,
    b: Floats,
    own: Floats,
    mass: Floats,
    alpha: float,
    sticks: float,
    largest_first: bool,
    out: Floats,
) -> None:
    """Write what the bound's blocks and sticks gain when each later cluster is put into cluster k."""
    n_clusters, n_other = n.shape
    prior = 0.0
    for m in range(n_other):
        prior += lbeta(a[k, m], b[k, m])
    after = np.empty(n_clusters - 1)
    for other in range(k + 1, n_clusters):
        joint = 0.0
        for m in range(n_other):
            joint += lbeta(a[k, m] + n[k, m] + n[other, m], b[k, m] + zeros[k, m] + zeros[other, m])
        at = 0
        for c in range(n_clusters):
            if c != other:
                after[at] = mass[c] + (mass[other] if c == k else 0.0)
                at += 1
        if largest_first:
            after = np.sort(after)[::-1].copy()
        out[other] = joint - prior - own[k] - own[other] + _stick_evidence(after, alpha) - sticks


@nb.njit(**OPTIONS)
def _stick_evidence(mass: Floats, alpha: float) -> float:
    """`state.stick_log_evidence`, compiled; lbeta(1, alpha) = -log(alpha)."""
    beyond = mass.sum()
    total = 0.0
    for k in range(mass.shape[0] - 1):
        beyond = max(beyond - mass[k], 0.0)
        total += lbeta(1.0 + mass[k], alpha + beyond) + math.log(alpha)
    return total


def _domain_view(state: IrmState, domain: str) -> tuple[Floats, Floats, Floats, Floats, Floats, float]:
    a, b = state.hyper.blocks(state.ones.shape)
    if domain == "rows":
        return state.rows, state.ones, state.entries, a, b, state.hyper.alpha_rows
    ones, entries, a, b = (np.ascontiguousarray(array.T) for array in (state.ones, state.entries, a, b))
    return state.cols, ones, entries, a, b, state.hyper.alpha_cols


def _merged(state: IrmState, domain: str, k: int, other: int) -> IrmState:
    """Return the state with cluster `other` of a domain put into cluster `k`; a per-block prior keeps k's."""

    def joined(array: Floats, axis: int) -> Floats:
        kept = np.delete(array, other, axis=axis)
        target = [slice(None)] * array.ndim
        target[axis] = slice(k, k + 1)
        kept[tuple(target)] += np.take(array, [other], axis=axis)
        return np.ascontiguousarray(kept)

    axis = 0 if domain == "rows" else 1
    hyper: Hyper = state.hyper
    if hyper.per_block:
        a, b = (np.ascontiguousarray(np.delete(array, other, axis=axis)) for array in (hyper.a, hyper.b))
        hyper = replace(hyper, a=a, b=b)
    rows = joined(state.rows, 1) if domain == "rows" else state.rows
    cols = joined(state.cols, 1) if domain == "cols" else state.cols
    ones, entries = joined(state.ones, axis), joined(state.entries, axis)
    return replace(state, rows=rows, cols=cols, ones=ones, entries=entries, hyper=hyper)
