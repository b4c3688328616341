"""The summary of a data set on the Data page: some figures, and tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class DatasetSummary(NamedTuple):
    """The figures and tabs by which the Data page shows a data set.

    Attributes
    ----------
    figures : tuple of (str, str)
        Name and value.
    tabs : dict of callables
        Each draws the tab of its name.
    note : str
        A caption below the figures, in the program's own words.
    advice : str
        Shown where some methods will not fit into memory.
    """

    figures: tuple[tuple[str, str], ...]
    tabs: dict[str, Callable[[], None]]
    note: str = ""
    advice: str = ""
