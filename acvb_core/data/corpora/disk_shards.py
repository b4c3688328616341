"""Write documents into shards, in a folder that appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.disk_files import (
    FORMAT,
    META,
    VERSION,
    ColumnWriter,
    StringWriter,
    index_type,
    shard_file,
)
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.names import unique_names
from acvb_core.data.sources.objects import to_array

#: Pairs of a shard: about 12 MB on disk, 32 MB in memory.
SHARD_PAIRS = 4_000_000
#: Empty documents whose numbers are remembered.
SHOWN = 5
_MAX_COUNT = 2**31 - 1
#: Word numbers are below it, however large the vocabulary turns out to be.
_MAX_WORDS = 2**31 - 1


class ShardWriter:
    """Write documents to a new folder; use as a context, which removes everything unless `finish` was reached.

    Until then everything lies in `work`, a hidden folder beside the new one. `source` is what errors call the data.
    Counts of 0 are not stored (`zeros` of them), a word given twice in a document is added up (`repeated` entries),
    and `n_empty` documents have no word; the numbers of the first of these are kept.
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
            raise self._disk_fault(problem) from None
        self._limit = self._room = shard_pairs
        self._waiting: list[sparse.csr_array] = []
        self._shards: list[dict[str, Any]] = []
        self._frequencies = np.zeros(0, dtype=np.int64)
        self._strings: dict[str, StringWriter] = {}
        self._columns: dict[str, ColumnWriter] = {}
        self.n_documents = self.zeros = self.repeated = self.n_empty = 0
        self.first_empty: list[int] = []

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        for file in (*self._strings.values(), *self._columns.values()):
            with suppress(OSError):  # a full disk, which what is being raised tells of
                file.remove()
        shutil.rmtree(self.work, ignore_errors=True)
        if isinstance(problem, OSError):
            raise self._disk_fault(problem) from problem

    def _disk_fault(self, problem: OSError) -> DataError:
        return DataError(
            f"the corpus cannot be written ({problem.strerror or problem})",
            source=str(self.folder),
            remedy="Check the free space and the right to write there, or choose another folder.",
        )

    def _fault(self, what: str, remedy: str, value: str | None = None) -> DataError:
        return DataError(what, source=self.source, value=value, remedy=remedy)

    def strings(self, what: str) -> StringWriter:
        """Return where "names", "texts" or "labels" go: one for each document, or none at all."""
        if what not in self._strings:
            self._strings[what] = StringWriter(self.work, what)
        return self._strings[what]

    def add_beside(
        self,
        columns: Mapping[str, Sequence[str] | NDArray[Any]],
        **strings: Sequence[str] | NDArray[Any] | None,
    ) -> None:
        """Append what stands beside documents: values of further columns, names, texts and labels."""
        for what, values in strings.items():
            if values is not None:
                self.strings(what).extend(values)
        for name, values in columns.items():
            if name not in self._columns:
                self._columns[name] = ColumnWriter(self.work, len(self._columns))
            self._columns[name].extend(values)

    @property
    def given(self) -> dict[str, Any]:
        """Return whether texts and labels were given, and the further columns."""
        texts, labels = "texts" in self._strings, "labels" in self._strings
        return {"texts": texts, "labels": labels, "columns": list(self._columns)}

    def add(self, pointers: ArrayLike, words: ArrayLike, counts: ArrayLike) -> None:
        """Append documents: the entries of document i are `pointers[i]` to `pointers[i + 1] - 1`."""
        matrix = self._checked_counts(pointers, words, counts)
        given = matrix.nnz
        self.zeros += given - int(np.count_nonzero(matrix.data))
        matrix.sum_duplicates()
        self.repeated += given - matrix.nnz
        matrix.eliminate_zeros()
        if (largest := int(matrix.data.max(initial=0))) > _MAX_COUNT:
            raise self._fault(
                f"a word count is larger than {_MAX_COUNT:,}", "Check the counts.", str(largest)
            )
        empty = np.flatnonzero(np.diff(matrix.indptr) == 0)
        self.n_empty += len(empty)
        self.first_empty = [*self.first_empty, *(empty[:SHOWN] + self.n_documents).tolist()][:SHOWN]
        self.n_documents += matrix.shape[0]
        self._append(matrix.astype(np.int32))

    def _checked_counts(self, pointers: ArrayLike, words: ArrayLike, counts: ArrayLike) -> sparse.csr_array:
        """Return counts of documents as a new matrix of int64, words given twice and zeros included."""
        bounds, columns, values = (to_array(part, self.source) for part in (pointers, words, counts))
        fault = None
        if bounds.dtype.kind not in "iu" or columns.ndim != 1 or values.ndim != 1:
            fault = "the pointers are no whole numbers, or the words and counts no plain lists"
        elif bounds.ndim != 1 or not len(bounds) or bounds[0] != 0 or (bounds[1:] < bounds[:-1]).any():
            fault = "the pointers do not begin at 0 or fall"
        elif not int(bounds[-1]) == len(columns) == len(values):
            fault = (
                f"the pointers end at {bounds[-1]:,}, with {len(columns):,} words and {len(values):,} counts"
            )
        elif len(columns) and (
            columns.dtype.kind not in "iu" or int(columns.min()) < 0 or int(columns.max()) >= _MAX_WORDS
        ):
            fault = f"a word is not a number from 0 to {_MAX_WORDS - 1:,}"
        elif (
            values.dtype.kind not in "biuf"
            or not ((values >= 0) & (values == np.floor(values)) & (values < 2**53)).all()
        ):
            fault = "a word count is negative or not a whole number"
        if fault:
            raise self._fault(fault, "Give pointers, words and counts of documents as whole numbers.")
        parts = values.astype(np.int64), columns.astype(np.int32), bounds.astype(index_type(len(columns)))
        return sparse.csr_array(parts, (len(bounds) - 1, _MAX_WORDS))

    def _append(self, documents: sparse.csr_array) -> None:
        """Put documents into the shard that is being filled, and begin another where it has no room."""
        pointers, n = documents.indptr, documents.shape[0]
        begin = 0
        while begin < n:
            end = int(np.searchsorted(pointers, int(pointers[begin]) + self._room, side="right")) - 1
            end = max(end, begin if self._waiting else begin + 1)  # one document may be larger than a shard
            if end > begin:
                # A copy: a slice would keep the whole piece in memory until the shard is written.
                self._waiting.append(documents[begin:end].copy())
                self._room -= int(pointers[end] - pointers[begin])
            if end < n:
                self._write_shard()
            begin = end

    def _write_shard(self) -> None:
        if not self._waiting:
            return
        shard = sparse.vstack(self._waiting, format="csr")
        self._waiting, self._room = [], self._limit
        seen = np.bincount(shard.indices, weights=shard.data).astype(np.int64)
        more = max(len(seen) - len(self._frequencies), 0)
        self._frequencies = np.pad(self._frequencies, (0, more))
        self._frequencies[: len(seen)] += seen
        parts = {
            "pointers": shard.indptr.astype(np.uint32 if shard.nnz < 2**32 else np.int64),
            "words": shard.indices.astype(np.uint16 if len(seen) <= 2**16 else np.uint32),
            "counts": shard.data.astype(np.min_scalar_type(int(shard.data.max(initial=0)))),
        }
        for part, array in parts.items():
            np.save(self.work / shard_file(len(self._shards), part), array)
        self._shards.append({"documents": shard.shape[0], "pairs": shard.nnz})

    def finish(
        self, vocabulary: Sequence[str] | NDArray[Any], *, tokeniser: Tokeniser | None = None
    ) -> DiskCorpus:
        """Write what is left, let the folder appear and return the corpus in it."""
        self._write_shard()
        frequencies = self._checked_frequencies(len(vocabulary))
        first_name = self._close_names()
        columns = {name: column.write_typed() for name, column in self._columns.items()}
        self.strings("vocabulary").extend(
            unique_names(np.asarray(vocabulary, dtype=object), len(vocabulary), "word", self.source)
        )
        for strings in self._strings.values():
            strings.close()
        np.save(self.work / "frequencies.npy", frequencies)
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "documents": self.n_documents,
            "words": len(vocabulary),
            "pairs": sum(shard["pairs"] for shard in self._shards),
            "tokens": int(frequencies.sum()),
            "fingerprint": self._fingerprint(len(vocabulary)),
            "tokeniser": None if tokeniser is None else tokeniser.to_dict(),
            "has_texts": "texts" in self._strings,
            "has_labels": "labels" in self._strings,
            "columns": columns,
            "first_name": first_name,
            "shards": self._shards,
            "files": {path.name: path.stat().st_size for path in sorted(self.work.iterdir())},
        }
        (self.work / META).write_text(json.dumps(meta, ensure_ascii=False, indent=1), encoding="utf-8")
        self.work.replace(self.folder)
        function = None if tokeniser is None else tokeniser.function
        return DiskCorpus.open(self.folder, tokeniser=function if callable(function) else None)

    def _checked_frequencies(self, n_words: int) -> NDArray[np.int64]:
        seen = self._frequencies
        if not seen.any():
            raise self._fault("the corpus has no words", "Give at least one document with a word.")
        if len(seen) > n_words:
            raise self._fault(
                f"a word has number {len(seen) - 1:,}, and the vocabulary has {n_words:,} words",
                "Words are numbered from 0; give the vocabulary that belongs to the documents.",
            )
        return np.pad(seen, (0, n_words - len(seen)))

    def _close_names(self) -> int | None:
        """Return the number of the first document where the names are numbers; these are not kept."""
        columns = {f"values of {name}": file for name, file in self._columns.items()}
        for what, file in (self._strings | columns).items():
            if len(file) != self.n_documents:
                raise self._fault(
                    f"{len(file):,} {what} were given for {self.n_documents:,} documents",
                    f"Give {what} for every document, or none.",
                )
        if "names" not in self._strings:
            return 1
        first = self._strings["names"].first_number()
        if first is not None:
            self._strings.pop("names").remove()
        return first

    def _fingerprint(self, n_words: int) -> str:
        """Return the fingerprint of the same corpus in memory (`Corpus.fingerprint`), shard by shard."""
        digest = hashlib.sha256(f"corpus{(self.n_documents, n_words)!r}".encode() + bytes(8))
        base = 0
        for part, kind in (("pointers", "<i8"), ("words", "<i4"), ("counts", "<i4")):
            for number, shard in enumerate(self._shards):
                values = np.load(self.work / shard_file(number, part)).astype(kind)
                if part == "pointers":
                    values = values[1:] + base
                    base += shard["pairs"]
                digest.update(values.tobytes())
        return digest.hexdigest()
