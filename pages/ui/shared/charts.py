"""Figures on a page: ones to look at, and ones with parts to click."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from acvb_core.views.theme import CHART_CONFIG, STILL_CONFIG, Figure


def show_figure(figure: Figure, key: str, alt: str | None = None) -> None:
    """Draw a figure without buttons; `alt` describes it to those who do not see it."""
    st.plotly_chart(figure, key=key, theme=None, config=dict(STILL_CONFIG), alt=alt)


def show_clickable_figure(
    figure: Figure,
    key: str,
    alt: str,
    choose: Callable[[int], None],
    most: int,
    *,
    hidden: tuple[str, ...] | None = None,
) -> None:
    """Draw a figure whose points carry numbers from 1, to be clicked.

    Parameters
    ----------
    figure : Figure
    key : str
        A figure of something else needs another key: a click on the old one does not count for the new one.
    alt : str
        Description for those who do not see it.
    choose : callable
        Called with the number that is clicked.
    most : int
        Largest number.
    hidden : tuple of str, optional
        Buttons that are not shown; by default none is shown.
    """

    def clicked() -> None:
        points = st.session_state[key].selection.points
        number = clicked_number(points[0]) if points else None
        if number is not None and number <= most:
            choose(number)

    config: dict[str, Any] = dict(STILL_CONFIG)
    if hidden is not None:
        config = {**CHART_CONFIG, "modeBarButtonsToRemove": list(hidden), "scrollZoom": False}
    st.plotly_chart(
        figure, key=key, theme=None, config=config, on_select=clicked, selection_mode="points", alt=alt
    )


def clicked_number(point: Any) -> int | None:
    """Return the number that the clicked point of a figure carries, None if it carries none."""
    data = point.get("customdata")
    number = data[0] if isinstance(data, list | tuple) and data else data
    return int(number) if isinstance(number, int | float) and number >= 1 else None
