"""Guess header, format and column roles from the first records of a delimited file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from acvb_core.data.relations.headings import heading
from acvb_core.data.sources.values import ILLEGAL, MISSING, read_value, value_kind

Records = Sequence[Sequence[str]]

# Texts have so many words and letters on average, and are of so many kinds; titles of films are shorter.
_TEXT_WORDS, _TEXT_LETTERS, _TEXT_DIFFERENT = 6, 40, 0.8

_ROW_NAMES = {
    "source",
    "src",
    "from",
    "fromnodeid",
    "row",
    "rows",
    "row_label",
    "person",
    "user",
    "userid",
    "user_id",
    "member",
    "sender",
    "head",
    "subject",
    "document",
    "doc",
    "author",
    "package",
    "source_id",
    "node1",
    "follower",
    "customer",
    "object",
    "protein1",
}
_COLUMN_NAMES = {
    "target",
    "dst",
    "to",
    "tonodeid",
    "dest",
    "destination",
    "col",
    "column",
    "columns",
    "cols",
    "column_label",
    "event",
    "item",
    "itemid",
    "item_id",
    "receiver",
    "recipient",
    "tail",
    "tag",
    "word",
    "term",
    "artist",
    "movie",
    "paper",
    "feature",
    "attribute",
    "vote",
    "question",
    "group",
    "target_id",
    "node2",
    "followee",
    "product",
    "disease",
    "gene",
    "protein2",
}
_VALUE_NAMES = {
    "value",
    "values",
    "weight",
    "count",
    "counts",
    "freq",
    "frequency",
    "rating",
    "score",
    "link",
    "linked",
    "number",
    "amount",
    "strength",
    "entry",
}
_OTHER_NAMES = {"time", "timestamp", "date", "year", "id", "name", "label", "node", "key", "type", "comment"}
_KNOWN = _ROW_NAMES | _COLUMN_NAMES | _VALUE_NAMES | _OTHER_NAMES
# What heads a list of objects.
_LIST_NAMES = {
    "node",
    "nodes",
    "label",
    "labels",
    "name",
    "names",
    "object",
    "objects",
    "id",
    "row",
    "column",
}
#: What stands above the names of rows.
CORNER_NAMES = {"", "id", "name", "label", "row", "rows", "node", "object"}


def heads_node_list(name: str) -> bool:
    """Whether the first line of a node list is a heading."""
    return name.strip().lower() in _LIST_NAMES


def names_links(names: Sequence[str]) -> bool:
    """Whether a column is called as those of a list of links are."""
    return any(name.strip().lower() in _ROW_NAMES | _COLUMN_NAMES for name in names)


def is_matrix(records: Records) -> bool:
    """Whether the records look like a dense matrix rather than an edge list."""
    width = len(records[0])
    if width < 2 or len(records) < 2:
        return False
    body = records[1:]
    if any(not _is_value(field) for record in body for field in record[1:]):
        return False
    first = [field.strip().lower() for field in records[0]]
    if first[0] == "" and all(first[1:]):
        return True  # the empty corner above row labels and before column labels
    if width < 4:
        return False
    if set(first) & _ROW_NAMES and set(first) & _COLUMN_NAMES:
        return False
    # Several columns of numbers can also be an edge list with weights and times: those are not all 0 / 1.
    return width > 6 or value_kind(field for record in body for field in record[1:]) in ("0/1", "yes/no")


def edge_header(records: Records) -> bool:
    """Whether the first record of an edge list holds column names.

    It does when two of its fields are usual column names, or named as the two columns of a network are (member_1,
    member_2) and not as the objects below, or when a column of numbers (or of 0 / 1 values) starts with something
    else. Otherwise the first line is data: a wrong guess then adds an object that can be
    seen, where the other wrong guess would lose a link.
    """
    first, body = records[0], records[1:]
    if sum(field.strip().lower() in _KNOWN for field in first) >= min(2, len(first)):
        return True
    if not body or any(not field.strip() for field in first):
        return False
    if _heads_network(first, body):
        return True
    for column, field in enumerate(first):
        below = [record[column] for record in body if column < len(record)]
        if below and not _has_digit(field) and all(_has_digit(other) for other in below):
            return True
        if column >= 2 and not _is_value(field) and below and all(_is_value(other) for other in below):
            return True
    return False


def _heads_network(names: Sequence[str], body: Records) -> bool:
    """Whether two columns in a row are named as those of a network, and not as the objects below them."""
    at = _network_columns(names)
    if at is None:
        return False
    first, second = names[at].strip(), names[at + 1].strip()
    below = [field.strip() for record in body if at + 1 < len(record) for field in record[at : at + 2]]
    stem = first[:-1]  # of node1, which may as well be an object's name
    if not below or first in below or second in below:
        return False
    if first[-1:].isdigit():
        if any(field.startswith(stem) and field[len(stem) : len(stem) + 1].isdigit() for field in below):
            return False
        # A letter or two and a number can name any object; but no object if all others are named in one other way.
        return min(len(first), len(second)) > 3 or _named_in_one_way(below)
    return min(len(first), len(second)) > 3 and not any(field.startswith(stem) for field in below)


def _network_columns(names: Sequence[str]) -> int | None:
    """Return the position of the first of two neighbouring columns that are named as those of a network."""
    pairs = zip(names, names[1:], strict=False)
    return next((i for i, pair in enumerate(pairs) if heading(*pair).network), None)


def _named_in_one_way(labels: Sequence[str]) -> bool:
    """Whether each label is the same letters, or none, and a number; or none has a digit at its end."""
    stems = {re.sub(r"\d+$", "", label) for label in labels}
    return len(stems) == 1 or not any(label[-1:].isdigit() for label in labels)


def may_be_heading(only: Sequence[str]) -> bool:
    """Whether the only record of a file could name columns as well as hold data: different words."""
    return not edge_header([only]) and all(map(_is_word, only)) and len(set(only)) == len(only)


def edge_columns(names: Sequence[str], body: Records) -> tuple[int, int, int | None]:
    """Return the positions of row label, column label and value (None: no value column)."""
    lowered = [name.strip().lower() for name in names]
    row = next((i for i, name in enumerate(lowered) if name in _ROW_NAMES), None)
    column = next((i for i, name in enumerate(lowered) if name in _COLUMN_NAMES and i != row), None)
    value = next(
        (i for i, name in enumerate(lowered) if name in _VALUE_NAMES and i not in (row, column)), None
    )
    pair = _network_columns(names)
    if row is None and column is None and pair is not None and value not in (pair, pair + 1):
        row, column = pair, pair + 1
    free = [i for i in range(len(lowered)) if i not in (row, column, value)]
    if row is None and free:
        row = free.pop(0)
    if column is None and free:
        column = free.pop(0)
    if row is None or column is None:  # names such as "n" took a column that a label needs
        row, column, value = 0, 1, None
        free = list(range(2, len(lowered)))
    if value is None:
        value = next(
            (
                i
                for i in free
                if lowered[i] not in _OTHER_NAMES and _has_values([record[i] for record in body])
            ),
            None,
        )
    return row, column, value


def holds_texts(values: Sequence[str]) -> bool:
    """Whether a column holds long texts: several words each, hardly one of them twice, as names of objects would be."""
    given = [value for value in values if value.strip()]
    if not given or 2 * len(given) < len(values):
        return False
    words = sum(len(value.split()) for value in given) / len(given)
    letters = sum(map(len, given)) / len(given)
    return (
        words >= _TEXT_WORDS and letters >= _TEXT_LETTERS and len(set(given)) > _TEXT_DIFFERENT * len(given)
    )


def matrix_labels(records: Records) -> tuple[bool, bool]:
    """Return whether a matrix has column labels (first line) and row labels (first column)."""
    first, body = records[0], records[1:]
    corner = first[0].strip().lower()
    named_columns = any(not _is_value(field) for field in first[1:]) or (
        corner == "" and all(f.strip() for f in first)
    )
    if corner == "" and all(field.strip() for field in first[1:]):
        return True, True
    below = [record[0] for record in body] or [first[0]]
    named_rows = any(not _is_value(field) for field in below) or (named_columns and corner in CORNER_NAMES)
    if not named_rows and named_columns and len(set(below)) == len(below) > 2:
        named_rows = True  # three or more rows whose first cells are numbers that never repeat: ids
    return named_columns, named_rows


def _is_value(field: str) -> bool:
    return read_value(field).verdict != ILLEGAL


def _is_word(field: str) -> bool:
    return bool(field.strip()) and math.isnan(read_value(field).number)


def _has_values(fields: Sequence[str]) -> bool:
    verdicts = [read_value(field).verdict for field in fields]
    return ILLEGAL not in verdicts and any(verdict != MISSING for verdict in verdicts)


def _has_digit(field: str) -> bool:
    return re.search(r"\d", field) is not None
