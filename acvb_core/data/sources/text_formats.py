"""Files of text that are neither prose nor columns: JSON, HTML, XML, RTF. Read as such they would give nonsense."""

from __future__ import annotations

import codecs
import json
import re

from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.errors import DataError

#: Bytes that are looked at where the first ones do not decide.
_LOOKED_AT = 1 << 20
#: Lines of JSON Lines that must hold a value each.
_LINES = 5
_HTML = re.compile(r"<!doctype\s+html\b|<html[\s>]", re.IGNORECASE)
_DECLARED_XML = re.compile(r"<\?xml\s|<!doctype\s+\w", re.IGNORECASE)
_ROOT = re.compile(r"<([A-Za-z_][\w:.-]*)(?:\s[^<>]*)?>")
# How JSON begins whose end is not seen: with a key, or in a list with a key or a text.
_BEGUN_JSON = re.compile(r'\{\s*"[^"\n]*"\s*:|\[\s*(?:\{\s*"[^"\n]*"\s*:|(?:\[\s*)?"[^"\n]*"\s*,)')


def refuse_text_format(source: ByteSource) -> None:
    """Raise DataError for a file of a format that holds text, but is no plain text, judged as a whole by how it starts.

    Cells of a table may hold such formats, and prose may begin with brackets.
    """
    kind = text_format(source)
    if kind is not None:
        raise DataError(
            f"this is {kind}, not plain text",
            source=source.name,
            remedy="Save it as CSV, with texts in one column, or give plain texts as .txt files in a zip archive.",
        )


def text_format(source: ByteSource) -> str | None:
    """Return what a file is, in words; None for plain text."""
    start = decoded(source.head).lstrip()
    if start.startswith(r"{\rtf"):
        return "an RTF document"
    if start.startswith("%PDF-"):
        return "a PDF document"
    if not start.startswith(("<", "{", "[")):
        return None
    text, whole = beginning(source)
    if text.startswith("<"):
        return _markup(text, whole)
    if _is_json(text, whole):
        return "a JSON file"
    if is_json_lines(text, whole):
        return "a JSON Lines file"
    return None


def _markup(text: str, whole: bool) -> str | None:
    while text.startswith("<!--"):
        text = text.partition("-->")[2].lstrip()
    if _HTML.match(text):
        return "an HTML page"
    if _DECLARED_XML.match(text):
        return "an XML file"
    root = _ROOT.match(text)
    if not whole or root is None:
        return None
    # Prose may begin with a tag; only a document is all inside of one.
    end = f"</{root[1]}>"
    return "an XML file" if text.rstrip().endswith(end) and text.count(end) == 1 else None


def _is_json(text: str, whole: bool) -> bool:
    try:
        return isinstance(json.loads(text), dict | list) and whole
    except RecursionError:
        return True
    except ValueError:
        return not whole and _BEGUN_JSON.match(text) is not None and not is_json_lines(text, whole)


def is_json_lines(text: str, whole: bool) -> bool:
    """Whether each of the first lines is a JSON value of its own."""
    lines = text.splitlines()
    if not whole and len(lines) > 1:
        lines.pop()  # it may be cut
    first = [line for line in lines if line.strip()][:_LINES]
    try:
        return all(isinstance(json.loads(line), dict | list) for line in first)
    except (ValueError, RecursionError):
        return False


def beginning(source: ByteSource) -> tuple[str, bool]:
    """Return the first text of a file, and whether it is all."""
    try:
        content = source.open().read(_LOOKED_AT)
    except DataError:  # a damaged archive: its reader says so
        content = source.head
    return decoded(content).lstrip(), len(content) < _LOOKED_AT


def decoded(content: bytes) -> str:
    """Return bytes as text: UTF-8, or what a byte order mark says."""
    for mark, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    return content.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")
