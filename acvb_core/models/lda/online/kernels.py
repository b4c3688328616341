"""Compiled updates of the streaming methods: concentrations of topics, and SDM (SN15 §7)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from acvb_core.core.special import digamma, log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, Singles, prefetch, workspace
from acvb_core.models.lda.spec import FROZEN

#: Rules: none, left to right, the gradient of the leave-one-out likelihood, that of the lower bound.
FIXED, LEFT_TO_RIGHT, PAPER, BOUND = 0, 1, 2, 3
#: Least alpha; a topic with it is not in use.
FLOOR = 1e-5
#: Weight of a document in the means for alpha: (2 + documents)^-EASE, at least LEAST.
EASE, LEAST = 0.7, 5e-4
#: Least sum of alpha_k and the counts of a document's other tokens.
LEAST_LEFT = 1e-9
#: Step between two words in the order of the first rule, as a share of the document's words.
GOLDEN = 0.6180339887498949
#: The tokens of a word are processed in groups of at most 1 / BLOCK of the tokens before them. So a word with a million
#: tokens takes some hundred steps, not a million.
BLOCK = 64.0
#: A document's weight in the gradient rule is (1 + documents)^-SLOWING.
SLOWING = 0.5


class Prior(NamedTuple):
    """Concentrations of the topics in a document, and the sums that they are learned from."""

    alpha: Singles  #: shape (K,)
    gains: Floats  #: shape (K,); weighted mean over documents of alpha_k g_k (see `left_to_right`)
    sticks: Floats  #: shape (K,); log alpha0, then logit v_k of the stick breaking
    scalars: Floats  #: shape (2,); weighted mean of the denominators; documents seen

    @classmethod
    def begin(cls, alpha: Floats) -> Prior:
        """Return concentrations that nothing was learned about."""
        rest = np.cumsum(alpha[::-1])[::-1]
        share = np.clip(alpha[:-1] / rest[:-1], 1e-9, 1.0 - 1e-9)
        sticks = np.concatenate([[np.log(rest[0])], np.log(share) - np.log1p(-share)])
        return cls(alpha.astype(np.float32), np.zeros(len(alpha)), sticks, np.zeros(2))


class WordTopics(NamedTuple):
    """The topics as the kernels of streams read them."""

    by_word: Any  #: shape (V, K); n_wk divided by `scale`; its type is that of the computation
    scale: Any
    totals: Floats  #: shape (K,); n_k
    beta: Any
    all_beta: float  #: V beta


class BatchSums(NamedTuple):
    """The sums of a `Batch` as the kernels read them."""

    slots: Integers
    sums: Any
    cache: Any
    totals: Floats


@nb.njit(**OPTIONS)
def left_to_right(
    n: int,
    first: int,
    counts: Singles,
    p: Any,
    alpha: Any,
    row: Any,
    sums: Floats,
    gains: Floats,
    scalars: Floats,
) -> None:
    """Learn alpha from the prediction of each token of a document by the tokens before it.

    With nd = alpha, A = sum alpha to begin with, for each token in turn: S = sum_k nd_k p_k, g_k += p_k / S,
    den += 1 / A, A += 1, nd_k += nd_k p_k / S. At the maximum of the likelihood alpha_k = E[alpha_k g_k] / E[den], a
    fixed point; both means are over documents, with larger weights for later ones. The order of the words does not
    depend on their numbers: if the words of a topic had consecutive numbers, the last topics would seem far too rare.

    `n`, `first`: number of the document's words, and the index of its first count in `counts`.
    `p`: shape (n, at least K).
    `alpha`: shape (K,).
    `row`, `sums`: shapes (at least K,), (K,); working memory.
    """
    single = alpha.dtype.type
    n_topics = alpha.shape[0]
    total = 0.0
    for k in range(n_topics):
        total += alpha[k]
        row[k] = alpha[k]
        sums[k] = 0.0
    below = 0.0
    stride = max(int(GOLDEN * n), 1)
    while math.gcd(stride, n) > 1:
        stride += 1
    i = int(scalars[1] * GOLDEN % 1.0 * n)
    for _ in range(n):
        here = p[i]
        left = float(counts[first + i])
        while left > 0.5:
            at_once = min(left, max(np.floor(total / BLOCK), 1.0))
            s = single(0)
            for k in range(n_topics):
                s += row[k] * here[k]
            inverse = single(at_once) / s
            for k in range(n_topics):
                gain = here[k] * inverse
                sums[k] += gain
                row[k] += row[k] * gain
            below += at_once / (total + 0.5 * (at_once - 1.0))
            total += at_once
            left -= at_once
        i += stride
        if i >= n:
            i -= n
    weight = max(LEAST, (2.0 + scalars[1]) ** -EASE)
    scalars[1] += 1.0
    scalars[0] += weight * (below - scalars[0])
    for k in range(n_topics):
        gains[k] += weight * (alpha[k] * sums[k] - gains[k])
    if scalars[1] > FROZEN:
        for k in range(n_topics):
            alpha[k] = max(gains[k] / scalars[0], FLOOR)


@nb.njit(**OPTIONS)
def gradient(
    n: int, first: int, counts: Singles, p: Any, q: Any, expected: Any, alpha: Any, sums: Floats
) -> float:
    """Write d log q(words) / d alpha_k of a document's leave-one-out likelihood to `sums`; return its tokens.

    For one token g_k = p_k / S - 1 / A with S = sum_k (n_dk - q_k + alpha_k) p_k, A = n_d - 1 + sum alpha (SN15 §6),
    with the topics of the tokens fixed.

    `q`: shape (n, at least K).
    `expected`: shape (at least K,); alpha_k + n_dk.
    """
    n_topics = alpha.shape[0]
    length = 0.0
    concentration = 0.0
    for k in range(n_topics):
        sums[k] = 0.0
        concentration += alpha[k]
    for i in range(n):
        length += counts[first + i]
    for i in range(n):
        here, own = p[i], q[i]
        s = 0.0
        for k in range(n_topics):
            # Rounding may make this difference negative.
            rest = expected[k] - own[k]
            s += (rest if rest > LEAST_LEFT else LEAST_LEFT) * here[k]
        inverse = counts[first + i] / s
        for k in range(n_topics):
            sums[k] += here[k] * inverse
    share = length / (length - 1.0 + concentration)
    for k in range(n_topics):
        sums[k] -= share
    return length


@nb.njit(**OPTIONS)
def bound_gradient(n: int, first: int, counts: Singles, expected: Any, alpha: Any, sums: Floats) -> float:
    """Write d E log p(theta | alpha) / d alpha_k under q(theta) = Dirichlet(expected) to `sums`; return the tokens.

    psi(sum alpha) - psi(alpha_k) + psi(gamma_k) - psi(sum gamma), gamma = `expected`: the terms of the lower bound with
    alpha (SN15 §9, setup of SVB).
    """
    length, concentration, total = 0.0, 0.0, 0.0
    for i in range(n):
        length += counts[first + i]
    for k in range(alpha.shape[0]):
        concentration += alpha[k]
        total += expected[k]
    shared = digamma(concentration) - digamma(total)
    for k in range(alpha.shape[0]):
        sums[k] = shared + digamma(float(expected[k])) - digamma(float(alpha[k]))
    return length


@nb.njit(**OPTIONS)
def climb_sticks(length: float, alpha: Any, sums: Floats, sticks: Floats, scalars: Floats) -> None:
    """Take a step up the gradient in the stick breaking alpha_k = alpha0 v_k prod_{l<k} (1 - v_l), v_K = 1.

    With h_k = alpha_k g_k: d / d log alpha0 = sum h, d / d logit v_k = (1 - v_k) h_k - v_k sum_{l>k} h_l.

    `length`: tokens of the document; the step uses the mean over them.
    `sums`: shape (K,); from `gradient`; it is overwritten.
    """
    n_topics = alpha.shape[0]
    step = (1.0 + scalars[1]) ** -SLOWING / length
    scalars[1] += 1.0
    if scalars[1] <= FROZEN:
        return
    tail = 0.0
    for k in range(n_topics):
        sums[k] *= alpha[k]
        tail += sums[k]
    sticks[0] += step * tail
    left = np.exp(sticks[0])
    for k in range(n_topics - 1):
        v = 1.0 / (1.0 + np.exp(-sticks[k + 1]))
        tail -= sums[k]
        sticks[k + 1] += step * ((1.0 - v) * sums[k] - v * tail)
        v = 1.0 / (1.0 + np.exp(-sticks[k + 1]))
        alpha[k] = max(left * v, FLOOR)
        left *= 1.0 - v
    alpha[n_topics - 1] = max(left, FLOOR)


@nb.njit(**OPTIONS)
def learn_alpha(
    rule: int,
    prior: Any,
    place: tuple[int, int, Singles],
    p: Any,
    q: Any,
    expected: Any,
    row: Any,
    sums: Floats,
) -> None:
    """Learn alpha from one document by a rule.

    `place`: number of the document's words, index of its first count, and the counts.
    Other parameters: as for the rules.
    """
    n, first, counts = place
    alpha, gains, sticks, scalars = prior
    if rule == LEFT_TO_RIGHT:
        left_to_right(n, first, counts, p, alpha, row, sums, gains, scalars)
    elif rule == PAPER:
        length = gradient(n, first, counts, p, q, expected, alpha, sums)
        if length > 1.0:
            climb_sticks(length, alpha, sums, sticks, scalars)
    elif rule == BOUND:
        length = bound_gradient(n, first, counts, expected, alpha, sums)
        climb_sticks(length, alpha, sums, sticks, scalars)


@nb.njit(**OPTIONS)
def longest_document(order: Integers, pointers: Integers) -> int:
    """Return the number of words of the longest of some documents."""
    longest = 0
    for at in range(order.shape[0]):
        longest = max(longest, pointers[order[at] + 1] - pointers[order[at]])
    return longest


_AHEAD = 2
#: Least n_dk + alpha_k without the token itself.
_LEAST = np.float32(1e-9)


class WordUse(NamedTuple):
    """The history of the counts of each word."""

    steps: Integers  #: shape (V,); number of updates of each word
    sizes: Floats  #: shape (V,); tokens of each word
    fresh: Any  #: shape (V, K) or (0, K); sums of c q in the current epoch, if the counts are renewed
    renewed: Floats  #: shape (V,) or (0,); tokens of each word in `fresh`


class Pace(NamedTuple):
    """Updates of a document, and step sizes of its words."""

    passes: int
    early: int  #: the first `early` documents have at most `early_passes` passes
    early_passes: int
    power: float
    rates: Floats  #: t^-power for the first t


class Sizing(NamedTuple):
    """The source of the sizes of words."""

    running: bool  #: sizes are the tokens read so far, not those of the corpus
    counting: bool  #: the tokens are read for the first time (with `running`)
    noise: int  #: seed of the initial differences between topics (with `running`)


@nb.njit(**OPTIONS)
def uniform(seed: int, number: int) -> float:
    """Return a number of a random sequence in [0, 1) (SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    x = np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return float(x >> np.uint64(11)) * 2.0**-53


@nb.njit(**OPTIONS)
def update_documents(
    order: Integers,
    documents: Shard,
    topics: WordTopics,
    written: tuple[Any, Floats],
    use: WordUse,
    pace: Pace,
    sizing: Sizing,
    rule: int,
    prior: Prior,
) -> tuple[float, float]:
    """Update the counts with documents in this order, after their own topics have converged (SN15 §7), in place.

    With p_ik = (n_vk + beta) / (n_k + V beta) at the start of the document: from q ∝ alpha_k p_ik, `passes` times
    q ∝ (alpha_k + n_dk - q_k) p_ik for each word in turn. Then, once for each word,
    n_vk <- (1 - rho) n_vk + rho m_v q_k with rho = (1 + t_v)^-power. Here t_v is the number of earlier updates of the
    word, and m_v its tokens in the corpus less one. With `running`, m_v is the number of its tokens so far, the counts
    are rescaled to it, and V is the number of words so far: unseen words would make the first topics so flat that one
    topic takes nearly all tokens. A word read for the first time counts beta u, u = 1 + 0.1 U(0, 1), drawn for each
    word and topic from `noise`.

    `written`: counts and totals to update: those of `topics`, or the originals of a copy in `topics` if several
    documents use the same topics.

    With `fresh`, each of the c renewed tokens replaces a token of the epoch before, instead of a step:
    n_vk <- (n_vk - f_vk) (r_v - c) / r_v + f_vk + c q_k, f_vk <- f_vk + c q_k, with r_v tokens not renewed yet.

    Returns `loo`: sum over tokens of the log probability given the other tokens of the document (nats).
    Returns `tokens`: number of tokens in documents of more than one token.
    """
    pointers, words, counts = documents
    by_word, _, totals, beta, all_beta = topics
    new_words, new_totals = written
    steps, sizes, fresh, renewed = use
    passes, early, early_passes, power, rates = pace
    running, counting, noise = sizing
    alpha = prior.alpha
    n_topics = alpha.shape[0]
    dtype = by_word.dtype
    single = dtype.type
    zero, one = single(0), single(1)
    rows = workspace(4, n_topics, dtype)
    inverse_total, expected, p, spare = rows[1], rows[2], rows[3], rows[4]
    moved = np.empty(n_topics, np.float64)
    sums = np.empty(n_topics, np.float64)
    flat = by_word.reshape(-1)
    longest = longest_document(order, pointers)
    by_topic = workspace(longest, n_topics, dtype)[1:]
    q = workspace(longest, n_topics, dtype)[1:]
    loo, tokens = 0.0, 0.0
    met = 0
    if running:
        for w in range(sizes.shape[0]):
            met += sizes[w] > 0.0
    for at in range(order.shape[0]):
        first = pointers[order[at]]
        n = pointers[order[at] + 1] - first
        if n == 0:
            continue
        if counting:
            for i in range(n):
                met += sizes[words[first + i]] == 0.0
        if running:
            all_beta = float(beta) * met
        concentration, length = 0.0, 0.0
        for k in range(n_topics):
            inverse_total[k] = 1.0 / (totals[k] + all_beta)
            expected[k] = alpha[k]
            concentration += alpha[k]
            moved[k] = 0.0
        for i in range(n):
            ahead = np.int64(words[min(first + i + _AHEAD, first + n - 1)]) * n_topics
            for k in range(0, n_topics, 16):
                prefetch(flat, ahead + k)
            word, here, own, c = by_word[words[first + i]], by_topic[i], q[i], single(counts[first + i])
            length += c
            s = zero
            for k in range(n_topics):
                x = (word[k] + beta) * inverse_total[k]
                here[k] = x
                y = x * alpha[k]
                own[k] = y
                s += y
            if counting and sizes[words[first + i]] == 0.0:
                s = zero
                for k in range(n_topics):
                    x = here[k] * single(1.0 + 0.1 * uniform(noise, words[first + i] * n_topics + k))
                    here[k] = x
                    y = x * alpha[k]
                    own[k] = y
                    s += y
            inverse = one / s
            for k in range(n_topics):
                y = own[k] * inverse
                own[k] = y
                expected[k] += c * y
        log_p = 0.0
        turns = min(passes, early_passes) if at < early else passes
        for turn in range(turns):
            last = turn == turns - 1
            for i in range(n):
                here, own, c = by_topic[i], q[i], single(counts[first + i])
                s = zero
                for k in range(n_topics):
                    rest = expected[k] - own[k]
                    y = (rest if rest > _LEAST else single(_LEAST)) * here[k]
                    p[k] = y
                    s += y
                if last:
                    log_p += c * log(s)
                inverse = one / s
                for k in range(n_topics):
                    y = p[k] * inverse
                    expected[k] += c * (y - own[k])
                    own[k] = y
        if length > 1.0:
            loo += log_p - length * log(length - 1.0 + concentration)
            tokens += length
        learn_alpha(rule, prior, (n, first, counts), by_topic, q, expected, spare, sums)
        for i in range(n):
            w = words[first + i]
            t = steps[w]
            steps[w] = t + 1
            word, own = new_words[w], q[i]
            if fresh.shape[0] > 0:
                c = single(counts[first + i])
                left = sizes[w] - renewed[w]
                renewed[w] += counts[first + i]
                a = single(max(sizes[w] - renewed[w], 0.0) / max(left, 1.0))
                part = fresh[w]
                for k in range(n_topics):
                    before = part[k]
                    now = before + c * own[k]
                    rest = word[k] - before
                    new = a * (rest if rest > zero else zero) + now
                    moved[k] += new - word[k]
                    part[k] = now
                    word[k] = new
                continue
            rho = rates[t] if t < rates.shape[0] else (1.0 + t) ** -power
            keep, size = 1.0 - rho, max(sizes[w] - 1.0, 0.0)
            if running:
                size = sizes[w]
                if counting:
                    known = size
                    size = known + counts[first + i]
                    sizes[w] = size
                    if known > 0.0:
                        keep *= size / known
                    else:
                        keep, rho = 0.0, 1.0
            a, b = single(keep), single(rho * size)
            for k in range(n_topics):
                old = word[k]
                new = a * old + b * own[k]
                word[k] = new
                moved[k] += new - old
        for k in range(n_topics):
            new_totals[k] += moved[k]
    return loo, tokens
