"""A run that a command has begun in its folder: after an interruption the same command goes on with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.result import Result
from acvb_core.engine.state import RunState
from acvb_core.store.datasets import dataset_key, kind_of
from acvb_core.store.files import StoreError, remove_file
from acvb_core.store.results import RunIdentity, read_identity, read_result, read_state, write_result

FILE = "unfinished.npz"


class UnfinishedRun:
    """A run in a folder, while it goes on and after it was cut off.

    `folder`: where the results of the run are to be.
    `prepared`: the run; what is there of another run, on other data or of another version, is not used.
    `version`: of the package, as another one may give other numbers.
    """

    def __init__(self, folder: Path, prepared: PreparedRun, version: str) -> None:
        self.fault: str | None = None
        self._path, self._prepared = folder / FILE, prepared
        asked = json.loads(json.dumps({"version": version, "asked": prepared.spec.to_dict()}))
        kind = kind_of(prepared.data).name
        self._identity = RunIdentity("unfinished", "", 0.0, kind, dataset_key(prepared.data), asked, {})

    def read(self) -> RunState | None:
        """Return the run as it was last kept; None where it begins anew.

        Raises StoreError: the file is damaged.
        """
        if not self._path.exists():
            return None
        identity = read_identity(self._path)
        if identity is None or replace(identity, settings={}) != self._identity:
            return None
        stored, kept = read_result(self._path, self._prepared.data), read_state(self._path)
        if kept is None or not isinstance(stored, Result):
            return None
        snapshot = replace(stored.snapshot, state=kept[0], memory=kept[1])
        return replace(stored.state, snapshot=snapshot)

    def keep(self, state: RunState) -> None:
        """Keep the run as it is now; `fault` says why that was not possible."""
        going_on = replace(state, snapshot=replace(state.last, verdict=None))
        try:
            write_result(self._path, Result(going_on), self._identity)
        except StoreError as error:
            self.fault = str(error)
        else:
            self.fault = None

    def remove(self) -> None:
        """Remove what was kept: the run is over.

        Raises StoreError: it cannot be removed.
        """
        remove_file(self._path)
