"""Whether the first bytes of a source, or the names inside a zip archive, are those of a format."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from acvb_core.data.sources.refusals import (
    OLD_OFFICE,
    beginning,
    decoded,
    is_binary,
    is_json_lines,
    text_format,
)

if TYPE_CHECKING:
    from acvb_core.data.sources.byte_source import ByteSource

# What begins an XML file before its root.
_PREAMBLE = re.compile(
    r"\s*(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*(?:\[.*?\]\s*)?>)", re.IGNORECASE | re.DOTALL
)
_ROOT = re.compile(r"\s*<(?:[\w.-]+:)?(graphml|gexf)\b")
# JSON with a list of nodes, or whose first key is one of a graph's.
_NODE_LINK = re.compile(
    r'\{\s*"(?:(?:directed|multigraph)"\s*:\s*(?:true|false)|(?:nodes|links|edges)"\s*:\s*\[|'
    r'.{0,1000000}?"nodes"\s*:\s*\[)',
    re.DOTALL,
)


def ending_of(source: ByteSource) -> str:
    """Return the last extension of a source's name, in lower case, that of gzip left out."""
    return PurePath(source.name.lower().removesuffix(".gz")).suffix


def starts_with(*starts: bytes) -> Callable[[ByteSource], bool]:
    """Return whether a source is binary and begins so: text may begin with such letters too (PAR1 is also a gene)."""
    return lambda source: source.head.startswith(starts) and is_binary(source.head)


def is_npz(source: ByteSource) -> bool:
    """Whether a source is an archive of NumPy arrays."""
    return source.is_zip and all(name.endswith(".npy") for name in source.zip_names())


def is_archive(source: ByteSource) -> bool:
    """Whether a source is a zip archive of something else than arrays."""
    return source.is_zip and not is_npz(source)


def is_workbook(source: ByteSource) -> bool:
    """Whether a source is a workbook of Excel, old or new, or of OpenDocument."""
    if source.head.startswith(OLD_OFFICE):
        return ending_of(source) not in (".doc", ".ppt", ".msg", ".msi")
    names = source.zip_names() if source.is_zip else []
    if any(name.startswith("xl/") for name in names):
        return True
    if not {"content.xml", "mimetype"} <= set(names):
        return False
    with zipfile.ZipFile(source.seekable()) as archive, archive.open("mimetype") as kind:
        return b"spreadsheet" in kind.read(200)


def is_json_lines_file(source: ByteSource) -> bool:
    """Whether a source is JSON Lines, by its first lines or its name."""
    if ending_of(source) in (".jsonl", ".ndjson"):
        return _start(source).startswith(("{", "["))
    return text_format(source) == "a JSON Lines file"


def is_matrix_market(source: ByteSource) -> bool:
    """Whether a source is a MatrixMarket file."""
    return _start(source).startswith("%%matrixmarket")


def is_pajek(source: ByteSource) -> bool:
    """Whether a source begins with a section of a Pajek file."""
    return re.match(r"\*(network|vertices|arcs|edges|matrix|partition)\b", _first_line(source)) is not None


def is_gml(source: ByteSource) -> bool:
    """Whether a source opens a graph of GML."""
    begins = re.match(r"(graph\b|[a-z_]+\s)", _first_line(source)) is not None
    return begins and re.search(r"^\s*graph\s*(\[|$)", _start(source), re.MULTILINE) is not None


def has_root(name: str) -> Callable[[ByteSource], bool]:
    """Return whether a source is XML with this root; XML that is no graph goes to GraphML, whose reader refuses it."""
    return lambda source: _xml_root(source) == name


def is_node_link(source: ByteSource) -> bool:
    """Whether a source is JSON with the keys of a graph."""
    if not _start(source).startswith("{"):
        return False
    text, whole = beginning(source)
    return _NODE_LINK.match(text) is not None and not ("\n" in text.rstrip() and is_json_lines(text, whole))


def _xml_root(source: ByteSource) -> str | None:
    if not _start(source).startswith("<"):
        return None
    text, _ = beginning(source)
    declared = text.startswith("<?xml")
    while preamble := _PREAMBLE.match(text):
        text = text[preamble.end() :]
    root = _ROOT.match(text)
    return root[1] if root is not None else "graphml" if declared else None


def _start(source: ByteSource) -> str:
    """Return the first letters in lower case."""
    return decoded(source.head).lstrip().lower()


def _first_line(source: ByteSource) -> str:
    """Return the first line that is neither blank nor a comment."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", _start(source))]
    return next((line for line in lines if line and not line.startswith(("%", "#"))), "")
