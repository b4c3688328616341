"""One object: what each feature adds to it, as bars by column or as a row of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acvb_core.models.lfm.answer.describe import signed_text
from acvb_core.models.lfm.features import ObjectSteps, Step
from acvb_core.models.lfm.figures.pictures import (
    ABOVE,
    BELOW,
    EMPTY,
    MISSING,
    Colours,
    Floats,
    Names,
    Tile,
    column_ticks,
    diverging_colours,
    largest,
    object_heading,
    picture_aspect,
    tiles_figure,
    tones,
    value_text,
)
from acvb_core.views.parts import bars, nothing_figure, paper_note, plain_axis, scatter, text_room, value_axis
from acvb_core.views.theme import (
    LINE,
    PAPER,
    TEXT,
    Figure,
    Part,
    cluster_colour,
    escape,
    make_figure,
    percent,
)

if TYPE_CHECKING:
    from acvb_core.data.table import Image

_ROW, _TOP, _BOTTOM = 24, 40, 84  # pixels
#: Gap between two pictures, and the room for the words above one, in widths of a picture.
_GAP, _WORDS = 0.14, 0.3


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
    if not len(made.baseline):
        return nothing_figure("The table has no columns.", title=escape(name, 40))
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
        values = [value_text(float(cells[j])) or "missing" for j in shown]
        texts = [f"{head}{what} {text}" for head, text in zip(titles, values, strict=True)]
        marker = {"symbol": symbol, "size": 15 if symbol == "line-ns" else 9, "color": TEXT}
        more: Part = {"marker": marker | {"line": {"width": 2, "color": TEXT}}, "hovertext": texts}
        data.append(scatter(what, x[shown], places, **more, name=what, showlegend=True))
    piled = np.array([step.added[shown] / made.scale[shown] for step in made.steps]).reshape(-1, len(shown))
    ends = np.concatenate([piled.clip(min=0).sum(axis=0), piled.clip(max=0).sum(axis=0), value[shown], [0.0]])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    pad = 0.05 * (high - low) or 1.0
    unit = "standard deviations" if made.standardised else "the table's own units"
    some = f"{len(shown)} of {len(far):,} columns: the furthest from the baseline"
    values = [value_text(float(made.value[j])) or "<i>missing</i>" for j in shown]
    notes = [paper_note(text, 1, at, yref="y", xshift=8, yanchor="middle") for at, text in enumerate(values)]
    notes.append(paper_note("value", 1, 1, xshift=8, yanchor="bottom"))
    rows = plain_axis(**column_ticks(places, names), range=[len(shown) - 0.4, -0.6])
    return make_figure(
        data,
        height or _TOP + _BOTTOM + _ROW * max(len(shown), 4),
        margin={"l": text_room(names, 12) + 12, "r": 84, "t": _TOP, "b": _BOTTOM},
        barmode="relative",
        bargap=0.3,
        showlegend=True,
        title=object_heading(made, name, *([some] if len(shown) < len(far) else [])),
        legend={"traceorder": "normal", "font": {"size": 11}},
        xaxis=value_axis(
            f"from the baseline ({unit})", range=[low - pad, high + pad], zeroline=True, nticks=8
        ),
        yaxis=rows | {"tickfont": {"size": 12}},
        annotations=notes,
    )


def _step_bars(step: Step, made: ObjectSteps, shown: NDArray[np.int64], titles: list[str]) -> Part:
    """Return the bars of what one step adds."""
    number = step.features[0] if len(step.features) == 1 else 0
    chance = f" ({percent(step.probability)})" if number else ""
    added = [signed_text(float(step.added[j])) for j in shown]
    texts = [
        f"{head}{escape(step.name, 40)}{chance} adds {text}" for head, text in zip(titles, added, strict=True)
    ]
    sizes, places = step.added[shown] / made.scale[shown], list(range(len(shown)))
    colour = cluster_colour(number) if number else LINE
    more = {
        "orientation": "h",
        "name": escape(step.name, 40),
        "customdata": [number] * len(shown),
        "showlegend": True,
    }
    trace = bars(f"step-{number or 'others'}", sizes, places, texts, colour, **more)
    trace["marker"] |= {"line": {"width": 0.7, "color": PAPER}}
    return trace


def reconstruction_images_figure(made: ObjectSteps, image: Image, *, name: str = "") -> Figure:
    """Return two rows of pictures: the sums up to each step, and below each sum what was added last.

    The upper row is the object (missing cells marked), the baseline, and the sum after each step, in the tones of
    one scale. The lower row is each step and, at the end, what is left over, red and blue on one scale.

    `name`: the object's, as it is.
    """
    low, high = _extent(made, image)
    limit = largest(np.concatenate([*(step.added for step in made.steps), np.nan_to_num(made.residual)]))
    aspect = picture_aspect(image)
    second = aspect + _GAP + _WORDS
    slots = max(len(made.steps) + 3, 6)
    tiles = [*_sums(made, image, low, high), *_differences(made, image, limit, second)]
    missing = bool(np.isnan(made.value).any())
    figure = tiles_figure(
        tiles,
        slots * (1 + _GAP),
        2 * (aspect + _WORDS) + _GAP + 0.25,
        object_heading(made, name),
        aspect=aspect,
        room=_WORDS,
        crisp=max(80, min(400, 4000 // slots)),
    )
    return figure.update_layout(annotations=[_scale_note(low, high, limit, missing, second + _WORDS)])


def _sums(made: ObjectSteps, image: Image, low: float, high: float) -> list[Tile]:
    """Return the object, the baseline, the sum after each step, and the last of these once more."""
    shown = [(made.value, "object", "object", LINE), (made.baseline, "baseline", "baseline", LINE)]
    total = made.baseline
    for step in made.steps:
        total, word = total + step.added, f"+ {escape(step.name, 40)}"
        if len(step.features) == 1:
            word = f"+ <b>{step.features[0]}</b> ({percent(step.probability)})"
        shown.append((total, word, f"so far, with {escape(step.name, 40)}", _step_colour(step.features)))
    shown.append((total, "all", "reconstruction", LINE))
    tiles = []
    for slot, (values, word, what, frame) in enumerate(shown):
        least, most = map(value_text, _range(values))
        hover = f"<b>{what}</b><br>{least} to {most}"
        tiles.append(Tile(slot * (1 + _GAP), 0.0, _tones_of(values, image, low, high), word, hover, frame))
    return tiles


def _differences(made: ObjectSteps, image: Image, limit: float, y: float) -> list[Tile]:
    """Return what each step adds and, below the reconstruction, what is left over."""
    shown = []
    for step in made.steps:
        chance = f" ({percent(step.probability)})" if len(step.features) == 1 else ""
        picture = image.picture(step.added, fill=np.nan)
        shown.append(
            (picture, EMPTY, "", f"<b>{escape(step.name, 40)}</b>{chance} adds", _step_colour(step.features))
        )
    rest = image.picture(made.residual, fill=0.0)
    shown.append((rest, MISSING, "left over", "<b>left over</b>: object - reconstruction", LINE))
    tiles = []
    for slot, (picture, nothing, word, what, frame) in enumerate(shown, 2):
        least, most = map(signed_text, _range(picture))
        colours = diverging_colours(picture, limit, nothing)
        tiles.append(Tile(slot * (1 + _GAP), y, colours, word, f"{what}<br>{least} to {most}", frame))
    return tiles


def _range(values: Floats) -> tuple[float, float]:
    """Return the least and the largest known value; NaN if none is known."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (float("nan"), float("nan"))


def _extent(made: ObjectSteps, image: Image) -> tuple[float, float]:
    """Return the scale of the upper row: the values of the object and its background, else the baseline."""
    seen = np.concatenate([made.value, np.asarray(image.background)])
    seen = seen[np.isfinite(seen)]
    seen = seen if len(seen) > 1 else made.baseline
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)


def _tones_of(values: Floats, image: Image, low: float, high: float) -> Colours:
    picture = image.picture(values)
    colours = tones(picture, low, high)
    no_column = np.ones(picture.size, dtype=bool)
    no_column[image.pixels] = False
    colours[no_column.reshape(picture.shape) & np.isnan(picture)] = EMPTY
    return colours


def _step_colour(features: tuple[int, ...]) -> str:
    """Return the colour around the pictures of a step: the feature's."""
    return cluster_colour(features[0]) if len(features) == 1 else LINE


def _scale_note(low: float, high: float, limit: float, missing: bool, y: float) -> Part:
    """Return the legend of the colours, in the free place below the object and the baseline."""
    text = (
        f"<b>above:</b> pale {value_text(low)} or less<br>to blue {value_text(high)} or more"
        f'<br><b>here:</b> <span style="color:rgb{BELOW}">{signed_text(-limit)}</span>'
        f' to <span style="color:rgb{ABOVE}">{signed_text(limit)}</span>'
    )
    if missing:
        text += f'<br><span style="color:rgb{MISSING}">■</span> missing'
    return paper_note(text, 0, y, xref="x", yref="y", align="left")
