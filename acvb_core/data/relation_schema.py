"""How a relation is read: what the user asks for, what the source looks like, which column means what."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.schema import ROLES, ColumnChoice, Schema, lower_names
from acvb_core.data.sources.arrays import MAX_SIDE
from acvb_core.data.sources.formats import formats_of, resolve_format, wanted_format
from acvb_core.data.sources.frames import Frame, FrameChoices, FrameSource, column_types, is_text_type
from acvb_core.data.sources.parse import BLOCK_BYTES, GUESS_RECORDS, one_line_fault, read_head
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import (
    ILLEGAL,
    PLAIN,
    NumberStyle,
    check_decimal,
    find_style,
    read_value,
    value_kind,
)

#: A number, or a quantile of the positive values ("90%").
Threshold = float | str | None
Domains = Literal["auto", "one", "two"]
DOMAINS: tuple[Domains, ...] = ("auto", "one", "two")
#: The roles that a user chooses columns for.
COLUMNS = ("row_column", "column_column", "value_column")
#: The remedy if nothing says whether links have a direction.
ASK_DIRECTION = "Say that links have a direction (directed=True) or that they have none (directed=False)."
#: Formats of columns of any origin; the others are formats of their own files.
COLUMN_FORMATS = tuple(row.name for row in formats_of("relation", "text"))
#: Formats of graphs: nodes, and edges between them. A graph of networkx is taken for node-link data.
GRAPH_FORMATS = tuple(row.name for row in formats_of("relation", "graph"))
# Texts have so many words and letters on average, and are of so many kinds; titles of films are shorter.
_TEXT_WORDS, _TEXT_LETTERS, _TEXT_DIFFERENT = 6, 40, 0.8


@dataclass(frozen=True)
class ReadOptions:
    """Choices of the user: arguments of `load_relation`, checked; `row_nodes` and `column_nodes` as lists."""

    name: str = ""
    format: str = "auto"
    row_column: ColumnChoice = None
    column_column: ColumnChoice = None
    value_column: ColumnChoice = None
    source: ColumnChoice = None
    target: ColumnChoice = None
    value: ColumnChoice = None
    threshold: Threshold = None
    shape: tuple[int, int] | None = None
    row_nodes: list[str] | None = None
    column_nodes: list[str] | None = None
    same_nodes: bool = False
    unlisted: Literal["zero", "missing"] = "zero"
    domains: Domains = "auto"
    directed: bool | None = None
    self_links: bool | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: Literal["auto"] | bool | None = None
    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        check_decimal(self.decimal)
        if isinstance(self.threshold, str) and not re.fullmatch(r"\d{1,2}(\.\d+)? ?%", self.threshold):
            told = f"not {self.threshold!r}"
            raise ParameterError(f"threshold is a number, or a quantile from '0%' to below '100%', {told}.")
        if self.unlisted not in ("zero", "missing"):
            raise ParameterError(f"unlisted is 'zero' or 'missing', not {self.unlisted!r}.")
        for name, other in (("source", "row_column"), ("target", "column_column"), ("value", "value_column")):
            if getattr(self, name) is not None and getattr(self, other) is not None:
                raise ParameterError(f"{name} and {other} are two names of one choice: give one of them.")
        if self.domains not in DOMAINS:
            raise ParameterError(f"domains is one of {', '.join(DOMAINS)}, not {self.domains!r}.")
        if self.domains == "two" and not (self.directed is None and self.self_links is None):
            what = "directed and self_links are for networks: leave them out, or give domains='one'."
            raise ParameterError(what)
        sizes = (1, 1) if self.shape is None else self.shape
        if len(sizes) != 2 or not all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in sizes):
            what = f"The shape must be two whole numbers from 1 to {MAX_SIDE:,}, not {self.shape!r}."
            raise ParameterError(what)

    @property
    def columns(self) -> tuple[ColumnChoice, ColumnChoice, ColumnChoice]:
        """Columns chosen as source, target and value, by either name."""
        row = self.row_column if self.source is None else self.source
        column = self.column_column if self.target is None else self.target
        return row, column, self.value_column if self.value is None else self.value

    @property
    def weight(self) -> str | Literal[False] | None:
        """Value of a graph's edge that is its weight, False if none is (None: guessed)."""
        value = self.columns[2]
        if isinstance(value, int) and value is not False:
            raise ParameterError("Values of edges have names and no positions: give value_column as a name.")
        return value

    @property
    def part(self) -> FrameChoices:
        """Part of a file with several that is read."""
        return FrameChoices(self.sheet, self.table, self.query)

    @property
    def wants_network(self) -> bool:
        """Return whether both sides are to be the same objects, whatever the source looks like."""
        asked = self.same_nodes or self.directed is not None or self.self_links is not None
        return self.domains == "one" or (self.domains == "auto" and asked)


def holds_texts(values: Sequence[str]) -> bool:
    """Return whether a column holds long texts: several words each, hardly one twice, unlike names of objects."""
    given = [value for value in values if value.strip()]
    if not given or 2 * len(given) < len(values):
        return False
    words = sum(len(value.split()) for value in given) / len(given)
    letters = sum(map(len, given)) / len(given)
    different = len(set(given)) / len(given)
    return words >= _TEXT_WORDS and letters >= _TEXT_LETTERS and different > _TEXT_DIFFERENT


def refuse_texts(schema: Schema) -> None:
    """Raise DataError if a column holds long texts, which may as well be documents, and nobody chose the columns."""
    columns = zip(*schema.rows, strict=True) if schema.format == "edges" else ()
    at = next((at for at, values in enumerate(columns) if holds_texts(values)), None)
    if at is None:
        return
    # Without a line of names, columns are chosen by position.
    names = dict(enumerate(schema.column_names)) if schema.header else {}
    row, column, text = (names.get(i or 0, i) for i in (schema.row_column, schema.column_column, at))
    called = repr(text) if schema.header else f"at position {at} (counted from 0)"
    what = f"the column {called} holds long texts, so this may be documents or links"
    remedy = (
        f"To read documents, use load_corpus (text_column={text!r}). To read links, choose their columns: "
        f"(row_column={row!r}) (column_column={column!r})."
    )
    raise DataError(what, source=schema.filename, value=schema.rows[0][at], remedy=remedy)


def with_choices(schema: Schema, options: ReadOptions) -> Schema:
    """Return the schema with the user's columns; a threshold without a column of values is a ParameterError."""
    if schema.format not in ROLES:
        return schema
    schema = schema.with_columns(dict(zip(COLUMNS, options.columns, strict=True)))
    if schema.format == "edges" and options.threshold is not None and schema.value_column is None:
        raise ParameterError("A threshold needs a column of values; choose one with value_column.")
    return schema


def no_data_fault(name: str) -> DataError:
    """Return the error for a file with no lines but that of names."""
    what = "the file holds column names and no data"
    remedy = "Load a file with data in it, or say that its first line is data."
    return DataError(what, source=name, line=1, remedy=remedy)


Records = Sequence[Sequence[str]]
#: A network whose links have a direction, one whose columns are the ends of links ("from", "to"), or any network.
Heading = Literal["directed", "ends", "network"] | None
# Usual names of the columns of an edge list.
_ROW_NAMES = {"source", "src", "from", "fromnodeid", "row", "rows", "row_label", "person", "user", "userid"}
_ROW_NAMES |= {"user_id", "member", "sender", "head", "subject", "document", "doc", "author", "package"}
_ROW_NAMES |= {"source_id", "node1", "follower", "customer", "object", "protein1"}
_COLUMN_NAMES = {"target", "dst", "to", "tonodeid", "dest", "destination", "col", "column", "columns", "cols"}
_COLUMN_NAMES |= {"column_label", "event", "item", "itemid", "item_id", "receiver", "recipient", "tail"}
_COLUMN_NAMES |= {"tag", "word", "term", "artist", "movie", "paper", "feature", "attribute", "vote"}
_COLUMN_NAMES |= {"question", "group", "target_id", "node2", "followee", "product", "disease", "gene"}
_COLUMN_NAMES |= {"protein2"}
_VALUE_NAMES = {"value", "values", "weight", "count", "counts", "freq", "frequency", "rating", "score"}
_VALUE_NAMES |= {"link", "linked", "number", "quantity", "qty", "amount", "strength", "entry"}
_OTHER_NAMES = {"time", "timestamp", "date", "year", "id", "name", "label", "node", "key", "type", "comment"}
_KNOWN = _ROW_NAMES | _COLUMN_NAMES | _VALUE_NAMES | _OTHER_NAMES
# Columns of a list of links that may lie between its ends, and them.
_MOST_COLUMNS = 20
# Lines that must repeat what a column says of an object before it is taken to belong to the object.
_REPEATED = 3
#: Usual headings of a list of objects.
LIST_NAMES = {"node", "nodes", "label", "labels", "name", "names", "object", "objects", "id", "row"}
LIST_NAMES |= {"column"}
#: Usual headings above the names of rows.
CORNER_NAMES = {"", "id", "name", "label", "row", "rows", "node", "object"}
# Names of a column that says whether links have a direction, and its words.
_DIRECTION_NAMES = {"type", "edge_type", "edge type", "direction", "directed", "is_directed", "undirected"}
_DIRECTION_WORDS = {"directed": True, "undirected": False, "mutual": False}
_TRUTH_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
# Names of the two columns of a network, without "id" and marks between words: links with a direction, and others.
_DIRECTED_PAIRS = {("src", "dest"), ("source", "destination"), ("source", "sink"), ("origin", "destination")}
_DIRECTED_PAIRS |= {("sender", "receiver"), ("sender", "recipient"), ("follower", "followee")}
_DIRECTED_PAIRS |= {("follower", "followed"), ("citing", "cited"), ("caller", "callee"), ("tail", "head")}
_DIRECTED_PAIRS |= {("head", "tail"), ("truster", "trustee"), ("trustor", "trustee"), ("giver", "receiver")}
_DIRECTED_PAIRS |= {("parent", "child")}
_DIRECTED_STARTS = (("from", "to"), ("source", "target"), ("src", "dst"))
_UNDIRECTED_PAIRS = {("i", "j"), ("u", "v"), ("ego", "alter")}
_NUMBERED_ENDS = {("1", "2"), ("0", "1"), ("a", "b"), ("i", "j"), ("x", "y")}


def inspect(source: ByteSource | FrameSource, options: ReadOptions) -> Schema:
    """Look at the head of `source`; what the options say of it is not guessed.

    DataError if the head is not a table, or a table of one column, or of a format for texts (JSON, HTML, …).
    """
    format = wanted_format(options.format, "relation")
    header = None if options.header == "auto" else options.header
    bits, indexed, skip = False, False, 0
    if isinstance(source, FrameSource):
        frame, head = source.frame, source.read_head(GUESS_RECORDS)
        records = head.records
        # Ids of rows that a matrix has, but no list of links: frames without some of their rows have such an index.
        whole = all(row[0].lstrip("-").isdigit() for row in records[1:])
        indexed, skip = frame.has_index, int(frame.has_index and not frame.names[0] and whole)
        _check_frame(source, format, records, skip)
        bits, header = _holds_bits(frame, records), True if frame.named else header
        schema = Schema("relation", "edges", source.name, container=frame.container)
    else:
        known = resolve_format(source, "relation", format)
        if known is not None:
            return Schema("relation", known.name, source.name, source.gzipped)
        head = read_head(source, options.encoding, options.delimiter)
        records = head.records
        schema = Schema("relation", "edges", source.name, source.gzipped, head.encoding, head.delimiter)
        schema = replace(schema, title_lines=head.title_lines)
        alone = len(records) == 1 and head.share == 1.0
        if format != "matrix" and header is None and alone and _may_be_heading(records[0]):
            raise one_line_fault(records[0], source.name)
    if format == "matrix" or (format is None and (bits or _is_matrix([record[skip:] for record in records]))):
        named_columns, named_rows = _matrix_labels(records, bool(header), indexed)
        header = named_columns if header is None else header
        schema = replace(schema, format="matrix", row_column=0 if named_rows else None)
    else:
        header = _has_edge_header(records) if header is None else header
        names = records[0] if header else [""] * len(records[0])
        schema = replace(schema, **_guess_edge_roles(names, records[header:], skip))
    schema = schema.with_records(records, head.lines, header=header)
    chosen = options.columns[2]
    value = schema.value_column if chosen is None else schema.position(chosen)
    values: Collection[int] = () if value is None else (value,)
    if schema.format == "matrix":
        values = range(schema.row_column is not None, schema.n_fields)
    style = find_source_style(source, records[header:], values, options.decimal)
    return replace(schema, decimal=style.decimal, thousands=style.thousands)


def find_source_style(
    source: ByteSource | FrameSource, body: Records, columns: Collection[int], decimal: str | None
) -> NumberStyle:
    """Return how numbers are written in some columns; plainly if a frame holds them as numbers."""
    if isinstance(source, FrameSource):
        types = column_types(source)
        if not all(is_text_type(types[i]) for i in columns if types):  # none without rows
            return PLAIN
    return find_style(([record[i] for record in body] for i in columns), decimal)


def _check_frame(source: FrameSource, format: str | None, records: Records, skip: int) -> None:
    """Refuse columns that are to be read as a format of files, and a single column."""
    frame = source.frame
    check_frame_format(source, format, COLUMN_FORMATS)
    if len(frame.names) - skip < 2:
        what, only = f"{frame.what} has one column only", next(iter(frame.names[skip:]), None)
        remedy = "To read links, give two columns of labels."
        if holds_texts([row[-1] for row in records[frame.named :] if row]):
            column = only if frame.named else 0
            remedy += f" To read documents, use load_corpus (text_column={column!r})."
        raise DataError(what, source=source.name, value=only, remedy=remedy)


def check_frame_format(source: FrameSource, format: str | None, known: Sequence[str]) -> None:
    """Refuse columns that are to be read as a format of files."""
    if format not in (None, *known):
        what = f"this is {source.frame.what}, but it was to be read as {format}"
        remedy = f"Let the format be recognised, or choose {', '.join(known[:-1])} or {known[-1]}."
        raise DataError(what, source=source.name, remedy=remedy)


def _holds_bits(frame: Frame, records: Records) -> bool:
    """Return whether named columns, perhaps behind an index, hold 0 and 1 and have no names of links: a matrix."""
    called = not (_ROW_NAMES | _COLUMN_NAMES).isdisjoint(lower_names(frame.names[frame.has_index :]))
    cells = (cell for row in records[1:] for cell in row[frame.has_index :])
    return frame.named and not called and value_kind(cells) == "0/1"


def names_links(names: Sequence[str]) -> bool:
    """Return whether the names of columns are such as the two ends of links have."""
    lowered = set(lower_names(names))
    return _network_columns(names) is not None or bool(lowered & _ROW_NAMES and lowered & _COLUMN_NAMES)


def numbers_lines(values: Sequence[str]) -> bool:
    """Return whether the values of a column number its lines: whole numbers, each greater than the one before."""
    numbers = [int(value) for value in values if re.fullmatch(r"\s*\d{1,18}\s*", value)]
    return len(numbers) == len(values) > 2 and all(a < b for a, b in zip(numbers, numbers[1:], strict=False))


def read_direction(heading: str, field: str) -> bool | None:
    """Return whether a field says that a link has a direction; None if it says nothing of the kind.

    >>> read_direction("Type", "Undirected"), read_direction("directed", "1"), read_direction("Type", "1")
    (False, True, None)
    """
    name, word = lower_names((heading, field))
    if name.endswith("directed") and word in _TRUTH_WORDS:
        return _TRUTH_WORDS[word] is not name.endswith("undirected")
    return _DIRECTION_WORDS.get(word)


def _says_direction(heading: str, fields: Sequence[str]) -> bool:
    """Return whether a column, named in lower case, says of each link if it has a direction, as Gephi's Type does."""
    said = [read_direction(heading, field) for field in fields if field.strip()]
    return heading in _DIRECTION_NAMES and bool(said) and None not in said


def heading(row: str, column: str) -> Heading:
    """Return whether the names of two columns are such as those of a network have, and give its links a direction.

    >>> heading("Source", "Target"), heading("node_1", "node_2"), heading("userID", "friendID"), heading("user", "item")
    ('ends', 'network', 'network', None)
    """
    # In lower case, without marks and what only says that it is a name.
    plain = (re.sub(r"[\W_]+", "", name.lower()) for name in (row, column))
    first, second = (re.sub(r"(id|name|label)$", "", word) or word for word in plain)
    # One word after "from" and "to", or two words that belong together.
    if (first, second) in _DIRECTED_PAIRS:
        return "directed"
    if any(
        first.startswith(one) and second.startswith(other) and first[len(one) :] == second[len(other) :]
        for one, other in _DIRECTED_STARTS
    ):
        return "ends"
    # One word before two numbers or letters: node1 and node2.
    numbered = len(first) > 1 and first[:-1] == second[:-1] and (first[-1:], second[-1:]) in _NUMBERED_ENDS
    undirected = (first, second) in _UNDIRECTED_PAIRS or second.startswith("friend") or numbered
    return "network" if undirected else None


def read_heading(schema: Schema, head: bytes) -> Heading:
    """Return what the names of a list's two columns say; a comment in the head of a file may name them too."""
    if schema.row_column is None or schema.column_column is None:
        return None
    names = list(schema.column_names)
    if not schema.header:
        lines = head.decode("utf-8", errors="replace").splitlines()
        comments = [line.lstrip("#% \t").replace(",", " ").split() for line in lines if line[:1] in "#%"]
        names = next((words for words in reversed(comments) if len(words) == schema.n_fields), [])
    if max(schema.row_column, schema.column_column) >= len(names):
        return None
    return heading(names[schema.row_column], names[schema.column_column])


def _is_matrix(records: Records) -> bool:
    """Return whether the records look like a dense matrix rather than an edge list."""
    width = len(records[0])
    if width < 2 or len(records) < 2:
        return False
    cells = [field for record in records[1:] for field in record[1:]]
    if not all(map(_is_value, cells)):
        return False
    first = lower_names(records[0])
    if first[0] == "" and all(first[1:]):
        return True  # the empty corner above row labels and before column labels
    if width < 4 or (set(first) & _ROW_NAMES and set(first) & _COLUMN_NAMES):
        return False
    # Several columns of numbers can also be an edge list with weights and times: those are not all 0 / 1.
    return width > 6 or value_kind(cells) in ("0/1", "yes/no")


def _has_edge_header(records: Records) -> bool:
    """Return whether the first record of an edge list holds column names.

    It does when two of its fields are usual column names, or named as the two columns of a network are (member_1,
    member_2) and not as the objects below, or when a column of numbers (or of 0 / 1 values) starts with something
    else. Otherwise the first line is data: a wrong guess then adds an object that can be seen, where the other wrong
    guess would lose a link.
    """
    first, body = records[0], records[1:]
    if sum(name in _KNOWN for name in lower_names(first)) >= min(2, len(first)):
        return True
    if not body or any(not field.strip() for field in first):
        return False
    if _heads_network(first, body):
        return True
    return any(
        (not _has_digit(field) and all(map(_has_digit, below)))
        or (at >= 2 and not _is_value(field) and all(map(_is_value, below)))
        for at, (field, *below) in enumerate(zip(*records, strict=True))
    )


def _heads_network(names: Sequence[str], body: Records) -> bool:
    """Return whether two columns are named as those of a network, and not as the objects below them."""
    ends = _network_columns(names)
    if ends is None:
        return False
    first, second = (names[at].strip() for at in ends)
    below = [record[at].strip() for record in body for at in ends]
    if first in below or second in below:
        return False
    stem = first[:-1]  # of node1, which may as well be an object's name
    alike = [field for field in below if field.startswith(stem)]
    long = min(len(first), len(second)) > 3
    if not first[-1:].isdigit():
        return long and not alike
    # A letter or two and a number can name any object; but no object if all others are named in one other way.
    return not any(field[len(stem) :][:1].isdigit() for field in alike) and (long or _named_in_one_way(below))


def _network_columns(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of two columns that are named as those of a network: two ids, two names, or neighbours.

    >>> _network_columns(["from_id", "from_name", "to_id", "to_name"])
    (0, 2)
    """
    lowered = lower_names(names)
    stems = [re.sub(r"[\W_]*\d+$", "", name) for name in lowered]
    pairs = list(itertools.pairwise(range(len(names))))
    for word in ("label", "name", "id"):
        ends = [at for at, name in enumerate(lowered[:_MOST_COLUMNS]) if name.endswith(word)]
        pairs = [*itertools.combinations(ends, 2), *pairs]
    for at, to in pairs:
        # More columns than two may be numbered alike: indicator 1, indicator 2, indicator 3.
        numbered = names[at].strip()[-1:].isdigit() and stems.count(stems[at]) > 2
        if not numbered and heading(names[at], names[to]):
            return at, to
    return None


def _named_in_one_way(labels: Sequence[str]) -> bool:
    """Return whether each label is the same letters, or none, and a number; or none has a digit at its end."""
    stems = {re.sub(r"\d+$", "", label) for label in labels}
    return len(stems) == 1 or not any(label[-1:].isdigit() for label in labels)


def _may_be_heading(only: Sequence[str]) -> bool:
    """Return whether the only record of a file could name columns as well as hold data: different words."""
    words = all(field.strip() and math.isnan(read_value(field).number) for field in only)
    return words and len(set(only)) == len(only) and not _has_edge_header([only])


def _guess_edge_roles(names: Sequence[str], body: Records, skip: int) -> dict[str, Any]:
    """Return the columns of links by their roles; the first `skip` columns have none."""
    lowered = lower_names(names)
    columns = list(zip(*body, strict=True)) or [()] * len(names)
    says = map(_says_direction, lowered, columns)
    direction = next((i for i, it_does in enumerate(says) if it_does), None)

    def find(words: set[str], *taken: int | None) -> int | None:
        return next((i for i, name in enumerate(lowered) if name in words and i not in taken), None)

    row = find(_ROW_NAMES)
    column = find(_COLUMN_NAMES, row)
    value = find(_VALUE_NAMES, row, column)
    pair = _network_columns(names)
    if row is None and column is None and pair is not None and value not in pair:
        row, column = pair
    free = [i for i in range(skip, len(lowered)) if i not in (row, column, value, direction)]
    sides = (row is None) + (column is None)
    if sides and free and numbers_lines(columns[free[0]]):
        others = [value_kind(columns[i]) for i in free[1:]]
        if others.count("text") >= sides:
            free.pop(0)
    if row is None and column is None and (two := _choose_ends(free, lowered, columns)):
        row, column = two
        free = [i for i in free if i not in two]
    if row is None and free:
        row = free.pop(0)
    if column is None and free:
        column = free.pop(0)
    if row is None or column is None:  # names such as "n" took a column that a label needs
        row, column, value, free = skip, skip + 1, None, list(range(skip + 2, len(lowered)))
    if value is None:
        values = (i for i in free if lowered[i] not in _OTHER_NAMES)
        value = next((i for i in values if value_kind(columns[i]) not in ("text", "missing")), None)
    ends = {"row_column": row, "column_column": column}
    return {**ends, "value_column": value, "direction_column": direction}


def _choose_ends(
    free: Sequence[int], lowered: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[int, int] | None:
    """Return the first two columns of names that do not belong to the objects of another; None if there are no two.

    Of customer_id, segment and product_id, the segment is the customer's: it is no end of links.
    """
    names = [
        i
        for i in free
        if lowered[i] not in _OTHER_NAMES
        and (value_kind(columns[i]) == "text" or lowered[i].endswith(("_id", " id")))
    ]
    ends: list[int] = []
    for i in names:
        owners = [j for j in names if j != i and _belongs(columns[j], columns[i])]
        # Of an id and a name of the same objects, the first is the end.
        if not any(j < i or not _belongs(columns[i], columns[j]) for j in owners):
            ends.append(i)
    return (ends[0], ends[1]) if len(ends) > 1 else None


def _belongs(objects: Sequence[str], said: Sequence[str]) -> bool:
    """Return whether each object that is repeated has the same said of it on each of its lines."""
    of: dict[str, str] = {}
    repeated = 0
    for one, text in zip(objects, said, strict=True):
        if of.setdefault(one, text) != text:
            return False
        repeated += 1
    return repeated - len(of) >= _REPEATED


def _matrix_labels(records: Records, named: bool, indexed: bool) -> tuple[bool, bool]:
    """Return whether a matrix has column labels (first line) and row labels (first column).

    `named`: the first line is known to hold names. `indexed`: the first column is the index of a data frame.
    """
    first, body = records[0], records[1:]
    corner = first[0].strip().lower()
    if indexed or (corner == "" and all(field.strip() for field in first[1:])):
        return True, True
    below = [record[0] for record in body] or [first[0]]
    # Text above ids: userId above 100, 101, … and the numbers of items to its right.
    heads_ids = bool(body) and not _is_value(first[0]) and all(map(_is_value, below))
    named_columns = named or heads_ids or not all(map(_is_value, first[1:]))
    named_rows = not all(map(_is_value, below)) or (named_columns and corner in CORNER_NAMES)
    # Three or more rows whose first cells are numbers that never repeat: ids.
    return named_columns, named_rows or (named_columns and len(set(below)) == len(below) > 2)


def _is_value(field: str) -> bool:
    return read_value(field).verdict != ILLEGAL


_has_digit = re.compile(r"\d").search
