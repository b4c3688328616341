"""`acvb fit` and `acvb compare`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from acvb_core.cli.interrupt import stoppable
from acvb_core.cli.output import comparison_json, comparison_text, result_json, result_text
from acvb_core.cli.progress import Progress
from acvb_core.cli.settings import given_values
from acvb_core.cli.source import Source, chosen_models, load
from acvb_core.engine import fitting
from acvb_core.engine.problem import pose
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.engine.snapshot import Verdict
from acvb_core.errors import ParameterError
from acvb_core.registry import method_row
from acvb_core.rows import ModelRow
from acvb_core.store.export import csv_text, write_run
from acvb_core.store.export_links import write_links
from acvb_core.store.leftovers import remove_leftovers

_NOTHING_YET = "interrupted before the first sweep; there is nothing to report"
_INTERRUPTED = 130


def fit(arguments: argparse.Namespace) -> int:
    """Fit one method; return the exit code."""
    source, values = _loaded(arguments, [arguments.method], [arguments.seed])
    out = _folder(arguments.out)
    problem = pose(
        source.data,
        arguments.method,
        values,
        model=source.model.name,
        seed=arguments.seed,
        heldout=arguments.heldout,
        heldout_seed=arguments.heldout_seed,
        restarts=arguments.restarts,
    )
    try:
        with stoppable() as checkpoint:
            result = fitting.solve(problem, Progress(sys.stderr, quiet=arguments.quiet), checkpoint)
    except StopRun:
        sys.stderr.write(f"acvb: {_NOTHING_YET}\n")
        return _INTERRUPTED
    removed = [] if out is None else _write(result, arguments, out)
    shown = result_json if arguments.json else result_text
    sys.stdout.write(shown(result, source.lines, out, removed))
    return _INTERRUPTED if result.stopped else 0


def compare(arguments: argparse.Namespace) -> int:
    """Fit several methods from several seeds; return the exit code."""
    source, values = _loaded(arguments, arguments.methods, arguments.seeds)
    out = _folder(arguments.out)
    progress = Progress(sys.stderr, len(arguments.methods) * len(arguments.seeds), quiet=arguments.quiet)
    try:
        with stoppable() as checkpoint:
            comparison = fitting.compare(
                source.data,
                arguments.methods,
                seeds=arguments.seeds,
                watch=progress,
                checkpoint=checkpoint,
                model=source.model.name,
                heldout=arguments.heldout,
                heldout_seed=arguments.heldout_seed,
                **values,
            )
    except StopRun:
        sys.stderr.write(f"acvb: {_NOTHING_YET}\n")
        return _INTERRUPTED
    removed: list[Path] = []
    if out is not None:
        for result in comparison.results:
            settings = result.problem.settings
            removed += _write(result, arguments, out / f"{settings.method}-seed{settings.seed}")
        (out / "comparison.csv").write_text(csv_text(comparison.table()), encoding="utf-8", newline="")
    shown = comparison_json if arguments.json else comparison_text
    sys.stdout.write(shown(comparison, source.lines, out, removed))
    planned = len(arguments.methods) * len(arguments.seeds)
    stopped = len(comparison.results) < planned or comparison.results[-1].verdict is Verdict.STOPPED
    return _INTERRUPTED if stopped else 0


def _loaded(
    arguments: argparse.Namespace, methods: list[str], seeds: list[int]
) -> tuple[Source, dict[str, Any]]:
    """Load the data; return them, with the settings that were typed for these methods of their model.

    What is wrong with the settings is said before a large file is read, unless only the file can say which model is
    meant.
    """
    _check_seeds(seeds)
    _check_links(arguments)
    models = chosen_models(arguments)
    wrong: list[ParameterError] = []
    for model in models:
        try:
            _values(arguments, model, methods)
        except ParameterError as error:
            wrong.append(error)
    if len(wrong) == len(models):
        raise wrong[0]
    source = load(arguments, models)
    return source, _values(arguments, source.model, methods)


def _values(arguments: argparse.Namespace, model: ModelRow, methods: list[str]) -> dict[str, Any]:
    """Return the settings that were typed, checked for each of some methods of a model."""
    rows = [method_row(model.name, method) for method in methods]
    values = given_values(arguments, model.name, methods)
    for row in rows:
        known = {parameter.name for parameter in row.parameters}
        row.values({name: value for name, value in values.items() if name in known})
    return values


def _folder(name: str | None) -> Path | None:
    """Make the folder for the results before the run, not to find out afterwards that it cannot be made."""
    if name is None:
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_links(arguments: argparse.Namespace) -> None:
    if arguments.links is not None and arguments.links < 1:
        raise ParameterError(f"--links is {arguments.links}; it must be at least 1.")
    if arguments.links is not None and arguments.out is None:
        raise ParameterError("--links writes files, but there is no folder for them. Give one with --out.")


def _write(result: Result, arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """Write a run to a folder; return what an earlier run had left there and was removed, lest it be taken for this."""
    written = write_run(result, folder)
    if arguments.links is not None:
        written += write_links(result, arguments.links, folder)
    # A file of such a name may be what was read: the table of an earlier run as data, or as known labels.
    read = [Path(value) for value in vars(arguments).values() if isinstance(value, str)]
    return remove_leftovers(folder, [*written, *read])


def _check_seeds(seeds: list[int]) -> None:
    if min(seeds) < 0:
        raise ParameterError(f"--seed is {min(seeds)}; it must be at least 0.")
