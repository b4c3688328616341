"""Compiled loops of the collapsed methods for LDA, and sums of log Gamma over counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray
from scipy.special import gammaln

from acvb_core.core.parallel import cut_rows, map_together
from acvb_core.core.protocols import Array
from acvb_core.core.special import FAST, exp_single, lgamma, log, log_single, trigamma
from acvb_core.data.disk import Shard

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Integers = NDArray[Any]
OPTIONS = {"nogil": True, "cache": True, "fastmath": FAST, "error_model": "numpy"}
GAP = 256
_LINE = 16  # single-precision numbers in a cache line
_VECTORS = 32  # single-precision numbers in a step of a loop
_AHEAD = 2  # pairs between the prefetch of a word's counts and their use
_ZERO, _ONE, _HALF = np.float32(0), np.float32(1), np.float32(0.5)
#: Smaller probabilities are replaced by it: their products stay normal numbers, which are fast.
_FAINT = np.float32(1e-15)


class Counts(NamedTuple):
    """Expected numbers of tokens, or their variances."""

    #: `by_document`, `by_word`: shapes (D, K), (V, K); n_dk and n_wk.
    by_document: Array
    by_word: Array
    totals: Floats  #: shape (K,); n_k


class SinglePrior(NamedTuple):
    """Concentrations as the kernels read them."""

    alpha: Singles  #: shape (K,)
    beta: np.float32
    all_beta: float  #: V beta


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an element of a flat array for writing."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, *(ir.Constant(number, value) for value in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, index), codegen


@nb.njit(nogil=True, inline="always")
def fetch_ahead(flat: Singles, words: Integers, e: int, n_topics: int) -> None:
    """Prefetch the counts of the word of a later pair; `flat`: counts by word, shape (V K,)."""
    ahead = np.int64(words[min(e + _AHEAD, words.shape[0] - 1)]) * n_topics
    for k in range(0, n_topics, _LINE):
        prefetch(flat, ahead + k)


@nb.njit(nogil=True, inline="always")
def workspace(n_arrays: int, n_topics: int, dtype: Any) -> Any:
    """Return rows 1 … n_arrays of working memory, longer than needed so that each is far from other arrays.

    The rows are not cut to length, so that the compiler knows that they are contiguous. Each begins at a cache line:
    at random positions, a sweep could take a third longer.
    """
    length = (n_topics + _LINE - 1) // _LINE * _LINE + GAP
    numbers = np.empty((n_arrays + 2) * length + _LINE, dtype)
    first = (-(numbers.ctypes.data // numbers.itemsize)) % _LINE
    return numbers[first : first + (n_arrays + 2) * length].reshape(n_arrays + 2, length)


def chunk_pairs(n_topics: int, ns_each: float = 1.0) -> int:
    """Return the number of pairs in a kernel call of about 50 ms."""
    return int(max(256, 50e6 / (n_topics * ns_each)))


@nb.njit(**OPTIONS)
def zeroth_order(
    begin: int, end: int, documents: Shard, q: Singles, expected: Counts, prior: SinglePrior
) -> tuple[float, float]:
    """Update the pairs of documents `begin` to `end` (CVB0, AWST09), in place.

    q ∝ (alpha_k + n_dk - q_k) (beta + n_wk - q_k) / (V beta + n_k - q_k), with one token left out of each count.

    `q`: shape (n_pairs, K).
    Returns `moved`: sum over tokens of the L1 change of q.
    Returns `loo`: sum over tokens of the log of their probability given all others (nats).
    """
    pointers, words, counts = documents
    by_document, by_word, totals = expected
    alpha, beta, all_beta = prior
    n_topics = q.shape[1]
    rows = workspace(3, n_topics, np.float32)
    p, total, own = rows[1], rows[2], rows[3]
    flat = by_word.reshape(-1)
    concentration = 0.0
    for k in range(n_topics):
        concentration += alpha[k]
    moved = 0.0
    loo = 0.0
    for d in range(begin, end):
        stored = by_document[d]
        for k in range(n_topics):
            total[k] = totals[k] + all_beta
            own[k] = stored[k]
        length = 0.0
        moved_here: Any = _ZERO
        for e in range(pointers[d], pointers[d + 1]):
            fetch_ahead(flat, words, e, n_topics)
            row = q[e]
            word = by_word[words[e]]
            c = counts[e]
            s = _ZERO
            for k in range(n_topics):
                old = row[k]
                a = own[k] - old
                b = word[k] - old
                a = a if a > _ZERO else _ZERO
                b = b if b > _ZERO else _ZERO
                value = (a + alpha[k]) * (b + beta) / (total[k] - old)
                p[k] = value
                s += value
            inverse = _ONE / s
            loo += c * log_single(s)
            length += c
            for k in range(n_topics):
                new = p[k] * inverse
                step = c * (new - row[k])
                row[k] = new
                own[k] += step
                word[k] += step
                moved_here += abs(step)
        moved += moved_here
        if length > 0.0:
            loo -= length * log(length - 1.0 + concentration)
        for k in range(n_topics):
            totals[k] += own[k] - stored[k]
            stored[k] = own[k]
    return moved, loo


@nb.njit(**OPTIONS)
def add_counts(begin: int, end: int, documents: Shard, q: Singles, expected: Counts, spread: bool) -> None:
    """Add c q of the pairs of documents `begin` to `end` to the counts (`spread`: c q (1 - q) to their variances)."""
    pointers, words, counts = documents
    by_document, by_word, totals = expected
    n_topics = q.shape[1]
    sums = workspace(1, n_topics, np.float32)[1]
    flat = by_word.reshape(-1)
    for d in range(begin, end):
        sums[:n_topics] = _ZERO
        for e in range(pointers[d], pointers[d + 1]):
            fetch_ahead(flat, words, e, n_topics)
            c = counts[e]
            row = q[e]
            word = by_word[words[e]]
            for k in range(n_topics):
                x = c * row[k]
                if spread:
                    x *= _ONE - row[k]
                sums[k] += x
                word[k] += x
        for k in range(n_topics):
            by_document[d, k] += sums[k]
            totals[k] += sums[k]


@nb.njit(**OPTIONS)
def entropies(begin: int, end: int, pointers: Integers, weights: Singles, q: Singles) -> float:
    """Return sum_e c_e H(q_e) over the pairs of documents `begin` to `end`, in nats."""
    n_topics = q.shape[1]
    row = workspace(1, n_topics, np.float32)[1]
    row[:] = _ZERO  # zeros add no entropy, and fill the last vector
    length = (n_topics + _VECTORS - 1) // _VECTORS * _VECTORS
    total = 0.0
    for e in range(pointers[begin], pointers[end]):
        for k in range(n_topics):
            row[k] = q[e, k]
        here = _ZERO
        for k in range(length):
            x = row[k]
            here += x * log_single(x if x > np.float32(1e-30) else np.float32(1e-30))
        total -= weights[e] * here
    return total


@nb.njit(**OPTIONS)
def multiply_absences(begin: int, end: int, documents: Shard, q: Singles, absent: Counts) -> None:
    """Multiply by (1 - q)^c, the probability that no token of a pair has a topic, by document and by word."""
    pointers, words, counts = documents
    by_document, by_word, _ = absent
    n_topics = q.shape[1]
    rest = workspace(1, n_topics, np.float32)[1]
    flat = by_word.reshape(-1)
    for d in range(begin, end):
        here = by_document[d]
        for e in range(pointers[d], pointers[d + 1]):
            fetch_ahead(flat, words, e, n_topics)
            row = q[e]
            word = by_word[words[e]]
            # Powers 1 - q, (1 - q)^2, (1 - q)^4 … for the bits of c, usually one.
            left = np.int64(counts[e])
            for k in range(n_topics):
                rest[k] = _ONE - row[k]
            while left > 0:
                if left & 1:
                    for k in range(n_topics):
                        x, y = here[k] * rest[k], word[k] * rest[k]
                        here[k] = x if x > _FAINT else _FAINT
                        word[k] = y if y > _FAINT else _FAINT
                left >>= 1
                if left > 0:
                    for k in range(n_topics):
                        x = rest[k] * rest[k]
                        rest[k] = x if x > _FAINT else _FAINT


@nb.njit(**OPTIONS)
def leave_one_out(
    begin: int, end: int, documents: Shard, q: Singles, expected: Counts, prior: SinglePrior
) -> float:
    """Return the pseudo leave-one-out log likelihood of documents `begin` to `end` (nats).

    Without responsibilities (`q` has no rows), those that the counts imply are used:
    q ∝ (alpha_k + n_dk) (beta + n_wk) / (V beta + n_k).
    """
    pointers, words, counts = documents
    by_document, by_word, totals = expected
    alpha, beta, all_beta = prior
    n_topics = alpha.shape[0]
    rows = workspace(2, n_topics, np.float32)
    implied, total = rows[1], rows[2]
    concentration = 0.0
    for k in range(n_topics):
        total[k] = totals[k] + all_beta
        concentration += alpha[k]
    loo = 0.0
    for d in range(begin, end):
        own = by_document[d]
        length = 0.0
        for e in range(pointers[d], pointers[d + 1]):
            word = by_word[words[e]]
            row = implied
            if q.shape[0] > 0:
                row = q[e]
            else:
                s = _ZERO
                for k in range(n_topics):
                    value = (own[k] + alpha[k]) * (word[k] + beta) / total[k]
                    implied[k] = value
                    s += value
                inverse = _ONE / s
                for k in range(n_topics):
                    implied[k] *= inverse
            s = _ZERO
            for k in range(n_topics):
                a = own[k] - row[k]
                b = word[k] - row[k]
                a = a if a > _ZERO else _ZERO
                b = b if b > _ZERO else _ZERO
                s += (a + alpha[k]) * (b + beta) / (total[k] - row[k])
            loo += counts[e] * log(s)
            length += counts[e]
        if length > 0.0:
            loo -= length * log(length - 1.0 + concentration)
    return loo


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
    Returns `moved, loo`: as of `zeroth_order`; the predictive probability is without the correction.
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


_AT_ONCE = 4_000_000  # counts in one call of a kernel: about 50 ms


class DocumentTerms(NamedTuple):
    """Sums over documents in the bound, in nats."""

    gain: float  #: of lgamma(alpha_k + n_dk) - lgamma(alpha_k), over all topics
    lengths: float  #: of lgamma(alpha_. + n_d.) - lgamma(alpha_.)
    entropy: float | None = None  #: of the responsibilities; None if unknown


def document_terms(by_document: Array, alpha: Floats, entropy: float | None = None) -> DocumentTerms:
    """Return the sums of some documents; `by_document`: their counts, shape (D, K)."""
    lengths, total = by_document.sum(axis=1, dtype=np.float64), alpha.sum()
    of_lengths = float((gammaln(lengths + total) - gammaln(total)).sum())
    return DocumentTerms(log_gamma_gain(by_document, alpha), of_lengths, entropy)


def log_gamma_gain(counts: Array, concentration: Floats) -> float:
    """Return the sum over counts n of lgamma(c + n) - lgamma(c); counts below zero, from rounding, are 0.

    `counts`: shape (n, K); `concentration`: shape (K,), c of each column.
    """
    rows = cut_rows(counts, _AT_ONCE)
    return sum(map_together(lambda part: _log_gamma_gain(counts[part], concentration), rows))


def trigamma_sum(counts: Array, concentration: Floats, weights: Array) -> float:
    """Return the sum over counts n of psi1(c + n) times a weight; `weights` has the shape of the counts."""
    rows = cut_rows(counts, _AT_ONCE)
    return sum(
        map_together(lambda part: float(_trigamma_sum(counts[part], concentration, weights[part])), rows)
    )


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
