"""Curves of runs, finished or under way: bound, leave-one-out, change, clusters or topics, held-out score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.display import Measure
from acvb_core.engine.history import MOVES, History
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.run import Schedule
from acvb_core.registry import MODELS, model_row
from acvb_core.views.parts import (
    decimate,
    later_ends,
    level_line,
    panel_axes,
    panel_title,
    scatter,
    tick_format,
    view_range,
    whole_ticks,
)
from acvb_core.views.theme import PAPER, Figure, Part, Style, escape, make_figure, rgba, run_styles

Floats = NDArray[np.float64]
XAxis = Literal["sweep", "cpu_seconds", "passes", "documents_seen"]
#: Title of the x axis, text above the values there, and their format.
_X_AXES: dict[XAxis, tuple[str, str, str]] = {
    "sweep": ("sweep", "sweep %{x}", "~g"),
    "cpu_seconds": ("CPU seconds", "%{x} s of CPU", ".2f"),
    "passes": ("epochs (passes over the documents)", "epoch %{x}", ".3~f"),
    "documents_seen": ("documents seen", "%{x} documents", ",.0f"),
}
#: Points of a curve; of more than so many runs each has half as many.
MAX_POINTS, _MANY_RUNS = 400, 6
_ROW_HEIGHT, _GAP = 160, 56  # pixels of a row of panels, and between two for numbers and a title
_TOP, _BOTTOM = 56, 48
#: Smaller changes are not in the first view: those of a run that no longer moves would squash all others.
_NO_CHANGE = 1e-9
#: Opacity of a curve that another one covers.
_PALE = 0.5
#: Keys of the measures that a run may keep constant.
_LEARNED = ("alpha", "beta")
# Numbers are left of the left column and right of the right one, so that long ones never meet in the middle.
_LEFT, _RIGHT = (0.0, 0.48), (0.52, 1.0)
_THIRD, _FOURTH = (0.52, 0.735), (0.785, 1.0)
_WHOLE = (0.0, 1.0)
#: A speed is the mean over this many sweeps: one window alone may be the one in which something else ran.
_LAG = 5
#: Columns in which runs are compared; the same in so many sweeps is no accident.
_COMPARED, _FEWEST = ("change", "lower_bound"), 3
_NO_SWEEPS: NDArray[np.int64] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class RunCurve:
    """One run to draw."""

    id: str  #: id of the run: a curve keeps its identity from refresh to refresh
    label: str  #: for people
    method: str  #: name in the registry; decides colour and dash
    seed: int
    history: History
    #: Drawn in the panel of changes if the run is averaged, as the change of the mean is compared with it.
    tolerance: float | None = None
    heldout: bool = False  #: some of the data were held out
    model: str = MODELS[0].name  #: name in the registry; the first run's decides which panels there are
    learns: bool = False  #: the run learns the concentrations of its model
    streams: bool = False  #: a sweep is a window of the documents
    n_documents: int | None = None  #: documents in a pass, if there are any
    n_tokens: int | None = None  #: words that a batch method is trained on, if there are any
    completion: bool = False  #: whole documents are held out
    unit: float | None = None  #: number of objects that the lower bound is divided by, if its model's is
    first_score: int | None = None  #: sweep with the first held-out score, if it is known beforehand

    @classmethod
    def of_run(cls, id: str, label: str, prepared: PreparedRun, history: History) -> RunCurve:
        """Return the curve of a run with the history so far."""
        spec, train, values = prepared.spec, prepared.train, prepared.spec.values
        return cls(
            id=id,
            label=label,
            method=spec.method,
            seed=spec.seed,
            history=history,
            tolerance=values.get("tol"),
            heldout=prepared.heldout is not None,
            model=spec.model,
            learns=values.get("hyper") != "fixed" and values.get("prior") != "symmetric",
            streams=prepared.row.streams,
            n_documents=getattr(train, "n_documents", None),
            n_tokens=getattr(train, "n_tokens", None),
            completion=spec.heldout_documents > 0,
            unit=prepared.bound_unit,
            first_score=None if prepared.heldout is None else Schedule.for_run(prepared).heldout,
        )

    def column(self, name: str) -> Floats:
        """Return one column so far, shape (n,); all NaN for an unknown name.

        Beside the columns of the history there are `passes`, also in an old history without them (a sweep was a
        pass); `documents_seen`; `loo_perplexity` of every sweep with a leave-one-out score; `documents_per_second` over
        the last few sweeps by the clock, without diagnostics;
        and `bound_per_unit`, the lower bound per object.
        """
        if name == "passes":
            return self.history.column("passes" if "passes" in self.history.columns else "sweep")
        if name == "documents_seen":
            return self.column("passes") * (np.nan if self.n_documents is None else float(self.n_documents))
        if name == "documents_per_second":
            return self._speed()
        if name == "loo_perplexity" and self.n_tokens and not self.streams:
            # The history has it of some sweeps only, and its sum in nats of all where the method knows it by itself.
            return np.exp(np.minimum(-self.history.column("pseudo_loo") / self.n_tokens, 700.0))
        if name == "bound_per_unit":
            return self.history.column("lower_bound") / (self.unit or 1.0)
        return self.history.column(name)

    def _speed(self) -> Floats:
        """Return the documents per second of each sweep."""
        # The lengths may differ: another thread appends.
        parts = [self.column(name) for name in ("documents_seen", "wall_seconds", "diagnostics_seconds")]
        n = min(map(len, parts))
        if not n:
            return np.empty(0)
        seen, wall, diagnostics = (part[:n] for part in parts)
        seconds = wall - diagnostics
        before = np.maximum(np.arange(n) - _LAG, 0)
        documents, time = seen - seen[before], seconds - seconds[before]
        documents[0], time[0] = seen[0], seconds[0]
        known = time > 0
        return np.where(known, documents / np.where(known, time, 1.0), np.nan)

    @property
    def averaged(self) -> bool:
        """The run has a running mean, or is in the burn-in before one."""
        burning, mean = self.history.column("burn_in"), self.history.column("mean_change")
        return bool((burning > 0).any() or np.isfinite(mean).any())

    @property
    def burn_in_end(self) -> int | None:
        """Index of the last sweep of the burn-in; None during it, or without one."""
        burning = self.history.column("burn_in") > 0
        ends = np.flatnonzero(burning[:-1] & ~burning[1:])
        return int(ends[-1]) if len(ends) else None

    def move_counts(self, length: int) -> NDArray[np.int64]:
        """Return how many moves of each kind (`MOVES`) each of the first sweeps made, shape (length, kinds)."""
        columns = np.stack([self.history.column(kind)[:length] for kind in MOVES], axis=1)
        return np.nan_to_num(columns).astype(np.int64)


class Overlap(NamedTuple):
    """Two runs whose first sweeps are identical; the second is drawn over the first."""

    under: RunCurve
    over: RunCurve
    sweeps: int  #: how many
    whole: bool  #: these are all sweeps of both

    def describe(self) -> str:
        """Return the overlap as a sentence."""
        word = "window" if self.under.streams else "sweep"
        which = "all" if self.whole else "the first"
        return (
            f"{self.under.label} and {self.over.label} are identical in {which} {self.sweeps:,} {word}s: "
            f"{self.under.label} is the wide line behind the other."
        )


def find_overlaps(runs: Sequence[RunCurve]) -> list[Overlap]:
    """Return the overlaps of runs in the order in which they are drawn, each run below with the first over it."""
    overlaps: dict[str, Overlap] = {}
    for under, over in combinations(runs, 2):
        if under.id in overlaps:
            continue
        sweeps = _count_same(under, over)
        if sweeps >= _FEWEST:
            whole = sweeps == len(under.history) == len(over.history)
            overlaps[under.id] = Overlap(under, over, sweeps, whole)
    return list(overlaps.values())


def _count_same(one: RunCurve, other: RunCurve) -> int:
    """Return how many of the first sweeps are the same, wherever both have a value."""
    same = None
    for name in _COMPARED:
        a, b = one.history.column(name), other.history.column(name)
        length = min(len(a), len(b))
        differs = np.flatnonzero(
            np.isfinite(a[:length]) & np.isfinite(b[:length]) & (a[:length] != b[:length])
        )
        first = int(differs[0]) if len(differs) else length
        if name == "change" and not (a[:first] > 0).sum() >= _FEWEST:
            return 0
        same = first if same is None else min(same, first)
    return same or 0


def live_figure(runs: Sequence[RunCurve], *, x: XAxis = "sweep", uirevision: str = "live") -> Figure:
    """Return the panels of a set of runs, cheap enough to be made twice a second.

    `runs`: in a constant order: markers that distinguish runs of one method follow it. Runs of another model than the
      first's are drawn in its panels as far as they have the values.
    `x`: a sweep of a batch method is a pass.
    `uirevision`: as long as it stays the same, what the user zoomed and hid stays too.
    """
    panels = panels_for(runs, runs[0].model if runs else MODELS[0].name)
    points = MAX_POINTS if len(runs) <= _MANY_RUNS else MAX_POINTS // 2
    under = {overlap.under.id for overlap in find_overlaps(runs)}
    data: list[Part] = []
    for run, style in zip(runs, run_styles(run.method for run in runs), strict=True):
        traces = _RunTraces(run, style, x, points, run.id in under)
        for panel in panels:
            data += traces.in_panel(panel)
    return make_figure(data, **panel_layout(panels, runs, x, uirevision))


class _RunTraces:
    """The traces of one run."""

    def __init__(self, run: RunCurve, style: Style, x: XAxis, points: int, is_under: bool) -> None:
        self.run, self.style, self.points = run, style, points
        self.is_under = is_under  # another run covers it: it shows on both sides of that line
        self.display = model_row(run.model).display
        # The length first: rows that are appended meanwhile wait for the next refresh.
        self.length = len(run.history)
        self.x = self.column(x)
        self.burn_in_end = run.burn_in_end
        self.moves = run.move_counts(self.length)

    def column(self, name: str) -> Floats:
        """Return a column as far as it is drawn."""
        return self.run.column(name)[: self.length]

    def in_panel(self, panel: Panel) -> list[Part]:
        """Return the traces of one panel."""
        measure = panel.measure
        if measure.key == "change":
            return self._changes(panel)
        values = self.column(measure.column)
        moved = self._sweeps_with_moves(panel, values)
        line = self._line(panel, values, "main", measure.hover, legend=panel.first, through=moved)
        traces = [line, *self._move_marks(panel, values, moved)]
        return traces + (self._burn_in_mark(panel, values) if measure.marked else [])

    def _changes(self, panel: Panel) -> list[Part]:
        """Return the change in a sweep, and of an averaged run also that of the mean and its limit."""
        mean, own = self.column("mean_change"), self.column("change")
        what, sweeps = ("topics", "windows") if self.run.streams else ("assignments", "sweeps")
        hover = f"change in {what} %{{y:.3g}}"
        if not self.run.averaged:
            return [self._line(panel, own, "own", hover, width=1.1, opacity=0.85)]
        in_burn_in = self.column("burn_in") > 0
        before = np.where(in_burn_in | ~np.isfinite(mean), own, np.nan)
        samples, scaled = self.column("samples"), self.column("scaled_change")
        mean_hover = f"change in averaged {what} %{{y:.3g}}, × {sweeps} averaged = %{{customdata:.3g}}"
        # No running mean over s sweeps can change by more than 2 / s (ACVB17 Lemma 1, in L1).
        most = np.where(samples > 0, 2.0 / np.maximum(samples, 1.0), np.nan)
        limit = self._line(panel, most, "limit", width=1)
        limit["line"] = {"color": rgba(self.style.colour, 0.7), "width": 1, "dash": "dot"}
        return [
            self._line(panel, before, "own", hover, width=1.1, opacity=0.85),
            self._line(panel, mean, "main", mean_hover, customdata=scaled),
            limit,
            *self._burn_in_mark(panel, own),
        ]

    def _trace(self, panel: Panel, part: str, **more: Any) -> Part:
        """Return what every trace of a panel has, and more."""
        own = {"name": escape(self.run.label, 48), "legendgroup": self.run.id}
        own |= {"xaxis": f"x{panel.number}", "yaxis": f"y{panel.number}"}
        return scatter(f"{self.run.id}-{panel.measure.key}-{part}", **own, **more)

    def _line(
        self,
        panel: Panel,
        values: Floats,
        part: str,
        hover: str = "",
        *,
        width: float = 2.0,
        opacity: float = 1.0,
        legend: bool = False,
        customdata: Floats | None = None,
        through: NDArray[np.int64] = _NO_SWEEPS,
    ) -> Part:
        """Return a curve, thinned to what can be seen; the sweeps `through` stay in it."""
        positive = panel.measure.key == "change"  # on a logarithmic axis
        known = np.flatnonzero(np.isfinite(values) & ((values > 0) if positive else True))
        shown = known[decimate(np.log(values[known]) if positive else values[known], self.points)]
        if len(through):
            shown = np.union1d(shown, np.intersect1d(through, known))
        line: Part = {"color": self.style.colour, "width": width, "dash": self.style.dash}
        if self.is_under:
            line |= {"width": 4 * width, "dash": "solid"}
            opacity = _PALE
        if panel.measure.step:
            line["shape"] = "hv"
        points = {"x": self.x[shown], "y": values[shown]} | ({"hovertemplate": hover} if hover else {})
        trace = self._trace(panel, part, mode="lines", showlegend=legend, line=line, **points)
        if opacity < 1:
            trace["opacity"] = opacity
        if not len(shown):  # Plotly leaves what has no point at all out of the legend
            trace |= {"x": [None], "y": [None]}
        if len(shown) == 1:  # a line of one point would not be seen
            symbol = self.style.symbol or "circle"
            trace |= {"mode": "markers", "marker": {"symbol": symbol, "size": 6, "color": self.style.colour}}
        elif self.style.symbol and width > 1.5:
            trace["mode"] = "lines+markers"
            trace["marker"] = {"symbol": self.style.symbol, "size": 7, "maxdisplayed": 8}
        if customdata is not None:
            trace["customdata"] = customdata[shown]
        return trace

    def _sweeps_with_moves(self, panel: Panel, values: Floats) -> NDArray[np.int64]:
        """Return where clusters were merged or split, or features dropped, as far as the panel shows it."""
        moved = np.flatnonzero(self.moves.any(axis=1))
        if panel.measure.step:  # with two kinds of objects, the move may have been one of the others'
            return moved[(moved > 0) & (values[moved] != values[moved - 1])]
        return moved if panel.measure.key == "bound" else _NO_SWEEPS

    def _move_marks(self, panel: Panel, values: Floats, moved: NDArray[np.int64]) -> list[Part]:
        """Return a small sign on the curve for each sweep with moves: never thinned, for each may matter."""
        known = np.flatnonzero(np.isfinite(values))
        if not len(moved) or not len(known):
            return []
        # A bound that is evaluated every few sweeps only is a straight line in between.
        height = np.interp(self.x[moved], self.x[known], values[known])
        counts = self.moves[moved]
        marker = {"size": 7, "color": PAPER, "line": {"width": 1.2, "color": self.style.colour}}
        marker["symbol"] = [move_sign(*made) for made in counts]
        text = [move_text(self.display.part, made) for made in counts]
        points = {"x": self.x[moved], "y": height}
        marks = self._trace(panel, "moves", mode="markers", **points, marker=marker, text=text)
        return [marks | {"hovertemplate": "%{text}"}]

    def _burn_in_mark(self, panel: Panel, values: Floats) -> list[Part]:
        """Return an open circle at the last sweep of the burn-in that has a value."""
        if self.burn_in_end is None:
            return []
        known = np.flatnonzero(np.isfinite(values[: self.burn_in_end + 1]))
        if not len(known) or (panel.measure.key == "change" and values[known[-1]] <= 0):
            return []
        at = int(known[-1])
        sweep = int(self.column("sweep")[self.burn_in_end])
        marker = {"symbol": "circle-open", "size": 9, "color": self.style.colour, "line": {"width": 2}}
        hover = f"burn-in ended at {'window' if self.run.streams else 'sweep'} {sweep}"
        point = {"x": [float(self.x[at])], "y": [float(values[at])]}
        return [self._trace(panel, "burn-in", mode="markers", **point, marker=marker, hovertemplate=hover)]


def move_sign(merged: int, split: int, dropped: int, recoded: int, turned: int, *troubles: int) -> str:
    """Return a triangle that points to where the number of clusters goes; a diamond for both directions or neither.

    A cross where there were troubles alone: a worker was lost, or the states of shards could not be saved.
    """
    fewer = merged or dropped
    if any(troubles) and not (fewer or split or recoded or turned):
        return "x"
    return "diamond" if bool(fewer) == bool(split) else "triangle-up" if split else "triangle-down"


def move_text(noun: str, counts: NDArray[np.int64]) -> str:
    """Return "2 clusters merged, 1 split", or "1 worker lost and replaced"."""
    *moves, lost, unsaved = counts.tolist()
    troubles = [f"{lost} worker{'' if lost == 1 else 's'} lost and replaced"] if lost else []
    if unsaved:
        troubles.append("the states of the shards could not be saved; the run continues")
    parts = [f"{count} {kind}" for kind, count in zip(MOVES, moves, strict=False) if count]
    if parts:
        number, _, rest = parts[0].partition(" ")
        parts[0] = f"{number} {noun}{'' if number == '1' else 's'} {rest}"
    return ", ".join([*parts, *troubles])


@dataclass(frozen=True)
class Streaming:
    """The extent of streaming among the runs of a figure."""

    #: `some`, `all`: some runs take the documents window by window, or all of them.
    some: bool
    all: bool
    completion: bool  #: all runs hold out whole documents

    @property
    def sweep(self) -> str:
        """Word for a sweep."""
        return "window" if self.all else "sweep or window" if self.some else "sweep"

    def renamed_measure(self, measure: Measure) -> Measure:
        """Return a measure with the title that it has among such runs."""
        title = measure.title
        if measure.key == "change" and self.some:
            title = "Change in topics" if self.all else "Change in assignments or topics"
        if measure.key == "loo" and self.all and measure.column == "loo_perplexity":
            title = "Leave-one-out perplexity of the window"
        if measure.key == "heldout" and self.completion:
            title = "Held-out perplexity of whole documents (lower is better)"
        return replace(measure, title=title)


def streaming_among(runs: Sequence[RunCurve]) -> Streaming:
    """Return how many of some runs stream."""
    streams = [run.streams for run in runs]
    completion = [run.completion for run in runs if run.heldout]
    return Streaming(any(streams), bool(streams) and all(streams), bool(completion) and all(completion))


@dataclass(frozen=True)
class Panel:
    """One panel."""

    measure: Measure  #: what it shows
    x_domain: tuple[float, float]
    row: int  #: from the top
    side: str  #: side of the numbers: left or right
    first: bool = False  #: its curves are in the legend

    @property
    def number(self) -> str:
        """Suffix of the names of its axes: x, x2, …"""
        return str(self.measure.n) if self.measure.n > 1 else ""


def panels_for(runs: Sequence[RunCurve], model: str) -> list[Panel]:
    """Return the panels of a model for some runs.

    The settings of the runs decide, not the values so far: panels stay the same during a run.

    `model`: name in the registry.
    """
    streams = streaming_among(runs)
    measures = []
    for measure in model_row(model).display.measures:
        if measure.key == "heldout" and not any(run.heldout for run in runs):
            continue
        if measure.methods and not any(run.method in measure.methods for run in runs):
            continue
        # A stream has no bound, and learns no beta.
        if (measure.key == "speed" and not streams.some) or (measure.key == "bound" and streams.all):
            continue
        learns = any(run.learns for run in runs) and not (measure.key == "beta" and streams.all)
        if measure.key in _LEARNED and not learns:
            continue
        measures.append(streams.renamed_measure(measure))
    return _place_measures(measures)


def _place_measures(measures: Sequence[Measure]) -> list[Panel]:
    """Place measures two a row; of an odd number, two small last ones share a place, else the last is wide."""
    n = len(measures)
    sharing = n % 2 == 1 and n > 2 and measures[-1].small and measures[-2].small
    panels = []
    for at, measure in enumerate(measures):
        row, side = at // 2, "left" if at % 2 == 0 else "right"
        domain = _LEFT if side == "left" else _RIGHT
        if sharing and at >= n - 2:
            row, side, domain = (n - 3) // 2, "right", _THIRD if at == n - 2 else _FOURTH
        elif n % 2 == 1 and at == n - 1:
            domain = _WHOLE
        panels.append(Panel(measure, domain, row, side, first=at == 0))
    return panels


def panel_layout(panels: Sequence[Panel], runs: Sequence[RunCurve], x: XAxis, uirevision: str) -> Part:
    """Return the layout of the panels of some runs, drawn against `x`; `uirevision` as in `live_figure`."""
    x_title, x_hover, x_format = _X_AXES[x]
    if x == "sweep":
        word = streaming_among(runs).sweep
        x_title, x_hover = (text.replace("sweep", word) for text in (x_title, x_hover))
    n_rows = 1 + max(panel.row for panel in panels)
    plot = n_rows * _ROW_HEIGHT + (n_rows - 1) * _GAP
    layout: Part = {
        "height": _TOP + _BOTTOM + plot,
        "margin": {"l": 82, "r": 82, "t": _TOP, "b": _BOTTOM},
        "uirevision": uirevision,
        "hovermode": "x unified",
        "showlegend": True,
        "legend": {"y": 1 + 30 / plot, "yref": "paper", "groupclick": "togglegroup", "itemwidth": 40},
        "shapes": [],
        "annotations": [],
    }
    averaged = [run for run in runs if run.averaged]
    tolerances = sorted({run.tolerance for run in averaged if run.tolerance is not None})
    for panel in panels:
        top = 1 - panel.row * (_ROW_HEIGHT + _GAP) / plot
        x_axis, y_axis = panel_axes(panel.number, panel.x_domain, (max(top - _ROW_HEIGHT / plot, 0.0), top))
        x_axis |= {
            "rangemode": "nonnegative",
            "hoverformat": x_format,
            "unifiedhovertitle": {"text": x_hover},
        }
        if panel.x_domain[1] - panel.x_domain[0] < 0.3:
            x_axis["nticks"] = 4
        if panel is not panels[0]:
            x_axis["matches"] = f"x{panels[0].number}"
        if panel.row == n_rows - 1:
            x_axis["title"] = {"text": x_title}
        y_axis["side"] = panel.side
        note = ""
        if panel.measure.key == "change":
            note = "(dotted: upper limit)" if averaged else ""
            # With five, an axis of little more than one decade has a label for each digit.
            y_axis |= {"type": "log", "exponentformat": "power", "nticks": 4}
            y_axis["autorangeoptions"] = {"clipmin": min([_NO_CHANGE, *tolerances])}
            whose = "" if len(averaged) == len(runs) else ", judges averaged runs only"
            layout["shapes"] += [
                level_line(panel.number, level, f"tolerance {level:g}{whose}") for level in tolerances
            ]
        elif panel.measure.step:
            counts = [run.column(panel.measure.column) for run in runs]
            highest = (float(n.max(initial=0.0, where=np.isfinite(n))) for n in counts)
            y_axis |= {"rangemode": "tozero", "tickformat": "d", "nticks": 5}
            y_axis |= whole_ticks(max(highest, default=math.inf))
        else:
            levels = _baselines(runs) if panel.measure.key == "heldout" else {}
            y_axis |= _first_view(panel, runs, list(levels))
            # Curves begin near it and end above it.
            layout["shapes"] += [
                level_line(panel.number, at, name, position="end") for at, name in levels.items()
            ]
        column = panel.measure.column or panel.measure.key
        if not any(np.isfinite(run.column(column)).any() for run in runs):
            y_axis["showticklabels"] = False
            layout["annotations"] += _announce_score(panel, runs) if panel.measure.key == "heldout" else []
        layout[f"xaxis{panel.number}"], layout[f"yaxis{panel.number}"] = x_axis, y_axis
        layout["annotations"].append(panel_title(panel.measure.title, note, panel.x_domain[0], top))
    return layout


def _baselines(runs: Sequence[RunCurve]) -> dict[float, str]:
    """Return the scores that predictions without a model have on what the runs hold out, with their names."""
    found = {}
    for run in runs:
        score = model_row(run.model).display.score
        level = run.history.last_value(f"heldout_{score.baseline}")
        if math.isfinite(level):
            found[level] = score.baseline_name
    return found


def _announce_score(panel: Panel, runs: Sequence[RunCurve]) -> list[Part]:
    """Return a text for a panel of scores that is still empty: when there will be one."""
    first = min((run.first_score for run in runs if run.first_score is not None), default=None)
    if first is None:
        return []
    place = {"xref": f"x{panel.number} domain", "yref": f"y{panel.number} domain", "x": 0.5, "y": 0.5}
    text = f"first score at {streaming_among(runs).sweep} {first:,}"
    return [place | {"text": text}]


def _first_view(panel: Panel, runs: Sequence[RunCurve], levels: Sequence[float]) -> Part:
    """Return where the view that Plotly chooses ends, with some levels in it, and how the numbers are written."""
    ends = later_ends([run.column(panel.measure.column) for run in runs])
    if not ends:
        return {}
    low, high = min([*ends, *levels]), max([*ends, *levels])
    width = high - low
    low, high = view_range(low, high)
    options: Part = {"clipmin": low, "clipmax": high}
    if levels or high - low > 2 * width:  # by itself Plotly would blow up next to nothing, and ignore a level
        options["include"] = [low, high]
    return {
        # Not a range: one that changes at every refresh would throw away the user's zoom.
        "autorange": True,
        "autorangeoptions": options,
        "tickformat": tick_format(low, high),
    }
