"""The table of file formats, one row a format, and the layout of a file: pages, command line and errors read both.

A new format is a file that reads it and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.sources.recognisers import (
    ending_of,
    has_root,
    is_archive,
    is_gml,
    is_json_lines,
    is_matrix_market,
    is_node_link,
    is_npz,
    is_pajek,
    is_workbook,
    starts_with,
)
from acvb_core.data.sources.signatures import PROMISED_KINDS, refuse_binary

if TYPE_CHECKING:
    from acvb_core.data.sources.byte_source import ByteSource

Kind = Literal["relation", "corpus", "table"]
#: What the bytes of a format are; those of graphs and "text" are text, of which the first bytes may not be enough.
Family = Literal["text", "sparse", "graph", "array", "archive", "columns"]

#: Families of which a file is told by its first bytes, so that its name is no guess but a promise.
_BINARY = ("array", "archive", "columns")
_KINDS = {"relation": "a relation", "corpus": "a corpus", "table": "a table of numbers"}
#: Records that a layout shows.
PREVIEW_ROWS = 20


@dataclass(frozen=True)
class Format:
    """A format that is read."""

    name: str  # as `format=` and `--format` take it, but for files of columns
    title: str  # a few words for people
    kinds: tuple[Kind, ...]  # the data that its files can hold
    family: Family = "text"
    endings: tuple[str, ...] = ()  # of file names, in lower case
    #: Whether the first bytes of a source are of this format. None: it is delimited or plain text, which the first
    #: records tell apart.
    recognise: Callable[[ByteSource], bool] | None = None
    options: tuple[str, ...] = ()  # arguments of the readers that say how its files are read
    called: str = ""  # what a file of it is, with an article (default: "a <title> file")
    files: str | None = (
        None  # how it is listed among the files that are read (None: by its title; "": it is not)
    )
    help: str = ""  # where it is chosen (default: the title)
    extra: str = ""  # of the package, which must be installed for it
    named: bool = False  # files that the first bytes do not tell are recognised by their ending

    @property
    def noun(self) -> str:
        """Name of a file of the format, with an article."""
        return self.called or f"a {self.title} file"

    @property
    def sure(self) -> bool:
        """Return whether its first bytes are of no other format: it is then refused by name where it cannot be read."""
        return self.family in ("sparse", "array", "archive")


_COLUMNS: tuple[Kind, ...] = ("relation", "corpus", "table")
_TEXT = ("encoding", "delimiter", "header")
_DELIMITED = (".csv", ".tsv", ".txt")
#: Every format that is read. The first row whose bytes fit counts; formats of text without a recogniser come where
#: none does.
FORMATS = (
    Format(
        "edges", "edge list", ("relation",), endings=(*_DELIMITED, ".edges"), options=_TEXT,
        files="CSV, TSV or other delimited text",
    ),
    Format("matrix", "matrix", ("relation",), endings=_DELIMITED, options=_TEXT, files=""),
    Format(
        "matrix-market", "MatrixMarket", ("relation",), "sparse", (".mtx",), is_matrix_market,
        called="a sparse matrix in a MatrixMarket file",
    ),
    Format("npz", "SciPy .npz", ("relation",), "array", (".npz",), is_npz,
           called="a NumPy archive (npz)"),
    Format("graphml", "GraphML", ("relation",), "graph", (".graphml",),
           has_root("graphml"), named=True),
    Format("gexf", "GEXF", ("relation",), "graph", (".gexf",), has_root("gexf"), named=True),
    Format("gml", "GML", ("relation",), "graph", (".gml",), is_gml, named=True),
    Format("pajek", "Pajek", ("relation",), "graph", (".net", ".paj"), is_pajek, named=True),
    Format("node-link", "node-link JSON", ("relation",), "graph", (".json",), is_node_link),
    Format(
        "counts", "word counts", ("corpus",), endings=_DELIMITED, options=_TEXT,
        files="word counts (document, word, count on each line)",
        help="Word counts: document, word, count on each line",
    ),
    Format(
        "docword", "UCI docword", ("corpus",), endings=(".txt",), options=("encoding",),
        help="UCI docword: three lines with the sizes, then document id, word id, count",
    ),
    Format(
        "ldac", "LDA-C", ("corpus",), endings=(".ldac", ".dat"), options=("encoding",),
        help="LDA-C: one document a line, term:count",
    ),
    Format(
        "table", "table with texts", ("corpus",), endings=_DELIMITED, options=_TEXT,
        files="a table with a column of texts", help="Table with a column of texts",
    ),
    Format(
        "lines", "one document a line", ("corpus",), endings=(".txt",), options=("encoding",),
        files="one text a line", help="Texts, one document a line",
    ),
    Format(
        "zip", "zip of .txt files", ("corpus",), "archive", (".zip",), is_archive, ("encoding",),
        called="a zip archive", files="a zip of .txt files", help="Zip archive of .txt files",
    ),
    Format("parquet", "Parquet", _COLUMNS, "columns", (".parquet", ".pq"), starts_with(b"PAR1")),
    Format("arrow", "Arrow or Feather", _COLUMNS, "columns", (".arrow", ".feather"), starts_with(b"ARROW1", b"FEA1"),
           called="an Arrow or Feather file"),
    Format(
        "excel", "Excel or OpenDocument workbook", _COLUMNS, "columns", (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods"),
        is_workbook, ("sheet", "header"), called="an Excel or OpenDocument workbook", extra="excel",
    ),
    Format("json-lines", "JSON Lines", _COLUMNS, "columns", (".jsonl", ".ndjson"), is_json_lines),
    Format(
        "sqlite", "SQLite", _COLUMNS, "columns", (".sqlite", ".sqlite3", ".db"), starts_with(b"SQLite format 3\x00"),
        ("table", "query"), called="an SQLite database",
    ),
    Format(
        "text", "table", ("table",), endings=_DELIMITED, options=(*_TEXT, "decimal", "missing"),
        files="CSV, TSV or other delimited text with a row for each object (cells may be missing)",
    ),
    Format("npy", "NumPy .npy", ("table",), "array", (".npy",), lambda source: source.is_array,
           called="a NumPy array (npy)"),
    Format("npz", "NumPy or SciPy .npz", ("table",), "array", (".npz",), is_npz,
           called="a NumPy archive (npz)"),
)  # fmt: skip


def formats_of(kind: Kind, family: Family | None = None) -> tuple[Format, ...]:
    """Return the formats that can hold data of a kind."""
    return tuple(row for row in FORMATS if kind in row.kinds and family in (None, row.family))


def choices_of(kind: Kind) -> dict[str, str]:
    """Return the formats that can be asked for by name, with words for people.

    A file of columns is of one format in any case; what is asked for is what its columns hold, as for delimited text.
    """
    return {row.name: row.help or row.title for row in formats_of(kind) if row.family != "columns"}


def files_of(kind: Kind) -> str:
    """Return the files that can hold data of a kind as a list for people."""
    listed = [row.title if row.files is None else row.files for row in formats_of(kind)]
    *most, last = [words for words in listed if words]
    return f"{', '.join(most)} or {last}"


def endings_of(kind: Kind) -> tuple[str, ...]:
    """Return the endings of names of files that can hold data of a kind."""
    return tuple(dict.fromkeys(ending for row in formats_of(kind) for ending in row.endings))


def wanted_format(name: str, kind: Kind) -> str | None:
    """Return the format that was asked for, None for "auto"; ParameterError for an unknown name."""
    known = choices_of(kind)
    if name != "auto" and name not in known:
        raise ParameterError(f"There is no format {name!r}; choose auto, {', '.join(known)}.")
    return None if name == "auto" else name


def recognise_format(source: ByteSource, kind: Kind | None, *, columns: bool = False) -> Format | None:
    """Return the format of a source by its first bytes or, where they do not tell, by the ending of its name.

    `kind` and `columns` as for `ByteSource`. None: the source is text whose first records have to be looked at. A
    source of a format that is not read, or that holds other data, or whose name promises another one, is a DataError.
    """
    if columns:
        for row in FORMATS:
            if row.family == "columns" and row.recognise is not None and row.recognise(source):
                return row
    refuse_binary(source)
    others: list[Format] = []
    for row in FORMATS:
        own = kind in row.kinds and row.family != "columns"
        if row.recognise is not None and (own or row.sure) and row.recognise(source):
            if own:
                return row
            others.append(row)
    if others:
        raise _other_data(others, source)
    ending = ending_of(source)
    told = (row.noun for row in FORMATS if row.family in _BINARY and ending in row.endings)
    promised = next(told, PROMISED_KINDS.get(ending))
    if promised is not None and not (source.is_zip or source.is_array):
        raise source.fault(
            f"the name says that this is {promised}, but the content is not",
            "Give the file the right ending (.csv or .txt for text), or save or download it again.",
            value=source.head[:20].decode("utf-8", errors="replace"),
        )
    return next((row for row in FORMATS if row.named and kind in row.kinds and ending in row.endings), None)


def _other_data(others: list[Format], source: ByteSource) -> DataError:
    what = others[0].noun
    if others[0].family == "archive":
        names = source.zip_names()
        return source.fault(
            f"this is {what} of {len(names):,} files, the first is {names[0]!r}",
            "Unpack it and load one file; gzip is understood.",
        )
    kinds = " or ".join(_KINDS[kind] for row in others for kind in row.kinds)
    remedy = f"It can hold {kinds}: load it as such, or save it as CSV (UTF-8) and load that."
    return source.fault(f"this is {what}", remedy)


def resolve_format(source: ByteSource, kind: Kind, asked: str | None) -> Format | None:
    """Return the format by which a source is read, None for delimited or plain text.

    A source that is not of the format that was asked for by name is a DataError.
    """
    own = source.format
    if own is not None and asked in (None, own.name):
        return own
    if own is not None and not own.named:
        what = f"this is {own.noun}, but it was to be read as {asked}"
        raise source.fault(what, "Let the format be recognised.")
    wanted = next((row for row in formats_of(kind) if row.name == asked), None)
    if wanted is None or wanted.recognise is None:
        return None
    raise source.fault(
        f"this does not start like {wanted.noun}",
        "Let the format be recognised, or save the file again.",
        line=1,
        value=source.head.split(b"\n")[0].decode("utf-8", errors="replace").strip(),
    )


@dataclass(frozen=True)
class FileLayout:
    """Layout of any source; columns are 0-based positions."""

    format: str  # name of a row of the table of formats
    filename: str  # name the user knows the source by
    gzipped: bool = False
    encoding: str | None = None  # None where the format has none, as `delimiter`
    delimiter: str | None = None
    header: bool = False  # the first line holds names
    column_names: tuple[str, ...] = ()  # the header's fields, or names such as "column 1", "column 2", …
    rows: tuple[
        tuple[str, ...], ...
    ] = ()  # the first records of data, at most PREVIEW_ROWS, each with all fields
    n_fields: int = 0  # in each record; 0 where a record has no columns
    container: str = "text"  # what holds the columns: "text", or that of a `Frame` ("parquet", "excel", …)

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns that are read; None: all, or whatever else the format has."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-able values."""
        return {name: _plain(value) for name, value in self.__dict__.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def column_position(layout: FileLayout, choice: str | int | bool | None) -> int | None:
    """Return the 0-based position of a column given by name or position, None for False and None.

    A column that the layout does not have is a DataError.
    """
    if choice is False or choice is None:
        return None
    remedy = f"Choose among {column_list(layout)}."
    if isinstance(choice, str):
        if layout.header and choice in layout.column_names:
            return layout.column_names.index(choice)
        what = "there is no column of this name"
        raise DataError(what, source=layout.filename, line=1, value=choice, remedy=remedy)
    if 0 <= choice < layout.n_fields:
        return int(choice)
    what = f"there is no column at position {choice} (counted from 0)"
    raise DataError(what, source=layout.filename, remedy=remedy)


def column_list(layout: FileLayout) -> str:
    """Return the names of the first columns, for a remedy."""
    return ", ".join(repr(name) for name in layout.column_names[:10]) or "the columns of another format"
