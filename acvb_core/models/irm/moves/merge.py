"""Merge clusters when the lower bound rises: a move that coordinate-wise sweeps cannot make.

Two clusters that split one true group are a fixed point of every variational method here, each object content
where it is, although the bound of the merged state is higher by tens of nats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Poll, no_poll
from acvb_core.core.special import INLINE, lbeta, x_log_x
from acvb_core.models.irm.kernels import OPTIONS, Floats, block_terms
from acvb_core.models.irm.state import IrmState, stick_log_evidence

#: A merge must raise the bound by more than this (nats), or rounding could undo and redo it.
_LEAST_GAIN = 1e-6
#: Blocks that a kernel call takes at most, each with every later cluster of one domain.
_TERMS = 20_000


class _Pair(NamedTuple):
    gain: float
    domain: str
    k: int
    other: int


def merge_clusters(
    state: IrmState, *, largest_first: bool = True, poll: Poll = no_poll
) -> tuple[IrmState, int]:
    """Merge pairs of clusters, best first, while the lower bound rises; return the state and the number of merges.

    The counts of the state are up to date. `largest_first`: the merged clusters will be put in order of size, on
    which the stick-breaking prior depends.
    """
    merged = 0
    while True:
        best: _Pair | None = None
        for domain in state.q:
            pair = _best_pair(state, domain, largest_first, poll)
            if pair is not None and (best is None or pair.gain > best.gain):
                best = pair
        if best is None:
            return state, merged
        state = _merge_pair(state, best.domain, best.k, best.other)
        merged += 1


def promising_merges(
    state: IrmState, n: int, worst: float, poll: Poll = no_poll
) -> Iterator[tuple[IrmState, str, NDArray[np.bool_]]]:
    """Give the states after the n merges of each domain that change the bound's blocks and sticks most to the good.

    One that changes them by less than `worst` (nats, negative) is left out. Each comes with what is tried, and with
    the two clusters' members.
    """
    for domain, q in state.q.items():
        limits = _gains_without_entropy(state, domain, True, poll)
        labels = q.argmax(axis=1)
        for pair in np.argsort(-limits, axis=None, kind="stable")[:n]:
            k, other = divmod(int(pair), len(limits))
            if limits[k, other] > worst:
                members = (labels == k) | (labels == other)
                yield _merge_pair(state, domain, k, other), f"merge {domain}", members


def _best_pair(state: IrmState, domain: str, largest_first: bool, poll: Poll) -> _Pair | None:
    """Return the best merge of a domain that raises the bound, None if none does."""
    q = state.q[domain]
    if q.shape[1] < 2:
        return None
    limits = _gains_without_entropy(state, domain, largest_first, poll)
    # The entropy only falls in a merge, so the gain without it is an upper limit: look at the highest first.
    best: _Pair | None = None
    for pair in np.argsort(-limits, axis=None, kind="stable"):
        k, other = divmod(int(pair), len(limits))
        least = _LEAST_GAIN if best is None else best.gain
        if limits[k, other] <= least:
            break
        both = q[:, k] + q[:, other]
        entropy = float((x_log_x(q[:, k]) + x_log_x(q[:, other]) - x_log_x(both)).sum())
        if limits[k, other] + entropy > least:
            best = _Pair(float(limits[k, other]) + entropy, domain, k, other)
        poll()
    return best


def _gains_without_entropy(state: IrmState, domain: str, largest_first: bool, poll: Poll) -> Floats:
    """Return what the bound's blocks and sticks gain when a later cluster of a domain is put into an earlier one.

    Shape (K, K), -inf on and below the diagonal.
    """
    a, b = state.hyper.blocks(state.ones.shape)
    n, zeros = np.maximum(state.ones, 0.0), np.maximum(state.entries - state.ones, 0.0)
    heights = _log_beta(a + n, b + zeros)
    blocks = _Blocks(n, zeros, a, b, heights, heights - _log_beta(a, b))
    turned = _Blocks(*(np.ascontiguousarray(array.T) for array in blocks))
    layout = state.layout
    if domain != layout.axes[0]:
        blocks, turned = turned, blocks
    mass = state.q[domain].sum(axis=0)
    alpha = state.hyper.alpha[domain]
    # After a first merge the clusters may be out of order, and will not stay so.
    sticks = stick_log_evidence(-np.sort(-mass) if largest_first else mass, alpha)
    gains = np.full((len(mass), len(mass)), -np.inf)
    n_rows = max(_TERMS // max(n.size, 1), 1)
    for begin in range(0, len(mass) - 1, n_rows):
        end = min(begin + n_rows, len(mass) - 1)
        _write_gains(begin, end, blocks, turned, layout.one_domain, not layout.symmetric, gains)
        _add_stick_gains(begin, end, mass, alpha, sticks, largest_first, gains)
        poll()
    return gains


def _log_beta(x: Floats, y: Floats) -> Floats:
    out = np.empty(x.shape)
    block_terms(x.ravel(), y.ravel(), x.size, out.reshape(-1))
    return out


class _Blocks(NamedTuple):
    """Blocks of the clusters of a domain, its own clusters being the rows, shape (K, L)."""

    #: `ones`, `zeros`: expected counts. `a`, `b`: their Beta prior.
    ones: Floats
    zeros: Floats
    a: Floats
    b: Floats
    heights: Floats  #: log B(a + ones, b + zeros)
    terms: Floats  #: the same less log B(a, b): what the block adds to the bound


@nb.njit(**INLINE)
def _gain(k: int, other: int, m: int, blocks: _Blocks) -> float:
    """Return what block (other, m) gains when it is put into block (k, m)."""
    ones, zeros, a, b, heights, terms = blocks
    both = lbeta(a[k, m] + ones[k, m] + ones[other, m], b[k, m] + zeros[k, m] + zeros[other, m])
    return both - heights[k, m] - terms[other, m]


@nb.njit(**OPTIONS)
def _write_gains(
    begin: int,
    end: int,
    blocks: _Blocks,
    turned: _Blocks,
    one_domain: bool,
    directed: bool,
    out: Floats,
) -> None:
    """Write what the blocks gain when each later cluster is put into each of the clusters from `begin` to `end`."""
    for k in range(begin, end):
        if one_domain:
            _gains_within(k, blocks, turned, directed, out[k])
        else:
            _gains_across(k, blocks, out[k])


@nb.njit(**OPTIONS)
def _gains_across(k: int, blocks: _Blocks, out: Floats) -> None:
    """Write what the blocks gain when each later row cluster is put into cluster k, the columns being others."""
    n_clusters, n_other = blocks.ones.shape
    for other in range(k + 1, n_clusters):
        gain = 0.0
        for m in range(n_other):
            gain += _gain(k, other, m, blocks)
        out[other] = gain


@nb.njit(**OPTIONS)
def _gains_within(k: int, blocks: _Blocks, turned: _Blocks, directed: bool, out: Floats) -> None:
    """Write what the blocks gain when each later cluster is put into cluster k, rows and columns being the same."""
    n, zeros, a, b, heights, terms = blocks
    _gains_across(k, blocks, out)
    backward = np.zeros(out.shape[0])
    if directed:
        _gains_across(k, turned, backward)
    for other in range(k + 1, n.shape[0]):
        # The blocks of the two clusters with each other become one.
        gain = out[other] - _gain(k, other, k, blocks) - _gain(k, other, other, blocks)
        ones = n[k, k] + n[other, other] + n[k, other]
        nothing = zeros[k, k] + zeros[other, other] + zeros[k, other]
        gain -= heights[k, k] + terms[other, other] + terms[k, other]
        if directed:
            gain += backward[other] - _gain(k, other, k, turned) - _gain(k, other, other, turned)
            ones += n[other, k]
            nothing += zeros[other, k]
            gain -= terms[other, k]
        out[other] = gain + lbeta(a[k, k] + ones, b[k, k] + nothing)


@nb.njit(**OPTIONS)
def _add_stick_gains(
    begin: int, end: int, mass: Floats, alpha: float, sticks: float, largest_first: bool, out: Floats
) -> None:
    """Add what the prior's part of the bound gains by the same merges."""
    n_clusters = mass.shape[0]
    after = np.empty(n_clusters - 1)
    for k in range(begin, end):
        for other in range(k + 1, n_clusters):
            at = 0
            for c in range(n_clusters):
                if c != other:
                    after[at] = mass[c] + (mass[other] if c == k else 0.0)
                    at += 1
            if largest_first:
                _sort_downwards(after)
            out[k, other] += stick_log_evidence(after, alpha) - sticks


@nb.njit(**OPTIONS)
def _sort_downwards(values: Floats) -> None:
    """Sort in place, largest first, by insertion: clusters are nearly in order, and `np.sort` takes 3 s to compile."""
    for i in range(1, values.shape[0]):
        value = values[i]
        at = i
        while at > 0 and values[at - 1] < value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


def _merge_pair(state: IrmState, domain: str, k: int, other: int) -> IrmState:
    """Return the state with cluster `other` of a domain put into cluster `k`; a per-block prior keeps k's."""
    layout, hyper = state.layout, state.hyper
    axes = [axis for axis, name in enumerate(layout.axes) if name == domain]
    ones, entries, a, b = state.ones, state.entries, hyper.a, hyper.b
    for axis in axes:
        ones, entries = _add_slice(ones, axis, k, other), _add_slice(entries, axis, k, other)
        if hyper.per_block:
            a, b = (np.ascontiguousarray(np.delete(array, other, axis=axis)) for array in (a, b))
    if layout.symmetric:
        # The block of the pairs between the two is stored twice: it has been added twice.
        ones[k, k] -= state.ones[k, other]
        entries[k, k] -= state.entries[k, other]
    q = {**state.q, domain: _add_slice(state.q[domain], 1, k, other)}
    return replace(state, q=q, ones=ones, entries=entries, hyper=replace(hyper, a=a, b=b))


def _add_slice(array: Floats, axis: int, k: int, other: int) -> Floats:
    """Return the array with slice `other` of an axis added to slice k < other, and left out."""
    rest = np.delete(array, other, axis=axis)
    target: list[slice | NDArray[np.int64]] = [slice(None)] * array.ndim
    target[axis] = slice(k, k + 1)
    rest[tuple(target)] += np.take(array, [other], axis=axis)
    return np.ascontiguousarray(rest)
