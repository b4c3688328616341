"""Sums of log Gamma and trigamma over all counts, for the bounds of LDA, in compiled loops.

SciPy's functions take ten times as long, which the bound of a long run would take longer to evaluate than the run.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from scipy.special import gammaln

from acvb_core.core.parallel import map_together
from acvb_core.core.protocols import Array
from acvb_core.core.special import lgamma, trigamma
from acvb_core.models.lda.kernels import OPTIONS, Floats

_AT_ONCE = 4_000_000  # counts in one call of a kernel: some 50 ms


class DocumentTerms(NamedTuple):
    """Sums over documents that the bound is made of, in nats."""

    gain: float  #: of lgamma(alpha_k + n_dk) - lgamma(alpha_k), over all topics
    lengths: float  #: of lgamma(alpha_. + n_d.) - lgamma(alpha_.)
    entropy: float | None = None  #: of the responsibilities of their tokens; None where it is not known


def document_terms(by_document: Array, alpha: Floats, entropy: float | None = None) -> DocumentTerms:
    """Return the sums of some documents, `by_document` their counts, shape (D, K)."""
    lengths, total = by_document.sum(axis=1, dtype=np.float64), alpha.sum()
    of_lengths = float((gammaln(lengths + total) - gammaln(total)).sum())
    return DocumentTerms(log_gamma_gain(by_document, alpha), of_lengths, entropy)


def log_gamma_gain(counts: Array, concentration: Floats) -> float:
    """Return the sum over counts n of lgamma(c + n) - lgamma(c); counts that rounding left below zero are 0.

    `counts`: shape (n, K).
    `concentration`: shape (K,); c, one for each column.
    """
    return sum(map_together(lambda part: _log_gamma_gain(counts[part], concentration), _row_slices(counts)))


def trigamma_sum(counts: Array, concentration: Floats, weights: Array) -> float:
    """Return the sum over counts n of psi1(c + n) times a weight; `weights` has the shape of the counts."""

    def add_up(part: slice) -> float:
        return float(_trigamma_sum(counts[part], concentration, weights[part]))

    return sum(map_together(add_up, _row_slices(counts)))


def _row_slices(counts: Array) -> list[slice]:
    step = max(1, _AT_ONCE // counts.shape[1])
    return [slice(begin, begin + step) for begin in range(0, len(counts), step)]


@nb.njit(**OPTIONS)
def _log_gamma_gain(counts: Array, concentration: Floats) -> float:
    n_columns = concentration.shape[0]
    base = np.empty(n_columns)
    for k in range(n_columns):
        base[k] = lgamma(concentration[k])
    total = 0.0
    for i in range(counts.shape[0]):
        row = counts[i]
        for k in range(n_columns):
            n = np.float64(row[k])
            total += lgamma(concentration[k] + (n if n > 0.0 else 0.0)) - base[k]
    return total


@nb.njit(**OPTIONS)
def _trigamma_sum(counts: Array, concentration: Floats, weights: Array) -> float:
    total = 0.0
    for i in range(counts.shape[0]):
        row = counts[i]
        weight = weights[i]
        for k in range(concentration.shape[0]):
            n = np.float64(row[k])
            total += trigamma(concentration[k] + (n if n > 0.0 else 0.0)) * weight[k]
    return total
