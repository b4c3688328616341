"""The flags that say how FILE is read: those of every file, of a relation, of a corpus, of its texts and of a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acvb_core.cli.reading_tables import add_table
from acvb_core.cli.settings import Add, add_setting, adder, setting_help, typed_value
from acvb_core.cli.typed import column, real, shape, words
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokeniser import STOP_WORD_LANGUAGES, TOKENISER_PARAMETERS, Tokeniser
from acvb_core.data.relations.layout import DOMAINS
from acvb_core.data.sources.formats import choices_of, files_of
from acvb_core.data.sources.frames import FrameChoices

#: In front of the names of a tokeniser's settings in the parsed arguments, to keep them apart from everything else.
_TOKENISER = "tokeniser:"

_DELIMITERS = {"tab": "\t", r"\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
#: Options that every kind of data has.
SHARED = ("name", "delimiter", "encoding", "header", *FrameChoices._fields)


@dataclass(frozen=True)
class Reading:
    """How one kind of data is asked for.

    Attributes
    ----------
    kind : str
        What the data are, in a word; that of the store, and of a model's `data_type`.
    model : str
        A model for such data, which a message can propose.
    formats : tuple of str
    options : tuple of str
        Names among the parsed arguments that not every kind has, those of a tokeniser left out.
    beyond : tuple of str
        … that only this kind has and that say how to take the data, of a sample too.
    shared : tuple of str
        … of those that every kind has, what the reader of this one is told.
    """

    kind: str
    model: str
    formats: tuple[str, ...]
    options: tuple[str, ...]
    beyond: tuple[str, ...] = ()
    shared: tuple[str, ...] = ("format", *SHARED)


_CUTTING = "how to cut the texts of a corpus into words"
_SHARED_TITLE = "how to read FILE (guessed where not given)"
READINGS = (
    Reading(
        "relation",
        "irm",
        tuple(choices_of("relation")),
        (
            "row_column", "column_column", "value_column", "threshold", "shape", "row_nodes", "column_nodes",
            "same_nodes", "unlisted",
        ),
        ("domains", "directed", "self_links", "labels", "links"),
    ),
    Reading(
        "corpus",
        "lda",
        tuple(choices_of("corpus")),
        (
            "vocabulary", "text_column", "name_column", "label_column", "document_column", "word_column",
            "count_column",
        ),
        ("on_disk", "broken", "start", "heldout_documents"),
    ),
    Reading(
        "table",
        "lfm",
        (),
        (
            "row_labels", "label_column", "missing", "categories", "category_columns", "leave_out", "constants",
            "image", "decimal",
        ),
        ("standardise",),
        SHARED,
    ),
)  # fmt: skip
#: Options whose flag is not their name with dashes.
_FLAGS = {"vocabulary": "--vocab"}
#: What only one set of objects has, and its reader takes.
ONE_DOMAIN = ("directed", "self_links")


def add_reading(to: argparse.ArgumentParser) -> None:
    """Add FILE and every flag that says how to read it."""
    to.add_argument(
        "file", metavar="FILE",
        help=f"a relation or a network ({files_of('relation')}); with --model lda, a corpus ({files_of('corpus')}); "
        f"with --model lfm, a table of numbers ({files_of('table')}); gzipped or not; - for the standard input; or a "
        "folder that `acvb read` wrote; or sample:NAME",
    )  # fmt: skip
    _add_shared(adder(to, _SHARED_TITLE), READINGS)
    _add_relation(adder(to, "how to read FILE as a relation"))
    _add_domains(to)
    add = adder(to, "how to read FILE as a corpus (--model lda)")
    _add_corpus(add)
    _add_large(add)
    _add_tokeniser(adder(to, _CUTTING))
    add_table(adder(to, "how to read FILE as a table (--model lfm)"))


def add_texts(to: argparse.ArgumentParser) -> None:
    """Add FILE, which is a corpus to be read to disk, and the flags that say how to read it."""
    to.add_argument(
        "file", metavar="FILE",
        help=f"{files_of('corpus')}; gzipped or not; - for the standard input; it may be larger than the memory",
    )  # fmt: skip
    _add_shared(adder(to, _SHARED_TITLE), [reading for reading in READINGS if reading.kind == "corpus"])
    add = adder(to, "how to read FILE as a corpus")
    _add_corpus(add)
    _add_broken(add)
    _add_tokeniser(adder(to, _CUTTING))


def add_documents(to: argparse.ArgumentParser) -> None:
    """Add FILE, which is a corpus, and the flags that say how to read it; its texts are not to be cut at will."""
    to.add_argument(
        "file", metavar="FILE",
        help=f"documents: {files_of('corpus')}; gzipped or not; - for the standard input; or sample:NAME",
    )  # fmt: skip
    _add_shared(adder(to, _SHARED_TITLE), [reading for reading in READINGS if reading.kind == "corpus"])
    _add_corpus(adder(to, "how to read FILE as a corpus"))


def _add_shared(add: Add, readings: Sequence[Reading]) -> None:
    formats = [name for reading in readings for name in reading.formats]
    told = "; ".join(
        f"{', '.join(reading.formats)} for a {reading.kind}" for reading in readings if reading.formats
    )
    add("--format", f"what kind of file it is: {told}", choices=("auto", *formats), metavar="FORMAT")
    add("--delimiter", "one character, or tab, space, comma, semicolon", type=lambda t: _DELIMITERS.get(t, t))
    add("--encoding", "such as latin-1 (default: UTF-8)")
    add("--header", "whether the first line holds names", action=argparse.BooleanOptionalAction)
    add("--sheet", "workbook: the sheet, by name or by position from 0 (default: the first with data)")
    add("--table", "database: the table (default: the only one)")
    add("--query", "database: a SELECT to read in place of a table", metavar="SQL")
    add("--name", "what to call the data")


def _add_relation(add: Add) -> None:
    for side, also in (("row", "--source"), ("column", "--target")):
        text = f"edge list: column of the {side} labels, by name or by position from 0"
        add(f"--{side}-column", text, also=[also], type=column, metavar="COLUMN")
    text = "edge list: column of the values; `none` when every line is a link"
    add("--value-column", text, also=["--value"], type=column, metavar="COLUMN")
    add("--threshold", "a number above it is a link (default: 0)", type=real)
    add("--shape", "size of the relation, as 1892x1892; labels are then indices from 0", type=shape)
    add("--row-nodes", "file with all row objects, one a line", metavar="LIST")
    add("--column-nodes", "file with all column objects, one a line", metavar="LIST")
    add(
        "--same-nodes",
        "rows and columns are the same objects (a network)",
        action="store_const",
        const=True,
    )
    add("--unlisted", "edge list: what a pair is that is not listed", choices=("zero", "missing"))


def _add_domains(to: argparse.ArgumentParser) -> None:
    title = "whether the two sides of a relation are the same objects"
    group = to.add_argument_group(title)
    group.add_argument(
        "--domains", choices=DOMAINS,
        help="one: the same objects on both sides, a network (model network); two: two sets of objects (model irm); "
        "auto: guessed from the names (default)",
    )  # fmt: skip
    either = group.add_mutually_exclusive_group()
    for flag, value, text in (
        ("--directed", True, "network: a link from A to B is another one than from B to A"),
        ("--undirected", False, "network: links have no direction; either way round counts"),
    ):
        either.add_argument(
            flag, dest="directed", action="store_const", const=value, help=f"{text} (default: guessed)"
        )
    group.add_argument(
        "--self-links", action=argparse.BooleanOptionalAction, default=None,
        help="network: whether links of an object to itself count (default: if there are any)",
    )  # fmt: skip
    group.add_argument(
        "--labels", metavar="FILE",
        help="known labels of the objects (of the row objects, where there are two sets): names in the first column, "
        "labels in the others; the clusters are compared with them, and never see them",
    )  # fmt: skip


def _add_corpus(add: Add) -> None:
    text = "file with the words, one a line: what the numbers in word counts stand for"
    add(_FLAGS["vocabulary"], text, dest="vocabulary", metavar="FILE")
    where = "by name or by position from 0"
    text = f"table, or field of JSON Lines: column of the texts, {where}"
    add("--text-column", text, also=["--text", "--field"], type=column, metavar="COLUMN")
    add("--name-column", "table: column of the documents' names; `none` numbers them", type=column)
    text = "table, of texts or of numbers: column of the rows' known groups; `none` for none"
    add("--label-column", text, type=column)
    add(
        "--document-column",
        f"word counts: column of the documents, {where}",
        also=["--document"],
        type=column,
        metavar="COLUMN",
    )
    add(
        "--word-column",
        f"word counts: column of the words, {where}",
        also=["--word"],
        type=column,
        metavar="COLUMN",
    )
    add(
        "--count-column",
        "word counts: column of the counts; `none` when each line is a word",
        also=["--count"],
        type=column,
        metavar="COLUMN",
    )


def _add_large(add: Add) -> None:
    add(
        "--on-disk",
        "methods that stream: read FILE to this folder and keep it there; used again as long as FILE is the same "
        "(default: a folder that is removed at the end, where FILE is large)",
        metavar="FOLDER",
    )
    _add_broken(add)


def _add_broken(add: Add) -> None:
    text = (
        "what happens to a line that cannot be read: it is refused, or left out and counted (default: refuse)"
    )
    add("--broken", text, choices=("refuse", "skip"))


def _add_tokeniser(add: Add) -> None:
    fresh = Tokeniser()

    def default(name: str) -> str:
        return ", ".join(getattr(fresh, name)) or "none"

    def word_list(flag: str, name: str, text: str) -> None:
        shown = f"{text} (default: {default(name)})"
        add(flag, shown, dest=_TOKENISER + name, type=words, metavar="A,B,…")

    languages = ", ".join(STOP_WORD_LANGUAGES)
    word_list(
        "--stop-words", "stop_words", f"drop the stop words of these languages; none, or of {languages}"
    )
    word_list("--extra-stop-words", "extra_stop_words", "further words to drop")
    text = f"regular expression of a word (default: {fresh.token_pattern})"
    add("--token-pattern", text, dest=_TOKENISER + "token_pattern", metavar="REGEX")
    for parameter in TOKENISER_PARAMETERS:
        add_setting(add, parameter, _TOKENISER + parameter.name, setting_help(parameter))


def reading_of(data_type: type) -> Reading:
    """Return how data of this type are asked for."""
    kind = data_type.__name__.lower()
    return next(reading for reading in READINGS if reading.kind == kind)


def reader_options(arguments: argparse.Namespace, reading: Reading) -> dict[str, Any]:
    """Return what was typed about reading FILE, as arguments of the reader of this kind of data.

    Raises
    ------
    ParameterError
        A flag, or the format, is for another kind of data.
    """
    for other in READINGS:
        if other is not reading:
            for flag in _typed_flags(arguments, other, reading.options):
                raise ParameterError(
                    f"{flag} is for a {other.kind}, but FILE is to be read as a {reading.kind}. Leave it out, or "
                    f"give --model {other.model}."
                )
    options = _given(arguments, (*reading.shared, *reading.options))
    tokeniser = _tokeniser(arguments)
    return options | ({} if tokeniser is None else {"tokeniser": tokeniser})


def check_as_it_is(arguments: argparse.Namespace, reading: Reading, what: str = "A sample") -> None:
    """Refuse what cannot be said of data of this kind that are there already, as a sample is.

    Raises
    ------
    ParameterError
        A flag says how to read FILE, or is for another kind of data.
    """
    for kind in READINGS:
        for flag in _beyond_flags(arguments, kind) if kind.kind != "relation" and kind is not reading else ():
            raise ParameterError(f"{flag} is for a {kind.kind}; {arguments.file} is a {reading.kind}.")
    flags = ["--" + name for name in _given(arguments, ("format", *SHARED))]
    for kind in READINGS:
        allowed = _beyond_flags(arguments, kind) if kind is reading else []
        flags += [flag for flag in _typed_flags(arguments, kind) if flag not in allowed]
    if getattr(arguments, "broken", None) is not None:
        flags.append("--broken")
    if flags:
        raise ParameterError(f"{what} is read as it is; leave {flags[0]} out.")


def _typed_flags(arguments: argparse.Namespace, reading: Reading, allowed: Sequence[str] = ()) -> list[str]:
    """Return the flags that were typed and that one kind of data has, those of some options left out."""
    names = tuple(name for name in reading.options if name not in allowed)
    flags = [flag_of(name, value) for name, value in _given(arguments, names).items()]
    flags += _beyond_flags(arguments, reading)
    if arguments.format in reading.formats:
        flags.append(f"--format {arguments.format}")
    if reading.kind == "corpus":
        flags += ["--" + name.replace("_", "-") for name in _tokeniser_settings(arguments)]
    return flags


def _beyond_flags(arguments: argparse.Namespace, reading: Reading) -> list[str]:
    return [flag_of(name, value) for name, value in _given(arguments, reading.beyond).items()]


def flag_of(name: str, value: Any = None) -> str:
    """Return the flag that was typed to give an argument this value."""
    if value is False and name == "directed":
        return "--undirected"
    if value is False and name in ("self_links", "standardise", "check_memory", "header"):
        return f"--no-{name.replace('_', '-')}"
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


def _given(arguments: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of some arguments that were typed; a command need not have all."""
    typed = vars(arguments)
    return {name: typed[name] for name in names if typed.get(name) is not None}


def _tokeniser_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        name.removeprefix(_TOKENISER): value
        for name, value in vars(arguments).items()
        if name.startswith(_TOKENISER) and value is not None
    }


def _tokeniser(arguments: argparse.Namespace) -> Tokeniser | None:
    """Return the tokeniser that was asked for; None where no setting of it was typed."""
    known = {parameter.name: parameter for parameter in TOKENISER_PARAMETERS}
    typed = {
        name: typed_value(known[name], value) if name in known else value
        for name, value in _tokeniser_settings(arguments).items()
    }
    return Tokeniser.from_dict(typed) if typed else None
