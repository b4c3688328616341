"""Figures of papers, redrawn from the runs of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.papers.paper import PaperFigure
from benchmarks.papers.parts import Cell, PaperResult
from benchmarks.papers.pictures import DRAWERS
from benchmarks.papers.runs import AXES, Course, Floats
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
#: Bins of a histogram, and points of a mean course.
_BINS, _POINTS = 12, 40

#: Title, what is across and up, and series of a panel.
PanelParts = tuple[str, str, str, list[Series]]


class DrawnFigure(NamedTuple):
    """A figure as a file next to its page."""

    figure: PaperFigure
    name: str  #: of the file
    content: bytes


def draw_figures(result: PaperResult) -> list[DrawnFigure]:
    """Return the figures of a table that have runs."""
    drawn = []
    for figure in result.table.figures:
        name = f"{result.table.paper}-{'-'.join(re.findall(r'[a-z0-9]+', figure.number.lower()))}"
        if figure.kind == "answers":
            content = _draw_answers(result)
            drawn += [DrawnFigure(figure, f"{name}.png", content)] if content else []
            continue
        panels = [
            Panel(title, _NAMES.get(x, x), _NAMES.get(y, y), series, figure.logarithmic, y == "cpu_seconds")
            for title, x, y, series in _PANELS[figure.kind](figure, result)
            if series
        ]
        drawn += [DrawnFigure(figure, f"{name}.svg", draw_panels(panels).encode())] if panels else []
    return drawn


def _list_methods(figure: PaperFigure, result: PaperResult) -> list[tuple[str, str]]:
    """Return the methods that a figure shows, with what they are called."""
    return [(one, result.table.label_method(one)) for one in figure.methods or result.table.methods]


def _name_cell(cell: Cell) -> str:
    return cell.part.real_name + (f", K = {cell.k}" if len(cell.part.table.ks) > 1 else "")


def _course_panels(figure: PaperFigure, result: PaperResult) -> Iterator[PanelParts]:
    """Yield a panel a data set, number of clusters and quantity; two quantities of several methods get their own."""
    for cell in result.list_cells(result.table.score):
        for quantity in figure.y:
            series = []
            for method, label in _list_methods(figure, result):
                runs = [run for k, _, run in cell.part.list_runs(method) if k == cell.k]
                courses = [run["courses"].get(quantity, []) for run in runs]
                mean = average_courses(courses, figure.x, logarithmic=figure.logarithmic)
                series += [_draw_mean(label, *mean)] if mean else []
            yield _name_cell(cell), figure.x, quantity, series


def _draw_mean(label: str, at: Floats, mean: Floats, spread: Floats) -> Series:
    """Return a curve, with a standard deviation on either side where it is known."""
    band = np.stack([at, mean - spread, mean + spread], axis=1)[np.isfinite(spread)]
    return Series(label, list(zip(at.tolist(), mean.tolist(), strict=True)), list(map(tuple, band.tolist())))


def average_courses(
    courses: Sequence[Course], axis: str, *, logarithmic: bool = False
) -> tuple[Floats, Floats, Floats] | None:
    """Return common places, and the mean and standard deviation of courses there; None without any.

    A run that is over stays where it ended. The standard deviation of one run is NaN.
    """
    known = [np.array(course, dtype=np.float64) for course in courses if len(course)]
    if not known:
        return None
    column = AXES.index(axis)
    begin = max(float(course[0, column]) for course in known)
    end = max(float(course[-1, column]) for course in known)
    if logarithmic:
        begin = max(begin, 1e-4)
        at = np.geomspace(begin, max(end, begin), _POINTS)
    else:
        at = np.linspace(begin, end, _POINTS)
    values = np.stack([np.interp(at, course[:, column], course[:, -1]) for course in known])
    spread = values.std(axis=0, ddof=1) if len(known) > 1 else np.full(len(at), np.nan)
    return at, values.mean(axis=0), spread


def _search_panels(figure: PaperFigure, result: PaperResult) -> Iterator[PanelParts]:
    """Yield a panel a data set: the best score of the trials so far."""
    for part in result.parts:
        series = []
        for method, tuning in part.searches.items():
            best = tuning.table()[["trial", "best"]].dropna().astype(float)
            series.append(
                Series(result.table.label_method(method), list(best.itertuples(index=False, name=None)))
            )
        yield part.real_name, "trials", figure.y[0], series


def _histogram_panels(figure: PaperFigure, result: PaperResult) -> Iterator[PanelParts]:
    """Yield a panel a score, data set and number of clusters: how many splits have a score."""
    for score in figure.y:
        for cell in result.list_cells(score):
            values = {label: cell.find_known(method) for method, label in _list_methods(figure, result)}
            known = np.concatenate(list(values.values()))
            if len(known):
                edges = np.linspace(known.min(), known.max() + 1e-12 * abs(known.max()) + 1e-12, _BINS + 1)
                series = [Series(label, _outline(edges, own)) for label, own in values.items() if len(own)]
                yield _name_cell(cell), score, "splits", series


def _outline(edges: Floats, values: Floats) -> list[tuple[float, float]]:
    """Return the outline of a histogram."""
    counts = np.histogram(values, edges)[0].astype(np.float64)
    steps = np.repeat(edges, 2).tolist(), [0.0, *np.repeat(counts, 2).tolist(), 0.0]
    return list(zip(*steps, strict=True))


def _size_panels(figure: PaperFigure, result: PaperResult) -> Iterator[PanelParts]:
    """Yield a panel a score and number of clusters: mean scores by the size of the data."""
    for score in figure.y:
        cells = sorted(result.list_cells(score), key=lambda cell: cell.part.data.size)
        for k in dict.fromkeys(cell.k for cell in cells):
            series = []
            for method, label in _list_methods(figure, result):
                known = {cell.part.data.size: cell.find_known(method) for cell in cells if cell.k == k}
                points = [
                    # The axis of a time is logarithmic, and mean less standard deviation may be below 0.
                    (size, own.mean(), own.std(ddof=1) if len(own) > 1 and score != "cpu_seconds" else np.nan)
                    for size, own in known.items()
                    if len(own)
                ]
                series += [_draw_mean(label, *np.array(points).T)] if points else []
            yield f"K = {k}" if len(result.table.ks) > 1 else "", figure.x, score, series


def _scatter_panels(figure: PaperFigure, result: PaperResult) -> Iterator[PanelParts]:
    """Yield a panel a data set: two scores of every run."""
    for part in result.parts:
        series = []
        for method, label in _list_methods(figure, result):
            runs = [run for _, _, run in part.list_runs(method)]
            pairs = [(run.get(figure.x), run.get(score)) for run in runs for score in figure.y]
            points = [(float(x), float(y)) for x, y in pairs if x is not None and y is not None]
            series += [Series(label, points, dots=True)] if points else []
        yield part.real_name, figure.x, figure.y[0], series


def _draw_answers(result: PaperResult) -> bytes | None:
    """Return the answers of the first run of every method and data set as one picture."""
    tiles = []
    for part in result.parts:
        of_last_k = {method: one for (_, method), one in part.runs.items()}
        for method, one in of_last_k.items():
            if answers := one.by_split.get(1, {}).get("answers"):
                tiles.append((f"{part.real_name}: {result.table.label_method(method)}", part.taken, answers))
    return DRAWERS[result.table.model](tiles) if tiles else None


_PANELS = {
    "course": _course_panels,
    "search": _search_panels,
    "histogram": _histogram_panels,
    "sizes": _size_panels,
    "scatter": _scatter_panels,
}
