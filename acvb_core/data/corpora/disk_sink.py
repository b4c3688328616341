"""Writing what a reader gives to disk: entries are sorted by document, texts are cut and their words counted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.data.corpora.counts import CountsFound, batch_words
from acvb_core.data.corpora.disk_shards import ShardWriter
from acvb_core.data.corpora.documents import DocumentBatch
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.text_cut import WordList, apply_limits
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.metadata import typed_values
from acvb_core.data.report import Fact
from acvb_core.data.sources.values import LabelTable

#: Entries that are sorted in memory at once: about 50 MB with what the sorting needs.
AT_ONCE = 1 << 20
_ENTRY = np.dtype("<i4")
#: A vocabulary.
Words = Sequence[str] | NDArray[Any]
_ENTRY_BYTES = 3 * _ENTRY.itemsize


class Entries(NamedTuple):
    """Entries of consecutive documents: those of document i are `pointers[i]` to `pointers[i + 1] - 1`."""

    pointers: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]


class EntrySpool:
    """Take (document, word, count) entries in any order, and give them back by document.

    Use as a context, which removes the file. On disk: 12 bytes an entry, twice that while entries that did not come
    in order are sorted. In memory: 16 bytes a document, and `at_once` entries (more where one document has more).
    """

    def __init__(self, folder: Path, at_once: int = AT_ONCE) -> None:
        self._folder = folder / "entries"
        self._folder.mkdir()
        self._path = self._folder / "given"
        self._file = self._path.open("wb")
        self._at_once = at_once
        self._last = -1
        self._sorted = True
        self.n_entries = 0

    def add(self, documents: NDArray[Any], words: NDArray[Any], counts: NDArray[Any]) -> None:
        """Append entries; documents and words are numbers from 0, counts below 2^31."""
        if not len(documents):
            return
        self._file.write(np.stack([documents, words, counts], axis=1).astype(_ENTRY).tobytes())
        self.n_entries += len(documents)
        self._sorted &= int(documents[0]) >= self._last and bool((documents[1:] >= documents[:-1]).all())
        self._last = int(documents[-1])

    def __enter__(self) -> EntrySpool:
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(OSError):  # a full disk, which what is being raised tells of
            self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def documents(self, n_documents: int) -> Iterator[Entries]:
        """Give the entries of documents 0 to `n_documents` - 1 in some pieces, each of whole documents; once."""
        self._file.close()
        sizes = np.zeros(n_documents, dtype=np.int64)
        for entries in self._blocks():
            first = int(entries[:, 0].min())
            counted = np.bincount(entries[:, 0] - first)
            sizes[first : first + len(counted)] += counted
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        pieces = self._split(bounds)
        if not self._sorted:
            self._sort_by_piece(bounds[pieces], pieces)
        for begin, end in pairwise(pieces):
            entries = self._read(int(bounds[begin]), int(bounds[end]))
            words, counts = entries[:, 1], entries[:, 2]
            if not self._sorted:
                order = _stable_order(entries[:, 0] - begin, end - begin)
                words, counts = words.take(order), counts.take(order)
            yield Entries(bounds[begin : end + 1] - bounds[begin], words, counts)

    def _split(self, bounds: NDArray[np.int64]) -> list[int]:
        """Return where pieces of the documents begin, and the number of documents."""
        pieces, n = [0], len(bounds) - 1
        while (at := pieces[-1]) < n:
            end = int(np.searchsorted(bounds, bounds[at] + self._at_once, side="right")) - 1
            pieces.append(min(max(end, at + 1), at + self._at_once, n))
        return pieces

    def _sort_by_piece(self, places: NDArray[np.int64], pieces: list[int]) -> None:
        """Put the entries of each piece of documents side by side, from these places on, in a new file."""
        path = self._folder / "sorted"
        with path.open("wb") as file:
            for entries in self._blocks():
                home = np.searchsorted(pieces, entries[:, 0], side="right") - 1
                order = _stable_order(home, len(pieces))
                entries, home = entries.take(order, axis=0), home[order]
                for begin, end in pairwise([*np.flatnonzero(np.diff(home, prepend=-1)).tolist(), len(home)]):
                    file.seek(int(places[home[begin]]) * _ENTRY_BYTES)
                    file.write(entries[begin:end].tobytes())
                    places[home[begin]] += end - begin
        path.replace(self._path)

    def _blocks(self) -> Iterator[NDArray[np.int32]]:
        for begin in range(0, self.n_entries, self._at_once):
            yield self._read(begin, min(begin + self._at_once, self.n_entries))

    def _read(self, begin: int, end: int) -> NDArray[np.int32]:
        """Return entries as rows of document, word and count."""
        place, count = begin * _ENTRY_BYTES, 3 * (end - begin)
        return np.fromfile(self._path, dtype=_ENTRY, count=count, offset=place).reshape(-1, 3)


def _stable_order(keys: NDArray[Any], n_keys: int) -> NDArray[Any]:
    """Return the order that sorts keys 0 to `n_keys` - 1, by SciPy's counting sort; equal keys stay as they are."""
    n = len(keys)
    return sparse.csc_array((np.zeros(n, np.int8), keys, np.arange(n + 1)), (n_keys, n)).tocsr().indices


class DiskSink:
    """Take what a reader gives, and write it as a corpus on disk when all of it is there.

    Of texts every different word is remembered until the end, about 50 bytes each: which of them stand in enough
    documents is known only then.
    """

    def __init__(
        self, writer: ShardWriter, spool: EntrySpool, tokeniser: Tokeniser | None, *, keep_texts: bool
    ) -> None:
        self._writer, self._spool, self._keep_texts = writer, spool, keep_texts
        self._tokeniser = tokeniser or Tokeniser()
        self._unlimited = self._tokeniser.without_limits()
        self._n_documents = 0
        self._table = LabelTable()
        # How often each word stands in all texts and in how many, and why it is dropped ("": its counts decide).
        self._sums = np.zeros((2, 0), dtype=np.int64)
        self._reasons = np.empty(0, dtype=object)

    def add_entries(self, documents: NDArray[Any], words: NDArray[Any], counts: NDArray[Any]) -> None:
        """Append entries; documents and words are numbers from 0, counts below 2^31."""
        self._spool.add(documents, words, counts)

    def add_documents(self, batch: DocumentBatch) -> None:
        """Append texts."""
        texts = batch.texts if self._keep_texts else None
        self._writer.add_beside(batch.columns, names=batch.names, texts=texts, labels=batch.labels or None)
        selection = self._unlimited.select(batch.texts, first=self._n_documents + 1)
        counts = selection.counts
        in_documents = np.bincount(counts.indices, minlength=counts.shape[1])
        kept = WordList(selection.vocabulary, counts.sum(axis=0, dtype=np.int64), in_documents)
        codes = self._add_words(kept, "")
        for reason in ("stop_word", "number"):
            self._add_words(selection.preview.dropped[reason], reason)
        rows = np.repeat(np.arange(len(batch.texts)), np.diff(counts.indptr))
        self._spool.add(self._n_documents + rows, codes[counts.indices], counts.data)
        self._n_documents += len(batch.texts)

    def _add_words(self, words: WordList, reason: str) -> NDArray[np.int32]:
        """Add the counts of words, none twice, and return their codes."""
        codes = self._table.codes(batch_words(words.words.tolist()), 0)
        if (n := len(self._table)) > len(self._reasons):
            more = max(n - len(self._reasons), len(self._reasons))
            self._sums = np.pad(self._sums, ((0, 0), (0, more)))
            self._reasons = np.pad(self._reasons, (0, more), constant_values="")
        self._sums[:, codes] += words.counts, words.documents
        self._reasons[codes] = reason
        return codes

    def number_names(self) -> tuple[int, list[str]]:
        """Append a number to names that stood before; return how many there were, and the first of them."""
        return self._writer.strings("names").make_unique()

    def write_texts(self, reading: Reading, facts: list[Fact]) -> tuple[Words, list[Fact]]:
        """Sort the words of texts into shards; return the vocabulary and all facts, those about dropped words last."""
        n = len(self._table)
        found = WordList(typed_values(self._table.labels(), "string"), *self._sums[:, :n])
        kept, preview = apply_limits(found, self._reasons[:n], self._n_documents, self._tokeniser)
        if not len(kept):
            raise preview.explain_nothing_left(self._tokeniser, reading.name)
        final = np.full(n, -1, dtype=np.int32)
        final[kept] = np.arange(len(kept))
        self._write(reading, self._n_documents, final)
        return found.words[kept], [*facts, *preview.facts()]

    def write_counts(self, reading: Reading, found: CountsFound) -> tuple[Words, list[Fact]]:
        """Sort entries into shards; return the vocabulary and the facts."""
        if found.names is not None:
            self._writer.strings("names").extend_packed(*found.names.pack())
        self._write(reading, found.n_documents, None)
        return found.words, found.facts

    def _write(self, reading: Reading, n_documents: int, final: NDArray[np.int32] | None) -> None:
        """Write all entries; `final` has the last number of each word, -1 for one that is dropped."""
        done = 0
        for pointers, words, counts in self._spool.documents(n_documents):
            done += len(words)
            if final is not None:
                words = final[words]
                kept = words >= 0
                pointers = np.concatenate([[0], np.cumsum(kept)])[pointers]
                words, counts = words[kept], counts[kept]
            self._writer.add(pointers, words, counts)
            reading.report_written(0.99 * done / max(self._spool.n_entries, 1))
