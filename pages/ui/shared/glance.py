"""What the Data page shows of any data set: some figures, and tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Glance(NamedTuple):
    """A data set at a glance.

    Attributes
    ----------
    figures : tuple of (str, str)
        Name and value.
    tabs : dict of callables
        Each draws the tab of its name.
    said : str
        What else is to be said of them, in the program's own words.
    """

    figures: tuple[tuple[str, str], ...]
    tabs: dict[str, Callable[[], None]]
    said: str = ""
