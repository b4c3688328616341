"""Data sets of a workspace, in memory and in the store: the one used last, and those put aside until removed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from acvb_core.data.report import ReadReport
from acvb_core.store.datasets import Original
from acvb_core.store.files import StoreError
from pages.ui.shared import services
from pages.ui.workspace.dataset import MOST_HELD_OUT, MOST_SEED, Dataset, usual_share

#: Data sets of a workspace that are in memory, besides those of runs and those that are nowhere else.
_MOST_AT_HAND = 4


class DataShelf:
    """The data sets of one workspace in memory and in the store, for all its tabs."""

    def __init__(self, key: str) -> None:
        self.key = key  #: of the workspace
        #: Those used since the server started, by fingerprint. The ones used last need not be read again, and those
        #: that could not be saved are nowhere else. It is replaced, never changed: other threads may be reading it.
        self.used: dict[str, Dataset] = {}
        #: Why data could not be saved or read, by fingerprint; by "" the ones used last.
        self.problems: dict[str, str] = {}
        self._last: Dataset | None = None
        self._is_read = False
        self._lock = threading.RLock()  # one tab at a time changes which data were used last

    @property
    def last(self) -> Dataset | None:
        """The data set that was used last; `problems` says why it could not be read."""
        with self._lock:
            if not self._is_read:
                self._last, self._is_read = self._read(""), True
            return self._last

    def use(self, dataset: Dataset) -> None:
        """Use a data set from now on, keep it for the next start, and put the one before aside."""
        with self._lock:
            before, self._last = self.last, dataset
            self._remember(dataset)
            # The one before comes first, so that its files never have no owner.
            if before is not None and before.data.fingerprint != dataset.data.fingerprint:
                self._try_to_keep(before, before.data.fingerprint)
            self._try_to_keep(dataset, "")
            self.problems.pop("", None)  # choosing data replaces a damaged copy
            if dataset.data.fingerprint not in self.problems:
                # They are kept once: with the file that they were read from last.
                with suppress(StoreError):
                    services.store().forget_dataset(self._name(dataset.data.fingerprint))

    def put_aside(self, dataset: Dataset) -> None:
        """Keep a data set that is not in use."""
        _keep(self._name(dataset.data.fingerprint), dataset)
        self._remember(dataset)

    def find(self, fingerprint: str) -> Dataset | None:
        """Return a data set that was used, or put aside; `problems` says why it could not be read."""
        return self.used.get(fingerprint) or self._read(fingerprint)

    def list_aside(self) -> dict[str, str]:
        """Return the names of the data sets put aside, by fingerprint; none of them is read."""
        beginning = f"{self.key} "
        kept = services.store().find_settings(beginning)
        return {owner.removeprefix(beginning): str(how.get("name", "data")) for owner, how in kept.items()}

    def remove(self, fingerprint: str) -> None:
        """Remove a data set from memory and disk; its file stays with the runs that have it."""
        services.store().forget_dataset(self._name(fingerprint))
        self.problems.pop(fingerprint, None)
        with self._lock:
            if self._last is not None and self._last.data.fingerprint == fingerprint:
                services.store().forget_dataset(self.key)
                self._last = None
            self.used = {key: dataset for key, dataset in self.used.items() if key != fingerprint}

    def find_owner(self, fingerprint: str) -> str:
        """Return the name under which the store has a data set, used last or put aside."""
        last = self.last
        return (
            self.key if last is not None and last.data.fingerprint == fingerprint else self._name(fingerprint)
        )

    def _name(self, fingerprint: str) -> str:
        """Return the name under which the store has a data set put aside; of "", the one used last."""
        return f"{self.key} {fingerprint}" if fingerprint else self.key

    def _remember(self, dataset: Dataset) -> None:
        """Have a data set at hand; of those that can be read from the disk again, only the ones used last stay so."""
        with self._lock:
            now = dataset.data.fingerprint
            used = {key: other for key, other in self.used.items() if key != now}
            if len(used) >= _MOST_AT_HAND:
                aside = self.list_aside()
                for key in [key for key in used if key in aside][: len(used) + 1 - _MOST_AT_HAND]:
                    del used[key]
            self.used = used | {now: dataset}

    def _try_to_keep(self, dataset: Dataset, fingerprint: str) -> None:
        self.problems.pop(dataset.data.fingerprint, None)
        try:
            _keep(self._name(fingerprint), dataset)
        except StoreError as error:
            self.problems[dataset.data.fingerprint] = str(error)

    def _read(self, fingerprint: str) -> Dataset | None:
        if fingerprint in self.problems:  # it is not read again and again: a page asks for it several times
            return None
        try:
            stored = services.store().load_dataset(self._name(fingerprint))
            dataset = None if stored is None else build_dataset(*stored)
        except StoreError as error:
            self.problems[fingerprint] = str(error)
            return None
        if dataset is not None:
            self._remember(dataset)
        return dataset


def shelf_of(key: str) -> DataShelf:
    """Return the data sets of a workspace, the same object each time."""
    return services.data_shelves().setdefault(key, DataShelf(key))


def _keep(owner: str, dataset: Dataset) -> None:
    settings = {
        "name": dataset.name,
        "source": dataset.report.source,
        "options": dataset.report.to_dict()["options"],
        "heldout": dataset.heldout,
        "heldout_seed": dataset.heldout_seed,
        "whole_documents": dataset.whole_documents,
        **({} if dataset.original is None else dataset.original.to_settings()),
    }
    services.store().save_dataset(owner, dataset.data, dataset.report.lines(), settings)


def build_dataset(data: Any, lines: Sequence[str], settings: Mapping[str, Any]) -> Dataset:
    """Return a data set out of what the store, or an archive, has of it."""
    name = str(settings.get("name", data.name))
    facts = [{"name": "stored", "count": 0, "sentence": line} for line in lines]
    report = {"source": settings.get("source", name), "facts": facts, "options": settings.get("options", {})}
    share, seed = float(settings.get("heldout", usual_share(data))), int(settings.get("heldout_seed", 0))
    if not (0 <= share <= MOST_HELD_OUT and 0 <= seed <= MOST_SEED):
        raise StoreError("The settings of these data are damaged. Load the data again.")
    return Dataset(
        data,
        ReadReport.from_dict(report) or ReadReport(name, ()),
        name,
        share,
        seed,
        bool(settings.get("whole_documents", False)),
        Original.of_settings(settings),
    )
