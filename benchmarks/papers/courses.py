"""The courses of runs, as the figures of papers show them: what was measured while a method computed, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.cli.progress import ProgressLine
from acvb_core.core.averaging import BURN_IN_TOLERANCE
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.snapshot import SweepRecord, Verdict
from benchmarks.papers.paper import PaperFigure

Floats = NDArray[np.float64]

#: What stands along the axis of a course.
AXES = ("sweep", "cpu_seconds", "passes")
#: Points of a course that are kept, and those that a figure shows.
_KEPT, _SHOWN = 60, 40
#: A lower value is a fall from this share of the whole range of a course on: less cannot be seen in a figure.
_VISIBLE = 1e-3
#: Share of its way from the first value to the last within which a quantity has all but arrived.
_REACHED = 0.05
#: Sweeps of an answer that is kept while a run goes on.
EARLY_SWEEP = 5

#: A quantity while a run goes on: points of `AXES` and the value.
Course = Sequence[Sequence[float]]


@dataclass(eq=False)
class CourseRecorder:
    """A watcher that keeps what the figures of a table need of the run under way, and tells another watcher."""

    then: ProgressLine
    quantities: tuple[str, ...] = ()
    #: (model row, posterior) -> the answer in plain values; None keeps no answers.
    keep_answer: Callable[[PreparedRun, Any], Any] | None = None
    answers: dict[str, Any] = field(default_factory=dict)  #: of the last run
    _points: list[dict[str, float]] = field(default_factory=list)
    _last: dict[str, float] = field(default_factory=dict)
    _run: PreparedRun | None = None

    def __call__(self, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        """Keep what a snapshot says."""
        if prepared is not self._run:
            self._run, self._points, self.answers, self._last = prepared, [], {}, {}
        row = snapshot.row()
        row["effective_k"] = float(sum(snapshot.effective_k.values()))
        self._last = {**self._last, **row}
        self._points.append({name: row[name] for name in (*AXES, *self.quantities) if name in row})
        if self.keep_answer is not None:
            if snapshot.sweep == EARLY_SWEEP:
                self.answers["early"] = self.keep_answer(prepared, snapshot.posterior)
            if snapshot.verdict is not None:
                self.answers["last"] = self.keep_answer(prepared, snapshot.posterior)
        self.then(prepared, snapshot)

    def starting(self, prepared: PreparedRun) -> None:
        """Pass on that a run begins."""
        self.then.starting(prepared)

    def compiling(self, prepared: PreparedRun, is_compiling: bool) -> None:
        """Pass on whether functions are being compiled."""
        self.then.compiling(prepared, is_compiling)

    def read_courses(self) -> dict[str, list[list[float]]]:
        """Return the course of each quantity in the last run, fewer points where there are many."""
        return {name: _thin_course(self._read(name)) for name in self.quantities}

    def read_facts(self) -> dict[str, float]:
        """Return how far each quantity of the last run ends below its highest value, and the score of an entry.

        `drop_…`: relative to the highest value. `unit_lower_bound`: the bound divided by the number of known entries,
        words or cells. `gap_log_likelihood`: of a known cell less that of a held-out one. `last_change`: of the
        responsibilities in the last sweep, where there are some.
        """
        change = self._last.get("change", np.nan)
        facts = {"last_change": change} if np.isfinite(change) else {}
        known, unknown = (self._last.get(f"{which}_log_likelihood", np.nan) for which in ("train", "heldout"))
        if np.isfinite(known - unknown):
            facts["gap_log_likelihood"] = known - unknown
        bounds = self._read("lower_bound")
        if bounds and self._run is not None and self._run.model_row.observed is not None:
            facts["unit_lower_bound"] = bounds[-1][-1] / self._run.model_row.observed(self._run.train)
        for name in self.quantities:
            values = np.array([point[-1] for point in self._read(name)])
            if len(values) > 1:
                facts[f"drop_{name}"] = float((values.max() - values[-1]) / max(abs(values.max()), 1e-300))
        return facts

    def _read(self, name: str) -> list[list[float]]:
        return [
            [*(point[axis] for axis in AXES), point[name]]
            for point in self._points
            if np.isfinite(point.get(name, np.nan))
        ]


def describe_end(
    verdict: str, courses: Mapping[str, Course], burn_in: int | None = None, last_change: float | None = None
) -> dict[str, float]:
    """Return how a run came to its end, from what was kept of it.

    `unsettled`: 1 where the limit of sweeps ended it, else 0. `moving`: 1 where the responsibilities changed by more in
    the last sweep than when a burn-in ends, else 0. `reach_…`: the sweep from which on a quantity is within a
    twentieth of the way from its first value to its last. `falls_…`: share of the points kept that are visibly lower
    than the one before. `single_…`: the last value; of a sampler, whose `burn_in` is given, the last of one sample,
    as no mean is taken until then.
    """
    facts = {"unsettled": float(verdict == Verdict.MAX_SWEEPS)}
    if last_change is not None:
        facts["moving"] = float(last_change > BURN_IN_TOLERANCE)
    for name, course in courses.items():
        values = np.array([point[-1] for point in course])
        if len(values) > 1:
            away = np.flatnonzero(np.abs(values - values[-1]) > _REACHED * abs(values[-1] - values[0]))
            facts[f"reach_{name}"] = float(course[away[-1] + 1][0] if len(away) else course[0][0])
            sweeps = np.array([point[0] for point in course])
            single = values if burn_in is None else values[sweeps <= burn_in]
            facts[f"single_{name}"] = float(single[-1]) if len(single) else np.nan
            falls = np.diff(values) < -_VISIBLE * np.ptp(values)
            facts[f"falls_{name}"] = float(falls.mean())
    return facts


def list_quantities(figures: Iterable[PaperFigure]) -> tuple[str, ...]:
    """Return the quantities whose courses figures show."""
    return tuple(dict.fromkeys(name for one in figures if one.kind == "course" for name in one.y))


def _thin_course(course: list[list[float]]) -> list[list[float]]:
    """Return some points of a course, closer together at its beginning, with five digits."""
    n = len(course)
    if n > _KEPT:
        spread = np.concatenate([np.geomspace(1, n, _KEPT // 2), np.linspace(1, n, _KEPT // 2)])
        course = [course[at] for at in np.unique(np.rint(spread).astype(int)) - 1]
    return [[float(f"{value:.6g}") for value in point] for point in course]


@dataclass(frozen=True, eq=False)
class MeanCourse:
    """The mean of several runs' courses, and a standard deviation on either side."""

    at: Floats
    mean: Floats
    spread: Floats  #: zeros for one run


def average_courses(courses: Sequence[Course], axis: str, *, logarithmic: bool = False) -> MeanCourse | None:
    """Return the mean of courses at common places; a run that is over stays where it ended. None without any."""
    known = [np.array(course, dtype=np.float64) for course in courses if len(course)]
    if not known:
        return None
    column = AXES.index(axis)
    begin = max(float(course[0, column]) for course in known)
    end = max(float(course[-1, column]) for course in known)
    if logarithmic:
        begin = max(begin, 1e-4)
        at = np.geomspace(begin, max(end, begin), _SHOWN)
    else:
        at = np.linspace(begin, end, _SHOWN)
    values = np.stack([np.interp(at, course[:, column], course[:, -1]) for course in known])
    spread = values.std(axis=0, ddof=1) if len(known) > 1 else np.zeros(len(at))
    return MeanCourse(at, values.mean(axis=0), spread)


#: What was kept of a run beside its row: "courses" by quantity, and "answers".
RunNotes = Mapping[str, Any]
