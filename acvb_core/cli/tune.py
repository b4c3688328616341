"""`acvb tune`: the steps of a method with which it predicts held-out documents best."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from acvb_core import __version__
from acvb_core.cli.cluster import open_executor
from acvb_core.cli.commands import INTERRUPTED, load_source, make_folder, report_nothing, write
from acvb_core.cli.interrupt import stop_on_signal
from acvb_core.cli.output import as_json, data_text, format_facts, output_files, peak_memory_mb
from acvb_core.cli.progress import ProgressLine
from acvb_core.cli.source import Source, choose_models
from acvb_core.data.report import plural
from acvb_core.engine.race_report import TOO_GOOD
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.engine.study import make_runs
from acvb_core.engine.tuning import Search, Tuning, plan_search, refuse_untunable
from acvb_core.registry import method_row
from acvb_core.store.export import csv_text
from acvb_core.store.studies import SearchFolder


def tune(arguments: argparse.Namespace) -> int:
    """Look for the best steps; return the exit code."""
    refuse_untunable(choose_models(arguments, [arguments.method])[0].name)
    source, values = load_source(arguments, [arguments.method], [arguments.seed])
    out = make_folder(arguments)
    planned = plan_search(
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
    folder = None if out is None else SearchFolder(out, planned, __version__)
    tuning = Tuning(planned.space.names) if folder is None else folder.read()
    if tuning.trials:
        known = f"{len(tuning.trials):,} of {plural(planned.trials, 'trial')} were made before."
        source = replace(source, lines=[*source.lines, known])
    progress = ProgressLine(sys.stderr, planned.trials, quiet=arguments.quiet, over=len(tuning.trials))
    best: Result | None = None
    with suppress(StopRun), open_executor(arguments) as executor, stop_on_signal() as poll:
        for latest in make_runs(planned, tuning, watch=progress, poll=poll, executor=executor):
            tuning = latest
            if folder is not None:
                folder.keep(tuning)
        if folder is not None:
            best = folder.read_best(tuning, poll)
    if not tuning.trials:
        return report_nothing("trial was done")
    removed = [] if best is None or out is None else write(best, arguments, out)
    if out is not None:
        (out / "trials.csv").write_text(csv_text(tuning.table()), encoding="utf-8", newline="")
    printed = _json if arguments.json else _text
    sys.stdout.write(printed(source, planned, tuning, out, removed))
    return 0 if len(tuning.trials) >= planned.trials else INTERRUPTED


def _json(source: Source, planned: Search, tuning: Tuning, out: Path | None, removed: list[Path]) -> str:
    best = tuning.best_trial
    return as_json(
        {
            "model": planned.model,
            "method": planned.method,
            "seed": planned.seed,
            "settings": dict(planned.fixed),
            **planned.split,
            "trials": tuning.table().to_dict("records"),
            "best": tuning.best,
            "best_trial": best and best.number,
            "best_perplexity": best and best.perplexity,
            "default_perplexity": tuning.trials[0].perplexity,
            "data": source.data.identity(),
            "peak_memory_mb": peak_memory_mb(),
            "report": source.lines,
            **output_files(out, removed),
        }
    )


def _text(source: Source, planned: Search, tuning: Tuning, out: Path | None, removed: list[Path]) -> str:
    row, best = method_row(planned.model, planned.method), tuning.best_trial
    table = tuning.table().to_string(index=False, na_rep="-", float_format=lambda x: f"{x:,.5g}")
    text = data_text(source.data, source.lines)
    text += f"Steps of {row.label}, by the perplexity of what is held out\n{table}\n\n"
    if best is None:
        text += "No trial came to a perplexity.\n"
    else:
        first = tuning.trials[0].perplexity
        flags = {parameter.name: parameter.flag for parameter in row.parameters}
        typed = " ".join(f"{flags[name]} {value!r}" for name, value in tuning.best.items())
        summary = f"trial {best.number}, perplexity {best.perplexity:,.1f}; the defaults {first:,.1f}"
        text += format_facts([("best", summary), ("", TOO_GOOD), ("its steps", typed)])
    if out is not None:
        text += f"\nwritten to {out}: trials.csv, and the best run; the same command goes on with it\n"
    if removed:
        text += f"removed {', '.join(path.name for path in removed)}: left there by an earlier run\n"
    return text
