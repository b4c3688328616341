"""Figures of studies of many runs: the scores of an experiment, and the trials of a learning-rate search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.display import write_number
from acvb_core.engine.experiments.answers import COURSE, read_progress
from acvb_core.engine.experiments.report import Experiment
from acvb_core.evaluate.significance import compare_paired
from acvb_core.views.parts import (
    level_line,
    name_ticks,
    panel_axes,
    panel_title,
    plain_axis,
    scatter,
    tick_format,
    value_axis,
)
from acvb_core.views.theme import (
    BORDER,
    LINE,
    MUTED,
    TEXT,
    Figure,
    Part,
    escape,
    make_figure,
    method_style,
    rgba,
)

_TIMES = 60  # points of a curve over time
_MOST_LETTERS = 50  # of a name
_ROW, _AROUND = 44, 92  # pixels: of a method, and above and below all of them
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


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
    known = _list_points(experiment, score)
    known["at"] = known["condition"].map({name: at for at, name in enumerate(order["condition"])})
    x: list[float | None] = []
    y: list[int | None] = []
    for _, rows in known.sort_values("at", kind="stable").groupby("split"):
        x += [*rows["value"], None]
        y += [*rows["at"], None]
    traces = [scatter("splits", x, y, "lines", line={"color": rgba(LINE, 0.35), "width": 1})]
    for at, row in enumerate(order.to_dict("records")):
        traces += _condition_points(known[known["at"] == at], row, at, experiment.plan.test_train_ratio)
    return make_figure(
        traces,
        _AROUND + _ROW * len(names),
        margin={"l": 10, "r": 18, "t": 16, "b": 52},
        xaxis=value_axis(escape(title), automargin=True, tickformat=",.4~g"),
        yaxis=plain_axis(**name_ticks(range(len(names)), names), automargin=True)
        | {"range": [len(names) - 0.4, -0.6]},
    )


def _list_points(experiment: Experiment, score: str) -> pd.DataFrame:
    """Return the scores of all runs by the rows of the summary: condition, split and value."""
    table, points = experiment.table(), []
    for one in experiment.list_predictors(score):
        own = table[table["condition"] == one.conditions[0].label].reindex(columns=["split", one.column])
        value = pd.to_numeric(own[one.column], errors="coerce")
        points.append(pd.DataFrame({"condition": one.label, "split": own["split"], "value": value}))
    known = pd.concat(points)
    return known[np.isfinite(known["value"])].copy()


def _condition_points(rows: pd.DataFrame, row: Mapping[str, Any], at: int, ratio: float) -> list[Part]:
    """Return the runs of one row of the summary as points, and their mean with its interval."""
    name, colour, values = (
        str(row["condition"]),
        method_style(str(row["method"])).colour,
        rows["value"].tolist(),
    )
    points = scatter(
        f"runs {name}",
        values,
        [at] * len(values),
        marker={"color": rgba(colour, 0.5), "size": 8},
        customdata=rows["split"].tolist(),
        hovertemplate="split %{customdata}<br>%{x:,.4~g}<extra></extra>",
    )
    if not values:
        return [points]
    half = _half_width(values, ratio)
    text = f"mean {write_number(row['mean'])}" + ("" if half is None else f" ± {write_number(half)}")
    diamond = {"color": colour, "size": 13, "symbol": "diamond", "line": {"color": TEXT, "width": 1}}
    mean = scatter(
        f"mean {name}",
        [row["mean"]],
        [at],
        marker=diamond,
        error_x={"array": [half or 0.0], "color": colour, "thickness": 2, "width": 7},
        hovertext=[f"{escape(name, _MOST_LETTERS)}<br>{text}"],
    )
    return [points, mean]


def _half_width(values: list[float], ratio: float) -> float | None:
    """Return half of the mean's 95 % interval; None if there are too few splits for one.

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
    traces: list[Part] = []
    seen: Counter[str] = Counter()
    for one in experiment.list_predictors():
        condition = one.conditions[0]
        courses = [
            read_progress(row[COURSE])
            for row in experiment.rows
            if row["condition"] == condition.label and row.get(COURSE)
        ]
        if one.by == "samples" or not courses:
            continue
        # From when all runs have a score to when the last one ends, evenly on a log scale.
        begin = max(max(course[0, 0] for course in courses), 1e-3)
        times = np.geomspace(begin, max(begin, *(course[-1, 0] for course in courses)), _TIMES)
        values = np.array([_values_at(course, times) for course in courses])
        colour, name = method_style(condition.method).colour, escape(one.label, _MOST_LETTERS)
        dash = _DASHES[seen[condition.method] % len(_DASHES)]
        seen[condition.method] += 1
        band: Part = {"mode": "lines", "line": {"width": 0}, "legendgroup": name}
        fill: Part = {"fill": "tonexty", "fillcolor": rgba(colour, 0.15)}
        traces += [
            scatter(f"low {condition.label}", times, values.min(axis=0), **band),
            scatter(f"high {condition.label}", times, values.max(axis=0), **band, **fill),
            scatter(
                f"course {condition.label}",
                times,
                values.mean(axis=0),
                "lines",
                name=name,
                legendgroup=name,
                showlegend=True,
                line={"color": colour, "width": 2, "dash": dash},
                hovertemplate=f"{name}<br>%{{x:,.3~g}} s<br>%{{y:,.4~g}}<extra></extra>",
            ),
        ]
    return make_figure(
        traces,
        360,
        margin={"l": 10, "r": 18, "t": 40, "b": 52},
        showlegend=True,
        legend={"y": 1.02, "yref": "paper"},
        xaxis=plain_axis(
            "CPU seconds (log scale)", type="log", tickformat=",.3~g", nticks=5, automargin=True
        ),
        yaxis=value_axis(escape(title), automargin=True),
    )


def _values_at(course: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the last score of a run at each time."""
    places = np.searchsorted(course[:, 0], times, side="right") - 1
    return np.asarray(course[np.maximum(places, 0), 1])


_COLOUR = "#0072B2"
_TOP, _BOTTOM = 40, 48  # pixels: above for a title, below for the numbers and the name of the axis
_TRIALS_HEIGHT, _PANEL_HEIGHT, _GAP = 200, 140, 78
_BETWEEN = 0.08  # share of the width between two panels
#: Ratio of the worst to the best perplexity from which the axis is logarithmic, and of the largest to the smallest
#: value of a parameter from which only powers of ten are labelled.
_WIDE, _MANY_DECADES = 3.0, 150.0
#: Columns of `Tuning.table` that are no parameters.
_OTHERS = ("trial", "perplexity", "best", "cpu_seconds", "verdict")
#: Words for the verdicts of trials without a perplexity.
_ENDINGS = {"DIVERGED": "diverged", "FAILED": "failed"}


def tuning_figure(
    table: pd.DataFrame,
    *,
    labels: Mapping[str, str] | None = None,
    log: Collection[str] = (),
    uirevision: str = "",
) -> Figure:
    """Return the perplexity of each trial above, and below a panel for each parameter: its value and the perplexity.

    The best trial is ringed, that of the defaults a diamond with a dashed line at its height, and a cross at the top
    a trial without a perplexity.

    `table`: `Tuning.table`.
    `labels`: what parameters are called.
    `log`: parameters that are drawn on a logarithmic scale.
    `uirevision`: as long as it is the same, what the user zoomed stays.
    """
    names = [name for name in table.columns if name not in _OTHERS]
    known = table["perplexity"].to_numpy(dtype=np.float64)
    known = known[np.isfinite(known)]
    per_row = {1: 1, 2: 2, 4: 2}.get(len(names), 3)
    plot = _TRIALS_HEIGHT + -(-len(names) // per_row) * (_PANEL_HEIGHT + _GAP)
    crosses = float(known.max()) if len(known) else 1.0  # as high as the worst trial with a perplexity
    best = scatter(
        "best-so-far",
        table["trial"],
        table["best"],
        "lines",
        line={"color": _COLOUR, "width": 2, "shape": "hv"},
        hovertemplate="after trial %{x}<br>best so far %{y:,.1f}<extra></extra>",
    )
    data = [best, *_trial_points(table, "trial", "", "trial %{x}", crosses)]
    layout: Part = {}
    layout["xaxis"], layout["yaxis"] = panel_axes("", (0.0, 1.0), (1 - _TRIALS_HEIGHT / plot, 1.0))
    # Room for ten. Not a range: one that changes at every refresh would throw away the user's zoom.
    layout["xaxis"] |= {"autorange": True, "autorangeoptions": {"include": [0.5, 10.5]}}
    layout["xaxis"] |= {"title": {"text": "trial"}, "tickformat": "d"}
    width = (1 - _BETWEEN * (per_row - 1)) / per_row
    for at, name in enumerate(names):
        row, column = divmod(at, per_row)
        top = 1 - (_TRIALS_HEIGHT + _GAP + row * (_PANEL_HEIGHT + _GAP)) / plot
        left, number = column * (width + _BETWEEN), str(at + 2)
        label = escape((labels or {}).get(name, name), 40)
        shown = table[table[name] > 0] if name in log else table
        data += _trial_points(shown, name, number, f"trial %{{customdata}}<br>{label} %{{x:.4~g}}", crosses)
        x, y = panel_axes(number, (left, min(left + width, 1.0)), (max(top - _PANEL_HEIGHT / plot, 0.0), top))
        if name in log:
            x |= {"type": "log", "nticks": 5, "tickformat": "~g"}
            # A narrow panel has no room for 2 and 5 between many powers of ten.
            many = len(shown) and shown[name].max() > _MANY_DECADES * shown[name].min()
            x |= {"dtick": 1} if many else {}
        layout[f"xaxis{number}"] = x | {"title": {"text": label}}
        layout[f"yaxis{number}"] = y | {"matches": "y", "showticklabels": column == 0}
    shapes = _scale_perplexity(layout, known, float(table["perplexity"].iloc[0])) if len(known) else []
    return make_figure(
        data,
        _TOP + plot + _BOTTOM,
        margin={"l": 66, "r": 18, "t": _TOP, "b": _BOTTOM},
        uirevision=uirevision,
        shapes=shapes,
        annotations=[panel_title("Held-out perplexity (lower is better)", _describe_best(table), 0.0, 1.0)],
        **layout,
    )


def _scale_perplexity(layout: Part, known: NDArray[np.float64], defaults: float) -> list[Part]:
    """Give all panels one scale of perplexity, and return a line across each at that of the defaults."""
    low, high = float(known.min()), float(known.max())
    wide = high >= _WIDE * low
    scale = {"type": "log", "tickformat": ",~g"} if wide else {"tickformat": tick_format(low, high)}
    lines = []
    for name in [key for key in layout if key.startswith("yaxis")]:
        number = name.removeprefix("yaxis")
        layout[name] |= {"nticks": 5, **scale}
        if np.isfinite(defaults):
            line = level_line(number, defaults, "" if number else "the defaults", position="end")
            lines.append(line | {"layer": "below"})
    return lines


def _describe_best(table: pd.DataFrame) -> str:
    """Return the best perplexity, and how far below that of the defaults it is; "" before there is one."""
    best, first = table["best"].to_numpy(dtype=np.float64), table["perplexity"].to_numpy(dtype=np.float64)
    if not len(best) or not np.isfinite(best[-1]):
        return ""
    note = f"best {write_number(best[-1])}"
    if best[-1] == first[0]:
        note += ", that of the defaults"
    elif np.isfinite(first[0]):
        note += f", {1 - best[-1] / first[0]:.1%} below the defaults"
    return note


def _trial_points(table: pd.DataFrame, column: str, number: str, hover: str, crosses: float) -> list[Part]:
    """Return the trials of a panel: points, the defaults, those without a perplexity, the best."""
    values = table["perplexity"].to_numpy(dtype=np.float64)
    finite, first = np.isfinite(values), table["trial"].to_numpy() == 1
    best = finite & (np.arange(len(table)) == (np.nanargmin(values) if finite.any() else -1))
    endings = table["verdict"].map(_ENDINGS).fillna("no perplexity")
    texts = f"{hover}<br>perplexity %{{y:,.1f}}<extra></extra>"
    plain = {"color": rgba(_COLOUR, 0.55), "size": 7}
    diamond = {"color": MUTED, "size": 10, "symbol": "diamond"}
    cross = {"color": MUTED, "size": 8, "symbol": "x-thin", "line": {"width": 1.5, "color": MUTED}}
    ring = {"symbol": "circle-open", "size": 15, "color": BORDER, "line": {"width": 2.5}}
    kinds = (
        ("trials", finite & ~first, plain, texts),
        ("default", finite & first, diamond, f"the defaults, {texts}"),
        ("lost", ~finite, cross, f"{hover}<br>%{{text}}<extra></extra>"),
        ("best", best, ring, f"the best, {texts}"),
    )
    axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    return [
        scatter(
            f"{column}-{kind}",
            table[column].to_numpy()[chosen],
            np.where(finite, values, crosses)[chosen],
            marker=marker,
            customdata=table["trial"].to_numpy()[chosen],
            text=endings.to_numpy()[chosen],
            hovertemplate=text,
            **axes,
        )
        for kind, chosen, marker, text in kinds
    ]
