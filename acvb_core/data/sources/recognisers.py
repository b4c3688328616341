"""Recognise a source by its first bytes or the names in its zip archive, and what to do with what is not read."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from acvb_core.core.errors import DataError
from acvb_core.data.sources.signatures import OLD_OFFICE, is_binary

if TYPE_CHECKING:
    from acvb_core.data.sources.byte_source import ByteSource

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
NPY = b"\x93NUMPY"
#: Bytes that are looked at where the first ones do not decide.
_LOOKED_AT = 1 << 20
#: Lines of JSON Lines that must hold a value each.
_LINES = 5
_HTML = re.compile(r"<!doctype\s+html\b|<html[\s>]", re.IGNORECASE)
_DECLARED_XML = re.compile(r"<\?xml\s|<!doctype\s+\w", re.IGNORECASE)
_ANY_ROOT = re.compile(r"<([A-Za-z_][\w:.-]*)(?:\s[^<>]*)?>")
_GRAPH_ROOT = re.compile(r"\s*<(?:[\w.-]+:)?(graphml|gexf)\b")
# What begins an XML file before its root.
_PREAMBLE = re.compile(
    r"(?:\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*(?:\[.*?\]\s*)?>))*", re.IGNORECASE | re.DOTALL
)
# How JSON begins whose end is not seen: with a key, or in a list with a key or a text.
_BEGUN_JSON = re.compile(r'\{\s*"[^"\n]*"\s*:|\[\s*(?:\{\s*"[^"\n]*"\s*:|(?:\[\s*)?"[^"\n]*"\s*,)')
# JSON with a list of nodes, or whose first key is one of a graph's.
_NODE_LINK = re.compile(
    r'\{\s*"(?:(?:directed|multigraph)"\s*:\s*(?:true|false)|(?:nodes|links|edges)"\s*:\s*\[|'
    r'.{0,1000000}?"nodes"\s*:\s*\[)',
    re.DOTALL,
)


def refuse_text_format(source: ByteSource) -> None:
    """Raise DataError for a file of a format that holds text, but is no plain text, judged as a whole by how it starts.

    Cells of a table may hold such formats, and prose may begin with brackets.
    """
    graph = next((name for name, is_one in _GRAPHS if is_one(source)), None)
    if graph is not None:
        raise source.fault(
            f"this is {graph}, which holds nodes and links", "Read it as a relation or network."
        )
    kind = _text_format(source)
    if kind is not None:
        raise source.fault(
            f"this is {kind}, not plain text",
            "Save it as CSV, with texts in one column, or give plain texts as .txt files in a zip archive.",
        )


def ending_of(source: ByteSource) -> str:
    """Return the last extension of a source's name, in lower case, that of gzip left out."""
    return PurePath(source.name.lower().removesuffix(".gz")).suffix


def starts_with(*starts: bytes) -> Callable[[ByteSource], bool]:
    """Return whether a source is binary and begins so: text may begin with such letters too (PAR1 is also a gene)."""
    return lambda source: source.head.startswith(starts) and is_binary(source.head)


def is_npz(source: ByteSource) -> bool:
    """Return whether a source is an archive of NumPy arrays."""
    return source.is_zip and all(name.endswith(".npy") for name in source.zip_names())


def is_archive(source: ByteSource) -> bool:
    """Return whether a source is a zip archive of something else than arrays."""
    return source.is_zip and not is_npz(source)


def is_workbook(source: ByteSource) -> bool:
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


def is_json_lines(source: ByteSource) -> bool:
    """Return whether a source is JSON Lines, by its first lines or its name."""
    if ending_of(source) in (".jsonl", ".ndjson"):
        return _start(source).startswith(("{", "["))
    return _text_format(source) == "a JSON Lines file"


def is_matrix_market(source: ByteSource) -> bool:
    """Return whether a source is a MatrixMarket file."""
    return _start(source).startswith("%%matrixmarket")


def is_pajek(source: ByteSource) -> bool:
    """Return whether a source begins with a section of a Pajek file."""
    return re.match(r"\*(network|vertices|arcs|edges|matrix|partition)\b", _first_line(source)) is not None


def is_gml(source: ByteSource) -> bool:
    """Return whether a source opens a graph of GML."""
    begins = re.match(r"(graph\b|[a-z_]+\s)", _first_line(source)) is not None
    return begins and re.search(r"^\s*graph\s*(\[|$)", _start(source), re.MULTILINE) is not None


def has_root(name: str) -> Callable[[ByteSource], bool]:
    """Return whether a source is XML with this root; XML that is no graph goes to GraphML, whose reader refuses it."""
    return lambda source: _graph_root(source) == name


def is_node_link(source: ByteSource) -> bool:
    """Return whether a source is JSON with the keys of a graph."""
    if not _start(source).startswith("{"):
        return False
    text, whole = _beginning(source)
    return _NODE_LINK.match(text) is not None and not ("\n" in text.rstrip() and _has_json_lines(text, whole))


def marked_encoding(head: bytes) -> str:
    """Return the encoding that a byte order mark says; UTF-8 where there is none."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


def _text_format(source: ByteSource) -> str | None:
    """Return what a file is, in words; None for plain text."""
    start = _decode(source.head)
    if start.startswith(r"{\rtf"):
        return "an RTF document"
    if start.startswith("%PDF-"):
        return "a PDF document"
    if not start.startswith(("<", "{", "[")):
        return None
    text, whole = _beginning(source)
    if text.startswith("<"):
        return _markup(text, whole)
    if _is_json(text, whole):
        return "a JSON file"
    return "a JSON Lines file" if _has_json_lines(text, whole) else None


def _markup(text: str, whole: bool) -> str | None:
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


def _graph_root(source: ByteSource) -> str | None:
    if not _start(source).startswith("<"):
        return None
    text, _ = _beginning(source)
    preamble = _PREAMBLE.match(text)
    root = _GRAPH_ROOT.match(text, preamble.end() if preamble is not None else 0)
    return root[1] if root is not None else "graphml" if text.startswith("<?xml") else None


def _is_json(text: str, whole: bool) -> bool:
    try:
        return isinstance(json.loads(text), dict | list) and whole
    except RecursionError:
        return True
    except ValueError:
        return not whole and _BEGUN_JSON.match(text) is not None and not _has_json_lines(text, whole)


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


def _beginning(source: ByteSource) -> tuple[str, bool]:
    """Return the first text of a file, and whether it is all."""
    try:
        content = source.open().read(_LOOKED_AT)
    except DataError:  # a damaged archive: its reader says so
        content = source.head
    return _decode(content), len(content) < _LOOKED_AT


def _start(source: ByteSource) -> str:
    """Return the first letters in lower case."""
    return _decode(source.head).lower()


def _first_line(source: ByteSource) -> str:
    """Return the first line that is neither blank nor a comment."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", _start(source))]
    return next((line for line in lines if line and not line.startswith(("%", "#"))), "")


def _decode(content: bytes) -> str:
    return content.decode(marked_encoding(content), errors="replace").lstrip()


# Files of graphs, where texts or a table are wanted. Prose may begin with a word of such a format, but not go on so.
_GRAPHS: tuple[tuple[str, Callable[[ByteSource], bool]], ...] = (
    (
        "a GML file",
        lambda source: is_gml(source) and re.search(r"\bnode\s*\[", _beginning(source)[0]) is not None,
    ),
    ("a Pajek file", lambda source: re.search(r"^\*vertices\s+\d", _start(source), re.M) is not None),
    (
        "a GraphML file",
        lambda source: _graph_root(source) == "graphml" and "<graphml" in _beginning(source)[0],
    ),
    ("a GEXF file", has_root("gexf")),
    ("a node-link JSON file", is_node_link),
)
