"""A shard of CVB0: some of the documents, swept against a copy of the topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array
from acvb_core.core.running_mean import blend, update_mean
from acvb_core.models.lda.evaluate.evidence import DocumentTerms, document_terms
from acvb_core.models.lda.hyper import BLOCK, Concentrations, DocumentGains, document_gains
from acvb_core.models.lda.kernels import (
    Counts,
    Floats,
    Singles,
    add_counts,
    entropies,
    multiply_absences,
    zeroth_order,
)
from acvb_core.models.lda.sharded.parts import Part
from acvb_core.models.lda.sharded.stored_rows import StoredRows
from acvb_core.models.lda.start import draw_rows, warm_responsibilities
from acvb_core.models.lda.state import padded_copy, padded_zeros


class TopicSums(NamedTuple):
    """Counts of words that a shard adds to the topics."""

    by_word: Array  #: shape (V, K)
    totals: Floats  #: shape (K,)


class SweepSums(NamedTuple):
    """Sums over the documents that a shard has swept."""

    #: By how much the counts changed; of the first shard, the counts that it was given with its change. The sum over
    #: the shards then is what one shard alone would give, to the last bit.
    topics: TopicSums
    moved: float  #: L1 change of the responsibilities, over tokens
    loo: float  #: log probability of each token given all others, in nats


class CollapsedShard:
    """Documents, their responsibilities and their own counts (a `shards.host.Shard`).

    `short`: keep the responsibilities in half the memory.
    """

    def __init__(self, part: Part, short: bool = False) -> None:
        self.number, self.tokens, self.short = part.number, part.read(), short
        self._make_room(0)
        #: The running means of both, where there are any.
        self.mean_rows: StoredRows | None = None
        self.mean_documents: Array | None = None

    def count_pairs(self) -> int:
        """Return how many pairs the documents have."""
        return len(self.tokens.words)

    def begin(self, n_topics: int, draws: Any, before: list[int]) -> TopicSums:
        """Draw random responsibilities, the same for the same documents however they are cut.

        `draws`: state of the generator that all documents are drawn from, one after the other.
        `before`: for each shard, how many pairs stand in front of it.
        """
        generator = np.random.PCG64()
        generator.state = draws
        numbers = before[self.number] * n_topics
        generator.advance(numbers // 2)  # two of single precision are drawn at a time
        rng = np.random.Generator(generator)
        if numbers % 2:
            rng.random(dtype=np.float32)
        self._make_room(n_topics)
        for piece in self.rows.pieces():
            draw_rows(piece.q, rng)
            self.rows.put(piece)
        return self.recount()

    def begin_warm(self, by_word: Singles, given: Concentrations) -> TopicSums:
        """Take the responsibilities that topics trained before imply."""
        self._make_room(by_word.shape[1])
        q = warm_responsibilities(self.tokens, by_word, given)
        for piece in self.rows.pieces():
            piece.q[...] = q[piece.pairs]
            self.rows.put(piece)
        return self.recount()

    def _make_room(self, n_topics: int) -> None:
        self.rows = StoredRows(self.tokens, n_topics, self.short)
        self.by_document = padded_zeros((self.tokens.n_documents, n_topics), np.float32)

    def sweep(
        self, by_word: Singles, totals: Floats, hyper: Concentrations, turn: int = 0, rounds: int = 1
    ) -> SweepSums:
        """Update every pair, document by document, against a copy of the topics.

        `turn`, `rounds`: only documents of this turn (from 0) of so many, into which they are cut.
        """
        begin, end = (self.tokens.n_documents * at // rounds for at in (turn, turn + 1))
        own, all_own = padded_copy(by_word), totals.copy()
        prior = hyper.singles(self.tokens.n_words)
        moved = loo = 0.0
        for piece in self.rows.pieces(begin, end):
            counts = Counts(self.by_document[piece.begin : piece.end], own, all_own)
            moved_here, loo_here = zeroth_order(0, piece.n, piece.documents, piece.q, counts, prior)
            self.rows.put(piece)
            moved += moved_here
            loo += loo_here
        if self.number:
            own -= by_word
            all_own -= totals
        return SweepSums(TopicSums(own, all_own), moved, loo)

    def recount(self) -> TopicSums:
        """Add the counts up anew from the responsibilities."""
        n_topics = self.rows.n_topics
        own, totals = padded_zeros((self.tokens.n_words, n_topics), np.float32), np.zeros(n_topics)
        self.by_document[...] = 0.0
        for piece in self.rows.pieces():
            counts = Counts(self.by_document[piece.begin : piece.end], own, totals)
            add_counts(0, piece.n, piece.documents, piece.q, counts, False)
        return TopicSums(own, totals)

    def keep_topics(self, left: NDArray[np.int64]) -> TopicSums:
        """Leave the other topics out."""
        self.rows.keep_topics(left)
        self.by_document = padded_zeros((self.tokens.n_documents, len(left)), np.float32)
        return self.recount()

    def gains(self, hyper: Concentrations) -> tuple[DocumentGains, Singles]:
        """Return what a step of the concentrations takes: sums over documents, and of words the absences."""
        n_topics = self.rows.n_topics
        by_word, totals = padded_zeros((self.tokens.n_words, n_topics), np.float32), np.zeros(n_topics)
        by_word.fill(1.0)
        up, down = np.zeros(n_topics), 0.0
        for begin in range(0, self.tokens.n_documents, BLOCK):
            end = min(begin + BLOCK, self.tokens.n_documents)
            absent = padded_zeros((end - begin, n_topics), np.float32)
            absent.fill(1.0)
            for piece in self.rows.pieces(begin, end):
                part = Counts(absent[piece.begin - begin : piece.end - begin], by_word, totals)
                multiply_absences(0, piece.n, piece.documents, piece.q, part)
            sums = document_gains(hyper, self.by_document[begin:end], absent)
            up, down = up + sums.up, down + sums.down
        return DocumentGains(up, down), by_word

    def start_mean(self) -> None:
        """Begin the running mean with the responsibilities as they are."""
        self.mean_rows = StoredRows(self.tokens, self.rows.n_topics)
        for piece in self.rows.pieces():
            self.mean_rows.rows[piece.pairs] = piece.q
        self.mean_documents = self.by_document.copy()

    def add_to_mean(self, samples: int) -> float:
        """Take the responsibilities into the mean, the last of so many; return its L1 change, summed over tokens."""
        assert self.mean_rows is not None
        assert self.mean_documents is not None
        for begin in range(0, self.tokens.n_documents, BLOCK):
            block = slice(begin, begin + BLOCK)
            old, new = {"": self.mean_documents[block]}, {"": self.by_document[block]}
            self.mean_documents[block] = update_mean(old, new, samples)[""]
        mean, weights, share = self.mean_rows.rows, self.tokens.counts, 1.0 / samples
        if not self.short:
            return float(blend(mean, self.rows.rows, weights, share))
        parts = ((piece.pairs, piece.q) for piece in self.rows.pieces())
        return float(sum(blend(mean[pairs], q, weights[pairs], share) for pairs, q in parts))

    def document_terms(self, alpha: Floats, mean: bool) -> DocumentTerms:
        """Return what the documents add to the bound; with `mean`, by the running means."""
        rows, by_document = self.rows, self.by_document
        if mean:
            assert self.mean_rows is not None
            assert self.mean_documents is not None
            rows, by_document = self.mean_rows, self.mean_documents
        entropy = 0.0
        for piece in rows.pieces():
            pointers, _, weights = piece.documents
            entropy += entropies(0, piece.n, pointers, weights, piece.q)
        return document_terms(by_document, alpha, entropy)

    def save(self) -> dict[str, Array]:
        """Return the responsibilities, the counts and their means."""
        state = {"rows": self.rows.rows, "by_document": self.by_document}
        if self.mean_rows is not None and self.mean_documents is not None:
            state |= {"mean_rows": self.mean_rows.rows, "mean_documents": self.mean_documents}
        return state

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `save` gave."""
        self._make_room(arrays["rows"].shape[1])
        self.rows.rows[...] = arrays["rows"]
        self.by_document[...] = arrays["by_document"]
        if "mean_rows" in arrays:
            self.mean_rows = StoredRows(self.tokens, self.rows.n_topics)
            self.mean_rows.rows[...] = arrays["mean_rows"]
            self.mean_documents = np.array(arrays["mean_documents"])
