"""Collapsed variational Bayes for LDA with exact expectations: what CVB and CVB0 approximate (TNW07 eq. 15)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np

from acvb_core.core.protocols import Poll, Responsibilities, SweepInfo, no_poll
from acvb_core.core.rows import Values
from acvb_core.core.special import log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.cvb import CollapsedLda, CollapsedState
from acvb_core.models.lda.exact.transforms import (
    PAIR_NS,
    ExactResponsibilities,
    Nodes,
    Transforms,
    expect_log,
    transform_counts,
)
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import OPTIONS, Counts, Floats, SinglePrior
from acvb_core.models.lda.state import Tokens


@nb.njit(**OPTIONS)
def exact_order(
    begin: int, end: int, documents: Shard, q: Any, expected: Counts, transforms: Transforms, nodes: Nodes,
    prior: SinglePrior,
) -> tuple[float, float]:  # fmt: skip
    """Update the pairs of documents `begin` to `end`, in place.

    q ∝ exp{ E log(alpha_k + n_dk) + E log(beta + n_wk) - E log(V beta + n_k) }, one token left out of every count.

    Returns `moved, loo`: as `kernels.zeroth_order` gives them; the predictive probability is that of the means.
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
        """Nanoseconds that an update takes for each topic of a pair, by which calls of the kernel are cut."""
        return PAIR_NS

    def sweep(
        self, state: CollapsedState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[CollapsedState, SweepInfo]:
        """Update every pair, document by document; nothing is drawn, so `rng` is not used."""
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
    """Return CVB with exact expectations on data, with the values of its parameters."""
    learn, weighted = values["hyper"] != "fixed", values["hyper"] == "minka"
    start = Concentrations.of_values(values)
    return ExactLda(Tokens.of(data), values["k"], start, learn, values["shrink"], weighted=weighted)
