"""Set whole documents aside to score topics on: what their seen words tell of the others (document completion)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.metadata import take_metadata
from acvb_core.data.report import plural
from acvb_core.data.split import Split, check_share
from acvb_core.data.word_split import HeldOutWords, hold_out_tokens

#: Share of the words of a document set aside that is seen (SN15 §9).
OBSERVED = 0.8
#: More documents than these cost time at every score and hardly change it.
MOST_DOCUMENTS = 10_000


@dataclass(frozen=True, eq=False)
class HeldOutDocuments:
    """Documents set aside: the words of them that are seen, and the ones to be predicted.

    Attributes
    ----------
    observed : Corpus
        The documents with their seen words.
    hidden : HeldOutWords
        The other words; documents are numbered as in `observed`.
    """

    observed: Corpus
    hidden: HeldOutWords

    @property
    def n(self) -> int:
        """Number of tokens to be predicted."""
        return self.hidden.n

    @property
    def n_pairs(self) -> int:
        """Number of different (document, word) pairs to be predicted."""
        return self.hidden.n_pairs


def hold_out_documents(data: Corpus | DiskCorpus, share: float, seed: int) -> Split:
    """Set a share of the documents aside, all as likely, 10,000 at most.

    Four fifths of the words of each are seen. Words that stand in no other document are left out of them: nothing
    could be known of these.

    Parameters
    ----------
    data : Corpus or DiskCorpus
    share : float
        Share of the documents, 0 <= share < 1; at least one document where it is not 0, and never the last one.
    seed : int
        The same seed gives the same documents and words.

    Returns
    -------
    Split
        `train` has the other documents and the same vocabulary, `heldout` is a HeldOutDocuments.

    Raises
    ------
    ParameterError
        `share` is outside [0, 1), or `seed` is negative.
    """
    check_share(share, seed)
    rng = np.random.default_rng(seed)
    n = data.n_documents
    wanted = 0 if share == 0 else max(1, round(share * n))
    number = min(wanted, MOST_DOCUMENTS, n - 1)
    chosen = np.sort(rng.choice(n, size=number, replace=False, shuffle=False))
    if not number:
        nothing = HeldOutWords(*(np.empty(0, np.int32) for _ in range(3)))
        note = "There is one document only: nothing is held out." if wanted else None
        return Split(data, nothing, note)
    aside, train = _apart(data, chosen)
    known, unknown = _known_words(aside, train.frequencies)
    split = hold_out_tokens(known, 1.0 - OBSERVED, seed)
    note = _note(number, wanted, unknown, split.heldout.n)
    return Split(train, HeldOutDocuments(split.train, split.heldout), note)


def _apart(data: Corpus | DiskCorpus, chosen: NDArray[np.int64]) -> tuple[Corpus, Corpus | DiskCorpus]:
    """Return some of the documents, and the data without them."""
    if isinstance(data, DiskCorpus):
        inside = np.setdiff1d(np.arange(data.n_documents + len(data.left_out)), data.left_out)
        return data.documents(inside[chosen]), data.without(inside[chosen])
    rest = np.ones(data.n_documents, dtype=np.bool_)
    rest[chosen] = False
    return take_documents(data, chosen), take_documents(data, np.flatnonzero(rest))


def take_documents(corpus: Corpus, numbers: NDArray[np.integer]) -> Corpus:
    """Return some documents (0-based, in this order) as a corpus over the same vocabulary."""
    return replace(
        corpus,
        counts=corpus.counts[numbers],
        documents=corpus.documents[numbers],
        texts=None if corpus.texts is None else tuple(corpus.texts[d] for d in numbers),
        labels=None if corpus.labels is None else corpus.labels[numbers],
        metadata=take_metadata(corpus.metadata, numbers),
    )


def _known_words(corpus: Corpus, frequencies: NDArray[np.int64]) -> tuple[Corpus, int]:
    """Return documents without the words that nothing can be known of, and how many tokens these were."""
    counts = corpus.counts.copy()
    gone = frequencies[counts.indices] == 0
    unknown = int(counts.data[gone].sum(dtype=np.int64))
    if unknown:
        counts.data[gone] = 0
        counts.eliminate_zeros()
    return corpus.with_counts(counts), unknown


def _note(number: int, wanted: int, unknown: int, n: int) -> str | None:
    found = []
    if number < wanted:
        found.append(f"{plural(number, 'document')} are held out in place of {wanted:,}: enough for a score.")
    if unknown:
        are = "is" if unknown == 1 else "are"
        found.append(
            f"{plural(unknown, 'word')} of the documents held out {are} left out: no other document has "
            f"{'it' if unknown == 1 else 'them'}."
        )
    if not n:
        found.append("The documents held out are too short to have a word predicted.")
    return " ".join(found) or None
