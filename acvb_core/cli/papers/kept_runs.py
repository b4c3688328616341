"""The runs of a paper's tables, kept in a folder: what was made of each plan, and by which call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from acvb_core import __version__
from acvb_core.cli.progress import Progress
from acvb_core.core.papers import PaperData, PaperTable
from acvb_core.core.protocols import Checkpoint
from acvb_core.engine.experiments.paper_calls import CommandRuns, PaperCall, count_runs
from acvb_core.engine.experiments.paper_courses import CourseRecorder, RunNotes, describe_end, list_quantities
from acvb_core.engine.experiments.papers import PaperLimits, PaperPart, plan_searches
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.run import StopRun
from acvb_core.engine.tuning.search import Search, run_search
from acvb_core.engine.tuning.trials import Tuning
from acvb_core.registry import model_row
from acvb_core.store.plans.experiments import ExperimentFolder
from acvb_core.store.plans.searches import SearchFolder

#: What was kept of the runs of a plan, in its folder.
_NOTES = "notes.jsonl"


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


def list_plans(parts: Sequence[PaperPart], out: Path | None) -> dict[str, PlannedRuns]:
    """Return each plan once, by its digest, with the runs that were made before."""
    plans: dict[str, PlannedRuns] = {}
    for part in parts:
        if part.plan is None:
            continue
        name = digest_plan(part.plan)
        if name not in plans:
            folder = None if out is None else ExperimentFolder(out / name, part.plan, __version__)
            made = Experiment(part.plan) if folder is None else folder.read()
            notes = {} if folder is None else read_notes(folder.folder / _NOTES)
            plans[name] = PlannedRuns(part.plan, [], made, notes, folder)
        plans[name].tables.append(part.table)
    return plans


def read_notes(path: Path) -> dict[int, RunNotes]:
    """Return what was kept of each run; a last line that was cut off is removed."""
    if not path.exists():
        return {}
    stored = path.read_bytes()
    whole, _, rest = stored.rpartition(b"\n")
    if rest:
        path.write_bytes(stored[: len(stored) - len(rest)])
    notes = [json.loads(line) for line in whole.splitlines()]
    return {int(note["run"]): note for note in notes}


def count_seconds(made: Experiment) -> float:
    """Return the processor seconds of the runs so far."""
    return sum(row.get("cpu_seconds") or 0.0 for row in made.rows)


def list_commands(plans: Iterable[PlannedRuns]) -> list[CommandRuns]:
    """Return the commands that made the runs of plans."""
    made = []
    for one in plans:
        for row in one.experiment.rows:
            call = one.notes.get(row["run"], {}).get("call")
            made.append((None if call is None else PaperCall(**call), row.get("cpu_seconds") or 0.0))
    return count_runs(made)


def make_searches(
    table: PaperTable,
    data: PaperData,
    source: Path | None,
    limits: PaperLimits,
    out: Path | None,
    checkpoint: Checkpoint,
) -> dict[str, Tuning]:
    """Make the searches that come before the runs of a table on a data set; return what they found, by method.

    Raises StopRun: the checkpoint ended a search.
    """
    planned = plan_searches(table, data, source, limits)
    return {method: _search(search, out, checkpoint) for method, search in planned.items()}


def _search(search: Search, out: Path | None, checkpoint: Checkpoint) -> Tuning:
    name = _digest(search.identity())
    folder = None if out is None else SearchFolder(out / f"search-{name}", search, __version__)
    tuning = Tuning(search.space.names) if folder is None else folder.read()
    for latest in run_search(search, tuning, checkpoint=checkpoint):
        tuning = latest
        if folder is not None:
            folder.append(tuning.trials[-1])
    if len(tuning.trials) < search.trials:
        raise StopRun
    return tuning


def digest_plan(plan: Plan) -> str:
    """Return a short name of a plan, the same for plans with the same runs."""
    return _digest(plan.identity())


def _digest(identity: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
