"""An object by columns: what each feature adds in the columns furthest from the baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lfm.answer import ObjectSteps, Step
from acvb_core.models.lfm.figures.feature_words import (
    Names,
    bare_axis,
    bottom_legend,
    figure_title,
    hover_texts,
    name_ticks,
    nothing_figure,
    object_heading,
    signed_text,
    subtitle,
    value_axis,
    value_text,
)
from acvb_core.views.labels import text_room
from acvb_core.views.theme import (
    LINE,
    MUTED,
    PAPER,
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
    """Return what each feature adds in the columns in which the object or its reconstruction is far from the baseline.

    Bars are additions in standard deviations of the column, piled up from the baseline (0): those above it to the
    right, those below it to the left. A line marks their sum, a circle the object's value; a missing one has none.

    `columns`: length D.
    `n`: most columns.
    `name`: the object's, as it is.
    """
    heading = object_heading(made, name)
    if not len(made.baseline):
        return nothing_figure("The table has no columns.", heading=heading)
    value = (made.value - made.baseline) / made.scale
    total = (made.reconstruction - made.baseline) / made.scale
    far = np.fmax(np.abs(value), np.abs(total))
    shown = np.argsort(-far, kind="stable")[: max(n, 1)]
    names, places = [str(columns[j]) for j in shown], list(range(len(shown)))
    titles = [f"<b>{escape(column, 60)}</b><br>" for column in names]
    data = [_step_bars(step, made, shown, titles) for step in made.steps]
    for what, x, cells, symbol in (
        ("reconstruction", total, made.reconstruction, "line-ns"),
        ("value", value, made.value, "circle-open"),
    ):
        texts = [
            f"{head}{what} {value_text(float(cells[j])) or 'missing'}"
            for head, j in zip(titles, shown, strict=True)
        ]
        data.append(_marks(what, x[shown], texts, symbol))
    piled = np.array([step.added[shown] / made.scale[shown] for step in made.steps]).reshape(-1, len(shown))
    ends = np.concatenate([piled.clip(min=0).sum(axis=0), piled.clip(max=0).sum(axis=0), value[shown], [0.0]])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    pad = 0.05 * (high - low) or 1.0
    unit = "standard deviations" if made.standardised else "the table's own units"
    if len(shown) < len(far):
        heading += subtitle(f" · {len(shown)} of {len(far):,} columns: the furthest from the baseline")
    notes: list[Figure] = [
        {"text": value_text(float(made.value[j])) or "<i>missing</i>", "y": i} for i, j in enumerate(shown)
    ]
    notes.append({"text": "value", "yref": "paper", "y": 1, "yanchor": "bottom"})
    beside: Figure = {"showarrow": False, "font": {"size": 11, "color": MUTED}, "xref": "paper", "x": 1}
    beside |= {"xanchor": "left", "xshift": 8}
    layout = base_layout(
        height or _TOP + _BOTTOM + _ROW * max(len(shown), 4),
        margin={"l": text_room(names, 12) + 12, "r": 84, "t": _TOP, "b": _BOTTOM},
        barmode="relative",
        bargap=0.3,
        title=figure_title(heading),
        legend=bottom_legend(11, traceorder="normal"),
        xaxis=value_axis(
            f"from the baseline ({unit})",
            range=[low - pad, high + pad],
            zeroline=True,
            zerolinecolor=LINE,
            nticks=8,
        ),
        yaxis=bare_axis(**name_ticks(places, names), range=[len(shown) - 0.4, -0.6])
        | {"tickfont": {"size": 12}},
        annotations=[note | beside for note in notes],
    )
    return {"data": data, "layout": layout}


def _step_bars(step: Step, made: ObjectSteps, shown: NDArray[np.int64], titles: list[str]) -> Figure:
    """Return the bars of what one step adds."""
    number = step.features[0] if len(step.features) == 1 else 0
    chance = f" ({percent(step.probability)})" if number else ""
    added = [signed_text(float(step.added[j])) for j in shown]
    texts = [f"{head}{step.name}{chance} adds {text}" for head, text in zip(titles, added, strict=True)]
    colour = cluster_colour(number) if number else LINE
    return {
        "type": "bar",
        "orientation": "h",
        "x": (step.added[shown] / made.scale[shown]).tolist(),
        "y": list(range(len(shown))),
        "name": step.name,
        "customdata": [number] * len(shown),
        "marker": {"color": colour, "line": {"width": 0.7, "color": PAPER}},
        "uid": f"step-{number or 'others'}",
        **hover_texts(texts),
    }


def _marks(name: str, x: Floats, texts: list[str], symbol: str) -> Figure:
    """Return a mark in each column; none for a missing value."""
    marker = {"symbol": symbol, "size": 15 if symbol == "line-ns" else 9, "color": TEXT}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [None if np.isnan(v) else v for v in x.tolist()],
        "y": list(range(len(x))),
        "uid": name,
        "marker": marker | {"line": {"width": 2, "color": TEXT}},
        **hover_texts(texts),
    }
