"""Write a corpus to disk: pieces of a stream of documents, or what the reader of a file gives."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.build import DocumentBatch, entry_facts, read_documents, size_facts
from acvb_core.data.corpora.metadata import (
    ColumnKind,
    check_columns,
    kind_facts,
    kind_of_strings,
    looks_like_dates,
    read_kinds,
    type_column,
)
from acvb_core.data.corpora.readers import as_frame, check_arguments, load_corpus, read_entries
from acvb_core.data.corpora.reading import SHOWN, Reading, batch_words, is_object, name_facts, offer_skipping
from acvb_core.data.corpora.schema import CorpusOptions, CorpusSource, inspect_source, open_corpus_source
from acvb_core.data.corpora.tokenise import Tokeniser, WordFunction, WordList, apply_limits, as_tokeniser
from acvb_core.data.corpus import MAX_COUNT, Corpus, check_counts, no_words_fault
from acvb_core.data.disk import (
    FORMAT,
    META,
    VERSION,
    ColumnWriter,
    DiskCorpus,
    StringWriter,
    index_type,
    shard_file,
)
from acvb_core.data.names import ValueKind, typed_values, unique_names
from acvb_core.data.report import Fact, LoadedData, ReadReport
from acvb_core.data.schema import Schema
from acvb_core.data.sources.arrays import to_array
from acvb_core.data.sources.source import FileLike
from acvb_core.data.sources.values import LabelTable

#: Pairs of a shard: about 12 MB on disk, 32 MB in memory.
SHARD_PAIRS = 4_000_000
#: Word numbers are below it, however large the vocabulary turns out to be.
_MAX_WORDS = 2**31 - 1


class ShardWriter:
    """Write documents to a new folder; use as a context, which removes everything unless `finish` was reached.

    Until then everything lies in `work`, a hidden folder next to the new one. `source` is what errors call the data.
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
        #: Kinds of further columns that the user chose, and the facts about all of them once they are written.
        self.kinds: dict[str, str] = {}
        self.column_facts: list[Fact] = []
        self.label_name = ""
        self._given_columns: dict[str, None] = {}
        self.n_documents = self.zeros = self.repeated = self.n_empty = 0
        self.first_empty: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        if isinstance(problem, OSError):
            raise self._disk_fault(problem) from problem

    def _disk_fault(self, problem: OSError) -> DataError:
        return DataError(
            f"the corpus cannot be written ({problem.strerror or problem})",
            source=str(self.folder),
            remedy="Check the free space and the right to write there, or choose another folder.",
        )

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
        """Append what accompanies documents: values of further columns, names, texts and labels."""
        for what, values in strings.items():
            if values is not None:
                self.strings(what).extend(values)
        for name, values in columns.items():
            self._given_columns[name] = None
            if self.kinds.get(name) == "none":
                continue
            if name not in self._columns:
                self._columns[name] = ColumnWriter(self.work, len(self._columns))
            self._columns[name].extend(values)

    def add(self, pointers: NDArray[Any], words: NDArray[np.int32], counts: NDArray[Any]) -> None:
        """Append documents: the entries of document i are `pointers[i]` to `pointers[i + 1] - 1`."""
        parts = counts.astype(np.int64), words, pointers.astype(index_type(len(words)))
        matrix = sparse.csr_array(parts, (len(pointers) - 1, _MAX_WORDS))
        self.zeros += len(counts) - int(np.count_nonzero(counts))
        matrix.sum_duplicates()
        self.repeated += len(counts) - matrix.nnz
        matrix.eliminate_zeros()
        if (largest := int(matrix.data.max(initial=0))) > MAX_COUNT:
            what = f"a word count is larger than {MAX_COUNT:,}"
            raise DataError(what, source=self.source, value=str(largest), remedy="Check the counts.")
        empty = np.flatnonzero(np.diff(matrix.indptr) == 0)
        self.n_empty += len(empty)
        self.first_empty = [*self.first_empty, *(empty[:SHOWN] + self.n_documents).tolist()][:SHOWN]
        self.n_documents += matrix.shape[0]
        self._append(matrix.astype(np.int32))

    def _append(self, documents: sparse.csr_array) -> None:
        """Put documents into the shard that is being filled, and begin another if it has no room."""
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
        if not self._frequencies.any():
            raise no_words_fault(self.source)
        self._check_lengths()
        n_words = len(vocabulary)
        frequencies = np.pad(self._frequencies, (0, n_words - len(self._frequencies)))
        np.save(self.work / "frequencies.npy", frequencies)
        first_name = self.strings("names").first_number() if "names" in self._strings else 1
        if "names" in self._strings and first_name is not None:
            self._strings.pop("names").remove()
        words = unique_names(np.asarray(vocabulary, dtype=object), n_words, "word", self.source)
        self.strings("vocabulary").extend(words)
        for strings in self._strings.values():
            strings.save_places()
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "documents": self.n_documents,
            "words": n_words,
            "pairs": sum(shard["pairs"] for shard in self._shards),
            "tokens": int(frequencies.sum()),
            "fingerprint": self._fingerprint(n_words),
            "tokeniser": None if tokeniser is None else tokeniser.to_dict(),
            "has_texts": "texts" in self._strings,
            "has_labels": "labels" in self._strings,
            "label_name": self.label_name if "labels" in self._strings else "",
            "columns": self._write_columns(),
            "first_name": first_name,
            "shards": self._shards,
            "files": {path.name: path.stat().st_size for path in sorted(self.work.iterdir())},
        }
        (self.work / META).write_text(json.dumps(meta, ensure_ascii=False, indent=1), encoding="utf-8")
        self.work.replace(self.folder)
        function = None if tokeniser is None else tokeniser.function
        return DiskCorpus.open(self.folder, tokeniser=function if callable(function) else None)

    def _write_columns(self) -> dict[str, ValueKind]:
        """Write the further columns as what they are, and return it; DataError if a chosen one is not there."""
        check_columns(self.kinds, self._given_columns, self.source)
        found, kinds = dict[str, ValueKind](), dict[str, ColumnKind]()
        facts: list[Fact] = []
        for name, column in self._columns.items():
            first, wanted = next(column.batches(), []), self.kinds.get(name)
            if wanted is None and not column.is_typed:
                wanted = "date" if column.guessed == "string" and looks_like_dates(first) else None
            if wanted in ("group", "text"):
                column.save_places()
                found[name] = "string"
            elif wanted is not None:
                typed = type_column(name, list(column), self.kinds.get(name), self.source)
                facts += typed.facts
                found[name] = column.replace_by(typed.values) if typed.values.dtype.kind != "O" else "string"
            else:
                found[name] = column.write_typed()
            if found[name] == "string":
                kinds[name] = kind_of_strings(column)
            else:
                kinds[name] = "date" if found[name] in ("day", "time") else "number"
        self.column_facts = [*kind_facts(kinds), *facts]
        return found

    def _check_lengths(self) -> None:
        """Raise DataError if what accompanies the documents is not given for each."""
        columns = {f"values of {name}": file for name, file in self._columns.items()}
        for what, file in (self._strings | columns).items():
            if len(file) != self.n_documents:
                told = f"{len(file):,} {what} were given for {self.n_documents:,} documents"
                remedy = f"Give {what} for every document, or none."
                raise DataError(told, source=self.source, remedy=remedy)

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


#: Entries that are sorted in memory at once: about 50 MB with what the sorting needs.
AT_ONCE = 1 << 20
_ENTRY = np.dtype("<i4")


class EntrySpool:
    """Take (document, word, count) entries in any order, and give them back by document.

    On disk: 12 bytes an entry. In memory: 16 bytes a document, and `at_once` entries or twice as many, or those of a
    document that has more.
    """

    def __init__(self, folder: Path, at_once: int) -> None:
        self._path, self._at_once = folder / "entries", at_once
        self._waiting: list[NDArray[np.int32]] = []
        self._runs = [0]  # where runs of entries begin that are sorted by document
        self.n_entries = 0

    def add(self, documents: NDArray[Any], words: NDArray[Any], counts: NDArray[Any]) -> None:
        """Append entries; documents and words are numbers from 0, counts below 2^31."""
        if len(documents):
            self._waiting.append(np.stack([documents, words, counts]).astype(_ENTRY))
            self.n_entries += len(documents)
        if self.n_entries - self._runs[-1] >= self._at_once:
            self._write_run()

    def _write_run(self) -> None:
        """Write the entries that wait, a row of documents, one of words and one of counts."""
        run = np.concatenate(self._waiting, axis=1)
        if (run[0, 1:] < run[0, :-1]).any():
            run = _sort_entries(run)
        with self._path.open("ab") as file:
            file.write(run.tobytes())
        self._waiting = []
        self._runs.append(self.n_entries)

    def documents(self, n_documents: int) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]]:
        """Give pointers, words and counts of documents 0 to `n_documents` - 1, some whole documents at a time; once."""
        if self._waiting:
            self._write_run()
        stored = np.memmap(self._path, _ENTRY, "r") if self.n_entries else np.empty(0, _ENTRY)
        runs = [stored[3 * begin : 3 * end].reshape(3, -1) for begin, end in pairwise(self._runs)]
        sizes = np.zeros(n_documents, dtype=np.int64)
        for documents, _, _ in runs:
            counted = np.bincount(documents - documents[0])
            sizes[documents[0] : documents[0] + len(counted)] += counted
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        by_size = np.searchsorted(bounds, np.arange(0, bounds[-1], self._at_once), side="right") - 1
        by_number = np.arange(0, n_documents, self._at_once)
        pieces = np.unique(np.concatenate([by_size, by_number, [n_documents]])).tolist()
        cuts = np.array([np.searchsorted(documents, pieces) for documents, _, _ in runs]).reshape(
            -1, len(pieces)
        )
        for (begin, end), starts, ends in zip(pairwise(pieces), cuts.T, cuts.T[1:], strict=False):
            parts = [run[:, a:b] for run, a, b in zip(runs, starts, ends, strict=True) if a < b]
            found = np.concatenate([np.empty((3, 0), _ENTRY), *parts], axis=1)
            if len(parts) > 1:
                found = _sort_entries(found)
            yield bounds[begin : end + 1] - bounds[begin], found[1], found[2]
        self._path.unlink(missing_ok=True)


def _sort_entries(entries: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return entries by document, those of one in their order; sorting numbers is ten times as fast as `argsort`."""
    order = (entries[0].astype(np.int64) << 32) | np.arange(entries.shape[1])
    order.sort()
    return entries.take(order & 0xFFFFFFFF, axis=1)


class DiskBuilder:
    """Read texts or word counts, and write them as a corpus on disk when all of them are there.

    Every different word of texts is remembered until the end, about 50 bytes each: only then is it known which of them
    occur in enough documents.
    """

    def __init__(self, writer: ShardWriter, tokeniser: Tokeniser | None, keep_texts: bool) -> None:
        self._writer, self._keep_texts = writer, keep_texts
        self._spool = EntrySpool(writer.work, AT_ONCE)
        self._tokeniser = tokeniser or Tokeniser()
        self._unlimited = self._tokeniser.without_limits()
        self._n_documents = 0
        self._table = LabelTable()
        # How often each word occurs in all texts and in how many, and why it is dropped ("": its counts decide).
        self._sums = np.zeros((2, 0), dtype=np.int64)
        self._reasons = np.empty(0, dtype=object)

    def _add_documents(self, batch: DocumentBatch) -> None:
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
        more = len(self._table) - len(self._reasons)
        self._sums = np.pad(self._sums, ((0, 0), (0, more)))
        self._reasons = np.pad(self._reasons, (0, more), constant_values="")
        self._sums[:, codes] += words.counts, words.documents
        self._reasons[codes] = reason
        return codes

    def write_texts(self, reading: Reading) -> tuple[NDArray[Any], list[Fact]]:
        """Read texts, and sort their words into shards; return the vocabulary and the facts."""
        facts: list[Fact] = []
        for batch in read_documents(reading, facts):
            self._add_documents(batch)
        facts += name_facts(0, *self._writer.strings("names").make_unique())
        found = WordList(typed_values(self._table.labels(), "string"), *self._sums)
        kept, preview = apply_limits(found, self._reasons, self._n_documents, self._tokeniser)
        if not len(kept):
            raise preview.explain_nothing_left(self._tokeniser, reading.name)
        final = np.full(len(self._table), -1, dtype=np.int32)
        final[kept] = np.arange(len(kept))
        self._write(reading, self._n_documents, final)
        return found.words[kept], [*facts, *preview.facts()]

    def write_counts(self, reading: Reading, vocabulary: Any) -> tuple[Sequence[str], list[Fact]]:
        """Read word counts, and sort them into shards; return the vocabulary and the facts."""
        found = read_entries(reading, vocabulary, self._spool.add)
        if found.names is not None:
            self._writer.strings("names").extend_packed(*found.names.pack())
        self._writer.add_beside(found.columns, labels=found.labels or None)
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


#: Documents one after another: where each begins, their words and counts.
Piece = tuple[ArrayLike, ArrayLike, ArrayLike]


def read_to_disk(
    source: FileLike | Any,
    folder: str | Path,
    *,
    filename: str | None = None,
    name: str | None = None,
    vocabulary: FileLike | Any | None = None,
    tokeniser: Tokeniser | WordFunction | None = None,
    broken: Literal["refuse", "skip"] = "refuse",
    progress: Callable[[float], None] | None = None,
    keep_texts: bool = True,
    shard_pairs: int = SHARD_PAIRS,
    **options: Unpack[CorpusOptions],
) -> LoadedData[DiskCorpus]:
    """Read a corpus that need not fit into memory; what is read is what `load_corpus` reads.

    The folder appears when everything is in it; an interrupted reading leaves nothing. Meanwhile the disk must hold
    12 bytes for each entry of the file as well, and the memory the words and the names of a list of counts.

    Parameters
    ----------
    source : path, bytes, binary file object, data frame or other Python object; or a folder of .txt files
        As in `load_corpus`. Lists and matrices are turned into counts in memory before they are written.
    folder : path
        Where the corpus is to be. Must not exist, or be empty.
    filename, name, vocabulary, tokeniser, **options
        As in `load_corpus`.
    broken : "refuse" or "skip"
        Treatment of a line that cannot be read: its fault is raised, or the line is left out and counted in the
        report. A gzip file that is damaged or truncated ends there: what came before is kept, but for a last line
        that may be cut.
    progress : callable, optional
        Takes the share that is done (reading is nine tenths of it), a few times a second at most, and 1.0 before the
        folder appears; what it raises ends the reading.
    keep_texts, shard_pairs
        Whether texts are kept with their counts, and the (document, word) pairs of a shard.

    Raises
    ------
    DataError
        The file cannot be read as asked, or the folder not be written; names file, line, column, value and remedy.
    ParameterError
        An argument makes no sense for any file, or for this format; there is something at `folder`.
    """
    if broken not in ("refuse", "skip"):
        raise ParameterError(f"broken is {broken!r}; choose refuse or skip.")
    source = as_frame(source)
    if is_object(source):
        loaded = load_corpus(
            source, filename=filename, name=name, vocabulary=vocabulary, tokeniser=tokeniser, **options
        )
        if progress is not None:
            progress(1.0)
        corpus = loaded.data if keep_texts else replace(loaded.data, texts=None)
        return LoadedData(
            write_disk_corpus([corpus], folder, shard_pairs=shard_pairs), loaded.report, loaded.schema
        )
    skip, cutting = broken == "skip", as_tokeniser(tokeniser)
    with open_corpus_source(source, filename, options, patient=skip) as opened:
        schema = _inspect(opened, options)
        check_arguments(schema, cutting, vocabulary)
        cutting = cutting or Tokeniser() if schema.has_texts else None
        reading = Reading(opened, schema, options.get("encoding"), skip=skip, progress=progress)
        with ShardWriter(folder, name=name or opened.stem, shard_pairs=shard_pairs) as writer:
            writer.label_name = schema.label_name
            writer.source, writer.kinds = opened.name, read_kinds(options.get("column_kinds"))
            builder = DiskBuilder(writer, cutting, keep_texts)
            words: Sequence[str] | NDArray[Any]
            if schema.has_texts:
                words, facts = builder.write_texts(reading)
            else:
                words, facts = builder.write_counts(reading, vocabulary)
            reading.report_written(1.0)
            disk = writer.finish(words, tokeniser=cutting)
    facts = [
        *reading.left_out_facts(),
        *facts,
        *writer.column_facts,
        *entry_facts(writer.repeated, writer.zeros),
        *size_facts(disk, writer.n_empty, disk.document_names(writer.first_empty)),
    ]
    return LoadedData(disk, ReadReport(schema.filename, tuple(facts)), schema)


def _inspect(source: CorpusSource, options: CorpusOptions) -> Schema:
    """Return how a source is read; a fault in its head comes with the offer to continue if that is possible."""
    try:
        return inspect_source(source, options)
    except DataError as fault:
        if source.patient:
            raise
        source.patient = True
        with suppress(DataError):
            inspect_source(source, options)
            fault = offer_skipping(fault)
        raise fault from None


def write_disk_corpus(
    documents: Iterable[Corpus | Piece],
    folder: str | Path,
    *,
    vocabulary: Sequence[str] | NDArray[Any] | None = None,
    name: str | None = None,
    tokeniser: Tokeniser | None = None,
    shard_pairs: int = SHARD_PAIRS,
) -> DiskCorpus:
    """Write pieces of a stream of documents to disk; one piece at a time is in memory.

    Parameters
    ----------
    documents : iterable of Corpus, or of (pointers, words, counts)
        Words of corpora are matched by name, those of arrays are numbers within the vocabulary. Names, texts,
        labels and metadata are kept where the pieces are corpora (all of them, or none, have each); documents of the
        same name get a number appended.
    folder : path
        Must not exist, or be empty.
    vocabulary : sequence of str, optional
        Needed for arrays. Corpora: default, the words in order of appearance.
    name, tokeniser : optional
        Default: those of the first corpus.
    shard_pairs : int
        (document, word) pairs of a shard.

    Raises
    ------
    DataError
        A piece is no valid counts, holds a word that the vocabulary does not, or there is no token.
    ParameterError
        There is something at `folder`, or arrays come without a vocabulary.
    """
    index = {str(word): i for i, word in enumerate(() if vocabulary is None else vocabulary)}
    with ShardWriter(folder, name=name or "corpus", shard_pairs=shard_pairs) as writer:
        named = False
        for piece in documents:
            if not isinstance(piece, Corpus):
                if vocabulary is None:
                    raise ParameterError("Arrays of word numbers need a vocabulary; give vocabulary=[…].")
                checked = _check_arrays(piece, len(index), writer.source)
                writer.add(checked.indptr, checked.indices, checked.data)
                continue
            if not named:
                writer.name, writer.label_name, named = name or piece.name, piece.label_name, True
                tokeniser = tokeniser or piece.tokeniser
            if vocabulary is None:
                for word in piece.vocabulary:
                    index.setdefault(word, len(index))
            places = np.array([index.get(word, -1) for word in piece.vocabulary], dtype=np.int32)
            words = places[piece.counts.indices]
            if (words < 0).any():
                raise DataError(
                    "this word is not in the vocabulary",
                    source=piece.name,
                    value=str(piece.vocabulary[piece.counts.indices[int(np.argmax(words < 0))]]),
                    remedy="Add it, or leave that out.",
                )
            writer.add(piece.counts.indptr, words, piece.counts.data)
            writer.add_beside(piece.metadata, names=piece.documents, texts=piece.texts, labels=piece.labels)
        if named:
            writer.strings("names").make_unique()
        return writer.finish(list(index), tokeniser=tokeniser)


def _check_arrays(piece: Piece, n_words: int, source: str) -> sparse.csr_array:
    """Return the counts of documents that were given as pointers, words and counts."""
    pointers, words, counts = (to_array(part, source) for part in piece)
    try:
        if pointers.dtype.kind not in "iu" or (len(words) and words.dtype.kind not in "iu"):
            raise ValueError("pointers or words are not whole numbers")
        matrix = sparse.csr_array((counts, words.astype(np.int64), pointers), (len(pointers) - 1, n_words))
    except (ValueError, TypeError) as problem:
        remedy = "Give pointers, words and counts of documents as whole numbers."
        raise DataError(f"the arrays are no documents ({problem})", source=source, remedy=remedy) from None
    return check_counts(matrix, source)
