"""From FILE, the model and the reader's flags to data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acvb_core.cli.corpus_folders import holds_corpus, holds_texts
from acvb_core.cli.documents import load_documents, write_sample
from acvb_core.cli.reading import ONE_DOMAIN, flag_of, reader_options, refuse_reader_flags, typed_options
from acvb_core.core.errors import ParameterError
from acvb_core.core.spec import ModelSpec
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.network import as_network, as_two_sided, with_attributes
from acvb_core.data.relation import Relation
from acvb_core.data.relation_schema import Domains
from acvb_core.data.table import Table
from acvb_core.registry import MODELS, methods_of, model_row

_SAMPLE = "sample:"
#: The usual model of relations with the same objects on both sides (True), and of others: the last of its kind.
_USUAL = {row.one_domain: row for row in MODELS if row.kind == "relation"}


@dataclass(frozen=True)
class Source:
    """Data that were loaded, and their model.

    `lines` are the report of reading them.
    """

    data: Any
    model: ModelSpec
    lines: list[str] = field(default_factory=list)


def choose_models(arguments: argparse.Namespace, methods: Sequence[str] = ()) -> list[ModelSpec]:
    """Return the models that may be meant: more than one while the data have to say how many domains there are.

    Without a model, a sample's own is meant, or that of a corpus on disk, or the only one with such methods, else the
    first there is.

    Raises ParameterError: there is no such model, or the flags contradict each other.
    """
    typed, domains = arguments.model, arguments.domains or "auto"
    model = model_row(typed) if typed is not None else _default_model(arguments.file, methods)
    if model.kind != "relation":
        return [model]
    chosen = _USUAL | {model.one_domain: model}
    one, two = chosen[True], chosen[False]
    of_one = [flag_of(name, value) for name, value in typed_options(arguments, ONE_DOMAIN).items()]
    if domains == "two" and typed is not None and model is one:
        raise ParameterError(
            f"--model {one.name} is for one set of objects, but --domains two reads two. Leave one of them out."
        )
    if domains == "two" and of_one:
        raise ParameterError(
            f"{of_one[0]} is for one set of objects, but --domains two reads two. Leave it out, or give --domains one."
        )
    if domains == "auto" and ((typed is not None and model is one) or of_one or arguments.same_nodes):
        domains = "one"
    return {"one": [one], "two": [two], "auto": [two, one]}[domains]


def _default_model(file: str, methods: Sequence[str]) -> ModelSpec:
    if file.startswith(_SAMPLE):
        from acvb_core.samples.catalogue import SAMPLES

        name = file.removeprefix(_SAMPLE)
        if name in SAMPLES:
            return model_row(SAMPLES[name].model)
    elif holds_corpus(file) or holds_texts(file):
        return next(row for row in MODELS if row.streamed is not None)
    owners = [row for row in MODELS if set(methods) <= {method.name for method in methods_of(row.name)}]
    return owners[0] if methods and len(owners) == 1 else MODELS[0]


def load(
    arguments: argparse.Namespace,
    models: Sequence[ModelSpec],
    cutter: Callable[[], Tokeniser] | None = None,
    *,
    streamed: bool = False,
) -> Source:
    """Load the file, or the sample, that the arguments name, as the data of a model.

    The models are all for one kind of data, of which the file may have to say which model it is for. The other
    arguments are those of `load_documents`.

    Raises DataError: it cannot be read as asked.
    Raises ParameterError: there is no such sample, or a reader's flag makes no sense.
    """
    model, file = models[0], arguments.file
    if file.startswith(_SAMPLE):
        return _load_sample(arguments, models, streamed)
    if model.kind == "corpus":
        data, lines = load_documents(arguments, cutter, streamed)
        return Source(data, model, lines)
    options = reader_options(arguments, model.kind)
    if model.kind == "table":
        from acvb_core.data.table_build import load_table

        table = load_table(file, **options)
        return _scale_as_typed(arguments, Source(table.data, model, table.report.lines()))
    from acvb_core.data.relation_readers import load_relation

    domains: Domains = "auto" if len(models) > 1 else "one" if model.one_domain else "two"
    loaded = load_relation(file, domains=domains, **typed_options(arguments, ONE_DOMAIN), **options)
    hints = _hints(loaded.data, domains, arguments.directed)
    if loaded.report.count("lone_first_line"):
        hints.append("Use --header if the first line names the columns.")
    return _add_labels(arguments, loaded.data, models, [*loaded.report.lines(), *hints])


def _load_sample(arguments: argparse.Namespace, models: Sequence[ModelSpec], streamed: bool) -> Source:
    from acvb_core.samples.catalogue import load_sample

    model = models[0]
    refuse_reader_flags(arguments, model.kind)
    sample = load_sample(arguments.file.removeprefix(_SAMPLE))
    data, lines = sample.data, sample.report.lines()
    if isinstance(data, Relation) and model.kind == "relation":
        relation, notes = _with_domains(data, arguments, models)
        return _add_labels(arguments, relation, models, [*lines, *notes])
    if getattr(arguments, "on_disk", None) is not None and model.data_class.is_instance(data):
        corpus, notes = write_sample(arguments, data, streamed)
        return Source(corpus, model, notes)
    return _scale_as_typed(arguments, Source(data, model, lines))


def _scale_as_typed(arguments: argparse.Namespace, source: Source) -> Source:
    """Return data as they are, a table standardised or not as was typed, with a line where it is not."""
    if not isinstance(source.data, Table):
        return source
    asked = getattr(arguments, "standardise", None)
    table = source.data if asked is None else source.data.with_standardise(asked)
    notes = [] if table.standardise else ["Columns are taken as they are, not standardised."]
    return replace(source, data=table, lines=[*source.lines, *notes])


def _hints(relation: Relation, domains: Domains, directed: bool | None) -> list[str]:
    """Return how to change what was guessed of a file, where there was something to guess."""
    network, hints = relation.network, []
    if domains == "auto" and network is not None:
        hints.append("Use --domains two if the two sides are two sets of objects.")
    elif domains == "auto" and not set(relation.row_labels).isdisjoint(relation.column_labels):
        hints.append("Use --domains one if objects of the same name are the same.")
    if network is not None and directed is None:
        other = "--undirected if links have no" if network.directed else "--directed if links have a"
        hints.append(f"Use {other} direction.")
    return hints


def _with_domains(
    relation: Relation, arguments: argparse.Namespace, models: Sequence[ModelSpec]
) -> tuple[Relation, list[str]]:
    """Return a sample's relation with as many domains as were asked for, and lines that say so."""
    kind = typed_options(arguments, ONE_DOMAIN)
    is_two, wants_two = relation.network is None, not models[0].one_domain
    if len(models) > 1 or (is_two == wants_two and not kind):
        return relation, []
    if wants_two:
        return as_two_sided(relation), ["Taken as two sets of objects of the same names, as asked for."]
    loaded = as_network(relation, **kind)
    note = f"Taken as one set of objects, as asked for: {loaded.data.size_text}."
    return loaded.data, [note, *loaded.report.lines()]


def _add_labels(
    arguments: argparse.Namespace, relation: Relation, models: Sequence[ModelSpec], lines: list[str]
) -> Source:
    """Return a relation with the labels that were typed, and the model for as many domains as it has."""
    if arguments.labels is not None:
        from acvb_core.data.relation_readers import load_labels

        labels = load_labels(arguments.labels, relation)
        relation, lines = with_attributes(relation, labels), [*lines, *labels.report.lines()]
    one_domain = relation.network is not None
    model = next((row for row in models if row.one_domain == one_domain), _USUAL[one_domain])
    return Source(relation, model, lines)
