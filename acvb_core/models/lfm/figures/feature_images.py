"""Features of a table of pixels as pictures: one large, or all beside the baseline on one scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.figures.feature_weights import feature_heading
from acvb_core.models.lfm.figures.feature_words import (
    Names,
    Units,
    axis_title,
    feature_word,
    figure_title,
    subtitle,
    value_text,
)
from acvb_core.models.lfm.figures.pictures import (
    DIVERGING,
    EMPTY,
    colour_bar,
    diverging_colours,
    largest,
    layout_image,
    picture_aspect,
    scale_bar,
    tones,
)
from acvb_core.views.theme import LINE, TEXT, Figure, b64, base_layout, cluster_colour, escape, percent

if TYPE_CHECKING:
    from acvb_core.data.tables.image import Image

Floats = NDArray[np.float64]
_UNITS = {"sd": "weight (sd)", "table": "weight"}
#: Pixels up to which each has its name under the pointer.
_NAMED = 20_000
#: Width of the page that heights are reckoned with, what a tile leaves free, and the room for its number.
_PAGE, _GAP, _WORDS = 900, 0.12, 0.24


def feature_image_figure(
    weights: ArrayLike,
    image: Image,
    feature: int,
    *,
    columns: Names | None = None,
    limit: float | None = None,
    units: Units = "table",
    share: float | None = None,
    height: int = 420,
) -> Figure:
    """Return the weights of one feature as a picture: red above 0, blue below.

    Parameters
    ----------
    weights : array, shape (D,)
        In the units that are named.
    image : Image
        Where the columns stand.
    feature : int
        From 1.
    columns : sequence, length D, optional
        Names, for the pointer.
    limit : float, optional
        End of the scale: `largest(all weights)`, so that features can be compared. By default the feature's own.
    units : "sd" or "table"
    share : float, optional
        Of the objects that have the feature.
    height : int
    """
    picture = image.picture(np.asarray(weights, dtype=np.float64), fill=np.nan)
    end = limit or largest(picture)
    trace: Figure = {
        "type": "heatmap",
        "x": list(range(1, image.width + 1)),
        "y": list(range(1, image.height + 1)),
        "z": b64(picture.astype(np.float32)),
        "zmin": -end,
        "zmax": end,
        "colorscale": DIVERGING,
        "colorbar": colour_bar(_UNITS[units]),
        "zsmooth": False,
        "hovertemplate": "row %{y}, column %{x}<br>weight %{z:.4g}<extra></extra>",
        "uid": "feature-image",
    }
    if columns is not None and picture.size <= _NAMED:
        names = np.full(picture.size, "", dtype=object)
        names[np.asarray(image.pixels)] = [f"<b>{escape(name, 60)}</b><br>" for name in columns]
        trace["hovertext"] = names.reshape(picture.shape).tolist()
        trace["hovertemplate"] = "%{hovertext}" + trace["hovertemplate"]
    bare: Figure = {
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "constrain": "domain",
    }
    bare |= {"showline": True, "mirror": True, "linecolor": LINE}
    ratio = picture_aspect(image) * image.width / image.height
    layout = base_layout(
        height,
        margin={"l": 10, "r": 10, "t": 38, "b": 10},
        plot_bgcolor="rgb" + str(EMPTY),
        title=figure_title(feature_heading(feature, share)),
        xaxis=bare | {"range": [0.5, image.width + 0.5]},
        yaxis=bare | {"range": [image.height + 0.5, 0.5], "scaleanchor": "x", "scaleratio": ratio},
    )
    return {"data": [trace], "layout": layout}


def feature_images_figure(
    weights: ArrayLike,
    shares: ArrayLike,
    image: Image,
    *,
    baseline: ArrayLike | None = None,
    limit: float | None = None,
    units: Units = "table",
    across: int | None = None,
    selected: int | None = None,
) -> Figure:
    """Return the pictures of all features on one scale, each with its number and share, after the baseline.

    A picture's `customdata` is the number of its feature (from 1; 0 for the baseline), for selections.

    Parameters
    ----------
    weights : array, shape (K, D)
        In the units that are named.
    shares : array, shape (K,)
        Of the objects that have each feature.
    image : Image
    baseline : array, shape (D,), optional
        What an object without features looks like, in the table's units; shown in tones of its own.
    limit : float, optional
        End of the scale, by default the largest weight.
    units : "sd" or "table"
    across : int, optional
        Pictures a row, by default 6 to 12 by their number.
    selected : int, optional
        Feature (from 1) that is framed.
    """
    given = np.asarray(weights, dtype=np.float64).reshape(-1, len(np.asarray(image.pixels)))
    share = np.asarray(shares, dtype=np.float64).tolist()
    end = limit or largest(given)
    blank = (255, 255, 255)
    tiles = [diverging_colours(image.picture(w, fill=np.nan), end) for w in given]
    numbers = list(range(1, len(tiles) + 1))
    words = [f"<b>{k}</b> · {percent(s)}" for k, s in zip(numbers, share, strict=True)]
    hover = [
        f"<b>feature {k}</b><br>{percent(s)} of the objects<br>weights {value_text(w.min())} to {value_text(w.max())}"
        for k, s, w in zip(numbers, share, given, strict=True)
    ]
    if baseline is not None:
        first = image.picture(np.asarray(baseline, dtype=np.float64))
        low, high = float(np.nanmin(first)), float(np.nanmax(first))
        tiles.insert(0, tones(first, low, high, blank))
        numbers.insert(0, 0)
        words.insert(0, "baseline")
        hover.insert(
            0, f"<b>baseline</b>: an object without features<br>{value_text(low)} to {value_text(high)}"
        )
    aspect = picture_aspect(image)
    columns = across or (6 if len(tiles) <= 12 else 8 if len(tiles) <= 40 else 12)
    x = np.arange(len(tiles)) % columns * (1 + _GAP)
    y = np.arange(len(tiles)) // columns * (aspect + _WORDS)
    rows = max(1, -(-len(tiles) // columns))
    layout = _grid_layout(columns * (1 + _GAP), rows * (aspect + _WORDS), feature_word(len(given)))
    # Small pictures of many pixels need not be enlarged: the page holds all of them.
    crisp = max(64, min(400, 6000 // max(len(tiles), 1)))
    layout["images"] = [
        layout_image(tile, a, b + _WORDS, 1, aspect, crisp)
        for tile, a, b in zip(tiles, x.tolist(), y.tolist(), strict=True)
    ]
    layout["shapes"] = [
        _frame(a, b + _WORDS, aspect, k, k == selected)
        for k, a, b in zip(numbers, x.tolist(), y.tolist(), strict=True)
    ]
    size = _PAGE / (columns * (1 + _GAP))
    data = [
        _words(x, y + _WORDS - 0.015, words),
        {
            "type": "scatter",
            "mode": "markers",
            "x": (x + 0.5).tolist(),
            "y": (y + _WORDS + aspect / 2).tolist(),
            "customdata": numbers,
            "marker": {
                "symbol": "square",
                "size": 0.7 * size * min(aspect, 1.0),
                "opacity": 0,
                "color": LINE,
            },
            "selected": {"marker": {"opacity": 0}},
            "unselected": {"marker": {"opacity": 0}},
            "hovertext": hover,
            "hovertemplate": "%{hovertext}<extra></extra>",
            "uid": "features",
        },
    ]
    if len(given):
        data.append(scale_bar(_UNITS[units], -end, end))
    return {"data": data, "layout": layout}


def _grid_layout(width: float, height: float, what: str) -> Figure:
    bare = {"visible": False, "constrain": "domain"}
    return base_layout(
        max(200, math.ceil(height / width * _PAGE) + 50),
        margin={"l": 6, "r": 6, "t": 36, "b": 8},
        showlegend=False,
        hovermode="closest",
        title=figure_title(
            f"<b>{what[0].upper()}{what[1:]}</b>" + subtitle(" · number and share of the objects, one scale")
        ),
        xaxis=bare | {"range": [-0.02, width]},
        yaxis=bare | {"range": [height, 0], "scaleanchor": "x", "scaleratio": 1, "title": axis_title("")},
    )


def _frame(x: float, y: float, aspect: float, number: int, selected: bool) -> Figure:
    colour = cluster_colour(number) if number else LINE
    return {
        "type": "rect", "x0": x, "x1": x + 1, "y0": y, "y1": y + aspect,
        "line": {"color": colour, "width": 4 if selected else 1.5 if number else 1},
    }  # fmt: skip


def _words(x: NDArray[Any], y: NDArray[Any], words: list[str]) -> Figure:
    return {
        "type": "scatter", "mode": "text", "x": x.tolist(), "y": y.tolist(), "text": words,
        "textposition": "top right", "textfont": {"size": 11, "color": TEXT}, "hoverinfo": "skip", "uid": "words",
        "cliponaxis": False,
    }  # fmt: skip
