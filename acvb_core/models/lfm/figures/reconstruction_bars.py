"""An object by columns: what each feature adds where it is least like the baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    axis_names,
    axis_title,
    figure_title,
    nothing_figure,
    object_heading,
    signed_text,
    subtitle,
    value_text,
)
from acvb_core.models.lfm.reconstruction import ObjectSteps, Step
from acvb_core.views.labels import text_room
from acvb_core.views.theme import (
    GRID,
    LINE,
    MUTED,
    TEXT,
    Figure,
    base_layout,
    cluster_colour,
    escape,
    percent,
)

Floats = NDArray[np.float64]
_ROW, _TOP, _BOTTOM = 24, 40, 84  # pixels


def reconstruction_bars_figure(
    made: ObjectSteps, columns: Names, *, n: int = 15, name: str = "", height: int | None = None
) -> Figure:
    """Return what each feature adds, in the columns in which the object or its reconstruction is far from the baseline.

    Bars are additions in standard deviations of the column, piled up from the baseline (0): those above it to the
    right, those below it to the left. A line marks their sum, a circle the object's value; a missing one has none.

    Parameters
    ----------
    made : ObjectSteps
    columns : sequence, length D
    n : int
        Most columns.
    name : str
        The object's, as it is.
    height : int, optional
    """
    if not len(made.baseline):
        return nothing_figure("The table has no columns.", heading=object_heading(made, name))
    value = (made.value - made.baseline) / made.scale
    reached = (made.reconstruction - made.baseline) / made.scale
    far = np.fmax(np.abs(value), np.abs(reached))
    kept = np.argsort(-far, kind="stable")[: max(n, 1)]
    names = [str(columns[j]) for j in kept]
    places = list(range(len(kept)))
    data = [_bars(step, made, kept, names) for step in made.steps]
    data += [
        _marks(
            "reconstruction",
            reached[kept],
            _told(made.reconstruction, names, kept, "reconstruction"),
            "line-ns",
        ),
        _marks("value", value[kept], _told(made.value, names, kept, "value"), "circle-open"),
    ]
    piled = np.array([step.added[kept] / made.scale[kept] for step in made.steps]).reshape(-1, len(kept))
    ends = np.concatenate([piled.clip(min=0).sum(axis=0), piled.clip(max=0).sum(axis=0), value[kept], [0.0]])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    pad = 0.05 * (high - low) or 1.0
    unit = "standard deviations" if made.standardised else "the table's own units"
    told = object_heading(made, name)
    if len(kept) < len(far):
        told += subtitle(f" · {len(kept)} of {len(far):,} columns: the furthest from the baseline")
    layout = base_layout(
        height or _TOP + _BOTTOM + _ROW * max(len(kept), 4),
        margin={"l": text_room(names, 12) + 12, "r": 84, "t": _TOP, "b": _BOTTOM},
        barmode="relative",
        bargap=0.3,
        title=figure_title(told),
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "font": {"size": 11},
                "traceorder": "normal"},
        xaxis={
            "range": [low - pad, high + pad], "gridcolor": GRID, "zeroline": True, "zerolinecolor": LINE, "nticks": 8,
            "tickangle": 0, "tickfont": {"size": 11}, "title": axis_title(f"from the baseline ({unit})"),
        },
        yaxis={
            "tickvals": places, "range": [len(kept) - 0.4, -0.6], "showgrid": False, "zeroline": False, "ticks": "",
            "ticktext": axis_names(names), "ticklabelstandoff": 4,
            "tickfont": {"size": 12},
        },
        annotations=[
            {
                "text": value_text(float(made.value[j])) or "<i>missing</i>", "showarrow": False, "xref": "paper",
                "x": 1, "xanchor": "left", "xshift": 8, "y": i, "font": {"size": 11, "color": MUTED},
            }
            for i, j in enumerate(kept)
        ]
        + [
            {
                "text": "value", "showarrow": False, "xref": "paper", "x": 1, "xanchor": "left", "xshift": 8,
                "yref": "paper", "y": 1, "yanchor": "bottom", "font": {"size": 11, "color": MUTED},
            }
        ],
    )  # fmt: skip
    return {"data": data, "layout": layout}


def _bars(step: Step, made: ObjectSteps, kept: NDArray[np.int64], names: list[str]) -> Figure:
    single = len(step.features) == 1
    chance = f" ({percent(step.probability)})" if single else ""
    return {
        "type": "bar",
        "orientation": "h",
        "x": (step.added[kept] / made.scale[kept]).tolist(),
        "y": list(range(len(kept))),
        "name": step.name,
        "customdata": [step.features[0] if single else 0] * len(kept),
        "marker": {
            "color": cluster_colour(step.features[0]) if single else LINE,
            "line": {"width": 0.7, "color": "white"},
        },
        "hovertext": [
            f"<b>{escape(name, 60)}</b><br>{step.name}{chance} adds {signed_text(float(step.added[j]))}"
            for name, j in zip(names, kept, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "uid": f"step-{step.features[0] if single else 'others'}",
    }


def _marks(name: str, x: Floats, hover: list[str], symbol: str) -> Figure:
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [None if np.isnan(v) else v for v in x.tolist()],
        "y": list(range(len(x))), "hovertext": hover, "hovertemplate": "%{hovertext}<extra></extra>", "uid": name,
        "marker": {"symbol": symbol, "size": 15 if symbol == "line-ns" else 9, "color": TEXT,
                   "line": {"width": 2, "color": TEXT}},
    }  # fmt: skip


def _told(values: Floats, names: list[str], kept: NDArray[np.int64], what: str) -> list[str]:
    return [
        f"<b>{escape(name, 60)}</b><br>{what} {value_text(float(values[j])) or 'missing'}"
        for name, j in zip(names, kept, strict=True)
    ]
