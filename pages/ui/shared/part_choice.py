"""The choice of one part of an answer, such as a topic: in a list, step by step, or by a click on a figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from acvb_core.views.labels import ink_on
from acvb_core.views.theme import cluster_colour
from pages.ui.shared.picking import choose_one


class PartChoice(NamedTuple):
    """The choice on one page.

    Attributes
    ----------
    page : str
        Name of the page: "topics".
    part : str
        Word for one part: "topic".
    """

    page: str
    part: str

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
        st.session_state[self.key] = number
        self.forget_clicks()

    def keep_click(self, number: int) -> None:
        """Choose the part that was clicked, from a callback, and leave the figure as it is."""
        st.session_state[self.key] = number

    def forget_clicks(self) -> None:
        """Draw figures anew, as what was clicked there is no longer chosen."""
        st.session_state[f"{self.page}_turn"] = self.turn + 1

    def show(self, n: int, label: Callable[[int], str], width: int) -> int:
        """Draw the list of `n` parts and the buttons for the one before and the next, and return the chosen number."""
        word = self.part.capitalize()
        chosen = choose_one(word, range(1, n + 1), label, self.key, width=width, on_change=self.forget_clicks)
        steps = ((-1, "chevron_left", f"{word} before"), (1, "chevron_right", f"Next {self.part}"))
        for step, icon, text in steps:
            st.button(
                text,
                icon=f":material/{icon}:",
                help=text,
                key=f"{self.part}_step_{step}",
                on_click=self.choose,
                args=((chosen - 1 + step) % n + 1,),
                disabled=n == 1,
            )
        return int(chosen)

    def head_html(self, number: int, name: str) -> str:
        """Return the heading of a part: its number on its colour, and its name, which is escaped already."""
        colour = cluster_colour(number)
        return (
            f"<div class='{self.part}-head'><span style='background:{colour};color:{ink_on(colour)}'>{number}</span>"
            f"<strong>{name}</strong></div>"
        )
