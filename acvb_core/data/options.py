"""The options of reading: one row for each, from which come flags, widgets, and their names in remedies."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.languages import STOP_WORD_LANGUAGES
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.schema import ROLES, Kind, Schema
from acvb_core.data.sources.formats import choices_of, formats_of

KINDS: tuple[Kind, ...] = ("relation", "corpus", "table")
_RELATION: tuple[Kind, ...] = ("relation",)
_CORPUS: tuple[Kind, ...] = ("corpus",)
_TABLE: tuple[Kind, ...] = ("table",)
_EDGES = ("edges",)
_GRAPHS = tuple(row.name for row in formats_of("relation", "graph"))
_COUNTS = ("counts", "matrix", "docword", "ldac")
_RECOGNISE = "recognise it"


@dataclass(frozen=True, eq=False)
class Option:
    """One option of the readers, and how people are asked for it."""

    name: str  #: argument of `load_relation`, `load_corpus`, `load_table` or `read_to_disk`
    kinds: tuple[Kind, ...]  #: data whose readers have it
    #: A column, or columns, of the file; one of some values; yes or no; a number or a text; texts with commas between;
    #: the content of a file.
    ask: Literal["column", "columns", "choice", "flag", "number", "text", "words", "file"]
    label: str = ""  #: on the page; "": it is not asked there, or in a way of its own
    help: str = ""  #: a sentence
    formats: tuple[str, ...] = ()  #: in which it makes sense; none: in all
    choices: Mapping[Any, str] = field(default_factory=dict)  #: values, in words; the page proposes the first
    none: str = ""  #: words for no column, if there need not be one
    auto: str = ""  #: words for leaving the choice to the reader, if the page proposes that
    flags: tuple[str, ...] = ()  #: other names on the command line; of yes or no, the one that says no
    hint: str = ""  #: shown in an empty field; after a flag
    advanced: bool = False  #: out of sight until asked for
    inspects: bool = False  #: the schema of the file depends on it
    beyond: bool = False  #: makes sense for data that were read, too

    @property
    def flag(self) -> str:
        """Name on the command line."""
        return "--" + self.name.replace("_", "-")

    def applies(self, schema: Schema) -> bool:
        """Return whether it makes sense for a file of such a schema."""
        if not schema.column_names and ("column" in self.ask or self.name == "categories"):
            return False
        fits = schema.kind == "table" or not self.formats or schema.format in self.formats
        return schema.kind in self.kinds and fits

    def words_of(self, value: Any) -> str:
        """Return a value as the page says it."""
        return self.choices.get(value, str(value))


# fmt: off
OPTIONS = (
    Option("format", ("relation", "corpus"), "choice", "Format", "Kind of file.", auto=_RECOGNISE, inspects=True),
    Option(
        "encoding", KINDS, "text", "Encoding",
        "How letters are stored (default: UTF-8). Spreadsheets on Windows often write cp1252.", auto=_RECOGNISE,
        choices={name: name for name in (
            "utf-8", "cp1252", "latin-1", "utf-16", "shift_jis", "euc_jp", "gb18030", "koi8-r",
        )}, inspects=True,
    ),
    Option(
        "delimiter", KINDS, "text", "Delimiter", "Character between the fields of a line, or its name.",
        choices={",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}, auto=_RECOGNISE, inspects=True,
    ),
    Option(
        "header", KINDS, "flag", "First line", "Whether the first line holds names.", auto=_RECOGNISE,
        choices={True: "holds names", False: "is data"}, inspects=True,
    ),
    Option(
        "decimal", KINDS, "choice", "Decimal sign", "Sign between whole number and fraction.", auto=_RECOGNISE,
        choices={".": "point", ",": "comma"}, inspects=True,
    ),
    Option(
        "sheet", KINDS, "text", "Sheet", "Workbook: sheet, by name or position from 0 (default: that with most rows).",
        inspects=True,
    ),
    Option("table", KINDS, "text", "Table", "Database: table (default: the only one).", inspects=True),
    Option(
        "query", KINDS, "text", "Query", "Database: a SELECT in the SQL of SQLite that is read in place of a table.",
        hint="SELECT person, item FROM orders", inspects=True,
    ),
    Option("name", KINDS, "text", help="Name of the data."),
    # Relations.
    Option(
        "row_column", _RELATION, "column", "Row objects", "Column of the names of the row objects.", _EDGES,
        flags=("--source",),
    ),
    Option(
        "row_column", _RELATION, "column", "Row labels", "Column of the names of the rows.", ("matrix",), none="none",
    ),
    Option(
        "column_column", _RELATION, "column", "Column objects", "Column of the names of the column objects.", _EDGES,
        flags=("--target",),
    ),
    Option(
        "value_column", _RELATION, "column", "Values", "Column of the values of the links.", _EDGES,
        none="none: every line is a link", flags=("--value",),
    ),
    Option(
        "value_column", _RELATION, "text", "Value of the links",
        "Name of the attribute of links that is compared with the threshold.", _GRAPHS,
        hint="weight or value, where there is one", advanced=True,
    ),
    Option(
        "threshold", _RELATION, "number", "Threshold",
        "A number above it is a link (default: 0). 90% makes links of the highest tenth of the numbers above 0.",
        hint="0 or 90%",
    ),
    Option(
        "unlisted", _RELATION, "choice", "Pairs not listed", "What a pair is that the file does not list.", _EDGES,
        choices={"zero": "are not linked", "missing": "are unknown"}, advanced=True,
    ),
    Option(
        "shape", _RELATION, "text", "Size, rows x columns",
        "Size of the relation. Names are then numbers from 0, so that objects without links count, too.", _EDGES,
        hint="1892x1892", advanced=True,
    ),
    *(
        Option(
            f"{side}_nodes", _RELATION, "file", f"List of all {side} objects",
            "A file with one name per line, so that objects without links are included.",
            ("edges", "matrix", "matrix-market", "npz"), hint="LIST", advanced=True,
        ) for side in ("row", "column")
    ),
    Option("same_nodes", _RELATION, "flag", help="Whether rows and columns are the same objects (a network)."),
    Option(
        "domains", _RELATION, "choice", help="Whether both sides are the same objects.",
        choices={"auto": _RECOGNISE, "one": "network", "two": "relation"}, beyond=True,
    ),
    Option(
        "directed", _RELATION, "flag", "Links are", "Network: whether A to B and B to A are different links.",
        choices={True: "directed", False: "undirected"}, auto=_RECOGNISE, flags=("--undirected",), beyond=True,
    ),
    Option(
        "self_links", _RELATION, "flag", "Self-links", "Network: whether links of an object to itself count.",
        choices={True: "count", False: "do not count"}, auto=_RECOGNISE, beyond=True,
    ),
    # Corpora.
    Option(
        "text_column", _CORPUS, "column", "Texts", "Column, or field, of the texts.", ("table",),
        flags=("--text", "--field"),
    ),
    Option(
        "name_column", _CORPUS, "column", "Names of the documents", "Column of the names of the documents.", ("table",),
        none="none: numbered",
    ),
    Option(
        "row_labels", _TABLE, "column", "Names of the rows", "Column of the names of the rows.", none="none: numbered",
        auto=_RECOGNISE,
    ),
    Option(
        "label_column", ("corpus", "table"), "column", "Known groups",
        "Column of the known groups of documents or rows, to compare with what is found. No run ever sees it.",
        ("table", "matrix"), none="none",
    ),
    Option(
        "column_kinds", _CORPUS, "words",
        help="Kind of a further column: date, group, number, text or none (left out). Others are recognised.",
        formats=("table", "counts"), hint="COLUMN=KIND",
    ),
    Option(
        "document_column", _CORPUS, "column", "Documents", "Column of the documents.", ("counts",),
        flags=("--document",),
    ),
    Option(
        "document_column", _CORPUS, "column", "Names of the documents", "Column of the names of the documents.",
        ("matrix",), none="none: numbered",
    ),
    Option("word_column", _CORPUS, "column", "Words", "Column of the words.", ("counts",), flags=("--word",)),
    Option(
        "count_column", _CORPUS, "column", "Counts", "Column of the counts.", ("counts",),
        none="none: each line is one token", flags=("--count",),
    ),
    Option(
        "vocabulary", _CORPUS, "file", "List of words (optional)",
        "A file with one word per line: what the numbers in word counts mean.", _COUNTS, flags=("--vocab",),
    ),
    Option(
        "broken", _CORPUS, "choice", help="What happens to a line that cannot be read.",
        choices={"refuse": "is refused", "skip": "is left out and counted"}, beyond=True,
    ),
    # Tables.
    Option(
        "categories", _TABLE, "choice", "Columns of text",
        "What happens to columns of text, such as names or colours. Coded, each category is a column “name=category” "
        "of 1 and 0. Columns of yes and no are numbers in any case.",
        choices={
            "leave-out": "leave them out", "one-hot": "code each category as 0 and 1", "refuse": "refuse the file",
        },
    ),
    Option(
        "constants", _TABLE, "choice", "Constant columns",
        "What happens to columns with one value only. Constant pixels of pictures become their background.",
        choices={"leave-out": "leave them out", "refuse": "refuse the file"},
    ),
    Option(
        "image", _TABLE, "text", "Pictures, height x width",
        "The columns are the pixels of pictures of this size, row by row.", hint="8x8",
    ),
    Option(
        "standardise", _TABLE, "flag", "Standardise the columns",
        "Methods work on columns of mean 0 and standard deviation 1 (default: yes), so that units do not matter. "
        "Results are in the columns' own units.", beyond=True,
    ),
    Option("leave_out", _TABLE, "columns", "Columns to leave out", "Columns not to read.", advanced=True),
    Option(
        "category_columns", _TABLE, "columns", "Columns whose numbers are categories",
        "Columns whose numbers are categories, too.", advanced=True,
    ),
    Option(
        "missing", _TABLE, "words", "More signs for a missing cell",
        "Such as -999: blank, NA, N/A, NaN, null, none, ?, - and a single dot are known.",
        hint="-999, unknown", inspects=True,
    ),
)
#: Settings of a tokeniser that are no numbers.
CUTTING = (
    Option(
        "stop_words", _CORPUS, "words", "Stop words of",
        "Languages whose words such as the and of are dropped, as they say nothing about a topic; none: of no "
        "language.", choices={name: name.capitalize() for name in STOP_WORD_LANGUAGES},
    ),
    Option("extra_stop_words", _CORPUS, "words", "More words to drop", "Words that are dropped, too.", advanced=True),
    Option(
        "phrases", _CORPUS, "words", "Phrases", "Words that are one word if they follow each other: new york.",
        advanced=True,
    ),
    Option(
        "same_words", _CORPUS, "words", "Words counted as others", "Each as colour=color: the first is counted as the "
        "second.", hint="colour=color", advanced=True,
    ),
    Option(
        "token_pattern", _CORPUS, "text", "Word pattern (regex)",
        f"A regular expression of a word (default: {Tokeniser.token_pattern}).", hint="REGEX", advanced=True,
    ),
)
# fmt: on


def options_of(kind: Kind) -> dict[str, Option]:
    """Return the options of the reader of one kind of data by name; of several rows of a name the first."""
    found: dict[str, Option] = {}
    for row in OPTIONS:
        if kind in row.kinds:
            found.setdefault(row.name, row)
    return found


def find_option(name: str) -> Option | None:
    """Return the first row of an option."""
    return next((row for row in OPTIONS if row.name == name), None)


def list_formats(kind: Kind, container: str = "text") -> dict[str, str]:
    """Return the formats that a file can be read as, with their titles; a file of typed columns has few."""
    known = choices_of(kind)
    return known if container == "text" else {name: known[name] for name in known if name in ROLES}


def parse_shape(text: str) -> tuple[int, int]:
    """Return the two sides of 1892x1892.

    Raises ParameterError: the text is not a size.
    """
    sides = re.fullmatch(r"(\d+)\s*[x×,]\s*(\d+)", text.strip().lower())
    if not sides:
        raise ParameterError(f"{text!r} is not a size; write it as 1892x1892.")
    return int(sides[1]), int(sides[2])


def parse_threshold(text: str) -> float | str:
    """Return the number, or the share such as "90%", that was typed.

    Raises ParameterError: it is neither.
    """
    if re.fullmatch(r"\d+(\.\d+)?\s*%", text.strip()):
        return text.replace(" ", "")
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{text!r} is not a number, nor a share such as 90%.") from None


#: An argument in a remedy: (leave_out) in brackets, categories='one-hot', sheet=... with a value that is to be chosen.
_ARGUMENT = re.compile(
    r"""\((?P<bare>\w+)\)|\b(?P<name>\w+)=(?P<value>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\.\.\.|\w+(?:\.\d+)?)"""
)


def rename_arguments(text: str, rename: Callable[[str, Any], str | None]) -> str:
    """Return a remedy with its arguments as a user knows them.

    `rename` takes a name and a value (None: there is none; ...: it is to be chosen), and returns None to keep both.
    """

    def replace(match: re.Match[str]) -> str:
        bare = match["bare"] is not None
        told = rename(match["bare"] or match["name"], None if bare else _value(match["value"]))
        return match[0] if told is None else f"({told})" if bare else told

    return _ARGUMENT.sub(replace, text)


def list_choices(remedy: str) -> Iterator[tuple[str, Any]]:
    """Yield each argument of a remedy that has a value, with the value."""
    for match in _ARGUMENT.finditer(remedy):
        if match["name"] is not None and match["value"] != "...":
            yield match["name"], _value(match["value"])


def _value(typed: str) -> Any:
    try:
        return ast.literal_eval(typed)
    except (ValueError, SyntaxError):
        return typed
