"""The map of the topics: bubbles, those that use the same words close together, chosen by a click."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.views.axes import axis_title, paper_note
from acvb_core.views.labels import Labels, ink_on, topic_name
from acvb_core.views.theme import (
    GRID,
    LINE,
    PAPER,
    TEXT,
    Figure,
    base_layout,
    cluster_colour,
    percent,
    rgba,
)

Floats = NDArray[np.float64]

_LARGEST, _SMALLEST = 88.0, 5.0  # pixels across
_ROOM_FOR_A_NUMBER = 13.0  # pixels across that a bubble needs to hold one
_APART = 13.0  # pixels that two numbers need between them
_SIDE = 0.85  # of the height: about how much of it the plot itself has


def topic_map_figure(
    positions: ArrayLike,
    share: ArrayLike,
    labels: Labels = None,
    *,
    selected: int | None = None,
    variance: tuple[float, float] | None = None,
    shown: float | None = None,
    height: int = 520,
) -> Figure:
    """Return topics on a plane as bubbles whose area is their share.

    Each point's `customdata` is the number of its topic (from 1), for selections.

    `positions`: shape (K, 2); as `evaluate.topic_map` gives them; one unit is as long across as up.
    `share`: shape (K,); of each topic in all tokens.
    `selected`: topic (from 1) that stands out.
    `variance`: share of the squared distances along each axis.
    `shown`: share of them that the plane shows, where it is not known by axis.
    """
    place = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    shares = np.nan_to_num(np.asarray(share, dtype=np.float64))
    across = _diameters(shares)
    # Small bubbles on top of large ones: none is hidden, and each can be clicked.
    order = np.argsort(-shares, kind="stable")
    topics = (order + 1).tolist()
    colours = [cluster_colour(topic) for topic in topics]
    faded = [selected is not None and topic != selected for topic in topics]
    middle, reach = _view(place)
    numbered = _choose_numbers(place[order] * (_SIDE * height / (2 * reach.max())), across[order], topics)
    trace = {
        "type": "scatter",
        "mode": "markers+text",
        "x": place[order, 0].tolist(),
        "y": place[order, 1].tolist(),
        "customdata": topics,
        "text": [
            str(topic) if topic in numbered or (topic == selected and d >= _ROOM_FOR_A_NUMBER) else ""
            for topic, d in zip(topics, across[order], strict=True)
        ],
        "textfont": {
            "size": [float(min(max(0.34 * d, 9.0), 16.0)) for d in across[order]],
            "color": [TEXT if dim else ink_on(colour) for dim, colour in zip(faded, colours, strict=True)],
        },
        "hovertext": [
            f"<b>{topic_name(topic, labels, long=True, limit=60)}</b><br>{percent(shares[topic - 1])} of all words"
            for topic in topics
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "size": across[order].tolist(),
            "color": [rgba(c, 0.3 if dim else 0.85) for c, dim in zip(colours, faded, strict=True)],
            "opacity": 1,
            "line": _outlines(topics, selected),
        },
        # Plotly fades what a click did not hit, numbers too unless one that is hit has a colour of its own; it is
        # for the page to say what stands out.
        "selected": {"marker": {"opacity": 1}, "textfont": {"color": ink_on(cluster_colour(selected or 3))}},
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "uid": "topic-map",
    }
    layout = base_layout(
        height,
        margin={"l": 34, "r": 12, "t": 12, "b": 34},
        showlegend=False,
        hovermode="closest",
        dragmode="pan",
        clickmode="event+select",
        annotations=_notes(place, across, labels, selected, shown, height),
    )
    return {"data": [trace], "layout": layout | _axes(middle, reach, variance)}


def _outlines(topics: list[int], selected: int | None) -> Figure:
    return {
        "color": [TEXT if topic == selected else PAPER for topic in topics],
        "width": [2.5 if topic == selected else 1 for topic in topics],
    }


def _diameters(share: Floats) -> Floats:
    """Return pixels across: areas in proportion to the shares, the smallest still large enough to be hit."""
    top = float(share.max(initial=0.0))
    # Many topics get smaller bubbles, so that they do not hide one another.
    largest = _LARGEST if len(share) <= 30 else _LARGEST * (30 / len(share)) ** 0.35
    if top <= 0.0:
        return np.full(len(share), _SMALLEST)
    return np.asarray(np.maximum(largest * np.sqrt(share / top), _SMALLEST))


def _choose_numbers(pixels: Floats, across: Floats, topics: list[int]) -> set[int]:
    """Return the topics whose numbers are written: in bubbles with room for one, and not over a larger one's."""
    places: dict[int, Floats] = {}
    for topic, at, d in zip(topics, pixels, across, strict=True):
        if d >= _ROOM_FOR_A_NUMBER and all(np.hypot(*(at - other)) >= _APART for other in places.values()):
            places[topic] = at
    return set(places)


def _view(place: Floats) -> tuple[Floats, Floats]:
    """Return the middle of the map and how far it reaches from there, with room for bubbles at the edge."""
    if not len(place):
        return np.zeros(2), np.full(2, 0.5)
    low, high = place.min(axis=0), place.max(axis=0)
    reach = (high - low) / 2
    # A bubble at the edge of a narrow map takes a seventh of its width to that side.
    reach = np.maximum(1.36 * reach, 0.5 * float(reach.max()))
    # Topics that all lie in one place are shown in the middle of some room.
    return (low + high) / 2, reach if reach.max() > 0.0 else np.full(2, 0.5)


def _axes(middle: Floats, reach: Floats, variance: tuple[float, float] | None) -> dict[str, Figure]:
    axes = {}
    for i, name in enumerate(("xaxis", "yaxis")):
        shares = "" if variance is None else f" ({100 * variance[i]:.0f} % of the squared distances)"
        axes[name] = {
            "range": [float(middle[i] - reach[i]), float(middle[i] + reach[i])],
            "showticklabels": False,
            "ticks": "",
            "showgrid": False,
            "zeroline": True,
            "zerolinecolor": GRID,
            "showline": True,
            "mirror": True,
            "linecolor": LINE,
            "title": axis_title(f"{'first' if i == 0 else 'second'} axis{shares}") | {"standoff": 6},
        }
    axes["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    return axes


def _notes(
    place: Floats, across: Floats, labels: Labels, selected: int | None, shown: float | None, height: int
) -> list[Figure]:
    notes = []
    if shown is not None:
        text = f"{100 * shown:.0f} % of the squared distances are shown"
        notes.append(paper_note(text, 0, 1, xshift=6, yshift=-4))
    if selected is not None and 1 <= selected <= len(place):
        x, y = place[selected - 1].tolist()
        high = y > (place[:, 1].max() + place[:, 1].min()) / 2
        off = across[selected - 1] / 2 + 3
        note = {
            "text": f"<b>{topic_name(selected, labels, long=True)}</b>",
            "showarrow": False,
            "x": x,
            "y": y,
        }
        note |= {"yanchor": "top", "yshift": -off} if high else {"yanchor": "bottom", "yshift": off}
        note |= {"bgcolor": "rgba(255,255,255,0.8)", "borderpad": 1, "font": {"size": 12, "color": TEXT}}
        notes.append(note | {"captureevents": False})
    return notes
