"""The table of file formats, how a file's format is recognised, and what is refused by name."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO, Literal, NamedTuple, Protocol
from zipfile import ZipFile

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.schema import Kind

_SAVE_AS_CSV = "Save it as CSV (UTF-8) and load that."
_SAVE_AS_TEXT = "Save it as plain text (UTF-8) and load that."
_UNPACK = "Unpack it and load the file in it; gzip is unpacked by itself."
_EXPORT = "Export the data as CSV (UTF-8) and load that."
_COPY = "Copy its tables or its text into a CSV or text file and load that."
_NO_DATA = "Load a file of data, for instance a CSV."
OLD_OFFICE = b"\xd0\xcf\x11\xe0"
# Text has none of these bytes.
_CONTROL = bytes({*range(32)} - {*b"\t\n\f\r\x1b"})


class Signature(NamedTuple):
    """The bytes that files of a kind that is not read have at a place."""

    magic: bytes | tuple[bytes, ...]
    kind: str
    remedy: str
    at: int = 0
    #: Text may begin with these bytes too (PAR1 is also a gene): the file is binary only if its head is.
    wordy: bool = False


_SIGNATURES = (
    Signature(b"PK\x05\x06", "an empty zip archive", _NO_DATA),
    Signature(b"PK\x07\x08", "a zip archive in several parts", _UNPACK),
    Signature(b"1AY&SY", "a bzip2 file", _UNPACK, 4),
    Signature(b"\xfd7zXZ\x00", "an xz file", _UNPACK),
    Signature(b"\x28\xb5\x2f\xfd", "a Zstandard file", _UNPACK),
    Signature(b"\x04\x22\x4d\x18", "an LZ4 file", _UNPACK),
    Signature(b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    Signature(b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    Signature(b"ustar", "a tar archive", _UNPACK, 257, wordy=True),
    Signature(OLD_OFFICE, "an old Excel workbook (xls) or Word document", _SAVE_AS_CSV),
    Signature(b"PAR1", "a Parquet file", _SAVE_AS_CSV, wordy=True),
    Signature(b"ARROW1", "an Arrow file", _SAVE_AS_CSV, wordy=True),
    Signature(b"FEA1", "a Feather file", _SAVE_AS_CSV, wordy=True),
    Signature(b"ORC", "an ORC file", _SAVE_AS_CSV, wordy=True),
    Signature(b"Obj\x01", "an Avro file", _SAVE_AS_CSV),
    Signature(b"\x89HDF", "an HDF5 file", _SAVE_AS_CSV),
    Signature((b"CDF\x01", b"CDF\x02"), "a NetCDF file", _SAVE_AS_CSV),
    Signature(b"MATLAB ", "a MATLAB file (mat)", _EXPORT, wordy=True),
    Signature((b"RDX2\n", b"RDX3\n"), "an R workspace (RData)", _EXPORT, wordy=True),
    Signature(b"X\n\x00\x00\x00", "an R object (rds)", _EXPORT),
    Signature(b"$FL2", "an SPSS file (sav)", _EXPORT, wordy=True),
    Signature(b"$FL3", "an SPSS file (zsav)", _EXPORT, wordy=True),
    Signature(b"<stata_dta>", "a Stata file (dta)", _EXPORT, wordy=True),
    Signature(b"SQLite format 3\x00", "an SQLite database", _EXPORT),
    Signature(tuple(bytes([0x80, n]) for n in range(2, 6)), "a Python pickle", _SAVE_AS_CSV),
    Signature(b"%PDF", "a PDF document", _COPY),
    Signature(b"\x89PNG", "a PNG image", _NO_DATA),
    Signature(b"\xff\xd8\xff", "a JPEG image", _NO_DATA),
    Signature((b"GIF87a", b"GIF89a"), "a GIF image", _NO_DATA, wordy=True),
    Signature((b"II*\x00", b"MM\x00*"), "a TIFF image", _NO_DATA),
    Signature(b"RIFF", "a picture, sound or film (RIFF)", _NO_DATA, wordy=True),
    Signature(b"ftyp", "a film or picture (MP4, HEIC)", _NO_DATA, 4, wordy=True),
    Signature(b"ID3", "a sound file (MP3)", _NO_DATA, wordy=True),
    Signature(b"\x7fELF", "a program", _NO_DATA),
    Signature(b"MZ", "a program for Windows", _NO_DATA, wordy=True),
    Signature(b"\x00asm", "a program (WebAssembly)", _NO_DATA),
    Signature(b"\xca\xfe\xba\xbe", "a program (Java or macOS)", _NO_DATA),
)
# A name inside a zip archive begins so; the first kind that fits counts.
_PACKED = (
    ("xl/", "an Excel workbook (xlsx)", _SAVE_AS_CSV),
    ("word/", "a Word document (docx)", _SAVE_AS_TEXT),
    ("ppt/", "a PowerPoint presentation (pptx)", _NO_DATA),
    ("content.xml", "an OpenDocument file", _SAVE_AS_CSV),
    ("META-INF/container.xml", "an e-book (EPUB)", _SAVE_AS_TEXT),
)
#: Kinds of files by the endings of their names, for formats that are not read.
PROMISED_KINDS = {".docx": "a Word document", ".pdf": "a PDF document", ".png": "a PNG image"}


class _Source(Protocol):
    """The parts of a `ByteSource` that show its format; its module imports this one."""

    name: str
    head: bytes
    is_array: bool
    is_zip: bool
    format: Format | None

    @property
    def text_format(self) -> str | None: ...
    def open(self) -> BinaryIO: ...
    def archive(self) -> ZipFile: ...
    def zip_names(self) -> list[str]: ...
    def fault(
        self, what: str, remedy: str, line: int | None = None, value: str | None = None
    ) -> DataError: ...


def refuse_binary(source: _Source) -> None:
    """Raise DataError for a source that its first bytes, or the names in its archive, show to be of no format here."""
    binary = is_binary(source.head)
    for magic, kind, remedy, at, wordy in _SIGNATURES:
        if source.head.startswith(magic, at) and (binary or not wordy):
            raise source.fault(f"this is {kind}", remedy)
    if not source.is_zip:
        return
    names = source.zip_names()
    if not names:
        raise source.fault("this is a damaged zip archive", "Save, copy or download it again.")
    for start, kind, remedy in _PACKED:
        if any(name.startswith(start) for name in names):
            raise source.fault(f"this is {kind}", remedy)


def is_binary(head: bytes) -> bool:
    """Return whether bytes hold one that no text has."""
    return len(head.translate(None, delete=_CONTROL)) < len(head)


#: Bytes that are looked at where the first ones do not decide.
_LOOKED_AT = 1 << 20
#: Lines of JSON Lines that must hold a value each.
_LINES = 5
_HTML = re.compile(r"<!doctype\s+html\b|<html[\s>]", re.IGNORECASE)
_DECLARED_XML = re.compile(r"<\?xml\s|<!doctype\s+\w", re.IGNORECASE)
_ANY_ROOT = re.compile(r"<([A-Za-z_][\w:.-]*)(?:\s[^<>]*)?>")
_GRAPH_ROOT = re.compile(r"\s*<(?:[\w.-]+:)?(graphml|gexf)\b")
# The beginning of an XML file before its root.
_PREAMBLE = re.compile(
    r"(?:\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*(?:\[.*?\]\s*)?>))*", re.IGNORECASE | re.DOTALL
)
_JSON = "a JSON file"
# How JSON begins whose end is not seen or is missing: with a key, or in a list with a key or a text.
_BEGUN_JSON = re.compile(r'\{\s*"[^"\n]*"\s*:|\[\s*(?:\{\s*"[^"\n]*"\s*:|(?:\[\s*)?"[^"\n]*"\s*,)')
_PAJEK = re.compile(r"\*(network|vertices|arcs|edges|matrix|partition)\b")
_GML, _GML_GRAPH = re.compile(r"graph\b|[a-z_]+\s"), re.compile(r"^\s*graph\s*(\[|$)", re.MULTILINE)
# Words in files of graphs, but not in prose that begins like one.
_CERTAIN = {"gml": r"\bnode\s*\[", "pajek": r"^\*vertices\s+\d", "graphml": "<graphml"}
# JSON with a list of nodes, or whose first key is one of a graph's.
_NODE_LINK = re.compile(
    r'\{\s*"(?:(?:directed|multigraph)"\s*:\s*(?:true|false)|(?:nodes|links|edges)"\s*:\s*\[|'
    r'.{0,1000000}?"nodes"\s*:\s*\[)',
    re.DOTALL,
)


def refuse_text_format(source: _Source) -> None:
    """Raise DataError for a file of a format that holds text, but is no plain text, judged as a whole by how it starts.

    Cells of a table may hold such formats, and prose may begin with brackets, or with a word of such a format.
    """
    name = source.text_format
    row = next((row for row in FORMATS if row.name == name), None)
    noun = name if row is None else row.noun
    if row is not None and row.family == "graph":
        if re.search(_CERTAIN.get(row.name, ""), _beginning(source)[0], re.IGNORECASE | re.MULTILINE):
            remedy = "Read it as a relation or network."
            raise source.fault(f"this is {noun}, which holds nodes and links", remedy)
        noun = "an XML file" if name == "graphml" else None
    if noun is not None:
        by_lines = (
            "as JSON Lines, with one object on each line"
            if noun == _JSON
            else "as .txt files in a zip archive"
        )
        raise source.fault(f"this is {noun}, not plain text", f"Save it as CSV, or {by_lines}.")


def ending_of(source: _Source) -> str:
    """Return the last extension of a source's name, in lower case, that of gzip left out."""
    return PurePath(source.name.lower().removesuffix(".gz")).suffix


def starts_with(*starts: bytes) -> Callable[[_Source], bool]:
    """Return whether a source is binary and begins so: text may begin with such letters too (PAR1 is also a gene)."""
    return lambda source: source.head.startswith(starts) and is_binary(source.head)


def is_npz(source: _Source) -> bool:
    """Return whether a source is an archive of NumPy arrays."""
    return source.is_zip and all(name.endswith(".npy") for name in source.zip_names())


def is_archive(source: _Source) -> bool:
    """Return whether a source is a zip archive of something else than arrays."""
    return source.is_zip and not is_npz(source)


def is_workbook(source: _Source) -> bool:
    """Return whether a source is a workbook of Excel, old or new, or of OpenDocument."""
    if source.head.startswith(OLD_OFFICE):
        return ending_of(source) not in (".doc", ".ppt", ".msg", ".msi")
    names = source.zip_names() if source.is_zip else []
    if any(name.startswith("xl/") for name in names):
        return True
    if not {"content.xml", "mimetype"} <= set(names):
        return False
    try:
        with source.archive().open("mimetype") as kind:
            return b"spreadsheet" in kind.read(200)
    except Exception:  # a damaged archive makes zipfile raise all sorts
        return False


def is_json_lines(source: _Source) -> bool:
    """Return whether a source is JSON Lines, by its first lines or its name."""
    if ending_of(source) in (".jsonl", ".ndjson"):
        return _decode(source.head).startswith(("{", "["))
    return source.text_format == "json-lines"


def marked_encoding(head: bytes) -> str:
    """Return the encoding that a byte order mark says; UTF-8 if there is none."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


def find_text_format(source: _Source) -> str | None:
    """Return the format that a text begins like, by its name; in words if it is not read; None for plain text."""
    start = _decode(source.head)
    lower = start.lower()
    lines = (line.strip() for line in re.split(r"[\r\n]+", lower))
    first = next((line for line in lines if line and not line.startswith(("%", "#"))), "")
    if start.startswith((r"{\rtf", "%PDF-")):
        return "an RTF document" if start.startswith("{") else "a PDF document"
    if lower.startswith("%%matrixmarket"):
        return "matrix-market"
    if _PAJEK.match(first):
        return "pajek"
    if _GML.match(first) and _GML_GRAPH.search(lower):
        return "gml"
    if not start.startswith(("<", "{", "[")):
        return None
    text, whole = _beginning(source)
    if text.startswith("<"):
        return _markup(text, whole)
    if _NODE_LINK.match(text) and not ("\n" in text.rstrip() and _has_json_lines(text, whole)):
        return "node-link"
    if _is_json(text, whole, ending_of(source) == ".json"):
        return _JSON
    return "json-lines" if _has_json_lines(text, whole) else None


def _markup(text: str, whole: bool) -> str | None:
    """Return the format of XML or HTML; XML that is no graph goes to GraphML, whose reader refuses it."""
    root = _GRAPH_ROOT.match(_PREAMBLE.sub("", text, count=1))
    if root is not None or text.startswith("<?xml"):
        return root[1] if root is not None else "graphml"
    while text.startswith("<!--"):
        text = text.partition("-->")[2].lstrip()
    if _HTML.match(text):
        return "an HTML page"
    if _DECLARED_XML.match(text):
        return "an XML file"
    root = _ANY_ROOT.match(text)
    if not whole or root is None:
        return None
    # Prose may begin with a tag; only a document is all inside of one.
    end = f"</{root[1]}>"
    return "an XML file" if text.rstrip().endswith(end) and text.count(end) == 1 else None


def _is_json(text: str, whole: bool, named: bool) -> bool:
    """Return whether a text is JSON; or, if it is cut or `named` so, whether it begins like it."""
    try:
        return isinstance(json.loads(text), dict | list) and whole
    except RecursionError:
        return True
    except ValueError:
        begun = named or not whole
        return begun and _BEGUN_JSON.match(text) is not None and not _has_json_lines(text, whole)


def _has_json_lines(text: str, whole: bool) -> bool:
    """Return whether each of the first lines is a JSON value of its own."""
    lines = text.splitlines()
    if not whole and len(lines) > 1:
        lines.pop()  # it may be cut
    first = [line for line in lines if line.strip()][:_LINES]
    try:
        return all(isinstance(json.loads(line), dict | list) for line in first)
    except (ValueError, RecursionError):
        return False


def _beginning(source: _Source) -> tuple[str, bool]:
    """Return the first text of a file, and whether it is all."""
    try:
        content = source.open().read(_LOOKED_AT)
    except DataError:  # a damaged archive: its reader says so
        content = source.head
    return _decode(content), len(content) < _LOOKED_AT


def _decode(content: bytes) -> str:
    return content.decode(marked_encoding(content), errors="replace").lstrip()


#: Families of formats; the bytes of graphs and "text" are text, whose first bytes may not be enough.
Family = Literal["text", "sparse", "graph", "array", "archive", "columns"]
#: Families whose files are recognised by their first bytes, so that its name is no guess but a promise.
_BINARY = ("array", "archive", "columns")
_KINDS = {"relation": "a relation", "corpus": "a corpus", "table": "a table of numbers"}


@dataclass(frozen=True)
class Format:
    """A format that is read."""

    name: str  # as `format=` and `--format` take it, but for files of columns
    title: str  # a few words for people
    kinds: tuple[Kind, ...]  # the data that its files can hold
    family: Family = "text"
    endings: tuple[str, ...] = ()  # of file names, in lower case, if they say something
    #: Whether the first bytes of a source are of this format. None: it is text (`find_text_format`); the first
    #: records distinguish delimited from plain text.
    recognise: Callable[[_Source], bool] | None = None
    options: tuple[str, ...] = ()  # arguments of the readers that say how its files are read
    called: str = ""  # what a file of it is, with an article (default: "a <title> file")
    files: str | None = (
        None  # how it is listed among the files that are read (None: by its title; "": it is not)
    )
    help: str = ""  # words in a list of choices (default: the title)
    extra: str = ""  # of the package, which must be installed for it
    named: bool = False  # files that the first bytes do not tell are recognised by their ending

    @property
    def noun(self) -> str:
        """Name of a file of the format, with an article."""
        return self.called or f"a {self.title} file"

    def is_of(self, source: _Source) -> bool:
        """Return whether a source begins like this format; False for delimited and plain text."""
        return self.recognise(source) if self.recognise is not None else source.text_format == self.name

    @property
    def sure(self) -> bool:
        """Return whether its first bytes are of no other format: it is then refused by name if it cannot be read."""
        return self.family in ("sparse", "array", "archive")


_COLUMNS: tuple[Kind, ...] = ("relation", "corpus", "table")
_TEXT = ("encoding", "delimiter", "header")
#: Every format that is read. The first row whose bytes fit counts; formats of text without a recogniser come where
#: none does.
FORMATS = (
    Format(
        "edges", "edge list", ("relation",), options=_TEXT,
        files="CSV, TSV or other delimited text",
    ),
    Format("matrix", "matrix", ("relation",), options=_TEXT, files=""),
    Format(
        "matrix-market", "MatrixMarket", ("relation",), "sparse", (".mtx",),
        called="a sparse matrix in a MatrixMarket file",
    ),
    Format("npz", "SciPy .npz", ("relation",), "array", (".npz",), is_npz,
           called="a NumPy archive (npz)"),
    Format("graphml", "GraphML", ("relation",), "graph", (".graphml",),
           named=True),
    Format("gexf", "GEXF", ("relation",), "graph", (".gexf",), named=True),
    Format("gml", "GML", ("relation",), "graph", (".gml",), named=True),
    Format("pajek", "Pajek", ("relation",), "graph", (".net", ".paj"), named=True),
    Format("node-link", "node-link JSON", ("relation",), "graph", (".json",)),
    Format(
        "counts", "word counts", ("corpus",), options=_TEXT,
        files="word counts (document, word, count on each line)",
        help="Word counts: document, word, count on each line",
    ),
    Format(
        "matrix", "document-term table", ("corpus",), options=_TEXT,
        files="a table of word counts (a document in each row, a word in each column)",
        help="Word counts: a document in each row, a word in each column",
    ),
    Format(
        "docword", "UCI docword", ("corpus",), options=("encoding",),
        help="UCI docword: three lines with the sizes, then document id, word id, count",
    ),
    Format(
        "ldac", "LDA-C", ("corpus",), options=("encoding",),
        help="LDA-C: one document a line, term:count",
    ),
    Format(
        "table", "table with texts", ("corpus",), options=_TEXT,
        files="a table with a column of texts", help="Table with a column of texts",
    ),
    Format(
        "lines", "one document a line", ("corpus",), options=("encoding",),
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
        "text", "table", ("table",), options=(*_TEXT, "decimal", "missing"),
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


def wanted_format(name: str, kind: Kind) -> str | None:
    """Return the format that was asked for, None for "auto"; ParameterError for an unknown name."""
    known = choices_of(kind)
    if name != "auto" and name not in known:
        raise ParameterError(f"There is no format {name!r}; choose auto, {', '.join(known)}.")
    return None if name == "auto" else name


def recognise_format(source: _Source, kind: Kind | None, *, columns: bool = False) -> Format | None:
    """Return the format of a source by its first bytes or, if they do not tell, by the ending of its name.

    `kind` and `columns` as for `ByteSource`. None: the source is text whose first records have to be looked at. A
    source of a format that is not read, or that holds other data, or whose name promises another one, is a DataError.
    """
    if columns:
        for row in FORMATS:
            if row.family == "columns" and row.is_of(source):
                return row
    refuse_binary(source)
    others: list[Format] = []
    for row in FORMATS:
        own = kind in row.kinds and row.family != "columns"
        if (own or row.sure) and row.is_of(source):
            if own:
                return row
            others.append(row)
    if others:
        raise _other_data(others, source)
    ending = ending_of(source)
    told = (row.noun for row in FORMATS if row.family in _BINARY and ending in row.endings)
    promised = next(told, PROMISED_KINDS.get(ending))
    if promised is not None:
        raise source.fault(
            f"the name says that this is {promised}, but the content is not",
            "Give the file the right ending (.csv or .txt for text), or save or download it again.",
            value=None if is_binary(source.head) else source.head[:20].decode("utf-8", errors="replace"),
        )
    return next((row for row in FORMATS if row.named and kind in row.kinds and ending in row.endings), None)


def _other_data(others: list[Format], source: _Source) -> DataError:
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


def resolve_format(source: _Source, kind: Kind, asked: str | None) -> Format | None:
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
    if wanted is None or wanted.family == "text":
        return None
    raise source.fault(
        f"this does not start like {wanted.noun}",
        "Let the format be recognised, or save the file again.",
        line=1,
        value=source.head.split(b"\n")[0].decode("utf-8", errors="replace").strip(),
    )
