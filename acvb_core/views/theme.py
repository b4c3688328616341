"""The look that all figures share: a colour and dash for each method, a colour for each cluster, a layout."""

from __future__ import annotations

import base64
import html
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.registry import MODELS

Figure = dict[str, Any]

FONT = "'Source Sans', 'Source Sans Pro', 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
TEXT = "#1F2933"
MUTED = "#52606D"
LINE = "#9AA5B1"
GRID = "#E9EDF1"
PAPER = "white"  # the page beneath a figure; what is white on any page is "#FFFFFF"
BORDER = "#D55E00"  # cluster borders: vermilion stands out from the blue ink and from grey
INK = (0, 68, 119)
UNKNOWN = (203, 210, 217)  # missing entries

# Okabe and Ito's colours, which colour-blind readers distinguish as well; the dashes serve print and overlaps.
_METHOD_STYLES: Mapping[str, tuple[str, str]] = {
    "acvb0": ("#0072B2", "solid"),
    "acvb": ("#D55E00", "longdash"),
    "cvb0": ("#009E73", "dot"),
    "cvb": ("#CC79A7", "dashdot"),
    "vb": ("#E69F00", "dash"),
    "gibbs": ("#56B4E9", "longdashdot"),
}
#: Colour and dash of each method: of those that several models have, and of each model's own.
METHOD_STYLES: Mapping[str, tuple[str, str]] = {
    **_METHOD_STYLES,
    **{name: style for row in MODELS for name, style in row.display.styles.items()},
}
_OTHER_METHOD = (TEXT, "solid")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")

# Strong and light by turns, so that neighbours differ in lightness as well.
_CLUSTERS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F6BB2", "#B8A62E",
    "#44546A", "#8FBC5A", "#A14D3A", "#6FC7BD", "#8C6D46", "#D98CB3", "#2F7D5B", "#B0B7C3",
)  # fmt: skip
OTHERS_COLOUR = "#C3CBD3"

#: How Plotly shows every figure. Its own default offers to send the figure to another machine.
#: A figure is taken as SVG, which a text or a slide can scale.
CHART_CONFIG: Mapping[str, Any] = {
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "toImageButtonOptions": {"format": "svg"},
}
#: The same for a figure that does not zoom: its one button takes it.
STILL_CONFIG: Mapping[str, Any] = {**CHART_CONFIG, "modeBarButtons": [["toImage"]]}


@dataclass(frozen=True)
class Style:
    """The look of one run's curves."""

    #: `colour`, `dash`: the method's.
    colour: str
    dash: str
    #: Marker that distinguishes runs of the same method; None for the first of them.
    symbol: str | None = None


def method_style(method: str) -> Style:
    """Return the colour and dash of a method, the same in every figure."""
    colour, dash = METHOD_STYLES.get(method, _OTHER_METHOD)
    return Style(colour, dash)


def run_styles(methods: Iterable[str]) -> list[Style]:
    """Return one style a run: the method's, with a marker from its second run on."""
    seen: Counter[str] = Counter()
    styles = []
    for method in methods:
        base = method_style(method)
        n = seen[method]
        seen[method] += 1
        symbol = None if n == 0 else _SYMBOLS[(n - 1) % len(_SYMBOLS)]
        styles.append(Style(base.colour, base.dash, symbol))
    return styles


def cluster_colour(cluster: int) -> str:
    """Return the colour of cluster number `cluster` (from 1), the same in every figure."""
    return _CLUSTERS[(cluster - 1) % len(_CLUSTERS)]


def rgba(colour: str, opacity: float) -> str:
    """Return "#rrggbb" as an rgba() colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


# Marks that turn the direction of what follows, which may be the text behind a name.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_RIGHT_TO_LEFT = ("R", "AL", "AN")


def isolate(text: str) -> str:
    """Return a name that leaves the direction of the text around it alone; marks that turn it are left out."""
    if text.isascii():
        return text
    plain = text.translate(_TURNS)
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in plain):
        return f"\u2068{plain}\u2069"
    return plain


def escape(text: object, limit: int | None = None) -> str:
    """Return text that Plotly shows as it is, without tags, links or template fields, in at most `limit` characters."""
    plain = " ".join(str(text).split())
    if limit is not None and len(plain) > limit:
        plain = plain[: limit - 1] + "…"
    # Plotly knows only a few named entities, so quotes stay; %{…} is its template field, $…$ its formula.
    return html.escape(isolate(plain), quote=False).replace("%", "&#37;").replace("$", "&#36;")


_CODES = {"float64": "f8", "float32": "f4", "int32": "i4", "int16": "i2", "uint8": "u1"}


def b64(array: ArrayLike) -> dict[str, str]:
    """Return an array in the compact form Plotly reads: type code and base64 of the bytes.

    Raises KeyError: Plotly has no such type, as for int64.
    """
    values = np.ascontiguousarray(array)
    code = _CODES[values.dtype.name]
    coded = {"dtype": code, "bdata": base64.b64encode(values.tobytes()).decode()}
    if values.ndim > 1:
        coded["shape"] = ", ".join(str(n) for n in values.shape)
    return coded


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


def base_layout(height: int, **more: Any) -> Figure:
    """Return the layout that all figures start from."""
    # It never has a `transition`: with one, Plotly stops fitting the axes to data that grow.
    return {
        "height": height,
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": TEXT, "size": 13},
        "hoverlabel": {
            "bgcolor": PAPER,
            "bordercolor": LINE,
            "align": "left",
            "font": {"size": 12, "color": TEXT, "family": FONT},
        },
        "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": LINE, "activecolor": MUTED},
        **more,
    }


def colour_bar(title: str = "", **more: Any) -> Figure:
    """Return the look of a colour bar; its title stands at its right."""
    heading = {"title": {"text": title, "side": "right", "font": {"size": 12}}} if title else {}
    return {
        "thickness": 12,
        "tickfont": {"size": 11},
        "outlinewidth": 1,
        "outlinecolor": LINE,
        **heading,
        **more,
    }


def to_html(figure: Figure, title: str) -> str:
    """Return an HTML page that shows the figure without any other file or machine."""
    import plotly.graph_objects as go
    import plotly.io as pio

    shown = {**figure, "layout": {**figure["layout"], "paper_bgcolor": PAPER, "plot_bgcolor": PAPER}}
    body = pio.to_html(go.Figure(shown), include_plotlyjs=True, full_html=False, config=dict(CHART_CONFIG))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title></head>\n"
        f'<body style="margin:1rem;font-family:{html.escape(FONT)};color:{TEXT}">\n'
        f'<h1 style="font-size:1.3rem;margin:0 0 0.5rem">{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n'
    )


def percent(share: float) -> str:
    """Return a share with three significant digits, two below one per cent."""
    value = 100 * share
    return f"{value:.3g} %" if value >= 1 else f"{value:.2g} %"
