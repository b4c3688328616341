"""`acvb tune`: the steps of a method with which it predicts held-out documents best."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from acvb_core.cli.commands import INTERRUPTED, loaded, make_folder, nothing_yet, write
from acvb_core.cli.interrupt import stoppable
from acvb_core.cli.output_tuning import Tuned, tuning_json, tuning_text
from acvb_core.cli.progress import Progress
from acvb_core.cli.source import chosen_models
from acvb_core.core.errors import ParameterError
from acvb_core.engine.run import StopRun
from acvb_core.engine.trials import Tuning
from acvb_core.engine.tuning import plan_search, search
from acvb_core.registry import METHODS
from acvb_core.store.csv_text import csv_text


def tune(arguments: argparse.Namespace) -> int:
    """Look for the best steps; return the exit code."""
    with ExitStack() as kept:
        return _tune(arguments, kept)


def _tune(arguments: argparse.Namespace, kept: ExitStack) -> int:
    _check_model(arguments)
    source, values = loaded(arguments, [arguments.method], [arguments.seed], kept)
    out = make_folder(arguments.out)
    what = plan_search(
        source.data,
        arguments.method,
        arguments.trials,
        model=source.model.name,
        seed=arguments.seed,
        heldout=arguments.heldout,
        heldout_documents=arguments.heldout_documents,
        heldout_seed=arguments.heldout_seed,
        check_memory=arguments.check_memory,
        **values,
    )
    progress = Progress(sys.stderr, what.trials, quiet=arguments.quiet)
    found: Tuning | None = None
    try:
        with stoppable() as checkpoint:
            for tuning in search(what, watch=progress, checkpoint=checkpoint):
                found = tuning
    except StopRun:
        pass
    if found is None:
        return nothing_yet("trial was done")
    removed = []
    if out is not None:
        if found.best_result is not None:
            removed = write(found.best_result, arguments, out)
        (out / "trials.csv").write_text(csv_text(found.table()), encoding="utf-8", newline="")
    shown = tuning_json if arguments.json else tuning_text
    sys.stdout.write(shown(Tuned(source.data, what, found), source.lines, out, removed))
    return 0 if len(found.trials) == what.trials else INTERRUPTED


def _check_model(arguments: argparse.Namespace) -> None:
    """Raise ParameterError where no method of the model has steps."""
    model = chosen_models(arguments, [arguments.method])[0].name
    able = list(dict.fromkeys(row.model for row in METHODS if row.tuned))
    if model not in able:
        raise ParameterError(
            f"methods of model {model!r} have no steps to tune; those of {', '.join(able)} have."
        )
