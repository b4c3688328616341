"""Features: the weights of one as bars or a picture, all of them as pictures, and which objects have which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.models.lfm.answer.describe import signed_text
from acvb_core.models.lfm.figures.pictures import (
    DIVERGING,
    EMPTY,
    PAGE,
    Colours,
    Floats,
    Names,
    Tile,
    Units,
    column_ticks,
    diverging_colours,
    feature_word,
    image_uri,
    largest,
    picture_aspect,
    tiles_figure,
    tones,
    value_text,
)
from acvb_core.views.parts import (
    bars,
    decimate,
    heading,
    heat_map,
    hover_grid,
    legend_entry,
    nothing_figure,
    place_picture,
    plain_axis,
    scatter,
    text_room,
    value_axis,
)
from acvb_core.views.theme import (
    LINE,
    OTHERS_COLOUR,
    TEXT,
    Figure,
    Part,
    cluster_colour,
    escape,
    make_figure,
    percent,
    rgba,
)

if TYPE_CHECKING:
    from acvb_core.data.table import Image

_ROW, _TOP, _BOTTOM, _FONT = 21, 34, 58, 12  # pixels
#: Columns up to which a profile has a bar for each; of more it is a line of so many points.
_BARS, _LINE_POINTS = 400, 4000
#: Characters up to which names of columns are below a profile, and the pixels that it has for them at least.
_SHORT, _PROFILE_WIDTH = 6, 300


def feature_weights_figure(
    weights: ArrayLike,
    columns: Names,
    feature: int,
    *,
    sd: ArrayLike | None = None,
    units: Units = "sd",
    order: Literal["size", "table"] = "size",
    share: float | None = None,
    n: int = 25,
    height: int | None = None,
) -> Figure:
    """Return the columns in which a feature weighs most, as bars to both sides of 0.

    Bars are in standard deviations, whatever the units of the numbers behind them: grams and metres cannot be compared.
    A bar below 0 is lighter. The title counts the columns beyond the `n` largest.

    `weights`: shape (D,); of the feature (from 1), on the standardised scale.
    `sd`: shape (D,); standard deviation of each column; None: the table is not standardised, and weights are in its
      units.
    `units`: of the numbers behind the bars; the pointer shows the other.
    `order`: largest first, or as in the table.
    `share`: of the objects that have the feature, for the title.
    """
    own = np.asarray(weights, dtype=np.float64)
    if not len(own):
        return nothing_figure("The table has no columns.", title=f"Feature {feature}")
    chosen = np.argsort(-np.abs(own), kind="stable")[: max(n, 1)]
    if order == "table":
        chosen = np.sort(chosen)
    more = [f"{len(chosen)} largest of {len(own):,} columns"] if len(chosen) < len(own) else []
    shown, names = own[chosen], [str(columns[j]) for j in chosen]
    written = shown if sd is None or units == "sd" else (own * np.asarray(sd))[chosen]
    colour, places = cluster_colour(feature), list(range(len(chosen)))
    trace = bars(
        "weights",
        shown,
        places,
        _describe_weights(own, columns, feature, sd, chosen),
        [colour if value >= 0 else rgba(colour, 0.4) for value in shown],
        orientation="h",
        customdata=names,
        text=[signed_text(value) for value in written.tolist()],
    )
    trace["marker"] |= {"line": {"width": [0 if value >= 0 else 1 for value in shown], "color": colour}}
    low, high = min(float(shown.min()), 0.0), max(float(shown.max()), 0.0)
    # Room for the numbers, which are beyond the ends of the bars, on a phone too.
    pad = 0.24 * (high - low) or 1.0
    ends = [low - pad if low < 0 else 0, high + pad if high > 0 else 0] if shown.any() else [-1, 1]
    axis = "weight (standard deviations)" if sd is not None else "weight (the table's own units)"
    if sd is not None and units != "sd":
        axis = "bars: standard deviations<br>numbers: the column's own units"
    rows = plain_axis(**column_ticks(places, names), range=[len(places) - 0.4, -0.6], automargin=True)
    return make_figure(
        [trace],
        height or max(150, _TOP + _BOTTOM + _ROW * len(places)),
        margin={"l": text_room(names, _FONT) + 12, "r": 14, "t": _TOP, "b": _BOTTOM},
        bargap=0.22,
        title=feature_heading(feature, share, *more),
        xaxis=value_axis(axis, range=ends, zeroline=True, nticks=6),
        yaxis=rows | {"tickfont": {"size": _FONT, "color": TEXT}},
    )


def feature_profile_figure(
    weights: ArrayLike,
    columns: Names,
    feature: int,
    *,
    sd: ArrayLike | None = None,
    units: Units = "sd",
    share: float | None = None,
    height: int = 260,
) -> Figure:
    """Return the weights of a feature in all columns in the table's order: bars, or a line if there are many.

    Parameters as in `feature_weights_figure`, but the values drawn are in the units asked for; meant for
    hundreds of columns in an order that means something (frequencies, time).
    """
    own = np.asarray(weights, dtype=np.float64)
    if not len(own):
        return nothing_figure("The table has no columns.", title=f"Feature {feature}")
    standard = sd is not None and units == "sd"
    shown = own if sd is None or standard else own * np.asarray(sd)
    points = decimate(shown, _LINE_POINTS)
    colour = cluster_colour(feature)
    trace = bars(
        "profile", points + 1, shown[points], _describe_weights(own, columns, feature, sd, points), colour
    )
    if len(own) > _BARS:
        line = {"type": "scatter", "mode": "lines", "line": {"color": colour, "width": 1.3}}
        trace |= line | {"fill": "tozeroy", "fillcolor": rgba(colour, 0.2)}
    names = [str(name) for name in columns]
    longest = max(map(len, names))
    step = -(-len(names) * (7 * longest + 14) // _PROFILE_WIDTH)
    ticks: Part = {"nticks": min(20, len(names) + 1), "tickformat": ",d"}
    if longest <= _SHORT:
        ticks = column_ticks(range(1, len(names) + 1, step), names[::step])
    axis = "weight (standard deviations)" if standard else "weight (own units)"
    return make_figure(
        [trace],
        height,
        margin={"l": 60, "r": 14, "t": _TOP, "b": _BOTTOM},
        bargap=0.1,
        title=feature_heading(feature, share),
        xaxis=plain_axis("column, as in the table", range=[0.4, len(own) + 0.6], showline=True, **ticks),
        yaxis=value_axis(axis, zeroline=True, nticks=6),
    )


def _describe_weights(
    weights: Floats, columns: Names, feature: int, sd: ArrayLike | None, chosen: Iterable[int]
) -> list[str]:
    """Return the text of each weight: in standard deviations and in the column's units."""
    own = None if sd is None else weights * np.asarray(sd)
    return [
        f"<b>{escape(columns[j], 60)}</b><br>feature {feature}: {signed_text(weights[j])}"
        + ("" if own is None else f" standard deviations<br>{signed_text(own[j])} in its own units")
        for j in chosen
    ]


def feature_heading(feature: int, share: float | None, *more: str) -> Part:
    """Return the title "Feature 3 · 42 % of the objects"."""
    notes = [] if share is None else [f"{percent(share)} of the objects"]
    return heading(f"Feature {feature}", " · ".join([*notes, *more]))


_UNITS = {"sd": "weight (sd)", "table": "weight"}
#: Most pixels with names under the pointer.
_NAMED_PIXELS = 20_000
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
    `image`: which pixel each column is.
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
        picture.astype(np.float32),
        ends=(-end, end),
        scale=DIVERGING,
        bar=_UNITS[units],
        hovertemplate="row %{y}, column %{x}<br>weight %{z:.4g}<extra></extra>",
    )
    if columns is not None and picture.size <= _NAMED_PIXELS:
        names = np.full(picture.size, "", dtype=object)
        names[np.asarray(image.pixels)] = [f"<b>{escape(name, 60)}</b><br>" for name in columns]
        trace["hovertext"] = names.reshape(picture.shape).tolist()
        trace["hovertemplate"] = "%{hovertext}" + trace["hovertemplate"]
    bare = plain_axis(framed=True, showticklabels=False, constrain="domain")
    ratio = picture_aspect(image) * image.width / image.height
    return make_figure(
        [trace],
        height,
        margin={"l": 10, "r": 10, "t": 38, "b": 10},
        plot_bgcolor=f"rgb{EMPTY}",
        title=feature_heading(feature, share),
        xaxis=bare | {"range": [0.5, image.width + 0.5]},
        yaxis=bare | {"range": [image.height + 0.5, 0.5], "scaleanchor": "x", "scaleratio": ratio},
    )


def feature_images_figure(
    weights: ArrayLike,
    shares: ArrayLike,
    image: Image,
    *,
    baseline: ArrayLike | None = None,
    limit: float | None = None,
    units: Units = "table",
    names: Names | None = None,
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
    `names`: length K; of the features, for the pointer.
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
        hover = f"<b>{_name_feature(k, names)}</b><br>{percent(share)} of the objects<br>"
        hover += f"weights {value_text(w.min())} to {value_text(w.max())}"
        colours = diverging_colours(image.picture(w, fill=np.nan), end)
        word = f"<b>{k}</b> · {percent(share)}"
        add_tile(colours, word, hover, cluster_colour(k), 4 if k == selected else 1.5)
    bar = {"color": [0], "cmin": -end, "cmax": end, "colorscale": DIVERGING, "showscale": True}
    bar["colorbar"] = {"title": {"text": _UNITS[units]}}
    chosen = {"marker": {"opacity": 0}}
    numbers = list(range(1 - (baseline is not None), len(given) + 1))
    return tiles_figure(
        tiles,
        columns * (1 + _GAP),
        max(1, -(-n_tiles // columns)) * (aspect + _WORDS),
        heading(feature_word(len(given)), "number and share of the objects, one scale"),
        aspect=aspect,
        room=_WORDS,
        # Small pictures of many pixels need not be enlarged: the page has all of them.
        crisp=max(64, min(400, 6000 // max(n_tiles, 1))),
        page=page,
        trace={"customdata": numbers, "selected": chosen, "unselected": chosen},
        further=[scatter("scale", [None], [None], marker=bar)] if len(given) else [],
    )


#: Rows of the picture, texts under the pointer, most objects with names and features with numbers beside it.
_ROWS, _TEXTS, _NAMED, _NUMBERED = 1000, 8_000, 60, 40


def activation_order(activations: ArrayLike, labels: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return the objects sorted by the features they have (probability at least 1/2), those of feature 1 first, (N,).

    `activations` (N, K) has the largest features first. Known `labels` (N,) sort objects of the same features; all else
    equal, objects keep their order.
    """
    bits = np.packbits(np.asarray(activations) < 0.5, axis=1)
    keys: list[NDArray[Any]] = [np.zeros(len(bits)), *bits.T[::-1]]  # the last key decides first
    if labels is not None:
        keys.insert(1, np.unique(np.asarray(labels).astype(str), return_inverse=True)[1].reshape(-1))
    return np.lexsort(keys).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ObjectBins:
    """Neighbours of the sorted matrix taken together."""

    borders: NDArray[np.int64]  #: shape (n + 1,); places where bins begin, and the end of the last
    #: `mean`, `having`: shape (n, K); mean probability, and number of objects that have each feature.
    mean: Floats
    having: Floats


def bin_objects(activations: Floats, order: NDArray[np.int64], low: int, high: int, most: int) -> ObjectBins:
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
    feature_names: Names | None = None,
    window: tuple[int, int] | None = None,
    height: int = 620,
) -> Figure:
    """Return the probability of each feature for each object, dark if it is 1, objects down.

    `activations`: shape (N, K); features as they are numbered, the largest first.
    `rows`: length N; names of the objects.
    `order`: shape (N,); from `activation_order`, by default with the labels.
    `labels`: shape (N,); known label of each object (None if it is not known), shown as a strip of colours before
      the features.
    `feature_names`: length K, for the pointer.
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
    left = 0.5 if strip is None else 0.5 - max(0.03 * k, 0.12)
    images = [place_picture(image_uri(tones(picture.mean, 0.0, 1.0)), 0.5, low, k, high - low)]
    if strip is not None:
        images += [place_picture(image_uri(strip.colours()), left, low, 0.8 * (0.5 - left), high - low)]
    named = high - low <= _NAMED
    names: list[str] = [str(rows[i]) for i in places[low:high]] if named else []
    ticks = column_ticks([low + i + 0.5 for i in range(len(names))], names) if named else {"nticks": 8}
    across = plain_axis("feature", framed=True, range=[left, k + 0.5], side="top", ticklabelstandoff=12)
    down = plain_axis("" if named else "objects, sorted by their features", framed=True, range=[high, low])
    room = text_room(names, 11) + 40 if named else 76
    return make_figure(
        [_matrix_hover(given, places, rows, low, high, feature_names), *(strip.legend() if strip else [])],
        height if not named else max(height, 120 + 13 * (high - low)),
        margin={"l": room, "r": 14, "t": 84, "b": 56 if strip else 20, "pad": 0},
        dragmode="select",
        showlegend=strip is not None,
        legend={"itemclick": False, "itemdoubleclick": False},
        title=heading(f"{high - low:,} objects, {feature_word(k)}", "filled: the object has it"),
        xaxis=across | _number_ticks(k),
        yaxis=down | {"tickformat": ",d", **ticks},
        images=images,
        shapes=[_feature_strip(j) for j in range(1, k + 1)] if k <= 256 else [],
    )


def _number_ticks(k: int) -> Part:
    if k <= _NUMBERED:
        return {"tickvals": list(range(1, k + 1)), "tickfont": {"size": 12 if k <= 20 else 9}}
    step = 5 if k <= 100 else 10 if k <= 200 else 50
    return {"tickvals": [1, *range(step, k + 1, step)]}


def _feature_strip(feature: int) -> Part:
    """Return the strip of colour above a feature."""
    place = {"x0": feature - 0.5, "x1": feature + 0.5, "yref": "paper", "ysizemode": "pixel"}
    look = {"yanchor": 1, "y0": 2, "y1": 10, "line": {"width": 0}, "fillcolor": cluster_colour(feature)}
    return {"type": "rect", **place, **look}


def _name_feature(feature: int, names: Names | None) -> str:
    """Return "feature 3", or "3 · rain" if it has a name."""
    return f"feature {feature}" if names is None else f"{feature} · {escape(names[feature - 1], 40)}"


def _matrix_hover(
    given: Floats, places: NDArray[np.int64], rows: Names, low: int, high: int, names: Names | None
) -> Part:
    """Return the invisible trace that shows object, feature and probability, or the mean of several objects."""
    k = given.shape[1]
    bins = bin_objects(given, places, low, high, max(20, _TEXTS // k))
    called = [_name_feature(j, names) for j in range(1, k + 1)]
    texts = []
    ends = pairwise(bins.borders.tolist())
    for (first, end), mean, having in zip(ends, bins.mean.tolist(), bins.having.tolist(), strict=True):
        alone = end - first == 1
        who = f"<b>{escape(rows[places[first]], 60)}</b>" if alone else f"objects {first + 1:,} to {end:,}"
        of = f" of {end - first:,} have it<br>mean probability "
        known = enumerate(zip(having, mean, strict=True), 1)
        texts.append(
            [
                f"{who}<br>{called[j - 1]}: {'' if alone else f'{m:,.0f}{of}'}{percent(p)}"
                for j, (m, p) in known
            ]
        )
    return hover_grid([j + 0.5 for j in range(k + 1)], bins.borders.tolist(), texts)


#: Soft colours for known labels; no feature has one of them, and the rarer labels share a grey.
LABEL_COLOURS = [
    "#8DD3C7", "#FB8072", "#BEBADA", "#FDB462", "#80B1D3", "#B3DE69", "#FCCDE5", "#BC80BD", "#FFED6F", "#A6761D",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class LabelStrip:
    """The most frequent label of each bin of objects."""

    names: list[str]  #: the labels that have a colour, the most frequent first
    counts: list[int]  #: objects of each
    #: Shape (n_bins,); index of the most frequent known label of the bin; len(names) for all others, -1 if no label is
    #: known.
    top: NDArray[np.int64]
    others: int  #: labels without a colour of their own

    def colours(self) -> Colours:
        """Return the strip as a picture, shape (n_bins, 1, 3)."""
        hexes = [*LABEL_COLOURS[: len(self.names)], OTHERS_COLOUR]
        table = np.array([[*bytes.fromhex(c[1:])] for c in hexes] + [list(EMPTY)])
        return table[self.top].astype(np.uint8)[:, None]

    def legend(self) -> list[Part]:
        """Return traces that show nothing but their entry in the legend."""
        named = zip(self.names, self.counts, LABEL_COLOURS, strict=False)
        entries = [(f"{escape(name, 24)} ({count:,})", colour) for name, count, colour in named]
        entries += [(f"{self.others:,} other labels", OTHERS_COLOUR)] if self.others else []
        entries += [("not known", f"rgb{EMPTY}")] if (self.top < 0).any() else []
        return [
            legend_entry(f"label-{i}", name, {"symbol": "square", "size": 11, "color": colour})
            for i, (name, colour) in enumerate(entries)
        ]


def build_strip(labels: NDArray[np.object_], borders: NDArray[np.int64]) -> LabelStrip:
    """Return the strip of labels in the order that is shown; a label's colour does not depend on the part shown.

    `labels`: shape (n,); of all objects, None or empty if it is not known.
    `borders`: shape (n_bins + 1,); where each bin begins, and where the last ends: a part of them, or all.
    """
    known = np.array([label is not None and str(label) != "" for label in labels.tolist()], dtype=bool)
    names, index, counts = np.unique(labels[known].astype(str), return_inverse=True, return_counts=True)
    first = np.argsort(-counts, kind="stable")[: len(LABEL_COLOURS)]
    place = np.full(len(names) + 1, len(first))
    place[first] = np.arange(len(first))
    kind = np.full(len(labels), -1)
    kind[known] = place[index.reshape(-1)]
    kind = kind[borders[0] : borders[-1]]
    bin_of = np.repeat(np.arange(len(borders) - 1), np.diff(borders))
    votes = np.zeros((len(borders) - 1, len(first) + 1), dtype=np.int64)
    np.add.at(votes, (bin_of[kind >= 0], kind[kind >= 0]), 1)
    top = np.where(votes.any(axis=1), votes.argmax(axis=1), -1)
    return LabelStrip(names[first].tolist(), counts[first].tolist(), top, len(names) - len(first))
