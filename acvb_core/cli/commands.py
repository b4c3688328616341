"""`acvb fit` and `acvb compare`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from acvb_core.cli.interrupt import stoppable
from acvb_core.cli.output import comparison_json, comparison_text, result_json, result_text
from acvb_core.cli.progress import Progress
from acvb_core.cli.settings import given_values
from acvb_core.cli.source import chosen_model, load
from acvb_core.engine import fitting
from acvb_core.engine.problem import pose
from acvb_core.engine.run import StopRun
from acvb_core.engine.snapshot import Verdict
from acvb_core.errors import ParameterError
from acvb_core.registry import method_row
from acvb_core.store.export import csv_text, write_run

_NOTHING_YET = "interrupted before the first sweep; there is nothing to report"
_INTERRUPTED = 130


def fit(arguments: argparse.Namespace) -> int:
    """Fit one method; return the exit code."""
    model = chosen_model(arguments)
    row = method_row(model.name, arguments.method)
    values = given_values(arguments, model.name, [arguments.method])
    row.values(values)
    _check_seeds([arguments.seed])
    source = load(arguments, model)
    out = _folder(arguments.out)
    problem = pose(
        source.data,
        arguments.method,
        values,
        model=model.name,
        seed=arguments.seed,
        heldout=arguments.heldout,
        heldout_seed=arguments.heldout_seed,
    )
    try:
        with stoppable() as checkpoint:
            result = fitting.solve(problem, Progress(sys.stderr, quiet=arguments.quiet), checkpoint)
    except StopRun:
        sys.stderr.write(f"acvb: {_NOTHING_YET}\n")
        return _INTERRUPTED
    if out is not None:
        write_run(result, out)
    shown = result_json if arguments.json else result_text
    sys.stdout.write(shown(result, source.lines, out))
    return _INTERRUPTED if result.verdict is Verdict.STOPPED else 0


def compare(arguments: argparse.Namespace) -> int:
    """Fit several methods from several seeds; return the exit code."""
    model = chosen_model(arguments)
    rows = [method_row(model.name, method) for method in arguments.methods]
    values = given_values(arguments, model.name, arguments.methods)
    for row in rows:
        known = {parameter.name for parameter in row.parameters}
        row.values({name: value for name, value in values.items() if name in known})
    _check_seeds(arguments.seeds)
    source = load(arguments, model)
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
                model=model.name,
                heldout=arguments.heldout,
                heldout_seed=arguments.heldout_seed,
                **values,
            )
    except StopRun:
        sys.stderr.write(f"acvb: {_NOTHING_YET}\n")
        return _INTERRUPTED
    if out is not None:
        for result in comparison.results:
            settings = result.problem.settings
            write_run(result, out / f"{settings.method}-seed{settings.seed}")
        (out / "comparison.csv").write_text(csv_text(comparison.table()), encoding="utf-8", newline="")
    shown = comparison_json if arguments.json else comparison_text
    sys.stdout.write(shown(comparison, source.lines, out))
    planned = len(arguments.methods) * len(arguments.seeds)
    stopped = len(comparison.results) < planned or comparison.results[-1].verdict is Verdict.STOPPED
    return _INTERRUPTED if stopped else 0


def _folder(name: str | None) -> Path | None:
    """Make the folder for the results before the run, not to find out afterwards that it cannot be made."""
    if name is None:
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_seeds(seeds: list[int]) -> None:
    if min(seeds) < 0:
        raise ParameterError(f"--seed is {min(seeds)}; it must be at least 0.")
