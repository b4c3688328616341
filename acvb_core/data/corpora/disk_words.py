"""Words of a stream of texts: numbered as they come, judged when all have been seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.disk_reading import Spooled
from acvb_core.data.corpora.disk_spool import EntrySpool
from acvb_core.data.corpora.text_cut import WordList, keep
from acvb_core.data.corpora.texts import dropped_facts, nothing_left
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.report import Fact
from acvb_core.data.sources.label_table import LabelTable
from acvb_core.data.sources.records import RecordBatch


class WordCounter:
    """Cut texts into words batch by batch, their counts going to a spool.

    Every different word that is no stop word or number is remembered until the end, about 50 bytes each: which of
    them stand in enough documents is known only then.

    Parameters
    ----------
    tokeniser : Tokeniser
    spool : EntrySpool

    Attributes
    ----------
    n_documents : int
        Texts so far.
    """

    def __init__(self, tokeniser: Tokeniser, spool: EntrySpool) -> None:
        self._tokeniser = tokeniser
        self._unlimited = tokeniser.without_limits()
        self._spool = spool
        self._kept = _Tally()
        self._dropped = {"stop_word": _Tally(), "number": _Tally()}
        self.n_documents = 0

    def add(self, texts: Sequence[str]) -> None:
        """Count the words of some texts."""
        selection = self._unlimited.cut(texts, first=self.n_documents + 1).select(self._unlimited)
        counts = selection.counts
        documents = np.bincount(counts.indices, minlength=counts.shape[1])
        totals = np.asarray(counts.sum(axis=0, dtype=np.int64)).ravel()
        codes = self._kept.add(selection.vocabulary.tolist(), totals, documents)
        rows = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
        self._spool.add(self.n_documents + rows, codes[counts.indices], counts.data)
        self.n_documents += len(texts)
        for reason, tally in self._dropped.items():
            words = selection.preview.dropped[reason]
            tally.add(words.words.tolist(), words.counts, words.documents)

    def settled(self, source: str, facts: list[Fact]) -> Spooled:
        """Apply the tokeniser's limits to all words seen."""
        lists = [self._kept.listed(), *(tally.listed() for tally in self._dropped.values())]
        found = WordList(*(np.concatenate(part) for part in zip(*map(_parts, lists), strict=True)))
        names = ["", *self._dropped]
        reasons = np.repeat(np.array(names, dtype=object), [listed.n_words for listed in lists])
        kept, preview = keep(found, reasons, self.n_documents, self._tokeniser)
        final = np.full(lists[0].n_words, -1, dtype=np.int64)
        final[kept] = np.arange(len(kept))
        nothing = None if len(kept) else nothing_left(preview, self._tokeniser, source)
        return Spooled(self.n_documents, found.words[kept], [*facts, *dropped_facts(preview)], final, nothing)


class _Tally:
    """How often words stand in the texts so far, and in how many."""

    def __init__(self) -> None:
        self._table = LabelTable()
        self._totals = np.zeros(1024, dtype=np.int64)
        self._documents = np.zeros(1024, dtype=np.int64)

    def add(
        self, words: list[str], totals: NDArray[np.int64], documents: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Add counts of some words, none twice, and return their codes."""
        codes = self._table.codes(_as_batch(words), 0)
        if len(self._table) > len(self._totals):
            more = max(len(self._table), 2 * len(self._totals)) - len(self._totals)
            self._totals, self._documents = (
                np.pad(self._totals, (0, more)),
                np.pad(self._documents, (0, more)),
            )
        self._totals[codes] += totals
        self._documents[codes] += documents
        return codes

    def listed(self) -> WordList:
        """Return the words in the order of their codes."""
        n = len(self._table)
        words = np.empty(n, dtype=object)
        words[:] = self._table.labels()
        return WordList(words, self._totals[:n], self._documents[:n])


def _parts(words: WordList) -> tuple[NDArray[np.object_], NDArray[np.int64], NDArray[np.int64]]:
    return words.words, words.counts, words.documents


def _as_batch(words: list[str]) -> RecordBatch:
    """Return words as records of one field."""
    encoded = [word.encode("utf-8") for word in words]
    ends = np.cumsum([len(word) for word in encoded], dtype=np.int64).astype(np.int32)
    starts = np.concatenate([np.zeros(1, dtype=np.int32), ends])[: len(words)].astype(np.int32)
    # Of a bytearray: an array that may not be written to would be another type to the compiled table.
    text = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
    return RecordBatch(text, starts, ends, np.zeros(len(words), dtype=np.int64), 1)
