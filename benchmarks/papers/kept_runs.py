"""The runs of a paper's tables, kept in a folder: what was made of each method on each data set, and by which call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from acvb_core import __version__
from acvb_core.cli.progress import Progress
from acvb_core.core.protocols import Checkpoint
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.experiments.run import run_experiment
from acvb_core.engine.run import StopRun
from acvb_core.engine.tuning import Search, Tuning, run_search
from acvb_core.registry import method_row
from acvb_core.store.files import replace_file
from acvb_core.store.plans.experiments import ExperimentFolder
from acvb_core.store.plans.searches import SearchFolder
from benchmarks.papers.courses import CourseRecorder, RunNotes, describe_end, list_quantities
from benchmarks.papers.paper import PaperData, PaperTable
from benchmarks.papers.parts import TABLES, PaperLimits, PaperPart, plan_searches
from benchmarks.papers.pictures import KEEPERS


@dataclass(frozen=True)
class PaperCall:
    """One call of the command that makes the runs of a paper."""

    command: str
    machine: str
    begun: str  #: date and time


@dataclass(frozen=True)
class CommandRuns:
    """The runs on a page that calls of one command made on one machine."""

    command: str  #: empty where it was not kept
    machine: str
    calls: int
    runs: int
    seconds: float  #: of processor time


_UNKNOWN = PaperCall("", "", "")


def count_runs(made: Iterable[tuple[PaperCall | None, float]]) -> list[CommandRuns]:
    """Return how many runs each command made, and in which time.

    `made`: of each run the call that made it, None where that was not kept, and its seconds.
    """
    groups: dict[tuple[str, str], list[tuple[PaperCall, float]]] = {}
    for known, seconds in made:
        call = known or _UNKNOWN
        groups.setdefault((call.command, call.machine), []).append((call, seconds))
    return [
        CommandRuns(
            command,
            machine,
            len({call.begun for call, _ in group}),
            len(group),
            sum(seconds for _, seconds in group),
        )
        for (command, machine), group in groups.items()
    ]


def write_origin(made: Iterable[CommandRuns]) -> str:
    """Return, as Markdown, which commands made the runs of a page."""
    commands = list(made)
    if not commands:
        return "No run was made."
    if len(commands) == 1 and commands[0].command and commands[0].calls == 1:
        (only,) = commands
        return f"Made by `{only.command}` on {only.machine}: {_count(only.runs, 'run')} in {_write_time(only.seconds)}."
    runs, seconds = sum(one.runs for one in commands), sum(one.seconds for one in commands)
    lines = [
        f"Put together from {_count(runs, 'run')} that several calls made and kept, in {_write_time(seconds)} "
        "together.",
        "",
        "<details><summary>These calls</summary>",
        "",
    ]
    for one in commands:
        what = f"{_count(one.runs, 'run')} in {one.seconds:,.0f} s"
        if one.command:
            lines.append(f"- {_count(one.calls, 'call')} of `{one.command}` on {one.machine}: {what}")
        else:
            lines.append(f"- a command that was not kept: {what}")
    return "\n".join([*lines, "", "</details>"])


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _write_time(seconds: float) -> str:
    return f"{seconds:,.0f} s of processor time"


#: What was kept of the runs, in their folder.
_NOTES = "notes.jsonl"
#: Which large data were made in full.
_FULL = "in_full.json"
#: Splits that a method may have: as many as any table has.
_MOST_SPLITS = 50


@dataclass(eq=False)
class KeptRuns:
    """A method with its settings on one data set: its runs so far, one a split, and what figures need of them.

    All tables that have such runs share them.
    """

    plan: Plan  #: of this method alone, so that the number of a run is that of its split
    experiment: Experiment
    notes: dict[int, RunNotes] = field(default_factory=dict)
    folder: ExperimentFolder | None = None

    @property
    def rows(self) -> dict[int, Mapping[str, Any]]:
        """The runs by split."""
        return {row["split"]: row for row in self.experiment.rows}

    def make_next(self, call: PaperCall, watch: Progress, checkpoint: Checkpoint) -> bool:
        """Make the first run that is missing; return False where it was interrupted."""
        recorder = _record(self.plan, watch)
        latest = next(run_experiment(self.plan, self.experiment, watch=recorder, checkpoint=checkpoint), None)
        if latest is None:
            return False
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
        return True


@dataclass(eq=False)
class PartRuns:
    """The runs of a table on one of its data sets."""

    part: PaperPart
    plan: Plan
    kept: Sequence[KeptRuns]  #: of each condition of the plan

    @property
    def n_missing(self) -> int:
        """Number of runs that are still to be made."""
        return self.plan.n_runs - sum(1 for _ in self._list_rows())

    @property
    def missing(self) -> KeptRuns | None:
        """The method whose run comes next: all have a split before any has the next one; None when all are over."""
        splits = range(1, len(self.plan.seeds) + 1)
        return next((one for split in splits for one in self.kept if split not in one.rows), None)

    @property
    def seconds(self) -> float:
        """Processor seconds of the runs so far."""
        return sum(row.get("cpu_seconds") or 0.0 for _, _, row in self._list_rows())

    def _list_rows(self) -> Iterator[tuple[int, KeptRuns, Mapping[str, Any]]]:
        """Yield the number in the plan (from 0) of each run so far, the method it is of, and its row."""
        rows = [one.rows for one in self.kept]
        for run in range(self.plan.n_runs):
            split, place = divmod(run, len(self.kept))
            if split + 1 in rows[place]:
                yield run, self.kept[place], rows[place][split + 1]

    def read(self) -> Experiment:
        """Return the runs so far, as the plan numbers and names them, with what their courses say of their ends."""
        rows = []
        for run, kept, row in self._list_rows():
            courses = kept.notes.get(row["split"], {}).get("courses", {})
            is_sampled = method_row(self.plan.model.name, row["method"]).sampled
            burn_in = row["setting_burn_in"] if is_sampled else None
            end = describe_end(row["verdict"], courses, burn_in, row.get("last_change"))
            rows.append({**row, **end, **self.plan.describe_run(run)})
        return Experiment(self.plan, tuple(rows))

    def read_notes(self) -> dict[int, RunNotes]:
        """Return what was kept of the runs, by their number in the plan."""
        rows = self._list_rows()
        return {run + 1: kept.notes[row["split"]] for run, kept, row in rows if row["split"] in kept.notes}

    def list_calls(self) -> dict[tuple[int, int], tuple[PaperCall | None, float]]:
        """Return the call that made each run, None where it was not kept, and its seconds."""
        calls = {}
        for _, kept, row in self._list_rows():
            call = kept.notes.get(row["split"], {}).get("call")
            seconds = row.get("cpu_seconds") or 0.0
            calls[id(kept), row["split"]] = (None if call is None else PaperCall(**call), seconds)
        return calls


def list_runs(parts: Sequence[PaperPart], out: Path | None) -> list[PartRuns]:
    """Return the runs that were made before of each part that has data."""
    known: dict[str, KeptRuns] = {}
    listed = []
    for part in parts:
        if part.plan is not None:
            names = []
            for plan in split_plan(part.plan):
                name = _digest(plan.identity())
                if name not in known:
                    known[name] = _open_runs(plan, None if out is None else out / name)
                names.append(name)
            listed.append(PartRuns(part, part.plan, [known[name] for name in names]))
    return listed


def split_plan(plan: Plan) -> list[Plan]:
    """Return a plan for each condition, called after its method alone, so that tables with other names share it."""
    seeds = tuple(range(plan.seeds[0], plan.seeds[0] + _MOST_SPLITS * plan.restarts, plan.restarts))
    return [
        replace(plan, conditions=(replace(one, label=one.method, factors={}),), seeds=seeds)
        for one in plan.conditions
    ]


def name_part(table: PaperTable, data: str) -> list[str]:
    """Return what a table on a data set is called among those that were made in full."""
    return [table.paper, table.number, data]


def read_full(out: Path | None) -> list[list[str]]:
    """Return the large data whose runs were made in full before, by `name_part`: pages go on showing these."""
    path = None if out is None else out / _FULL
    return [] if path is None or not path.exists() else json.loads(path.read_text("utf-8"))


def remember_full(runs: Sequence[PartRuns], out: Path | None) -> None:
    """Keep the names of the large data that have runs in full."""
    full = [name_part(one.part.table, one.part.data) for one in runs if one.part.is_slow and one.read().rows]
    if out is not None and full:
        names = sorted([*read_full(out), *(name for name in full if name not in read_full(out))])
        with replace_file(out / _FULL) as file:
            file.write(json.dumps(names, indent=2).encode())


def _record(plan: Plan, watch: Progress) -> CourseRecorder:
    """Return a watcher that keeps what any figure of the papers on a model needs."""
    figures = [figure for table in TABLES[plan.model.name] for figure in table.figures]
    quantities = dict.fromkeys([*list_quantities(figures), "lower_bound", "pseudo_loo"])
    return CourseRecorder(watch, tuple(quantities), KEEPERS.get(plan.model.name))


def _open_runs(plan: Plan, place: Path | None) -> KeptRuns:
    if place is None:
        return KeptRuns(plan, Experiment(plan))
    folder = ExperimentFolder(place, plan, __version__)
    return KeptRuns(plan, folder.read(), read_notes(place / _NOTES), folder)


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


def list_commands(runs: Iterable[PartRuns]) -> list[CommandRuns]:
    """Return the commands that made runs; a run that several tables have counts once."""
    return count_runs({key: call for one in runs for key, call in one.list_calls().items()}.values())


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


def _digest(identity: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
