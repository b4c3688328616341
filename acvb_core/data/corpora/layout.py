"""What a file of documents looks like: its format, delimiter, header and which column means what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acvb_core.data.sources.formats import FileLayout, column_list, column_position
from acvb_core.data.sources.values import read_value
from acvb_core.errors import DataError

CorpusFormat = str
#: Formats that hold texts, which a tokeniser cuts; the others hold counts.
TEXT_FORMATS: tuple[CorpusFormat, ...] = ("table", "lines", "zip")

ColumnChoice = str | int | Literal[False] | None
#: The columns of a format, those it cannot do without first.
ROLES: dict[CorpusFormat, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "counts": (("document_column", "word_column"), ("count_column",)),
    "table": (("text_column",), ("name_column", "label_column")),
}

PREVIEW_CHARACTERS = 1_000


@dataclass(frozen=True)
class CorpusLayout(FileLayout):
    """How documents are (or would be) read; fields of `rows` are cut to PREVIEW_CHARACTERS.

    The encoding of a zip archive is None unless it was given: each of its files has its own. Its `rows` are the names
    and sizes of its files.

    Attributes
    ----------
    document_column, word_column, count_column : int or None
        Counts only; without a count column each line is one token.
    text_column, name_column, label_column : int or None
        Table only.
    """

    document_column: int | None = None
    word_column: int | None = None
    count_column: int | None = None
    text_column: int | None = None
    name_column: int | None = None
    label_column: int | None = None

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns of word counts that are read."""
        used = {self.document_column, self.word_column, self.count_column}
        return used if self.format == "counts" else None

    @property
    def has_texts(self) -> bool:
        """Whether the file holds texts, which a tokeniser cuts."""
        return self.format in TEXT_FORMATS

    def with_columns(self, choices: Mapping[str, ColumnChoice]) -> CorpusLayout:
        """Return the layout with the user's columns; guesses give way to them.

        Parameters
        ----------
        choices : mapping
            By role ("text_column", …): a header name, a 0-based position, False for none, None for a guess.

        Raises
        ------
        DataError
            There is no such column, or a column would have two roles.
        """
        needed, optional = ROLES.get(self.format, ((), ()))
        given = {role: choice for role, choice in choices.items() if choice is not None}
        found = {role: column_position(self, choice) for role, choice in given.items()}
        for role in (*needed, *optional):
            guess = getattr(self, role)
            found.setdefault(role, None if guess in found.values() else guess)
        for role in needed:
            if found[role] is None:
                free = [i for i in range(self.n_fields) if i not in found.values()]
                found[role] = free[0] if free else None
        used = [position for position in found.values() if position is not None]
        if len(set(used)) < len(used) or any(found[role] is None for role in needed):
            what = ", ".join(role.removesuffix("_column") for role in (*needed, *optional))
            raise DataError(
                f"{what} need a column each",
                source=self.filename,
                remedy=f"Choose different columns among {column_list(self)}.",
            )
        return replace(self, **found)  # type: ignore[arg-type]


Records = Sequence[Sequence[str]]

_TEXT_NAMES = (
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
_WORD_NAMES = ("word", "words", "term", "terms", "token", "wordid", "word_id", "stem", "lemma", "feature")
_TEXT_LIKE = 20  # mean characters of a column that is taken for text without being called so
_SHORT = 40  # characters of a label or a name at most, on average

_LDAC_LINE = re.compile(r"\s*\d+(\s+\d+:\d+)*\s*")


def is_docword(lines: Sequence[str]) -> bool:
    """Whether the first lines are three sizes and then a triple of whole numbers."""
    head = [line.split() for line in lines[:4]]
    whole = all(field.isascii() and field.isdigit() for fields in head for field in fields)
    return whole and [len(fields) for fields in head] == [1, 1, 1, 3]


def is_ldac(lines: Sequence[str]) -> bool:
    """Whether most of the first lines are a number each and then term:count."""
    head = [line for line in lines[:20] if line.strip()]
    alike = [line for line in head if _LDAC_LINE.fullmatch(line)]
    return any(":" in line for line in alike) and 2 * len(alike) >= len(head)


def is_counts(records: Records) -> bool:
    """Whether a table holds one (document, word) pair a line rather than texts."""
    names = _lowered(records[0])
    texts = any(name in _TEXT_NAMES for name in names)
    if len(names) > 1 and any(name in _WORD_NAMES for name in names) and not (texts and len(names) > 3):
        return True
    if texts or not 2 <= len(names) <= 3:
        return False
    body = records[1:] or records
    if len(names) == 3 and not all(_is_number(record[2]) for record in body):
        return False
    if any(" " in record[1].strip() for record in body):
        return False
    documents = [record[0] for record in records]
    return len(set(documents)) < len(documents) or guess_text_column([""] * len(names), body) is None


def is_table(records: Records, delimiter: str, share: float, filename: str) -> bool:
    """Whether lines cut at a delimiter are a table, and not prose that holds the delimiter.

    Parameters
    ----------
    share : float
        Share of the records that have as many fields as the first.
    """
    if has_text_header(records):
        return True
    if len(records[0]) < 2:
        return False
    if any(name in _WORD_NAMES for name in _lowered(records[0])):
        return True
    if filename.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        return True
    # In prose a comma is followed by a blank.
    cells = [field for record in records for field in record[1:] if field]
    spaced = sum(field.startswith(" ") for field in cells)
    return len(records) > 1 and share > 0.9 and (delimiter != "," or 2 * spaced < len(cells))


def may_be_heading(only: Sequence[str]) -> bool:
    """Whether the only line of a file could name columns as well as be a text: several fields of one word each."""
    return len(only) > 1 and all(len(field.split()) == 1 and not _is_number(field) for field in only)


def has_text_header(records: Records) -> bool:
    """Whether the first record names its columns in the usual words.

    A text under no known name still has a header when the first record is far shorter than the texts below.
    """
    names = _lowered(records[0])
    known = sum(name in (*_TEXT_NAMES, *_LABEL_NAMES, *_NAME_NAMES) for name in names)
    if any(name in _TEXT_NAMES for name in names) or known >= 2:
        return True
    body = records[1:]
    if len(names) < 2 or not body or not all(names) or len(set(names)) < len(names):
        return False
    longest = max(_mean_length(body, column) for column in range(len(names)))
    return longest > 5 * max(len(name) for name in names) and not any(map(_is_number, names))


def guess_text_column(names: Sequence[str], body: Records) -> int | None:
    """Return the column that holds the texts, None when none looks like it."""
    lowered = _lowered(names)
    for name in _TEXT_NAMES:
        if name in lowered:
            return lowered.index(name)
    lengths = [_mean_length(body, column) for column in range(len(names))]
    if not lengths:
        return None
    column = lengths.index(max(lengths))
    lettered = any(c.isalpha() for record in body for c in record[column])
    return column if lettered and (len(names) == 1 or lengths[column] >= _TEXT_LIKE) else None


def guess_name_column(names: Sequence[str], body: Records, taken: set[int | None]) -> int | None:
    """Return the column that names the documents: called so, or the first, short and never twice the same."""
    lowered = _lowered(names)
    for name in _NAME_NAMES:
        if name in lowered and lowered.index(name) not in taken:
            return lowered.index(name)
    first = [record[0] for record in body]
    unique = len(first) > 1 and len(set(first)) == len(first) and all(first)
    return 0 if 0 not in taken and unique and _mean_length(body, 0) <= _SHORT else None


def guess_label_column(names: Sequence[str], body: Records, taken: set[int | None]) -> int | None:
    """Return the column that groups the documents: called so, or short with values that come again."""
    lowered = _lowered(names)
    for name in _LABEL_NAMES:
        if name in lowered and lowered.index(name) not in taken:
            return lowered.index(name)
    for column in range(len(names)):
        values = [record[column] for record in body]
        if column not in taken and len(values) >= 10 and _mean_length(body, column) <= _SHORT:
            distinct = len(set(values))
            if 2 <= distinct <= len(values) / 2 and not all(map(_is_number, values)):
                return column
    return None


def _lowered(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def _is_number(field: str) -> bool:
    number = read_value(field).number
    return number == number


def _mean_length(body: Records, column: int) -> float:
    return sum(len(record[column]) for record in body) / max(len(body), 1)
