"""Curves of runs, finished or under way: bound, leave-one-out, change, clusters or topics, held-out score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acvb_core.engine.history import History
from acvb_core.engine.snapshot import MOVES
from acvb_core.registry import MODELS, model_row
from acvb_core.views.curve_columns import Columns
from acvb_core.views.measures import Streaming
from acvb_core.views.panels import Panel, axis_ranges, figure_layout, panels_for
from acvb_core.views.theme import Figure, Style, b64, decimate, escape, rgba, run_styles

XAxis = Literal["sweep", "cpu_seconds", "passes", "documents_seen"]
MAX_POINTS = 400
_MANY_RUNS = 6
_NOWHERE: NDArray[np.int64] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class RunCurve:
    """One run to draw.

    Attributes
    ----------
    id : str
        Of the run: a curve keeps its identity from refresh to refresh.
    label : str
        For people.
    method : str
        Name in the registry; decides colour and dash.
    seed : int
    history : History
    tolerance : float or None
        Of the run; drawn in the panel of changes where the run is averaged, for that is what it is held against.
    heldout : bool
        Some of the data were held out.
    model : str
        Name in the registry; the first run's decides which panels there are.
    learns : bool or None
        The run learns the concentrations of its model; None where only its curves can tell.
    streams : bool
        A sweep is a window of the documents.
    n_documents : int or None
        Documents in a pass, where there are any.
    completion : bool
        What is held out is whole documents.
    unit : float or None
        Number of objects that the lower bound is counted by, where its model's is.
    """

    id: str
    label: str
    method: str
    seed: int
    history: History
    tolerance: float | None = None
    heldout: bool = False
    model: str = MODELS[0].name
    learns: bool | None = None
    streams: bool = False
    n_documents: int | None = None
    completion: bool = False
    unit: float | None = None

    @property
    def columns(self) -> Columns:
        """The history, and what follows from it."""
        return Columns(self.history, self.n_documents, self.unit)


def live_figure(
    runs: Sequence[RunCurve],
    *,
    x: XAxis = "sweep",
    tolerance: float | None = None,
    uirevision: str = "live",
) -> Figure:
    """Return the panels of a set of runs, cheap enough to be made anew twice a second.

    Parameters
    ----------
    runs : sequence of RunCurve
        In a constant order: markers that tell runs of one method apart follow it. Runs of another model than the
        first's are drawn in its panels as far as they have the values.
    x : "sweep", "cpu_seconds", "passes" or "documents_seen"
        A sweep of a batch method is a pass.
    tolerance : float, optional
        Level to mark in the panel of changes, where any run is averaged; by default those of the averaged runs.
    uirevision : str
        As long as it stays the same, what the user zoomed and hid stays too.

    Returns
    -------
    dict
        `data` and `layout` for Plotly.react; `layout["height"]` is the height it is made for.
    """
    histories = [run.columns for run in runs]
    streams = _streaming(runs)
    panels = panels_for(
        runs[0].model if runs else MODELS[0].name,
        histories,
        heldout=any(run.heldout for run in runs),
        learns=_learns(runs),
        streams=streams,
    )
    styles = run_styles(run.method for run in runs)
    points = MAX_POINTS if len(runs) <= _MANY_RUNS else MAX_POINTS // 2
    data: list[Figure] = []
    for run, style in zip(runs, styles, strict=True):
        curves = _Curves(run, style, x, points)
        for panel in panels:
            data += curves.of(panel)
    levels = [run.tolerance for run in runs if run.tolerance is not None and is_averaged(run.history)]
    if tolerance is not None and levels:
        levels = [tolerance]
    averaged = any(is_averaged(run.history) for run in runs)
    layout = figure_layout(panels, x, sorted(set(levels)), uirevision, streams, averaged)
    for axis, extent in axis_ranges(panels, histories).items():
        layout[axis] |= extent
    return {"data": data, "layout": layout}


def _learns(runs: Sequence[RunCurve]) -> bool | None:
    told = [run.learns for run in runs]
    return True if True in told else None if None in told else False


def _streaming(runs: Sequence[RunCurve]) -> Streaming:
    told = [run.streams for run in runs]
    held = [run.completion for run in runs if run.heldout]
    return Streaming(any(told), bool(told) and all(told), bool(held) and all(held))


class _Curves:
    """The traces of one run."""

    def __init__(self, run: RunCurve, style: Style, x: XAxis, points: int) -> None:
        self.run, self.style, self.points = run, style, points
        history = run.history
        # The length first: rows that are appended meanwhile wait for the next refresh.
        self.length = len(history)
        self.sweep = history.column("sweep")[: self.length]
        self.columns = run.columns
        self.x = self.columns.column(x)[: self.length]
        self.burn_in_end = burn_in_end(history)
        self.moves = _moves(history, self.length)

    def column(self, name: str) -> NDArray[np.float64]:
        return self.columns.column(name)[: self.length]

    def of(self, panel: Panel) -> list[Figure]:
        """Return the traces of one panel."""
        if panel.key == "change":
            return self._change(panel)
        values = self.column(panel.column)
        moved = self._moved(panel, values)
        main = self._line(
            panel, values, "main", panel.hover, width=2.0, legend=panel.first, step=panel.step, through=moved
        )
        traces = [main, *self._move_marks(panel, values, moved)]
        return traces + (self._burn_in_mark(panel, values) if panel.marked else [])

    def _change(self, panel: Panel) -> list[Figure]:
        mean, own = self.column("mean_change"), self.column("change")
        in_burn_in = self.column("burn_in") > 0
        averaged = is_averaged(self.run.history)
        before = np.where(in_burn_in | ~np.isfinite(mean), own, np.nan) if averaged else own
        q, swept = ("the topics", "windows") if self.run.streams else ("q", "sweeps")
        q = model_row(self.run.model).display.changing or q
        traces = [
            self._line(
                panel, before, "own", f"change of {q} %{{y:.3g}}", width=1.1, opacity=0.6, positive=True
            )
        ]
        if averaged:
            samples, scaled = self.column("samples"), self.column("scaled_change")
            traces.append(
                self._line(
                    panel, mean, "main",
                    f"change of the mean of {q} %{{y:.3g}}, × {swept} averaged = %{{customdata:.3g}}",
                    width=2.0, positive=True, customdata=scaled,
                )
            )  # fmt: skip
            limit = np.where(samples > 0, 2.0 / np.maximum(samples, 1.0), np.nan)
            traces.append(self._limit(panel, limit))
            traces += self._burn_in_mark(panel, own)
        return traces

    def _line(
        self,
        panel: Panel,
        values: NDArray[np.float64],
        part: str,
        hover: str,
        *,
        width: float,
        opacity: float = 1.0,
        legend: bool = False,
        positive: bool = False,
        step: bool = False,
        customdata: NDArray[np.float64] | None = None,
        through: NDArray[np.int64] = _NOWHERE,
    ) -> Figure:
        """Return a curve, thinned to what can be seen; the sweeps `through` stay in it."""
        known = np.flatnonzero(np.isfinite(values) & ((values > 0) if positive else True))
        kept = known[decimate(np.log(values[known]) if positive else values[known], self.points)]
        if len(through):
            kept = np.union1d(kept, np.intersect1d(through, known))
        line = {"color": self.style.colour, "width": width, "dash": self.style.dash}
        if step:
            line["shape"] = "hv"
        trace: Figure = {
            "type": "scatter",
            "mode": "lines",
            "uid": f"{self.run.id}-{panel.key}-{part}",
            "name": escape(self.run.label, 48),
            "legendgroup": self.run.id,
            "showlegend": legend,
            "x": b64(self.x[kept]),
            "y": b64(values[kept]),
            "xaxis": panel.x,
            "yaxis": panel.y,
            "line": line,
            "hovertemplate": hover,
        }
        if opacity < 1:
            trace["opacity"] = opacity
        if legend and not len(kept):  # Plotly leaves what has no point at all out of the legend
            trace |= {"x": [None], "y": [None]}
        if len(kept) == 1:  # a line of one point would not be seen
            trace |= {"mode": "markers", "marker": {"symbol": self.style.symbol or "circle", "size": 6}}
            trace["marker"]["color"] = self.style.colour
        elif self.style.symbol and width > 1.5:
            trace["mode"] = "lines+markers"
            trace["marker"] = {"symbol": self.style.symbol, "size": 7, "maxdisplayed": 8}
        if customdata is not None:
            trace["customdata"] = b64(customdata[kept])
        return trace

    def _limit(self, panel: Panel, limit: NDArray[np.float64]) -> Figure:
        """Return 2 / s: no running mean over s sweeps can change by more (ACVB17 Lemma 1, in L1)."""
        trace = self._line(panel, limit, "limit", "", width=1.0, positive=True)
        trace |= {
            "line": {"color": rgba(self.style.colour, 0.35), "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
        }
        del trace["hovertemplate"]
        return trace

    def _moved(self, panel: Panel, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return where clusters were merged or split, or features dropped, as far as the panel shows it.

        The bound shows all of it. A number of clusters is marked where it changed: with two kinds of objects, the
        move may have been one of the others'.
        """
        moved = np.flatnonzero(self.moves.any(axis=1))
        if panel.step:
            return moved[(moved > 0) & (values[moved] != values[moved - 1])]
        return moved if panel.key == "bound" else _NOWHERE

    def _move_marks(
        self, panel: Panel, values: NDArray[np.float64], moved: NDArray[np.int64]
    ) -> list[Figure]:
        """Return a small sign on the curve for each sweep with moves: never thinned, for each may matter."""
        known = np.flatnonzero(np.isfinite(values))
        if not len(moved) or not len(known):
            return []
        # A bound that is evaluated every few sweeps only is a straight line in between.
        height = np.interp(self.x[moved], self.x[known], values[known])
        counts = self.moves[moved]
        noun = model_row(self.run.model).display.part
        return [
            {
                "type": "scatter",
                "mode": "markers",
                "uid": f"{self.run.id}-{panel.key}-moves",
                "name": escape(self.run.label, 48),
                "legendgroup": self.run.id,
                "showlegend": False,
                "x": b64(self.x[moved]),
                "y": b64(height),
                "xaxis": panel.x,
                "yaxis": panel.y,
                "marker": {
                    "symbol": [_move_sign(*made) for made in counts],
                    "size": 7,
                    "color": "white",
                    "line": {"width": 1.2, "color": self.style.colour},
                },
                "text": [_move_text(noun, made) for made in counts],
                "hovertemplate": "%{text}",
            }
        ]

    def _burn_in_mark(self, panel: Panel, values: NDArray[np.float64]) -> list[Figure]:
        """Return an open circle at the last sweep of the burn-in that has a value."""
        if self.burn_in_end is None:
            return []
        there = np.flatnonzero(np.isfinite(values[: self.burn_in_end + 1]))
        if not len(there) or (panel.key == "change" and values[there[-1]] <= 0):
            return []
        at = int(there[-1])
        return [
            {
                "type": "scatter",
                "mode": "markers",
                "uid": f"{self.run.id}-{panel.key}-burn-in",
                "name": escape(self.run.label, 48),
                "legendgroup": self.run.id,
                "showlegend": False,
                "x": [float(self.x[at])],
                "y": [float(values[at])],
                "xaxis": panel.x,
                "yaxis": panel.y,
                "marker": {
                    "symbol": "circle-open",
                    "size": 9,
                    "color": self.style.colour,
                    "line": {"width": 2},
                },
                "hovertemplate": f"burn-in ended at {'window' if self.run.streams else 'sweep'} "
                f"{int(self.sweep[self.burn_in_end])}",
            }
        ]


def _moves(history: History, length: int) -> NDArray[np.int64]:
    """Return how many moves of each kind (`MOVES`) there were in each sweep, shape (length, kinds)."""
    columns = np.stack([history.column(kind)[:length] for kind in MOVES], axis=1)
    return np.nan_to_num(columns).astype(np.int64)


def _move_sign(merged: int, split: int, dropped: int, recoded: int, turned: int) -> str:
    """Return a triangle that points to where the number of clusters goes, a diamond for both ways or neither."""
    if split or not (merged or dropped):
        return "triangle-up" if split and not (merged or dropped) else "diamond"
    return "triangle-down"


def _move_text(noun: str, counts: NDArray[np.int64]) -> str:
    """Return "2 clusters merged, 1 split"."""
    parts = [f"{count} {kind}" for kind, count in zip(MOVES, counts, strict=True) if count]
    number, _, rest = parts[0].partition(" ")
    return ", ".join([f"{number} {noun}{'' if number == '1' else 's'} {rest}", *parts[1:]])


def is_averaged(history: History) -> bool:
    """Whether a run has a running mean, or is in the burn-in before one."""
    return bool((history.column("burn_in") > 0).any() or np.isfinite(history.column("mean_change")).any())


def burn_in_end(history: History) -> int | None:
    """Return the index of the last sweep of the burn-in, None while it goes on or where there is none."""
    burning = history.column("burn_in") > 0
    ends = np.flatnonzero(burning[:-1] & ~burning[1:])
    return int(ends[-1]) if len(ends) else None
