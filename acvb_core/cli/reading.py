"""Options that were typed about reading FILE, by the kind of data that it is to be read as."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from acvb_core.cli.settings import parse_setting
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora.tokenise import TOKENISER_PARAMETERS, Tokeniser
from acvb_core.data.sources.formats import choices_of
from acvb_core.data.sources.frames import FrameChoices
from acvb_core.registry import MODELS

#: In front of the names of a tokeniser's settings in the parsed arguments, which keeps them separate from all others.
TOKENISER = "tokeniser:"
#: Options that every kind of data has.
SHARED = ("name", "delimiter", "encoding", "header", *FrameChoices._fields)
#: What only one set of objects has, and its reader takes.
ONE_DOMAIN = ("directed", "self_links")
#: Options whose flag is not their name with dashes.
FLAGS = {"vocabulary": "--vocab"}


@dataclass(frozen=True)
class Reading:
    """The options of one kind of data, by their names among the parsed arguments."""

    kind: str  #: what the data are, in a word; that of the store, and of a model
    #: Those of its reader that not every kind has; a tokeniser's settings are left out.
    options: tuple[str, ...]
    #: Those that only this kind has and that say how to take the data, of a sample too.
    beyond: tuple[str, ...]
    formats: tuple[str, ...] = ()  #: its file formats, where a user may choose one

    @property
    def model(self) -> str:
        """The first model for such data, which a message can propose."""
        return next(row.name for row in MODELS if row.kind == self.kind)


READINGS = (
    Reading(
        "relation",
        (
            "row_column",
            "column_column",
            "value_column",
            "threshold",
            "shape",
            "row_nodes",
            "column_nodes",
            "same_nodes",
            "unlisted",
        ),
        ("domains", *ONE_DOMAIN, "labels", "links"),
        tuple(choices_of("relation")),
    ),
    Reading(
        "corpus",
        (
            "vocabulary",
            "text_column",
            "name_column",
            "label_column",
            "document_column",
            "word_column",
            "count_column",
        ),
        ("on_disk", "broken", "start", "heldout_documents"),
        tuple(choices_of("corpus")),
    ),
    Reading(
        "table",
        (
            "row_labels",
            "label_column",
            "missing",
            "categories",
            "category_columns",
            "leave_out",
            "constants",
            "image",
            "decimal",
        ),
        ("standardise",),
    ),
)


def find_reading(kind: str) -> Reading:
    """Return the options of one kind of data."""
    return next(reading for reading in READINGS if reading.kind == kind)


def reader_options(arguments: argparse.Namespace, reading: Reading) -> dict[str, Any]:
    """Return what was typed about reading FILE, as arguments of the reader of this kind of data.

    Raises ParameterError: a flag, or the format, is for another kind of data.
    """
    for other in READINGS:
        if other is not reading:
            for flag in _typed_flags(arguments, other, reading.options):
                raise ParameterError(
                    f"{flag} is for a {other.kind}, but FILE is to be read as a {reading.kind}. Leave it out, or "
                    f"give --model {other.model}."
                )
    shared = ("format", *SHARED) if reading.formats else SHARED
    options = typed_options(arguments, (*shared, *reading.options))
    known = {parameter.name: parameter for parameter in TOKENISER_PARAMETERS}
    settings = {
        name: parse_setting(known[name], value) if name in known else value
        for name, value in _tokeniser_settings(arguments).items()
    }
    return options | ({"tokeniser": Tokeniser.from_dict(settings)} if settings else {})


def refuse_reader_flags(arguments: argparse.Namespace, reading: Reading, what: str = "A sample") -> None:
    """Refuse what cannot be said of data of this kind that are there already, as a sample is.

    Raises ParameterError: a flag says how to read FILE, or is for another kind of data.
    """
    for other in READINGS:
        if other is not reading and other.kind != "relation":
            for flag in _flags(arguments, other.beyond):
                raise ParameterError(f"{flag} is for a {other.kind}; {arguments.file} is a {reading.kind}.")
    flags = ["--" + name for name in typed_options(arguments, ("format", *SHARED))]
    for kind in READINGS:
        flags += _typed_flags(arguments, kind, reading.beyond if kind is reading else ())
    flags += _flags(arguments, ("broken",))
    if flags:
        raise ParameterError(f"{what} is read as it is; leave {flags[0]} out.")


def _typed_flags(arguments: argparse.Namespace, reading: Reading, allowed: Sequence[str] = ()) -> list[str]:
    """Return the flags that were typed and that one kind of data has, those of some options left out."""
    names = (*reading.options, *reading.beyond)
    flags = _flags(arguments, [name for name in names if name not in allowed])
    if arguments.format in reading.formats:
        flags.append(f"--format {arguments.format}")
    if reading.kind == "corpus":
        flags += [flag_of(name) for name in _tokeniser_settings(arguments)]
    return flags


def _flags(arguments: argparse.Namespace, names: Iterable[str]) -> list[str]:
    return [flag_of(name, value) for name, value in typed_options(arguments, names).items()]


def flag_of(name: str, value: Any = None) -> str:
    """Return the flag that was typed to give an argument this value."""
    if value is False and name == "directed":
        return "--undirected"
    if value is False and name in ("self_links", "standardise", "check_memory", "header"):
        return f"--no-{name.replace('_', '-')}"
    return FLAGS.get(name, "--" + name.replace("_", "-"))


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
