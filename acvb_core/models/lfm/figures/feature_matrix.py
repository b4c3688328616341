"""Objects by features: who has which, sorted so that equal patterns lie together, as a picture at any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    axis_names,
    axis_title,
    feature_word,
    figure_title,
    nothing_figure,
    subtitle,
)
from acvb_core.models.lfm.figures.known_strip import build_strip
from acvb_core.models.lfm.figures.pictures import layout_image, tones
from acvb_core.views.labels import text_room
from acvb_core.views.theme import LINE, Figure, base_layout, cluster_colour, escape, percent

Floats = NDArray[np.float64]
Order = NDArray[np.int64]

_TRANSPARENT = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]
#: Rows of the picture, texts under the pointer, objects and features up to which they are named beside it.
_ROWS, _TEXTS, _NAMED, _NUMBERED = 1000, 8_000, 60, 40


def activation_order(activations: ArrayLike, labels: ArrayLike | None = None) -> Order:
    """Return the objects sorted by the features they have (probability at least 1/2), those of feature 1 first.

    Parameters
    ----------
    activations : array, shape (N, K)
        Probability that each object has each feature, the largest features first.
    labels : array, shape (N,), optional
        What is known of the objects: sorts those of the same features.

    Returns
    -------
    int64 array, shape (N,)
        Objects of the same features, and of the same label, keep their order.
    """
    has = np.asarray(activations) >= 0.5
    n, k = has.shape
    width = 64 * max(1, -(-k // 64))
    bits = np.zeros((n, width), dtype=bool)
    bits[:, :k] = ~has
    # Eight bytes at a time are one number, the first feature its highest bit: sorting is quick for any N.
    words = np.packbits(bits, axis=1).view(">u8").astype(np.uint64)
    keys: list[NDArray[Any]] = [words[:, i] for i in range(words.shape[1] - 1, -1, -1)]
    if labels is not None:
        keys.insert(0, np.unique(np.asarray(labels).astype(str), return_inverse=True)[1].reshape(-1))
    return np.lexsort(keys).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ObjectBins:
    """Neighbours of the sorted matrix taken together.

    Attributes
    ----------
    borders : int64 array, shape (n + 1,)
        Sorted places where each bin begins, and the end of the last.
    mean, having : float64 arrays, shape (n, K)
        Mean probability, and number of objects that have each feature.
    """

    borders: Order
    mean: Floats
    having: Floats


def bin_objects(activations: Floats, order: Order, low: int, high: int, most: int) -> ObjectBins:
    """Return the sorted places low … high - 1 in at most `most` bins of equal size (give or take one)."""
    shown = activations[order[low:high]]
    n = min(high - low, most)
    borders = low + np.arange(n + 1, dtype=np.int64) * (high - low) // n
    first, sizes = borders[:-1] - low, np.diff(borders)[:, None]
    having = np.add.reduceat(shown >= 0.5, first, axis=0, dtype=np.float64)
    return ObjectBins(borders, np.add.reduceat(shown, first, axis=0) / sizes, having)


def feature_matrix_figure(
    activations: ArrayLike,
    rows: Names,
    *,
    order: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    window: tuple[int, int] | None = None,
    height: int = 620,
) -> Figure:
    """Return the probability of each feature for each object, dark where it is 1, objects down.

    Parameters
    ----------
    activations : array, shape (N, K)
        Features as they are numbered, the largest first.
    rows : sequence, length N
        Names of the objects.
    order : int array, shape (N,), optional
        From `activation_order`, by default with the labels.
    labels : array, shape (N,), optional
        Known label of each object (None where it is not known), shown as a strip of colours before the features.
    window : (int, int), optional
        First and end place to show, in sorted places.
    height : int
    """
    given = np.asarray(activations, dtype=np.float64)
    n, k = given.shape
    if not n or not k:
        return nothing_figure("There are no features: the baseline alone describes every object.")
    places = activation_order(given, labels) if order is None else np.asarray(order, dtype=np.int64)
    low, high = window or (0, n)
    picture = bin_objects(given, places, low, high, _ROWS)
    strip = None if labels is None else build_strip(np.asarray(labels)[places], picture.borders)
    left = 0.5 if strip is None else 0.5 - strip.room(k)
    named = high - low <= _NAMED
    names = [str(rows[i]) for i in places[low:high]] if named else []
    data = [_hover(given, places, rows, low, high), *(strip.legend() if strip else [])]
    layout = base_layout(
        height if not named else max(height, 120 + 13 * (high - low)),
        margin={"l": text_room(names, 11) + 40 if named else 76, "r": 14, "t": 84, "b": 56 if strip else 20, "pad": 0},
        dragmode="select",
        showlegend=strip is not None,
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "font": {"size": 12},
                "itemclick": False, "itemdoubleclick": False},
        title=figure_title(f"<b>{high - low:,} objects, {feature_word(k)}</b>" + subtitle(" · dark: the object has it")),
        xaxis={
            "range": [left, k + 0.5], "side": "top", "showgrid": False, "zeroline": False, "ticks": "",
            "tickangle": 0, "ticklabelstandoff": 12, "title": axis_title("feature"), "showline": True, "mirror": True,
            "linecolor": LINE, **_numbers(k),
        },
        yaxis={
            "range": [high, low], "showgrid": False, "zeroline": False, "ticks": "", "showline": True, "mirror": True,
            "linecolor": LINE, "ticklabelstandoff": 4, "tickfont": {"size": 11},
            "title": axis_title("" if named else "objects, sorted by their features"),
            **({"tickvals": [low + i + 0.5 for i in range(len(names))],
                "ticktext": axis_names(names)} if named else
               {"nticks": 8, "tickformat": ",d"}),
        },
        images=[layout_image(tones(picture.mean, 0.0, 1.0), 0.5, low, k, high - low)],
        shapes=[_feature_colour(j) for j in range(1, k + 1)] if k <= 256 else [],
    )  # fmt: skip
    if strip is not None:
        layout["images"].append(layout_image(strip.colours(), left, low, 0.8 * (0.5 - left), high - low))
    return {"data": data, "layout": layout}


def _numbers(k: int) -> Figure:
    if k <= _NUMBERED:
        return {"tickvals": list(range(1, k + 1)), "tickfont": {"size": 12 if k <= 24 else 10}}
    step = 5 if k <= 100 else 10 if k <= 200 else 50
    return {"tickvals": [1, *range(step, k + 1, step)], "tickfont": {"size": 11}}


def _feature_colour(feature: int) -> Figure:
    """Return the strip of colour above a feature."""
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": feature - 0.5, "x1": feature + 0.5, "yanchor": 1,
        "ysizemode": "pixel", "y0": 2, "y1": 10, "line": {"width": 0}, "fillcolor": cluster_colour(feature),
    }  # fmt: skip


def _hover(given: Floats, places: Order, rows: Names, low: int, high: int) -> Figure:
    """Return the invisible trace that tells object, feature and probability, of several objects their mean."""
    k = given.shape[1]
    bins = bin_objects(given, places, low, high, max(20, _TEXTS // k))
    texts: list[Sequence[str]] = []
    ends = zip(bins.borders[:-1].tolist(), bins.borders[1:].tolist(), strict=True)
    for (first, end), mean, having in zip(
        ends, bins.mean.tolist(), bins.having.astype(int).tolist(), strict=True
    ):
        if end - first == 1:
            who = f"<b>{escape(rows[places[first]], 60)}</b>"
            texts.append([f"{who}<br>feature {j}: {percent(p)}" for j, p in enumerate(mean, 1)])
        else:
            who = f"objects {first + 1:,} to {end:,}"
            texts.append(
                [
                    f"{who}<br>feature {j}: {m:,} of {end - first:,} have it<br>mean probability {percent(p)}"
                    for j, (m, p) in enumerate(zip(having, mean, strict=True), 1)
                ]
            )
    return {
        "type": "heatmap",
        "x": [j + 0.5 for j in range(k + 1)],
        "y": bins.borders.tolist(),
        "z": [[0] * k] * len(texts),
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "colorscale": _TRANSPARENT,
        "showscale": False,
        "zsmooth": False,
        "uid": "hover",
    }
