"""Collapsed Gibbs sampling for LDA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from acvb_core.core.averaging import AveragedAlgorithm
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, no_poll
from acvb_core.core.spec import Values
from acvb_core.core.special import log, log_single
from acvb_core.models.lda.hyper import Concentrations, is_learning_due, minka_step, sample_concentrations
from acvb_core.models.lda.kernels import (
    GAP,
    OPTIONS,
    Counts,
    Integers,
    SinglePrior,
    Singles,
    chunk_pairs,
    workspace,
)
from acvb_core.models.lda.state import LdaMethod, Tokens, build_posterior, copy_counts, zero_counts

_ZERO, _ONE = np.float32(0), np.float32(1)
_BLOCK = 16  # topics
#: Nanoseconds to draw the topic of a token, for each topic.
DRAW_NS = 1.5
_MOST = 1 << 24  # single precision has all whole numbers up to here


@dataclass(frozen=True, eq=False)
class SampleState:
    """One sample."""

    labels: NDArray[np.int32]  #: shape (n_tokens,); topic of each token, documents in order
    counts: Counts  #: whole numbers, in single precision by document and by word
    hyper: Concentrations
    age: int = 0  #: sweeps done


@dataclass(frozen=True, eq=False)
class GibbsLda(LdaMethod):
    """The sampler bound to a corpus (an `Algorithm`).

    References
    ----------
    Griffiths and Steyvers, PNAS 101 (2004); TNW07 eq. 8.
    """

    learn_until: int = 0  #: last sweep in which the hyper-parameters are learned; 0: never
    sample: bool = False  #: draw one alpha and one beta after every sweep

    @cached_property
    def _spread(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The tokens: the first token of each document, and the word of each token."""
        repeats = self.tokens.counts.astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(repeats)])
        return ends[self.tokens.pointers], np.repeat(self.tokens.words, repeats)

    def _check_precision(self) -> None:
        """Raise ParameterError if single precision cannot count all tokens."""
        counts = self.tokens.counts.astype(np.float64)
        of_documents = np.diff(np.concatenate([[0.0], np.cumsum(counts)])[self.tokens.pointers])
        most = max(np.bincount(self.tokens.words, weights=counts).max(initial=0.0), of_documents.max())
        if most > _MOST:
            raise ParameterError(
                f"Gibbs counts at most {_MOST:,} tokens of a word or of a document, but one has {most:,.0f}. Choose "
                "another method, or leave out this word or document."
            )

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> SampleState:
        """Return the first state: every token's topic drawn uniformly."""
        self._check_precision()
        pointers, words = self._spread
        labels = rng.integers(self.n_topics, size=len(words), dtype=np.int32)
        counts = zero_counts(self.tokens, self.n_topics)
        count_labels(pointers, words, labels, counts)
        return SampleState(labels, counts, self.start)

    def sweep(
        self, state: SampleState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[SampleState, SweepInfo]:
        """Draw the topic of every token given all others."""
        labels, counts, hyper = state.labels.copy(), copy_counts(state.counts), state.hyper
        pointers, words = self._spread
        prior = hyper.singles(self.tokens.n_words)
        moved, loo, begin = 0, 0.0, 0
        while begin < self.tokens.n_documents:
            poll()
            reach = pointers[begin] + chunk_pairs(self.n_topics, DRAW_NS)
            end = int(max(np.searchsorted(pointers, reach, side="right") - 1, begin + 1))
            uniforms = rng.random(int(pointers[end] - pointers[begin]), dtype=np.float32)
            changed, gained = sample_labels(begin, end, pointers, words, labels, counts, prior, uniforms)
            moved, loo, begin = moved + changed, loo + gained, end
        swept = SampleState(labels, counts, hyper, state.age + 1)
        if swept.age <= self.learn_until and is_learning_due(swept.age):
            swept = replace(swept, hyper=minka_step(hyper, counts.by_document, counts.by_word))
        if self.sample:
            swept = replace(swept, hyper=sample_concentrations(hyper, counts, rng))
        return swept, SweepInfo(loo, None, change=2.0 * moved / self.tokens.n_tokens)

    def posterior(self, state: SampleState) -> Posterior:
        """Return the posterior of a sample; its entropy is zero, and so is that of means of samples."""
        posterior = build_posterior(state.counts.by_word, state.hyper, state.counts.by_document, np.zeros(1))
        return replace(posterior, averaged=(*posterior.averaged, "entropy"), derived=())


@nb.njit(**OPTIONS)
def count_labels(pointers: Integers, words: Integers, labels: Integers, expected: Counts) -> None:
    """Count the tokens by document, word and topic, into arrays of zeros."""
    by_document, by_word, totals = expected
    for d in range(pointers.shape[0] - 1):
        for i in range(pointers[d], pointers[d + 1]):
            by_document[d, labels[i]] += _ONE
            by_word[words[i], labels[i]] += _ONE
            totals[labels[i]] += 1.0


@nb.njit(**OPTIONS)
def sample_labels(
    begin: int,
    end: int,
    pointers: Integers,
    words: Integers,
    labels: Integers,
    expected: Counts,
    prior: SinglePrior,
    uniforms: Singles,
) -> tuple[int, float]:
    """Draw the topics of the tokens of documents `begin` to `end`, in place.

    Returns `moved`: tokens whose topic changed.
    Returns `loo`: sum of the log of each token's probability given all others (nats).
    """
    by_document, by_word, totals = expected
    alpha, beta, all_beta = prior
    n_topics = alpha.shape[0]
    rows = workspace(2, n_topics, np.float32)
    inverse, gathered = rows[1], rows[2]
    n_blocks = (n_topics + _BLOCK - 1) // _BLOCK
    # Padded like the workspace.
    blocks = np.zeros((n_blocks + GAP // _BLOCK, _BLOCK), np.float32)
    weight = blocks.reshape(-1)
    concentration = 0.0
    for k in range(n_topics):
        inverse[k] = 1.0 / (totals[k] + all_beta)
        concentration += alpha[k]
    moved = 0
    loo = 0.0
    first = pointers[begin]
    for d in range(begin, end):
        own = by_document[d]
        length = pointers[d + 1] - pointers[d]
        for i in range(pointers[d], pointers[d + 1]):
            word = by_word[words[i]]
            old = labels[i]
            for k in range(n_topics):
                weight[k] = (own[k] + alpha[k]) * (word[k] + beta) * inverse[k]
            # Only here is the token itself left out: most tokens keep their topic, and no count need be written.
            rest = np.float32(1.0 / (totals[old] - 1.0 + all_beta))
            weight[old] = (own[old] - _ONE + alpha[old]) * (word[old] - _ONE + beta) * rest
            # Running sums would wait for each addition: sums of blocks of topics are independent.
            s = _ZERO
            for b in range(n_blocks):
                here = _ZERO
                for k in range(_BLOCK):
                    here += blocks[b, k]
                gathered[b] = here
                s += here
            loo += log_single(s)
            left = uniforms[i - first] * s
            block = 0
            while block < n_blocks - 1 and gathered[block] <= left:
                left -= gathered[block]
                block += 1
            new = block * _BLOCK
            last = min(new + _BLOCK, n_topics) - 1
            while new < last and weight[new] <= left:
                left -= weight[new]
                new += 1
            if new == old:
                continue
            moved += 1
            labels[i] = new
            own[old] -= _ONE
            word[old] -= _ONE
            totals[old] -= 1.0
            inverse[old] = 1.0 / (totals[old] + all_beta)
            own[new] += _ONE
            word[new] += _ONE
            totals[new] += 1.0
            inverse[new] = 1.0 / (totals[new] + all_beta)
        if length > 0:
            loo -= length * log(length - 1.0 + concentration)
    return moved, loo


def build_gibbs(data: Any, values: Values) -> AveragedAlgorithm:
    """Return Gibbs sampling with the values of its parameters."""
    learn_until = values["burn_in"] if values["hyper"] == "minka" else 0
    start, sample = Concentrations.of_values(values), values["hyper"] == "sampled"
    sampler = GibbsLda(Tokens.of(data), values["k"], start, learn_until, sample)
    # Topics keep their numbers in a chain, so that samples need no matching.
    return AveragedAlgorithm(sampler, values["burn_in"], track=False)
