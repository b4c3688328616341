"""The commands that fit one method, or compare several."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import acvb_core
from acvb_core import registry
from acvb_core.cli.arguments import reader_options
from acvb_core.cli.cluster import open_executor
from acvb_core.cli.output import comparison_json, comparison_text, result_json, result_text
from acvb_core.cli.progress import ProgressLine, stop_on_signal
from acvb_core.cli.settings import typed_settings
from acvb_core.cli.source import SAMPLE, Source, choose_models, load
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.spec import SHARDS, ModelSpec
from acvb_core.data.relation import Relation
from acvb_core.data.report import Fact, ReadReport, plural
from acvb_core.engine import fitting
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.registry import method_row
from acvb_core.store.datasets import MOST_ORIGINAL
from acvb_core.store.export import OWN_LINKS_FILE, RESULT_FILE, csv_text, remove_leftovers, write_run
from acvb_core.store.files import OUTPUT, StoreLock
from acvb_core.store.results import UNFINISHED, UnfinishedRun

INTERRUPTED = 130


def fit(arguments: argparse.Namespace) -> int:
    """Fit one method; return the exit code."""
    start = None if arguments.start is None else acvb_core.load_model(Path(arguments.start))
    method = arguments.method or default_methods(arguments)[0]
    source, values = load_source(arguments, [method], [arguments.seed], start)
    out = make_folder(arguments)
    prepared = prepare_run(
        source.data,
        method,
        values,
        seed=arguments.seed,
        restarts=arguments.restarts,
        start=start,
        **run_options(arguments, source),
    )
    prepared = replace(prepared, check_memory=arguments.check_memory)
    lines = [*source.lines, *_added_words(prepared, source)]
    unfinished = (
        None if out is None or start is not None else UnfinishedRun(out, prepared, acvb_core.__version__)
    )
    resume = None if unfinished is None else unfinished.read()
    if resume is not None:
        lines.append(f"Continued the run that was interrupted after {plural(resume.last.sweep, 'sweep')}.")
    progress = ProgressLine(sys.stderr, quiet=arguments.quiet)
    try:
        with open_executor(arguments) as executor, stop_on_signal() as poll, progress.keep_telling():
            keep = None if unfinished is None else unfinished.keep
            result = fitting.solve(prepared, progress, poll, resume=resume, keep=keep, executor=executor)
    except StopRun:
        return report_nothing()
    facts = tuple(Fact("line", 1, line) for line in source.lines)
    options = {} if arguments.file.startswith(SAMPLE) else reader_options(arguments, source.model.kind)
    result = replace(result, report=ReadReport(Path(arguments.file).name, facts, options))
    removed = [] if out is None else write(result, arguments, out, whole=True)
    if unfinished is not None:
        if unfinished.fault is not None:
            lines.append(f"The run could not be kept while it went on: {unfinished.fault}")
        if result.was_stopped:
            lines.append(f"Stopped. The same command continues it, from {UNFINISHED}.")
        else:
            unfinished.remove()
    shown = result_json if arguments.json else result_text
    sys.stdout.write(shown(result, lines, out, removed))
    return INTERRUPTED if result.was_stopped else 0


def _added_words(prepared: PreparedRun, source: Source) -> list[str]:
    """Return a line on the words that the topics to continue from add, where they add some."""
    added = 0 if prepared.data is source.data else prepared.data.n_words - source.data.n_words
    if not added:
        return []
    return [f"{plural(added, 'word')} of the topics that these documents do not have: kept with theirs."]


def compare(arguments: argparse.Namespace) -> int:
    """Fit several methods from several seeds; return the exit code."""
    methods = arguments.methods or default_methods(arguments)
    source, values = load_source(arguments, methods, arguments.seeds)
    out = make_folder(arguments)
    planned = len(methods) * len(arguments.seeds)
    progress = ProgressLine(sys.stderr, planned, quiet=arguments.quiet)
    try:
        with open_executor(arguments) as executor, stop_on_signal() as poll, progress.keep_telling():
            comparison = fitting.compare(
                source.data,
                methods,
                seeds=arguments.seeds,
                watch=progress,
                poll=poll,
                executor=executor,
                check_memory=arguments.check_memory,
                **run_options(arguments, source),
                **values,
            )
    except StopRun:
        return report_nothing()
    removed: list[Path] = []
    if out is not None:
        for result in comparison.results:
            settings = result.prepared.spec
            removed += write(result, arguments, out / f"{settings.method}-seed{settings.seed}")
        (out / "comparison.csv").write_text(
            csv_text(comparison.table(), exact=True), encoding="utf-8", newline=""
        )
    shown = comparison_json if arguments.json else comparison_text
    sys.stdout.write(shown(comparison, source.lines, out, removed))
    stopped = len(comparison.results) < planned or any(one.was_stopped for one in comparison.results)
    return INTERRUPTED if stopped else 0


def default_methods(arguments: argparse.Namespace) -> list[str]:
    """Return the methods that are compared where none was typed; the first is the one that is fitted."""
    return registry.default_methods(choose_models(arguments)[0].name)


def report_nothing(first: str = "sweep") -> int:
    """Say that it was interrupted before the first sweep, or trial, was done; return the exit code."""
    sys.stderr.write(f"acvb: interrupted before the first {first}; there is nothing to report\n")
    return INTERRUPTED


def load_source(
    arguments: argparse.Namespace,
    methods: list[str],
    seeds: list[int],
    start: acvb_core.TrainedTopics | None = None,
) -> tuple[Source, dict[str, Any]]:
    """Load the data; return them, with the settings that were typed for these methods of their model.

    What is wrong with the settings is said before a large file is read, unless only the file can say which model is
    meant. Texts for topics to continue from are cut as theirs were, and there are as many topics, unless something else
    was typed.
    """
    _check_flags(arguments, seeds)
    models = choose_models(arguments, methods)
    wrong: list[ParameterError] = []
    cut_up = getattr(arguments, "on_disk", None) is not None
    for model in models:
        try:
            cut_up |= bool(_values(arguments, model, methods).get(SHARDS))
        except ParameterError as error:
            wrong.append(error)
    if len(wrong) == len(models):
        raise wrong[0]
    cut = None if start is None else start.tokeniser
    cutter = None if cut is None else lambda: cut
    rows = [method_row(models[0].name, method) for method in methods]
    streamed = all(row.streams or (row.shards and cut_up) for row in rows)
    source = load(arguments, models, cutter, streamed=streamed)
    values = _values(arguments, source.model, methods)
    return source, values if start is None else {"k": start.n_topics, **values}


def _values(arguments: argparse.Namespace, model: ModelSpec, methods: list[str]) -> dict[str, Any]:
    """Return the settings that were typed, checked for each of some methods of a model."""
    rows = [method_row(model.name, method) for method in methods]
    values = typed_settings(arguments, model.name, methods, several=getattr(arguments, "several", False))
    for row, (name, typed) in product(rows, values.items()):
        if any(parameter.name == name for parameter in row.parameters):
            for value in typed if isinstance(typed, list) else [typed]:
                row.values({name: value})
    return values


def make_folder(arguments: argparse.Namespace) -> Path | None:
    """Return the folder for the results; it is made before the run, and no other process writes there meanwhile.

    Raises StoreError: another process writes there now.
    """
    if arguments.out is None:
        return None
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    arguments.cleanup.callback(StoreLock(folder, OUTPUT).release)
    return folder


def run_options(arguments: argparse.Namespace, source: Source) -> dict[str, Any]:
    """Return what all runs of a command share."""
    return {
        "model": source.model.name,
        "heldout": arguments.heldout,
        "heldout_seed": arguments.heldout_seed,
        "heldout_documents": arguments.heldout_documents or 0.0,
    }


def _check_flags(arguments: argparse.Namespace, seeds: list[int]) -> None:
    """Raise ParameterError where flags make no sense, alone or together."""
    links = getattr(arguments, "links", None)
    for flag, seed in (("--seed", min(seeds)), ("--heldout-seed", arguments.heldout_seed)):
        if seed < 0:
            raise ParameterError(f"{flag} is {seed}; it must be at least 0.")
    if links is not None and links < 1:
        raise ParameterError(f"--links is {links}; it must be at least 1.")
    if links is not None and arguments.out is None:
        raise ParameterError("--links writes files, but there is no folder for them. Give one with --out.")
    if arguments.heldout and arguments.heldout_documents:
        raise ParameterError(
            "--heldout holds out words of each document, --heldout-documents whole documents; give one of the two."
        )


def write(result: Result, arguments: argparse.Namespace, folder: Path, *, whole: bool = False) -> list[Path]:
    """Write a run to a folder, with the files that its model asks for; return the leftovers that were removed.

    `whole`: also as a file with its data, unless these are kept on disk.
    """
    further = result.prepared.model_row.part("text").write_further_files
    files = [*write_run(result, folder), *further(result, folder, arguments)]
    if whole:
        files += _write_own_links(result, Path(arguments.file), folder)
    if whole and not result.prepared.model_row.on_disk(result.prepared.data):
        result.save(folder / RESULT_FILE)
        files.append(folder / RESULT_FILE)
    # A file of such a name may be what was read: the table of an earlier run as data, or as known labels.
    read = [Path(value) for value in vars(arguments).values() if isinstance(value, str)]
    return remove_leftovers(folder, [*files, *read])


def _write_own_links(result: Result, links: Path, folder: Path) -> list[Path]:
    """Write the list of links that was read with the clusters of both ends; nothing of other or larger files."""
    path = folder / OWN_LINKS_FILE
    is_list = isinstance(result.prepared.data, Relation) and links.is_file()
    if not is_list or links.stat().st_size > MOST_ORIGINAL or links.resolve() == path.resolve():
        return []
    from acvb_core.report.original import add_results

    try:
        text = csv_text(add_results(result, links))
    except DataError:  # it was read without an error, so it is a matrix or a graph
        return []
    path.write_text(text, encoding="utf-8", newline="")
    return [path]
