"""The files of a corpus on disk: what they are called, how they are written, and how they are read with distrust."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.array_files import ONE_READER
from acvb_core.core.errors import DataError
from acvb_core.data.metadata import Kind, KindGuess, kind_of, string_values, typed_values
from acvb_core.data.names import number_repeated

FORMAT = "acvb corpus on disk"
VERSION = 1
META = "meta.json"
_READ_AGAIN = "Read the corpus to disk again"
_CHOOSE = "Choose a folder that read_to_disk has written."
#: Strings that are read at once where all are read.
_AT_ONCE = 1 << 14
_SHOWN = 5


def damage_error(folder: Path, problem: str) -> DataError:
    """Return the error for a folder whose files are not as they were written."""
    return DataError(
        f"this corpus on disk is damaged ({problem})", source=str(folder), remedy=f"{_READ_AGAIN}."
    )


def read_meta(folder: Path) -> dict[str, Any]:
    """Return what the folder says of itself; DataError where it holds no corpus, or one of another version."""
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except OSError:
        raise DataError("this folder holds no corpus on disk", source=str(folder), remedy=_CHOOSE) from None
    except ValueError as problem:
        raise damage_error(folder, f"{META}: {problem}") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise DataError(f"{META} is not that of a corpus on disk", source=str(folder), remedy=_CHOOSE)
    if meta.get("version") != VERSION:
        raise DataError(
            f"this corpus is of version {meta.get('version')} of the form, and {VERSION} is read here",
            source=str(folder),
            remedy=f"{_READ_AGAIN}, or use a later ACVB.",
        )
    return meta


def check_files(folder: Path, sizes: Mapping[str, int]) -> None:
    """Raise DataError where a file of the folder is missing, or not of the size that it was written with."""
    for name, size in sizes.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise damage_error(folder, f"{name} is missing or not of the size that was written")


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Return an array of the folder, mapped into memory; every call opens it anew, so threads do not meet."""
    try:
        with ONE_READER:
            return np.load(folder / name, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        if folder.is_dir():
            raise damage_error(folder, f"{name} is missing") from None
        raise DataError(
            "this corpus on disk is not there any more; its folder was deleted or moved",
            source=str(folder),
            remedy="Put it back, or read the corpus to disk again.",
        ) from None
    except (OSError, ValueError) as problem:
        raise damage_error(folder, str(problem)) from None


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


def read_shard(folder: Path, begins: NDArray[np.int64], number: int) -> Shard:
    """Return a shard as it lies on disk; DataError where its pointers would lead a compiled loop out of the arrays."""
    shard = Shard(*(load_array(folder, shard_file(number, part)) for part in Shard._fields))
    pointers, words, counts = shard
    sound = (
        len(pointers) == begins[number + 1] - begins[number] + 1
        and int(pointers[0]) == 0
        and bool((pointers[1:] >= pointers[:-1]).all())
        and int(pointers[-1]) == len(words) == len(counts)
    )
    if not sound:
        raise contradiction(folder, number)
    return shard


def read_documents(
    folder: Path, begins: NDArray[np.int64], n_words: int, chosen: NDArray[np.int64]
) -> sparse.csr_array:
    """Return the int32 counts of documents, in the order of their numbers; only these are read."""
    order = np.argsort(chosen, kind="stable")
    cuts = np.searchsorted(chosen, begins, sorter=order)
    blocks = [sparse.csr_array((0, n_words), dtype=np.int32)]
    for number in np.flatnonzero(np.diff(cuts)).tolist():
        shard = read_shard(folder, begins, number)
        local = chosen[order[cuts[number] : cuts[number + 1]]] - begins[number]
        starts = shard.pointers[local].astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum(shard.pointers[local + 1] - starts)])
        at = np.repeat(starts - bounds[:-1], np.diff(bounds)) + np.arange(bounds[-1])
        words, counts = check_words(folder, number, shard.words[at], n_words), shard.counts[at]
        parts = counts.astype(np.int32), words, bounds.astype(index_type(len(at)))
        blocks.append(sparse.csr_array(parts, (len(local), n_words)))
    found = sparse.vstack(blocks, format="csr")
    if np.array_equal(order, np.arange(len(order))):
        return found
    return found[np.argsort(order)]


def index_type(n_pairs: int) -> type[np.int32 | np.int64]:
    """Return the type of the pointers of a matrix; SciPy would widen the words to that of larger ones."""
    return np.int32 if n_pairs < 2**31 else np.int64


def check_words(folder: Path, number: int, words: NDArray[Any], n_words: int) -> NDArray[np.int32]:
    """Return word numbers of a shard as int32; DataError where they are beyond the vocabulary."""
    if len(words) and not 0 <= int(words.min()) <= int(words.max()) < n_words:
        raise contradiction(folder, number)
    return words.astype(np.int32)


def contradiction(folder: Path, number: int) -> DataError:
    """Return the error for a shard whose numbers are not as they were written."""
    return damage_error(folder, f"the numbers of shard {number} contradict each other")


def read_strings(folder: Path, stem: str, numbers: NDArray[np.int64]) -> list[str]:
    """Return strings that `StringWriter` wrote, in the order of the numbers."""
    places = load_array(folder, f"{stem}.npy")
    if not places[-1]:  # an empty file cannot be mapped into memory
        return [""] * len(numbers)
    bounds = zip(places[numbers].tolist(), places[numbers + 1].tolist(), strict=True)
    with (folder / f"{stem}.utf8").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:
        return [text[begin:end].decode("utf-8") for begin, end in bounds]


class StringWriter:
    """Append strings to a file; what stays in memory is the place of each, 8 bytes."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder, self._stem = folder, stem
        self._file = (folder / f"{stem}.utf8").open("wb")
        self._places = array("q", [0])

    def __len__(self) -> int:
        return len(self._places) - 1

    def extend(self, strings: Iterable[str]) -> None:
        """Append strings."""
        end = self._places[-1]
        for string in strings:
            end += self._file.write(string.encode("utf-8"))
            self._places.append(end)

    def extend_packed(self, pool: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
        """Append n strings that lie in a row, at n + 1 places."""
        base = self._places[-1] - int(places[0])
        self._file.write(pool[places[0] : places[-1]].tobytes())
        self._places.frombytes((places[1:] + base).astype(np.int64).tobytes())

    def close(self) -> None:
        """Write what is left; the strings can be read from now on."""
        if not self._file.closed:
            self._file.close()
            np.save(self._folder / f"{self._stem}.npy", np.frombuffer(self._places, dtype=np.int64))

    def remove(self) -> None:
        """Close the file and remove what was written."""
        try:
            self._file.close()
        finally:
            for end in ("utf8", "npy"):
                (self._folder / f"{self._stem}.{end}").unlink(missing_ok=True)

    def batches(self) -> Iterator[list[str]]:
        """Close, and give all strings, some at a time."""
        self.close()
        for begin in range(0, len(self), _AT_ONCE):
            numbers = np.arange(begin, min(begin + _AT_ONCE, len(self)))
            yield read_strings(self._folder, self._stem, numbers)

    def __iter__(self) -> Iterator[str]:
        return (string for batch in self.batches() for string in batch)

    def first_number(self) -> int | None:
        """Close; return 0 or 1 where the strings are the numbers from there on."""
        first = next(iter(self), "")
        counts = first in ("0", "1") and all(name == str(i) for i, name in enumerate(self, int(first)))
        return int(first) if counts else None

    def make_unique(self) -> tuple[int, list[str]]:
        """Close, append a number to every string that stood before; return how many those are and the first of them.

        The strings are those of `names.make_unique`; what tells two of them apart is their hash of 64 bits.
        """
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        hashes.sort()
        repeated = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        if not repeated:
            return 0, []
        changed: list[str] = []

        def is_taken(name: str) -> bool:
            return bool(hashes.searchsorted(hash(name)) < hashes.searchsorted(hash(name), side="right"))

        with closing(StringWriter(self._folder, f"{self._stem}-unique")) as new:
            new.extend(number_repeated(self, lambda name: hash(name) in repeated, is_taken, changed))
        for end in ("utf8", "npy"):
            (self._folder / f"{new._stem}.{end}").replace(self._folder / f"{self._stem}.{end}")
        return len(changed), changed[:_SHOWN]


class ColumnWriter(StringWriter):
    """Append the values of a further column as strings; they are typed once all are known."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__(folder, _column_stem(number))
        self._guess = KindGuess()
        self._kinds: set[Kind] = set()

    def extend(self, values: Iterable[str] | NDArray[Any]) -> None:
        """Append values: strings that are still to be typed, or a typed array."""
        if isinstance(values, np.ndarray):
            self._kinds.add(kind_of(values))
            values = string_values(values)
        else:
            values = list(values)
            self._guess.add(values)
        super().extend(values)

    def write_typed(self) -> Kind:
        """Close, write the values as what they are, and return that."""
        self.close()
        kind = _common_kind(self._kinds) if self._kinds else self._guess.kind
        if kind != "string":
            typed = np.concatenate([typed_values(batch, kind) for batch in self.batches()])
            np.save(self._folder / f"{self._stem}-{kind}.npy", typed)
            self.remove()
        return kind


def read_column(
    folder: Path, columns: Mapping[str, Kind], name: str, chosen: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the values of chosen documents in one of the further columns, as `typed_values` types them."""
    stem, kind = _column_stem(list(columns).index(name)), columns[name]
    if kind == "string":
        return typed_values(read_strings(folder, stem, chosen), kind)
    return np.array(load_array(folder, f"{stem}-{kind}.npy")[chosen])


def _column_stem(number: int) -> str:
    return f"column-{number}"


def _common_kind(kinds: set[Kind]) -> Kind:
    """Return the kind that holds the values of several."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {"integer", "number"}:
        return "number"
    return "time" if kinds == {"day", "time"} else "string"
