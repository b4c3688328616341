"""Concentrations of the topics in documents, learned while documents go by.

All rules take one document: the probability p_ik that each topic gives to each of its words, alpha, and for
the gradients the document's responsibilities or counts. They write to the arrays of `streams.state.Prior` in place.
"""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np

from acvb_core.core.special import digamma
from acvb_core.models.lda.kernels import OPTIONS, Floats, Integers, Singles
from acvb_core.models.lda.streams.limits import FROZEN

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
