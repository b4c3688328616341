"""A run before it starts: data, split, method and settings put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.core.protocols import Inference, Model
from acvb_core.core.rows import Method, ModelRow
from acvb_core.data.report import plural
from acvb_core.engine.free_memory import refuse_too_large
from acvb_core.engine.race_report import states_at_once
from acvb_core.models.lda.trained import checked_start
from acvb_core.registry import method_row, methods_for, model_for, model_row


@dataclass(frozen=True)
class Settings:
    """Everything needed, beside the data, to repeat a run.

    Attributes
    ----------
    model, method : str
        Names in the registry.
    values : mapping
        A value for every parameter of the method.
    seed : int
        Of the inference.
    heldout : float
        Share of the data (of the observed entries, of each document's words) that is held out.
    heldout_seed : int
    restarts : int
        Runs from `seed`, `seed` + 1, … that race, by what their model has for it (`ModelRow.raced_by`). What the race
        leaves is the winner's, with the winner's seed and 1 here: it is repeated alone.
    heldout_documents : float
        Share of whole documents that is held out, in place of `heldout`.
    start : str
        What the run went on from, in words; empty where it began anew.
    of : str
        Fingerprint of the data as they were loaded, where words of `start` that they do not have were added.
    """

    model: str
    method: str
    values: Mapping[str, Any]
    seed: int = 0
    heldout: float = 0.0
    heldout_seed: int = 0
    restarts: int = 1
    heldout_documents: float = 0.0
    start: str = ""
    of: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Problem:
    """A method bound to its training data, with what it will be judged on.

    Attributes
    ----------
    settings : Settings
    row : Method
        The registry's row of the method.
    model_row : ModelRow
        … and of the model.
    data : Relation, Corpus or DiskCorpus
        All the data, as loaded; for a stream that goes on, over a vocabulary with the words of what it goes on from.
    train : Relation or Corpus
        The data without what is held out.
    heldout : HeldOut, HeldOutWords or None
    note : str or None
        What the split had to change, for the user.
    inference : Inference
    model : Model
    check_memory : bool
        Refuse to start where more memory is needed than is free.
    """

    settings: Settings
    row: Method
    model_row: ModelRow
    data: Any
    train: Any
    heldout: Any
    note: str | None
    inference: Inference
    model: Model
    check_memory: bool = True

    @property
    def fingerprint(self) -> str:
        """Of the data as they were loaded."""
        found: str = self.settings.of or self.data.fingerprint
        return found

    @property
    def label(self) -> str:
        """Short name of the run: method and seed."""
        return f"{self.row.label} · seed {self.settings.seed}"

    @property
    def max_sweeps(self) -> int:
        """The most sweeps that the settings allow; for a method that streams, those of its epochs."""
        values = self.settings.values
        if "max_sweeps" in values:
            return int(values["max_sweeps"])
        sweeps: int = self.inference.sweeps_of(float(values["epochs"]))  # type: ignore[attr-defined]
        return sweeps

    @property
    def bound_unit(self) -> float | None:
        """What the change of the bound is divided by before it is held against the tolerance; None: by its size."""
        unit = self.model_row.bound_unit
        return None if unit is None else float(unit(self.train))

    def alone(self, seed: int) -> Problem:
        """Return the run from one seed, without a race; there is memory for it where there is for the race."""
        settings = replace(self.settings, seed=seed, restarts=1)
        return replace(self, settings=settings, check_memory=False)

    @property
    def memory_bytes(self) -> int:
        """Peak memory the run will need beyond the data."""
        needed = memory_needed(
            self.train, self.model_row, self.row, self.settings.values, self.settings.restarts
        )
        return needed + (0 if self.heldout is None else self.model_row.scoring_bytes * self.heldout.n)

    def refuse_too_large(self) -> None:
        """Raise ParameterError where the run needs more memory than is free, unless that is not to be checked."""
        if self.check_memory:
            refuse_too_large(self.memory_bytes, self.model_row, self.row)


def memory_needed(
    data: Any, model: ModelRow, row: Method, values: Mapping[str, Any], restarts: int = 1
) -> int:
    """Return the peak memory of a run, or of a race of restarts, in bytes, beyond the data and the scores."""
    return model.memory(data, row.name, dict(values)) * states_at_once(restarts)


#: The last split of each data set: runs that are compared have the same one, and need not hold a copy each.
_splits: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def _split(row: ModelRow, data: Any, settings: Settings) -> Any:
    key = (row.name, settings.heldout, settings.heldout_documents, settings.heldout_seed)
    known = _splits.get(data)
    if known is not None and known[0] == key:
        return known[1]
    if settings.heldout_documents or row.on_disk(data):
        if settings.heldout and settings.heldout_documents:
            raise ParameterError("both words and whole documents are to be held out; choose one of the two.")
        if settings.heldout:
            raise ParameterError(
                f"{data.name} is kept on disk: hold out whole documents (heldout_documents), not words of each."
            )
        if row.hold_out_documents is None:
            raise ParameterError(f"model {row.name!r} has no documents to hold out.")
        split = row.hold_out_documents(data, settings.heldout_documents, settings.heldout_seed)
    else:
        split = row.hold_out(data, settings.heldout, settings.heldout_seed)
    if split.train is not data:  # a value that refers to its key would never be let go
        _splits[data] = (key, split)
    return split


#: The last extension of each data set: runs that go on from the same have the same split then.
_extended: WeakKeyDictionary[Any, tuple[list[str], Any]] = WeakKeyDictionary()


def _with_words_of(start: Any, data: Any) -> Any:
    """Return data over a vocabulary that has all the words of trained topics, so that none of them is lost."""
    words = start.words_missing_from(data.vocabulary).tolist()
    if not words:
        return data
    known = _extended.get(data)
    if known is None or known[0] != words:
        known = _extended[data] = (words, data.with_words(words))
    return known[1]


def _build(row: Method, train: Any, values: dict[str, Any], start: Any) -> Inference:
    if start is None or row.build_from is None:
        return row.build(train, values)
    return row.build_from(train, values, start)


def check_method(model: ModelRow, row: Method, data: Any, start: Any) -> None:
    """Raise ParameterError where a method cannot take data on disk, or cannot go on from topics."""
    if start is not None:
        checked_start(start)
        if row.build_from is None:
            raise ParameterError(f"method {row.name!r} cannot go on from trained topics; it begins anew.")
    if model.on_disk(data) and not row.streams:
        ready = ", ".join(one.name for one in methods_for(data, model.name))
        raise ParameterError(
            f"{row.name} keeps the topics of all words in memory; {data.name} is kept on disk: choose {ready}, or "
            "load it into memory."
        )


def _check_race(row: ModelRow, heldout: Any, restarts: int) -> None:
    """Raise ParameterError where restarts would have nothing to race by."""
    if restarts > 1 and row.raced_by == "heldout" and not heldout.n:
        parts = " or ".join(row.domains.values())
        raise ParameterError(
            f"{restarts} restarts are to race, but nothing is held out. Runs of model {row.name!r} end at different "
            f"numbers of {parts}, at which lower bounds cannot be compared, so they race by what they say of held-out "
            "data: hold out a share of the data (0.1, say), or make it one run (restarts 1)."
        )


def _check_something_is_left(row: ModelRow, data: Any, split: Any) -> None:
    """Raise DataError where a run would have nothing to learn from."""
    if row.observed is None or row.observed(split.train):
        return
    one, many = row.unit
    held = row.observed(data)
    raise DataError(
        f"there is no {one} to learn from: "
        + (
            f"of {plural(held, f'known {one}', f'known {many}')}, none is left"
            if held
            else f"no {one} is known"
        ),
        source=data.name,
        remedy="Hold out a smaller share, or nothing." if held else f"Load data with known {many}.",
    )


def build_problem(
    data: Any,
    method: str,
    values: Mapping[str, Any] | None = None,
    *,
    model: str | None = None,
    seed: int = 0,
    heldout: float = 0.0,
    heldout_seed: int = 0,
    restarts: int = 1,
    heldout_documents: float = 0.0,
    start: Any = None,
    check_memory: bool = True,
) -> Problem:
    """Put a run together without starting it.

    Parameters
    ----------
    data : Relation or Corpus
    method : str
        Name in the registry.
    values : mapping, optional
        Settings that differ from the defaults.
    model : str, optional
        By default the first one that is for such data.
    seed, heldout_seed : int
        Of the inference and of the split.
    heldout : float
        Share of the data to hold out, 0 for none.
    restarts : int
        Runs that race (`Settings.restarts`).
    heldout_documents : float
        Share of whole documents to hold out, in place of `heldout`.
    start : TrainedTopics, optional
        What was trained before, to go on from. A method that streams keeps its words that the data do not have, the
        others leave them out.
    check_memory : bool
        Refuse to start where more memory is needed than is free.

    Raises
    ------
    ParameterError
        An unknown model, method or setting, or a value out of range; restarts that race by held-out data without any.
    DataError
        Nothing is known of the data, or nothing is left once a share is held out.
    """
    found = model_for(data) if model is None else model_row(model)
    found.accept(data)
    row = method_row(found.name, method)
    check_method(found, row, data, start)
    # What a start decides need not be said again.
    checked = row.values({**({} if start is None else start.implied), **(values or {})})
    if isinstance(restarts, bool) or not isinstance(restarts, int | np.integer) or restarts < 1:
        raise ParameterError(f"restarts is {restarts!r}; it must be a whole number, at least 1.")
    loaded = data
    if start is not None and row.streams:
        data = _with_words_of(start, data)
    settings = Settings(
        found.name, method, checked, int(seed), float(heldout), int(heldout_seed), int(restarts),
        float(heldout_documents), "" if start is None else start.label,
        "" if data is loaded else loaded.fingerprint,
    )  # fmt: skip
    split = _split(found, data, settings)
    _check_something_is_left(found, data, split)
    _check_race(found, split.heldout, settings.restarts)
    return Problem(
        settings,
        row,
        found,
        data,
        split.train,
        split.heldout if split.heldout.n else None,
        split.note,
        _build(row, split.train, checked, start),
        found.build(split.train),
        check_memory,
    )
