"""Curves of runs, finished or under way: bound, leave-one-out, change, clusters or topics, held-out score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.engine.history import MOVES
from acvb_core.registry import MODELS, model_row
from acvb_core.views.overlaps import find_overlaps
from acvb_core.views.panels import Panel, XAxis, panel_layout, panels_for
from acvb_core.views.run_curve import Floats, RunCurve
from acvb_core.views.theme import PAPER, Figure, Style, b64, decimate, escape, rgba, run_styles

MAX_POINTS = 400
_MANY_RUNS = 6
#: Opacity of a curve that another one covers.
_PALE = 0.4
_NO_SWEEPS: NDArray[np.int64] = np.empty(0, dtype=np.int64)


def live_figure(runs: Sequence[RunCurve], *, x: XAxis = "sweep", uirevision: str = "live") -> Figure:
    """Return the panels of a set of runs, cheap enough to be made anew twice a second.

    `runs`: in a constant order: markers that distinguish runs of one method follow it. Runs of another model than the
      first's are drawn in its panels as far as they have the values.
    `x`: a sweep of a batch method is a pass.
    `uirevision`: as long as it stays the same, what the user zoomed and hid stays too.
    Returns: `data` and `layout` for Plotly.react; `layout["height"]` is the height it is made for.
    """
    panels = panels_for(runs, runs[0].model if runs else MODELS[0].name)
    points = MAX_POINTS if len(runs) <= _MANY_RUNS else MAX_POINTS // 2
    under = {overlap.under.id for overlap in find_overlaps(runs)}
    data: list[Figure] = []
    for run, style in zip(runs, run_styles(run.method for run in runs), strict=True):
        traces = _RunTraces(run, style, x, points, run.id in under)
        for panel in panels:
            data += traces.in_panel(panel)
    return {"data": data, "layout": panel_layout(panels, runs, x, uirevision)}


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

    def in_panel(self, panel: Panel) -> list[Figure]:
        """Return the traces of one panel."""
        measure = panel.measure
        if measure.key == "change":
            return self._changes(panel)
        values = self.column(measure.column)
        moved = self._sweeps_with_moves(panel, values)
        line = self._line(panel, values, "main", measure.hover, legend=panel.first, through=moved)
        traces = [line, *self._move_marks(panel, values, moved)]
        return traces + (self._burn_in_mark(panel, values) if measure.marked else [])

    def _changes(self, panel: Panel) -> list[Figure]:
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
        limit = self._line(
            panel, np.where(samples > 0, 2.0 / np.maximum(samples, 1.0), np.nan), "limit", width=1
        )
        limit["line"] = {"color": rgba(self.style.colour, 0.7), "width": 1, "dash": "dot"}
        return [
            self._line(panel, before, "own", hover, width=1.1, opacity=0.85),
            self._line(panel, mean, "main", mean_hover, customdata=scaled),
            limit | {"hoverinfo": "skip"},
            *self._burn_in_mark(panel, own),
        ]

    def _trace(self, panel: Panel, part: str, **more: Any) -> Figure:
        """Return what every trace of a panel has, and more."""
        return {
            "type": "scatter",
            "uid": f"{self.run.id}-{panel.measure.key}-{part}",
            "name": escape(self.run.label, 48),
            "legendgroup": self.run.id,
            "showlegend": False,
            "xaxis": f"x{panel.number}",
            "yaxis": f"y{panel.number}",
            **more,
        }

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
    ) -> Figure:
        """Return a curve, thinned to what can be seen; the sweeps `through` stay in it."""
        positive = panel.measure.key == "change"  # on a logarithmic axis
        known = np.flatnonzero(np.isfinite(values) & ((values > 0) if positive else True))
        shown = known[decimate(np.log(values[known]) if positive else values[known], self.points)]
        if len(through):
            shown = np.union1d(shown, np.intersect1d(through, known))
        line: Figure = {"color": self.style.colour, "width": width, "dash": self.style.dash}
        if self.is_under:
            line |= {"width": 4 * width, "dash": "solid"}
            opacity = _PALE
        if panel.measure.step:
            line["shape"] = "hv"
        trace = self._trace(
            panel,
            part,
            mode="lines",
            showlegend=legend,
            x=b64(self.x[shown]),
            y=b64(values[shown]),
            line=line,
        )
        if hover:
            trace["hovertemplate"] = hover
        if opacity < 1:
            trace["opacity"] = opacity
        if legend and not len(shown):  # Plotly leaves what has no point at all out of the legend
            trace |= {"x": [None], "y": [None]}
        if len(shown) == 1:  # a line of one point would not be seen
            symbol = self.style.symbol or "circle"
            trace |= {"mode": "markers", "marker": {"symbol": symbol, "size": 6, "color": self.style.colour}}
        elif self.style.symbol and width > 1.5:
            trace["mode"] = "lines+markers"
            trace["marker"] = {"symbol": self.style.symbol, "size": 7, "maxdisplayed": 8}
        if customdata is not None:
            trace["customdata"] = b64(customdata[shown])
        return trace

    def _sweeps_with_moves(self, panel: Panel, values: Floats) -> NDArray[np.int64]:
        """Return where clusters were merged or split, or features dropped, as far as the panel shows it.

        The bound shows all of it. A number of clusters is marked where it changed: with two kinds of objects, the
        move may have been one of the others'.
        """
        moved = np.flatnonzero(self.moves.any(axis=1))
        if panel.measure.step:
            return moved[(moved > 0) & (values[moved] != values[moved - 1])]
        return moved if panel.measure.key == "bound" else _NO_SWEEPS

    def _move_marks(self, panel: Panel, values: Floats, moved: NDArray[np.int64]) -> list[Figure]:
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
        points = {"x": b64(self.x[moved]), "y": b64(height)}
        marks = self._trace(panel, "moves", mode="markers", **points, marker=marker, text=text)
        return [marks | {"hovertemplate": "%{text}"}]

    def _burn_in_mark(self, panel: Panel, values: Floats) -> list[Figure]:
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
    if any(troubles) and not (merged or split or dropped or recoded or turned):
        return "x"
    if split or not (merged or dropped):
        return "triangle-up" if split and not (merged or dropped) else "diamond"
    return "triangle-down"


def move_text(noun: str, counts: NDArray[np.int64]) -> str:
    """Return "2 clusters merged, 1 split", or "1 worker lost and replaced"."""
    *moves, lost, unsaved = counts.tolist()
    troubles = [f"{lost} worker{'' if lost == 1 else 's'} lost and replaced"] if lost else []
    if unsaved:
        troubles.append("the states of the shards could not be saved; the run goes on")
    parts = [f"{count} {kind}" for kind, count in zip(MOVES, moves, strict=False) if count]
    if parts:
        number, _, rest = parts[0].partition(" ")
        parts[0] = f"{number} {noun}{'' if number == '1' else 's'} {rest}"
    return ", ".join([*parts, *troubles])
