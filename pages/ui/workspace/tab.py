"""The data that one tab of the browser works on, and how the tab's address names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui.workspace.dataset import MARK_LENGTH, Dataset

#: Of the address: the data of the tab.
DATA = "data"
#: In the session: its `Tab`.
TAB = "tab"


class Tab:
    """The choice of data in one tab of the browser. What other tabs choose does not change it.

    Attributes
    ----------
    wanted : str or None
        Fingerprint of the data, or its first `MARK_LENGTH` characters. None: the data that the workspace used last, as
        soon as there are any. "": no data, as the tab has removed those it had.
    address : str
        What the address said of the data when the tab was drawn last.
    """

    def __init__(self) -> None:
        self.wanted: str | None = None
        self.address = ""
        self._split: dict[str, Any] | None = None

    def choose(self, fingerprint: str) -> None:
        """Use other data from now on; they say what is held out."""
        self.wanted, self._split = fingerprint, None

    def use(self, dataset: Dataset) -> None:
        """Use a data set and what it holds out from now on."""
        self.wanted = dataset.data.fingerprint
        self._split = {
            name: getattr(dataset, name) for name in ("heldout", "heldout_seed", "whole_documents")
        }

    def view(self, dataset: Dataset) -> Dataset:
        """Return the tab's data set as it was found, with what this tab holds out of it."""
        if self._split is None:
            self.use(dataset)
        return replace(dataset, **(self._split or {}))

    def is_wanted(self, fingerprint: str) -> bool:
        """Return whether the tab uses the data with this fingerprint."""
        wanted = self.wanted or ""
        return len(wanted) >= MARK_LENGTH and fingerprint.startswith(wanted)


def keep_address() -> None:
    """Have a part of a page that is drawn alone name the tab's data in its address.

    The browser may have asked for it before it knew the address that belongs to the data. If the part then draws the
    page again, that address would look like one that the user has gone back to.
    """
    tab = st.session_state.get(TAB)
    if tab is not None and tab.address and st.query_params.get(DATA) != tab.address:
        st.query_params[DATA] = tab.address
