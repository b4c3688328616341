"""Collapsed variational Bayes for LDA with exact expectations, which CVB and CVB0 approximate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from acvb_core.core.protocols import Poll, Responsibilities, SweepInfo, no_poll
from acvb_core.core.spec import Values
from acvb_core.core.special import log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.cvb import CollapsedLda, CollapsedState
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import OPTIONS, Counts, Floats, SinglePrior
from acvb_core.models.lda.state import Tokens

#: Distance of the nodes in log t: the error of the rule is about exp(-pi^2 / 0.4).
_STEP = 0.4
#: The first node is this divided by the largest count; the sum over the nodes before it is a series.
_FIRST = 5e-6
#: At the last node, exp(-c t) of the least concentration is exp(-30).
_LAST = 30.0
#: Nanoseconds of an update for each topic of a pair, with about 80 nodes.
PAIR_NS = 3000.0
#: Smaller exponents are ignored.
_NOTHING = -45.0


class Nodes(NamedTuple):
    """The nodes of the trapezoidal rule."""

    t: Floats  #: shape (M,)
    decay: Floats  #: shape (M,); exp(-t), not quite zero
    tail: float  #: sum of the t of all nodes before the first


class Transforms(NamedTuple):
    """Logarithms of E exp(-t n) of all counts, at the nodes."""

    #: `by_document`, `by_word`, `totals`: shapes (D, K, M), (V, K, M), (K, M).
    by_document: Floats
    by_word: Floats
    totals: Floats


class ExactResponsibilities(Responsibilities):
    """Responsibilities by exact expectations; their bounds are computed exactly, too."""


def make_nodes(largest: float, least: float) -> Nodes:
    """Return the nodes for counts up to `largest`, including priors, and concentrations of at least `least`."""
    count = count_nodes(largest, least)
    t = np.exp(math.log(_FIRST / largest) + _STEP * np.arange(count))
    return Nodes(t, np.maximum(np.exp(-t), 1e-300), float(t[0] / math.expm1(_STEP)))


def count_nodes(largest: float, least: float) -> int:
    """Return the number of nodes."""
    return math.ceil((math.log(_LAST / min(least, 1.0)) - math.log(_FIRST / largest)) / _STEP) + 1


@nb.njit(**OPTIONS)
def add_transforms(begin: int, end: int, documents: Shard, q: Any, nodes: Nodes, out: Transforms) -> None:
    """Add the pairs of documents `begin` to `end` to the transforms."""
    pointers, words, counts = documents
    by_document, by_word, totals = out
    n_nodes = nodes.t.shape[0]
    for d in range(begin, end):
        for e in range(pointers[d], pointers[d + 1]):
            c = float(counts[e])
            for k in range(q.shape[1]):
                p = float(q[e, k])
                of_document, of_word, of_all = by_document[d, k], by_word[words[e], k], totals[k]
                for m in range(n_nodes):
                    x = c * log(1.0 - p + p * nodes.decay[m])
                    of_document[m] += x
                    of_word[m] += x
                    of_all[m] += x


@nb.njit(**OPTIONS)
def expect_log(c: float, mean: float, transform: Floats, left_out: Floats, nodes: Nodes) -> float:
    """Return E log(c + n) of a count of this mean without one token (`left_out`), up to a constant."""
    total = 0.0
    for m in range(nodes.t.shape[0]):
        x = transform[m] - left_out[m] - c * nodes.t[m]
        if x > _NOTHING:
            total -= math.exp(x)
    return _STEP * (total + nodes.tail * (c + mean))


def transform_counts(
    tokens: Tokens, q: Any, hyper: Concentrations, poll: Poll = no_poll
) -> tuple[Nodes, Transforms]:
    """Return the nodes for a corpus, and the transforms of all its counts."""
    nodes = make_nodes(*node_range(tokens.n_tokens, tokens.n_words, hyper.alpha, hyper.beta))
    n_topics, n_nodes = q.shape[1], len(nodes.t)
    shape = (n_topics, n_nodes)
    documents, words = (np.zeros((n, *shape)) for n in (tokens.n_documents, tokens.n_words))
    transforms = Transforms(documents, words, np.zeros(shape))
    for begin, end in tokens.chunks(n_topics, PAIR_NS):
        poll()
        add_transforms(begin, end, tokens.documents, q, nodes, transforms)
    return nodes, transforms


def node_range(n_tokens: float, n_words: int, alpha: Floats, beta: float) -> tuple[float, float]:
    """Return the largest count of a corpus, including priors, and the least concentration."""
    return n_tokens + n_words * beta + float(alpha.max()) + 1.0, min(float(alpha.min()), beta)


def collapsed_excess(
    tokens: Tokens, q: Any, counts: Counts, variances: Counts, hyper: Concentrations
) -> float:
    """Return E log p(words, topics of tokens) minus its value at the mean counts, in nats (TNW07 eq. 12)."""
    nodes, transforms = transform_counts(tokens, q, hyper)
    beta = np.full(q.shape[1], hyper.beta)
    total = _log_gamma_excess(
        hyper.alpha, counts.by_document, variances.by_document, transforms.by_document, nodes
    )
    total += _log_gamma_excess(beta, counts.by_word, variances.by_word, transforms.by_word, nodes)
    whole = (array[None] for array in (counts.totals, variances.totals, transforms.totals))
    return float(total - _log_gamma_excess(tokens.n_words * beta, *whole, nodes))


@nb.njit(**OPTIONS)
def _log_gamma_excess(
    concentration: Floats, means: Any, variances: Any, transforms: Floats, nodes: Nodes
) -> float:
    """Return the sum over counts of E lgamma(c + n) - lgamma(c + E n), shapes (n, K), transforms (n, K, M)."""
    # At the first nodes the difference is t Var n / 2 to the precision of the numbers.
    first = 8
    series = nodes.t[first] / math.expm1(_STEP) / 2.0
    total = 0.0
    for i in range(means.shape[0]):
        for k in range(means.shape[1]):
            c, mean = concentration[k], max(float(means[i, k]), 0.0)
            transform = transforms[i, k]
            here = series * max(float(variances[i, k]), 0.0)
            for m in range(first, nodes.t.shape[0]):
                t = nodes.t[m]
                if c * t < -_NOTHING:
                    both = math.exp(transform[m]) - math.exp(-mean * t)
                    here += math.exp(-c * t) * both / -math.expm1(-t)
            total += _STEP * here
    return total


@nb.njit(**OPTIONS)
def exact_order(
    begin: int, end: int, documents: Shard, q: Any, expected: Counts, transforms: Transforms, nodes: Nodes,
    prior: SinglePrior,
) -> tuple[float, float]:  # fmt: skip
    """Update the pairs of documents `begin` to `end`, in place.

    q ∝ exp{ E log(alpha_k + n_dk) + E log(beta + n_wk) - E log(V beta + n_k) }, with one token left out of each count.

    Returns `moved, loo`: as of `kernels.zeroth_order`; the predictive probability is that of the means.
    """
    pointers, words, counts = documents
    by_document, by_word, totals = expected
    of_documents, of_words, of_all = transforms
    alpha, beta, all_beta = prior
    n_topics, n_nodes = q.shape[1], nodes.t.shape[0]
    old, log_weights = np.empty((n_topics, n_nodes)), np.empty(n_topics)
    concentration = 0.0
    for k in range(n_topics):
        concentration += alpha[k]
    moved, loo = 0.0, 0.0
    for d in range(begin, end):
        length = 0.0
        for e in range(pointers[d], pointers[d + 1]):
            row, w, c = q[e], words[e], float(counts[e])
            length += c
            plain, top = 0.0, -math.inf
            for k in range(n_topics):
                p = float(row[k])
                for m in range(n_nodes):
                    old[k, m] = log(1.0 - p + p * nodes.decay[m])
                a, b = max(by_document[d, k] - p, 0.0), max(by_word[w, k] - p, 0.0)
                t = max(totals[k] - p, 0.0)
                plain += (a + alpha[k]) * (b + beta) / (t + all_beta)
                x = expect_log(float(alpha[k]), a, of_documents[d, k], old[k], nodes)
                x += expect_log(float(beta), b, of_words[w, k], old[k], nodes)
                x -= expect_log(all_beta, t, of_all[k], old[k], nodes)
                log_weights[k] = x
                top = max(top, x)
            loo += c * math.log(plain)
            total = 0.0
            for k in range(n_topics):
                log_weights[k] = math.exp(log_weights[k] - top)
                total += log_weights[k]
            for k in range(n_topics):
                before = float(row[k])
                row[k] = log_weights[k] / total
                p = float(row[k])
                step = c * (p - before)
                by_document[d, k] += step
                by_word[w, k] += step
                totals[k] += step
                moved += abs(step)
                for m in range(n_nodes):
                    x = c * (log(1.0 - p + p * nodes.decay[m]) - old[k, m])
                    of_documents[d, k, m] += x
                    of_words[w, k, m] += x
                    of_all[k, m] += x
        if length > 0.0:
            loo -= length * math.log(length - 1.0 + concentration)
    return moved, loo


@dataclass(frozen=True, eq=False)
class ExactLda(CollapsedLda):
    """CVB with exact expectations bound to a corpus (an `Algorithm`), for small ones.

    Reference: TNW07 eq. 15.
    """

    @property
    def pair_ns(self) -> float:
        """Nanoseconds of an update for each topic of a pair, which decide the length of kernel calls."""
        return PAIR_NS

    def sweep(
        self, state: CollapsedState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[CollapsedState, SweepInfo]:
        """Update every pair, document by document; `rng` is not used."""
        if state.buffers.belongs_to(state):
            state.buffers.work = transform_counts(self.tokens, state.buffers.q, state.hyper, poll)
        return super().sweep(state, rng, poll)

    def responsibilities(self, state: CollapsedState) -> Responsibilities | None:
        """Return the responsibilities of all pairs; None once the state is being swept."""
        given = super().responsibilities(state)
        return None if given is None else ExactResponsibilities(*given)

    def _visit(
        self,
        state: CollapsedState,
        counts: Counts,
        variances: Counts | None,
        begin: int,
        end: int,
        pairs: Shard,
        totals: Sequence[Floats],
    ) -> tuple[float, float]:
        buffers, prior = state.buffers, state.hyper.singles(self.tokens.n_words)
        nodes, transforms = buffers.work
        expected = counts._replace(totals=totals[0])
        return exact_order(begin, end, pairs, buffers.q, expected, transforms, nodes, prior)


def build_exact(data: Any, values: Values) -> ExactLda:
    """Return CVB with exact expectations with the values of its parameters."""
    learn, weighted = values["hyper"] != "fixed", values["hyper"] == "minka"
    start = Concentrations.of_values(values)
    return ExactLda(Tokens.of(data), values["k"], start, learn, values["shrink"], weighted=weighted)
