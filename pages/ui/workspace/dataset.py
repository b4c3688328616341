"""The data that new runs are made of, and what these hold out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from acvb_core.data.report import ReadReport
from acvb_core.registry import model_for
from acvb_core.samples.catalogue import SAMPLES, load_sample
from pages.ui.shared.model_pages import HeldOut, pages_of_model

#: Largest share that can be held out, and largest seed.
MOST_HELD_OUT, MOST_SEED = 0.9, 2**31 - 1
#: Characters of a fingerprint that tell the data sets of a workspace apart.
MARK_LENGTH = 12


@dataclass(frozen=True, eq=False)
class Dataset:
    """The data that new runs are made of.

    Attributes
    ----------
    data : Relation, Corpus, DiskCorpus, Table, …
    report : ReadReport
        What reading it found.
    name : str
    heldout : float
        Share of the observed entries or cells, or of each document's words, that new runs hold out.
    heldout_seed : int
    whole_documents : bool
        The share is of whole documents instead.
    """

    data: Any
    report: ReadReport
    name: str
    heldout: float
    heldout_seed: int = 0
    whole_documents: bool = False

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
