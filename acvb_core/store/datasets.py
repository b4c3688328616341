"""THE table of the kinds of data that are stored: where each lies, and how it is written, read and told from others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.store.corpora import corpus_key, read_corpus, write_corpus
from acvb_core.store.files import StoreError, remove_file
from acvb_core.store.relations import read_relation, relation_key, write_relation
from acvb_core.store.streams import read_stream, remove_stream, stream_key, write_stream
from acvb_core.store.tables import read_table, table_key, write_table


@dataclass(frozen=True)
class Kind:
    """One kind of data.

    Attributes
    ----------
    name : str
        In the database, and in errors.
    data_type : type
    folder : str
        Where files of this kind lie, below the store's folder.
    key : callable
        data -> name of its file: equal for equal data, and for no others.
    write : callable
        (path, data).
    read : callable
        path -> data.
    loader : str
        Public function that reads such data from a user's file.
    called : str
        What that function's answer has the data under.
    remove : callable
        Removes what lies at a path that `write` was given.
    elsewhere : bool
        What `write` writes only says where the data lie, and is written anew as often as they are kept.
    """

    name: str
    data_type: type
    folder: str
    key: Callable[[Any], str]
    write: Callable[[Path, Any], None]
    read: Callable[[Path], Any]
    loader: str
    called: str
    remove: Callable[[Path], None] = remove_file
    elsewhere: bool = False


#: Where corpora that stay on disk are noted, and where those that the program reads for itself are kept.
STREAMS = "streams"

KINDS = (
    Kind(
        "relation", Relation, "relations", relation_key, write_relation, read_relation, "load_relation", "relation"
    ),
    Kind("corpus", Corpus, "corpora", corpus_key, write_corpus, read_corpus, "load_corpus", "corpus"),
    Kind(
        "stream", DiskCorpus, STREAMS, stream_key, write_stream, read_stream, "read_to_disk", "corpus",
        remove_stream, elsewhere=True,
    ),
    Kind("table", Table, "tables", table_key, write_table, read_table, "load_table", "table"),
)  # fmt: skip

#: Data never change, and a key costs a pass over everything they hold: a corpus has all its texts.
_keys: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def kind_of(data: Any) -> Kind:
    """Return the kind of a data set.

    Raises
    ------
    StoreError
        Such data cannot be stored.
    """
    for kind in KINDS:
        if isinstance(data, kind.data_type):
            return kind
    *others, last = (kind.folder for kind in KINDS if not kind.elsewhere)
    known = f"{', '.join(others)} and {last}"
    raise StoreError(f"a {type(data).__name__} cannot be stored; {known} can.")


def find_kind(name: str) -> Kind:
    """Return the kind of this name.

    Raises
    ------
    StoreError
        There is no such kind.
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
