"""The data that one tab of the browser works on, and how its address names them and the runs that it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui.workspace.dataset import MARK_LENGTH, Dataset

#: Of the address: the data of the tab, and the runs that its page shows.
DATA, RUN = "data", "run"
#: In the session: its `Tab`.
TAB = "tab"


class Tab:
    """The choice of data in one tab of the browser. What other tabs choose does not change it.

    Attributes
    ----------
    wanted : str or None
        Fingerprint of the data, or its first `MARK_LENGTH` characters. None: the data that the workspace used last, as
        soon as there are any. "": no data, as the tab has removed those it had.
    address : dict of str to str
        What the address said of the data and the runs when the tab was drawn last.
    is_named : bool
        The address says what the page shows. False from when a drawing begins until the page knows its runs.
    asked : list of str
        Ids of the runs that the address asks for which was opened, or gone back to; there may be no such runs.
    """

    def __init__(self) -> None:
        self.wanted: str | None = None
        self.address: dict[str, str] = {}
        self.is_named = False
        self.asked: list[str] = []
        self._split: dict[str, Any] | None = None

    @property
    def mark(self) -> str:
        """The beginning of the fingerprint of the data, for the address."""
        return (self.wanted or "")[:MARK_LENGTH]

    def take_runs(self) -> list[str]:
        """Return the runs that the address asks for, once."""
        asked, self.asked = self.asked, []
        return asked

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
    """Have a part of a page that is drawn alone name the tab's data and runs in its address.

    The browser may have asked for it before it knew the address that belongs to them. If the part then draws the
    page again, that address would look like one that the user has gone back to.
    """
    tab = st.session_state.get(TAB)
    if tab is not None and tab.is_named and not tab.address.items() <= st.query_params.to_dict().items():
        st.query_params.update(tab.address)
