"""Text in figures: a topic's number and name, the room that a text needs, the colour of text on a colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from acvb_core.views.theme import escape

#: The user's name of each topic, topic 1 first; None or blank for a topic without a name.
Labels = Sequence[str | None] | None

#: Characters of a name or a word beside an axis; the whole of it is under the pointer.
MOST_CHARACTERS = 24
_SHARE_OF_SIZE = 0.56  # mean width of a letter as a share of the font's size


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


def text_room(texts: Sequence[str], size: int, *, limit: int = MOST_CHARACTERS) -> int:
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
            total += 0.86 if letter in "mwMW@%" else 0.66 if letter.isupper() else _SHARE_OF_SIZE
    return total


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
