"""Plain reference of the methods for LDA that stream: loops over documents and words in double precision.

Nothing is put off, scaled lazily or stored twice: totals are summed afresh for every document, and
a minibatch moves every count. Documents are lists of (word, count); ``words`` is (V, K), the counts n_wk without beta.
Papers: SN15 = Sato, Nakagawa, KDD 2015; FBDSW13 = Foulds et al., KDD 2013; HBWP13 = Hoffman et al., JMLR 14 (2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import digamma

from acvb_core.data.corpus import Corpus
from tests.oracles.dense_irm import Array

Document = list[tuple[int, int]]

#: Concentrations stand still before so many documents were seen, and never fall below the floor.
FROZEN, FLOOR = 1000, 1e-5


def documents_of(corpus: Corpus) -> list[Document]:
    """The documents of a corpus, words in stored order."""
    rows = corpus.counts
    return [
        [(int(w), int(c)) for w, c in zip(rows.indices[a:b], rows.data[a:b], strict=True)]
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


@dataclass
class Prior:
    """alpha, and what it is learned from: means of alpha g and of the denominator, documents seen, sticks."""

    alpha: Array
    gains: Array
    denominator: float
    seen: int
    sticks: Array
    rule: str = "symmetric"

    def learn(self, counts: Array, p: Array, q: Array, n_d: Array) -> None:
        """Take one document in; ``n_d`` are its expected counts without alpha."""
        if self.rule == "left_to_right":
            gain, below = left_to_right(counts, p, self.alpha, self.seen)
            step = max(5e-4, (2 + self.seen) ** -0.7)
            self.gains = (1 - step) * self.gains + step * self.alpha * gain
            self.denominator = (1 - step) * self.denominator + step * below
            self.seen += 1
            if self.seen > FROZEN:
                self.alpha = np.maximum(self.gains / self.denominator, FLOOR)
        elif self.rule == "bound" or (self.rule == "paper" and counts.sum() > 1):
            paper = self.rule == "paper"
            slope = (
                loo_slope(counts, p, q, n_d, self.alpha)
                if paper
                else bound_slope(self.alpha, self.alpha + n_d)
            )
            step = (1 + self.seen) ** -0.5 / counts.sum()
            self.seen += 1
            self._climb(step * self.alpha * slope)

    def _climb(self, h: Array) -> None:
        if self.seen > FROZEN:
            self.sticks = self.sticks + stick_slope(h, self.sticks)
            self.alpha = np.maximum(alpha_of(self.sticks), FLOOR)


def alpha_of(sticks: Array) -> Array:
    """alpha_k = alpha0 v_k prod_{l<k} (1 - v_l), the last v being 1; sticks are log alpha0 and the logits of v."""
    v = np.append(1 / (1 + np.exp(-sticks[1:])), 1.0)
    left = np.append(1.0, np.cumprod(1 - v[:-1]))
    return np.exp(sticks[0]) * v * left


def stick_slope(h: Array, sticks: Array) -> Array:
    """The gradient for log alpha0 and the logits of v, h_k = alpha_k d f / d alpha_k."""
    v = 1 / (1 + np.exp(-sticks[1:]))
    after = np.array([h[k + 1 :].sum() for k in range(len(v))])
    return np.append(h.sum(), (1 - v) * h[:-1] - v * after)


def loo_of(counts: Array, p: Array, q: Array, n_d: Array, alpha: Array) -> float:
    """Sum over tokens of log sum_k (n_dk - q_k + alpha_k) p_k / (n_d - 1 + sum alpha)."""
    rest = ((n_d - q + alpha) * p).sum(axis=1)
    return float(counts @ np.log(rest) - counts.sum() * np.log(counts.sum() - 1 + alpha.sum()))


def loo_slope(counts: Array, p: Array, q: Array, n_d: Array, alpha: Array) -> Array:
    """Its gradient in alpha, token by token (SN15 §6)."""
    slope = np.zeros(len(alpha))
    for c, one, own in zip(counts, p, q, strict=True):
        for _ in range(int(c)):
            slope += one / ((n_d - own + alpha) @ one) - 1 / (counts.sum() - 1 + alpha.sum())
    return slope


def bound_slope(alpha: Array, gamma: Array) -> Array:
    """Its gradient in alpha."""
    return digamma(alpha.sum()) - digamma(alpha) + digamma(gamma) - digamma(gamma.sum())


def scattered(n: int, seen: int) -> list[int]:
    """The order in which the words of a document are taken after so many documents."""
    golden = (np.sqrt(5) - 1) / 2
    stride = next(s for s in range(max(int(golden * n), 1), n + 1) if np.gcd(s, n) == 1)
    return [(int(seen * golden % 1 * n) + turn * stride) % n for turn in range(n)]


def left_to_right(counts: Array, p: Array, alpha: Array, seen: int) -> tuple[Array, float]:
    """Sum over tokens of p_k / S, and of 1 / A."""
    n, gain, below = alpha.copy(), np.zeros(len(alpha)), 0.0
    order = scattered(len(counts), seen)
    for one in np.repeat(p[order], counts[order].astype(int), axis=0):
        share = one / (n @ one)
        gain += share
        below += 1 / n.sum()
        n = n + n * share
    return gain, below


@dataclass
class Sums:
    """The results of a window besides the topics."""

    loo: float = 0.0
    tokens: float = 0.0

    def add(self, counts: Array, log_rest: Array, alpha: Array) -> None:
        """Add a document's tokens; one alone has no others to be told by."""
        n = counts.sum()
        if n > 1:
            self.loo += float(counts @ log_rest - n * np.log(n - 1 + alpha.sum()))
            self.tokens += n


def sdm(
    documents: list[Document], words: Array, steps: Array, sizes: Array, prior: Prior, beta: float, *,
    passes: int, power: float, running: bool = False, counting: bool = False,
    noise: Callable[[int, int], float] = lambda w, k: 0.0, early: int = 0, early_passes: int = 0,
    renewing: bool = False, batch: int = 1,
) -> Sums:  # fmt: skip
    """SN15 §7, document by document; ``words``, ``steps``, ``sizes`` and the prior are changed.

    With ``running`` the vocabulary is the words met so far, this document's among them, and p of a word never met
    before is 1 + 0.1 ``noise`` times as large. The first ``early`` documents have ``early_passes`` at most. With
    ``renewing`` (the documents are a whole pass) the counts are those of before, as large as the share of a word's
    tokens that are still to come, and what the pass has said of the others. The documents of a ``batch`` are inferred
    by the topics of its beginning.
    """
    frozen = words.copy()
    before_all, said, gone = words.copy(), np.zeros(words.shape), np.zeros(len(words))
    told = Sums()
    for number, document in enumerate(documents):
        if number % batch == 0:
            frozen = words.copy()
        if not document:
            continue
        ids, counts = (np.array(part) for part in zip(*document, strict=True))
        alpha = prior.alpha
        met = np.union1d(np.flatnonzero(sizes), ids) if running else sizes
        p = (frozen[ids] + beta) / (frozen.sum(axis=0) + len(met) * beta)
        if running and counting:
            new = [[noise(w, k) if not sizes[w] else 0.0 for k in range(len(alpha))] for w in ids]
            p = p * (1 + 0.1 * np.array(new))
        q = alpha * p / (alpha * p).sum(axis=1, keepdims=True)
        n_d = counts @ q
        rest = np.zeros(len(ids))
        for _ in range(min(passes, early_passes) if number < early else passes):
            for i in range(len(ids)):
                x = (alpha + n_d - q[i]) * p[i]
                rest[i] = x.sum()
                n_d = n_d + counts[i] * (x / x.sum() - q[i])
                q[i] = x / x.sum()
        told.add(counts, np.log(rest), alpha)
        prior.learn(counts, p, q, n_d)
        for i, w in enumerate(ids):
            rho = (1 + steps[w]) ** -power
            steps[w] += 1
            if renewing:
                said[w] += counts[i] * q[i]
                gone[w] += counts[i]
                words[w] = before_all[w] * (sizes[w] - gone[w]) / sizes[w] + said[w]
            elif running and counting:
                before, sizes[w] = sizes[w], sizes[w] + counts[i]
                old = (1 - rho) * words[w] * (sizes[w] / before) + rho * sizes[w] * q[i] if before else None
                words[w] = sizes[w] * q[i] if old is None else old
            else:
                size = sizes[w] if running else max(sizes[w] - 1, 0)
                words[w] = (1 - rho) * words[w] + rho * size * q[i]
    return told


@dataclass
class Topics:
    """What a minibatch method continues with."""

    words: Array
    prior: Prior
    beta: float
    batches: int = 0
    documents: float = 0.0
    tokens: float = 0.0
    sums: Sums = field(default_factory=Sums)

    @property
    def phi(self) -> Array:
        """(beta + n_wk) / (V beta + n_k)."""
        counts = self.words + self.beta
        return counts / counts.sum(axis=0)


Infer = Callable[[Topics, Array, Array], tuple[Array, Array]]


def scvb0_document(
    topics: Topics, ids: Array, counts: Array, *, inner: Callable[[int], float], burn_in: int
) -> tuple[Array, Array]:
    """FBDSW13: the shares q of a document's words in the last pass, and its counts n_dk in the end."""
    p, alpha = topics.phi[ids], topics.prior.alpha
    n_d, q, rest = np.full(len(alpha), counts.sum() / len(alpha)), np.zeros(p.shape), np.zeros(len(ids))
    t = 0
    for _ in range(burn_in + 1):
        for i, c in enumerate(counts):
            x = (alpha + n_d) * p[i]
            q[i] = x / x.sum()
            rest[i] = (alpha + n_d - q[i]) @ p[i]
            t += 1
            for _ in range(int(c)):  # token by token: each of them moves the document
                n_d = (1 - inner(t)) * n_d + inner(t) * counts.sum() * q[i]
    topics.sums.add(counts, np.log(np.maximum(rest, 1e-30)), alpha)
    return q, n_d


def svb_document(
    topics: Topics, ids: Array, counts: Array, *, most: int, settled: float
) -> tuple[Array, Array]:
    """HBWP13, Figure 6: q ∝ exp{ psi(gamma_k) + E log phi_k } in turn with gamma, from gamma = 1."""
    counted = topics.words + topics.beta
    log_phi = digamma(counted[ids]) - digamma(counted.sum(axis=0))
    alpha = topics.prior.alpha
    gamma = np.ones(len(alpha))
    for _ in range(most):
        new = alpha + counts @ _softmax(digamma(gamma) + log_phi)
        moved, gamma = np.abs(new - gamma).mean(), new
        if moved < settled:
            break
    q = _softmax(digamma(gamma) + log_phi)
    rest = (np.maximum(gamma - q, 0) * topics.phi[ids]).sum(axis=1)
    topics.sums.add(counts, np.log(np.maximum(rest, 1e-30)), alpha)
    return q, gamma - alpha


def _softmax(x: Array) -> Array:
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def minibatches(
    topics: Topics, documents: list[Document], size: int, infer: Infer, step: Callable[[int], float], *,
    by: str, counting: bool = False,
) -> None:  # fmt: skip
    """Go through documents, ``size`` at a time: n <- (1 - rho) n + rho (corpus / minibatch) sum of c q.

    The corpus is so many times the minibatch, by "documents" or "tokens".
    """
    for begin in range(0, len(documents), size):
        part = documents[begin : begin + size]
        found = np.zeros(topics.words.shape)
        tokens = sum(c for document in part for _, c in document)
        if counting:
            topics.documents += len(part)
            topics.tokens += tokens
        for document in part:
            if document:
                ids, counts = (np.array(one) for one in zip(*document, strict=True))
                q, n_d = infer(topics, ids, counts)
                found[ids] += counts[:, None] * q
                topics.prior.learn(counts, topics.phi[ids], q, n_d)
        if tokens:
            topics.batches += 1
            rho = min(step(topics.batches), 1.0)
            weight = topics.documents / len(part) if by == "documents" else topics.tokens / tokens
            topics.words = (1 - rho) * topics.words + rho * weight * found
