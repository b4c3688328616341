"""The flags that say how FILE is read, made from the table of options, and what was typed for them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from acvb_core.cli.settings import Add, Flag, add_setting, group_adder, parse_setting, setting_help
from acvb_core.cli.typed import parse_column, parse_columns, parse_words
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokenise import TOKENISER_PARAMETERS, Tokeniser
from acvb_core.data.options import (
    CUTTING,
    KINDS,
    Option,
    find_option,
    list_formats,
    options_of,
    parse_shape,
    parse_threshold,
)
from acvb_core.data.sources.formats import files_of
from acvb_core.registry import MODELS

#: In front of the names of a tokeniser's settings in the parsed arguments, which keeps them separate from all others.
TOKENISER = "tokeniser:"
#: What only one set of objects has, and its reader takes.
ONE_DOMAIN = ("directed", "self_links")
#: The first model for each kind of data, which a message can propose.
MODEL_FOR: dict[str, str] = {kind: next(row.name for row in MODELS if row.kind == kind) for kind in KINDS}
_OPTIONS: dict[str, dict[str, Option]] = {kind: options_of(kind) for kind in KINDS}
_FORMATS: dict[str, dict[str, str]] = {
    kind: list_formats(kind) for kind in KINDS if "format" in options_of(kind)
}
#: Options that every kind of data has, or most.
_SHARED = tuple(name for name, row in _OPTIONS["corpus"].items() if row.kinds == KINDS or name == "format")
_LABELS = Option(
    "labels", ("relation",), "file",
    help="Known labels of the objects (of the row objects, if there are two sets): names in the first column, labels "
    "in the others. The clusters are compared with them, and never see them.",
)  # fmt: skip
_ON_DISK = Option(
    "on_disk", ("corpus",), "text", hint="FOLDER",
    help="Methods that stream: FILE is read to this folder and kept there, and used again as long as it is the same "
    "(default: a folder that is removed at the end, if FILE is large).",
)  # fmt: skip
#: Arguments that only one kind of data has and that do not say how FILE is read.
_FURTHER = {
    "relation": ["labels", "links"],
    "corpus": ["on_disk", "start", "heldout_documents"],
    "table": [],
}
_TYPES = {"column": parse_column, "columns": parse_columns, "words": parse_words, "number": parse_threshold}
_METAVARS = {"column": "COLUMN", "columns": "A,B,…", "words": "A,B,…", "file": "FILE"}


def add_reading(to: argparse.ArgumentParser) -> None:
    """Add FILE and every flag that says how to read it."""
    to.add_argument(
        "file",
        metavar="FILE",
        help=f"a relation or a network ({files_of('relation')}); with --model {MODEL_FOR['corpus']}, a corpus "
        f"({files_of('corpus')}); with --model {MODEL_FOR['table']}, a table of numbers ({files_of('table')}); gzipped "
        "or not; - for the standard input; or a folder that `acvb read` wrote; or sample:NAME",
    )
    _add_options(to, KINDS)


def add_corpus(to: argparse.ArgumentParser, before: str, after: str, *, texts: bool) -> None:
    """Add FILE, which is a corpus, and the flags that say how to read it; `texts`: and how to cut its texts."""
    text = f"{before}{files_of('corpus')}; gzipped or not; - for the standard input; {after}"
    to.add_argument("file", metavar="FILE", help=text)
    _add_options(to, ("corpus",), texts=texts)


def _add_options(to: argparse.ArgumentParser, kinds: Sequence[str], *, texts: bool = True) -> None:
    add = group_adder(to, "how to read FILE (guessed where not given)")
    listed = set(_SHARED)
    for name in _SHARED:
        _add_option(add, _OPTIONS["corpus"][name], kinds)
    for kind in kinds:
        model = "" if kind == "relation" else f" (--model {MODEL_FOR[kind]})"
        add = group_adder(to, f"how to read FILE as a {kind}{model if len(kinds) > 1 else ''}")
        for name, row in _OPTIONS[kind].items():
            if name not in listed and (texts or name != "broken"):
                _add_option(add, row, kinds)
        listed |= _OPTIONS[kind].keys()
        for row in (_LABELS, _ON_DISK):
            if len(kinds) > 1 and kind in row.kinds:
                _add_option(add, row, kinds)
    if texts:
        add = group_adder(to, "how to cut the texts of a corpus into words")
        for row in CUTTING:
            _add_option(add, row, kinds, TOKENISER)
        for parameter in TOKENISER_PARAMETERS:
            add_setting(add, parameter, TOKENISER + parameter.name, setting_help(parameter))


def _add_option(add: Add, row: Option, kinds: Sequence[str], before: str = "") -> None:
    """Add the flag of an option; the name of its argument begins with `before`."""
    metavar = _METAVARS.get(row.ask, row.hint if row.hint and " " not in row.hint else row.name.upper())
    more: dict[str, Any] = {"dest": before + row.name, "also": row.flags, "metavar": metavar}
    text = row.help
    if row.name == "format":
        known = {kind: _FORMATS[kind] for kind in kinds if kind in _FORMATS}
        more["choices"] = ["auto", *(name for names in known.values() for name in names)]
        text = f"{text} {'; '.join(f'{kind}: ' + ', '.join(names) for kind, names in known.items())}."
    elif row.ask == "flag":
        more |= {"action": Flag, "also": [_negative(row)]}
    elif row.ask == "choice":
        more["choices"] = list(row.choices)
        listed = "; ".join(f"{value}: {words}" for value, words in row.choices.items())
        usual = "refuse" if "refuse" in row.choices else next(iter(row.choices))
        text += f" ({listed}{'' if row.auto else f'; default: {usual}'})"
    else:
        names = {words: value for value, words in row.choices.items()} | {r"\t": "\t"}
        parse = parse_shape if row.name == "shape" else lambda typed: names.get(typed, typed)
        more["type"] = _TYPES.get(row.ask, parse)
        text += f" Write {row.flag}=-999." if row.hint.startswith("-") else ""
    if row.ask == "column":
        none = f"; `none`: {row.none.removeprefix('none: ')}" if row.none else ""
        text += f" By name or by position from 0{none}."
    add(row.flag, f"{text} [{', '.join(row.formats)}]" if row.formats else text, **more)


def reader_options(arguments: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Return what was typed about reading FILE, as arguments of the reader of this kind of data.

    Raises ParameterError: a flag, or the format, is for another kind of data.
    """
    own = _OPTIONS[kind]
    for other in KINDS:
        if other != kind:
            for flag in _typed_flags(arguments, other, own, _FORMATS.get(kind, ())):
                raise ParameterError(
                    f"{flag} is for a {other}, but FILE is to be read as a {kind}. Leave it out, or give "
                    f"--model {MODEL_FOR[other]}."
                )
    options = typed_options(arguments, [name for name, row in own.items() if not row.beyond])
    known = {parameter.name: parameter for parameter in TOKENISER_PARAMETERS}
    settings = {
        name: parse_setting(known[name], value) if name in known else value
        for name, value in _tokeniser_settings(arguments).items()
    }
    return options | ({"tokeniser": Tokeniser.from_dict(settings)} if settings else {})


def refuse_reader_flags(arguments: argparse.Namespace, kind: str, what: str = "A sample") -> None:
    """Refuse what cannot be said of data of this kind that are there already, as a sample is.

    Raises ParameterError: a flag says how to read FILE, or is for another kind of data.
    """
    flags = ["--" + name for name in typed_options(arguments, _SHARED)]
    for one in KINDS:
        beyond = [name for name, row in _OPTIONS[one].items() if row.beyond and name != "broken"] + _FURTHER[
            one
        ]
        for flag in _flags(arguments, beyond):
            if one not in (kind, "relation"):
                raise ParameterError(f"{flag} is for a {one}; {arguments.file} is a {kind}.")
        flags += _typed_flags(arguments, one, beyond if one == kind else ())
    if flags:
        raise ParameterError(f"{what} is read as it is; leave {flags[0]} out.")


def _typed_flags(
    arguments: argparse.Namespace, kind: str, allowed: Iterable[str], formats: Iterable[str] = ()
) -> list[str]:
    """Return the flags that were typed and that one kind of data has, but for those of some options and formats."""
    skipped = {*allowed, *_SHARED}
    flags = _flags(arguments, [name for name in (*_OPTIONS[kind], *_FURTHER[kind]) if name not in skipped])
    if arguments.format in _FORMATS.get(kind, ()) and arguments.format not in formats:
        flags.append(f"--format {arguments.format}")
    if kind == "corpus":
        flags += [flag_of(name) for name in _tokeniser_settings(arguments)]
    return flags


def _flags(arguments: argparse.Namespace, names: Iterable[str]) -> list[str]:
    return [flag_of(name, value) for name, value in typed_options(arguments, names).items()]


def flag_of(name: str, value: Any = None) -> str:
    """Return the flag that was typed to give an argument this value."""
    row = find_option(name)
    if value is False and (name == "check_memory" or (row is not None and row.ask == "flag")):
        return f"--no-{name.replace('_', '-')}" if row is None else _negative(row)
    return "--" + name.replace("_", "-")


def _negative(row: Option) -> str:
    return row.flags[0] if row.flags else f"--no-{row.flag[2:]}"


def typed_options(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return those of some arguments that were typed; a command need not have all."""
    typed = vars(arguments)
    return {name: typed[name] for name in names if typed.get(name) is not None}


def _tokeniser_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        name.removeprefix(TOKENISER): value
        for name, value in vars(arguments).items()
        if name.startswith(TOKENISER) and value is not None
    }
