"""The scores of an experiment: a point for every run, and the mean of every method with its interval."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.display import write_number
from acvb_core.engine.experiments.answers import COURSE, read_progress
from acvb_core.engine.experiments.plan import Condition
from acvb_core.engine.experiments.report import Experiment
from acvb_core.evaluate.significance import compare_paired
from acvb_core.views.axes import axis_title
from acvb_core.views.theme import LINE, TEXT, Figure, base_layout, escape, method_style, rgba

_TIMES = 60  # points of a curve over time
_MOST_LETTERS = 50  # of a name
_ROW, _AROUND = 44, 92  # pixels: of a method, and above and below all of them


def experiment_figure(experiment: Experiment, score: str, title: str) -> Figure:
    """Return one row for each row of the summary, the best mean on top: its runs as points, and its mean.

    The bar is the mean's 95 % interval, corrected for the training data that splits share. A line joins the runs of one
    split, as differences are judged split by split.

    `title`: what the score is called.
    """
    summary = experiment.summary(score)
    lower = summary["difference"].isna() | ~summary["best"]
    order = summary.assign(rest=lower).sort_values(["rest", "difference"], ascending=[True, False])
    # In two lines, which leaves a narrow page room for the points.
    names = ["<br>".join(escape(name, _MOST_LETTERS).rsplit(" · ", 1)) for name in order["condition"]]
    place = {condition: at for at, condition in enumerate(order["condition"])}
    known = _list_points(experiment, score)
    traces = [
        _split_lines(known, place),
        *_condition_points(known, order, place, experiment.plan.test_train_ratio),
    ]
    layout = base_layout(
        _AROUND + _ROW * len(names),
        margin={"l": 10, "r": 18, "t": 16, "b": 52},
        showlegend=False,
        hovermode="closest",
        xaxis={
            "title": axis_title(escape(title)),
            "zeroline": False,
            "automargin": True,
            "tickformat": ",.4~g",
        },
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "range": [len(names) - 0.4, -0.6],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
    )
    return {"data": traces, "layout": layout}


def _list_points(experiment: Experiment, score: str) -> pd.DataFrame:
    """Return the scores of all runs by the rows of the summary: condition, split and value."""
    table, points = experiment.table(), []
    for one in experiment.list_predictors(score):
        own = table[table["condition"] == one.conditions[0].label].reindex(columns=["split", one.column])
        value = pd.to_numeric(own[one.column], errors="coerce")
        points.append(pd.DataFrame({"condition": one.label, "split": own["split"], "value": value}))
    known = pd.concat(points)
    return known[np.isfinite(known["value"])]


def _split_lines(known: pd.DataFrame, place: dict[str, int]) -> Figure:
    x: list[float | None] = []
    y: list[int | None] = []
    for _, rows in known.groupby("split"):
        rows = rows.assign(at=rows["condition"].map(place)).sort_values("at")
        x += [*rows["value"], None]
        y += [*rows["at"], None]
    line = {"color": rgba(LINE, 0.35), "width": 1}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": line,
        "hoverinfo": "skip",
        "uid": "splits",
    }


def _condition_points(
    known: pd.DataFrame, order: pd.DataFrame, place: dict[str, int], ratio: float
) -> list[Figure]:
    traces: list[Figure] = []
    for row in order.to_dict("records"):
        rows = known[known["condition"] == row["condition"]]
        colour, at = method_style(row["method"]).colour, place[row["condition"]]
        values = rows["value"].tolist()
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": values,
                "y": [at] * len(values),
                "marker": {"color": rgba(colour, 0.5), "size": 8},
                "customdata": rows["split"].tolist(),
                "hovertemplate": "split %{customdata}<br>%{x:,.4~g}<extra></extra>",
                "uid": f"runs {row['condition']}",
            }
        )
        if len(values):
            half = _half_width(values, ratio)
            text = f"mean {write_number(row['mean'])}" + ("" if half is None else f" ± {write_number(half)}")
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "x": [row["mean"]],
                    "y": [at],
                    "marker": {
                        "color": colour,
                        "size": 13,
                        "symbol": "diamond",
                        "line": {"color": TEXT, "width": 1},
                    },
                    "error_x": {"array": [half or 0.0], "color": colour, "thickness": 2, "width": 7},
                    "hovertemplate": f"{escape(row['condition'], _MOST_LETTERS)}<br>{text}<extra></extra>",
                    "uid": f"mean {row['condition']}",
                }
            )
    return traces


def _half_width(values: list[float], ratio: float) -> float | None:
    """Return half of the mean's 95 % interval; None where there are too few splits for one.

    `ratio`: held-out data as a multiple of the training data.
    """
    tests = compare_paired(values, np.zeros(len(values)), ratio=ratio, ranks=False)
    half = float(tests.high[0] - tests.low[0]) / 2
    return half if np.isfinite(half) else None


def course_figure(experiment: Experiment, title: str) -> Figure:
    """Return the score over CPU seconds: each condition's mean as a line, and the range of its runs as a band.

    The samples of a start predict alike from the start on, and have no line. A run counts with its last score so far,
    from the time at which all runs of its condition have one, and with its final one once it is over.

    `title`: what the score is called.
    """
    traces: list[Figure] = []
    dashes = ("solid", "dash", "dot", "dashdot", "longdash")
    seen: Counter[str] = Counter()
    for label, condition in _label_conditions(experiment):
        courses = [
            read_progress(row[COURSE])
            for row in experiment.rows
            if row["condition"] == condition.label and row.get(COURSE)
        ]
        if not courses:
            continue
        times = _common_times(courses)
        values = np.array([_values_at(course, times) for course in courses])
        colour, name = method_style(condition.method).colour, escape(label, _MOST_LETTERS)
        dash = dashes[seen[condition.method] % len(dashes)]
        seen[condition.method] += 1
        band = {"type": "scatter", "mode": "lines", "x": times, "line": {"width": 0}, "hoverinfo": "skip"}
        shared = {"legendgroup": name}
        traces += [
            {**band, **shared, "y": values.min(axis=0), "showlegend": False, "uid": f"low {condition.label}"},
            {
                **band, **shared, "y": values.max(axis=0), "fill": "tonexty", "fillcolor": rgba(colour, 0.15),
                "showlegend": False, "uid": f"high {condition.label}",
            },
            {
                "type": "scatter", "mode": "lines", "x": times, "y": values.mean(axis=0), "name": name, **shared,
                "line": {"color": colour, "width": 2, "dash": dash}, "uid": f"course {condition.label}",
                "hovertemplate": f"{name}<br>%{{x:,.3~g}} s<br>%{{y:,.4~g}}<extra></extra>",
            },
        ]  # fmt: skip
    layout = base_layout(
        360,
        margin={"l": 10, "r": 18, "t": 40, "b": 52},
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        # Without a format, Plotly writes 2 and 5 for all of 0.2, 20 and 500.
        xaxis={
            "title": axis_title("CPU seconds"),
            "type": "log",
            "tickformat": ",.3~g",
            "tickangle": 0,
            "nticks": 5,
            "automargin": True,
        },
        yaxis={"title": axis_title(escape(title)), "automargin": True, "zeroline": False},
    )
    return {"data": traces, "layout": layout}


def _label_conditions(experiment: Experiment) -> list[tuple[str, Condition]]:
    """Return the conditions with what their own answers are called."""
    return [(one.label, one.conditions[0]) for one in experiment.list_predictors() if one.by != "samples"]


def _common_times(courses: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return times from when all runs have a score to when the last one ends, evenly on a log scale."""
    begin = max(max(course[0, 0] for course in courses), 1e-3)
    return np.geomspace(begin, max(begin, *(course[-1, 0] for course in courses)), _TIMES)


def _values_at(course: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the last score of a run at each time."""
    places = np.searchsorted(course[:, 0], times, side="right") - 1
    return np.asarray(course[np.maximum(places, 0), 1])
