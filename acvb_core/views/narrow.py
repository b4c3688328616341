"""The panels of a figure one below another, as a phone shows them."""

from __future__ import annotations

import math
from typing import Any

from acvb_core.views.theme import Figure

_GAP = 62  # pixels between two panels, for numbers and a title
_TITLED_GAP = 86  # … and the name of an axis
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 14, 40, 48
_LEGEND_WIDTH, _LEGEND_ROW, _LETTER, _SAMPLE = 280, 21, 6.6, 52  # pixels


def stack_panels(figure: Figure) -> Figure:
    """Return the layout that has the panels of a figure one below another, in reading order."""
    layout: Figure = {**figure["layout"]}
    numbers = [key.removeprefix("xaxis") for key in layout if key.startswith("xaxis")]
    numbers.sort(key=lambda number: _corner(layout, number))
    margin = layout["margin"]
    before = layout["height"] - margin["t"] - margin["b"]
    heights = [_length(layout[f"yaxis{number}"]["domain"]) * before for number in numbers]
    titled = all("title" in layout[f"xaxis{number}"] for number in numbers)
    gap = _TITLED_GAP if titled else _GAP
    plot = sum(heights) + gap * (len(numbers) - 1)
    title = next(
        (layout[f"xaxis{n}"]["title"] for n in reversed(numbers) if "title" in layout[f"xaxis{n}"]), None
    )
    notes, top = list(layout.get("annotations", ())), plot
    for number, height in zip(numbers, heights, strict=True):
        x, y = dict(layout[f"xaxis{number}"]), dict(layout[f"yaxis{number}"])
        at = (x["domain"][0], y["domain"][1])
        place = {"x": 0, "y": top / plot}
        notes = [note | place if _stands_at(note, at) else note for note in notes]
        x |= {"domain": [0, 1], "nticks": 5}
        y |= {"domain": [max((top - height) / plot, 0.0), top / plot], "side": "left", "showticklabels": True}
        if not titled:
            x.pop("title", None)
            x |= {"title": title} if title and number == numbers[-1] else {}
        layout[f"xaxis{number}"], layout[f"yaxis{number}"] = x, y
        top -= height + gap
    above = _TOP + _legend_height(figure)
    layout |= {
        "annotations": notes,
        "height": math.ceil(above + plot + _BOTTOM),
        "margin": {"l": _LEFT, "r": _RIGHT, "t": above, "b": _BOTTOM},
    }
    if "legend" in layout:
        layout["legend"] = {**layout["legend"], "y": 1 + 28 / plot, "yref": "paper", "yanchor": "bottom"}
    return layout


def _corner(layout: Figure, number: str) -> tuple[float, float]:
    """Return where a panel begins, in the order in which panels are read."""
    return -layout[f"yaxis{number}"]["domain"][1], layout[f"xaxis{number}"]["domain"][0]


def _length(domain: list[float]) -> float:
    return domain[1] - domain[0]


def _stands_at(note: Figure, at: tuple[float, float]) -> bool:
    """Return whether a note is the title of the panel whose upper left corner is there."""
    if (note.get("xref"), note.get("yref")) != ("paper", "paper"):
        return False
    return all(math.isclose(note[axis], value, abs_tol=1e-9) for axis, value in zip("xy", at, strict=True))


def _legend_height(figure: Figure) -> int:
    """Return the pixels that the legend takes on a phone."""
    if figure["layout"].get("showlegend") is False:
        return 0
    names: list[Any] = [
        trace["name"] for trace in figure["data"] if trace.get("showlegend") and "name" in trace
    ]
    if not names:
        return 0
    per_row = max(1, int(_LEGEND_WIDTH / (_SAMPLE + _LETTER * max(len(name) for name in names))))
    return _LEGEND_ROW * -(-len(names) // per_row)
