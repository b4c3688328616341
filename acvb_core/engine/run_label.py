"""The name of a run, and what people wrote about it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import count

#: Most characters of a run's name.
MOST_CHARACTERS = 60


@dataclass(frozen=True)
class RunLabel:
    """The name of a run, and what people wrote about it."""

    name: str  #: nothing but what `clean_name` lets through, so that it can be shown as Markdown or HTML
    note: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False  #: the run is listed before others


def clean_name(text: str) -> str:
    """Return a name without the characters that Markdown and HTML treat as markup, and not too long."""
    # Markdown takes _ for markup only where a word begins or ends.
    plain = re.sub(r"[^\w .,+()·×-]|(?<!\w)_+|_+(?!\w)", " ", text)
    return " ".join(plain.split())[:MOST_CHARACTERS].strip()


def number_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the same, or with the first free number behind it."""
    numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(each for each in numbered if each not in taken)
