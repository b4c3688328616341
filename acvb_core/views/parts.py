"""Parts that figures share: traces, heat maps, pictures, axes, notes, names, and panels one below another."""

from __future__ import annotations

import base64
import io
import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from acvb_core.views.theme import LINE, MUTED, TEXT, Figure, Part, escape, make_figure

#: White to the darkest blue, for shares; with a lighter blue between, where many values lie in the middle.
BLUES = [[0, "#FFFFFF"], [1, "#0072B2"]]
THREE_BLUES = [[0, "#FFFFFF"], [0.5, "#8DBBDA"], [1, "#0072B2"]]
#: Browsers blur a picture that they enlarge, so small ones are enlarged here.
CRISP = 1000
#: The user's name of each topic, topic 1 first; None or blank for a topic without a name.
Labels = Sequence[str | None] | None
#: Characters of a name or a word beside an axis; the pointer shows all of it.
MOST_CHARACTERS = 24


def scatter(uid: str, x: Any, y: Any, mode: str = "markers", **more: Any) -> Part:
    """Return a trace of points, lines or words; the pointer shows its `hovertext` or `hovertemplate` if it has one."""
    hover = {"hovertemplate": "%{hovertext}<extra></extra>"} if "hovertext" in more else {"hoverinfo": "skip"}
    hover = {} if "hovertemplate" in more else hover
    return {"type": "scatter", "mode": mode, "x": x, "y": y, "showlegend": False, "uid": uid, **hover, **more}


def legend_entry(uid: str, name: str, marker: Part) -> Part:
    """Return a trace that shows nothing but an entry of the legend."""
    return scatter(uid, [None], [None], name=name, marker=marker, showlegend=True)


def bars(uid: str, x: Any, y: Any, hover: Sequence[str], colour: Any, **more: Any) -> Part:
    """Return a trace of bars with a text (escaped) under the pointer for each."""
    trace = {"type": "bar", "x": x, "y": y, "marker": {"color": colour}, "uid": uid, "hovertext": hover}
    return trace | {"hovertemplate": "%{hovertext}<extra></extra>", **more}


def keep_opacity() -> Part:
    """Return what keeps the points of a trace as they are, selected or not."""
    return {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}


def heat_map(
    uid: str,
    x: Iterable[object],
    y: Iterable[object],
    z: object,
    *,
    ends: tuple[float, float] = (0, 1),
    scale: list[list[Any]] = BLUES,
    gap: int = 0,
    bar: str = "",
    **more: Any,
) -> Part:
    """Return the trace of a heat map: values between the `ends` of a scale, `gap` pixels between the cells.

    `bar`: title of the bar of colours. `hovertext` is shown by itself, unless there is a `hovertemplate`.
    """
    trace: Part = {
        "type": "heatmap",
        "x": list(x),
        "y": list(y),
        "z": z,
        "xgap": gap,
        "ygap": gap,
        "uid": uid,
    }
    trace |= {"zmin": ends[0], "zmax": ends[1], "colorscale": scale}
    trace |= {"colorbar": {"title": {"text": bar}}} if bar else {}
    return trace | ({"hovertemplate": "%{hovertext}<extra></extra>"} if "hovertext" in more else {}) | more


def hover_grid(x: Sequence[float], y: Sequence[float], texts: Sequence[Sequence[str]]) -> Part:
    """Return an invisible heat map between borders x and y that shows a text under the pointer in each cell."""
    clear = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]
    z = np.zeros((len(y) - 1, len(x) - 1), dtype=np.uint8)
    return heat_map("hover", x, y, z, scale=clear, hovertext=texts, showscale=False)


def png_uri(picture: Image.Image, least: int = CRISP) -> str:
    """Return a picture as a PNG inside a data URI, enlarged by whole factors to at least `least` pixels a side."""
    across, down = (max(1, -(-least // side)) for side in picture.size)
    if max(across, down) > 1:
        picture = picture.resize((picture.width * across, picture.height * down), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=4)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def place_picture(uri: str, x: float, y: float, width: float, height: float) -> Part:
    """Return a picture below the traces whose upper left corner is at (x, y), in the units of the axes."""
    place = {"x": x, "y": y, "sizex": width, "sizey": height, "xref": "x", "yref": "y"}
    return {
        "source": uri,
        "layer": "below",
        "sizing": "stretch",
        "xanchor": "left",
        "yanchor": "top",
        **place,
    }


def plain_axis(title: str = "", *, framed: bool = False, **more: Any) -> Part:
    """Return an axis without a grid, its names close to it; `framed` draws a line on both sides."""
    frame = {"showline": True, "mirror": True} if framed else {}
    return {"ticks": "", "ticklabelstandoff": 4, "title": {"text": title}} | frame | more


def value_axis(title: str = "", **more: Any) -> Part:
    """Return an axis of numbers, with a grid."""
    return {"showgrid": True, "nticks": 5, "title": {"text": title}} | more


def name_ticks(places: Iterable[float], names: Sequence[str]) -> Part:
    """Return the ticks of an axis that has a name (escaped) at each place."""
    return {"tickmode": "array", "tickvals": list(places), "ticktext": list(names)}


def panel_axes(
    number: str, x_domain: tuple[float, float], y_domain: tuple[float, float]
) -> tuple[Part, Part]:
    """Return the x and the y axis of one panel of several.

    `number`: suffix of their names: "", "2", "3", ….
    `x_domain`, `y_domain`: shares of the width and height.
    """
    ticks = {"ticks": "outside", "tickcolor": LINE, "ticklen": 4, "showline": True, "nticks": 6}
    across = {"domain": list(x_domain), "anchor": f"y{number}", **ticks}
    return across, value_axis(domain=list(y_domain), anchor=f"x{number}", nticks=6)


def paper_note(text: str, x: float, y: float, **more: Any) -> Part:
    """Return text at a share of the width and height, its upper left corner there, as an annotation."""
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    return {"text": text, **place, **more}


def panel_title(title: str, note: str, x: float, y: float) -> Part:
    """Return the title above a panel, with a note in smaller letters, as an annotation."""
    small = f'<span style="font-size:11px;font-weight:normal;color:{MUTED}">  {note}</span>' if note else ""
    font = {"size": 13, "color": TEXT}
    return paper_note(f"<b>{title}</b>{small}", x, y, yanchor="bottom", yshift=4, font=font)


def heading(title: str, note: str = "") -> Part:
    """Return the title of a figure; the note, which is HTML, is lighter."""
    light = f'<span style="font-size:12px;font-weight:normal;color:{MUTED}"> · {note}</span>' if note else ""
    return {"text": f"<b>{title}</b>{light}"}


def level_line(number: str, level: float, text: str = "", *, position: str = "start") -> Part:
    """Return a dashed line at one value across a panel, as a shape, with a text above it."""
    line: Part = {"type": "line", "xref": f"x{number} domain", "x0": 0, "x1": 1, "yref": f"y{number}"}
    line |= {"y0": level, "y1": level, "line": {"color": MUTED, "dash": "dash", "width": 1.2}}
    if text:
        font = {"size": 11, "color": MUTED}
        # The numbers of the axis end where the line starts.
        shown = f"\N{EN SPACE}{text}" if position == "start" else text
        line["label"] = {"text": shown, "textposition": position, "yanchor": "bottom", "font": font}
    return line


def nothing_figure(text: str, *, height: int = 160, title: str = "") -> Figure:
    """Return a figure that says why it is empty; its one trace is empty, as Plotly refuses none."""
    note = paper_note(text, 0.5, 0.5, xanchor="center", yanchor="middle", font={"size": 13, "color": MUTED})
    hidden = {"visible": False, "range": [0, 1]}
    margin = {"l": 12, "r": 12, "t": 36 if title else 12, "b": 12}
    more: Part = {"title": heading(title)} if title else {}
    empty = scatter("nothing", [], [])
    return make_figure([empty], height, margin=margin, xaxis=hidden, yaxis=hidden, annotations=[note], **more)


def whole_ticks(high: float) -> Part:
    """Return the ticks of a count up to `high`: of a small count, Plotly's own also lie between whole numbers."""
    return {"tick0": 0, "dtick": 1} if high <= 5 else {}


def later_ends(curves: Iterable[NDArray[np.float64]]) -> list[float]:
    """Return the lowest and the highest value of each curve without its first sweeps, which may lie far below.

    A tenth of the sweeps is left out, five at least and half at most; all if only they have values.
    """
    ends: list[float] = []
    for values in curves:
        n = len(values)
        later = values[min(max(5, math.ceil(0.1 * n)), n // 2) :]
        shown = next((part[np.isfinite(part)] for part in (later, values) if np.isfinite(part).any()), None)
        ends += [] if shown is None else [float(shown.min()), float(shown.max())]
    return ends


def view_range(low: float, high: float) -> tuple[float, float]:
    """Return the range that shows values from `low` to `high`, with some room.

    It is wide enough for ticks of four significant digits, or whole numbers, to differ: changes far behind the decimal
    point would blow up to the height of the panel.
    """
    size, width = max(abs(low), abs(high)), high - low
    if width <= 1e-9 * size:
        room = 0.05 * size or 1.0
    else:
        least = 6 * min(10.0 ** (math.floor(math.log10(size)) - 3), 1.0)
        room = max(0.06 * width, (least - width) / 2)
    return low - room, high + room


def tick_format(low: float, high: float) -> str:
    """Return a format that distinguishes the ticks of a range: as many decimals as their step needs."""
    step = (high - low) / 5
    decimals = max(0, math.ceil(-math.log10(step))) if step > 0 else 0
    return f",.{min(decimals, 8)}f"


def decimate(values: ArrayLike, limit: int) -> NDArray[np.int64]:
    """Return the indices of at most `limit` points that keep the look of a curve.

    They are the first and the last point, and the lowest and the highest of each of limit / 2 - 1 equal stretches.
    """
    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    if n <= limit:
        return np.arange(n)
    edges = np.linspace(1, n - 1, max(limit // 2 - 1, 1) + 1).astype(np.int64)
    indices = [0, n - 1]
    for start, stop in pairwise(edges):
        piece = y[start:stop]
        indices += [start + int(piece.argmin()), start + int(piece.argmax())]
    return np.unique(np.array(indices, dtype=np.int64))


def topic_name(topic: int, labels: Labels = None, *, long: bool = False, limit: int = MOST_CHARACTERS) -> str:
    """Return the number and name of a topic (from 1) in at most `limit` characters, escaped for Plotly."""
    return escape(plain_name(topic, labels, long=long), limit)


def plain_name(topic: int, labels: Labels = None, *, long: bool = False) -> str:
    """Return the number and name of a topic (from 1), not escaped: "3 · sport"; without a name "3" or "topic 3"."""
    name = user_name(topic, labels)
    if name:
        return f"{topic} · {name}"
    return f"topic {topic}" if long else str(topic)


def user_name(topic: int, labels: Labels) -> str:
    """Return the name that the user gave to a topic (from 1); empty without one."""
    if labels is None or topic > len(labels):
        return ""
    name = " ".join(str(labels[topic - 1] or "").split())
    return "" if name.lower() in (str(topic), f"topic {topic}") else name


def text_room(texts: Iterable[str], size: float, *, limit: int = MOST_CHARACTERS) -> int:
    """Return the width in pixels of the widest of some texts, cut to `limit` characters, in a font of `size` pixels."""
    return int(max((_width(" ".join(str(t).split())[:limit]) for t in texts), default=0.0) * size) + 1


def _width(text: str) -> float:
    """Return the width of a text in units of the font's size."""
    total = 0.0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            total += 1.0
        else:
            total += 0.86 if letter in "mwMW@%" else 0.66 if letter.isupper() else 0.56
    return total


def separate_discs(
    place: NDArray[np.float64], radius: NDArray[np.float64], gap: float = 0.0, *, rounds: int = 300
) -> NDArray[np.float64]:
    """Move discs until none overlaps, as little as that takes; after `rounds` the rest of an overlap stays.

    Centres have the shape (n, 2); `radius` and `gap`, the least room between two, are in the unit of the places.
    """
    n = len(place)
    # Discs in one place have no direction to move in: a little turn for each gives them one.
    turn = 2.399963 * np.arange(n)
    centre = place + 1e-6 * np.column_stack([np.cos(turn), np.sin(turn)])
    wished = radius[:, None] + radius[None, :] + gap
    for _ in range(rounds):
        delta = centre[:, None, :] - centre[None, :, :]
        distance = np.sqrt((delta**2).sum(axis=2))
        np.fill_diagonal(distance, np.inf)
        lacking = np.maximum(wished - distance, 0.0)
        if not (lacking > 1e-6).any():
            break
        centre = centre + 0.5 * ((lacking / distance)[:, :, None] * delta).sum(axis=1)
    return np.asarray(centre)


_GAP, _TITLED_GAP = 62, 86  # pixels between two panels, for numbers and a title; and the name of an axis
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 14, 40, 48
_LEGEND_WIDTH, _LEGEND_ROW, _LETTER, _SAMPLE = 280, 21, 6.6, 52  # pixels


def stack_panels(figure: Figure) -> Part:
    """Return the layout that has the panels of a figure one below another, in reading order, as a phone shows them."""
    layout: Part = figure.layout.to_plotly_json()
    numbers = [key.removeprefix("xaxis") for key in layout if key.startswith("xaxis")]
    corners = {n: (layout[f"xaxis{n}"]["domain"][0], layout[f"yaxis{n}"]["domain"]) for n in numbers}
    numbers.sort(key=lambda n: (-corners[n][1][1], corners[n][0]))
    before = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    heights = [(corners[n][1][1] - corners[n][1][0]) * before for n in numbers]
    titles = [layout[f"xaxis{n}"].get("title", {}).get("text") for n in numbers]
    titled = all(titles)
    gap = _TITLED_GAP if titled else _GAP
    plot = sum(heights) + gap * (len(numbers) - 1)
    notes, top = layout.setdefault("annotations", []), plot
    for number, height in zip(numbers, heights, strict=True):
        x, y = layout[f"xaxis{number}"], layout[f"yaxis{number}"]
        left, (_, above) = corners[number]
        for note in notes:  # the panel's title
            at = (note.get("xref"), note.get("yref"), note["x"], note["y"])
            if at[:2] == ("paper", "paper") and math.isclose(at[2], left) and math.isclose(at[3], above):
                note |= {"x": -1, "y": top / plot}  # not yet 0, where another panel's title may be
        x |= {"domain": [0, 1], "nticks": 5}
        y |= {"domain": [max((top - height) / plot, 0.0), top / plot], "side": "left", "showticklabels": True}
        if not titled:
            text = next((t for t in reversed(titles) if t), "") if number == numbers[-1] else ""
            x["title"] = {"text": text}
        top -= height + gap
    for note in notes:
        note["x"] = max(note["x"], 0)
    top_margin = _TOP + _legend_height(figure)
    margin = {"l": _LEFT, "r": _RIGHT, "t": top_margin, "b": _BOTTOM}
    layout |= {"height": math.ceil(top_margin + plot + _BOTTOM), "margin": margin}
    if "legend" in layout:
        layout["legend"] |= {"y": 1 + 28 / plot, "yref": "paper", "yanchor": "bottom"}
    return layout


def _legend_height(figure: Figure) -> int:
    """Return the pixels that the legend takes on a phone."""
    names = [trace.name for trace in figure.data if trace.showlegend and trace.name]
    if not names or not figure.layout.showlegend:
        return 0
    per_row = max(1, int(_LEGEND_WIDTH / (_SAMPLE + _LETTER * max(map(len, names)))))
    return _LEGEND_ROW * -(-len(names) // per_row)
