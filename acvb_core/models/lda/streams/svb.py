"""Stochastic variational Bayes for LDA: a step of the natural gradient for each minibatch (Hoffman et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import digamma, log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Integers, workspace
from acvb_core.models.lda.state import padded_copy
from acvb_core.models.lda.streams.kernels_prior import learn_alpha, longest_document
from acvb_core.models.lda.streams.minibatch import Batch, BatchSums, MinibatchMethod
from acvb_core.models.lda.streams.state import Prior, StreamBuffers
from acvb_core.models.lda.streams.stream import WordTopics


@dataclass(frozen=True, eq=False)
class StochasticVb(MinibatchMethod):
    """SVB bound to a stream (an `Algorithm`).

    References
    ----------
    Hoffman, Blei, Wang, Paisley, JMLR 14 (2013), Figure 6; the start of Hoffman, Blei, Bach, NIPS 23 (2010).
    """

    inner: int = 100  #: times that a document's topics and its words' are updated in turn, at most
    settled: float = 1e-3  #: … fewer when its expected counts change by less than this (mean over topics)

    def start_counts(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return Gamma(100, 1/100) numbers, 1 give or take a tenth."""
        return self.start_rows(rng, self.source.n_words)

    def start_rows(self, rng: np.random.Generator, n: int) -> NDArray[np.float32]:
        """Return the same for `n` words."""
        return padded_copy(rng.standard_gamma(100.0, (n, self.n_topics), dtype=np.float32) / 100)

    def weight(self, buffers: StreamBuffers, batch: Batch) -> float:
        """Return how many times its documents the corpus has."""
        return max(buffers.documents, self.expected) / batch.documents

    def infer(
        self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        """Add the expected counts of some documents to the mini-batch."""
        topics, batch = self.word_topics(buffers), buffers.batch.arrays
        return infer_documents(
            order, shard, topics, batch, self.inner, self.settled, self.rule, buffers.prior
        )


@nb.njit(**OPTIONS)
def infer_documents(
    order: Integers,
    documents: Shard,
    topics: WordTopics,
    batch: BatchSums,
    inner: int,
    tolerance: float,
    rule: int,
    prior: Prior,
) -> tuple[float, float, float]:
    """Add the expected counts of documents to `sums`, rows by `slots`; the topics stay as they are.

    q ∝ exp{ psi(gamma_dk) + psi(beta + n_wk) - psi(V beta + n_k) } with gamma_dk = alpha_k + sum of c q, from
    gamma = 1 until it has settled. The words' part is worked out once a minibatch and kept in `weights`: a row that is
    all zero in `sums` stands for a word met for the first time. Each row is divided by its largest entry, which
    changes no q: of a word that is new, or was not met for long, exp{ psi(beta) } would be too small for a float.

    Returns `loo, tokens, all_tokens`: as for SCVB0 (`scvb0.infer_documents`).
    """
    pointers, words, counts = documents
    by_word, scale, totals, beta, all_beta = topics
    slots, sums, weights, sum_totals = batch
    alpha = prior.alpha
    n_topics = alpha.shape[0]
    dtype = by_word.dtype
    single = dtype.type
    zero, one = single(0), single(1)
    rows = workspace(5, n_topics, dtype)
    inverse_total, expected, theta, gathered, spare = rows[1], rows[2], rows[3], rows[4], rows[5]
    scratch = np.empty(n_topics, np.float64)
    base = np.empty(n_topics, np.float64)
    longest = longest_document(order, pointers)
    by_topic = workspace(longest, n_topics, dtype)[1:]
    q = workspace(longest, n_topics, dtype)[1:]
    for k in range(n_topics):
        inverse_total[k] = 1.0 / (totals[k] + all_beta)
        base[k] = digamma(totals[k] + all_beta)
    loo, tokens, all_tokens = 0.0, 0.0, 0.0
    for at in range(order.shape[0]):
        first = pointers[order[at]]
        n = pointers[order[at] + 1] - first
        if n == 0:
            continue
        length = 0.0
        for i in range(n):
            w = words[first + i]
            word, here, weight = by_word[w], by_topic[i], weights[slots[w]]
            length += counts[first + i]
            fresh = True
            for k in range(n_topics):
                here[k] = (word[k] * scale + beta) * inverse_total[k]
                fresh = fresh and sums[slots[w], k] == zero
            if fresh:
                largest = -1e300
                for k in range(n_topics):
                    scratch[k] = digamma(float(word[k] * scale + beta)) - base[k]
                    largest = max(largest, scratch[k])
                for k in range(n_topics):
                    weight[k] = np.exp(scratch[k] - largest)
        concentration = 0.0
        for k in range(n_topics):
            concentration += alpha[k]
            expected[k] = one
        for _ in range(inner):
            for k in range(n_topics):
                theta[k] = np.exp(digamma(float(expected[k])))
                gathered[k] = zero
            for i in range(n):
                weight = weights[slots[words[first + i]]]
                s = single(1e-30)
                for k in range(n_topics):
                    s += theta[k] * weight[k]
                ratio = single(counts[first + i]) / s
                for k in range(n_topics):
                    gathered[k] += ratio * weight[k]
            moved = zero
            for k in range(n_topics):
                x = alpha[k] + theta[k] * gathered[k]
                moved += abs(x - expected[k])
                expected[k] = x
            if moved < tolerance * n_topics:
                break
        for k in range(n_topics):
            theta[k] = np.exp(digamma(float(expected[k])))
        log_p = 0.0
        for i in range(n):
            slot = slots[words[first + i]]
            weight, here, own, word = weights[slot], by_topic[i], q[i], sums[slot]
            c = single(counts[first + i])
            s = single(1e-30)
            for k in range(n_topics):
                s += theta[k] * weight[k]
            inverse = one / s
            rest = zero
            for k in range(n_topics):
                x = theta[k] * weight[k] * inverse
                own[k] = x
                word[k] += c * x
                left = expected[k] - x
                rest += (left if left > zero else zero) * here[k]
                scratch[k] = c * x
            for k in range(n_topics):
                sum_totals[k] += scratch[k]
            log_p += c * log(rest if rest > single(1e-30) else single(1e-30))
        all_tokens += length
        if length > 1.0:
            loo += log_p - length * log(length - 1.0 + concentration)
            tokens += length
        learn_alpha(rule, prior, (n, first, counts), by_topic, q, expected, spare, scratch)
    return loo, tokens, all_tokens
