"""How documents are read: what the user says, the columns' roles, and a cheap look at the head of a file."""

from __future__ import annotations

import io
import itertools
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypedDict, cast

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.metadata import looks_like_dates
from acvb_core.data.disk import META
from acvb_core.data.relation_schema import ReadOptions, check_frame_format, find_source_style, inspect
from acvb_core.data.report import Fact, list_first, plural
from acvb_core.data.schema import PREVIEW_ROWS, ColumnChoice, Schema, lower_names
from acvb_core.data.sources.containers import open_source
from acvb_core.data.sources.formats import refuse_text_format, resolve_format, wanted_format
from acvb_core.data.sources.frames import FrameChoices, FrameSource
from acvb_core.data.sources.parse import Head, best_head, delimiter_code, first_bytes, one_line_fault
from acvb_core.data.sources.source import MAX_TEXT, ByteSource, is_repeated, open_lines, refuse_too_large
from acvb_core.data.sources.values import STYLES, read_value


class CorpusOptions(TypedDict, total=False):
    """How a file is read, in the words of `load_corpus`; what is left out is guessed."""

    format: str
    text: ColumnChoice
    document: ColumnChoice
    word: ColumnChoice
    count: ColumnChoice
    text_column: ColumnChoice
    name_column: ColumnChoice
    label_column: ColumnChoice
    document_column: ColumnChoice
    word_column: ColumnChoice
    count_column: ColumnChoice
    encoding: str | None
    delimiter: str | None
    decimal: str | None
    header: Literal["auto"] | bool
    sheet: str | int | None
    table: str | None
    query: str | None
    column_kinds: Mapping[str, str] | Sequence[str] | None


def resolve_columns(options: CorpusOptions) -> dict[str, ColumnChoice]:
    """Return the columns that were chosen by their roles; a ParameterError if one was given by both its names."""
    found: dict[str, ColumnChoice] = {}
    for name, choice in cast(dict[str, ColumnChoice], options).items():
        if name not in CorpusOptions.__annotations__:
            raise TypeError(f"{name!r} is not an option of the readers of documents")
        role = f"{name}_column" if name in ("text", "document", "word", "count") else name
        if choice is None or not role.endswith("_column"):
            continue
        if role in found:
            raise ParameterError(f"{role.removesuffix('_column')} and {role} are the same; give one of them.")
        found[role] = choice
    return found


Records = Sequence[Sequence[str]]
_GUESS_RECORDS, _GUESS_CELLS = 200, 200_000
#: Bytes of a text that are inspected.
_HEAD_BYTES = 1 << 22
_PREVIEW_CHARACTERS = 1_000
TEXT_NAMES = (
    "text", "texts", "fulltext", "full_text", "content", "contents", "body", "abstract", "review", "message",
    "description", "article", "comment", "tweet", "post", "question", "answer", "summary", "sentence",
    "transcript", "lyrics", "speech", "story",
)  # fmt: skip
_LABEL_NAMES = (
    "label", "labels", "class", "category", "section", "group", "topic", "genre", "target", "newsgroup",
    "kind", "type", "party", "sentiment",
)  # fmt: skip
_NAME_NAMES = (
    "name", "id", "doc", "document", "docid", "doc_id", "document_id", "title", "headline", "file", "filename",
    "path", "key", "url", "package", "paper",
)  # fmt: skip
WORD_NAMES = ("word", "words", "term", "terms", "token", "wordid", "word_id", "stem", "lemma", "feature")
_TEXT_LIKE = 20  # mean characters of a column that is taken for text without being called so
_PROSE_BLANKS = 3  # mean number of blanks in what is a text rather than a name
_SHORT = 40  # characters of a label or a name at most, on average
_FEW = 5  # columns of a list of word counts at most, if it is to be distinguished from tables of counts
_LDAC_LINE = re.compile(r"\s*\d+(\s+\d+:\d+)*\s*")


#: In the place of a name that is blank, as an archiver leaves that of a text from a pipe.
_NO_NAME = "a file without a name"


class TextFile(NamedTuple):
    """One file of an archive or a folder; `read` gives its bytes."""

    path: str
    size: int
    read: Callable[[], bytes]

    @property
    def place(self) -> PurePosixPath:
        """The path, whatever system wrote it."""
        return PurePosixPath(self.path.replace("\\", "/"))

    @property
    def is_document(self) -> bool:
        """Return whether it is a .txt file, and not one of the hidden ones."""
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in self.place.parts)
        return self.path.lower().endswith(".txt") and not hidden


class TextFolder:
    """A folder in the place of a `ByteSource`: its files are listed by `list_files`."""

    gzipped = False
    cut_short: DataError | None = None

    def __init__(self, folder: Path, filename: str | None = None, *, patient: bool = False) -> None:
        self.folder, self.patient = folder, patient
        self.name = self.stem = filename or folder.resolve().name or str(folder)
        if (folder / META).is_file():
            what = "this folder holds a corpus on disk, which is read already"
            raise DataError(what, source=self.name, remedy="Open it by DiskCorpus.open(folder).")

    def __enter__(self) -> TextFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: no file is kept open."""

    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size for file in self.files())

    def position(self) -> int:
        """Return 0: how far the reading is, is not known."""
        return 0

    def files(self) -> list[TextFile]:
        """Return the files of the folder and of the folders in it, in the order of their paths."""
        return [
            TextFile(path.relative_to(self.folder).as_posix(), path.stat().st_size, path.read_bytes)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        ]


CorpusSource = ByteSource | FrameSource | TextFolder


def open_corpus_source(
    source: Any, filename: str | None, options: CorpusOptions, *, patient: bool = False
) -> CorpusSource:
    """Open a file, bytes, anything in memory that holds columns (`open_source`), or a folder of .txt files."""
    if isinstance(source, str | os.PathLike):
        folder = Path(source).expanduser()
        if folder.is_dir():
            return TextFolder(folder, filename, patient=patient)
    choices = FrameChoices(options.get("sheet"), options.get("table"), options.get("query"))
    return open_source(source, filename, kind="corpus", patient=patient, choices=choices)


def list_files(source: CorpusSource) -> list[TextFile]:
    """Return the files of an archive or a folder, which can be read as long as it is open."""
    if isinstance(source, TextFolder):
        return source.files()
    assert isinstance(source, ByteSource)
    with _report_damage(source.name):
        archive = source.archive()
    packed, unpacked = source.size(), sum(file.file_size for file in archive.infolist())
    if is_repeated(packed, unpacked):
        what = f"the zip archive has {packed:,} bytes and unpacks to {unpacked:,}, over and over the same"
        raise source.fault(what, "Check how it was made. To read it all the same, load the files in it.")
    return [
        TextFile(file.filename or _NO_NAME, file.file_size, partial(_unpack, archive, file, source.name))
        for file in archive.infolist()
        if not file.filename.endswith("/")  # ZipInfo.is_dir fails at a blank name
    ]


def _unpack(archive: zipfile.ZipFile, file: zipfile.ZipInfo, source: str) -> bytes:
    name = f"{source}: {file.filename}"
    if file.flag_bits & 1:
        what, remedy = "this file of the zip archive is encrypted", "Pack the files again without a password."
        raise DataError(what, source=name, remedy=remedy)
    with _report_damage(name):
        return archive.read(file)


@contextmanager
def _report_damage(name: str) -> Iterator[None]:
    """Turn what a damaged archive makes zipfile and zlib raise, which is all sorts, into a DataError."""
    try:
        yield
    except DataError:
        raise
    except Exception as problem:
        what = f"the zip archive is damaged ({problem})"
        raise DataError(what, source=name, remedy="Copy, download or pack it again.") from None


def choose_files(source: CorpusSource) -> tuple[list[TextFile], list[Fact]]:
    """Return the files that are documents, and the facts about them; no such file is a DataError."""
    files, is_folder = list_files(source), isinstance(source, TextFolder)
    what = "folder" if is_folder else "zip archive"
    chosen = [file for file in files if file.is_document]
    others = [file.path for file in files if not file.is_document]
    if not chosen:
        found = f"there is no .txt file among the {plural(len(files), 'file')} of this {what}"
        otherwise = "give one file" if is_folder else "unpack it and load one file"
        remedy = f"Put one .txt file for each document into it, or {otherwise}."
        raise DataError(found, source=source.name, value=files[0].path if files else None, remedy=remedy)
    facts = [Fact("files", len(chosen), f"Read {plural(len(chosen), '.txt file')} of the {what}.")]
    if others:
        told = f"{plural(len(others), 'other file')} in the {what} not read: {list_first(others)}."
        facts.append(Fact("other_files", len(others), told))
    return chosen, facts


def read_text(file: TextFile, source: str, encoding: str | None) -> str:
    """Return the text of one file of an archive or a folder of this name."""
    name = f"{source}: {file.path}"
    refuse_too_large(file.size, name)
    try:
        content = file.read()
    except OSError as problem:
        what = f"the file cannot be read ({problem.strerror or problem})"
        raise DataError(what, source=name, remedy="Check the right to read it.") from None
    if not content:
        return ""
    with ByteSource(content, name) as opened:
        refuse_text_format(opened)
        return "".join(open_lines(opened, encoding)[0])


def inspect_source(source: CorpusSource, options: CorpusOptions) -> Schema:
    """Look at the head of an open source; what the options say is not guessed."""
    columns = resolve_columns(options)
    format = wanted_format(options.get("format", "auto"), "corpus")
    if isinstance(source, TextFolder) and format not in (None, "zip"):
        what = f"this is a folder, but it was to be read as {format}"
        remedy = "Give one file, or let the format be recognised."
        raise DataError(what, source=source.name, remedy=remedy)
    if isinstance(source, FrameSource):
        schema = _frame_schema(source, format, options)
    elif isinstance(source, TextFolder) or resolve_format(source, "corpus", format) is not None:
        schema = _files_schema(source, options)
    else:
        schema = _text_schema(source, format, options)
    return schema.with_columns(columns)


def _frame_schema(source: FrameSource, format: str | None, options: CorpusOptions) -> Schema:
    frame = source.frame
    check_frame_format(source, format, ("table", "counts", "matrix"))
    blank = Schema("corpus", "table", source.name, container=frame.container)
    header: CorpusOptions = {"header": True} if frame.named else {}
    head = source.read_head(_GUESS_RECORDS)
    return _table_schema(source, blank, format, head, options | header)


def _files_schema(source: ByteSource | TextFolder, options: CorpusOptions) -> Schema:
    rows = tuple((file.path, f"{file.size:,}") for file in list_files(source)[:PREVIEW_ROWS])
    blank = Schema("corpus", "zip", source.name, source.gzipped, options.get("encoding"))
    return replace(blank, column_names=("file", "bytes"), rows=rows, n_fields=2)


def _text_schema(source: ByteSource, format: str | None, options: CorpusOptions) -> Schema:
    refuse_text_format(source)
    delimiter = options.get("delimiter")
    if delimiter is not None:
        delimiter_code(delimiter)
    block, whole, encoding = first_bytes(source, options.get("encoding"), _HEAD_BYTES)
    if not block.strip():
        raise source.fault("the file holds no data, only blank lines", "Load a file with data in it.")
    head = io.StringIO(block.decode("utf-8", errors="replace"), newline="")
    lines = [line.rstrip("\r\n") for line in itertools.islice(head, PREVIEW_ROWS)]
    blank = Schema("corpus", "lines", source.name, source.gzipped, encoding)
    format = format or _numbered_format(lines)
    if format == "counts":
        return _counts_schema(source, options, delimiter)
    if format in (None, "table", "matrix"):
        given = format is not None or delimiter is not None
        table = _find_table(block, whole, source.name, delimiter, given=given)
        if table is not None:
            return _table_schema(source, blank, format, table, options)
    shown = [[line[:_PREVIEW_CHARACTERS]] for line in lines]
    schema = replace(blank, format=format or "lines")
    return schema.with_records(shown, tuple(range(1, len(shown) + 1)), header=False, unnamed="line")


def _counts_schema(source: ByteSource | FrameSource, options: CorpusOptions, delimiter: str | None) -> Schema:
    # A list of (document, word, count) is a list of links with values: the same look, the same reader.
    how: dict[str, Any] = {name: options.get(name) for name in ("encoding", "decimal", "header")}
    count = resolve_columns(options).get("count_column")
    links = inspect(source, ReadOptions(format="edges", value_column=count, delimiter=delimiter, **how))
    roles: dict[str, Any] = dict.fromkeys(links.roles)
    roles |= {"document_column": links.row_column, "word_column": links.column_column}
    return replace(links, kind="corpus", format="counts", count_column=links.value_column, **roles)


def _table_schema(
    source: ByteSource | FrameSource, blank: Schema, format: str | None, table: Head, options: CorpusOptions
) -> Schema:
    """Propose how to read columns of texts, or of counts; the first one may be the index of a frame."""
    few = max(PREVIEW_ROWS + 1, _GUESS_CELLS // len(table.records[0]))
    records, header = table.records[:few], options.get("header")
    if format is None:
        format = "matrix" if _is_matrix(records) else "counts" if _is_counts(records) else "table"
    if format == "counts":
        return _counts_schema(source, options, table.delimiter or None)
    if header in (None, "auto"):
        header = _has_text_header(records) if format == "table" else not all(map(_is_whole, records[0][1:]))
    first, width = int(bool(header)), len(records[0])
    called = lower_names(records[0]) if header else [""] * width
    columns = list(zip(*records[first:], strict=True))
    if format == "matrix":
        roles, _ = _guess_matrix_roles(called, columns)
        cells = set(range(width)) - set(roles.values())
        style = find_source_style(source, records[first:], cells, options.get("decimal"))
        roles |= style._asdict()
    else:
        text = _guess_text_column(called, columns)
        label = _guess_label_column(called, columns, {text})
        indexed = isinstance(source, FrameSource) and source.frame.has_index
        name = 0 if indexed and text != 0 else _guess_name_column(called, columns, {text, label})
        roles = {"text_column": text, "name_column": name, "label_column": None if label == name else label}
    shown = [[field[:_PREVIEW_CHARACTERS] for field in record] for record in records[: PREVIEW_ROWS + first]]
    if header:
        shown[0] = [name.strip() for name in records[0]]
    roles |= {"delimiter": table.delimiter or None, "title_lines": table.title_lines}
    return replace(blank, format=format, **roles).with_records(shown, table.lines, header=bool(header))


def _guess_matrix_roles(names: Sequence[str], columns: Records) -> tuple[dict[str, Any], list[int]]:
    """Return which columns of a table of counts hold names and labels of documents, and all that hold no counts."""
    others = [at for at, values in enumerate(columns) if not all(map(_is_whole, values))]
    label = next((at for at in others if names[at] in _LABEL_NAMES), None)
    document = next((at for at in others if at != label), None)
    if document is None and columns and names[0] in ("", *_NAME_NAMES) and 0 not in others:
        document = 0 if any(names) and len(set(columns[0])) == len(columns[0]) else None
    return {"document_column": document, "label_column": label}, others


def _is_matrix(records: Records) -> bool:
    """Return whether a table has a document in each row, a word in each column, and counts in the cells."""
    names, columns = lower_names(records[0]), list(zip(*records[1:], strict=True))
    if not columns or (len(names) <= _FEW and not set(WORD_NAMES).isdisjoint(names)):
        return False  # one document and word in each row
    roles, others = _guess_matrix_roles(names, columns)
    if (at := roles["document_column"]) in others:
        blanks = sum(value.count(" ") for value in columns[at])
        prose = names[at] not in ("", *_NAME_NAMES) and blanks >= _PROSE_BLANKS * len(columns[at])
        if names[at] in TEXT_NAMES or prose or 0 not in others:
            return False  # texts, and numbers with them
    words = [name.strip() for at, name in enumerate(records[0]) if at not in roles.values()]
    unique = len(set(words)) == len(words) >= 3 and all(words)
    return unique and set(others) <= set(roles.values()) and not any(map(_is_number, words))


def _numbered_format(lines: Sequence[str]) -> str | None:
    """Return the format of word counts whose words are numbers that the first lines are of."""
    head = [line.split() for line in lines[:4]]
    whole = all(field.isascii() and field.isdigit() for fields in head for field in fields)
    if whole and [len(fields) for fields in head] == [1, 1, 1, 3]:
        return "docword"
    filled = [line for line in lines if line.strip()]
    alike = [line for line in filled if _LDAC_LINE.fullmatch(line)]
    return "ldac" if any(":" in line for line in alike) and 2 * len(alike) >= len(filled) else None


def _find_table(block: bytes, whole: bool, name: str, delimiter: str | None, *, given: bool) -> Head | None:
    """Return the first records of a table, None if each line is rather a text, unless a table is asked for."""
    try:
        table = best_head(block, whole, name, delimiter, longest=MAX_TEXT, at_most=_GUESS_RECORDS)
    except DataError:
        if given:
            raise
        return None
    if given or _is_table(table, name, block):
        return table
    only = table.records[0]
    words = all(len(field.split()) == 1 and not _is_number(field) for field in only)
    if whole and table.share == len(table.records) == 1 < len(only) and words:
        raise one_line_fault(only, name, "choose the format lines")
    return None


def _is_counts(records: Records) -> bool:
    """Return whether a table holds one (document, word) pair a line rather than texts."""
    names = lower_names(records[0])
    texts = any(name in TEXT_NAMES for name in names)
    if len(names) > 1 and any(name in WORD_NAMES for name in names) and not (texts and len(names) > 3):
        return True
    if texts or not 2 <= len(names) <= 3:
        return False
    columns = list(zip(*(records[1:] or records), strict=True))
    counts = all(_is_number(value) for values in columns[2:] for value in values)
    if not counts or any(" " in word.strip() for word in columns[1]):
        return False
    documents = [record[0] for record in records]
    return len(set(documents)) < len(documents) or _guess_text_column([], columns) is None


def _is_table(head: Head, filename: str, block: bytes) -> bool:
    """Return whether lines cut at a delimiter are a table, and not prose that holds the delimiter."""
    records = head.records
    named = not set(WORD_NAMES).isdisjoint(lower_names(records[0]))
    named |= filename.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    # In prose a comma is followed by a blank.
    prose = head.delimiter == "," and 2 * block.count(b", ") >= block.count(b",")
    even = len(records) > 1 and head.share > 0.9 and not prose
    return _has_text_header(records) or (len(records[0]) > 1 and (named or even))


def _has_text_header(records: Records) -> bool:
    """Return whether the first record names its columns in the usual words, or is far shorter than the texts below."""
    names = lower_names(records[0])
    known = sum(name in (*TEXT_NAMES, *_LABEL_NAMES, *_NAME_NAMES) for name in names)
    if any(name in TEXT_NAMES for name in names) or known >= 2:
        return True
    columns = list(zip(*records[1:], strict=True))
    if len(columns) < 2 or not all(names) or len(set(names)) < len(names) or any(map(_is_number, names)):
        return False
    return max(fmean(map(len, values)) for values in columns) > 5 * max(map(len, names))


def _guess_text_column(names: Sequence[str], columns: Records) -> int | None:
    """Return the column that holds the texts, None when none looks like it."""
    called = _find_called(names, TEXT_NAMES, set())
    if called is not None or not columns:
        return called
    lengths = [fmean(map(len, values)) for values in columns]
    longest = lengths.index(max(lengths))
    lettered = any(c.isalpha() for value in columns[longest] for c in value)
    return longest if lettered and (len(columns) == 1 or lengths[longest] >= _TEXT_LIKE) else None


def _guess_name_column(names: Sequence[str], columns: Records, taken: set[int | None]) -> int | None:
    """Return the column that names the documents: called so, or the first, short and never twice the same, no dates."""
    called = _find_called(names, _NAME_NAMES, taken)
    if called is not None or not columns or 0 in taken:
        return called
    first = columns[0]
    unique = len(first) > 1 and len(set(first)) == len(first) and all(first) and not looks_like_dates(first)
    return 0 if unique and fmean(map(len, first)) <= _SHORT else None


def _guess_label_column(names: Sequence[str], columns: Records, taken: set[int | None]) -> int | None:
    """Return the column that groups the documents: called so, or short and with few values for so many documents.

    Values that hardly come again are names, and dates are no groups.
    """
    single = {at for at, values in enumerate(columns) if 9 < len(values) < 2 * len(set(values))}
    called = _find_called(names, _LABEL_NAMES, taken | single)
    if called is not None:
        return called
    for column, values in enumerate(columns):
        short = column not in taken | single and len(values) > 9 and fmean(map(len, values)) <= _SHORT
        few = short and 1 < len(set(values)) <= 2 * math.sqrt(len(values))
        if few and not all(map(_is_number, values)) and not looks_like_dates(values):
            return column
    return None


def _find_called(names: Sequence[str], usual: Sequence[str], taken: set[int | None]) -> int | None:
    """Return the column of the first of the usual names, None if there is none that is not taken."""
    places = (names.index(name) for name in usual if name in names)
    return next((place for place in places if place not in taken), None)


def _is_number(field: str) -> bool:
    return not math.isnan(read_value(field).number)


def _is_whole(field: str) -> bool:
    text = field.strip()
    if text.isdecimal():
        return text.isascii()
    return text[:1].isdigit() and any(style.number(text).is_integer() for style in STYLES)
