"""The source of a command: a file, a folder with a corpus, or documents that do not fit in memory."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acvb_core.cli.arguments import ONE_DOMAIN, flag_of, reader_options, refuse_reader_flags, typed_options
from acvb_core.cli.progress import ReadingProgress
from acvb_core.core.errors import ParameterError
from acvb_core.core.files import remove_abandoned, scratch_prefix
from acvb_core.core.spec import ModelSpec
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.disk import META, DiskCorpus
from acvb_core.data.network import as_network, as_two_sided, with_attributes
from acvb_core.data.relation import Relation
from acvb_core.data.relation_schema import Domains
from acvb_core.data.schema import Schema
from acvb_core.data.sources.source import STANDARD_INPUT
from acvb_core.data.table import Table
from acvb_core.registry import MODELS, methods_of, model_row

#: Beside the corpus: which file it was read from, how, and what was found.
ORIGIN = "origin.json"
_VERSION = 1
Read = Callable[[Path], tuple[DiskCorpus, list[str]]]


def holds_corpus(path: str | Path) -> bool:
    """Return whether a path is a folder with a corpus on disk."""
    return (Path(path) / META).is_file()


def holds_texts(path: str | Path) -> bool:
    """Return whether a path is a folder of .txt files."""
    return Path(path).is_dir() and any(Path(path).rglob("*.txt"))


@contextmanager
def make_rereadable(arguments: argparse.Namespace) -> Iterator[None]:
    """Make FILE a path that can be read more than once: what comes from a stream is kept until the command ends.

    FILE is looked at before it is read; a stream can be read once.
    """
    file = arguments.file
    path = Path(file).expanduser()
    if file != STANDARD_INPUT and not (path.is_fifo() or path.is_char_device()):
        arguments.file = str(path) if file.startswith("~") else file
        yield
        return
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        copy = Path(folder) / ("stdin" if path.name in (STANDARD_INPUT, "stdin") else path.name)
        opened = nullcontext(sys.stdin.buffer) if file == STANDARD_INPUT else path.open("rb")
        with opened as stream, copy.open("wb") as to:
            shutil.copyfileobj(stream, to)
        arguments.file = str(copy)
        yield


def read_once(folder: Path, origin: Mapping[str, Any], read: Read) -> tuple[DiskCorpus, list[str]]:
    """Return the corpus of a folder, and what reading it found; it is read where the folder does not have it yet.

    `origin` is what `describe_origin` gives; `read` takes the folder, which is not there or empty.

    Raises ParameterError: the folder holds the corpus of another file, of another state of it, or read in another way.
    """
    if not holds_corpus(folder):
        corpus, lines = read(folder)
        text = json.dumps({**origin, "report": lines}, ensure_ascii=False, indent=1)
        (folder / ORIGIN).write_text(text, encoding="utf-8")
        return corpus, lines
    try:
        stored = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        report = [str(line) for line in stored.pop("report")]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise ParameterError(
            f"{folder} holds a corpus, but does not name the file it was read from. Give {folder} in place of the "
            "file, or another folder."
        ) from None
    differs = [words for name, words in _DIFFERENCES.items() if stored.get(name) != origin[name]]
    if differs:
        changes = f"{' and '.join(differs[:2])} {'were' if differs[1:] else 'was'}"
        raise ParameterError(
            f"{folder} holds the corpus of {stored.get('file')!r}, and {changes} other than now. Give another folder, "
            f"remove this one to read the file again, or give {folder} in place of the file."
        )
    return DiskCorpus.open(folder), [f"Read before, and kept in {folder}.", *report]


_DIFFERENCES = {
    "version": "the version",
    "file": "the file",
    "bytes": "its size",
    "modified": "the time of its last change",
    "reading": "the way it was read",
}


def describe_origin(file: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values that identify a file (or `sample:NAME`), its state and the options of its reader."""
    reading = dict(sorted(options.items()))
    if "vocabulary" in reading:
        reading["vocabulary"] = _state(str(reading["vocabulary"]))
    if isinstance(reading.get("tokeniser"), Tokeniser):
        reading["tokeniser"] = reading["tokeniser"].to_dict()
    return {"version": _VERSION, **_state(file), "reading": reading}


def _state(file: str) -> dict[str, Any]:
    path = Path(file)
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path] if path.is_file() else []
    if not files:  # a sample, or what the reader will complain about
        return {"file": file, "bytes": None, "modified": None}
    stats = [one.stat() for one in files]
    size, modified = sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)
    return {"file": path.name, "bytes": size, "modified": modified}


#: A file of less is never looked at twice: it fits into memory.
SMALL = 16 << 20
#: Unpacked bytes of text from which documents that are streamed stay on disk …
LARGE = 1 << 30
#: … and so do those that would take this share of the memory there is.
SHARE = 0.25
#: Bytes in memory for a (document, word) pair while a corpus is put together, and for a byte of text.
_PAIR, _TEXT = 40, 3
#: Options that say nothing of how the file is inspected.
_ASIDE = {"name", "vocabulary", "tokeniser"}


def load_documents(
    arguments: argparse.Namespace, cutter: Callable[[], Tokeniser] | None, streamed: bool
) -> tuple[Any, list[str]]:
    """Return the documents of FILE, a `Corpus` or a `DiskCorpus`, and what reading them found.

    `cutter` gives the tokeniser of a file of texts where none was typed; `streamed` says that documents may stay on
    disk for all that is to be done with them.

    Raises DataError, ParameterError: it cannot be read as asked.
    """
    file, asked = arguments.file, getattr(arguments, "on_disk", None)
    _check_streamed(asked, streamed)
    # A folder without texts is a corpus that is damaged, or none: opening it says so.
    if holds_corpus(file) or (Path(file).is_dir() and not holds_texts(file)):
        if asked is not None:
            raise ParameterError(f"{file} is a folder, which is on disk already; leave --on-disk out.")
        refuse_reader_flags(arguments, "corpus", "A corpus on disk")
        return DiskCorpus.open(file), []
    options = reader_options(arguments, "corpus")
    if cutter is not None and "tokeniser" not in options and _inspect(file, options).has_texts:
        options["tokeniser"] = cutter()
    broken = typed_options(arguments, ["broken"])
    if asked is not None:
        return keep_file(arguments, Path(asked), options | broken)
    if streamed and _is_large(file, options):
        folder = _temporary_folder(arguments)
        if not arguments.quiet:
            sys.stderr.write(
                f"{Path(file).name} is large: its documents stay on disk, in {folder} until the end; --on-disk FOLDER "
                "keeps them.\n"
            )
        return read_file(arguments, folder, options | broken | {"keep_texts": False})
    if broken.get("broken") == "skip":  # only the readers to disk can continue behind a broken line
        corpus, lines = read_file(arguments, _temporary_folder(arguments), options | broken)
        return corpus.in_memory(), lines
    from acvb_core.data.corpora.readers import load_corpus

    documents = load_corpus(file, **options)
    return documents.data, documents.report.lines()


def keep_file(
    arguments: argparse.Namespace, folder: Path, options: dict[str, Any]
) -> tuple[DiskCorpus, list[str]]:
    """Read FILE to a folder, unless the folder has the corpus of this file, read in this way."""
    options = {"broken": "refuse"} | options
    origin = describe_origin(arguments.file, options)
    return read_once(folder, origin, lambda where: read_file(arguments, where, options))


def read_file(
    arguments: argparse.Namespace, folder: Path, options: dict[str, Any]
) -> tuple[DiskCorpus, list[str]]:
    """Read FILE to disk, and show how much is read."""
    from acvb_core.data.corpora.disk_build import read_to_disk

    quiet = getattr(arguments, "quiet", False)  # of a table on standard output, progress is no part
    progress = ReadingProgress(sys.stderr, Path(arguments.file).name, quiet=quiet)
    loaded = read_to_disk(arguments.file, folder, progress=progress, **options)
    return loaded.data, loaded.report.lines()


def _temporary_folder(arguments: argparse.Namespace) -> Path:
    """Return a folder for the documents: next to the results if there is room, else the system's temporary folder."""
    out = getattr(arguments, "out", None)
    beside = None if out is None else Path(out).resolve().parent
    remove_abandoned(beside)
    home = tempfile.mkdtemp(
        prefix=scratch_prefix(), dir=beside if beside is not None and beside.is_dir() else None
    )
    arguments.cleanup.callback(shutil.rmtree, home, ignore_errors=True)
    return Path(home) / "corpus"


def _inspect(file: str, options: dict[str, Any]) -> Schema:
    """Return the schema of a file, as far as its head shows it."""
    from acvb_core.data.corpora.readers import inspect_corpus

    return inspect_corpus(file, **{name: value for name, value in options.items() if name not in _ASIDE})


def _is_large(file: str, options: dict[str, Any]) -> bool:
    """Return whether a file is too large to be taken into memory without need."""
    path = Path(file)
    if not path.is_file() or path.stat().st_size < SMALL:
        return False
    from acvb_core.data.corpora.estimate import estimate
    from acvb_core.engine.machine import available_memory

    schema = _inspect(file, options)
    known = {name: value for name, value in options.items() if name not in _ASIDE}
    size = estimate(path, schema, tokeniser=options.get("tokeniser"), **known)
    needed = _PAIR * size.pairs + (_TEXT * size.text_bytes if schema.has_texts else 0)
    free = available_memory()
    return size.text_bytes > LARGE or (free is not None and needed > SHARE * free)


def _check_streamed(asked: str | None, streamed: bool) -> None:
    if asked is not None and not streamed:
        raise ParameterError(
            "--on-disk keeps the documents on disk, where only methods that stream or have --shards can take them (see "
            "`acvb methods`)."
        )


def write_sample(arguments: argparse.Namespace, corpus: Any, streamed: bool) -> tuple[DiskCorpus, list[str]]:
    """Return a sample's documents, kept in the folder that was asked for, and what reading them found."""
    from acvb_core.data.corpora.disk_build import write_disk_corpus

    _check_streamed(arguments.on_disk, streamed)
    origin = describe_origin(arguments.file, {})
    return read_once(
        Path(arguments.on_disk), origin, lambda folder: (write_disk_corpus([corpus], folder), [])
    )


SAMPLE = "sample:"
#: The usual model of relations with the same objects on both sides (True), and of others: the first of its kind.
_USUAL = {row.one_domain: row for row in reversed(MODELS) if row.kind == "relation"}


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
    if file.startswith(SAMPLE):
        from acvb_core.samples.catalogue import SAMPLES

        name = file.removeprefix(SAMPLE)
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
    if file.startswith(SAMPLE):
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
    sample = load_sample(arguments.file.removeprefix(SAMPLE))
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
    if arguments.column_labels is not None and relation.network is not None:
        told = "A network has one set of objects: give their labels as --labels, or use --domains two."
        raise ParameterError(told)
    for domain, given in (("rows", arguments.labels), ("cols", arguments.column_labels)):
        if given is not None:
            from acvb_core.data.relation_readers import load_labels

            labels = load_labels(given, relation, domain=domain)
            relation, lines = with_attributes(relation, labels, domain), [*lines, *labels.report.lines()]
    one_domain = relation.network is not None
    model = next((row for row in models if row.one_domain == one_domain), _USUAL[one_domain])
    return Source(relation, model, lines)
