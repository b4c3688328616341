"""Long lists in pages: a part of them is drawn at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

Item = TypeVar("Item")


def choose_page(items: Sequence[Item], size: int, key: str, noun: str) -> Sequence[Item]:
    """Draw the choice of a page of a list, and return the items on it; all of them, and no choice, where they are few.

    Parameters
    ----------
    items : sequence
    size : int
        Items on a page.
    key : str
        Of the widget.
    noun : str
        What the items are, for the text beside the choice: "runs that have ended, newest first".
    """
    if len(items) <= size:
        return items
    pages = -(-len(items) // size)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key=f"{key}_row"
    ):
        words = st.empty()
        first = size * (st.pagination(pages, key=key, persist_state="session") - 1)
    shown = items[first : first + size]
    words.caption(f"{first + 1:,} to {first + len(shown):,} of {len(items):,} {noun}", width="content")
    return shown
