"""A run before it starts: data, split, method and settings put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from acvb_core.engine.standing import states_at_once
from acvb_core.errors import ParameterError
from acvb_core.protocols import Inference, Model
from acvb_core.registry import method_row, model_for, model_row
from acvb_core.rows import Method, ModelRow


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
        Runs from `seed`, `seed` + 1, … that race by the lower bound. What the race leaves is the winner's, with the
        winner's seed and 1 here: it is repeated alone.
    """

    model: str
    method: str
    values: Mapping[str, Any]
    seed: int = 0
    heldout: float = 0.0
    heldout_seed: int = 0
    restarts: int = 1

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
    data : Relation or Corpus
        All the data, as loaded.
    train : Relation or Corpus
        The data without what is held out.
    heldout : HeldOut, HeldOutWords or None
    note : str or None
        What the split had to change, for the user.
    inference : Inference
    model : Model
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

    @property
    def label(self) -> str:
        """Short name of the run: method and seed."""
        return f"{self.row.label} · seed {self.settings.seed}"

    def alone(self, seed: int) -> Problem:
        """Return the run from one seed, without a race."""
        return replace(self, settings=replace(self.settings, seed=seed, restarts=1))

    @property
    def memory_bytes(self) -> int:
        """Peak memory the run will need beyond the data."""
        values = dict(self.settings.values)
        needed = self.model_row.memory(self.train, self.settings.method, values)
        needed *= states_at_once(self.settings.restarts)
        return needed + (0 if self.heldout is None else self.model_row.scoring_bytes * self.heldout.n)


#: The last split of each data set: runs that are compared have the same one, and need not hold a copy each.
_splits: WeakKeyDictionary[Any, tuple[str, float, int, Any]] = WeakKeyDictionary()


def _split(row: ModelRow, data: Any, share: float, seed: int) -> Any:
    known = _splits.get(data)
    if known is not None and known[:3] == (row.name, share, seed):
        return known[3]
    split = row.hold_out(data, share, seed)
    if split.train is not data:  # a value that refers to its key would never be let go
        _splits[data] = (row.name, share, seed, split)
    return split


def pose(
    data: Any,
    method: str,
    values: Mapping[str, Any] | None = None,
    *,
    model: str | None = None,
    seed: int = 0,
    heldout: float = 0.0,
    heldout_seed: int = 0,
    restarts: int = 1,
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

    Raises
    ------
    ParameterError
        An unknown model, method or setting, or a value out of range.
    """
    found = model_for(data) if model is None else model_row(model)
    found.accept(data)
    row = method_row(found.name, method)
    checked = row.values(dict(values or {}))
    if isinstance(restarts, bool) or not isinstance(restarts, int | np.integer) or restarts < 1:
        raise ParameterError(f"restarts is {restarts!r}; it must be a whole number, at least 1.")
    settings = Settings(
        found.name, method, checked, int(seed), float(heldout), int(heldout_seed), int(restarts)
    )
    split = _split(found, data, float(heldout), int(heldout_seed))
    return Problem(
        settings,
        row,
        found,
        data,
        split.train,
        split.heldout if split.heldout.n else None,
        split.note,
        row.build(split.train, checked),
        found.build(split.train),
    )
