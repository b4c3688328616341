"""A figure in the colours of a dark page. Figures are made for a light page, and recoloured when they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from acvb_core.views.labels import contrast
from acvb_core.views.theme import GRID, LINE, MUTED, PAPER, TEXT, Figure

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


def darken_figure(figure: Figure) -> Figure:
    """Return a figure as it is drawn on a dark page; the one given is unchanged."""
    shown: Figure = _recolour(figure)
    # A picture that is saved from the page needs the background that its text was made for.
    for part in ("layout", "narrow"):
        if part in shown:
            shown[part]["paper_bgcolor"] = DARK_PAPER
    return shown


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
