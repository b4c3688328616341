"""Write documents into shards, in a folder that appears whole or not at all."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.data.corpora.disk_columns import ColumnWriter
from acvb_core.data.corpora.disk_format import (
    FORMAT,
    META,
    VERSION,
    checked_counts,
    disk_fault,
    disk_fingerprint,
    shard_file,
)
from acvb_core.data.corpora.disk_spool import StringWriter
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.names import unique_names
from acvb_core.errors import DataError, ParameterError

#: Pairs of a shard: about 12 MB on disk, 32 MB in memory.
SHARD_PAIRS = 4_000_000
#: Empty documents whose numbers are remembered.
SHOWN = 5
_MAX_COUNT = 2**31 - 1


class ShardWriter:
    """Write documents to a new folder; use as a context, which removes everything unless `finish` was reached.

    Parameters
    ----------
    folder : path
        Must not exist, or be empty. What is written lies in a hidden folder beside it until it is complete.
    name : str
    shard_pairs : int
        A shard is closed before it would hold more pairs, and holds at least one document.

    Attributes
    ----------
    source : str
        What the user calls the file that is read, for errors (default: the name).
    work : Path
        The hidden folder, where a reader may keep files of its own until the end.
    n_documents : int
        Documents added so far.
    zeros, repeated : int
        Counts of 0 that were not stored, and entries that were added to one of the same document and word.
    n_empty : int
        Documents without any word.
    first_empty : list of int
        The numbers of the first few of them.

    Raises
    ------
    ParameterError
        There is something at `folder` already, or `shard_pairs` is below 1.
    DataError
        The folder cannot be made.
    """

    def __init__(self, folder: str | Path, *, name: str = "corpus", shard_pairs: int = SHARD_PAIRS) -> None:
        self.folder, self.name, self.source = Path(folder), name, name
        if shard_pairs < 1:
            raise ParameterError(f"shard_pairs is {shard_pairs}; it must be at least 1.")
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ParameterError(
                f"There is something at {self.folder} already; remove it, or give another folder."
            )
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.work = self.folder.parent / f".{self.folder.name}-{secrets.token_hex(6)}"
            self.work.mkdir()
        except OSError as problem:
            raise disk_fault(problem, self.folder) from None
        self._limit = shard_pairs
        self._waiting: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._room = shard_pairs
        self._shards: list[dict[str, Any]] = []
        self._frequencies = np.zeros(0, dtype=np.int64)
        self._strings: dict[str, StringWriter] = {}
        self._columns: dict[str, ColumnWriter] = {}
        self.n_documents = self.zeros = self.repeated = self.n_empty = 0
        self.first_empty: list[int] = []

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        for file in self._files().values():
            file.abandon()
        shutil.rmtree(self.work, ignore_errors=True)
        if isinstance(problem, OSError):
            raise disk_fault(problem, self.folder) from problem

    @property
    def names(self) -> StringWriter:
        """Where names go, in the order of the documents: one for each, or none at all (they are numbered then)."""
        return self._opened("names")

    @property
    def texts(self) -> StringWriter:
        """Where texts go: one for each document, or none at all."""
        return self._opened("texts")

    @property
    def labels(self) -> StringWriter:
        """Where groups go: one for each document, or none at all."""
        return self._opened("labels")

    def column(self, name: str) -> ColumnWriter:
        """Return where the values of a further column go: one for each document."""
        if name not in self._columns:
            self._columns[name] = ColumnWriter(self.work, len(self._columns))
        return self._columns[name]

    @property
    def given(self) -> tuple[bool, bool, list[str]]:
        """Whether texts and groups were given, and the further columns."""
        return "texts" in self._strings, "labels" in self._strings, list(self._columns)

    def _files(self) -> dict[str, StringWriter | ColumnWriter]:
        return {**self._strings, **{f"values of {name}": file for name, file in self._columns.items()}}

    def _opened(self, stem: str) -> StringWriter:
        if stem not in self._strings:
            self._strings[stem] = StringWriter(self.work, stem, hashed=stem == "names")
        return self._strings[stem]

    def add(self, pointers: ArrayLike, words: ArrayLike, counts: ArrayLike) -> None:
        """Append documents; a word given twice in one is added up, and counts of 0 are not stored.

        Parameters
        ----------
        pointers : int, shape (n + 1,)
            The entries of document i are `pointers[i]` to `pointers[i + 1] - 1`.
        words, counts : int, shape (n_entries,)

        Raises
        ------
        DataError
            The arrays contradict each other, or a count is negative, no whole number or too large.
        """
        matrix = checked_counts(pointers, words, counts, self.source)
        given = matrix.nnz
        self.zeros += given - int(np.count_nonzero(matrix.data))
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        self.repeated += given - matrix.nnz
        if matrix.nnz and not matrix.data.all():
            matrix = matrix.copy()
            matrix.eliminate_zeros()
        if matrix.nnz and int(matrix.data.max()) > _MAX_COUNT:
            raise DataError(
                f"a word count is larger than {_MAX_COUNT:,}",
                source=self.source,
                value=str(int(matrix.data.max())),
                remedy="Check the counts.",
            )
        self._append(matrix.indptr.astype(np.int64), matrix.indices, matrix.data.astype(np.int32))

    def finish(
        self,
        vocabulary: Sequence[str] | NDArray[Any],
        *,
        tokeniser: Tokeniser | None = None,
        first_name: int = 1,
    ) -> DiskCorpus:
        """Write what is left, let the folder appear and return the corpus in it.

        Parameters
        ----------
        vocabulary : sequence of str
        tokeniser : Tokeniser, optional
        first_name : int
            Number of the first document, where they have no names.

        Raises
        ------
        DataError
            There is no token, a word is beyond the vocabulary, or names or texts are not one for each document.
        """
        self._flush()
        frequencies = self._checked_frequencies(len(vocabulary))
        numbered = self._close_strings(first_name)
        columns = {name: column.close() for name, column in self._columns.items()}
        words = unique_names(np.asarray(vocabulary, dtype=object), len(vocabulary), "word", self.source)
        self._opened("vocabulary").extend(words)
        self._opened("vocabulary").close()
        np.save(self.work / "frequencies.npy", frequencies)
        shape = self.n_documents, len(words)
        files = {path.name: path.stat().st_size for path in sorted(self.work.iterdir()) if path.is_file()}
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "documents": self.n_documents,
            "words": len(vocabulary),
            "pairs": sum(shard["pairs"] for shard in self._shards),
            "tokens": int(frequencies.sum()),
            "fingerprint": disk_fingerprint(self.work, shape, len(self._shards)),
            "tokeniser": None if tokeniser is None else tokeniser.to_dict(),
            "has_texts": "texts" in self._strings,
            "has_labels": "labels" in self._strings,
            "columns": columns,
            "first_name": numbered,
            "shards": self._shards,
            "files": files,
        }
        (self.work / META).write_text(json.dumps(meta, ensure_ascii=False, indent=1), encoding="utf-8")
        self.work.replace(self.folder)
        function = None if tokeniser is None else tokeniser.function
        return DiskCorpus.open(self.folder, tokeniser=function if callable(function) else None)

    def _append(self, pointers: NDArray[np.int64], words: NDArray[Any], counts: NDArray[np.int32]) -> None:
        n = len(pointers) - 1
        empty = np.flatnonzero(pointers[1:] == pointers[:-1])
        self.n_empty += len(empty)
        self.first_empty = [*self.first_empty, *(empty[:SHOWN] + self.n_documents).tolist()][:SHOWN]
        self.n_documents += n
        begin = 0
        while begin < n:
            end = int(np.searchsorted(pointers, pointers[begin] + self._room, side="right")) - 1
            end = max(end, begin)  # a document larger than a shard leaves no room at all
            if end == begin and not self._waiting:
                end = begin + 1
            if end > begin:
                part = slice(pointers[begin], pointers[end])
                # Copies: a slice would keep the whole piece in memory until the shard is written.
                lengths = np.diff(pointers[begin : end + 1])
                self._waiting.append((lengths, words[part].astype(np.int32), counts[part].copy()))
                self._room -= int(pointers[end] - pointers[begin])
            if end < n:
                self._flush()
            begin = end

    def _flush(self) -> None:
        if not self._waiting:
            return
        lengths, words, counts = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting, self._room = [], self._limit
        seen = np.bincount(words, weights=counts).astype(np.int64)
        if len(seen) > len(self._frequencies):
            self._frequencies = np.pad(self._frequencies, (0, len(seen) - len(self._frequencies)))
        self._frequencies[: len(seen)] += seen
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        parts = {
            "pointers": pointers.astype(np.uint32 if len(words) < 2**32 else np.int64),
            "words": words.astype(np.uint16 if len(seen) <= 2**16 else np.uint32),
            "counts": counts.astype(np.min_scalar_type(int(counts.max(initial=0)))),
        }
        for part, array in parts.items():
            np.save(self.work / shard_file(len(self._shards), part), array)
        types = {part: array.dtype.name for part, array in parts.items()}
        self._shards.append({"documents": len(lengths), "pairs": len(words), **types})

    def _checked_frequencies(self, n_words: int) -> NDArray[np.int64]:
        if not self._frequencies.any():
            raise DataError(
                "the corpus has no words",
                source=self.source,
                remedy="Give at least one document with a word.",
            )
        if len(self._frequencies) > n_words:
            raise DataError(
                f"a word has number {len(self._frequencies) - 1:,}, and the vocabulary has {n_words:,} words",
                source=self.source,
                remedy="Words are numbered from 0; give the vocabulary that belongs to the documents.",
            )
        return np.pad(self._frequencies, (0, n_words - len(self._frequencies)))

    def _close_strings(self, first_name: int) -> int | None:
        """Close names, texts and groups; return the number of the first document where the names are numbers."""
        for what, file in self._files().items():
            if len(file) != self.n_documents:
                raise DataError(
                    f"{len(file):,} {what} were given for {self.n_documents:,} documents",
                    source=self.source,
                    remedy=f"Give {what} for every document, or none.",
                )
        for strings in self._strings.values():
            strings.close()
        names = self._strings.get("names")
        if names is None:
            return first_name
        for first in (0, 1):
            if names.counts_from(first):
                names.abandon()
                return first
        return None
