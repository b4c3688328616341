"""The data that new runs are made of, what these hold out, and which of them a tab of the browser works on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from acvb_core.data.report import ReadReport
from acvb_core.registry import model_for
from acvb_core.samples.catalogue import SAMPLES, load_sample
from acvb_core.store.datasets import Original
from pages.ui.shared.model_pages import HeldOut, pages_of_model

#: Largest share that can be held out, and largest seed.
MOST_HELD_OUT, MOST_SEED = 0.9, 2**31 - 1
#: Characters of a fingerprint that tell the data sets of a workspace apart.
MARK_LENGTH = 12


@dataclass(frozen=True, eq=False)
class Dataset:
    """The data that new runs are made of."""

    data: Any
    report: ReadReport  #: what reading them found
    name: str
    heldout: (
        float  #: share of the observed entries or cells, or of each document's words, that new runs hold out
    )
    heldout_seed: int = 0
    whole_documents: bool = False  #: the share is of whole documents instead
    original: Original | None = None  #: the file that they were read from, where it is kept

    @classmethod
    def of_sample(cls, key: str) -> Dataset:
        """Return a sample under its title, with the usual share held out."""
        sample, title = load_sample(key), SAMPLES[key].title
        return cls.fresh(replace(sample.data, name=title), sample.report, title)

    @classmethod
    def fresh(cls, data: Any, report: ReadReport, name: str) -> Dataset:
        """Return data with the usual share held out: of data on disk, whole documents."""
        whole = model_for(data).on_disk(data)
        return cls(data, report, name, usual_share(data, whole), whole_documents=whole)

    @property
    def model(self) -> str:
        """Name of the model that is for such data."""
        return model_for(self.data).name

    @property
    def mark(self) -> str:
        """The beginning of the fingerprint, which tells the data of a workspace apart: for an address, and for keys."""
        return str(self.data.fingerprint)[:MARK_LENGTH]

    @property
    def on_disk(self) -> bool:
        """True when the data are kept on disk, for methods that stream or spread over shards."""
        return model_for(self.data).on_disk(self.data)

    @property
    def split(self) -> dict[str, Any]:
        """The share that is held out and its seed, as `prepare_run` takes them."""
        share = "heldout_documents" if self.whole_documents else "heldout"
        return {share: self.heldout, "heldout_seed": self.heldout_seed}

    def like(self, before: Dataset | None) -> Dataset:
        """Return these data with what was held out of the ones before, as far as that is possible of these."""
        if before is None or before.on_disk != self.on_disk:
            return self
        whole = before.whole_documents and self.model == before.model
        if before.whole_documents != whole:
            return self
        # A usual share was not chosen: of other data, another is usual.
        chosen = before.heldout != usual_share(before.data) or self.model == before.model or whole
        share = before.heldout if chosen else self.heldout
        return replace(self, heldout=share, heldout_seed=before.heldout_seed, whole_documents=whole)


def usual_share(data: Any, whole_documents: bool = False) -> float:
    """Return the share of such data that is held out unless another is chosen."""
    held_out: HeldOut = pages_of_model(model_for(data).name).held_out
    return held_out.whole.usual_share if whole_documents and held_out.whole else held_out.usual_share


#: Of the address: the data of the tab, and the runs that its page shows.
DATA, RUN = "data", "run"
#: In the session: its `Tab`.
TAB = "tab"


class Tab:
    """The choice of data in one tab of the browser. Choices in other tabs do not change it."""

    def __init__(self) -> None:
        #: Fingerprint of the data, or its first `MARK_LENGTH` characters. None: the data that the workspace used last,
        #: as soon as there are any. "": no data, as the tab has removed those it had.
        self.wanted: str | None = None
        #: The data and the runs in the address when the tab was drawn last.
        self.address: dict[str, str] = {}
        #: The address says what the page shows. False from when a drawing begins until the page knows its runs.
        self.is_named = False
        #: Ids of the runs in an address that was opened, or gone back to; there may be no such runs.
        self.asked: list[str] = []
        #: What such an address chooses on its page and the page has not taken yet, by name; and what it chooses that
        #: the page does not have, with what the page shows in its place.
        self.asked_choices: dict[str, str] = {}
        self.missed: dict[str, str] = {}
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
