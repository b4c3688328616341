"""Set words of every document, or whole documents, aside to score predictions on; all are as likely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.corpus import Corpus
from acvb_core.data.report import plural
from acvb_core.evaluate.split import Split, check_share

if TYPE_CHECKING:
    from acvb_core.data.disk import DiskCorpus

#: Share of the words of a document set aside that is seen (SN15 §9).
OBSERVED = 0.8
#: More documents than these cost time at every score and hardly change it.
MOST_DOCUMENTS = 10_000


@dataclass(frozen=True, eq=False)
class HeldOutWords:
    """Tokens set aside: unique pairs of document and word, sorted by document, then word.

    Attributes
    ----------
    documents, words : int32 arrays, shape (n_pairs,)
    counts : int32 array, shape (n_pairs,)
        How many tokens of the pair were set aside, at least 1.
    seen : Corpus or None
        Where whole documents were set aside: their other words, with the documents numbered alike.
    """

    documents: NDArray[np.int32]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    seen: Corpus | None = None

    @cached_property
    def n(self) -> int:
        """Number of tokens."""
        return int(self.counts.sum(dtype=np.int64))


def hold_out_tokens(corpus: Corpus, share: float, seed: int) -> Split:
    """Set a share (0 <= share < 1) of each document's tokens aside, drawn uniformly without replacement.

    A document of n tokens gives share * n, rounded up or down at random so that the share is right on average, but
    never its last token. Time and memory grow with the pairs, not with the tokens.

    `train` is a Corpus of the same documents and vocabulary (the corpus itself where nothing is set aside), `heldout`
    the HeldOutWords. The note counts the documents that were too short to give a token.
    """
    check_share(share, seed)
    rng = np.random.default_rng(seed)
    counts, lengths = corpus.counts, corpus.lengths
    wanted = np.floor(share * lengths + rng.random(len(lengths))).astype(np.int64)
    wanted = np.clip(wanted, 0, np.maximum(lengths - 1, 0))
    taken = _draw(counts, lengths, wanted, rng) if wanted.any() else np.zeros(corpus.n_pairs, dtype=np.int64)
    held = np.flatnonzero(taken)
    documents = np.repeat(np.arange(len(lengths), dtype=np.int32), np.diff(counts.indptr))[held]
    heldout = HeldOutWords(documents, counts.indices[held].astype(np.int32), taken[held].astype(np.int32))
    too_short = int(np.count_nonzero((wanted == 0) & (lengths > 0)))
    note = None
    if share and not len(held):
        note = "The documents are too short for this share: nothing is held out."
    elif share and too_short:
        were = "was" if too_short == 1 else "were"
        note = f"{plural(too_short, 'document')} {were} too short to have a word held out."
    return Split(corpus.with_counts(counts.data - taken) if len(held) else corpus, heldout, note)


def hold_out_documents(data: Corpus | DiskCorpus, share: float, seed: int) -> Split:
    """Set a share (0 <= share < 1) of the documents aside: one at least unless it is 0, and 10,000 at most.

    Four fifths of the words of each are seen. Words that stand in no other document are left out of them: nothing
    could be known of these.

    `train` has the other documents and the same vocabulary; the last document is never set aside. `heldout` is a
    HeldOutWords.
    """
    check_share(share, seed)
    n = data.n_documents
    wanted = 0 if share == 0 else max(1, round(share * n))
    number = min(wanted, MOST_DOCUMENTS, n - 1)
    if not number:
        none = np.empty(0, dtype=np.int32)
        nothing = HeldOutWords(none, none, none)
        return Split(data, nothing, "There is one document only: nothing is held out." if wanted else None)
    chosen = np.sort(np.random.default_rng(seed).choice(n, size=number, replace=False, shuffle=False))
    aside, train = _separate(data, chosen)
    counts = aside.counts
    known = train.frequencies[counts.indices] > 0
    unknown = int(counts.data[~known].sum(dtype=np.int64))
    split = hold_out_tokens(aside.with_counts(counts.data * known), 1.0 - OBSERVED, seed)
    notes = []
    if number < wanted:
        notes.append(f"{plural(number, 'document')} are held out in place of {wanted:,}: enough for a score.")
    if unknown:
        are, them = ("is", "it") if unknown == 1 else ("are", "them")
        words = plural(unknown, "word")
        notes.append(f"{words} of the documents held out {are} left out: no other document has {them}.")
    if not split.heldout.n:
        notes.append("The documents held out are too short to have a word predicted.")
    return Split(train, replace(split.heldout, seen=split.train), " ".join(notes) or None)


def _separate(data: Corpus | DiskCorpus, chosen: NDArray[np.int64]) -> tuple[Corpus, Corpus | DiskCorpus]:
    """Return some of the documents, and the data without them."""
    if isinstance(data, Corpus):
        return data.take_documents(chosen), data.take_documents(
            np.delete(np.arange(data.n_documents), chosen)
        )
    inside = np.setdiff1d(np.arange(data.n_documents + len(data.left_out)), data.left_out)
    return data.documents(inside[chosen]), data.without(inside[chosen])


def _draw(
    counts: sparse.csr_array,
    lengths: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return how many tokens of each pair are drawn, `wanted` of each document, all sets of tokens as likely.

    Tokens drawn one by one with equal probability are, given how many they are, a uniform set. So each pair draws
    from a binomial, and then tokens are added or put back, uniformly too, until the number is right. Only about
    sqrt(wanted) are, however large the counts.
    """
    probability = np.repeat(wanted / np.maximum(lengths, 1), np.diff(counts.indptr))
    taken = rng.binomial(counts.data, probability).astype(np.int64, copy=False)
    before = np.concatenate([[0], np.cumsum(taken)])
    excess = np.diff(before[counts.indptr]) - wanted
    _adjust(counts.indptr, counts.data, taken, excess, rng.random(int(np.abs(excess).sum())))
    return taken


@njit(nogil=True, cache=True)
def _adjust(indptr: Any, counts: Any, taken: Any, excess: Any, uniforms: Any) -> None:
    """Put `excess[d]` of the tokens taken from document d back, or take -excess[d] more, uniformly."""
    used = 0
    for d in range(excess.shape[0]):
        number = abs(excess[d])
        if number == 0:
            continue
        back = excess[d] > 0
        pool = 0  # the tokens that may change sides
        for i in range(indptr[d], indptr[d + 1]):
            pool += taken[i] if back else counts[i] - taken[i]
        # R. W. Floyd's choice of `number` distinct ranks below `pool`.
        chosen = {-1}
        for rank in range(pool - number, pool):
            candidate = min(int(uniforms[used] * (rank + 1)), rank)
            used += 1
            chosen.add(rank if candidate in chosen else candidate)
        ranks = np.array(sorted(chosen))
        at = 1  # past the -1, which gave the set its type
        end = 0
        for i in range(indptr[d], indptr[d + 1]):
            end += taken[i] if back else counts[i] - taken[i]
            while at < ranks.shape[0] and ranks[at] < end:
                taken[i] += -1 if back else 1
                at += 1
