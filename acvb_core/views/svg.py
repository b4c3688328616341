"""Curves of a held-out score against processor time, as an SVG picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from xml.sax.saxutils import escape

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 40, 50

#: Processor seconds and score of each answer, in order.
Curve = Sequence[tuple[float, float]]


def draw_curves(title: str, score: str, curves: Mapping[str, Curve], *, across: str = "CPU seconds") -> str:
    """Return an SVG picture with one curve a method, both axes logarithmic; `across` names the other axis."""
    points = [point for curve in curves.values() for point in curve]
    seconds, scores = zip(*points, strict=True)
    x = _scale(min(seconds), max(seconds), LEFT, WIDTH - RIGHT)
    y = _scale(min(scores), max(scores), HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 20, title),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, across, "middle"),
        _text(LEFT, TOP - 6, score),
    ]
    for tick in _ticks(min(seconds), max(seconds)):
        parts.append(_line([(x(tick), TOP), (x(tick), HEIGHT - BOTTOM)], "#ddd", 1))
        parts.append(_text(x(tick), HEIGHT - BOTTOM + 16, f"{tick:g}", "middle"))
    for tick in _ticks(min(scores), max(scores)):
        parts.append(_line([(LEFT, y(tick)), (WIDTH - RIGHT, y(tick))], "#ddd", 1))
        parts.append(_text(LEFT - 6, y(tick) + 4, f"{tick:g}", "end"))
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(_line([(x(one), y(other)) for one, other in curve], colour, 2))
        height = TOP + 18 * number
        parts.append(_line([(WIDTH - RIGHT + 12, height), (WIDTH - RIGHT + 32, height)], colour, 3))
        parts.append(_text(WIDTH - RIGHT + 38, height + 4, name))
    return "\n".join([*parts, "</svg>", ""])


def _scale(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """Return where a value stands between `begin` and `end`, by its logarithm."""
    span = math.log(high / low) or 1.0
    return lambda value: begin + (end - begin) * math.log(value / low) / span


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two values: 1, 2 and 5 times powers of ten, and finer ones where these are few."""
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
    return inside


def _line(points: Curve, colour: str, width: int) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
