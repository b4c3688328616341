"""Set words of every document aside to score predictions on: a share of its tokens, all as likely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.corpus import Corpus
from acvb_core.data.report import plural
from acvb_core.data.split import Split, check_share


@dataclass(frozen=True, eq=False)
class HeldOutWords:
    """Tokens set aside: unique pairs of document and word, sorted by document, then word.

    Attributes
    ----------
    documents, words : int32 arrays, shape (n_pairs,)
    counts : int32 array, shape (n_pairs,)
        How many tokens of the pair were set aside, at least 1.
    """

    documents: NDArray[np.int32]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]

    @cached_property
    def n(self) -> int:
        """Number of tokens."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def n_pairs(self) -> int:
        """Number of different (document, word) pairs."""
        return len(self.counts)


def hold_out_tokens(corpus: Corpus, share: float, seed: int) -> Split:
    """Set a share of each document's tokens aside, drawn uniformly without replacement.

    A document of n tokens gives share * n, rounded up or down at random so that the share is right on average, but
    never its last token. Time and memory grow with the pairs, not with the tokens.

    Parameters
    ----------
    corpus : Corpus
    share : float
        Share of each document's tokens, 0 <= share < 1.
    seed : int
        The same seed gives the same tokens.

    Returns
    -------
    Split
        `train` is a Corpus of the same documents and vocabulary (the corpus itself where nothing is set aside),
        `heldout` the HeldOutWords. The note counts the documents that were too short to give a token.

    Raises
    ------
    ParameterError
        `share` is outside [0, 1), or `seed` is negative.
    """
    check_share(share, seed)
    rng = np.random.default_rng(seed)
    lengths = corpus.lengths
    wanted = np.floor(share * lengths + rng.random(len(lengths))).astype(np.int64)
    wanted = np.clip(wanted, 0, np.maximum(lengths - 1, 0))
    taken = np.zeros(corpus.n_pairs, dtype=np.int64)
    if wanted.any():
        taken = _draw(corpus.counts, lengths, wanted, rng)
    held = np.flatnonzero(taken)
    document_of = np.repeat(np.arange(len(lengths), dtype=np.int32), np.diff(corpus.counts.indptr))
    words = corpus.counts.indices[held].astype(np.int32, copy=False)
    heldout = HeldOutWords(document_of[held], words, taken[held].astype(np.int32))
    train = corpus.with_counts(_without(corpus.counts, taken)) if len(held) else corpus
    without = int(np.count_nonzero((wanted == 0) & (lengths > 0)))
    return Split(train, heldout, _note(without, len(held) == 0) if share else None)


def _note(without: int, nothing: bool) -> str | None:
    if nothing:
        return "The documents are too short for this share: nothing is held out."
    if without:
        were = "was" if without == 1 else "were"
        return f"{plural(without, 'document')} {were} too short to have a word held out."
    return None


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
    per_document = np.diff(counts.indptr)
    probability = np.repeat(wanted / np.maximum(lengths, 1), per_document)
    taken = rng.binomial(counts.data, probability).astype(np.int64, copy=False)
    before = np.concatenate([[0], np.cumsum(taken)])
    excess = np.diff(before[counts.indptr]) - wanted
    _adjust(counts.indptr, counts.data, taken, excess, rng.random(int(np.abs(excess).sum())))
    return taken


def _without(counts: sparse.csr_array, taken: NDArray[np.int64]) -> sparse.csr_array:
    left = (counts.data - taken).astype(np.int32)
    # eliminate_zeros works in place, so on copies.
    train = sparse.csr_array((left, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
    train.eliminate_zeros()
    return train


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
