"""Figures on a page, and the choice of one part of an answer: in a list, step by step, or by a click on a figure."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import streamlit as st

from acvb_core.views.parts import user_name
from acvb_core.views.theme import (
    CHART_CONFIG,
    STILL_CONFIG,
    Figure,
    Part,
    cluster_colour,
    darken_figure,
    darken_parts,
    ink_on,
)
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_one, set_choice, widget_of
from pages.ui.shared.refresh import is_narrow
from pages.ui.workspace.entrance import name_choice, take_choice

#: Pixels of a column of names on a phone.
_NARROW_NAME = 115


def show_figure(
    figure: Figure | Callable[[], Figure],
    key: str,
    alt: str | None = None,
    *,
    config: Mapping[str, Any] = STILL_CONFIG,
    **more: Any,
) -> None:
    """Draw a figure in the colours of the page; one that fails leaves the rest of the page as it is.

    `alt` describes it for those who do not see it. `config` is Plotly's, by default without buttons. `more` is for
    `st.plotly_chart`. What fails in a function that returns the figure is contained as well.
    """
    with contain_failure():
        drawn = figure() if callable(figure) else figure
        drawn = darken_figure(drawn) if st.context.theme.type == "dark" else drawn
        st.plotly_chart(drawn, key=key, theme=None, config=dict(config), alt=alt, **more)


def show_figures_in_tabs(figures: Mapping[str, tuple[str, Callable[[], Figure]]], key: str) -> None:
    """Draw the figure of the tab that is open; the others are drawn when they are opened."""
    for tab, (name, draw) in zip(
        st.tabs(list(figures), key=key, on_change="rerun"), figures.values(), strict=True
    ):
        if tab.open:
            with tab:
                show_figure(draw, name)


def suit_page(parts: Part) -> Part:
    """Return data and layouts in the colours of the page: those of a dark one if the browser shows it dark."""
    return darken_parts(parts) if st.context.theme.type == "dark" else parts


def show_clickable_figure(
    figure: Figure | Callable[[], Figure],
    key: str,
    alt: str,
    choose: Callable[[int], None],
    most: int,
    *,
    hidden: tuple[str, ...] | None = None,
) -> None:
    """Draw a figure whose points carry numbers from 1 to `most`, and call `choose` with one that is clicked.

    A figure of something else needs another key: a click on the old one does not count for the new one. `hidden` are
    buttons that are not shown; by default none is shown.
    """

    def choose_clicked() -> None:
        points = st.session_state[key].selection.points
        number = clicked_number(points[0]) if points else None
        if number is not None and number <= most:
            choose(number)

    config = STILL_CONFIG
    if hidden is not None:
        config = {**CHART_CONFIG, "modeBarButtonsToRemove": list(hidden), "scrollZoom": False}
    show_figure(figure, key, alt, config=config, on_select=choose_clicked, selection_mode="points")


def clicked_number(point: Any) -> int | None:
    """Return the number that the clicked point of a figure carries, None if it carries none."""
    data = point.get("customdata")
    number = data[0] if isinstance(data, list | tuple) and data else data
    return int(number) if isinstance(number, int | float) and number >= 1 else None


def name_width() -> int | Literal["medium"]:
    """Return the width of a table's column of names: on a phone, the columns beside it must be seen, too."""
    return _NARROW_NAME if is_narrow() else "medium"


class PartChoice(NamedTuple):
    """The choice of one part on one page."""

    page: str  #: "topics"
    part: str  #: "topic"

    @property
    def key(self) -> str:
        """Key of the chosen number (from 1) in the session."""
        return f"{self.page}_{self.part}"

    @property
    def turn(self) -> int:
        """Number of times that clicks were forgotten: a part of the key of whatever can be clicked."""
        return int(st.session_state.get(f"{self.page}_turn", 0))

    def choose(self, number: int) -> None:
        """Choose a part, from a callback."""
        set_choice(self.key, number)
        self.forget_clicks()

    def step(self, by: int, n: int) -> None:
        """Choose one of the next of `n` parts, or of those before, from a callback."""
        # As the list shows it now, which may have been drawn before the last step.
        known = (st.session_state.get(widget_of(self.key)), st.session_state.get(self.key), 1)
        now: Any = next(number for number in known if number in range(1, n + 1))
        self.choose((now - 1 + by) % n + 1)

    def keep_click(self, number: int) -> None:
        """Choose the part that was clicked, from a callback, and leave the figure as it is."""
        set_choice(self.key, number)

    def forget_clicks(self) -> None:
        """Draw figures anew, as what was clicked there is no longer chosen."""
        st.session_state[f"{self.page}_turn"] = self.turn + 1

    def show(self, n: int, label: Callable[[int], str], width: int) -> int:
        """Draw the list of `n` parts and the buttons for the one before and the next, and return the chosen number."""
        word = self.part.capitalize()
        asked = take_choice(self.part, {str(number): number for number in range(1, n + 1)})
        if asked is not None:
            set_choice(self.key, asked)
        chosen = choose_one(
            word, range(1, n + 1), label, widget_of(self.key), memory=self.key, persist_state=None, width=width,
            on_change=self.forget_clicks,
        )  # fmt: skip
        steps = ((-1, "chevron_left", f"{word} before"), (1, "chevron_right", f"Next {self.part}"))
        with st.container(horizontal=True, width="content"):
            for step, icon, text in steps:
                st.button(
                    text,
                    icon=f":material/{icon}:",
                    help=text,
                    key=f"{self.part}_step_{step}",
                    on_click=self.step,
                    args=(step, n),
                    disabled=n == 1,
                )
        name_choice(self.part, str(chosen), "1")
        return int(chosen)

    def head_html(self, number: int, names: Sequence[str]) -> str:
        """Return the heading of a part: its number on its colour, and its name, of those of all parts."""
        colour = cluster_colour(number, names)
        name = html.escape(user_name(number, names) or f"{self.part.capitalize()} {number}")
        return (
            f"<div class='{self.part}-head'><span style='background:{colour};color:{ink_on(colour)}'>{number}</span>"
            f"<strong>{name}</strong></div>"
        )
