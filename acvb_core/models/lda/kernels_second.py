"""Compiled sweep of second-order CVB for LDA (TNW07 eq. 18); see `kernels.py` for what the arrays are."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from acvb_core.core.special import exp_single, log, log_single
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Counts, SinglePrior, Singles, workspace

_ZERO, _ONE, _HALF = np.float32(0), np.float32(1), np.float32(0.5)


@nb.njit(**OPTIONS)
def second_order(
    begin: int,
    end: int,
    documents: Shard,
    q: Singles,
    expected: Counts,
    variances: Counts,
    prior: SinglePrior,
) -> tuple[float, float]:
    """Update the pairs of documents `begin` to `end` (CVB), in place.

    The zeroth-order q times exp{ -v_dk / (2 (alpha + n_dk)^2) - v_wk / (2 (beta + n_wk)^2)
    + v_k / (2 (V beta + n_k)^2) }, with one token left out of every mean n and variance v.

    `variances`: sums of c q (1 - q).
    Returns `moved, loo`: as `zeroth_order` gives them; the predictive probability is that without the correction.
    """
    pointers, words, counts = documents
    by_document, by_word, totals = expected
    spread_document, spread_word, spread_totals = variances
    alpha, beta, all_beta = prior
    n_topics = q.shape[1]
    rows = workspace(5, n_topics, np.float32)
    p, total, spread_total, own, spread = rows[1], rows[2], rows[3], rows[4], rows[5]
    concentration = 0.0
    for k in range(n_topics):
        concentration += alpha[k]
    moved = 0.0
    loo = 0.0
    for d in range(begin, end):
        for k in range(n_topics):
            total[k] = totals[k] + all_beta
            spread_total[k] = spread_totals[k]
            own[k] = by_document[d, k]
            spread[k] = spread_document[d, k]
        length = 0.0
        moved_here: Any = _ZERO
        for e in range(pointers[d], pointers[d + 1]):
            row = q[e]
            word = by_word[words[e]]
            word_spread = spread_word[words[e]]
            c = counts[e]
            s = _ZERO
            plain = _ZERO
            for k in range(n_topics):
                old = row[k]
                variance = old * (_ONE - old)
                a = own[k] - old
                b = word[k] - old
                a = (a if a > _ZERO else _ZERO) + alpha[k]
                b = (b if b > _ZERO else _ZERO) + beta
                t = total[k] - old
                va = spread[k] - variance
                vb = word_spread[k] - variance
                vt = spread_total[k] - variance
                va = va if va > _ZERO else _ZERO
                vb = vb if vb > _ZERO else _ZERO
                vt = vt if vt > _ZERO else _ZERO
                ia, ib, it = _ONE / a, _ONE / b, _ONE / t
                value = a * b * it
                plain += value
                value *= exp_single(_HALF * (vt * it * it - va * ia * ia - vb * ib * ib))
                p[k] = value
                s += value
            inverse = _ONE / s
            loo += c * log_single(plain)
            length += c
            for k in range(n_topics):
                new = p[k] * inverse
                old = row[k]
                step = c * (new - old)
                wider = c * (new * (_ONE - new) - old * (_ONE - old))
                row[k] = new
                own[k] += step
                word[k] += step
                spread[k] += wider
                word_spread[k] += wider
                moved_here += abs(step)
        moved += moved_here
        if length > 0.0:
            loo -= length * log(length - 1.0 + concentration)
        for k in range(n_topics):
            totals[k] += own[k] - by_document[d, k]
            spread_totals[k] += spread[k] - spread_document[d, k]
            by_document[d, k] = own[k]
            spread_document[d, k] = spread[k]
    return moved, loo
