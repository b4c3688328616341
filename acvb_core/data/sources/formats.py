"""The table of file formats: one row a format. Pages, command line, documentation and error texts read the rows.

A new format is a file that reads it and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from acvb_core.data.sources.recognisers import (
    NPY,
    ZIP,
    ending_of,
    has_root,
    is_archive,
    is_gml,
    is_json_lines_file,
    is_matrix_market,
    is_node_link,
    is_npz,
    is_pajek,
    is_workbook,
    promised_kind,
    refuse_archive,
    refuse_binary,
    starts_with,
)
from acvb_core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from acvb_core.data.sources.byte_source import ByteSource

#: Records and fields of each that a layout shows.
PREVIEW_ROWS = 20
PREVIEW_FIELDS = 30


@dataclass(frozen=True)
class FileLayout:
    """What is known of any source; columns are 0-based positions.

    Attributes
    ----------
    format : str
        Name of a row of the table of formats.
    filename : str
        Name the user knows the source by.
    gzipped : bool
    encoding, delimiter : str or None
        None where the format has none.
    header : bool
        The first line holds names.
    column_names : tuple of str
        The header's fields, or names such as "column 1", "column 2", …
    rows : tuple of tuples of str
        The first records of data, at most PREVIEW_ROWS.
    n_fields : int
        Fields in each record (0 where a record has no columns).
    container : str
        What holds the columns: "text", or that of a `Frame` ("parquet", "excel", …).
    """

    format: str
    filename: str
    gzipped: bool = False
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = False
    column_names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_fields: int = 0
    container: str = "text"

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

    Raises
    ------
    DataError
        There is no such column.
    """
    if choice is False or choice is None:
        return None
    if isinstance(choice, str):
        if not layout.header or choice not in layout.column_names:
            raise DataError(
                "there is no column of this name",
                source=layout.filename,
                line=1,
                value=choice,
                remedy=f"Choose among {column_list(layout)}.",
            )
        return layout.column_names.index(choice)
    if not 0 <= choice < layout.n_fields:
        raise DataError(
            f"there is no column at position {choice} (counted from 0)",
            source=layout.filename,
            remedy=f"Choose among {column_list(layout)}.",
        )
    return int(choice)


def column_list(layout: FileLayout) -> str:
    """Return the names of the first columns, for a remedy."""
    return ", ".join(repr(name) for name in layout.column_names[:10]) or "the columns of another format"


Kind = Literal["relation", "corpus", "table"]
#: What the bytes of a format are; those of graphs and "text" are text, of which the first bytes may not be enough.
Family = Literal["text", "sparse", "graph", "array", "archive", "columns"]

#: Families of which a file is told by its first bytes, so that its name is no guess but a promise.
_BINARY = ("array", "archive", "columns")
_KINDS = {"relation": "a relation", "corpus": "a corpus", "table": "a table of numbers"}


@dataclass(frozen=True)
class Format:
    """A format that is read.

    Attributes
    ----------
    name : str
        As `format=` and `--format` take it, but for files of columns.
    title : str
        A few words for people.
    kinds : tuple of "relation", "corpus" and "table"
        The data that its files can hold.
    family : "text", "sparse", "graph", "array", "archive" or "columns"
    endings : tuple of str
        Of file names, in lower case.
    recognise : callable, optional
        source -> whether its first bytes are of this format. None: it is delimited or plain text, which the first
        records tell apart.
    options : tuple of str
        Arguments of the readers that say how files of it are read.
    called : str
        What a file of it is, with an article (default: "a <title> file").
    files : str or None
        How it is listed among the files that are read (None: by its title; "": it is not).
    help : str
        Where it is chosen (default: the title).
    extra : str
        Extra of the package that must be installed for it.
    sure : bool
        The first bytes are of no other format, so that it is refused by name where other data are read.
    named : bool
        Files that the first bytes do not tell are recognised by their ending.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    family: Family = "text"
    endings: tuple[str, ...] = ()
    recognise: Callable[[ByteSource], bool] | None = None
    options: tuple[str, ...] = ()
    called: str = ""
    files: str | None = None
    help: str = ""
    extra: str = ""
    sure: bool = False
    named: bool = False

    @property
    def noun(self) -> str:
        """What a file of the format is, with an article."""
        return self.called or f"a {self.title} file"


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
        called="a sparse matrix in a MatrixMarket file", sure=True,
    ),
    Format("npz", "SciPy .npz", ("relation",), "array", (".npz",), is_npz, sure=True,
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
        "zip", "zip of .txt files", ("corpus",), "archive", (".zip",), is_archive, ("encoding",), sure=True,
        called="a zip archive", files="a zip of .txt files", help="Zip archive of .txt files",
    ),
    Format("parquet", "Parquet", _COLUMNS, "columns", (".parquet", ".pq"), starts_with(b"PAR1")),
    Format("arrow", "Arrow or Feather", _COLUMNS, "columns", (".arrow", ".feather"), starts_with(b"ARROW1", b"FEA1"),
           called="an Arrow or Feather file"),
    Format(
        "excel", "Excel or OpenDocument workbook", _COLUMNS, "columns", (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods"),
        is_workbook, ("sheet", "header"), called="an Excel or OpenDocument workbook", extra="excel",
    ),
    Format("json-lines", "JSON Lines", _COLUMNS, "columns", (".jsonl", ".ndjson"), is_json_lines_file),
    Format(
        "sqlite", "SQLite", _COLUMNS, "columns", (".sqlite", ".sqlite3", ".db"), starts_with(b"SQLite format 3\x00"),
        ("table", "query"), called="an SQLite database",
    ),
    Format(
        "text", "table", ("table",), endings=_DELIMITED, options=(*_TEXT, "decimal", "missing"),
        files="CSV, TSV or other delimited text with a row for each object (cells may be missing)",
    ),
    Format("npy", "NumPy .npy", ("table",), "array", (".npy",), lambda source: source.is_array,
           called="a NumPy array (npy)", sure=True),
    Format("npz", "NumPy or SciPy .npz", ("table",), "array", (".npz",), is_npz, sure=True,
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
    """Return the format that was asked for, None for "auto"; ParameterError where there is none of this name."""
    known = choices_of(kind)
    if name != "auto" and name not in known:
        raise ParameterError(f"There is no format {name!r}; choose auto, {', '.join(known)}.")
    return None if name == "auto" else name


def recognise(source: ByteSource, kind: Kind | None, *, columns: bool = False) -> Format | None:
    """Return the format of a source by its first bytes or, where they do not tell, by the ending of its name.

    Parameters
    ----------
    source : ByteSource
    kind : "relation", "corpus", "table" or None
        What is to be read; None: a list or a table of text that stands beside it.
    columns : bool
        The formats of columns are read too.

    Returns
    -------
    Format or None
        None: the source is text whose first records have to be looked at.

    Raises
    ------
    DataError
        It is of a format that is not read, or that holds other data, or its name promises another one.
    """
    if columns:
        for row in FORMATS:
            if row.family == "columns" and row.recognise is not None and row.recognise(source):
                return row
    refuse_binary(source.head, source.name)
    if source.is_zip:
        refuse_archive(source.zip_names(), source.name)
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
    promised = next((row.noun for row in FORMATS if row.family in _BINARY and ending in row.endings), None)
    promised = promised or promised_kind(ending)
    if promised is not None and not source.head.startswith((ZIP, NPY)):
        raise DataError(
            f"the name says that this is {promised}, but the content is not",
            source=source.name,
            value=source.head[:20].decode("utf-8", errors="replace"),
            remedy="Give the file the right ending (.csv or .txt for text), or save or download it again.",
        )
    return next((row for row in FORMATS if row.named and kind in row.kinds and ending in row.endings), None)


def recognised(source: ByteSource, kind: Kind, asked: str | None) -> Format | None:
    """Return the format by which a source is read, None for delimited or plain text.

    Parameters
    ----------
    source : ByteSource
        Opened for data of this kind.
    kind : "relation", "corpus" or "table"
    asked : str or None
        The name of the format that was asked for.

    Raises
    ------
    DataError
        The source is not of the format that was asked for.
    """
    found = source.format
    if found is not None and (asked in (None, found.name) or not found.named):
        if asked in (None, found.name):
            return found
        raise DataError(
            f"this is {found.noun}, but it was to be read as {asked}",
            source=source.name,
            remedy="Let the format be recognised.",
        )
    wanted = next((row for row in formats_of(kind) if row.name == asked), None)
    if wanted is None or wanted.recognise is None:
        return None
    start = source.head.split(b"\n")[0].decode("utf-8", errors="replace").strip()
    raise DataError(
        f"this does not start like {wanted.noun}",
        source=source.name,
        line=1,
        value=start,
        remedy="Let the format be recognised, or save the file again.",
    )


def _other_data(others: list[Format], source: ByteSource) -> DataError:
    names = source.zip_names() if source.is_zip else []
    what = others[0].noun
    if others[0].family == "archive":
        return DataError(
            f"this is {what} of {len(names):,} files, the first is {names[0]!r}",
            source=source.name,
            remedy="Unpack it and load one file; gzip is understood.",
        )
    kinds = " or ".join(_KINDS[kind] for row in others for kind in row.kinds)
    return DataError(
        f"this is {what}",
        source=source.name,
        remedy=f"It can hold {kinds}: load it as such, or save it as CSV (UTF-8) and load that.",
    )
