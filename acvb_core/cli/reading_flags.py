"""The flags that say how FILE is read: those of every file, of a relation, of a corpus, of its texts and of a table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

from acvb_core.cli.reading import FLAGS, READINGS, TOKENISER, Reading
from acvb_core.cli.settings import Add, add_setting, group_adder, setting_help
from acvb_core.cli.typed import parse_column, parse_columns, parse_number, parse_shape, parse_words
from acvb_core.data.corpora.tokenise import STOP_WORD_LANGUAGES, TOKENISER_PARAMETERS, Tokeniser
from acvb_core.data.relation_schema import DOMAINS
from acvb_core.data.sources.formats import files_of
from acvb_core.data.table_columns import CategoryPolicy, ConstantPolicy

_DELIMITERS = {"tab": "\t", r"\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_WHERE = "by name or by position from 0"
_SHARED = "how to read FILE (guessed where not given)"
_CORPUS = "how to read FILE as a corpus"
_CUTTING = "how to cut the texts of a corpus into words"


def add_reading(to: argparse.ArgumentParser) -> None:
    """Add FILE and every flag that says how to read it."""
    models = {reading.kind: reading.model for reading in READINGS}
    to.add_argument(
        "file",
        metavar="FILE",
        help=f"a relation or a network ({files_of('relation')}); with --model {models['corpus']}, a corpus "
        f"({files_of('corpus')}); with --model {models['table']}, a table of numbers ({files_of('table')}); gzipped "
        "or not; - for the standard input; or a folder that `acvb read` wrote; or sample:NAME",
    )
    _add_shared(group_adder(to, _SHARED), READINGS)
    _add_relation(group_adder(to, "how to read FILE as a relation"))
    _add_domains(to)
    add = group_adder(to, f"{_CORPUS} (--model {models['corpus']})")
    _add_corpus(add)
    add(
        "--on-disk",
        "methods that stream: read FILE to this folder and keep it there; used again as long as FILE is the same "
        "(default: a folder that is removed at the end, where FILE is large)",
        metavar="FOLDER",
    )
    _add_broken(add)
    _add_tokeniser(group_adder(to, _CUTTING))
    _add_table(group_adder(to, f"how to read FILE as a table (--model {models['table']})"))


def add_texts(to: argparse.ArgumentParser) -> None:
    """Add FILE, which is a corpus to be read to disk, and the flags that say how to read it."""
    add = _add_documents(to, "", "it may be larger than the memory")
    _add_broken(add)
    _add_tokeniser(group_adder(to, _CUTTING))


def add_documents(to: argparse.ArgumentParser) -> None:
    """Add FILE, which is a corpus, and the flags that say how to read it; its texts are not to be cut at will."""
    _add_documents(to, "documents: ", "or sample:NAME")


def _add_documents(to: argparse.ArgumentParser, before: str, after: str) -> Add:
    text = f"{before}{files_of('corpus')}; gzipped or not; - for the standard input; {after}"
    to.add_argument("file", metavar="FILE", help=text)
    _add_shared(group_adder(to, _SHARED), [reading for reading in READINGS if reading.kind == "corpus"])
    add = group_adder(to, _CORPUS)
    _add_corpus(add)
    return add


def _add_shared(add: Add, readings: Sequence[Reading]) -> None:
    formats = [name for reading in readings for name in reading.formats]
    by_kind = "; ".join(f"{', '.join(one.formats)} for a {one.kind}" for one in readings if one.formats)
    add("--format", f"what kind of file it is: {by_kind}", choices=("auto", *formats), metavar="FORMAT")
    add("--delimiter", "one character, or tab, space, comma, semicolon", type=lambda t: _DELIMITERS.get(t, t))
    add("--encoding", "such as latin-1 (default: UTF-8)")
    add("--header", "whether the first line holds names", action=argparse.BooleanOptionalAction)
    add(
        "--sheet",
        "workbook: the sheet, by name or by position from 0 (default: the visible one with most rows)",
    )
    add("--table", "database: the table (default: the only one)")
    add("--query", "database: a SELECT to read in place of a table", metavar="SQL")
    add("--name", "what to call the data")


def _column_adder(add: Add) -> Callable[..., None]:
    """Return what adds a flag whose value is a column; `also` are other names of the flag."""
    return partial(add, type=parse_column, metavar="COLUMN")


def _add_relation(add: Add) -> None:
    add_column = _column_adder(add)
    add_column("--row-column", f"edge list: column of the row labels, {_WHERE}", also=["--source"])
    add_column("--column-column", f"edge list: column of the column labels, {_WHERE}", also=["--target"])
    text = "edge list: column of the values; `none` when every line is a link"
    add_column("--value-column", text, also=["--value"])
    add("--threshold", "a number above it is a link (default: 0)", type=parse_number)
    add("--shape", "size of the relation, as 1892x1892; labels are then indices from 0", type=parse_shape)
    add("--row-nodes", "file with all row objects, one a line", metavar="LIST")
    add("--column-nodes", "file with all column objects, one a line", metavar="LIST")
    text = "rows and columns are the same objects (a network)"
    add("--same-nodes", text, action="store_const", const=True)
    add("--unlisted", "edge list: what a pair is that is not listed", choices=("zero", "missing"))


def _add_domains(to: argparse.ArgumentParser) -> None:
    group = to.add_argument_group("whether the two sides of a relation are the same objects")
    group.add_argument(
        "--domains",
        choices=DOMAINS,
        help="one: the same objects on both sides, a network; two: two sets of objects; auto: guessed from the names "
        "(default)",
    )
    either = group.add_mutually_exclusive_group()
    for flag, value, text in (
        ("--directed", True, "network: A to B and B to A are different links"),
        ("--undirected", False, "network: links have no direction"),
    ):
        shown = f"{text} (default: guessed)"
        either.add_argument(flag, dest="directed", action="store_const", const=value, help=shown)
    group.add_argument(
        "--self-links",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="network: whether links of an object to itself count (default: if there are any)",
    )
    group.add_argument(
        "--labels",
        metavar="FILE",
        help="known labels of the objects (of the row objects, where there are two sets): names in the first column, "
        "labels in the others; the clusters are compared with them, and never see them",
    )


def _add_corpus(add: Add) -> None:
    add_column = _column_adder(add)
    text = "file with the words, one a line: what the numbers in word counts stand for"
    add(FLAGS["vocabulary"], text, dest="vocabulary", metavar="FILE")
    text = f"table, or field of JSON Lines: column of the texts, {_WHERE}"
    add_column("--text-column", text, also=["--text", "--field"])
    text = "table: column of the documents' names; `none` numbers them"
    add("--name-column", text, type=parse_column)
    text = "table, of texts or of numbers: column of the rows' known groups; `none` for none"
    add("--label-column", text, type=parse_column)
    add_column("--document-column", f"word counts: column of the documents, {_WHERE}", also=["--document"])
    add_column("--word-column", f"word counts: column of the words, {_WHERE}", also=["--word"])
    text = "word counts: column of the counts; `none` when each line is a word"
    add_column("--count-column", text, also=["--count"])


def _add_broken(add: Add) -> None:
    text = "what happens to a line that cannot be read: refused, or left out and counted (default: refuse)"
    add("--broken", text, choices=("refuse", "skip"))


def _add_tokeniser(add: Add) -> None:
    languages = ", ".join(STOP_WORD_LANGUAGES)
    for name, text in (
        ("stop_words", f"drop the stop words of these languages; none, or of {languages}"),
        ("extra_stop_words", "further words to drop"),
    ):
        shown = f"{text} (default: {', '.join(getattr(Tokeniser, name)) or 'none'})"
        flag = f"--{name.replace('_', '-')}"
        add(flag, shown, dest=TOKENISER + name, type=parse_words, metavar="A,B,…")
    text = f"regular expression of a word (default: {Tokeniser.token_pattern})"
    add("--token-pattern", text, dest=TOKENISER + "token_pattern", metavar="REGEX")
    for parameter in TOKENISER_PARAMETERS:
        add_setting(add, parameter, TOKENISER + parameter.name, setting_help(parameter))


def _add_table(add: Add) -> None:
    text = (
        f"column of the rows' names, {_WHERE}; `none` numbers them (default: the first, if its texts differ)"
    )
    _column_adder(add)("--row-labels", text)
    text = "further signs of a missing cell, such as -999; give it as --missing=-999 (blank, NA, NaN, ? … are known)"
    add("--missing", text, type=parse_words, metavar="A,B,…")
    text = "what becomes of columns of text: refused, each category a column of 0 and 1, or left out (default: refuse)"
    add("--categories", text, choices=get_args(CategoryPolicy))
    text = "columns whose numbers are categories too"
    add("--category-columns", text, type=parse_columns, metavar="A,B,…")
    add("--leave-out", "columns not to read", type=parse_columns, metavar="A,B,…")
    text = "what becomes of columns without two different values (default: refuse)"
    add("--constants", text, choices=get_args(ConstantPolicy))
    text = "whether methods work on columns of mean 0 and standard deviation 1 (default: they do)"
    add("--standardise", text, action=argparse.BooleanOptionalAction)
    text = "the columns are the pixels of pictures of this height and width, row by row, as 8x8"
    add("--image", text, metavar="HxW")
    add("--decimal", "decimal sign, a point or a comma", choices=(".", ","), metavar="SIGN")
