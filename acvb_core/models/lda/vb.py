"""Plain variational Bayes for LDA: explicit q(theta), q(phi)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numba as nb
import numpy as np

from acvb_core.core.clusters import Order, mean_l1_change
from acvb_core.core.parallel import map_together, run_together
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, no_poll
from acvb_core.core.spec import Values
from acvb_core.core.special import digamma, log
from acvb_core.data.disk import Shard
from acvb_core.models.lda.hyper import Concentrations, learn_hyper, minka_step
from acvb_core.models.lda.kernels import OPTIONS, Counts, Floats, workspace
from acvb_core.models.lda.start import draw_noisy_counts, draw_random_counts
from acvb_core.models.lda.state import (
    Tokens,
    VariationalMethod,
    build_posterior,
    choose_cells,
    chunk_end,
    cut_documents,
    drop_topics,
    is_beginning,
    padded_copy,
    padded_room,
)

_WORDS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class VariationalState:
    """The state after a whole sweep."""

    counts: Counts  #: in double precision, so that rounding does not lower the bound
    #: Entropy of the responsibilities (nats); None before the first sweep, and after a sweep that dropped topics.
    entropy: float | None
    hyper: Concentrations
    age: int = 0  #: sweeps done
    learning: bool = False  #: the hyper-parameters are still being learned
    change: float = 0.0  #: L1 change of the documents' counts in the last sweep, relative to their sum


@dataclass
class _Part:
    """Progress of a part of the documents in a sweep, and its counts."""

    at: int  #: next document
    end: int
    by_word: Floats  #: set to zero by the part's own thread
    entropy: float = 0.0
    has_begun: bool = False


@dataclass(frozen=True, eq=False)
class VariationalLda(VariationalMethod):
    """VB bound to a corpus (an `Algorithm`).

    Only counts are stored: q(theta), q(phi) and the responsibilities follow from them. So the memory grows with the
    documents and the words, not with their pairs. No step lowers the bound.

    References
    ----------
    Blei, Ng and Jordan, Latent Dirichlet allocation, JMLR 3 (2003), with q(phi) as in their section 5.4.
    """

    inner: int = 1  #: updates of a document's topics and responsibilities in a sweep, in turn
    random: bool = False  #: start from random responsibilities, as TNW07, not from almost equal topics
    cells: int = 1  #: parts of the documents that are updated at the same time

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> VariationalState:
        """Return the first state."""
        draw = draw_random_counts if self.random else draw_noisy_counts
        counts = draw(self.tokens, self.n_topics, rng)
        return VariationalState(counts, None, self.start, learning=self.learn)

    def sweep(
        self, state: VariationalState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[VariationalState, SweepInfo]:
        """Update the documents with the topics fixed, then the topics; `rng` is not used."""
        hyper, before = state.hyper, state.counts
        log_words, words = padded_room(before.by_word.shape), padded_room(before.by_word.shape)

        def weigh(begin: int) -> None:
            end = min(begin + _WORDS_AT_ONCE, len(words))
            word_weights(begin, end, before.by_word, before.totals, hyper.beta, log_words, words)

        map_together(weigh, range(0, len(words), _WORDS_AT_ONCE), poll)
        by_document = padded_copy(before.by_document)
        bounds = cut_documents(self.tokens, self.cells)
        rooms = [padded_room(words.shape), *(self._take_room(words.shape) for _ in bounds[2:])]
        parts = [_Part(*ends, room) for ends, room in zip(pairwise(bounds), rooms, strict=True)]

        def advance(part: _Part) -> bool:
            if not part.has_begun:
                part.by_word.fill(0.0)
                part.has_begun = True
            if part.at < part.end:
                n_topics, inner = len(hyper.alpha), self.inner
                end = chunk_end(self.tokens.pointers, part.at, part.end, n_topics, 2.0 * inner)
                topics = (by_document, part.by_word, log_words, words)
                part.entropy += update_documents(
                    part.at, end, self.tokens.documents, *topics, hyper.alpha, inner
                )
                part.at = end
            return part.at < part.end

        run_together([partial(advance, part) for part in parts], poll)
        by_word, entropy = parts[0].by_word, sum(part.entropy for part in parts)

        def add_up(begin: int) -> tuple[Floats, float]:
            rows = slice(begin, begin + _WORDS_AT_ONCE)
            own = by_word[rows]
            for part in parts[1:]:
                own += part.by_word[rows]
            return own.sum(axis=0), float((own * log_words[rows]).sum())

        sums = map_together(add_up, range(0, len(words), _WORDS_AT_ONCE))
        self._rooms.extend(rooms[1:])
        entropy -= sum(weighted for _, weighted in sums)
        counts = Counts(by_document, by_word, np.sum([totals for totals, _ in sums], axis=0))
        change = mean_l1_change({"documents": by_document}, {"documents": before.by_document})
        swept = replace(state, counts=counts, entropy=entropy, age=state.age + 1, change=change)
        swept, order = drop_topics(swept, counts.totals, self.shrink, self._keep_topics)
        # Plain counts: the weighted form increases another objective, and could lower this bound.
        swept = learn_hyper(swept, partial(minka_step, swept.hyper, *swept.counts[:2]))
        not_stationary = swept.learning or is_beginning(swept.age, change, state.change)
        return swept, SweepInfo(None, order, change=change, not_stationary=not_stationary)

    @cached_property
    def _rooms(self) -> list[Floats]:
        """Arrays for counts from earlier sweeps; new memory would cost a tenth of a sweep."""
        return []

    def _take_room(self, shape: tuple[int, ...]) -> Floats:
        """Return an uninitialised array."""
        while self._rooms:
            room = self._rooms.pop()
            if room.shape == shape:
                return room
        return padded_room(shape)

    def posterior(self, state: VariationalState) -> Posterior:
        """Return the posterior of a state."""
        entropy = None if state.entropy is None else np.array([state.entropy])
        return build_posterior(state.counts.by_word, state.hyper, state.counts.by_document, entropy)

    def _keep_topics(self, state: VariationalState, left: Order) -> VariationalState:
        """Return the state with these topics only, which share the tokens of the others."""
        by_document, by_word = (keep_columns(counts, left) for counts in state.counts[:2])
        counts = Counts(by_document, by_word, by_word.sum(axis=0))
        # The responsibilities have changed: the bound is unknown until the next sweep.
        return replace(state, counts=counts, entropy=None)


def keep_columns(before: Floats, order: Order) -> Floats:
    """Return some of the columns, rescaled so that the sums of the rows stay the same."""
    left = np.take(before, order, axis=1)
    sums, now = before.sum(axis=1, keepdims=True), left.sum(axis=1, keepdims=True)
    even = np.broadcast_to(sums / left.shape[1], left.shape)
    return np.where(now > 0, left * np.divide(sums, now, out=np.ones_like(now), where=now > 0), even)


@nb.njit(**OPTIONS)
def word_weights(
    begin: int, end: int, by_word: Floats, totals: Floats, beta: float, log_words: Floats, words: Floats
) -> None:
    """Write exp E log phi_wk of words `begin` to `end` and its log, relative to the largest of each word's."""
    n_words, n_topics = by_word.shape
    base = workspace(1, n_topics, np.float64)[1]
    for k in range(n_topics):
        base[k] = digamma(totals[k] + n_words * beta)
    for w in range(begin, end):
        top = -math.inf
        for k in range(n_topics):
            value = digamma(by_word[w, k] + beta) - base[k]
            log_words[w, k] = value
            top = max(top, value)
        for k in range(n_topics):
            log_words[w, k] -= top
            words[w, k] = math.exp(log_words[w, k])


@nb.njit(**OPTIONS)
def update_documents(
    begin: int,
    end: int,
    documents: Shard,
    by_document: Floats,
    by_word: Floats,
    log_words: Floats,
    words: Floats,
    alpha: Floats,
    inner: int,
) -> float:
    """Update n_dk of documents `begin` to `end` and add their tokens to n_wk, in place.

    q ∝ exp{ psi(alpha_k + n_dk) + E log phi_wk }, `inner` times.

    Returns: the entropy of the responsibilities (nats) plus sum_wk n_wk log words_wk, which the caller subtracts.
    """
    pointers, indices, counts = documents
    n_topics = alpha.shape[0]
    rows = workspace(4, n_topics, np.float64)
    log_own, own, gained, row = rows[1], rows[2], rows[3], rows[4]
    entropy = 0.0
    for d in range(begin, end):
        for turn in range(inner):
            last = turn == inner - 1
            top = -math.inf
            for k in range(n_topics):
                log_own[k] = digamma(alpha[k] + by_document[d, k])
                top = max(top, log_own[k])
                gained[k] = 0.0
            for k in range(n_topics):
                log_own[k] -= top
                own[k] = math.exp(log_own[k])
            for e in range(pointers[d], pointers[d + 1]):
                w = indices[e]
                word = words[w]
                s = 0.0
                for k in range(n_topics):
                    row[k] = own[k] * word[k]
                    s += row[k]
                shift = 0.0
                if s < 1e-250:  # the products underflow: take the sums of logarithms
                    shift = -math.inf
                    for k in range(n_topics):
                        shift = max(shift, log_own[k] + log_words[w, k])
                    s = 0.0
                    for k in range(n_topics):
                        row[k] = math.exp(log_own[k] + log_words[w, k] - shift)
                        s += row[k]
                share = counts[e] / s
                for k in range(n_topics):
                    gained[k] += share * row[k]
                if last:
                    entropy += counts[e] * (log(s) + shift)
                    for k in range(n_topics):
                        by_word[w, k] += share * row[k]
            for k in range(n_topics):
                by_document[d, k] = gained[k]
        for k in range(n_topics):
            entropy -= by_document[d, k] * log_own[k]
    return entropy


def build_vb(data: Any, values: Values) -> VariationalLda:
    """Return VB with the values of its parameters."""
    learn, start = values["hyper"] == "minka", Concentrations.of_values(values)
    tokens, k = Tokens.of(data), values["k"]
    more = (values["shrink"], values["inner"], values["init"] == "random")
    return VariationalLda(tokens, k, start, learn, *more, choose_cells(len(tokens.words), values))
