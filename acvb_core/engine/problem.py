"""A run before it starts: data, split, method and settings put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from weakref import WeakKeyDictionary

from acvb_core.data.relation import Relation
from acvb_core.data.split import HeldOut, Split, hold_out
from acvb_core.protocols import Inference, Model
from acvb_core.registry import Method, method_row, model_row

#: Memory that scoring a held-out entry takes: its probability, and the sorted copies behind the ranking scores.
SCORING_BYTES = 96


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
        Share of the observed entries that is held out.
    heldout_seed : int
    """

    model: str
    method: str
    values: Mapping[str, Any]
    seed: int = 0
    heldout: float = 0.0
    heldout_seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Problem:
    """A method bound to its training data, with the entries it will be judged on.

    Attributes
    ----------
    settings : Settings
    row : Method
        The registry's row of the method.
    relation : Relation
        All the data, as loaded.
    train : Relation
        The data without the held-out entries.
    heldout : HeldOut or None
    note : str or None
        What the split had to change, for the user.
    inference : Inference
    model : Model
    """

    settings: Settings
    row: Method
    relation: Relation
    train: Relation
    heldout: HeldOut | None
    note: str | None
    inference: Inference
    model: Model

    @property
    def label(self) -> str:
        """Short name of the run: method and seed."""
        return f"{self.row.label} · seed {self.settings.seed}"

    @property
    def memory_bytes(self) -> int:
        """Peak memory the run will need beyond the data."""
        values = dict(self.settings.values)
        needed = model_row(self.settings.model).memory(self.train, self.settings.method, values)
        return needed + (0 if self.heldout is None else SCORING_BYTES * self.heldout.n)


#: The last split of each relation: runs that are compared have the same one, and need not hold a copy each.
_splits: WeakKeyDictionary[Relation, tuple[float, int, Split]] = WeakKeyDictionary()


def _split(relation: Relation, share: float, seed: int) -> Split:
    known = _splits.get(relation)
    if known is not None and known[:2] == (share, seed):
        return known[2]
    split = hold_out(relation, share, seed)
    if split.train is not relation:  # a value that refers to its key would never be let go
        _splits[relation] = (share, seed, split)
    return split


def pose(
    relation: Relation,
    method: str,
    values: Mapping[str, Any] | None = None,
    *,
    model: str = "irm",
    seed: int = 0,
    heldout: float = 0.0,
    heldout_seed: int = 0,
) -> Problem:
    """Put a run together without starting it.

    Parameters
    ----------
    relation : Relation
    method : str
        Name in the registry.
    values : mapping, optional
        Settings that differ from the defaults.
    seed, heldout_seed : int
        Of the inference and of the split.
    heldout : float
        Share of the observed entries to hold out, 0 for none.

    Raises
    ------
    ParameterError
        An unknown model, method or setting, or a value out of range.
    """
    row = method_row(model, method)
    checked = row.values(dict(values or {}))
    settings = Settings(model, method, checked, int(seed), float(heldout), int(heldout_seed))
    split = _split(relation, float(heldout), int(heldout_seed))
    return Problem(
        settings,
        row,
        relation,
        split.train,
        split.heldout if split.heldout.n else None,
        split.note,
        row.build(split.train, checked),
        model_row(model).build(split.train),
    )
