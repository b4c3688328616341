"""Small SVG pictures of curves for the documentation, drawn without a browser."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Size of a panel, with room for its axes; height of a line of the legend.
_PANEL, _LEGEND = (380, 270), 22
_MARGINS = (62, 14, 34, 42)  # left, right, top, bottom

#: Where and how much, in order: processor seconds and a score, say.
Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Series:
    """A curve with its name, or dots."""

    name: str
    points: Curve
    band: Sequence[tuple[float, float, float]] = ()  #: where, lower end, upper end
    dots: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    up: str
    series: Sequence[Series]
    log_across: bool = False
    log_up: bool = False


def draw_panels(panels: Sequence[Panel], columns: int = 2) -> str:
    """Return an SVG picture with panels side by side, and one legend: a name has the same colour in all of them."""
    names = list(dict.fromkeys(one.name for panel in panels for one in panel.series))
    columns = min(columns, len(panels))
    width, rows = columns * _PANEL[0], math.ceil(len(panels) / columns)
    per_line = max(width // 150, 1)
    height = rows * _PANEL[1] + _LEGEND * math.ceil(len(names) / per_line) + 8
    parts = [_begin(width, height)]
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        parts.append(f'<g transform="translate({column * _PANEL[0]},{row * _PANEL[1]})">')
        parts += [*_draw_panel(panel, names), "</g>"]
    for number, name in enumerate(names):
        line, place = divmod(number, per_line)
        x, y = 16.0 + 150 * place, rows * _PANEL[1] + 14.0 + _LEGEND * line
        parts += [_line([(x, y), (x + 20, y)], _colour_of(name, names), 3), _text(x + 26, y + 4, name)]
    return "\n".join([*parts, "</svg>", ""])


def _draw_panel(panel: Panel, names: Sequence[str]) -> list[str]:
    left, right, top, bottom = _MARGINS
    width, height = _PANEL
    ends = [(x, y) for one in panel.series for x, low, high in one.band for y in (low, high)]
    points = [point for one in panel.series for point in one.points]
    points += [end for end in ends if end[1] > 0 or not panel.log_up]
    if not points:
        return [_text(left, 18, panel.title), _text(left, height / 2, "no runs")]
    across, up = zip(*points, strict=True)
    x = _scale(min(across), max(across), left, width - right, logarithmic=panel.log_across)
    y = _scale(min(up), max(up), height - bottom, top, logarithmic=panel.log_up)
    parts = [
        _text(left, 16, panel.title),
        _text((left + width - right) / 2, height - 8, panel.across, "middle"),
        _text(left, top - 6, panel.up),
    ]
    for tick in _ticks(min(across), max(across), logarithmic=panel.log_across, most=6):
        parts.append(_line([(x(tick), top), (x(tick), height - bottom)], "#ddd", 1))
        parts.append(_text(x(tick), height - bottom + 15, _spell(tick), "middle"))
    for tick in _ticks(min(up), max(up), logarithmic=panel.log_up, most=7):
        parts.append(_line([(left, y(tick)), (width - right, y(tick))], "#ddd", 1))
        parts.append(_text(left - 5, y(tick) + 4, _spell(tick), "end"))
    for one in panel.series:
        colour = _colour_of(one.name, names)
        if one.band:
            around = [(x(at), y(high)) for at, _, high in one.band]
            around += [(x(at), y(low)) for at, low, _ in reversed(one.band)]
            outline = " ".join(f"{a:.1f},{b:.1f}" for a, b in around)
            parts.append(f'<polygon points="{outline}" fill="{colour}" fill-opacity="0.15"/>')
        places = [(x(a), y(b)) for a, b in one.points]
        if one.dots or len(set(places)) == 1:  # a curve of one place cannot be seen
            dots = (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in places)
            parts += dict.fromkeys(dots)
        elif places:
            parts.append(_line(places, colour, 2))
    return parts


def _begin(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="{width}" height="{height}" fill="white"/>'
    )


def _colour_of(name: str, names: Sequence[str]) -> str:
    return COLOURS[names.index(name) % len(COLOURS)]


def _spell(tick: float) -> str:
    """Return a number in few letters."""
    if 1e3 <= abs(tick) < 1e6:
        return f"{tick:,.0f}"
    return f"{tick:.4g}" if abs(tick) < 1e3 else f"{tick:.4g}".replace("e+0", "e").replace("e+", "e")


def _scale(
    low: float, high: float, begin: float, end: float, *, logarithmic: bool = True
) -> Callable[[float], float]:
    """Return the place of a value between `begin` and `end`."""
    if not logarithmic:
        width = high - low or 1.0
        return lambda value: begin + (end - begin) * (value - low) / width
    span = math.log(high / low) or 1.0
    return lambda value: begin + (end - begin) * math.log(value / low) / span


def _ticks(low: float, high: float, *, logarithmic: bool = True, most: int = 0) -> list[float]:
    """Return round numbers between two values.

    On a logarithmic axis they are 1, 2 and 5 times powers of ten, and finer ones where these are few; with more than
    `most` of them, powers of ten alone.
    """
    if not logarithmic:
        return _even_ticks(low, high, most)
    for steps in (
        (1.0, 2.0, 5.0),
        tuple(one / 2 for one in range(2, 20)),
        tuple(one / 10 for one in range(10, 100)),
    ):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [step * 10.0**power for power in powers for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= 3:
            break
    if most and len(inside) > most:
        whole = [tick for tick in inside if abs(math.log10(tick) % 1.0) < 1e-9]
        return whole if len(whole) >= 2 else inside[:: math.ceil(len(inside) / most)]
    return inside


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` round numbers that are equally far apart."""
    if high <= low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _line(points: Curve, colour: str, width: int) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
