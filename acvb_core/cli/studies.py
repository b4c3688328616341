"""The commands that compare methods over splits, and that search for steps."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from acvb_core import __version__
from acvb_core.cli.cluster import open_executor
from acvb_core.cli.commands import (
    INTERRUPTED,
    default_methods,
    load_source,
    make_folder,
    report_nothing,
    write,
)
from acvb_core.cli.output import as_json, data_text, format_facts, output_files, peak_memory_mb
from acvb_core.cli.progress import ProgressLine, stop_on_signal
from acvb_core.cli.source import Source, choose_models
from acvb_core.data.report import plural
from acvb_core.engine.experiments.plan import HELD_OUT, Plan, plan_experiment
from acvb_core.engine.experiments.report import TWO_WAYS, Experiment
from acvb_core.engine.history import TOO_GOOD
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.engine.study import make_runs
from acvb_core.engine.tuning import Search, Tuning, plan_search, refuse_untunable
from acvb_core.registry import method_row
from acvb_core.store.export import csv_text
from acvb_core.store.studies import ExperimentFolder, SearchFolder


def experiment(arguments: argparse.Namespace) -> int:
    """Run an experiment; return the exit code."""
    methods = arguments.methods or default_methods(arguments)
    if arguments.heldout is None:
        arguments.heldout = 0.0 if arguments.heldout_documents else HELD_OUT
    source, values = load_source(arguments, methods, [arguments.seed])
    out = make_folder(arguments)
    plan = plan_experiment(
        source.data,
        methods,
        model=source.model.name,
        splits=arguments.splits,
        seed=arguments.seed,
        heldout=arguments.heldout,
        heldout_documents=arguments.heldout_documents or 0.0,
        restarts=arguments.restarts,
        check_memory=arguments.check_memory,
        **values,
    )
    folder = None if out is None else ExperimentFolder(out, plan, __version__)
    known = now = Experiment(plan) if folder is None else folder.read()
    lines = list(source.lines)
    if known.rows:
        lines.append(f"{len(known.rows):,} of {plural(plan.n_runs, 'run')} were made before.")
    progress = ProgressLine(sys.stderr, plan.n_runs, quiet=arguments.quiet, over=len(known.rows))
    with open_executor(arguments) as executor, stop_on_signal() as poll:
        for latest in make_runs(plan, known, watch=progress, poll=poll, executor=executor):
            now = latest
            if folder is not None:
                folder.append(now.rows[-1])
            now.check_score(arguments.score)
    if not now.rows:
        return report_nothing("run was done")
    if folder is not None:
        folder.write_tables(now, arguments.score)
    shown = _experiment_json if arguments.json else _experiment_text
    sys.stdout.write(shown(source, plan, now, arguments.score, folder, lines))
    return 0 if now.is_complete else INTERRUPTED


def _experiment_json(
    source: Source, plan: Plan, now: Experiment, score: str, folder: ExperimentFolder | None, lines: list[str]
) -> str:
    return as_json(
        {
            "plan": plan.identity(),
            "runs": [
                {name: _plain(value) for name, value in row.items()} for row in now.table().to_dict("records")
            ],
            "score": score,
            "summary": now.summary(score).to_dict("records"),
            "conclusion": now.conclusion(score),
            "data": source.data.identity(),
            "peak_memory_mb": peak_memory_mb(),
            "report": lines,
            "out": folder and str(folder.folder),
        }
    )


def _plain(value: Any) -> Any:
    return None if value is pd.NA else value


def _experiment_text(
    source: Source, plan: Plan, now: Experiment, score: str, folder: ExperimentFolder | None, lines: list[str]
) -> str:
    table = now.summary(score)
    others = table.mask(table["best"])
    shown = pd.DataFrame(
        {
            "method": table["condition"],
            "runs": table["n"],
            "mean": [_mark_mean(row) for row in table.to_dict("records")],
            "sd": table["sd"],
            "from best": others["difference"],
            "95 % low": others["low"],
            "high": others["high"],
            "p": table["p"],
            "p (uncorrected)": table["p_uncorrected"],
            "p (ranks)": table["p_wilcoxon"],
            "CPU s": table["cpu_seconds"],
            "stability": table["stability"],
        }
    )
    text = data_text(source.data, lines)
    name = score.removeprefix("heldout_").replace("_", " ")
    text += f"Mean {name} of what is held out, over {plural(len(plan.seeds), 'split')}\n"
    text += shown.to_string(index=False, na_rep="-", float_format=lambda x: f"{x:,.3g}")
    text += (
        "\n* no difference from the best was found (p at least 0.05, adjusted for the number of pairs)\n"
        "p: corrected for training data that the splits share; p (uncorrected) and p (ranks) are about further splits "
        "of the same data. Methods that are equal on average over data sets are still called different on one data set "
        "in 7 to 13 % of cases.\n"
    )
    if (table["predicts_by"] == "samples").any():
        text += f"{TWO_WAYS}\n"
    text += "\n"
    text += f"{now.conclusion(score)}\n"
    failed = [row for row in now.rows if row.get("error")]
    if failed:
        text += format_facts(
            [(f"run {row['run']} failed", f"{row['condition']}: {row['error']}") for row in failed]
        )
    if folder is not None:
        text += f"\nwritten to {folder.folder}: runs.csv, summary.csv, summary.tex; the same command continues it\n"
    return text


def _mark_mean(row: dict[str, Any]) -> str:
    if row["n"] == 0:
        return "-  "
    return (
        f"{row['mean']:.4g}{'  ' if row['significant'] or not (row['best'] or pd.notna(row['p'])) else ' *'}"
    )


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
        (out / "trials.csv").write_text(csv_text(tuning.table(), exact=True), encoding="utf-8", newline="")
    printed = _search_json if arguments.json else _search_text
    sys.stdout.write(printed(source, planned, tuning, out, removed))
    return 0 if len(tuning.trials) >= planned.trials else INTERRUPTED


def _search_json(
    source: Source, planned: Search, tuning: Tuning, out: Path | None, removed: list[Path]
) -> str:
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


def _search_text(
    source: Source, planned: Search, tuning: Tuning, out: Path | None, removed: list[Path]
) -> str:
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
        text += f"\nwritten to {out}: trials.csv, and the best run; the same command continues with it\n"
    if removed:
        text += f"removed {', '.join(path.name for path in removed)}: left there by an earlier run\n"
    return text
