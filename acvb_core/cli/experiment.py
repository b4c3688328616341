"""`acvb experiment`: several methods and settings over the same splits, with tests of their differences."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from acvb_core import __version__
from acvb_core.cli.cluster import open_executor
from acvb_core.cli.commands import INTERRUPTED, default_methods, load_source, make_folder, report_nothing
from acvb_core.cli.interrupt import stop_on_signal
from acvb_core.cli.output import as_json, data_text, format_facts, peak_memory_mb
from acvb_core.cli.progress import Progress
from acvb_core.cli.source import Source
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Checkpoint
from acvb_core.data.report import plural
from acvb_core.engine.experiments.paper_report import to_plain, write_claims_page, write_report
from acvb_core.engine.experiments.papers import PaperResult, list_tables, plan_part
from acvb_core.engine.experiments.plan import HELD_OUT, Plan, plan_experiment
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.experiments.run import run_experiment
from acvb_core.store.files import replace_file
from acvb_core.store.plans.experiments import ExperimentFolder


def experiment(arguments: argparse.Namespace) -> int:
    """Run an experiment, or make the tables of a paper anew; return the exit code."""
    if arguments.paper is not None:
        return reproduce_paper(arguments)
    if arguments.file is None:
        raise ParameterError(
            "Name the FILE with the data, or a paper with --paper (see acvb experiment --help)."
        )
    methods = arguments.methods or default_methods(arguments)
    if arguments.heldout is None:
        arguments.heldout = 0.0 if arguments.heldout_documents else HELD_OUT
    source, values = load_source(arguments, methods, [arguments.seed])
    plan = plan_experiment(
        source.data,
        methods,
        model=source.model.name,
        splits=arguments.splits or 10,
        seed=arguments.seed,
        heldout=arguments.heldout,
        heldout_documents=arguments.heldout_documents or 0.0,
        restarts=arguments.restarts,
        check_memory=arguments.check_memory,
        **values,
    )
    folder = None if arguments.out is None else ExperimentFolder(Path(arguments.out), plan, __version__)
    known = now = Experiment(plan) if folder is None else folder.read()
    lines = list(source.lines)
    if known.rows:
        lines.append(f"{len(known.rows):,} of {plural(plan.n_runs, 'run')} were made before.")
    progress = Progress(sys.stderr, plan.n_runs, quiet=arguments.quiet, over=len(known.rows))
    with open_executor(arguments) as executor, stop_on_signal() as checkpoint:
        for latest in run_experiment(plan, known, watch=progress, checkpoint=checkpoint, executor=executor):
            now = latest
            if folder is not None:
                folder.append(now.rows[-1])
            now.check_score(arguments.score)
    if not now.rows:
        return report_nothing("run was done")
    if folder is not None:
        folder.write_tables(now, arguments.score)
    shown = _json if arguments.json else _text
    sys.stdout.write(shown(source, plan, now, arguments.score, folder, lines))
    return 0 if now.is_complete else INTERRUPTED


def reproduce_paper(arguments: argparse.Namespace) -> int:
    """Make the tables of a paper anew, and write them as a page and as figures; return the exit code."""
    tables = list_tables(arguments.paper)
    if arguments.only:
        tables = [table for table in tables if arguments.only.lower() in table.number.lower()]
        if not tables:
            numbers = ", ".join(table.number for table in list_tables(arguments.paper))
            raise ParameterError(f"{arguments.paper} has no table {arguments.only!r}; there are {numbers}.")
    data = None if arguments.data is None else Path(arguments.data)
    if data is not None and not data.is_dir():
        raise ParameterError(f"--data: there is no folder {arguments.data}.")
    parts = [
        plan_part(
            table,
            one,
            data,
            quick=arguments.quick or (one.is_large and not arguments.large),
            splits=arguments.splits,
        )
        for table in tables
        for one in table.data
    ]
    out = make_folder(arguments.out)
    plans = {_digest(part.plan): part.plan for part in parts if part.plan is not None}
    progress = Progress(sys.stderr, sum(plan.n_runs for plan in plans.values()), quiet=arguments.quiet)
    with stop_on_signal() as checkpoint:
        made = _make_runs(
            plans,
            None if out is None else out / f"{arguments.paper}-runs",
            arguments.seconds,
            progress,
            checkpoint,
        )
    if made is None:
        return INTERRUPTED
    done = [(part, made[_digest(part.plan)] if part.plan is not None else None) for part in parts]
    results = [PaperResult(table, tuple(one for one in done if one[0].table is table)) for table in tables]
    facts = {
        "command": " ".join(["acvb experiment --paper", arguments.paper, *_typed_flags(arguments)]),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "seconds": f"{sum(map(_count_seconds, made.values())):,.0f} s",
    }
    page = write_report(arguments.paper, results, facts)
    figures = as_json({"paper": arguments.paper, **facts, "tables": [to_plain(result) for result in results]})
    if out is not None:
        _write_file(out / f"{arguments.paper}.md", page)
        _write_file(out / f"{arguments.paper}.json", figures)
        pages = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(out.glob("*.json"))}
        _write_file(out / "claims.md", write_claims_page(pages))
    sys.stdout.write(figures if arguments.json else page)
    return 0


def _make_runs(
    plans: Mapping[str, Plan],
    out: Path | None,
    seconds: float | None,
    progress: Progress,
    checkpoint: Checkpoint,
) -> dict[str, Experiment] | None:
    """Return the runs of all plans, by their digests; None where they were interrupted.

    The plan that has had the least time goes on first, so that `seconds` are shared by all of them.
    """
    folders = (
        {name: ExperimentFolder(out / name, plan, __version__) for name, plan in plans.items()} if out else {}
    )
    made = {name: folders[name].read() if folders else Experiment(plan) for name, plan in plans.items()}
    begin = time.process_time()
    while missing := [name for name in plans if not made[name].is_complete]:
        if seconds is not None and time.process_time() - begin >= seconds:
            break
        name = min(missing, key=lambda one: _count_seconds(made[one]))
        latest = next(run_experiment(plans[name], made[name], watch=progress, checkpoint=checkpoint), None)
        if latest is None:
            return None
        made[name] = latest
        if folders:
            folders[name].append(latest.rows[-1])
    return made


def _count_seconds(made: Experiment) -> float:
    return sum(row.get("cpu_seconds") or 0.0 for row in made.rows)


def _digest(plan: Plan) -> str:
    """Return a short name of a plan, the same for plans with the same runs."""
    identity = json.dumps(plan.identity(), sort_keys=True, default=str)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _write_file(path: Path, text: str) -> None:
    with replace_file(path) as file:
        file.write(text.encode())


def _typed_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that decide what is made anew; the folder of the data is the user's own affair."""
    flags = ["--data DIR"] if arguments.data else []
    flags += [f"--only {arguments.only!r}"] if arguments.only else []
    flags += [f"--splits {arguments.splits}"] if arguments.splits else []
    flags += [f"--seconds {arguments.seconds:g}"] if arguments.seconds else []
    flags += ["--large"] if arguments.large else []
    return [*flags, "--quick"] if arguments.quick else flags


def _json(
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


def _text(
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
        "\n* not significantly worse than the best (p at least 0.05, adjusted for the number of pairs)\n\n"
    )
    text += f"{now.conclusion(score)}\n"
    failed = [row for row in now.rows if row.get("error")]
    if failed:
        text += format_facts(
            [(f"run {row['run']} failed", f"{row['condition']}: {row['error']}") for row in failed]
        )
    if folder is not None:
        text += f"\nwritten to {folder.folder}: runs.csv, summary.csv, summary.tex; the same command goes on with it\n"
    return text


def _mark_mean(row: dict[str, Any]) -> str:
    if row["n"] == 0:
        return "-  "
    return f"{row['mean']:.4g}{' *' if row['n'] > 1 and not row['significant'] else '  '}"
