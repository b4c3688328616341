"""Streaming methods: SVB (Hoffman et al. 2013), SCVB0 (FBDSW13) and SDM (SN15)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array
from acvb_core.core.spec import SHARDS, Values
from acvb_core.core.special import digamma, log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.documents import as_source, cut
from acvb_core.models.lda.hyper import Concentrations, check_concentrations
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, Singles, workspace
from acvb_core.models.lda.online.kernels import (
    BOUND,
    FIXED,
    LEFT_TO_RIGHT,
    PAPER,
    BatchSums,
    Pace,
    Prior,
    Sizing,
    WordTopics,
    WordUse,
    learn_alpha,
    longest_document,
    update_documents,
)
from acvb_core.models.lda.online.shards import ShardedStream
from acvb_core.models.lda.online.stream import (
    Batch,
    MinibatchMethod,
    Renewal,
    StreamBuffers,
    StreamMethod,
    StreamState,
)
from acvb_core.models.lda.spec import EARLY, fit_turn, fit_window
from acvb_core.models.lda.state import padded_copy, padded_zeros
from acvb_core.models.lda.trained import TrainedTopics


@dataclass(frozen=True, eq=False)
class StochasticVb(MinibatchMethod):
    """SVB bound to a stream (an `Algorithm`).

    References
    ----------
    Hoffman, Blei, Wang, Paisley, JMLR 14 (2013), Figure 6; the start of Hoffman, Blei, Bach, NIPS 23 (2010).
    """

    inner: int = 100  #: most updates of a document's topics and of its words' topics, in turn
    settled: float = 1e-3  #: stop when its expected counts change by less than this (mean over topics)

    def start_counts(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return Gamma(100, 1/100) numbers: 1 with a standard deviation of 0.1."""
        return self.start_rows(rng, self.source.n_words)

    def start_rows(self, rng: np.random.Generator, n: int) -> NDArray[np.float32]:
        """Return Gamma(100, 1/100) numbers for `n` words."""
        return padded_copy(rng.standard_gamma(100.0, (n, self.n_topics), dtype=np.float32) / 100)

    def weight(self, buffers: StreamBuffers, batch: Batch) -> float:
        """Return the number of documents of the corpus relative to the minibatch."""
        return max(buffers.documents, self.expected) / batch.documents

    def infer(
        self, buffers: StreamBuffers, batch: BatchSums, shard: Shard, order: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        """Add expected counts of some documents to a minibatch, with the topics fixed."""
        topics = self.word_topics(buffers)
        return infer_svb(order, shard, topics, batch, self.inner, self.settled, self.rule, buffers.prior)


@nb.njit(**OPTIONS)
def infer_svb(
    order: Integers,
    documents: Shard,
    topics: WordTopics,
    batch: BatchSums,
    inner: int,
    tolerance: float,
    rule: int,
    prior: Prior,
) -> tuple[float, float, float]:
    """Add expected counts of documents to `sums`, rows by `slots`, with the topics fixed.

    q ∝ exp{ psi(gamma_dk) + psi(beta + n_wk) - psi(V beta + n_k) } with gamma_dk = alpha_k + sum of c q, from
    gamma = 1 until it converges. The factor of the words is computed once per minibatch and stored in `weights`: a row
    of zeros in `sums` belongs to a new word. Each row is divided by its largest entry, which changes no q. Without
    that, exp{ psi(beta) } of a new or rare word would be too small for a float.

    Returns `loo, tokens, all_tokens`: as of `infer_scvb0`.
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


_RATES = 1 << 14


@dataclass(frozen=True, eq=False)
class StochasticCvb0(MinibatchMethod):
    """SCVB0 bound to a stream (an `Algorithm`).

    References
    ----------
    FBDSW13, Algorithm 1, with their "clumping": the tokens of one word are updated together.
    """

    #: (scale, offset, power): the t-th word of a document has the step scale / (offset + t)^power, at most 1.
    inner: tuple[float, float, float] = (1.0, 10.0, 0.9)
    burn_in_passes: int = 5  #: passes over a document before it counts

    @cached_property
    def _rates(self) -> Floats:
        scale, offset, power = self.inner
        return np.minimum(scale / (offset + np.arange(1.0, _RATES + 1.0)) ** power, 1.0)

    def start_counts(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return uniform random numbers whose sum is the tokens of the corpus, or one for each word."""
        rows = self.start_rows(rng, self.source.n_words)
        if self.known:
            rows *= np.float32(self.source.n_tokens / rows.sum(dtype=np.float64))
        return rows

    def start_rows(self, rng: np.random.Generator, n: int) -> NDArray[np.float32]:
        """Return uniform random numbers whose sum is one for each word."""
        rows = padded_zeros((n, self.n_topics), np.float32)
        rng.random(out=rows, dtype=np.float32)
        rows *= np.float32(n / rows.sum(dtype=np.float64))
        return rows

    def weight(self, buffers: StreamBuffers, batch: Batch) -> float:
        """Return the number of tokens of the corpus relative to the minibatch."""
        more = max(self.expected / buffers.documents, 1.0) if self.expected else 1.0
        return buffers.tokens * more / batch.tokens

    def infer(
        self, buffers: StreamBuffers, batch: BatchSums, shard: Shard, order: NDArray[np.int64]
    ) -> tuple[float, float, float]:
        """Add expected counts of some documents to a minibatch, with the topics fixed."""
        topics, steps = self.word_topics(buffers), (self.burn_in_passes, self.inner, self._rates)
        return infer_scvb0(order, shard, topics, batch, *steps, self.rule, buffers.prior)


@nb.njit(**OPTIONS)
def infer_scvb0(
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
    """Add expected counts of documents to `sums`, rows by `slots`, with the topics fixed (FBDSW13).

    For each word of a document in turn q ∝ (alpha_k + n_dk) (beta + n_wk) / (V beta + n_k), and for each of its c
    tokens n_dk <- (1 - rho) n_dk + rho n_d q_k. After `burn_in` passes, one more pass adds c q_k.

    Returns `loo`: sum over tokens of the log probability given the other tokens of the document (nats).
    Returns `tokens`: number of tokens in documents of more than one token.
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


@dataclass(eq=False)
class FrozenTopics:
    """The topics that all documents of a minibatch use."""

    by_word: Singles
    totals: Floats
    documents: int = 0  #: documents so far


@dataclass(frozen=True, eq=False)
class DivergenceMinimisation(StreamMethod):
    """SDM bound to a stream (an `Algorithm`).

    Reference: SN15 §7. `renew` and `early_passes` are not in the paper.
    """

    passes: int = 5  #: updates of the responsibilities of a document
    power: float = 0.7  #: the t-th update of a word has the step t^-power
    #: Most updates in each of the first documents (ten per topic), when the topics hardly differ; 0: as in the others.
    early_passes: int = 0
    documents: int = 1  #: documents in a minibatch; all of them use the same topics

    @property
    def batch(self) -> int:
        """Documents in a minibatch."""
        return self.documents

    @cached_property
    def _rates(self) -> Floats:
        return np.arange(1.0, _RATES + 1.0) ** -self.power

    def start_counts(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return nearly even counts, in proportion to 1 + 0.3 U(0, 1), of all tokens but one of each word, if known."""
        rows = self.start_rows(rng, self.source.n_words)
        if not self.known:
            return rows
        sizes = np.maximum(self.source.frequencies - 1.0, 0.0)
        for begin in range(0, len(sizes), _RATES):
            part = rows[begin : begin + _RATES]
            rng.random(out=part, dtype=np.float32)
            part *= np.float32(0.3)
            part += np.float32(1.0)
            part *= (sizes[begin : begin + _RATES, None] / part.sum(axis=1, keepdims=True)).astype(np.float32)
        return rows

    def start_rows(self, rng: np.random.Generator, n: int) -> NDArray[np.float32]:
        """Return counts of zero: a word has none before it is read."""
        return padded_zeros((n, self.n_topics), np.float32)

    def count_steps(self, state: StreamState) -> NDArray[np.int64]:
        """Return the number of updates of each word."""
        return state.steps

    def step_sizes(self, n: int) -> Floats:
        """Return t^-power."""
        return np.asarray(np.arange(1.0, n + 1.0) ** -self.power)

    def rescale_counts(self, by_word: Singles, old: Array, new: Array) -> Singles:
        """Return counts rescaled word by word; known sizes leave out one token."""
        less = 1.0 if self.known else 0.0
        before, after = np.maximum(old - less, 0.0), np.maximum(new - less, 0.0)
        ratio = np.divide(after, before, out=np.ones(len(old)), where=before > 0)
        by_word *= ratio[:, None].astype(np.float32)
        return by_word

    def learn(self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64]) -> None:
        """Update the topics with some documents of a shard."""
        if self.documents == 1:
            self._update(buffers, shard, order, self.word_topics(buffers), buffers.gone)
            return
        done = 0
        while done < len(order):
            frozen = buffers.batch
            if frozen is None or frozen.documents == self.documents:
                frozen = FrozenTopics(buffers.by_word.copy(), buffers.totals.copy())
                buffers.batch = frozen
            part = order[done : done + self.documents - frozen.documents]
            topics = self.word_topics(buffers)._replace(by_word=frozen.by_word, totals=frozen.totals)
            self._update(buffers, shard, part, topics, buffers.gone + done)
            frozen.documents += len(part)
            done += len(part)

    def _update(
        self, buffers: StreamBuffers, shard: Shard, order: NDArray[np.int64], topics: WordTopics, gone: int
    ) -> None:
        """Update the counts with documents that use these topics; `gone`: number of documents before them."""
        renewal = buffers.renewal or Renewal.begin(buffers.by_word[:0])
        early = max(EARLY * self.n_topics - gone, 0) if self.early_passes else 0
        use = WordUse(buffers.steps, buffers.sizes, renewal.by_word, renewal.tokens)
        pace = Pace(self.passes, early, self.early_passes, self.power, self._rates)
        sizing = Sizing(not self.known, buffers.counting, buffers.noise)
        written = (buffers.by_word, buffers.totals)
        loo, seen = update_documents(
            order, shard, topics, written, use, pace, sizing, self.rule, buffers.prior
        )
        buffers.loo += loo
        buffers.seen += seen
        if buffers.counting:
            buffers.documents += len(order)

    def flush(self, buffers: StreamBuffers) -> None:
        """Add up the tokens that were counted; the next window begins another minibatch."""
        buffers.batch = None
        if buffers.counting:
            buffers.tokens = float(buffers.sizes.sum())


_RULES = {"symmetric": FIXED, "left_to_right": LEFT_TO_RIGHT, "paper": PAPER, "bound": BOUND}


def build_stream(name: str, data: Any, values: Values, trained: TrainedTopics | None = None) -> Any:
    """Return SDM, SCVB0 or SVB with the values of its parameters; over shards or averaged if these say so."""
    common: dict[str, Any] = {
        "source": as_source(data),
        "n_topics": values["k"],
        "start": Concentrations.of_values(values) if trained is None else trained.concentrations,
        "rule": _RULES[values["prior"]],
        "window": values["window"],
        "shuffle": values["shuffle"],
        "known": values["totals"] == "corpus",
        "trained": trained,
        "documents": values["batch"],
        "power": values["step_power"],
    }
    method: StreamMethod
    if name == "sdm":
        own = {option: values[option] for option in ("passes", "renew", "early_passes")}
        method = DivergenceMinimisation(**common, **own)
    else:
        common |= {"scale": values["step_scale"], "offset": values["step_offset"]}
        if name == "svb":
            method = StochasticVb(**common, inner=values["inner"])
        else:
            inner = tuple(values[f"inner_{part}"] for part in ("scale", "offset", "power"))
            method = StochasticCvb0(**common, inner=inner, burn_in_passes=values["passes"])
    n_shards = values.get(SHARDS)
    found = ShardedStream(method, data, n_shards, values["merges"]) if n_shards else method
    if "burn_in_epochs" not in values:
        return found
    return AveragedAlgorithm(found, count_windows(data, values, values["burn_in_epochs"]), track=False)


def check_settings(data: Any, values: Values) -> None:
    """Raise ParameterError if alpha is too small, or if a stream over shards has no known size."""
    check_concentrations(data, values)
    if values.get(SHARDS) and values["totals"] != "corpus":
        raise ParameterError(
            f"totals is {values['totals']!r}; over shards the size of the stream must be that of the corpus."
        )


def count_windows(data: Any, values: Values, epochs: float) -> int:
    """Return the number of windows in so many epochs."""
    whole, rest = divmod(epochs, 1.0)
    n, batch, merges, n_shards = as_source(data).n_documents, values["batch"], 1, values.get(SHARDS) or 0
    read = fit_window(n, values["window"], batch)
    if n_shards:  # the largest shard decides
        n, merges = max(part.n_documents for part in cut(data, n_shards)), values["merges"]
        read = fit_turn(read, batch, n_shards * merges)
    turns, part = -(-n // read), int(np.ceil(rest * n / (read * merges) - 1e-6))
    return max(int(whole) * -(-turns // merges) + part, 1)
