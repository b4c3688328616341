"""The runs of the papers' methods and the searches before them, kept in a folder with what pages need of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core import __version__
from acvb_core.cli.progress import ProgressLine
from acvb_core.core.averaging import BURN_IN_TOLERANCE
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.history import History, SweepRecord, Verdict
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.run import StopRun
from acvb_core.engine.study import make_runs
from acvb_core.engine.tuning import Search, Tuning
from acvb_core.registry import method_row
from acvb_core.store.files import replace_file
from acvb_core.store.studies import ExperimentFolder, SearchFolder
from benchmarks.papers.pictures import KEEPERS

#: Quantities along the axis of a course.
AXES = ("sweep", "cpu_seconds", "passes")
#: Quantities whose courses are kept.
_HELD_OUT = ("heldout_log_likelihood", "heldout_perplexity")
_QUANTITIES = ("lower_bound", "pseudo_loo", "effective_k", *_HELD_OUT, "loo_perplexity")
#: Points of a course that are kept.
_POINTS = 60
#: A lower value is a fall from this share of the whole range of a course on: less cannot be seen in a figure.
_VISIBLE = 1e-3
#: Share of its way from the first value to the last within which a quantity has all but arrived.
_REACHED = 0.05
#: Sweeps of an answer that is kept while a run continues.
_EARLY_SWEEP = 5
#: Files: what is kept of runs besides their rows, in their folder; and which large data were made in full.
_NOTES, _FULL = "notes.jsonl", "in_full.json"

Floats = NDArray[np.float64]
#: A quantity while a run continues: points of `AXES` and the value.
Course = Sequence[Sequence[float]]
#: The row of a run, with its courses, its answers, and the call that made it: command, machine, and when it began.
Run = Mapping[str, Any]


class RunRecorder:
    """A watcher that keeps what pages need of one run, and passes everything on to the line of progress."""

    def __init__(self, progress: ProgressLine) -> None:
        self._progress = progress
        self.starting, self.compiling = progress.starting, progress.compiling
        self.answers: dict[str, Any] = {}
        self._history = History()
        self._run: PreparedRun | None = None

    def __call__(self, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        """Keep what a snapshot says."""
        self._run = prepared
        self._history.append(snapshot)
        keep = KEEPERS.get(prepared.model_row.name)
        if keep is not None and snapshot.sweep == _EARLY_SWEEP:
            self.answers["early"] = keep(snapshot.posterior)
        if keep is not None and snapshot.verdict is not None:
            self.answers["last"] = keep(snapshot.posterior)
        self._progress(prepared, snapshot)

    def read_courses(self) -> dict[str, list[list[float]]]:
        """Return the course of each quantity that the run has, fewer points where there are many."""
        courses = {name: self._read(name) for name in _QUANTITIES}
        return {name: _thin_course(course) for name, course in courses.items() if len(course)}

    def read_facts(self) -> dict[str, float]:
        """Return how far each quantity ends below its highest value, and the score of an entry.

        `drop_…`: relative to the highest value. `unit_lower_bound`: the bound divided by the number of known entries,
        words or cells. `gap_log_likelihood`: of a known cell less that of a held-out one. `last_change`: of the
        responsibilities in the last sweep, where there are some.
        """
        last = self._history.last_value
        gap = last("train_log_likelihood") - last("heldout_log_likelihood")
        facts = {"last_change": last("change"), "gap_log_likelihood": gap}
        if self._run is not None and self._run.model_row.observed is not None:
            facts["unit_lower_bound"] = last("lower_bound") / self._run.model_row.observed(self._run.train)
        for name in _QUANTITIES:
            values = self._read(name)[:, -1]
            if len(values) > 1:
                facts[f"drop_{name}"] = float((values.max() - values[-1]) / max(abs(values.max()), 1e-300))
        return {name: value for name, value in facts.items() if np.isfinite(value)}

    def _read(self, name: str) -> Floats:
        history = self._history
        parts = [one for one in history.columns if one == name or one.startswith(f"{name}_")]
        values = np.sum([history.column(one) for one in parts], axis=0) if parts else history.column(name)
        return np.stack([*map(history.column, AXES), values], axis=1)[np.isfinite(values)]


def _thin_course(course: Floats) -> list[list[float]]:
    """Return some points of a course, closer together at its beginning, with six digits."""
    n = len(course)
    if n > _POINTS:
        spread = np.concatenate([np.geomspace(1, n, _POINTS // 2), np.linspace(1, n, _POINTS // 2)])
        course = course[np.unique(np.rint(spread).astype(int)) - 1]
    return [[float(f"{value:.6g}") for value in point] for point in course]


def describe_end(
    verdict: str, courses: Mapping[str, Course], burn_in: int | None = None, last_change: float | None = None
) -> dict[str, float]:
    """Return how a run came to its end, from what was kept of it.

    `unsettled`: 1 if the limit of sweeps ended it, else 0. `moving`: 1 if the responsibilities changed by more in
    the last sweep than when a burn-in ends, else 0. `reach_…`: the sweep from which on a quantity is within a
    twentieth of the way from its first value to its last. `falls_…`: share of the points kept that are visibly lower
    than the one before. `single_…`: the last value; of a sampler, whose `burn_in` is given, the last of one sample,
    as no mean is taken until then.
    """
    facts = {"unsettled": float(verdict == Verdict.MAX_SWEEPS)}
    if last_change is not None:
        facts["moving"] = float(last_change > BURN_IN_TOLERANCE)
    for name, course in courses.items():
        if len(course) > 1:
            points = np.array(course, dtype=np.float64)
            sweeps, values = points[:, 0], points[:, -1]
            away = np.flatnonzero(np.abs(values - values[-1]) > _REACHED * abs(values[-1] - values[0]))
            facts[f"reach_{name}"] = float(sweeps[away[-1] + 1 if len(away) else 0])
            single = values if burn_in is None else values[sweeps <= burn_in]
            facts[f"single_{name}"] = float(single[-1]) if len(single) else np.nan
            facts[f"falls_{name}"] = float((np.diff(values) < -_VISIBLE * np.ptp(values)).mean())
    return facts


class MethodRuns(ExperimentFolder):
    """A folder with the runs of a method with its settings on one data set; all tables that have such runs share it."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        super().__init__(folder, plan, __version__)
        self.by_split: dict[int, Run] = {}
        notes = _read_notes(folder / _NOTES)
        for row in self.read().rows:
            self._add(row, notes.get(row["run"], {}))

    def make_next(self, call: Mapping[str, str], progress: ProgressLine, poll: Poll) -> bool:
        """Make the first run that is missing; return False if it was interrupted."""
        recorder = RunRecorder(progress)
        known = Experiment(self.plan, tuple(self.by_split.values()))
        latest = next(make_runs(self.plan, known, watch=recorder, poll=poll), None)
        if latest is None:
            return False
        row = {**latest.last_run, **recorder.read_facts()}
        note = {"run": row["run"], "call": call, "courses": recorder.read_courses()}
        if row["split"] == 1:
            note["answers"] = recorder.answers
        with (self.folder / _NOTES).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(note) + "\n")
        self.append(row)  # after the note: a run that has none would be one of unknown origin
        self._add(row, note)
        return True

    def _add(self, row: Mapping[str, Any], note: Mapping[str, Any]) -> None:
        """Take a run that is over, with what was kept of it, and what that says of its end."""
        is_sampled = method_row(self.plan.model.name, row["method"]).sampled
        burn_in = row.get("setting_burn_in") if is_sampled else None
        end = describe_end(row["verdict"], note.get("courses", {}), burn_in, row.get("last_change"))
        self.by_split[row["split"]] = {"courses": {}, "call": {}, **row, **end, **note}


class KeptRuns:
    """A folder with the runs of methods and with searches, each called after all that it depends on.

    `poll`: raises StopRun to end a search.
    """

    def __init__(self, folder: Path, poll: Poll = no_poll) -> None:
        self.folder, self._poll = folder, poll
        self._known: dict[str, MethodRuns] = {}

    def find_runs(self, plan: Plan) -> MethodRuns:
        """Return the runs of a plan that were made before: the same object for the same plan."""
        name = _digest(plan.identity())
        if name not in self._known:
            self._known[name] = MethodRuns(self.folder / name, plan)
        return self._known[name]

    @property
    def full(self) -> set[tuple[str, ...]]:
        """The large data that have runs in full, by paper, table and name: pages keep showing these."""
        path = self.folder / _FULL
        return set(map(tuple, json.loads(path.read_text("utf-8")))) if path.exists() else set()

    def remember_full(self, names: set[tuple[str, ...]]) -> None:
        """Keep the names of large data that have runs in full."""
        if not names <= self.full:
            with replace_file(self.folder / _FULL) as file:
                file.write(json.dumps(sorted(names | self.full), indent=2).encode())

    def make_search(self, search: Search) -> Tuning:
        """Return the trials of a search, after those that are missing are made.

        Raises StopRun: the poll ended the search.
        """
        folder = SearchFolder(self.folder / f"search-{_digest(search.identity())}", search, __version__)
        for tuning in make_runs(search, folder.read(), poll=self._poll):
            folder.append(tuning.last_run)
        found = folder.read()
        if found.n_runs < search.trials:
            raise StopRun
        return found


def _digest(identity: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _read_notes(path: Path) -> dict[int, dict[str, Any]]:
    """Return what was kept of each run; a last line that was cut off is removed."""
    if not path.exists():
        return {}
    stored = path.read_bytes()
    whole, _, rest = stored.rpartition(b"\n")
    if rest:
        path.write_bytes(stored[: len(stored) - len(rest)])
    return {note["run"]: note for note in map(json.loads, whole.splitlines())}
