"""`acvb experiment --paper`: the tables and figures of a paper made anew."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from acvb_core import __version__
from acvb_core.cli.commands import INTERRUPTED, make_folder
from acvb_core.cli.interrupt import stop_on_signal
from acvb_core.cli.output import as_json
from acvb_core.cli.progress import Progress
from acvb_core.core.errors import ParameterError
from acvb_core.core.papers import PaperTable
from acvb_core.core.protocols import Checkpoint
from acvb_core.engine.experiments.paper_calls import CommandRuns, PaperCall, count_runs
from acvb_core.engine.experiments.paper_courses import CourseRecorder, RunNotes, describe_end, list_quantities
from acvb_core.engine.experiments.paper_report import to_plain, write_claims_page, write_report
from acvb_core.engine.experiments.papers import PaperPart, PaperResult, list_tables, plan_part
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.experiments.run import run_experiment
from acvb_core.registry import model_row
from acvb_core.store.files import replace_file
from acvb_core.store.plans.experiments import ExperimentFolder
from acvb_core.views.paper_figures import DrawnFigure, draw_figures, list_links

#: What was kept of the runs of a plan, in its folder.
_NOTES = "notes.jsonl"


def reproduce_paper(arguments: argparse.Namespace) -> int:
    """Make the tables and figures of a paper anew, and write them as a page; return the exit code."""
    tables = _choose_tables(arguments)
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
        if arguments.large or not one.is_huge
    ]
    out = make_folder(arguments.out)
    plans = _list_plans(parts, None if out is None else out / f"{arguments.paper}-runs")
    progress = Progress(sys.stderr, sum(one.plan.n_runs for one in plans.values()), quiet=arguments.quiet)
    with stop_on_signal() as checkpoint:
        if not _make_runs(plans, _describe_call(arguments), arguments.seconds, progress, checkpoint):
            return INTERRUPTED
    done = [(part, plans[_digest(part.plan)] if part.plan is not None else None) for part in parts]
    results, drawn = [], []
    for table in tables:
        own = [(part, made) for part, made in done if part.table is table]
        result = PaperResult(
            table, tuple((part, None if made is None else made.describe()) for part, made in own)
        )
        notes = {part.data: made.notes for part, made in own if made is not None}
        results.append(result)
        drawn.append(draw_figures(arguments.paper, result, notes))
    made_by = _list_commands(plans.values())
    page = write_report(arguments.paper, results, made_by, [list_links(own) for own in drawn])
    figures = as_json({"paper": arguments.paper, **to_plain(results, made_by)})
    if out is not None:
        _write_page(out, arguments.paper, page, figures, [one for own in drawn for one in own])
    sys.stdout.write(figures if arguments.json else page)
    return 0


def _choose_tables(arguments: argparse.Namespace) -> Sequence[PaperTable]:
    tables = list_tables(arguments.paper)
    if not arguments.only:
        return tables
    chosen = [table for table in tables if arguments.only.lower() in table.number.lower()]
    if not chosen:
        numbers = ", ".join(table.number for table in tables)
        raise ParameterError(f"{arguments.paper} has no table {arguments.only!r}; there are {numbers}.")
    return chosen


def _write_page(out: Path, paper: str, page: str, figures: str, drawn: Sequence[DrawnFigure]) -> None:
    """Write the page of a paper with its figures, and the claims of all papers in the folder."""
    _write_file(out / f"{paper}.md", page.encode())
    _write_file(out / f"{paper}.json", figures.encode())
    for one in drawn:
        _write_file(out / one.name, one.content)
    pages = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(out.glob("*.json"))}
    claims = write_claims_page({name: page for name, page in pages.items() if "claims" in page})
    _write_file(out / "claims.md", claims.encode())


@dataclass(eq=False)
class PlannedRuns:
    """A plan, its runs so far, what was kept of them for the figures, and where they are stored."""

    plan: Plan
    tables: list[PaperTable]  #: that show them
    experiment: Experiment
    notes: dict[int, RunNotes] = field(default_factory=dict)
    folder: ExperimentFolder | None = None

    def record(self, watch: Progress) -> CourseRecorder:
        """Return a watcher that keeps what the figures need."""
        figures = [figure for table in self.tables for figure in table.figures]
        pictured = any(figure.kind == "answers" for figure in figures)
        keep = model_row(self.plan.model.name).part("papers.pictures").keep_answer if pictured else None
        quantities = dict.fromkeys([*list_quantities(figures), "lower_bound", "pseudo_loo"])
        return CourseRecorder(watch, tuple(quantities), keep)

    def describe(self) -> Experiment:
        """Return the runs so far, with what their courses say of their ends."""
        rows = [
            {**row, **describe_end(row["verdict"], self.notes.get(row["run"], {}).get("courses", {}))}
            for row in self.experiment.rows
        ]
        return Experiment(self.plan, tuple(rows))

    def add(self, latest: Experiment, recorder: CourseRecorder, call: PaperCall) -> None:
        """Add the last run of an experiment, what was recorded of it, and the call that made it."""
        row = {**latest.rows[-1], **recorder.read_facts()}
        self.experiment = self.experiment.with_row(row)
        note = {"run": row["run"], "call": asdict(call), "courses": recorder.read_courses()}
        if row["split"] == 1:
            note["answers"] = recorder.read_answers()
        self.notes[row["run"]] = note
        if self.folder is not None:  # the note first: a run that has none would be one of unknown origin
            with (self.folder.folder / _NOTES).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(note) + "\n")
            self.folder.append(row)


def _list_plans(parts: Sequence[PaperPart], out: Path | None) -> dict[str, PlannedRuns]:
    """Return each plan once, by its digest, with the runs that were made before."""
    plans: dict[str, PlannedRuns] = {}
    for part in parts:
        if part.plan is None:
            continue
        name = _digest(part.plan)
        if name not in plans:
            folder = None if out is None else ExperimentFolder(out / name, part.plan, __version__)
            made = Experiment(part.plan) if folder is None else folder.read()
            notes = {} if folder is None else _read_notes(folder.folder / _NOTES)
            plans[name] = PlannedRuns(part.plan, [], made, notes, folder)
        plans[name].tables.append(part.table)
    return plans


def _read_notes(path: Path) -> dict[int, RunNotes]:
    """Return what was kept of each run; a last line that was cut off is removed."""
    if not path.exists():
        return {}
    stored = path.read_bytes()
    whole, _, rest = stored.rpartition(b"\n")
    if rest:
        path.write_bytes(stored[: len(stored) - len(rest)])
    notes = [json.loads(line) for line in whole.splitlines()]
    return {int(note["run"]): note for note in notes}


def _make_runs(
    plans: Mapping[str, PlannedRuns],
    call: PaperCall,
    seconds: float | None,
    progress: Progress,
    checkpoint: Checkpoint,
) -> bool:
    """Make the missing runs of all plans; return False where they were interrupted.

    The plan that has had the least time goes on first, so that `seconds` are shared by all of them.
    """
    begin = time.process_time()
    while missing := [made for made in plans.values() if not made.experiment.is_complete]:
        if seconds is not None and time.process_time() - begin >= seconds:
            break
        made = min(missing, key=lambda one: _count_seconds(one.experiment))
        recorder = made.record(progress)
        runs = run_experiment(made.plan, made.experiment, watch=recorder, checkpoint=checkpoint)
        latest = next(runs, None)
        if latest is None:
            return False
        made.add(latest, recorder, call)
    return True


def _count_seconds(made: Experiment) -> float:
    return sum(row.get("cpu_seconds") or 0.0 for row in made.rows)


def _list_commands(plans: Iterable[PlannedRuns]) -> list[CommandRuns]:
    """Return the commands that made the runs of plans."""
    made = []
    for one in plans:
        for row in one.experiment.rows:
            call = one.notes.get(row["run"], {}).get("call")
            made.append((None if call is None else PaperCall(**call), row.get("cpu_seconds") or 0.0))
    return count_runs(made)


def _describe_call(arguments: argparse.Namespace) -> PaperCall:
    return PaperCall(
        " ".join(["acvb experiment --paper", arguments.paper, *_typed_flags(arguments)]),
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        datetime.now(UTC).isoformat(),
    )


def _digest(plan: Plan) -> str:
    """Return a short name of a plan, the same for plans with the same runs."""
    identity = json.dumps(plan.identity(), sort_keys=True, default=str)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _write_file(path: Path, content: bytes) -> None:
    with replace_file(path) as file:
        file.write(content)


def _typed_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that decide what is made anew; where the folders are is the user's own affair."""
    flags = ["--data DIR"] if arguments.data else []
    flags += ["--out OUT"] if arguments.out else []
    flags += [f"--only {arguments.only!r}"] if arguments.only else []
    flags += [f"--splits {arguments.splits}"] if arguments.splits else []
    flags += [f"--seconds {arguments.seconds:g}"] if arguments.seconds else []
    flags += ["--large"] if arguments.large else []
    return [*flags, "--quick"] if arguments.quick else flags
