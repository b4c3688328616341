"""Compiled updates of the streaming methods: concentrations of topics, and SDM (SN15 §7)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from acvb_core.core.special import digamma, log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, Singles, prefetch, workspace
from acvb_core.models.lda.online.stream import Prior, WordTopics
from acvb_core.models.lda.spec import FROZEN

#: Rules: none, left to right, the gradient of the leave-one-out likelihood, that of the lower bound.
FIXED, LEFT_TO_RIGHT, PAPER, BOUND = 0, 1, 2, 3
#: An alpha does not fall below this; a topic that has come down to it is not in use.
FLOOR = 1e-5
#: Weight of a document in the means that alpha is made of: (2 + documents)^-EASE, at least LEAST.
EASE, LEAST = 0.7, 5e-4
#: alpha_k and what a document's other tokens add to it are at least this.
LEAST_LEFT = 1e-9
#: Share of a document's words that lies between one and the next in the order of the first rule.
GOLDEN = 0.6180339887498949
#: Tokens of one word are taken together, so many that there are this many times as many before them; all of them one
#: by one where there are fewer. A word that stands a million times takes some hundred steps, not a million.
BLOCK = 64.0
#: A document's weight in the gradient rule is (1 + documents)^-SLOWING.
SLOWING = 0.5


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
    """Learn alpha from how well each token of a document is predicted by the ones before it.

    With nd = alpha, A = sum alpha to begin with, for each token in turn: S = sum_k nd_k p_k, g_k += p_k / S,
    den += 1 / A, A += 1, nd_k += nd_k p_k / S. Where the likelihood is highest, alpha_k = E[alpha_k g_k] / E[den],
    a fixed point; both means are over documents, the latest ones weighing most. The words are taken in an order that
    has nothing to do with their numbers: where words of one topic are numbered in a row (as they appear, for instance)
    the topics that come last would be held to be far rarer than they are.

    `n`, `first`: number of the document's words, and where its counts begin in `counts`.
    `p`: shape (n, at least K).
    `alpha`: shape (K,).
    `row`: shape (at least K,); for use here.
    `sums`: shape (K,); for use here.
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

    For one token g_k = p_k / S - 1 / A with S = sum_k (n_dk - q_k + alpha_k) p_k, A = n_d - 1 + sum alpha (SN15 §6,
    the topics of the tokens held fast).

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
            # Of a sum and one of its parts rounding may leave less than nothing.
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

    psi(sum alpha) - psi(alpha_k) + psi(gamma_k) - psi(sum gamma), gamma = `expected`, all of the lower bound that
    alpha is in (SN15 §9, setup of SVB).
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

    `length`: tokens of the document: the step is that of the mean over them.
    `sums`: shape (K,); as `gradient` left it; written over.
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
    """Learn alpha from one document by the rule chosen.

    `place`: number of the document's words, where its counts begin, and the counts.
    `p`, `q`, `expected`, `row`, `sums`: as for the rules.
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
#: n_dk + alpha_k without the token itself, when rounding leaves nothing of it.
_LEAST = np.float32(1e-9)


class WordUse(NamedTuple):
    """How the counts of each word came about."""

    steps: Integers  #: shape (V,); how often each word's counts were brought up to date
    sizes: Floats  #: shape (V,); tokens of each word
    fresh: Any  #: shape (V, K) or (0, K); sums of c q in the pass under way, where the counts are renewed
    renewed: Floats  #: shape (V,) or (0,); tokens of each word in `fresh`


class Pace(NamedTuple):
    """How often a document is updated, and by what steps its words are."""

    passes: int
    #: `early`, `early_passes`: the first so many documents have at most so many passes.
    early: int
    early_passes: int
    power: float
    rates: Floats  #: T^-power for the first t


class Sizing(NamedTuple):
    """The source of the sizes of words."""

    running: bool  #: they are the tokens met so far, not those of the corpus
    counting: bool  #: the tokens are met for the first time (with `running`)
    noise: int  #: seed of the differences between topics in the beginning (with `running`)


@nb.njit(**OPTIONS)
def uniform(seed: int, number: int) -> float:
    """Return the random number of a place in a sequence, in [0, 1) (SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
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
    """Update the topics by documents in this order, each when its own topics are settled (SN15 §7), in place.

    With the topics of the document's start, p_ik = (n_vk + beta) / (n_k + V beta): from q ∝ alpha_k p_ik, `passes`
    times q ∝ (alpha_k + n_dk - q_k) p_ik for each word in turn. Then, each word of it once whatever its count,
    n_vk <- (1 - rho) n_vk + rho m_v q_k with rho = (1 + t_v)^-power, where t_v is how often the word was met before and
    m_v its tokens in the corpus less one; with `running`, m_v is the number of its tokens so far, and what stood
    there is brought to its scale. V is then the number of words met: with words that are still to come, topics begin
    so flat that one of them takes nearly all. A word met for the first time counts beta u, u = 1 + 0.1 U(0, 1),
    drawn for each word and topic from `noise`.

    `written`: counts and totals that are brought up to date; those of `topics`, or ones that these are a copy of, where
    several documents are taken by the same topics.

    With `fresh`, what is left of the pass before shrinks by the c tokens that are renewed, in place of a step:
    n_vk <- (n_vk - f_vk) (r_v - c) / r_v + f_vk + c q_k, f_vk <- f_vk + c q_k, r_v the tokens not renewed yet.

    Returns `loo`: sum over tokens of the log of their probability given the others of their document (nats).
    Returns `tokens`.
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
