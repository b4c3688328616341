"""Objects by features: who has which, sorted so that equal patterns lie together, as a picture at any size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_words import (
    Names,
    bare_axis,
    bottom_legend,
    feature_word,
    figure_title,
    name_ticks,
    nothing_figure,
)
from acvb_core.models.lfm.figures.known_strip import build_strip
from acvb_core.models.lfm.figures.pictures import layout_image, tones
from acvb_core.views.heat_map import hover_grid
from acvb_core.views.labels import text_room
from acvb_core.views.theme import Figure, base_layout, cluster_colour, escape, percent

Floats = NDArray[np.float64]
Order = NDArray[np.int64]

#: Rows of the picture, texts under the pointer, most objects with names and features with numbers beside it.
_ROWS, _TEXTS, _NAMED, _NUMBERED = 1000, 8_000, 60, 40


def activation_order(activations: ArrayLike, labels: ArrayLike | None = None) -> Order:
    """Return the objects sorted by the features they have (probability at least 1/2), those of feature 1 first, (N,).

    `activations` (N, K) has the largest features first. Known `labels` (N,) sort objects of the same features; all else
    equal, objects keep their order.
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
    """Neighbours of the sorted matrix taken together."""

    borders: Order  #: shape (n + 1,); sorted places where each bin begins, and the end of the last
    #: `mean`, `having`: shape (n, K); mean probability, and number of objects that have each feature.
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

    `activations`: shape (N, K); features as they are numbered, the largest first.
    `rows`: length N; names of the objects.
    `order`: shape (N,); from `activation_order`, by default with the labels.
    `labels`: shape (N,); known label of each object (None where it is not known), shown as a strip of colours before
      the features.
    `window`: first and end place to show, in sorted places.
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
    ticks = name_ticks([low + i + 0.5 for i in range(len(names))], names) if named else {"nticks": 8}
    margin = {
        "l": text_room(names, 11) + 40 if named else 76,
        "r": 14,
        "t": 84,
        "b": 56 if strip else 20,
        "pad": 0,
    }
    layout = base_layout(
        height if not named else max(height, 120 + 13 * (high - low)),
        margin=margin,
        dragmode="select",
        showlegend=strip is not None,
        legend=bottom_legend(itemclick=False, itemdoubleclick=False),
        title=figure_title(
            f"<b>{high - low:,} objects, {feature_word(k)}</b>", " · filled: the object has it"
        ),
        xaxis=bare_axis("feature", framed=True, range=[left, k + 0.5], side="top")
        | {"ticklabelstandoff": 12, **_numbers(k)},
        yaxis=bare_axis("" if named else "objects, sorted by their features", framed=True, range=[high, low])
        | {"tickformat": ",d", **ticks},
        images=[layout_image(tones(picture.mean, 0.0, 1.0), 0.5, low, k, high - low)],
        shapes=[_feature_strip(j) for j in range(1, k + 1)] if k <= 256 else [],
    )
    if strip is not None:
        layout["images"].append(layout_image(strip.colours(), left, low, 0.8 * (0.5 - left), high - low))
    data = [_hover(given, places, rows, low, high), *(strip.legend() if strip else [])]
    return {"data": data, "layout": layout}


def _numbers(k: int) -> Figure:
    if k <= _NUMBERED:
        return {"tickvals": list(range(1, k + 1)), "tickfont": {"size": 12 if k <= 24 else 10}}
    step = 5 if k <= 100 else 10 if k <= 200 else 50
    return {"tickvals": [1, *range(step, k + 1, step)], "tickfont": {"size": 11}}


def _feature_strip(feature: int) -> Figure:
    """Return the strip of colour above a feature."""
    place = {"xref": "x", "x0": feature - 0.5, "x1": feature + 0.5, "yref": "paper", "yanchor": 1}
    look = {
        "ysizemode": "pixel",
        "y0": 2,
        "y1": 10,
        "line": {"width": 0},
        "fillcolor": cluster_colour(feature),
    }
    return {"type": "rect", **place, **look}


def _hover(given: Floats, places: Order, rows: Names, low: int, high: int) -> Figure:
    """Return the invisible trace that shows object, feature and probability, or the mean of several objects."""
    k = given.shape[1]
    bins = bin_objects(given, places, low, high, max(20, _TEXTS // k))
    texts = []
    ends = pairwise(bins.borders.tolist())
    for (first, end), mean, having in zip(ends, bins.mean.tolist(), bins.having.tolist(), strict=True):
        if end - first == 1:
            who = f"<b>{escape(rows[places[first]], 60)}</b>"
            texts.append([f"{who}<br>feature {j}: {percent(p)}" for j, p in enumerate(mean, 1)])
            continue
        who = f"objects {first + 1:,} to {end:,}"
        texts.append(
            [
                f"{who}<br>feature {j}: {m:,.0f} of {end - first:,} have it<br>mean probability {percent(p)}"
                for j, (m, p) in enumerate(zip(having, mean, strict=True), 1)
            ]
        )
    return hover_grid([j + 0.5 for j in range(k + 1)], bins.borders.tolist(), texts)
