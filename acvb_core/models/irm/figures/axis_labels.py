"""Labels beside the block matrix: names where there is room for them, numbers of clusters otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from acvb_core.models.irm.figures.arrangement import Side
from acvb_core.views.theme import escape

#: Objects a side up to which their names are shown.
NAMED = 60
_NAME_LENGTH = 24
_PIXELS_A_NAME = 13


@dataclass(frozen=True)
class AxisLabels:
    """Ticks of one side, with texts and title escaped.

    `named`: the texts are names of objects. `room` is what the margin needs and `length` what the figure should have
    along this side (0 for no wish), in pixels.
    """

    places: list[float]
    texts: list[str]
    title: str
    named: bool
    room: int
    length: int
    font_size: int


def axis_labels(side: Side, low: int, high: int, crowd: float, named: int = NAMED) -> AxisLabels:
    """Return the ticks for the places low … high - 1 of a side.

    A cluster's number takes `crowd` of the axis; of two that are nearer, the larger cluster's is shown. At most `named`
    places have names.
    """
    kind = escape(side.kind, 40)
    end = f" ({side.end})" if side.end else ""
    if high - low <= named:
        names = [escape(side.labels[i], _NAME_LENGTH) for i in side.order[low:high]]
        longest = max(min(len(str(side.labels[i])), _NAME_LENGTH) for i in side.order[low:high])
        places, size = [place + 0.5 for place in range(low, high)], _name_size(high - low)
        room, length = int(0.58 * size * longest) + 44, _PIXELS_A_NAME * (high - low) + 160
        return AxisLabels(places, names, kind + end, True, room, length, size)
    if not side.clustered:
        title = f"{kind}{end}, order of the file" if end else f"{kind} (order of the file)"
        return AxisLabels([], [], title, named=False, room=44, length=0, font_size=11)
    places, texts = cluster_ticks(side, low, high, crowd)
    return AxisLabels(places, texts, f"{kind} clusters{end}", False, 56, 0, 12)


def _name_size(n: int) -> int:
    return 11 if n <= 30 else 10 if n <= 40 else 9 if n <= 50 else 8


def cluster_ticks(side: Side, low: int, high: int, crowd: float) -> tuple[list[float], list[str]]:
    """Return the middles and numbers of the clusters in a window, without those too near to a larger one's."""
    stretches = []
    for k in side.between(low, high):
        start, stop = max(int(side.borders[k]), low), min(int(side.borders[k + 1]), high)
        stretches.append((stop - start, (start + stop) / 2, k + 1))
    numbers: dict[float, str] = {}
    for _, middle, number in sorted(stretches, key=lambda item: (-item[0], item[2])):
        if all(abs(other - middle) >= crowd * (high - low) for other in numbers):
            numbers[middle] = str(number)
    places = sorted(numbers)
    return places, [numbers[place] for place in places]
