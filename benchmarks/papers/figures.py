"""Figures of papers drawn anew, from the runs of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.papers.paper import PaperFigure
from benchmarks.papers.parts import PaperResult
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


class DrawnFigure(NamedTuple):
    """A figure as a file beside its page."""

    figure: PaperFigure
    name: str  #: of the file
    content: bytes

    @property
    def link(self) -> str:
        """The line of the page that shows it."""
        return f"![{self.figure.number}: {self.figure.title}]({self.name})"


def draw_figures(result: PaperResult) -> list[DrawnFigure]:
    """Return the figures of a table that have runs."""
    drawn = []
    for figure in result.table.figures:
        name = f"{result.table.paper}-{'-'.join(re.findall(r'[a-z0-9]+', figure.number.lower()))}"
        if figure.kind == "answers":
            content = _draw_answers(result)
            drawn += [DrawnFigure(figure, f"{name}.png", content)] if content else []
            continue
        panels = [panel for panel in _PANELS[figure.kind](figure, result) if panel.series]
        drawn += [DrawnFigure(figure, f"{name}.svg", draw_panels(panels).encode())] if panels else []
    return drawn


def _list_methods(figure: PaperFigure, result: PaperResult) -> list[tuple[str, str]]:
    """Return the methods that a figure shows, with what they are called."""
    return [(one, result.table.label_method(one)) for one in figure.methods or result.table.methods]


def _name_axis(quantity: str) -> str:
    return _NAMES.get(quantity, quantity)


def _name_place(result: PaperResult, data: str, k: int) -> str:
    return data if len(result.table.ks) == 1 else f"{data}, K = {k}"


def _course_panels(figure: PaperFigure, result: PaperResult) -> Iterator[Panel]:
    """Yield a panel a data set, number of clusters and quantity; two quantities of several methods get their own."""
    for part in result.parts:
        for k in dict.fromkeys(k for k, _ in part.runs):
            for quantity in figure.y:
                series = []
                for method, label in _list_methods(figure, result):
                    runs = [run for at, _, run in part.list_runs(method) if at == k]
                    courses = [run["courses"].get(quantity, []) for run in runs]
                    mean = average_courses(courses, figure.x, logarithmic=figure.logarithmic)
                    if mean is not None:
                        series.append(_draw_mean(label, *mean))
                name, axes = (
                    _name_place(result, part.real_name, k),
                    (_name_axis(figure.x), _name_axis(quantity)),
                )
                yield Panel(name, *axes, series, figure.logarithmic)


def _draw_mean(label: str, at: Floats, mean: Floats, spread: Floats) -> Series:
    """Return a curve, with a standard deviation on either side where it is known."""
    is_known = np.isfinite(spread)
    band = np.stack([at, mean - spread, mean + spread])[:, is_known]
    return Series(
        label, list(zip(at.tolist(), mean.tolist(), strict=True)), list(zip(*band.tolist(), strict=True))
    )


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


def _search_panels(figure: PaperFigure, result: PaperResult) -> Iterator[Panel]:
    """Yield a panel a data set: the best score of the trials so far."""
    for part in result.parts:
        series = []
        for method, tuning in part.searches.items():
            best = tuning.table()[["trial", "best"]].dropna()
            points = [(float(trial), float(score)) for trial, score in best.itertuples(index=False)]
            series.append(Series(result.table.label_method(method), points))
        yield Panel(part.real_name, "trials", _name_axis(figure.y[0]), series)


def _histogram_panels(figure: PaperFigure, result: PaperResult) -> Iterator[Panel]:
    """Yield a panel a score, data set and number of clusters: how many splits have a score."""
    for score in figure.y:
        for cell in result.list_cells(score):
            values = {
                label: _keep_known(cell.scores[method]) for method, label in _list_methods(figure, result)
            }
            known = np.concatenate(list(values.values()))
            if len(known):
                edges = np.linspace(known.min(), known.max() + 1e-12 * abs(known.max()) + 1e-12, _BINS + 1)
                series = [Series(label, _outline(edges, own)) for label, own in values.items() if len(own)]
                yield Panel(
                    _name_place(result, cell.part.real_name, cell.k), _name_axis(score), "splits", series
                )


def _keep_known(scores: Floats) -> Floats:
    return scores[np.isfinite(scores)]


def _outline(edges: Floats, values: Floats) -> list[tuple[float, float]]:
    """Return the outline of a histogram."""
    counts = np.histogram(values, edges)[0].astype(np.float64)
    steps = np.repeat(edges, 2).tolist(), [0.0, *np.repeat(counts, 2).tolist(), 0.0]
    return list(zip(*steps, strict=True))


def _size_panels(figure: PaperFigure, result: PaperResult) -> Iterator[Panel]:
    """Yield a panel a score and number of clusters: mean scores by the size of the data."""
    for score in figure.y:
        cells = sorted(result.list_cells(score), key=lambda cell: cell.part.data.size)
        for k in dict.fromkeys(cell.k for cell in cells):
            series = []
            is_time = score == "cpu_seconds"
            for method, label in _list_methods(figure, result):
                known = [
                    (cell.part.data.size, _keep_known(cell.scores[method])) for cell in cells if cell.k == k
                ]
                known = [(size, own) for size, own in known if len(own)]
                # The axis of a time is logarithmic, and mean less standard deviation may be below 0.
                spreads = [own.std(ddof=1) if len(own) > 1 and not is_time else np.nan for _, own in known]
                columns = ([size for size, _ in known], [own.mean() for _, own in known], spreads)
                series += [_draw_mean(label, *map(np.array, columns))] if known else []
            title = f"K = {k}" if len(result.table.ks) > 1 else ""
            yield Panel(title, figure.x, _name_axis(score), series, figure.logarithmic, is_time)


def _scatter_panels(figure: PaperFigure, result: PaperResult) -> Iterator[Panel]:
    """Yield a panel a data set: two scores of every run."""
    for part in result.parts:
        series = []
        for method, label in _list_methods(figure, result):
            runs = [run for _, _, run in part.list_runs(method)]
            pairs = [(run.get(figure.x), run.get(score)) for run in runs for score in figure.y]
            points = [(float(x), float(y)) for x, y in pairs if x is not None and y is not None]
            series += [Series(label, points, dots=True)] if points else []
        yield Panel(part.real_name, _name_axis(figure.x), _name_axis(figure.y[0]), series)


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
