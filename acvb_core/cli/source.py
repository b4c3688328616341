"""From FILE, the model and the reader's flags to data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from acvb_core.cli.documents import kept_sample, load_documents
from acvb_core.cli.kept import holds_corpus, holds_texts
from acvb_core.cli.reading import (
    ONE_DOMAIN,
    Reading,
    check_as_it_is,
    flag_of,
    reader_options,
    reading_of,
)
from acvb_core.core.errors import ParameterError
from acvb_core.core.rows import ModelRow
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.relation import Relation
from acvb_core.data.relations.layout import Domains
from acvb_core.data.relations.networks import as_network, as_two_sided, with_attributes
from acvb_core.data.table import Table
from acvb_core.registry import MODELS, methods_of, model_row

_SAMPLE = "sample:"
#: The models of one set of objects on both sides of a relation, and of two.
_ONE, _TWO = "network", "irm"


@dataclass(frozen=True)
class Source:
    """What was loaded.

    Attributes
    ----------
    data : Relation, Corpus, DiskCorpus or Table
    model : ModelRow
        What they are to be fitted with.
    lines : list of str
        What reading it found.
    """

    data: Any
    model: ModelRow
    lines: list[str] = field(default_factory=list)


def chosen_models(arguments: argparse.Namespace, methods: Sequence[str] = ()) -> list[ModelRow]:
    """Return the models that may be meant: more than one while the data have to say how many domains there are.

    Without a model, a sample's own is meant, or that of a corpus on disk, or the only one with such methods, else the
    first there is.

    Raises
    ------
    ParameterError
        There is no such model, or the flags contradict each other.
    """
    typed, domains = arguments.model, arguments.domains or "auto"
    model = model_row(typed) if typed is not None else _usual_model(arguments.file, methods)
    if model.data_type is not Relation:
        return [model]
    of_one = [flag_of(name, value) for name in ONE_DOMAIN if (value := getattr(arguments, name)) is not None]
    if domains == "two" and typed == _ONE:
        raise ParameterError(
            f"--model {_ONE} is for one set of objects, but --domains two reads two. Leave one of them out."
        )
    if domains == "two" and of_one:
        raise ParameterError(
            f"{of_one[0]} is for one set of objects, but --domains two reads two. Leave it out, or give --domains one."
        )
    if domains == "auto" and (typed == _ONE or of_one or arguments.same_nodes):
        domains = "one"
    one, two = model_row(_ONE), model_row(_TWO)
    return {"one": [one], "two": [two], "auto": [two, one]}[domains]


def _usual_model(file: str, methods: Sequence[str]) -> ModelRow:
    if file.startswith(_SAMPLE):
        from acvb_core.data.samples import SAMPLES

        name = file.removeprefix(_SAMPLE)
        if name in SAMPLES:
            return model_row(SAMPLES[name].model)
    elif holds_corpus(file) or holds_texts(file):
        return next(row for row in MODELS if row.streamed is not None)
    owners = [row for row in MODELS if set(methods) <= {method.name for method in methods_of(row.name)}]
    return owners[0] if methods and len(owners) == 1 else MODELS[0]


def load(
    arguments: argparse.Namespace,
    models: Sequence[ModelRow],
    kept: ExitStack,
    cutter: Callable[[], Tokeniser] | None = None,
    *,
    streamed: bool = False,
) -> Source:
    """Load the file, or the sample, that the arguments name, as the data of a model.

    Parameters
    ----------
    arguments : Namespace
    models : sequence of ModelRow
        All for the same kind of data; these say which one it is.
    kept : ExitStack
        What is on disk for this time only goes with it.
    cutter : callable, optional
        Gives the tokeniser of a file of texts; asked only where there are texts and nothing was typed of them.
    streamed : bool
        Documents may stay on disk.

    Raises
    ------
    DataError
        It cannot be read as asked.
    ParameterError
        There is no such sample, or a reader's flag makes no sense.
    """
    reading = reading_of(models[0].data_type)
    if arguments.file.startswith(_SAMPLE):
        from acvb_core.data.samples import load_sample

        check_as_it_is(arguments, reading)
        sample = load_sample(arguments.file.removeprefix(_SAMPLE))
        if isinstance(sample.data, Relation) and reading.kind == "relation":
            relation, told = _with_domains(sample.data, arguments, models)
            return _relation(arguments, relation, [*sample.report.lines(), *told])
        if getattr(arguments, "on_disk", None) is not None and isinstance(sample.data, models[0].data_type):
            data, lines = kept_sample(arguments, sample.data, streamed)
            return Source(data, models[0], lines)
        return _as_asked(arguments, sample.data, models[0], sample.report.lines())
    if reading.kind == "table":
        return _table(arguments, reading, models[0])
    if reading.kind == "corpus":
        data, lines = load_documents(arguments, reading, cutter, streamed, kept)
        return Source(data, models[0], lines)
    options = reader_options(arguments, reading)
    from acvb_core.data.relations.readers import load_relation

    domains: Domains = "auto" if len(models) > 1 else "one" if models[0].name == _ONE else "two"
    kind = {name: getattr(arguments, name) for name in ONE_DOMAIN}
    loaded = load_relation(arguments.file, domains=domains, **kind, **options)
    hints = _hints(loaded.relation, domains, arguments.directed)
    return _relation(arguments, loaded.relation, [*loaded.report.lines(), *hints])


def _table(arguments: argparse.Namespace, reading: Reading, model: ModelRow) -> Source:
    """Return the table of FILE."""
    from acvb_core.data.tables.readers import load_table

    found = load_table(arguments.file, **reader_options(arguments, reading))
    return _as_asked(arguments, found.table, model, found.report.lines())


def _as_asked(arguments: argparse.Namespace, data: Any, model: ModelRow, lines: list[str]) -> Source:
    """Return data of a file or a sample, a table standardised or not, as was typed; say so where it is not."""
    if not isinstance(data, Table):
        return Source(data, model, lines)
    asked = getattr(arguments, "standardise", None)
    table = data if asked is None else replace(data, standardise=asked)
    told = [] if table.standardise else ["Columns are taken as they are, not standardised."]
    return Source(table, model, [*lines, *told])


def _hints(relation: Relation, domains: Domains, directed: bool | None) -> list[str]:
    """Return how to change what was guessed of a file, where there was something to guess."""
    network, hints = relation.network, []
    if domains == "auto" and network is not None:
        hints.append("Should the two sides be two sets of objects, give --domains two.")
    elif domains == "auto" and not set(relation.row_labels).isdisjoint(relation.column_labels):
        hints.append("Should objects of the same name be the same, give --domains one.")
    if network is not None and directed is None:
        other = "no direction, give --undirected" if network.directed else "a direction, give --directed"
        hints.append(f"Should links have {other}.")
    return hints


def _with_domains(
    relation: Relation, arguments: argparse.Namespace, models: Sequence[ModelRow]
) -> tuple[Relation, list[str]]:
    """Return a sample's relation with as many domains as were asked for, and what is to be said of that."""
    kind = {name: getattr(arguments, name) for name in ONE_DOMAIN}
    is_two, wants_two = relation.network is None, models[0].name == _TWO
    if len(models) > 1 or (is_two == wants_two and set(kind.values()) == {None}):
        return relation, []
    if wants_two:
        return as_two_sided(relation), ["Taken as two sets of objects of the same names, as asked for."]
    found = as_network(relation, **kind)
    told = f"Taken as one set of objects, as asked for: {found.relation.size_text}."
    return found.relation, [told, *(fact.sentence for fact in found.facts)]


def _relation(arguments: argparse.Namespace, relation: Relation, lines: list[str]) -> Source:
    """Return a relation with the labels that were given, and the model for as many domains as it has."""
    if arguments.labels is not None:
        from acvb_core.data.relations.nodes import load_labels

        found = load_labels(arguments.labels, relation)
        relation, lines = with_attributes(relation, found), [*lines, *found.report.lines()]
    return Source(relation, model_row(_TWO if relation.network is None else _ONE), lines)
