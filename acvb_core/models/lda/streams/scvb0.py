"""Stochastic CVB0: running means of what minibatches say, within a document and over the corpus (FBDSW13)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.special import log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, workspace
from acvb_core.models.lda.state import padded_zeros
from acvb_core.models.lda.streams.kernels_prior import learn_alpha, longest_document
from acvb_core.models.lda.streams.minibatch import Batch, BatchSums, MinibatchMethod
from acvb_core.models.lda.streams.state import Prior, StreamBuffers
from acvb_core.models.lda.streams.stream import WordTopics

_RATES = 1 << 14


@dataclass(frozen=True, eq=False)
class StochasticCvb0(MinibatchMethod):
    """SCVB0 bound to a stream (an `Algorithm`).

    References
    ----------
    FBDSW13, Algorithm 1, with their "clumping": the tokens of one word are taken together.
    """

    #: `inner_scale`, `inner_offset`, `inner_power`: the step of the t-th word of a document, from 1, is scale /
    #: (offset + t)^power, 1 at most.
    inner_scale: float = 1.0
    inner_offset: float = 10.0
    inner_power: float = 0.9
    burn_in_passes: int = 5  #: times that a document is gone through before it counts

    @cached_property
    def _rates(self) -> Floats:
        t = np.arange(1.0, _RATES + 1.0)
        return np.minimum(self.inner_scale / (self.inner_offset + t) ** self.inner_power, 1.0)

    def start_counts(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return uniform random numbers that add up to the tokens of the corpus, or to one for each word."""
        rows = self.start_rows(rng, self.source.n_words)
        if self.known:
            rows *= np.float32(self.source.n_tokens / rows.sum(dtype=np.float64))
        return rows

    def start_rows(self, rng: np.random.Generator, n: int) -> NDArray[np.float32]:
        """Return uniform random numbers that add up to one for each word."""
        rows = padded_zeros((n, self.n_topics), np.float32)
        rng.random(out=rows, dtype=np.float32)
        rows *= np.float32(n / rows.sum(dtype=np.float64))
        return rows

    def weight(self, buffers: StreamBuffers, batch: Batch) -> float:
        """Return how many times its tokens the corpus has."""
        more = max(self.expected / buffers.documents, 1.0) if self.expected else 1.0
        return buffers.tokens * more / batch.tokens

    def infer(
        self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        """Add the expected counts of some documents to the mini-batch."""
        inner = (self.inner_scale, self.inner_offset, self.inner_power)
        return infer_documents(
            order, shard, self.word_topics(buffers), buffers.batch.arrays, self.burn_in_passes, inner, self._rates,
            self.rule, buffers.prior,
        )  # fmt: skip


@nb.njit(**OPTIONS)
def infer_documents(
    order: Integers,
    documents: Shard,
    topics: WordTopics,
    batch: BatchSums,
    burn_in: int,
    inner: tuple[float, float, float],
    rates: Floats,
    rule: int,
    prior: Prior,
) -> tuple[float, float, float]:
    """Add the expected counts of documents to `sums`, rows by `slots`; the topics stay as they are (FBDSW13).

    For each word of a document in turn q ∝ (alpha_k + n_dk) (beta + n_wk) / (V beta + n_k), and for each of its c
    tokens n_dk <- (1 - rho) n_dk + rho n_d q_k. After `burn_in` passes one more, in which c q_k is added.

    Returns `loo`: sum over tokens of the log of their probability given the others of their document (nats).
    Returns `tokens`: … and how many of them have others.
    Returns `all_tokens`.
    """
    pointers, words, counts = documents
    by_word, scale, totals, beta, all_beta = topics
    slots, sums, _, sum_totals = batch
    alpha = prior.alpha
    n_topics = alpha.shape[0]
    dtype = by_word.dtype
    single = dtype.type
    zero, one = single(0), single(1)
    rows = workspace(4, n_topics, dtype)
    inverse_total, expected, p, spare = rows[1], rows[2], rows[3], rows[4]
    scratch = np.empty(n_topics, np.float64)
    longest = longest_document(order, pointers)
    by_topic = workspace(longest, n_topics, dtype)[1:]
    q = workspace(longest, n_topics, dtype)[1:]
    for k in range(n_topics):
        inverse_total[k] = 1.0 / (totals[k] + all_beta)
    loo, tokens, all_tokens = 0.0, 0.0, 0.0
    for at in range(order.shape[0]):
        first = pointers[order[at]]
        n = pointers[order[at] + 1] - first
        if n == 0:
            continue
        length = 0.0
        for i in range(n):
            word, here = by_word[words[first + i]], by_topic[i]
            length += counts[first + i]
            for k in range(n_topics):
                here[k] = (word[k] * scale + beta) * inverse_total[k]
        concentration = 0.0
        for k in range(n_topics):
            concentration += alpha[k]
            expected[k] = length / n_topics + alpha[k]
        t = 0
        log_p = 0.0
        for turn in range(burn_in + 1):
            last = turn == burn_in
            for i in range(n):
                here, own, c = by_topic[i], q[i], single(counts[first + i])
                s = zero
                for k in range(n_topics):
                    x = expected[k] * here[k]
                    p[k] = x
                    s += x
                inverse = one / s
                rho = (
                    rates[t] if t < rates.shape[0] else min(inner[0] / (inner[1] + t + 1.0) ** inner[2], 1.0)
                )
                t += 1
                keep = single((1.0 - rho) ** counts[first + i])
                part = single((1.0 - keep) * length) * inverse
                if last:
                    word = sums[slots[words[first + i]]]
                    itself = zero
                    for k in range(n_topics):
                        x = p[k] * inverse
                        own[k] = x
                        itself += x * here[k]
                        word[k] += c * x
                        scratch[k] = c * x
                    for k in range(n_topics):
                        sum_totals[k] += scratch[k]
                    rest = s - itself
                    log_p += c * log(rest if rest > single(1e-30) else single(1e-30))
                for k in range(n_topics):
                    # What is kept is n_dk, without the alpha in `expected`.
                    expected[k] = keep * (expected[k] - alpha[k]) + part * p[k] + alpha[k]
        all_tokens += length
        if length > 1.0:
            loo += log_p - length * log(length - 1.0 + concentration)
            tokens += length
        learn_alpha(rule, prior, (n, first, counts), by_topic, q, expected, spare, scratch)
    return loo, tokens, all_tokens
