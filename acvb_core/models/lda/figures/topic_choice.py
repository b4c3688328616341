"""How many topics: the measures that may choose, side by side over the numbers that were tried."""

from __future__ import annotations

import numpy as np
import pandas as pd

from acvb_core.views.axes import axis_title, panel_axes, panel_title
from acvb_core.views.theme import BORDER, Figure, base_layout, rgba

#: Columns that can be shown -> (title, sign of what is better, how a value is written).
MEASURES: dict[str, tuple[str, int, str]] = {
    "loo_perplexity": ("Leave-one-out perplexity", -1, ",.1f"),
    "heldout_perplexity": ("Held-out perplexity", -1, ",.1f"),
    "npmi": ("Coherence (NPMI)", 1, ".3f"),
}
_COLOUR = "#0072B2"
_GAP = 0.09  # share of the width between two panels: the numbers of the right one stand there
#: Ratio of the largest to the smallest number of topics from which the axis is logarithmic.
_WIDE = 8.0


def choose_k_figure(table: pd.DataFrame, *, height: int = 320) -> Figure:
    """Return the measures over the number of topics: a point a run, a line through the means, the best mean ringed.

    `table`: one row a run: k, seed, and any of the columns of `MEASURES`, NaN where unknown. Measures that no run has
      are left out.
    """
    k = table["k"].to_numpy(dtype=np.int64) if "k" in table else np.empty(0, dtype=np.int64)
    measures = [
        name for name in MEASURES if name in table and np.isfinite(table[name].to_numpy(dtype=float)).any()
    ]
    tried = np.unique(k)
    wide = len(tried) > 2 and tried.max() / tried.min() >= _WIDE
    layout = base_layout(
        height,
        margin={"l": 62, "r": 16, "t": 58, "b": 46},
        showlegend=False,
        hovermode="closest",
        annotations=[],
    )
    data: list[Figure] = []
    width = (1 - _GAP * (len(measures) - 1)) / max(len(measures), 1)
    for at, name in enumerate(measures):
        suffix = str(at + 1) if at else ""
        low = at * (width + _GAP)
        best = best_k(table, name)
        data += _traces(table, name, suffix, best)
        title, sign, form = MEASURES[name]
        x_axis, y_axis = panel_axes(suffix, (low, min(low + width, 1.0)), (0.0, 1.0))
        layout[f"xaxis{suffix}"] = (
            x_axis | _k_ticks(tried, wide, len(measures)) | ({"matches": "x"} if at else {})
        )
        layout[f"yaxis{suffix}"] = y_axis | {"tickformat": ",.3~g" if form == ".3f" else ","}
        better = "lower is better" if sign < 0 else "higher is better"
        note = f"{better}, best at {best}" if best is not None else better
        text = f'<b>{title}</b><br><span style="font-size:11px">{note}</span>'
        layout["annotations"].append(panel_title(title, note, low, 1) | {"text": text, "align": "left"})
    return {"data": data, "layout": layout}


def mean_by_k(table: pd.DataFrame, measure: str) -> pd.Series:
    """Return the mean of a measure over the runs of each number of topics, those without a value left out."""
    values = table.assign(**{measure: table[measure].astype(float).replace([np.inf, -np.inf], np.nan)})
    return values.groupby("k")[measure].mean().dropna()


def best_k(table: pd.DataFrame, measure: str) -> int | None:
    """Return the number of topics with the best mean, the smallest of equals; None where fewer than two were tried.

    `table`: as for `choose_k_figure`.
    `measure`: a column of `MEASURES`.
    """
    mean = mean_by_k(table, measure)
    if len(mean) < 2:
        return None
    return int((mean * MEASURES[measure][1]).idxmax())


def _traces(table: pd.DataFrame, name: str, suffix: str, best: int | None) -> list[Figure]:
    title, _, form = MEASURES[name]
    runs = table[np.isfinite(table[name].to_numpy(dtype=float))]
    mean = mean_by_k(table, name)
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    seeds = runs["seed"] if "seed" in runs else pd.Series("?", index=runs.index)
    traces: list[Figure] = [
        {
            "type": "scatter", "mode": "markers", "x": runs["k"].tolist(), "y": runs[name].astype(float).tolist(),
            "customdata": seeds.tolist(), "marker": {"color": rgba(_COLOUR, 0.45), "size": 7},
            "hovertemplate": f"%{{x}} topics, seed %{{customdata}}<br>{title} %{{y:{form}}}<extra></extra>",
            "uid": f"{name}-runs", **axes,
        },
        {
            "type": "scatter", "mode": "lines+markers" if len(mean) == 1 else "lines", "x": mean.index.tolist(),
            "y": mean.tolist(), "line": {"color": _COLOUR, "width": 2}, "marker": {"color": _COLOUR, "size": 7},
            "hovertemplate": f"%{{x}} topics<br>mean {title} %{{y:{form}}}<extra></extra>",
            "uid": f"{name}-mean", **axes,
        },
    ]  # fmt: skip
    if best is not None:
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": [best], "y": [float(mean[best])],
                "marker": {"symbol": "circle-open", "size": 15, "color": BORDER, "line": {"width": 2.5}},
                "hovertemplate": f"best mean: {best} topics<br>{title} %{{y:{form}}}<extra></extra>",
                "uid": f"{name}-best", **axes,
            }
        )  # fmt: skip
    return traces


def _k_ticks(tried: np.ndarray, wide: bool, n_panels: int) -> Figure:
    axis: Figure = {"tickangle": 0, "title": axis_title("topics"), **({"type": "log"} if wide else {})}
    # As many of the numbers tried as there is room for in a narrow window.
    if len(tried):
        step = max(1, -(-len(tried) * n_panels // 24))
        axis |= {"tickvals": tried[::step].tolist(), "ticktext": [f"{n:,}" for n in tried[::step].tolist()]}
    return axis
