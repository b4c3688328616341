"""A corpus on disk: a folder of shards, each a piece of the documents, read one after another or by number."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.files import ONE_READER
from acvb_core.data.corpora.tokenise import Tokeniser, WordFunction, with_function
from acvb_core.data.corpus import Corpus, WordCounts
from acvb_core.data.names import KindGuess, ValueKind, kind_of, number_repeated, string_values, typed_values

FORMAT = "acvb corpus on disk"
VERSION = 1
META = "meta.json"
#: Strings that are read at once if all are read.
_AT_ONCE = 1 << 14
_SHOWN = 5


def damage_error(folder: Path, problem: str) -> DataError:
    """Return the error for a folder whose files are not as they were written."""
    what = f"this corpus on disk is damaged ({problem})"
    return DataError(what, source=str(folder), remedy="Read the corpus to disk again.")


def read_meta(folder: Path) -> dict[str, Any]:
    """Return what a folder says of itself; DataError if it holds no corpus, or one of another version."""
    what, remedy = "this folder holds no corpus on disk", "Choose a folder that read_to_disk has written."
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except OSError:
        raise DataError(what, source=str(folder), remedy=remedy) from None
    except ValueError as problem:
        raise damage_error(folder, f"{META}: {problem}") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise DataError(f"{META} is not that of a corpus on disk", source=str(folder), remedy=remedy)
    if meta.get("version") != VERSION:
        what = f"this corpus is of version {meta.get('version')} of the form, and {VERSION} is read here"
        remedy = "Read the corpus to disk again, or use a later ACVB."
        raise DataError(what, source=str(folder), remedy=remedy)
    return meta


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Return an array of the folder, mapped into memory; every call opens it again, so that threads share nothing."""
    try:
        with ONE_READER:
            return np.load(folder / name, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        if folder.is_dir():
            raise damage_error(folder, f"{name} is missing") from None
        what = "this corpus on disk is not there any more; its folder was deleted or moved"
        remedy = "Put it back, or read the corpus to disk again."
        raise DataError(what, source=str(folder), remedy=remedy) from None
    except Exception as problem:  # a damaged header makes NumPy raise all sorts
        raise damage_error(folder, f"{name}: {problem}") from None


class Shard(NamedTuple):
    """The documents of one piece: the pairs of document i are `pointers[i]` to `pointers[i + 1] - 1`.

    Words are sorted within a document, none twice. Kernels get int64 pointers, int32 words and float32 counts; on
    disk lie the smallest types that hold the numbers.
    """

    pointers: NDArray[Any]
    words: NDArray[Any]
    counts: NDArray[Any]


def shard_file(number: int, part: str) -> str:
    """Return the name of a file of a shard ("pointers", "words" or "counts")."""
    return f"shard-{number:05d}-{part}.npy"


def index_type(n_pairs: int) -> type[np.int32 | np.int64]:
    """Return the type of the pointers of a matrix; SciPy would widen the words to that of larger ones."""
    return np.int32 if n_pairs < 2**31 else np.int64


def read_strings(folder: Path, stem: str, numbers: NDArray[np.int64]) -> list[str]:
    """Return strings that `StringWriter` wrote, in the order of the numbers."""
    places = load_array(folder, f"{stem}.npy")
    if not places[-1]:  # an empty file cannot be mapped into memory
        return [""] * len(numbers)
    bounds = zip(places[numbers].tolist(), places[numbers + 1].tolist(), strict=True)
    with (folder / f"{stem}.utf8").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:
        try:
            return [text[begin:end].decode("utf-8") for begin, end in bounds]
        except UnicodeDecodeError as problem:
            raise damage_error(folder, f"{stem}.utf8: {problem}") from None


class StringWriter:
    """Append strings to a file; what stays in memory is the place of each, 8 bytes. No file is kept open."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder, self._stem = folder, stem
        self._text, self._index = folder / f"{stem}.utf8", folder / f"{stem}.npy"
        self._text.touch()
        self._places = array("q", [0])

    def __len__(self) -> int:
        return len(self._places) - 1

    def extend(self, strings: Iterable[str]) -> None:
        """Append strings."""
        end = self._places[-1]
        with self._text.open("ab") as file:
            for string in strings:
                end += file.write(string.encode("utf-8"))
                self._places.append(end)

    def extend_packed(self, pool: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
        """Append n strings that lie in a row, at n + 1 places."""
        base = self._places[-1] - int(places[0])
        with self._text.open("ab") as file:
            file.write(pool[places[0] : places[-1]].tobytes())
        self._places.frombytes((places[1:] + base).astype(np.int64).tobytes())

    def save_places(self) -> None:
        """Write the places; the strings can be read from now on."""
        np.save(self._index, np.frombuffer(self._places, dtype=np.int64))

    def remove(self) -> None:
        """Remove what was written."""
        self._text.unlink()
        self._index.unlink(missing_ok=True)

    def batches(self) -> Iterator[list[str]]:
        """Save the places, and give all strings, some at a time."""
        self.save_places()
        for begin in range(0, len(self), _AT_ONCE):
            numbers = np.arange(begin, min(begin + _AT_ONCE, len(self)))
            yield read_strings(self._folder, self._stem, numbers)

    def __iter__(self) -> Iterator[str]:
        return (string for batch in self.batches() for string in batch)

    def first_number(self) -> int | None:
        """Return 0 or 1 if the strings are the numbers from there on."""
        first = next(iter(self), "")
        counts = first in ("0", "1") and all(name == str(i) for i, name in enumerate(self, int(first)))
        return int(first) if counts else None

    def make_unique(self) -> tuple[int, list[str]]:
        """Append a number to every string that stood before; return how many those are and the first of them.

        The strings are those of `names.make_unique`; what distinguishes two of them is their hash of 64 bits.
        """
        hashes = np.sort(np.fromiter(map(hash, self), np.int64, len(self)))
        repeated = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        changed: list[str] = []
        if repeated:

            def is_taken(name: str) -> bool:
                at = hashes.searchsorted(hash(name))
                return bool(at < len(hashes) and hashes[at] == hash(name))

            new = StringWriter(self._folder, f"{self._stem}-unique")
            new.extend(number_repeated(self, lambda name: hash(name) in repeated, is_taken, changed))
            new._text.replace(self._text)
            self._places = new._places
        return len(changed), changed[:_SHOWN]


class ColumnWriter(StringWriter):
    """Append the values of a further column as strings; they are typed once all are known."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__(folder, f"column-{number}")
        self._guess = KindGuess()
        self._kinds: set[ValueKind] = set()

    def extend(self, values: Iterable[str] | NDArray[Any]) -> None:
        """Append values: strings that are still to be typed, or a typed array."""
        if isinstance(values, np.ndarray):
            self._kinds.add(kind_of(values))
            values = string_values(values)
        else:
            values = list(values)
            self._guess.add(values)
        super().extend(values)

    @property
    def is_typed(self) -> bool:
        """Return whether the values were given as typed arrays."""
        return bool(self._kinds)

    @property
    def guessed(self) -> ValueKind:
        """The narrowest kind that all strings have."""
        return self._guess.kind

    def replace_by(self, typed: NDArray[Any]) -> ValueKind:
        """Write typed values in place of the strings, and return their kind."""
        kind = kind_of(typed)
        np.save(self._folder / f"{self._stem}-{kind}.npy", typed)
        self.remove()
        return kind

    def write_typed(self) -> ValueKind:
        """Write the values as the narrowest kind that holds all of them, and return it."""
        kinds = frozenset(self._kinds or {self._guess.kind})
        kind = next(iter(kinds)) if len(kinds) == 1 else _COMMON_KINDS.get(kinds, "string")
        if kind == "string":
            self.save_places()
        else:
            self.replace_by(np.concatenate([typed_values(batch, kind) for batch in self.batches()]))
        return kind


#: The kind that holds the values of several.
_COMMON_KINDS: dict[frozenset[ValueKind], ValueKind] = {
    frozenset[ValueKind]({"integer", "number"}): "number",
    frozenset[ValueKind]({"day", "time"}): "time",
}


@dataclass(frozen=True, eq=False, repr=False)
class DiskCorpus(WordCounts):
    """Word counts of documents that stay on disk; what is held in memory does not grow with the documents.

    `read_to_disk` makes one of a file, `write_disk_corpus` of pieces of documents. Sizes and frequencies are those
    of the documents that are in: all but `left_out`.

    Attributes
    ----------
    folder : Path
    name, vocabulary, tokeniser, frequencies, n_documents, n_pairs, n_tokens
        As of a `Corpus`.
    whole_fingerprint : str
        SHA-256 (hex) of shape and counts of all that the folder holds, whatever the size of the shards.
    begins : int64 array, shape (n_shards + 1,)
        The first document of each shard, and behind the last the number of all documents of the folder.
    left_out : int64 array
        Sorted numbers of documents that are held out.
    added : ndarray of str (object dtype)
        Words at the end of the vocabulary that the folder does not know (`with_words`).
    has_texts, has_labels : bool
        Texts, and known groups, are kept with the counts.
    first_name : int or None
        Documents are called by their number, the first by this one; None: by the names in the folder.
    columns : mapping of str to "integer", "number", "day", "time" or "string"
        The further columns of the documents (`Corpus.metadata`), and what they hold; `column` reads one.
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
    columns: Mapping[str, ValueKind] = field(default_factory=dict)
    label_name: str = ""

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
            for file, size in meta["files"].items():
                if not (folder / file).is_file() or (folder / file).stat().st_size != size:
                    raise damage_error(folder, f"{file} is missing or not of the size that was written")
            words = read_strings(folder, "vocabulary", np.arange(meta["words"]))
            settings = meta["tokeniser"]
            corpus = cls(
                folder,
                meta["name"],
                typed_values(words, "string"),
                None if settings is None else Tokeniser.from_dict(settings),
                np.array(load_array(folder, "frequencies.npy")),
                meta["documents"],
                meta["pairs"],
                meta["tokens"],
                meta["fingerprint"],
                np.cumsum([0, *(shard["documents"] for shard in meta["shards"])], dtype=np.int64),
                meta["has_texts"],
                meta["first_name"],
                has_labels=meta.get("has_labels", False),
                columns=dict(meta.get("columns", {})),
                label_name=str(meta.get("label_name", "")),
            )
        except (LookupError, TypeError, AttributeError, ValueError, OSError, ParameterError) as problem:
            raise damage_error(folder, f"{type(problem).__name__}: {problem}") from None
        return replace(corpus, tokeniser=with_function(corpus.tokeniser, tokeniser))

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

    @property
    def size_text(self) -> str:
        """Size in words: documents, vocabulary, tokens."""
        return f"{super().size_text} · on disk"

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

    def shard(self, number: int) -> Shard:
        """Return the documents of one shard that are in, read into memory; threads may call it at once."""
        if not 0 <= number < self.n_shards:
            raise ParameterError(f"There is no shard {number} in {self.name}; it has {self.n_shards}.")
        begin, end = self.begins[number : number + 2]
        out = self.left_out[slice(*np.searchsorted(self.left_out, (begin, end)))]
        if len(out):
            rows = self._read_counts(np.setdiff1d(np.arange(begin, end), out, assume_unique=True))
            pointers, words, counts = rows.indptr, rows.indices, rows.data
        else:
            pointers, words, counts = self._map_shard(number)
            words = self._check_words(number, words)
        return Shard(pointers.astype(np.int64), words, counts.astype(np.float32))

    def _map_shard(self, number: int) -> Shard:
        """Return a shard as it lies on disk; DataError if its pointers would lead a compiled loop out of the arrays."""
        shard = Shard(*(load_array(self.folder, shard_file(number, part)) for part in Shard._fields))
        pointers, words, counts = shard
        sound = len(pointers) == self.begins[number + 1] - self.begins[number] + 1 and int(pointers[0]) == 0
        sound = sound and not (pointers[1:] < pointers[:-1]).any()
        if not (sound and int(pointers[-1]) == len(words) == len(counts)):
            raise damage_error(self.folder, f"the numbers of shard {number} contradict each other")
        return shard

    def _check_words(self, number: int, words: NDArray[Any]) -> NDArray[np.int32]:
        """Return word numbers of a shard as int32; DataError if they are beyond the vocabulary."""
        if len(words) and not 0 <= int(words.min()) <= int(words.max()) < self.n_words:
            raise damage_error(self.folder, f"the numbers of shard {number} contradict each other")
        return words.astype(np.int32)

    def _read_counts(self, chosen: NDArray[np.int64]) -> sparse.csr_array:
        """Return the int32 counts of documents, in the order of their numbers; only these are read."""
        order = np.argsort(chosen, kind="stable")
        cuts = np.searchsorted(chosen, self.begins, sorter=order)
        blocks = [sparse.csr_array((0, self.n_words), dtype=np.int32)]
        for number in np.flatnonzero(np.diff(cuts)).tolist():
            shard = self._map_shard(number)
            local = chosen[order[cuts[number] : cuts[number + 1]]] - self.begins[number]
            starts = shard.pointers[local].astype(np.int64)
            bounds = np.concatenate([[0], np.cumsum(shard.pointers[local + 1] - starts)])
            at = np.repeat(starts - bounds[:-1], np.diff(bounds)) + np.arange(bounds[-1])
            words = self._check_words(number, shard.words[at])
            parts = shard.counts[at].astype(np.int32), words, bounds.astype(index_type(len(at)))
            blocks.append(sparse.csr_array(parts, (len(local), self.n_words)))
        found = sparse.vstack(blocks, format="csr")
        return found if (np.diff(order) == 1).all() else found[np.argsort(order)]

    def _read_column(self, name: str, chosen: NDArray[np.int64]) -> NDArray[Any]:
        stem, kind = f"column-{list(self.columns).index(name)}", self.columns[name]
        if kind == "string":
            return typed_values(read_strings(self.folder, stem, chosen), kind)
        return np.array(load_array(self.folder, f"{stem}-{kind}.npy")[chosen])

    def documents(self, numbers: ArrayLike) -> Corpus:
        """Return documents by their numbers within the folder, in this order; those left out can be asked for.

        A number that no document has is a ParameterError.
        """
        chosen = self._check_numbers(numbers)
        return Corpus(
            self._read_counts(chosen),
            self.vocabulary,
            typed_values(self.document_names(chosen), "string"),
            self.name,
            tuple(read_strings(self.folder, "texts", chosen)) if self.has_texts else None,
            typed_values(read_strings(self.folder, "labels", chosen), "string") if self.has_labels else None,
            self.tokeniser,
            {name: self._read_column(name, chosen) for name in self.columns},
            self.label_name,
        )

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the further columns, for the documents that are in; all of it is held in memory.

        A name that no column has is a ParameterError.
        """
        if name not in self.columns:
            known = ", ".join(map(repr, self.columns)) or "none"
            raise ParameterError(f"{self.name} has no column {name!r}; its columns are: {known}.")
        return self._read_column(name, self._numbers_in(np.arange(self.n_documents)))

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
        counts = self._read_counts(new)
        return replace(
            self,
            frequencies=self.frequencies - counts.sum(axis=0, dtype=np.int64),
            n_documents=self.n_all - len(out),
            n_pairs=self.n_pairs - counts.nnz,
            n_tokens=self.n_tokens - int(counts.sum(dtype=np.int64)),
            left_out=out,
        )

    def with_words(self, words: ArrayLike) -> DiskCorpus:
        """Return the same documents over a vocabulary with further words at its end, which occur in none of them.

        A word that is there already, or given twice, is a DataError.
        """
        new = self.further_words(words)
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
        # left_out[j] - j documents that are kept come before the j-th that is left out.
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
