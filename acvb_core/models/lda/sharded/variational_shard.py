"""A shard of VB: some of the documents, updated with the topics fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Array
from acvb_core.models.lda.evaluate.evidence import DocumentTerms, document_terms
from acvb_core.models.lda.hyper import Concentrations, DocumentGains, document_gains
from acvb_core.models.lda.kernels import Counts, Floats, Singles, leave_one_out
from acvb_core.models.lda.sharded.parts import Part
from acvb_core.models.lda.start import even_counts
from acvb_core.models.lda.state import padded_zeros
from acvb_core.models.lda.vb import keep_columns, update_documents, word_weights

_NONE = np.zeros((0, 1), np.float32)


class SweepSums(NamedTuple):
    """Sums over the documents that a shard has swept."""

    by_word: Floats  #: shape (V, K); counts of the shard's tokens
    entropy: float  #: of their responsibilities, in nats
    moved: float  #: L1 change of the documents' counts
    mass: float  #: their sum


class VariationalShard:
    """Documents and their own counts (a `shards.host.Shard`)."""

    def __init__(self, part: Part, inner: int) -> None:
        self.tokens, self.inner = part.read(), inner
        self.by_document = padded_zeros((0, 0))

    def begin(self, n_topics: int) -> None:
        """Begin with documents that are even over the topics."""
        self.by_document = even_counts(self.tokens, n_topics)

    def sweep(self, by_word: Floats, totals: Floats, hyper: Concentrations) -> SweepSums:
        """Update the documents, and count the words of each topic."""
        tokens, alpha = self.tokens, hyper.alpha
        log_words, words = padded_zeros(by_word.shape), padded_zeros(by_word.shape)
        word_weights(0, len(words), by_word, totals, hyper.beta, log_words, words)
        gained = padded_zeros(words.shape)
        entropy = moved = mass = 0.0
        for begin, end in tokens.chunks(len(alpha), 2.0 * self.inner):
            before = self.by_document[begin:end].copy()
            topics = (self.by_document, gained, log_words, words)
            entropy += update_documents(begin, end, tokens.documents, *topics, alpha, self.inner)
            moved += float(np.abs(self.by_document[begin:end] - before).sum())
            mass += float(self.by_document[begin:end].sum())
        entropy -= float((gained * log_words).sum())
        return SweepSums(gained, entropy, moved, mass)

    def keep_topics(self, left: NDArray[np.int64]) -> None:
        """Leave the other topics out."""
        kept = keep_columns(self.by_document, left)
        self.by_document = padded_zeros(kept.shape)
        self.by_document[...] = kept

    def gains(self, hyper: Concentrations) -> DocumentGains:
        """Return what a step of the concentrations takes: sums over documents."""
        return document_gains(hyper, self.by_document)

    def document_terms(self, alpha: Floats, mean: bool) -> DocumentTerms:
        """Return what the documents add to the bound, the entropy left out."""
        return document_terms(self.by_document, alpha)

    def leave_one_out(self, by_word: Singles, alpha: Floats, beta: float, mean: bool) -> float:
        """Return the log probability of each token given all others, as the counts imply it, in nats."""
        prior = Concentrations(alpha, beta).singles(self.tokens.n_words)
        totals, loo = by_word.sum(axis=0, dtype=np.float64), 0.0
        for begin, end in self.tokens.chunks(len(alpha)):
            own = self.by_document[begin:end].astype(np.float32)
            loo += leave_one_out(
                0, end - begin, self.tokens.take(begin, end), _NONE, Counts(own, by_word, totals), prior
            )
        return loo

    def save(self) -> dict[str, Array]:
        """Return the documents' counts."""
        return {"by_document": self.by_document}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `save` gave."""
        self.by_document = padded_zeros(arrays["by_document"].shape)
        self.by_document[...] = arrays["by_document"]
