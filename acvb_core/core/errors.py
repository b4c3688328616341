"""The one error family a user can meet: what was given, what was expected, where, and what to do."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)
#: What errors say in place of a folder, by the folder.
_HIDDEN: dict[str, str] = {}


class AcvbError(Exception):
    """Base of every error that is the input's fault, not the program's."""

    def __init__(self, message: str = "") -> None:
        super().__init__(hide_places(message))


class DataError(AcvbError):
    """A file or array that cannot be read as asked.

    `what`, `remedy`: the fault, and what the user can do about it, a sentence each.
    `source`: name of the file, or another name that the user knows it by.
    `line`, `column`: place in the source, from 1; a column may also be given by its name.
    `value`: the offending value; long ones are cut for display.
    `unit`: "line" or "row", which `line` counts: the rows of a workbook or a data frame are no lines.
    """

    def __init__(
        self,
        what: str,
        *,
        remedy: str,
        source: str | None = None,
        line: int | None = None,
        column: int | str | None = None,
        value: str | None = None,
        unit: str = "line",
    ) -> None:
        self.what = what
        self.remedy = remedy
        self.source = source
        self.line = line
        self.column = column
        self.unit = unit
        self.value = None if value is None else shorten(value)
        super().__init__(self._text())

    def change_parts(self, **parts: Any) -> DataError:
        """Return the same error with other parts, such as its place or its remedy."""
        other = DataError(self.what, remedy=self.remedy)
        vars(other).update(vars(self) | parts)
        other.args = (hide_places(other._text()),)
        return other

    def _text(self) -> str:
        place = [self.source] if self.source else []
        if self.line is not None:
            place.append(f"{self.unit} {self.line:,}")
        if self.column is not None:
            place.append(
                f"column {self.column:,}" if isinstance(self.column, int) else f"column {self.column!r}"
            )
        where = ", ".join(place)
        given = f" (found {self.value!r})" if self.value is not None else ""
        head = f"{where}: {self.what}" if where else self.what
        return f"{head}{given}. {self.remedy}"


class ParameterError(AcvbError):
    """A setting outside what the registry allows."""


def hide_folder(folder: Path, name: str) -> None:
    """Have errors say a name in place of a folder, and paths from there on; the log has the whole paths.

    Visitors of a server read its errors, and need not know where it keeps its files.
    """
    for path in {folder, folder.absolute(), folder.resolve()}:
        _HIDDEN[str(path)] = name


def hide_places(message: str) -> str:
    """Return a message without the folders that `hide_folder` was told of."""
    told = message
    for folder, name in _HIDDEN.items():
        if folder in told:
            start = re.escape(folder)
            told = re.sub(rf"(?<![\w/.-]){start}[/\\](?=\w)", "", told)
            told = re.sub(rf"^{start}(?![\w.-])", name[:1].upper() + name[1:], told)
            told = re.sub(rf"(?<![\w/.-]){start}(?![\w.-])", name, told)
    if told != message:
        _log_once(message)
    return told


@lru_cache(1000)  # pages are drawn again and again
def _log_once(message: str) -> None:
    _LOG.warning(message)


def shorten(value: str, limit: int = 60) -> str:
    """Return `value` cut to `limit` characters, with the full length stated when it was cut."""
    return value if len(value) <= limit else f"{value[:limit]}… ({len(value):,} characters)"


def printable(word: str) -> str:
    """Return a word from a user's file with control characters replaced, so that a terminal obeys none of them."""
    return "".join(letter if letter.isprintable() else "�" for letter in word)
