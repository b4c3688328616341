"""THE table of the kinds of data that are stored, and their files: written once, removed after their last use.

Of a corpus that stays on disk the file is a note of where it lies; only folders that are the store's own are removed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import sqlite3
import uuid
import weakref
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

from acvb_core.core.errors import AcvbError
from acvb_core.data.disk import DiskCorpus
from acvb_core.store.codecs import CORPORA, RELATIONS, TABLES, DataKind
from acvb_core.store.files import (
    DAMAGE,
    StoreError,
    damage_error,
    file_bytes,
    file_stamp,
    from_labels_bytes,
    from_text_bytes,
    labels_bytes,
    read_arrays,
    remove_file,
    replace_file,
    text_bytes,
    write_arrays,
)

#: Folder of the notes, and of the corpora that the program reads for itself.
STREAMS = "streams"
_VERSION = 1
_AGAIN = "Put the folder back, or load the file again."


class StreamKind(DataKind):
    """Corpora on disk: the file is a note of where one lies, by its name alone if it is in the same folder."""

    elsewhere, loader, called = True, "read_to_disk", "corpus"

    def key(self, data: DiskCorpus) -> str:
        """Return a SHA-256 (hex) of what the documents are, what they are called and the folder's own name.

        Where the folder lies does not count: a store may be moved with all that it holds.
        """
        tokeniser = None if data.tokeniser is None else data.tokeniser.to_dict()
        identity = [data.fingerprint, data.name, data.folder.name, data.n_words, tokeniser]
        return hashlib.sha256(json.dumps(identity).encode("utf-8", "surrogatepass")).hexdigest()

    def write(self, path: Path, data: DiskCorpus) -> None:
        """Write where a corpus lies.

        Raises StoreError: it cannot be written.
        """
        write_arrays(path, encode_stream(data, path.parent), version=_VERSION)

    def read(self, path: Path) -> DiskCorpus:
        """Return the corpus of a note.

        Raises StoreError: the note or the folder is gone or damaged, or the folder holds another corpus by now.
        """
        return decode_stream(read_arrays(path, version=_VERSION), path)

    def size(self, path: Path) -> int:
        """Return the bytes of a note, and of its folder if that is the store's own."""
        folder = None
        with suppress(StoreError):
            folder = _own_folder(path)
        return file_bytes(path) + (0 if folder is None else file_bytes(folder))

    def remove(self, path: Path) -> None:
        """Remove a note; with the last note of a folder of the store's own, the folder, as soon as nothing reads it.

        Raises StoreError: it cannot be removed.
        """
        try:
            folder = _own_folder(path)
        except StoreError:
            folder = None  # a folder without a note is removed a day later
        remove_file(path)
        if folder is not None:
            _remove_unused(folder, path.parent)


def encode_stream(corpus: DiskCorpus, home: Path | None = None) -> dict[str, Any]:
    """Return where a corpus lies, as arrays; by its name alone where it lies in the folder `home`."""
    folder = corpus.folder.resolve()
    own = home is not None and folder.parent == home.resolve()
    about = {
        "folder": folder.name if own else str(folder),
        "own": own,
        "name": corpus.name,
        "fingerprint": corpus.fingerprint,
        "words": _words_digest(corpus),
    }
    return {
        "about": text_bytes(about),
        "added": labels_bytes(corpus.added),
        "left_out": corpus.left_out,
    }


def _words_digest(corpus: DiskCorpus) -> str:
    return hashlib.sha256(labels_bytes(corpus.vocabulary).tobytes()).hexdigest()


def decode_stream(arrays: dict[str, Any], path: Path = Path()) -> DiskCorpus:
    """Return the corpus that `encode_stream` described; `path` is that of the note, if there is one.

    Raises StoreError: as for `StreamKind.read`.
    """
    try:
        folder, about = _folder(path, arrays), from_text_bytes(arrays["about"])
        added, left_out = from_labels_bytes(arrays["added"]), arrays["left_out"]
        name, fingerprint, words = about["name"], about["fingerprint"], about.get("words")
    except DAMAGE as error:
        raise damage_error(path) from error
    if not folder.is_dir():
        raise StoreError(
            f"{folder}, where the documents of {name} were kept, is not there any more. {_AGAIN}"
        )
    try:
        corpus = DiskCorpus.open(folder)
        if len(added):
            corpus = corpus.with_words(added)
        if len(left_out):
            corpus = corpus.without(left_out)
    except AcvbError as error:
        raise StoreError(f"the documents of {name} cannot be read from {folder}: {error}") from error
    # Notes of older versions do not have the words; the fingerprint is of the counts alone.
    if fingerprint != corpus.fingerprint or (words and words != _words_digest(corpus)):
        raise StoreError(f"{folder} holds other documents now than those of {name}. {_AGAIN}")
    return corpus


def _remove_unused(folder: Path, home: Path) -> None:
    """Remove a folder without a note; one that this process reads from is removed after the reading."""
    known = _own_folders(home)
    if known is None or folder in known:
        return
    readers = DiskCorpus.find_readers(folder)
    for corpus in readers:
        # Not at the end of the process: what is left then goes with the next start (`find_unused_folders`).
        weakref.finalize(corpus, _remove_unused, folder, home).atexit = False
    if not readers:
        shutil.rmtree(folder, ignore_errors=True)


def _own_folder(path: Path) -> Path | None:
    """Return the folder of a note, None if it is not in the folder of the note."""
    arrays = read_arrays(path, version=_VERSION)
    try:
        own = from_text_bytes(arrays["about"])["own"] is True
        return _folder(path, arrays) if own else None
    except DAMAGE as error:
        raise damage_error(path) from error


def _own_folders(home: Path) -> set[Path] | None:
    """Return the folders that notes tell of; None where a note cannot be read, which may tell of any of them."""
    try:
        return {folder for note in home.glob("*.npz") if (folder := _own_folder(note)) is not None}
    except StoreError:
        return None


def find_unused_folders(home: Path) -> Iterator[Path]:
    """Return the folders without a note: of readings that were broken off, or never kept."""
    known = _own_folders(home)
    if known is None:
        return
    for folder in home.iterdir():
        unknown = folder.is_dir() and not folder.is_symlink() and folder.resolve() not in known
        if unknown and not DiskCorpus.find_readers(folder):
            yield folder


def _folder(path: Path, arrays: dict[str, Any]) -> Path:
    about = from_text_bytes(arrays["about"])
    if not about["own"]:
        return Path(about["folder"])
    name = about["folder"]
    folder = path.parent.resolve() / name
    # A damaged note must not lead to the removal of anything else.
    if Path(name).name != name or name in ("", ".", "..") or folder.is_symlink():
        raise ValueError(f"{name!r} is not a folder of the store's own")
    return folder


STREAM = StreamKind("stream", DiskCorpus, STREAMS, _VERSION, (), encode_stream, decode_stream)
KINDS: tuple[DataKind, ...] = (RELATIONS, CORPORA, TABLES, STREAM)

#: Data never change, and a key costs a pass over everything they hold: a corpus has all its texts.
_keys: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def kind_of(data: Any) -> DataKind:
    """Return the kind of a data set.

    Raises StoreError: such data cannot be stored.
    """
    for kind in KINDS:
        if isinstance(data, kind.data_type):
            return kind
    *others, last = (kind.folder for kind in KINDS if not kind.elsewhere)
    raise StoreError(f"a {type(data).__name__} cannot be stored; {', '.join(others)} and {last} can.")


def find_kind(name: str) -> DataKind:
    """Return the kind of this name.

    Raises StoreError: there is no such kind.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise StoreError(f"data of the kind {name!r} cannot be read by this version. Update the program.")


def dataset_key(data: Any) -> str:
    """Return the key of a data set of any kind; kept for as long as the data are."""
    key = _keys.get(data)
    if key is None:
        key = _keys[data] = kind_of(data).key(data)
    return key


#: Folder of the files that data were read from, and the most bytes of one that is kept.
ORIGINALS = "originals"
MOST_ORIGINAL = 50_000_000
#: Name in the settings of data.
_ORIGINAL = "original"


class Original(NamedTuple):
    """The file that data were read from, as it is kept with them in one workspace."""

    id: str  #: names it in the store; whoever may not have the file is not to learn it
    name: str  #: that the user knows it by

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> Original | None:
        """Return what settings of data say of their file; None if none was kept."""
        said = settings.get(_ORIGINAL)
        if not isinstance(said, Mapping) or not re.fullmatch("[0-9a-f]{32}", str(said.get("id"))):
            return None
        return cls(str(said["id"]), str(said.get("name", "")))

    def to_settings(self) -> dict[str, Any]:
        """Return what settings of data say of their file."""
        return {_ORIGINAL: self._asdict()}


def without_original(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that are sent to others, or come from them: they name no file."""
    return {name: value for name, value in settings.items() if name != _ORIGINAL}


class OriginalFiles:
    """The files that data were read from, compressed, in a store's folder. The list of data says who has which.

    `drop` and `drop_unused` are for the one writer of the list.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / ORIGINALS

    def path(self, original: Original) -> Path:
        """Return where a file lies."""
        return self.folder / f"{original.id}.gz"

    def write(self, name: str, content: bytes) -> Original:
        """Keep a file of at most `MOST_ORIGINAL` bytes; whoever keeps its data says that it belongs to them.

        Raises StoreError: it cannot be kept.
        """
        original = Original(uuid.uuid4().hex, name)
        with replace_file(self.path(original)) as file:
            file.write(gzip.compress(content, compresslevel=6, mtime=0))
        return original

    def read(self, original: Original) -> bytes:
        """Return a file as it was.

        Raises StoreError: it is gone or damaged.
        """
        path = self.path(original)
        try:
            return gzip.decompress(path.read_bytes())
        except FileNotFoundError:
            raise StoreError(f"{path} is not there any more; it was deleted or moved.") from None
        except (OSError, EOFError, zlib.error) as error:
            raise damage_error(path) from error

    def drop(self, connection: sqlite3.Connection, settings: str) -> None:
        """Remove the file that settings name, if no data in the list have it any more."""
        original = _read_original(settings)
        if original is not None and not _is_named(connection, original.id):
            remove_file(self.path(original))

    def find_unused(self, connection: sqlite3.Connection) -> list[Path]:
        """Return the files that no data in the list have."""
        return [path for path in self.folder.glob("*.gz") if not _is_named(connection, path.stem)]

    def size(self, settings: str) -> int:
        """Return the bytes that the file takes which settings name; 0 if there is none."""
        original = _read_original(settings)
        return 0 if original is None else file_bytes(self.path(original))


def _read_original(settings: str) -> Original | None:
    try:
        return Original.of_settings(json.loads(settings))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _is_named(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT COUNT(*) FROM datasets WHERE instr(settings, ?)", (name,)).fetchone()
    return bool(found[0])


class DataFiles:
    """The data files in a store's folder.

    `keep` and `drop` are for the one writer of the list of runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Runs of the same data share one copy of them in memory.
        self._datasets: WeakValueDictionary[str, Any] = WeakValueDictionary()
        # Files that hold what their names say, with their stamps when that was seen.
        self._whole: dict[str, str | None] = {}

    def keep(self, kind: DataKind, key: str, data: Any) -> None:
        """Write data that are not stored yet, or no longer whole."""
        # Only called by the one writer, so that nobody deletes it before the row that refers to it is there.
        path = kind.file(self.folder, key)
        if kind.elsewhere or not self._is_whole(kind, key):
            kind.write(path, data)
            self._whole[key] = file_stamp(path)

    def _is_whole(self, kind: DataKind, key: str) -> bool:
        """Return whether data are stored as they should be; a damaged copy is written again."""
        path = kind.file(self.folder, key)
        if not path.exists():
            return False
        if (stamp := file_stamp(path)) is not None and self._whole.get(key) == stamp:
            return True
        try:
            whole = dataset_key(kind.read(path)) == key
        except StoreError:
            return False
        if whole:
            self._whole[key] = stamp
        return whole

    def drop(self, connection: sqlite3.Connection, name: str, key: str) -> None:
        """Remove data that the list of runs does not refer to any more."""
        if not key:  # of a run whose data are not known
            return
        (used,) = connection.execute(
            "SELECT (SELECT COUNT(*) FROM runs WHERE dataset = ?1) "
            "+ (SELECT COUNT(*) FROM datasets WHERE dataset = ?1)",
            (key,),
        ).fetchone()
        if not used:
            kind = find_kind(name)
            kind.remove(kind.file(self.folder, key))

    def size(self, name: str, key: str) -> int:
        """Return the bytes that data of a kind and a key take; 0 of a kind that this version does not know."""
        kind = next((kind for kind in KINDS if kind.name == name), None)
        return 0 if kind is None else kind.size(kind.file(self.folder, key))

    def read(self, name: str, key: str) -> Any:
        """Return the data of a kind and a key.

        Raises StoreError: they are gone or damaged, or other data lie in their place.
        """
        known = self._datasets.get(key)
        if known is not None:
            return known
        kind = find_kind(name)
        path = kind.file(self.folder, key)
        stamp = file_stamp(path)  # before it is read: it may be replaced, or removed, meanwhile
        data = kind.read(path)
        if dataset_key(data) != key:
            raise damage_error(path, f"it is not the {kind.name} it was stored as")
        self._whole[key] = stamp
        return self._datasets.setdefault(key, data)
