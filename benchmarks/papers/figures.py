"""Figures of papers drawn anew, from the runs of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from acvb_core.engine.experiments.report import Experiment
from benchmarks.papers.courses import RunNotes, average_courses
from benchmarks.papers.paper import PaperFigure, PaperTable
from benchmarks.papers.parts import PaperPart, PaperResult, label_method
from benchmarks.papers.pictures import DRAWERS
from benchmarks.peers.svg import Panel, Series, draw_panels

#: What axes are called.
_NAMES = {
    "cpu_seconds": "CPU seconds",
    "passes": "share of the documents read",
    "lower_bound": "lower bound",
    "unit_lower_bound": "lower bound a word",
    "pseudo_loo": "pseudo leave-one-out",
    "heldout_log_likelihood": "held-out log likelihood",
    "heldout_perplexity": "held-out perplexity",
    "loo_perplexity": "leave-one-out perplexity",
    "effective_k": "number in use",
    "effective_k_features": "features found",
}
_BINS = 12


class DrawnFigure(NamedTuple):
    """A figure as a file beside its page."""

    figure: PaperFigure
    name: str  #: of the file
    content: bytes

    @property
    def link(self) -> str:
        """The line of the page that shows it."""
        return f"![{self.figure.number}: {self.figure.title}]({self.name})"


#: What was kept of the runs of an experiment, by the number of the run.
Notes = Mapping[int, RunNotes]


def draw_figures(paper: str, result: PaperResult, notes: Mapping[str, Notes]) -> list[DrawnFigure]:
    """Return the figures of a table that have runs.

    `notes`: what was kept of the runs on each data set.
    """
    drawn = []
    for figure in result.table.figures:
        name = f"{paper}-{'-'.join(re.findall(r'[a-z0-9]+', figure.number.lower()))}"
        if figure.kind == "answers":
            content = _draw_answers(result, notes)
            if content is not None:
                drawn.append(DrawnFigure(figure, f"{name}.png", content))
            continue
        panels = [panel for panel in _PANELS[figure.kind](figure, result, notes) if panel.series]
        if panels:
            drawn.append(DrawnFigure(figure, f"{name}.svg", draw_panels(panels).encode()))
    return drawn


def _list_parts(result: PaperResult) -> Iterator[tuple[PaperPart, Experiment]]:
    return ((part, done) for part, done in result.parts if done is not None and done.rows)


def _list_ks(result: PaperResult, done: Experiment | None = None) -> list[int]:
    """Return the numbers of clusters or topics that were tried; one 0 where the methods find it themselves."""
    if result.table.ks == (0,):
        return [0]
    made = [done] if done is not None else [one for _, one in result.parts if one is not None]
    return list(dict.fromkeys(int(one.k) for each in made for one in each.plan.conditions))


def _name_place(result: PaperResult, data: str, k: int) -> str:
    return data if len(result.table.ks) == 1 else f"{data}, K = {k}"


def _list_runs(table: PaperTable, done: Experiment, method: str, k: int) -> list[int]:
    """Return the runs that are over of a method and number of clusters."""
    label = label_method(table, method) + (f" · K {k}" if k else "")
    return [row["run"] for row in done.rows if row["condition"] == label]


def _course_panels(figure: PaperFigure, result: PaperResult, notes: Mapping[str, Notes]) -> Iterator[Panel]:
    """Yield a panel a data set, number of clusters and quantity; two quantities of several methods get their own."""
    for part, done in _list_parts(result):
        for k in _list_ks(result, done):
            for quantity in figure.y:
                series = []
                for method in figure.methods or result.table.methods:
                    runs = _list_runs(result.table, done, method, k)
                    kept = notes.get(part.data, {})
                    courses = [kept[run]["courses"].get(quantity, []) for run in runs if run in kept]
                    mean = average_courses(courses, figure.x, logarithmic=figure.logarithmic)
                    if mean is None:
                        continue
                    points = list(zip(mean.at.tolist(), mean.mean.tolist(), strict=True))
                    low, high = (mean.mean - mean.spread).tolist(), (mean.mean + mean.spread).tolist()
                    band = list(zip(mean.at.tolist(), low, high, strict=True)) if mean.spread.any() else []
                    series.append(Series(label_method(result.table, method), points, band))
                name, across = _name_place(result, part.real_name, k), _NAMES.get(figure.x, figure.x)
                yield Panel(name, across, _NAMES.get(quantity, quantity), series, figure.logarithmic)


def _search_panels(figure: PaperFigure, result: PaperResult, notes: Mapping[str, Notes]) -> Iterator[Panel]:
    """Yield a panel a data set: the best score of the trials so far."""
    for part, _ in result.parts:
        series = []
        for method, tuning in part.searches.items():
            best = tuning.table()[["trial", "best"]].dropna()
            points = [(float(trial), float(score)) for trial, score in best.itertuples(index=False)]
            series.append(Series(label_method(result.table, method), points))
        yield Panel(part.real_name, "trials", _NAMES.get(figure.y[0], figure.y[0]), series)


def _histogram_panels(
    figure: PaperFigure, result: PaperResult, notes: Mapping[str, Notes]
) -> Iterator[Panel]:
    for score in figure.y:
        for cell in result.list_cells(score):
            values = {
                method: cell.scores[place][np.isfinite(cell.scores[place])]
                for place, method in enumerate(result.table.methods)
                if method in (figure.methods or result.table.methods)
            }
            known = np.concatenate(list(values.values()))
            if not len(known):
                continue
            edges = np.linspace(known.min(), known.max() + 1e-12 * abs(known.max()) + 1e-12, _BINS + 1)
            series = [
                Series(label_method(result.table, method), _outline(edges, np.histogram(own, edges)[0]))
                for method, own in values.items()
                if len(own)
            ]
            name = _name_place(result, result.name_data(cell.data), cell.k)
            yield Panel(name, _NAMES.get(score, score), "splits", series)


def _outline(edges: np.ndarray, counts: np.ndarray) -> list[tuple[float, float]]:
    """Return the outline of a histogram."""
    points = [(float(edges[0]), 0.0)]
    for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True):
        points += [(float(low), float(n)), (float(high), float(n))]
    return [*points, (float(edges[-1]), 0.0)]


def _size_panels(figure: PaperFigure, result: PaperResult, notes: Mapping[str, Notes]) -> Iterator[Panel]:
    sizes = {data.name: data.size for data in result.table.data}
    for score in figure.y:
        cells = sorted(result.list_cells(score), key=lambda cell: sizes[cell.data])
        for k in _list_ks(result):
            series = []
            for method in figure.methods or result.table.methods:
                place = result.table.methods.index(method)
                at = [(sizes[cell.data], cell.scores[place]) for cell in cells if cell.k == k]
                known = [(x, own[np.isfinite(own)]) for x, own in at if np.isfinite(own).any()]
                points = [(x, float(own.mean())) for x, own in known]
                band = [
                    (x, float(own.mean() - own.std(ddof=1)), float(own.mean() + own.std(ddof=1)))
                    for x, own in known
                    if len(own) > 1
                ]
                if points:
                    series.append(Series(label_method(result.table, method), points, band))
            title = f"K = {k}" if len(result.table.ks) > 1 else ""
            log_up = score == "cpu_seconds"
            if log_up:
                series = [Series(one.name, one.points) for one in series]
            yield Panel(title, figure.x, _NAMES.get(score, score), series, figure.logarithmic, log_up)


def _scatter_panels(figure: PaperFigure, result: PaperResult, notes: Mapping[str, Notes]) -> Iterator[Panel]:
    for part, done in _list_parts(result):
        series = []
        for method in figure.methods or result.table.methods:
            label = label_method(result.table, method)
            mine = [row for row in done.rows if row["condition"].partition(" · ")[0] == label]
            points = [
                (float(row[figure.x]), float(row[score]))
                for row in mine
                for score in figure.y
                if row.get(figure.x) is not None and row.get(score) is not None
            ]
            if points:
                series.append(Series(label, points, dots=True))
        yield Panel(
            part.real_name, _NAMES.get(figure.x, figure.x), _NAMES.get(figure.y[0], figure.y[0]), series
        )


def _draw_answers(result: PaperResult, notes: Mapping[str, Notes]) -> bytes | None:
    """Return the answers of the first run of every method and data set as one picture."""
    table, tiles = result.table, []
    draw = DRAWERS[table.model]
    for part, done in _list_parts(result):
        kept = notes.get(part.data, {})
        for method in table.methods:
            for run in _list_runs(table, done, method, _list_ks(result, done)[-1])[:1]:
                answers = kept.get(run, {}).get("answers")
                if answers:
                    tiles.append(
                        (f"{part.real_name}: {label_method(table, method)}", done.plan.data, answers)
                    )
    return draw(tiles) if tiles else None


_PANELS = {
    "course": _course_panels,
    "search": _search_panels,
    "histogram": _histogram_panels,
    "sizes": _size_panels,
    "scatter": _scatter_panels,
}
