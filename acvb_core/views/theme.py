"""The look of all figures: colours, one Plotly template for light and dark pages, escaped text, a page as HTML."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from plotly.graph_objects import Figure as Figure
from plotly.offline import get_plotlyjs

from acvb_core.core.display import ArrangedNames
from acvb_core.registry import MODELS

#: A trace, an axis or another part of a figure, as Plotly's JSON has it.
Part = dict[str, Any]

FONT = "'Source Sans', 'Source Sans Pro', 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
TEXT = "#1F2933"
MUTED = "#52606D"
LINE = "#9AA5B1"
GRID = "#E9EDF1"
PAPER = "white"  # the page beneath a figure; what is white on any page is "#FFFFFF"
BORDER = "#D55E00"  # rings around the best: vermilion differs from the blue ink and from grey
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


def cluster_colour(cluster: int, names: Sequence[str | None] | None = None) -> str:
    """Return the colour of cluster number `cluster` (from 1), the same in every figure.

    `names`: of the clusters; if a reader has arranged them (`ArrangedNames`), they keep their colours (`part_colours`).
    """
    if isinstance(names, ArrangedNames):
        return part_colours(names.parts)[cluster - 1]
    return _CLUSTERS[(cluster - 1) % len(_CLUSTERS)]


@lru_cache(maxsize=64)
def part_colours(parts: tuple[tuple[int, ...], ...]) -> tuple[str, ...]:
    """Return the colour of each part that is made of a run's own parts (from 1): that of the first of these.

    If another part has it, the colour is that of the next own part that is free, or any that is free: the last one, as
    merges free those before it less often. More parts than there are colours share them.
    """
    n, chosen = len(_CLUSTERS), dict[int, int]()
    for at in sorted(range(len(parts)), key=lambda at: parts[at][0]):
        wanted = [(own - 1) % n for own in (*parts[at], *range(n, 0, -1))]
        # If some must share a colour, none gives way: the next step of a tree would change it back.
        free = wanted if len(parts) > n else [colour for colour in wanted if colour not in chosen.values()]
        chosen[at] = free[0]
    return tuple(_CLUSTERS[chosen[at]] for at in range(len(parts)))


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


#: Background of the dark page (`.streamlit/config.toml`).
DARK_PAPER = "#14181D"
_NEUTRALS = {TEXT: "#E6EAEE", MUTED: "#AEB8C2", LINE: "#6B7785", GRID: "#2B333C", PAPER: DARK_PAPER}
#: Text on a coloured surface: black or white, whichever is easier to read there, on every page.
_INKS = ("#000000", "#FFFFFF")
#: The least contrast of a line or a mark with the page (WCAG 2.2, 1.4.11).
_LEAST = 3.0
#: Tones are inverted by this share, so that white becomes the dark page and not black (`style.py` does it to pictures).
INVERSION = 0.92
_RGB = re.compile(r"rgba?\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*([\d.]+)\s*)?\)")
# Names of the user's have no tags: theirs are escaped.
_SPAN = re.compile(r'(<span style="[^"<>]*color:)([^;"<>]+)')
# Rotates the hue by 180 degrees, as the CSS filter does: blue stays blue after the inversion.
_ROTATION = ((-0.574, 1.430, 0.144), (0.426, 0.430, 0.144), (0.426, 1.430, -0.856))

_TITLE = {"font": {"size": 12, "color": MUTED}, "standoff": 4}
_AXIS = {"showgrid": False, "zeroline": False, "zerolinecolor": LINE, "linecolor": LINE, "title": _TITLE}
_AXIS |= {"tickfont": {"size": 11}, "tickangle": 0}
_COLOUR_BAR = {"thickness": 12, "tickfont": {"size": 11}, "outlinewidth": 1, "outlinecolor": LINE}
_COLOUR_BAR |= {"title": {"side": "right", "font": {"size": 12}}}
#: What figures share. It has no `transition`: with one, Plotly stops fitting the axes to data that grow.
TEMPLATE: Part = {
    "layout": {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": TEXT, "size": 13},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": PAPER,
            "bordercolor": LINE,
            "align": "left",
            "font": {"size": 12, "color": TEXT, "family": FONT},
        },
        "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": LINE, "activecolor": MUTED},
        "title": {
            "x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top",
            "pad": {"t": 8}, "font": {"size": 13},
        },
        "legend": {
            "orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom",
            "font": {"size": 12},
        },
        "annotationdefaults": {"showarrow": False, "font": {"size": 11, "color": MUTED}},
        "bargap": 0.25,
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    },
    "data": {
        "heatmap": [{"colorbar": _COLOUR_BAR}],
        "scatter": [{"marker": {"colorbar": _COLOUR_BAR}}],
        "bar": [
            {
                "marker": {"line": {"width": 0}}, "textfont": {"size": 11, "color": MUTED}, "textangle": 0,
                "textposition": "outside", "cliponaxis": False,
            }
        ],
    },
}  # fmt: skip


def make_figure(data: list[Part], height: int, **layout: Any) -> Figure:
    """Return a figure of some traces, with what its layout has beyond the template."""
    # Plotly's validation takes 25 ms for the curves of ten runs; tests/views validate every kind of figure.
    return Figure(data, {"template": TEMPLATE, "height": height, **layout}, _validate=False)


class ReportFigure(NamedTuple):
    """A figure of a report."""

    title: str
    caption: str  #: one sentence
    draw: Callable[[], Figure]
    half: bool = False  #: takes half of the width


def plotly_source() -> str:
    """Return the JavaScript that draws figures, for a page that loads nothing else."""
    source: str = get_plotlyjs()
    return source


def to_html(figure: Figure, title: str) -> str:
    """Return an HTML page that shows the figure without any other file or machine."""
    body = figure.to_html(include_plotlyjs=True, full_html=False, validate=False, config=dict(CHART_CONFIG))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title></head>\n"
        f'<body style="margin:1rem;font-family:{html.escape(FONT)};color:{TEXT};background:{PAPER}">\n'
        f'<h1 style="font-size:1.3rem;margin:0 0 0.5rem">{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n'
    )


def percent(share: float) -> str:
    """Return a share with three significant digits, two below one per cent."""
    value = 100 * share
    return f"{value:.3g} %" if value >= 1 else f"{value:.2g} %"


def darken_figure(figure: Figure) -> Figure:
    """Return a figure as it is drawn on a dark page; the one given is unchanged."""
    parts = darken_parts(figure.to_dict())
    return Figure(parts["data"], parts["layout"], _validate=False)


def darken_parts(parts: Part) -> Part:
    """Return data and layouts in the colours of a dark page; those given are unchanged."""
    shown: Part = _recolour(parts)
    # A picture that is saved from the page needs the background that its text was made for.
    return {k: v if k == "data" else v | {"paper_bgcolor": DARK_PAPER} for k, v in shown.items()}


def dark_colour(colour: str) -> str:
    """Return a line's, mark's or text's colour on a dark page: the same one, unless it could hardly be seen there.

    Colours written "rgb(...)" are tones between the page and an ink, and are inverted.
    """
    if colour in _INKS:
        return colour
    if colour in _NEUTRALS:
        return _NEUTRALS[colour]
    if colour.startswith("#"):
        return _lighten(colour)
    parts = _RGB.fullmatch(colour)
    if parts is None:
        return colour
    red, green, blue, opacity = parts.groups()
    if opacity is None:
        return invert_tone(colour)
    if float(opacity) == 0.0:
        return colour
    solid = f"#{int(red):02X}{int(green):02X}{int(blue):02X}"
    new = DARK_PAPER if solid == "#FFFFFF" else dark_colour(solid)
    return f"rgba({','.join(str(part) for part in _parts(new))},{opacity})"


def css_colour(colour: str) -> str:
    """Return a colour as CSS that follows the page: the browser knows which of the two it shows."""
    dark = dark_colour(colour)
    return colour if dark == colour else f"light-dark({colour}, {dark})"


def invert_tone(colour: str) -> str:
    """Return a tone with light and dark exchanged and its hue kept: white becomes the dark page."""
    parts = _RGB.fullmatch(colour)
    if parts is not None and parts.group(4) is not None:
        return colour
    solid = "#FFFFFF" if colour in (PAPER, "#FFFFFF") else colour
    before = _parts(solid) if parts is None else [int(part) for part in parts.groups()[:3]]
    inverted = [255 * INVERSION - (2 * INVERSION - 1) * part for part in before]
    turned = (sum(w * part for w, part in zip(row, inverted, strict=True)) for row in _ROTATION)
    return "rgb({}, {}, {})".format(*(min(max(round(part), 0), 255) for part in turned))


def _parts(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _lighten(colour: str) -> str:
    """Return the colour mixed with as much white as it takes to be seen."""
    parts = _parts(colour)
    for tenths in range(10):
        mixed = "#" + "".join(f"{round(part + (255 - part) * tenths / 10):02X}" for part in parts)
        if contrast(mixed, DARK_PAPER) >= _LEAST:
            return mixed if tenths else colour
    return "#FFFFFF"


def _recolour(value: Any, change: Callable[[str], str] | None = None) -> Any:
    """Return a part of a figure; `change` is what becomes of a text in it, None where texts are no colours."""
    if isinstance(value, Mapping):
        return {key: _recolour(item, _change_of(key)) for key, item in value.items()}
    if change is None:
        # Data, which may be long, and lists of traces, shapes and annotations.
        return [_recolour(item) for item in value] if _holds_parts(value) else value
    if isinstance(value, str):
        return change(value)
    return [_recolour(item, change) for item in value] if isinstance(value, list | tuple) else value


def _holds_parts(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], Mapping)


def _change_of(key: str) -> Callable[[str], str] | None:
    if key == "colorscale":
        return invert_tone
    if key == "text":
        return _recolour_spans
    return dark_colour if key.endswith("color") else None


def _recolour_spans(text: str) -> str:
    """Return a text whose coloured words have the colours of the dark page."""
    return _SPAN.sub(lambda span: span[1] + dark_colour(span[2]), text)


def ink_on(colour: str) -> str:
    """Return white or black, whichever is easier to read on a colour "#rrggbb"."""
    return "#FFFFFF" if contrast(colour, "#FFFFFF") > contrast(colour, "#000000") else "#000000"


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours "#rrggbb", from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
