"""The runs of a paper's tables, kept in a folder: what was made of each method on each data set, and by which call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acvb_core import __version__
from acvb_core.cli.progress import ProgressLine
from acvb_core.core.protocols import Poll
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.run import StopRun
from acvb_core.engine.study import make_runs
from acvb_core.engine.tuning import Search, Tuning
from acvb_core.registry import method_row
from acvb_core.store.files import replace_file
from acvb_core.store.studies import ExperimentFolder, SearchFolder
from benchmarks.papers.courses import CourseRecorder, RunNotes, describe_end, list_quantities
from benchmarks.papers.paper import PaperTable
from benchmarks.papers.parts import TABLES, PaperPart
from benchmarks.papers.pictures import KEEPERS


@dataclass(frozen=True)
class CommandRuns:
    """The runs on a page that calls of one command made on one machine."""

    command: str  #: empty where it was not kept
    machine: str
    calls: int
    runs: int
    seconds: float  #: of processor time


def write_origin(commands: Sequence[CommandRuns]) -> str:
    """Return, as Markdown, which commands made the runs of a page."""
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
#: The call that made a run: its command, the machine, and when it began.
Call = Mapping[str, str]
_UNKNOWN = {"command": "", "machine": "", "begun": ""}
#: Splits that a method may have: as many as any table has.
_MOST_SPLITS = 50


@dataclass(eq=False)
class KeptRuns:
    """A method with its settings on one data set: its runs so far, one a split, and what figures need of them.

    All tables that have such runs share them.
    """

    folder: ExperimentFolder
    experiment: Experiment  #: of this method alone, so that the number of a run is that of its split
    notes: dict[int, RunNotes]

    @property
    def rows(self) -> dict[int, Mapping[str, Any]]:
        """The runs by split."""
        return {row["split"]: row for row in self.experiment.rows}

    def make_next(self, call: Call, watch: ProgressLine, poll: Poll) -> bool:
        """Make the first run that is missing; return False where it was interrupted."""
        plan = self.experiment.plan
        recorder = _record(plan, watch)
        latest = next(make_runs(plan, self.experiment, watch=recorder, poll=poll), None)
        if latest is None:
            return False
        row = {**latest.rows[-1], **recorder.read_facts()}
        self.experiment = self.experiment.with_run(row)
        note = {"run": row["run"], "call": call, "courses": recorder.read_courses()}
        if row["split"] == 1:
            note["answers"] = recorder.answers
        self.notes[row["run"]] = note
        with (self.folder.folder / _NOTES).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(note) + "\n")
        self.folder.append(row)  # after the note: a run that has none would be one of unknown origin
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
            rows.append({**row, **end, **self.plan.identify_run(run)})
        return Experiment(self.plan, tuple(rows))

    def read_notes(self) -> dict[int, RunNotes]:
        """Return what was kept of the runs, by their number in the plan."""
        rows = self._list_rows()
        return {run + 1: kept.notes[row["split"]] for run, kept, row in rows if row["split"] in kept.notes}

    def list_calls(self) -> Iterator[tuple[tuple[str, int], Call, float]]:
        """Yield what tells each run apart from all others, the call that made it, and its seconds."""
        for _, kept, row in self._list_rows():
            call = kept.notes.get(row["split"], {}).get("call", _UNKNOWN)
            yield (kept.folder.folder.name, row["split"]), call, row.get("cpu_seconds") or 0.0


def list_runs(parts: Sequence[PaperPart], out: Path) -> list[PartRuns]:
    """Return the runs that were made before of each part that has data."""
    known: dict[str, KeptRuns] = {}
    listed = []
    for part in parts:
        if part.plan is not None:
            names = []
            for plan in split_plan(part.plan):
                name = _digest(plan.identity())
                if name not in known:
                    folder = ExperimentFolder(out / name, plan, __version__)
                    known[name] = KeptRuns(folder, folder.read(), read_notes(out / name / _NOTES))
                names.append(name)
            listed.append(PartRuns(part, part.plan, [known[name] for name in names]))
    return listed


def list_commands(runs: Iterable[PartRuns]) -> list[CommandRuns]:
    """Return the commands that made runs; a run that several tables have counts once."""
    made = {key: (call, seconds) for one in runs for key, call, seconds in one.list_calls()}
    groups: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for call, seconds in made.values():
        groups.setdefault((call["command"], call["machine"]), []).append((call["begun"], seconds))
    return [
        CommandRuns(*key, len({begun for begun, _ in own}), len(own), sum(seconds for _, seconds in own))
        for key, own in groups.items()
    ]


def split_plan(plan: Plan) -> list[Plan]:
    """Return a plan for each condition, called after its method alone, so that tables with other names share it."""
    seeds = tuple(range(plan.seeds[0], plan.seeds[0] + _MOST_SPLITS * plan.restarts, plan.restarts))
    return [
        replace(plan, conditions=(replace(one, label=one.method, factors={}),), seeds=seeds)
        for one in plan.conditions
    ]


def name_part(table: PaperTable, data: str) -> tuple[str, ...]:
    """Return what a table on a data set is called among those that were made in full."""
    return table.paper, table.number, data


def read_full(out: Path) -> set[tuple[str, ...]]:
    """Return the large data whose runs were made in full before, by `name_part`: pages go on showing these."""
    path = out / _FULL
    return set(map(tuple, json.loads(path.read_text("utf-8")))) if path.exists() else set()


def remember_full(runs: Sequence[PartRuns], out: Path) -> None:
    """Keep the names of the large data that have runs in full."""
    full = {name_part(one.part.table, one.part.data) for one in runs if one.part.is_slow and one.read().rows}
    if full:
        with replace_file(out / _FULL) as file:
            file.write(json.dumps(sorted(full | read_full(out)), indent=2).encode())


def _record(plan: Plan, watch: ProgressLine) -> CourseRecorder:
    """Return a watcher that keeps what any figure of the papers on a model needs."""
    figures = [figure for table in TABLES[plan.model.name] for figure in table.figures]
    quantities = dict.fromkeys([*list_quantities(figures), "lower_bound", "pseudo_loo"])
    return CourseRecorder(watch, tuple(quantities), KEEPERS.get(plan.model.name))


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


def make_searches(searches: Mapping[str, Search], out: Path, poll: Poll) -> dict[str, Tuning]:
    """Make the searches that come before the runs of a table on a data set; return what they found, by method.

    Raises StopRun: the poll ended a search.
    """
    found = {}
    for method, search in searches.items():
        folder = SearchFolder(out / f"search-{_digest(search.identity())}", search, __version__)
        tuning = folder.read()
        for latest in make_runs(search, tuning, poll=poll):
            tuning = latest
            folder.append(tuning.trials[-1])
        if len(tuning.trials) < search.trials:
            raise StopRun
        found[method] = tuning
    return found


def _digest(identity: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
