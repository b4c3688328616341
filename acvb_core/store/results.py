"""Runs on disk: the answer, its diagnostics, the settings and the state, in one npz file each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import can_keep
from acvb_core.engine.history import History, RaceReport, SweepRecord, Verdict, excerpt_name
from acvb_core.engine.prepared import PreparedRun, rebuild_run
from acvb_core.engine.result import Result
from acvb_core.engine.run import RunState
from acvb_core.store.codecs import decode_posterior, encode_posterior, to_numbers
from acvb_core.store.datasets import dataset_key, kind_of
from acvb_core.store.files import (
    DAMAGE,
    Arrays,
    StoreError,
    check_id,
    check_version,
    damage_error,
    from_text_bytes,
    read_arrays,
    read_npz,
    remove_file,
    text_bytes,
    write_arrays,
)
from acvb_core.store.states import decode_state, encode_state

if TYPE_CHECKING:
    import pandas as pd

#: Version 2 says which run it holds, and of which data. Version 3 may be of a run that is not over, and have the state
#: that it continues from.
VERSION = 3
#: Where the files of runs lie, and those of deleted runs until they go for good.
RUNS, TRASH = "runs", "deleted"
#: File of a run that a command has begun in a folder of results.
UNFINISHED = "unfinished.npz"
_STATE, _START = (
    "state_",
    "start_",
)  # beginnings of the names of its arrays, and of those of what it began from

# Fields of a snapshot that are plain values; the others are put together below.
_VALUES = (
    "sweep", "cpu_seconds", "wall_seconds", "diagnostics_seconds", "lower_bound", "pseudo_loo", "change",
    "mean_change", "scaled_change", "samples", "burn_in", "effective_k", "hyper", "extras", "moves",
    "passes",
)  # fmt: skip


@dataclass(frozen=True)
class RunIdentity:
    """Identity of the run in a file: all that the list of runs says of it."""

    job_id: str
    workspace: str  #: whose run it is
    created: float  #: seconds since the epoch
    kind: str  #: of the data
    dataset: str  #: key of the data
    #: `summary`, `settings`: as `Result.summary` and `RunSpec.to_dict` give them, in plain values.
    summary: Mapping[str, Any]
    settings: Mapping[str, Any]


def run_path(folder: Path, job_id: str) -> Path:
    """Return the file of a run, below the store's folder.

    Raises StoreError: this is no id of a run.
    """
    return folder / RUNS / f"{check_id(job_id)}.npz"


def trash_path(folder: Path, job_id: str) -> Path:
    """Return where the file of a run lies after the run was deleted."""
    return folder / TRASH / run_path(folder, job_id).name


def write_result(
    path: Path, result: Result | PreparedRun, run: RunIdentity | None = None, *, state: bool = True
) -> None:
    """Write everything of a result but its data, or a run that has done no sweep yet.

    `run`: which run it is, as `read_identity` gives it back; without that the file is of version 1.
    `state`: with what the run continues from, where it is at hand.
    """
    prepared = result.prepared if isinstance(result, Result) else result
    about: dict[str, Any] = {"settings": prepared.spec.to_dict()}
    arrays: Arrays = {}
    curves: Arrays = {}
    version = 1 if run is None else 2
    if isinstance(result, Result):
        last, history = result.snapshot, result.history
        form, arrays = encode_posterior(last.posterior)
        about |= {
            "max_sweeps": result.max_sweeps,
            "snapshot": {name: to_numbers(getattr(last, name)) for name in _VALUES},
            "verdict": None if last.verdict is None else str(last.verdict),
            "heldout": None if last.heldout is None else last.heldout._asdict(),
            "history": list(history.columns),
            "race": None if result.race_report is None else result.race_report.to_dict(),
            "posterior": form,
        }
        excerpts = result.state.history.excerpts
        about["excerpts"] = [[sweep, list(one)] for sweep, one in excerpts.items()]
        curves = {"history": history.to_numpy(dtype=np.float64)}
        curves |= {
            excerpt_name(sweep, name): array for sweep, one in excerpts.items() for name, array in one.items()
        }
        if run is not None and state and last.state is not None and can_keep(prepared.algorithm, last.state):
            about["state"], parts = encode_state((last.state, last.memory))
            arrays |= parts
    if "state" in about or about.get("verdict") is None:
        version = VERSION
    if run is not None:
        about["run"] = _own_fields(run)
    start = {} if run is None else encode_start(prepared)
    write_arrays(path, arrays | {"about": text_bytes(about)} | curves | start, version=version)


def read_state(path: Path) -> tuple[Any, Any] | None:
    """Return the state of a run and what the engine keeps between sweeps; None where they were not kept.

    Raises StoreError: the file is gone, damaged, or of a version whose states this program does not have.
    """
    return _decode_kept(path, read_arrays(path, version=VERSION, without="posterior_"))


def _decode_kept(path: Path, arrays: Arrays) -> tuple[Any, Any] | None:
    try:
        about = from_text_bytes(arrays["about"])
        if "state" not in about:
            return None
        state, memory = decode_state(about["state"], arrays)
    except (*DAMAGE, ImportError) as error:
        raise StoreError(
            f"{path} has no state that this version of the program can continue from ({error}). Start the run again "
            "with the same settings and seed."
        ) from error
    return state, memory


def _own_fields(run: RunIdentity) -> dict[str, Any]:
    """Return what a file says of its run in addition to the settings, which it has anyway."""
    return {name: value for name, value in asdict(run).items() if name != "settings"}


def read_about(path: Path) -> dict[str, Any]:
    """Return the plain values of a run's file, its version among them.

    Raises StoreError: the file is gone, damaged or newer than this program.
    """
    arrays = read_npz(path, ("version", "about"))
    version = check_version(path, arrays, VERSION)
    try:
        return {**from_text_bytes(arrays["about"]), "version": version}
    except DAMAGE as error:
        raise damage_error(path) from error


def read_identity(path: Path) -> RunIdentity | None:
    """Return which run a file holds; None where an older version wrote it without a name.

    Raises StoreError: as for `read_about`.
    """
    about = read_about(path)
    if about["version"] < 2:
        return None
    try:
        run = RunIdentity(**about["run"], settings=about["settings"])
        texts = (run.job_id, run.workspace, run.kind, run.dataset)
        if not all(isinstance(text, str) for text in texts) or not isinstance(run.created, int | float):
            raise ValueError("it does not say which run it holds")
    except DAMAGE as error:
        raise damage_error(path) from error
    return run


def add_identity(path: Path, run: RunIdentity) -> Arrays:
    """Return the arrays of a file of version 1, with the name of the run it is taken for.

    Raises StoreError: the file holds another run than this, or cannot be read.
    """
    arrays = read_arrays(path, version=VERSION)
    try:
        about = from_text_bytes(arrays["about"])
        last = about["snapshot"]
        # No two runs took the same time to the last digit.
        effort = [run.summary[name] for name in ("sweeps", "cpu_seconds")]
        same = about["settings"] == run.settings and [last["sweep"], last["cpu_seconds"]] == effort
    except DAMAGE as error:
        raise damage_error(path) from error
    if not same:
        raise swap_error(path, run.job_id)
    return arrays | {"about": text_bytes(about | {"run": _own_fields(run)})}


def swap_error(path: Path, job_id: str) -> StoreError:
    """Return the error for a file that holds another run than its name says."""
    return StoreError(
        f"{path} holds another run than {job_id}. If files were renamed, give them their names back; otherwise put a "
        "copy back."
    )


def read_result(path: Path, data: Any, *, state: bool = False) -> Result | PreparedRun:
    """Return the result that `write_result` wrote, on the data it was made from; the run alone if it did no sweep.

    The run is prepared again: the same seed holds out the same entries or words.

    `state`: with what the run continues from, where it was kept; otherwise that is left to `read_state`.
    Raises StoreError: the file is gone, damaged, newer than this program, or of a method that this program does not
      have.
    """
    arrays = read_arrays(path, version=VERSION, without=None if state else _STATE)
    try:
        about = from_text_bytes(arrays["about"])
        prepared = rebuild_run(data, about["settings"], decode_start(path, arrays))
        stored = prepared if "snapshot" not in about else _decode_result(prepared, about, arrays)
    except ParameterError as error:
        raise StoreError(f"{path} holds a run that this version cannot repeat: {error}") from error
    except DAMAGE as error:
        raise damage_error(path) from error
    if not state or not isinstance(stored, Result) or (kept := _decode_kept(path, arrays)) is None:
        return stored
    return stored.with_state(snapshot=replace(stored.snapshot, state=kept[0], memory=kept[1]))


def encode_start(prepared: PreparedRun) -> Arrays:
    """Return what a run began from, as arrays; none if it began from nothing."""
    if prepared.start is None:
        return {}
    from acvb_core.store.topics import model_arrays

    return {f"{_START}{name}": array for name, array in model_arrays(prepared.start).items()}


def decode_start(path: Path, arrays: Arrays) -> Any:
    """Return what `encode_start` gave; None if the run began from nothing, or was kept without it."""
    begins = {name.removeprefix(_START): array for name, array in arrays.items() if name.startswith(_START)}
    if not begins:
        return None
    from acvb_core.store.topics import decode_model

    return decode_model(path, begins)


def _decode_result(prepared: PreparedRun, about: dict[str, Any], arrays: Arrays) -> Result:
    posterior = decode_posterior(about["posterior"], arrays)
    frame = _decode_history(about, arrays)
    race, score, verdict = about.get("race"), about["heldout"], about["verdict"]
    sweeps = int(about["snapshot"]["sweep"])
    unknown: dict[str, Any] = {"extras": {}, "passes": float(sweeps)}
    snapshot = SweepRecord(
        **(unknown | {name: about["snapshot"][name] for name in _VALUES if name in about["snapshot"]}),
        heldout=None if score is None else prepared.model_row.score_type(**score),
        verdict=None if verdict is None else Verdict(verdict),
        posterior=posterior,
        state=None,
    )
    # Of a stream, and of a run over shards, only the words are known. The data are split only if some objects are out.
    row, shape = prepared.row, (prepared.train if prepared.spec.heldout_documents else prepared.data).shape
    objects = shape[1:] if row.streams or (row.shards and len(posterior.averaged) == 1) else shape
    for domain, count in zip(posterior.averaged, objects, strict=False):
        if len(posterior[domain]) != count:
            raise ValueError(f"{len(posterior[domain])} objects in {domain}, {count} in the data")
    race_report = None if race is None else RaceReport.from_dict(race)
    history = History.from_frame(frame)
    history.add_excerpts(_decode_excerpts(about, arrays))
    state = RunState(
        prepared=prepared,
        history=history,
        max_sweeps=int(about["max_sweeps"]),
        snapshot=snapshot,
        race_report=race_report,
    )
    return Result(state)


def _decode_excerpts(about: dict[str, Any], arrays: Arrays) -> dict[int, Arrays]:
    """Return the excerpts of sweeps; earlier versions kept none."""
    excerpts = {
        int(sweep): {name: arrays[excerpt_name(int(sweep), name)] for name in names}
        for sweep, names in about.get("excerpts", [])
    }
    if any(array.dtype.kind not in "iuf" for excerpt in excerpts.values() for array in excerpt.values()):
        raise ValueError("an excerpt of a sweep is no array of numbers")
    return excerpts


def _decode_history(about: dict[str, Any], arrays: Arrays) -> pd.DataFrame:
    import pandas as pd

    if arrays["history"].dtype != np.float64:
        raise ValueError(f"no history: {arrays['history'].dtype}")
    frame = pd.DataFrame(arrays["history"], columns=about["history"])
    if "passes" not in frame:  # of a version that knew of no other sweeps than whole passes
        frame.insert(frame.columns.get_loc("burn_in") + 1, "passes", frame["sweep"].astype(np.float64))
    return frame


def read_array(path: Path, name: str) -> Any:
    """Return one array of a result, as `read_result` gives it: of the posterior, or "history".

    Raises StoreError: the file is gone or damaged.
    """
    if name != "history":
        return read_npz(path, (name,))[name]
    arrays = read_npz(path, ("about", name))
    try:
        return _decode_history(from_text_bytes(arrays["about"]), arrays).to_numpy(dtype=np.float64)
    except DAMAGE as error:
        raise damage_error(path) from error


class UnfinishedRun:
    """A run in a folder, while it runs and after it was cut off.

    `folder`: where the results of the run are to be.
    `prepared`: the run; what is there of another run, on other data or of another version, is not used.
    `version`: of the package, as another one may give other numbers.
    """

    def __init__(self, folder: Path, prepared: PreparedRun, version: str) -> None:
        self.fault: str | None = None
        self._path, self._prepared = folder / UNFINISHED, prepared
        asked = json.loads(json.dumps({"version": version, "asked": prepared.spec.to_dict()}))
        kind = kind_of(prepared.data).name
        self._identity = RunIdentity("unfinished", "", 0.0, kind, dataset_key(prepared.data), asked, {})

    def read(self) -> RunState | None:
        """Return the run as it was last kept; None if it begins from the start.

        Raises StoreError: the file is damaged.
        """
        if not self._path.exists():
            return None
        identity = read_identity(self._path)
        if identity is None or replace(identity, settings={}) != self._identity:
            return None
        stored = read_result(self._path, self._prepared.data, state=True)
        if not isinstance(stored, Result) or stored.snapshot.state is None:
            return None
        return stored.state

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
