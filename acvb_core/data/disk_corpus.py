"""A corpus on disk: a folder of shards, each a piece of the documents, read one after another or by number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora import disk_files
from acvb_core.data.corpora.cutting import WordFunction
from acvb_core.data.corpora.disk_files import Shard as Shard
from acvb_core.data.corpora.disk_files import read_meta, read_strings
from acvb_core.data.corpora.tokeniser import Tokeniser, with_function
from acvb_core.data.corpus import Corpus, describe_size, further_words, identify
from acvb_core.data.metadata import Kind, typed_values


@dataclass(frozen=True, eq=False)
class DiskCorpus:
    """Word counts of documents that stay on disk; what is held in memory does not grow with the documents.

    `read_to_disk` makes one of a file, `write_disk_corpus` of pieces of documents. Sizes and frequencies are those
    of the documents that are in: all but `left_out`.

    Attributes
    ----------
    folder : Path
    name : str
        What the user calls the corpus.
    vocabulary : ndarray of str (object dtype), shape (n_words,)
    tokeniser : Tokeniser or None
        How the texts were cut into words.
    frequencies : int64 array, shape (n_words,)
        How often each word stands in the documents.
    n_documents, n_pairs, n_tokens : int
        Documents (empty ones included), different (document, word) pairs, and words with repetitions.
    whole_fingerprint : str
        SHA-256 (hex) of shape and counts of all that the folder holds, whatever the size of the shards.
    begins : int64 array, shape (n_shards + 1,)
        The first document of each shard, and behind the last the number of all documents of the folder.
    left_out : int64 array
        Sorted numbers of documents that are held out.
    added : ndarray of str (object dtype)
        Words at the end of the vocabulary that the folder does not know (`with_words`).
    has_texts, has_labels : bool
        Texts, and known groups, are kept beside the counts.
    first_name : int or None
        Documents are called by their number, the first by this one; None: by the names in the folder.
    columns : mapping of str to "integer", "number", "day", "time" or "string"
        The further columns beside the documents (`Corpus.metadata`), and what they hold; `column` reads one.
    """

    folder: Path
    name: str
    vocabulary: NDArray[Any]
    tokeniser: Tokeniser | None
    frequencies: NDArray[np.int64]
    n_documents: int
    n_pairs: int
    n_tokens: int
    whole_fingerprint: str
    begins: NDArray[np.int64]
    has_texts: bool = False
    first_name: int | None = 1
    left_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    added: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=object))
    has_labels: bool = False
    columns: Mapping[str, Kind] = field(default_factory=dict)

    #: Not held in memory; for code that takes corpora of both kinds.
    labels: ClassVar[None] = None
    texts: ClassVar[None] = None

    def __post_init__(self) -> None:
        _READERS[id(self)] = self

    @classmethod
    def find_readers(cls, folder: Path) -> list[DiskCorpus]:
        """Return the corpora of this process that read from a folder."""
        return [corpus for corpus in list(_READERS.values()) if corpus.folder.resolve() == folder.resolve()]

    @classmethod
    def open(cls, folder: str | Path, *, tokeniser: WordFunction | None = None) -> DiskCorpus:
        """Return the corpus that a folder holds.

        Parameters
        ----------
        folder : path
        tokeniser : callable, optional
            The function that its texts were cut by, which the folder does not keep; a ParameterError if there was none.

        Raises
        ------
        DataError
            The folder holds none, is damaged, or was written by a later version.
        """
        folder = Path(folder)
        meta = read_meta(folder)
        try:
            disk_files.check_files(folder, meta["files"])
            words = read_strings(folder, "vocabulary", np.arange(meta["words"]))
            settings = meta["tokeniser"]
            corpus = cls(
                folder,
                meta["name"],
                typed_values(words, "string"),
                None if settings is None else Tokeniser.from_dict(settings),
                np.array(disk_files.load_array(folder, "frequencies.npy")),
                meta["documents"],
                meta["pairs"],
                meta["tokens"],
                meta["fingerprint"],
                np.cumsum([0, *(shard["documents"] for shard in meta["shards"])], dtype=np.int64),
                meta["has_texts"],
                meta["first_name"],
                has_labels=meta.get("has_labels", False),
                columns=dict(meta.get("columns", {})),
            )
        except (LookupError, TypeError, AttributeError, ValueError, OSError, ParameterError) as problem:
            raise disk_files.damage_error(folder, f"{type(problem).__name__}: {problem}") from None
        return replace(corpus, tokeniser=with_function(corpus.tokeniser, tokeniser))

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        return len(self.vocabulary)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of documents that are in, and of words in the vocabulary."""
        return self.n_documents, self.n_words

    @property
    def n_all(self) -> int:
        """Number of documents of the folder, those left out included."""
        return int(self.begins[-1])

    @property
    def n_shards(self) -> int:
        """Number of pieces."""
        return len(self.begins) - 1

    @property
    def shard_sizes(self) -> tuple[int, ...]:
        """Documents that are in, of each shard."""
        return tuple(np.diff(self.begins - np.searchsorted(self.left_out, self.begins)).tolist())

    def __repr__(self) -> str:
        return f"DiskCorpus({self.name!r}: {self.size_text})"

    @property
    def size_text(self) -> str:
        """Size in words: documents, vocabulary, tokens."""
        return f"{describe_size(self)} · on disk"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of shape and counts, and of what was left out or added; else that of the corpus in memory."""
        found = self.whole_fingerprint
        if len(self.added):
            words = json.dumps(self.added.tolist(), ensure_ascii=False)
            found = hashlib.sha256(f"{found} with {words}".encode()).hexdigest()
        if len(self.left_out):
            out = self.left_out.astype("<i8").tobytes()
            found = hashlib.sha256(f"{found} without ".encode() + out).hexdigest()
        return found

    @property
    def bytes_on_disk(self) -> int:
        """Size of the folder."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def identity(self) -> dict[str, Any]:
        """Return name, size, fingerprint and how texts were cut as plain values: what tells these data from others."""
        return identify(self)

    def shard(self, number: int) -> Shard:
        """Return the documents of one shard that are in, read into memory; threads may call it at once."""
        if not 0 <= number < self.n_shards:
            raise ParameterError(f"There is no shard {number} in {self.name}; it has {self.n_shards}.")
        begin, end = self.begins[number : number + 2]
        stored = disk_files.read_shard(self.folder, self.begins, number)
        pointers, counts = stored.pointers.astype(np.int64), stored.counts.astype(np.float32)
        words = disk_files.check_words(self.folder, number, stored.words, self.n_words)
        out = self.left_out[slice(*np.searchsorted(self.left_out, (begin, end)))] - begin
        if len(out):
            inside = np.setdiff1d(np.arange(end - begin), out, assume_unique=True)
            rows = sparse.csr_array((counts, words, pointers), (end - begin, self.n_words))[inside]
            pointers, words, counts = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
        return Shard(pointers, words, counts)

    def documents(self, numbers: ArrayLike) -> Corpus:
        """Return documents by their numbers within the folder, in this order; those left out can be asked for.

        A number that no document has is a ParameterError.
        """
        chosen = self._check_numbers(numbers)
        return Corpus(
            disk_files.read_documents(self.folder, self.begins, self.n_words, chosen),
            self.vocabulary,
            typed_values(self.document_names(chosen), "string"),
            self.name,
            tuple(read_strings(self.folder, "texts", chosen)) if self.has_texts else None,
            typed_values(read_strings(self.folder, "labels", chosen), "string") if self.has_labels else None,
            self.tokeniser,
            {name: disk_files.read_column(self.folder, self.columns, name, chosen) for name in self.columns},
        )

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the further columns, for the documents that are in; all of it is held in memory.

        A name that no column has is a ParameterError.
        """
        if name not in self.columns:
            known = ", ".join(map(repr, self.columns)) or "none"
            raise ParameterError(f"{self.name} has no column {name!r}; its columns are: {known}.")
        numbers = self._numbers_in(np.arange(self.n_documents))
        return disk_files.read_column(self.folder, self.columns, name, numbers)

    def sample(self, n: int, seed: int = 0) -> Corpus:
        """Return `n` documents that are in (all if there are fewer), drawn without replacement, in file order."""
        chosen = np.random.default_rng(seed).choice(self.n_documents, min(n, self.n_documents), replace=False)
        return self.documents(self._numbers_in(np.sort(chosen)))

    def without(self, numbers: ArrayLike) -> DiskCorpus:
        """Return the same folder with these documents left out too; only they are read.

        A number that no document has is a ParameterError, and so is leaving out all of them.
        """
        out = np.union1d(self.left_out, self._check_numbers(numbers))
        if len(out) == self.n_all:
            raise ParameterError(f"All documents of {self.name} would be left out; leave some in.")
        new = np.setdiff1d(out, self.left_out)
        counts = disk_files.read_documents(self.folder, self.begins, self.n_words, new)
        return replace(
            self,
            frequencies=self.frequencies - counts.sum(axis=0, dtype=np.int64),
            n_documents=self.n_all - len(out),
            n_pairs=self.n_pairs - counts.nnz,
            n_tokens=self.n_tokens - int(counts.sum(dtype=np.int64)),
            left_out=out,
        )

    def with_words(self, words: ArrayLike) -> DiskCorpus:
        """Return the same documents over a vocabulary with further words at its end, which stand in none of them.

        A word that is there already, or given twice, is a DataError.
        """
        new = further_words(self.vocabulary, words, self.name)
        if not len(new):
            return self
        return replace(
            self,
            vocabulary=np.concatenate([self.vocabulary, new]),
            frequencies=np.concatenate([self.frequencies, np.zeros(len(new), dtype=np.int64)]),
            added=np.concatenate([self.added, new]),
        )

    def in_memory(self) -> Corpus:
        """Return all documents that are in as a corpus in memory."""
        return self.documents(self._numbers_in(np.arange(self.n_documents)))

    def document_names(self, numbers: ArrayLike) -> list[str]:
        """Return what documents are called, by their numbers within the folder."""
        chosen = self._check_numbers(numbers)
        if self.first_name is not None:
            return [str(i + self.first_name) for i in chosen.tolist()]
        return read_strings(self.folder, "names", chosen)

    def _numbers_in(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers within the folder of documents counted among those that are in."""
        # left_out[j] - j documents that are in stand before the j-th that is left out.
        before = self.left_out - np.arange(len(self.left_out))
        return places + np.searchsorted(before, places, side="right")

    def _check_numbers(self, numbers: ArrayLike) -> NDArray[np.int64]:
        chosen = np.atleast_1d(np.asarray(numbers, dtype=np.int64)).ravel()
        wrong = (chosen < 0) | (chosen >= self.n_all)
        if wrong.any():
            known = f"they are numbered from 0 to {self.n_all - 1:,}"
            raise ParameterError(f"There is no document number {chosen[wrong][0]} in {self.name}; {known}.")
        return chosen


#: All of this process, for as long as they are used: a folder must not be removed meanwhile.
_READERS: WeakValueDictionary[int, DiskCorpus] = WeakValueDictionary()
