"""`acvb experiment --paper`: the tables and figures of a paper made anew."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from acvb_core.cli.commands import INTERRUPTED, make_folder
from acvb_core.cli.interrupt import stop_on_signal
from acvb_core.cli.output import as_json
from acvb_core.cli.papers.kept_runs import (
    PartRuns,
    list_commands,
    list_runs,
    make_searches,
    name_part,
    read_full,
    remember_full,
)
from acvb_core.cli.progress import Progress
from acvb_core.cli.settings import list_typed, typed_settings
from acvb_core.core.errors import ParameterError
from acvb_core.core.papers import PaperTable, name_method
from acvb_core.core.protocols import Checkpoint
from acvb_core.engine.experiments.paper_calls import PaperCall
from acvb_core.engine.experiments.paper_claims_report import write_claims_page
from acvb_core.engine.experiments.paper_report import to_plain, write_report
from acvb_core.engine.experiments.papers import PaperLimits, PaperPart, PaperResult, list_tables, plan_part
from acvb_core.engine.run import StopRun
from acvb_core.store.files import replace_file
from acvb_core.views.paper_figures import DrawnFigure, draw_figures, list_links


def reproduce_paper(arguments: argparse.Namespace) -> int:
    """Make the tables and figures of a paper anew, and write them as a page; return the exit code."""
    tables = _choose_tables(arguments)
    data = None if arguments.data is None else Path(arguments.data)
    if data is not None and not data.is_dir():
        raise ParameterError(f"--data: there is no folder {arguments.data}.")
    out = make_folder(arguments)
    kept = None if out is None else out / "runs"
    with stop_on_signal() as checkpoint:
        try:
            parts = _plan_parts(arguments, tables, data, kept, checkpoint)
        except StopRun:
            return INTERRUPTED
        runs = list_runs(parts, kept)
        wanted = [one for one in runs if arguments.large or not one.part.is_slow]
        progress = Progress(sys.stderr, sum(one.n_missing for one in wanted), quiet=arguments.quiet)
        if not make_runs(wanted, _describe_call(arguments), arguments.seconds, progress, checkpoint):
            return INTERRUPTED
        remember_full(runs, kept)
    made = {id(one.part): one for one in runs}
    results, drawn = [], []
    for table in tables:
        own = [(part, made.get(id(part))) for part in parts if part.table is table]
        result = PaperResult(table, tuple((part, None if one is None else one.read()) for part, one in own))
        results.append(result)
        notes = {part.data: one.read_notes() for part, one in own if one is not None}
        drawn.append(draw_figures(arguments.paper, result, notes))
    made_by = list_commands(runs)
    page = write_report(arguments.paper, results, made_by, [list_links(own) for own in drawn])
    figures = as_json({"paper": arguments.paper, **to_plain(results, made_by)})
    if out is not None:
        _write_page(out, arguments.paper, page, figures, [one for own in drawn for one in own])
    sys.stdout.write(figures if arguments.json else page)
    return 0


def _choose_tables(arguments: argparse.Namespace) -> Sequence[PaperTable]:
    tables = list_tables(arguments.paper)
    only, on = ((typed or "").lower() for typed in (arguments.only, arguments.on))
    chosen = [table for table in tables if only in table.number.lower()]
    if not chosen:
        numbers = ", ".join(table.number for table in tables)
        raise ParameterError(f"{arguments.paper} has no table {arguments.only!r}; there are {numbers}.")
    on_data = [
        replace(one, data=tuple(data for data in one.data if on in data.name.lower())) for one in chosen
    ]
    if not any(table.data for table in on_data):
        names = ", ".join(dict.fromkeys(data.name for table in chosen for data in table.data))
        raise ParameterError(f"{arguments.paper} has no data {arguments.on!r}; there are {names}.")
    return [table for table in on_data if table.data]


def _plan_parts(
    arguments: argparse.Namespace,
    tables: Sequence[PaperTable],
    data: Path | None,
    kept: Path | None,
    checkpoint: Checkpoint,
) -> list[PaperPart]:
    """Return the tables on each of their data sets, after the searches that come before the runs."""
    parts = []
    before = read_full(kept)
    for table in tables:
        limits = _read_limits(arguments, table)
        for one in table.data:
            is_short = one.is_slow and not arguments.large and name_part(table, one.name) not in before
            if is_short and one.is_huge:
                continue
            # A quick look at everything is over within minutes: large data have one split.
            splits = limits.splits or (1 if limits.quick and one.is_slow else None)
            own = replace(limits, quick=limits.quick or is_short, splits=splits)
            searches = make_searches(table, one, data, own, kept, checkpoint)
            parts.append(plan_part(table, one, data, own, searches))
    return parts


def _read_limits(arguments: argparse.Namespace, table: PaperTable) -> PaperLimits:
    """Return what was typed to have less than the paper has.

    Raises ParameterError: a setting that the paper decides was typed.
    """
    methods = [name_method(method) for method in table.methods]
    typed = typed_settings(arguments, table.model, methods, several=True)
    ks, sweeps = typed.pop("k", []), typed.pop("max_sweeps", None)
    if typed:
        raise ParameterError(
            f"--paper decides about {', '.join(typed)}. Of the settings it takes --k and --max-sweeps alone."
        )
    return PaperLimits(arguments.quick, arguments.splits, tuple(ks if isinstance(ks, list) else [ks]), sweeps)


def _write_page(out: Path, paper: str, page: str, figures: str, drawn: Sequence[DrawnFigure]) -> None:
    """Write the page of a paper with its figures, and the claims of all papers in the folder."""
    _write_file(out / f"{paper}.md", page.encode())
    _write_file(out / f"{paper}.json", figures.encode())
    for one in drawn:
        _write_file(out / one.name, one.content)
    pages = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(out.glob("*.json"))}
    claims = write_claims_page({name: page for name, page in pages.items() if "claims" in page})
    _write_file(out / "claims.md", claims.encode())


def make_runs(
    parts: Sequence[PartRuns],
    call: PaperCall,
    seconds: float | None,
    progress: Progress,
    checkpoint: Checkpoint,
) -> bool:
    """Make the missing runs of all parts; return False where they were interrupted.

    The part that has had the least time goes on first, so that `seconds` are shared by all of them.
    """
    begin = time.process_time()
    while missing := [one for one in parts if one.missing is not None]:
        if seconds is not None and time.process_time() - begin >= seconds:
            break
        kept = min(missing, key=lambda one: one.seconds).missing
        if kept is None or not kept.make_next(call, progress, checkpoint):
            return False
    return True


def _describe_call(arguments: argparse.Namespace) -> PaperCall:
    return PaperCall(
        " ".join(["acvb experiment --paper", arguments.paper, *_typed_flags(arguments)]),
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        datetime.now(UTC).isoformat(),
    )


def _write_file(path: Path, content: bytes) -> None:
    with replace_file(path) as file:
        file.write(content)


def _typed_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that decide what is made anew; where the folders are is the user's own affair."""
    flags = ["--data DIR"] if arguments.data else []
    flags += ["--out OUT"] if arguments.out else []
    flags += [f"--only {arguments.only!r}"] if arguments.only else []
    flags += [f"--on {arguments.on!r}"] if arguments.on else []
    flags += [f"--splits {arguments.splits}"] if arguments.splits else []
    flags += [f"--seconds {arguments.seconds:g}"] if arguments.seconds else []
    flags += ["--large"] if arguments.large else []
    flags += [f"--{name.replace('_', '-')} {value}" for name, value in list_typed(arguments).items()]
    return [*flags, "--quick"] if arguments.quick else flags
