"""Features of a table of pixels as pictures: one large, or all beside the baseline on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from acvb_core.models.lfm.figures.feature_weights import feature_heading
from acvb_core.models.lfm.figures.feature_words import (
    Names,
    Units,
    bare_axis,
    feature_word,
    figure_title,
    subtitle,
    value_text,
)
from acvb_core.models.lfm.figures.pictures import (
    DIVERGING,
    EMPTY,
    PAGE,
    Tile,
    diverging_colours,
    largest,
    picture_aspect,
    scale_bar,
    tiles_figure,
    tones,
)
from acvb_core.views.heat_map import heat_map
from acvb_core.views.theme import LINE, Figure, b64, base_layout, cluster_colour, colour_bar, escape, percent

if TYPE_CHECKING:
    from acvb_core.data.table import Image

_UNITS = {"sd": "weight (sd)", "table": "weight"}
#: Most pixels with names under the pointer.
_NAMED = 20_000
#: Gap between two pictures, and the room for a picture's number.
_GAP, _WORDS = 0.12, 0.24


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

    `weights`: shape (D,); in the units that are named.
    `image`: where the columns stand.
    `feature`: from 1.
    `columns`: length D; names, for the pointer.
    `limit`: end of the scale: `largest(all weights)`, so that features can be compared. By default the feature's own.
    `share`: of the objects that have the feature.
    """
    picture = image.picture(np.asarray(weights, dtype=np.float64), fill=np.nan)
    end = limit or largest(picture)
    trace = heat_map(
        "feature-image",
        range(1, image.width + 1),
        range(1, image.height + 1),
        b64(picture.astype(np.float32)),
        ends=(-end, end),
        scale=DIVERGING,
        colorbar=colour_bar(_UNITS[units]),
        zsmooth=False,
        hovertemplate="row %{y}, column %{x}<br>weight %{z:.4g}<extra></extra>",
    )
    if columns is not None and picture.size <= _NAMED:
        names = np.full(picture.size, "", dtype=object)
        names[np.asarray(image.pixels)] = [f"<b>{escape(name, 60)}</b><br>" for name in columns]
        trace["hovertext"] = names.reshape(picture.shape).tolist()
        trace["hovertemplate"] = "%{hovertext}" + trace["hovertemplate"]
    bare = bare_axis(framed=True, showticklabels=False, constrain="domain")
    ratio = picture_aspect(image) * image.width / image.height
    layout = base_layout(
        height,
        margin={"l": 10, "r": 10, "t": 38, "b": 10},
        plot_bgcolor=f"rgb{EMPTY}",
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
    page: int = PAGE,
    selected: int | None = None,
) -> Figure:
    """Return the pictures of all features on one scale, each with its number and share, after the baseline.

    A picture's `customdata` is the number of its feature (from 1; 0 for the baseline), for selections.

    `weights`: shape (K, D); in the units that are named.
    `shares`: shape (K,); of the objects that have each feature.
    `baseline`: shape (D,); picture of an object without features, in the table's units; shown in tones of its own.
    `limit`: end of the scale, by default the largest weight.
    `across`: pictures a row, by default 6 to 12 by their number.
    `page`: width in pixels that the height is computed for.
    `selected`: feature (from 1) that is framed.
    """
    given = np.asarray(weights, dtype=np.float64).reshape(-1, len(np.asarray(image.pixels)))
    end, aspect, n_tiles = limit or largest(given), picture_aspect(image), len(given) + (baseline is not None)
    columns = across or (6 if n_tiles <= 12 else 8 if n_tiles <= 40 else 12)
    tiles: list[Tile] = []

    def add_tile(*shown: Any) -> None:
        row, column = divmod(len(tiles), columns)
        tiles.append(Tile(column * (1 + _GAP), row * (aspect + _WORDS), *shown))

    if baseline is not None:
        picture = image.picture(np.asarray(baseline, dtype=np.float64))
        low, high = float(np.nanmin(picture)), float(np.nanmax(picture))
        hover = f"<b>baseline</b>: an object without features<br>{value_text(low)} to {value_text(high)}"
        add_tile(tones(picture, low, high, (255, 255, 255)), "baseline", hover, LINE, 1)
    for k, (share, w) in enumerate(zip(np.asarray(shares, dtype=np.float64).tolist(), given, strict=True), 1):
        hover = f"<b>feature {k}</b><br>{percent(share)} of the objects<br>"
        hover += f"weights {value_text(w.min())} to {value_text(w.max())}"
        colours = diverging_colours(image.picture(w, fill=np.nan), end)
        word = f"<b>{k}</b> · {percent(share)}"
        add_tile(colours, word, hover, cluster_colour(k), 4 if k == selected else 1.5)
    figure = tiles_figure(
        tiles,
        columns * (1 + _GAP),
        max(1, -(-n_tiles // columns)) * (aspect + _WORDS),
        f"<b>{feature_word(len(given))}</b>" + subtitle(" · number and share of the objects, one scale"),
        aspect=aspect,
        room=_WORDS,
        # Small pictures of many pixels need not be enlarged: the page holds all of them.
        crisp=max(64, min(400, 6000 // max(n_tiles, 1))),
        page=page,
    )
    pictures = figure["data"][-1]
    chosen = {"marker": {"opacity": 0}}
    pictures |= {"uid": "features", "selected": chosen, "unselected": chosen}
    pictures["customdata"] = list(range(1 - (baseline is not None), len(given) + 1))
    if len(given):
        figure["data"].append(scale_bar(_UNITS[units], -end, end))
    return figure
