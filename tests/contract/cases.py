"""What the contract needs to know of each model, and every method of every model built at a small size."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import pytest

from acvb_core.core.protocols import Algorithm, Array, Posterior, Responsibilities, SweepInfo
from acvb_core.core.spec import MethodSpec
from acvb_core.registry import METHODS, methods_of, model_row
from acvb_core.store.files import from_text_bytes, text_bytes
from acvb_core.store.states import decode_state, encode_state

from .cases_irm import IrmCases
from .cases_lda import LdaCases
from .cases_lfm import LfmCases
from .cases_network import NetworkCases

SWEEPS = 6


class ModelCases(Protocol):
    """Data of one model, and how to tell that what a method says about them makes sense.

    Attributes
    ----------
    small : dict
        Settings under which a run on any of the data is quick.
    usual : str
        Name of data on which nothing is odd.
    variations : tuple of dict
        Settings to try on all data; those that a method does not have are not tried with it.
    fixed : dict
        Settings under which all hyper-parameters are held, and what posteriors then say of them (nothing where they
        cannot be held) …
    learned : dict
        … and such under which all are learned.
    sizes : tuple of dict
        Numbers of clusters to try, one and more than there are objects among them.
    pieces : tuple of str
        Functions that say how much a kernel call may take, to be replaced by ones that say little.
    whole : int
        Sweeps in which, from a state that is due for moves, everything is done that a run does.
    fewest : int
        Clusters that are left at least.
    has_loo : bool
        Whether there is a pseudo leave-one-out log likelihood.
    most_evidence : float
        What no log probability of the data exceeds, nor a lower bound of it: 0 of discrete data.
    approximate : tuple of str
        Diagnostics that are NaN where the approximation which they are of broke down.
    """

    small: dict[str, Any]
    usual: str
    variations: tuple[dict[str, Any], ...]
    fixed: tuple[dict[str, Any], dict[str, float]]
    learned: dict[str, Any]
    sizes: tuple[dict[str, Any], ...]
    pieces: tuple[str, ...]
    whole: int
    fewest: int
    has_loo: bool
    most_evidence: float
    approximate: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Return data by name, all that are odd among them."""
        ...

    def arrays(self, data: Any) -> list[np.ndarray]:
        """Return the arrays that data are held in."""
        ...

    def everything(self, data: Any) -> Any:
        """Return all there is to predict."""
        ...

    def check(self, posterior: Posterior, data: Any, swept: bool) -> None:
        """Raise where a posterior cannot be right."""
        ...

    def check_tables(self, tables: dict[str, Any], data: Any, posterior: Posterior) -> None:
        """Raise where the results a user takes away cannot be right."""
        ...

    def check_predictions(self, probability: Array, data: Any) -> None:
        """Raise where predictions of everything cannot be right."""
        ...

    def medium(self) -> tuple[Any, dict[str, Any], int]:
        """Return data on which a sweep takes a while, settings, and how often three sweeps come by the poll."""
        ...

    def long(self) -> tuple[Any, int]:
        """Return data that are cut into many small pieces, and how often a sweep comes by the poll at least."""
        ...

    def wide(self) -> tuple[Any, list[dict[str, Any]], list[dict[str, Any]]]:
        """Return data whose memory can be measured, settings to measure it with, and settings for a few methods alone.

        Under the latter what most methods share takes the most memory: their start, and moves.
        """
        ...

    def due_for_moves(self, state: Any) -> Any:
        """Return the state such that the next sweep does all that a sweep may do."""
        ...


CASES: dict[str, ModelCases] = {
    "irm": IrmCases(),
    "network": NetworkCases(),
    "lda": LdaCases(),
    "lfm": LfmCases(),
}


@cache
def data_of(model: str) -> dict[str, Any]:
    """Return a model's data, made once."""
    return CASES[model].data()


def name_of(row: MethodSpec) -> str:
    """Return what a method is called in the names of tests."""
    return f"{row.model}-{row.name}"


every_method = pytest.mark.parametrize("row", METHODS, ids=map(name_of, METHODS))


def methods_for(model: str) -> pytest.MarkDecorator:
    """Run a test for every method of one model."""
    return pytest.mark.parametrize("row", methods_of(model), ids=map(name_of, methods_of(model)))


def known(row: MethodSpec, values: dict[str, Any]) -> dict[str, Any]:
    """Return those of some settings that a method has."""
    names = {p.name for p in row.parameters}
    return {name: value for name, value in values.items() if name in names}


def variations(row: MethodSpec) -> Iterator[dict[str, Any]]:
    """Give the variations that a method has all settings for."""
    for values in CASES[row.model].variations:
        if known(row, values) == values:
            yield values


def built(row: MethodSpec, data: Any, **values: Any) -> Algorithm:
    """Return a method at a small size; settings that it does not have are left out."""
    given = CASES[row.model].small | {"burn_in": 2} | values
    return row.build(data, row.values(known(row, given)))


def limited(row: MethodSpec, data: Any, values: dict[str, Any], sweeps: int) -> dict[str, Any]:
    """Return settings with which a run on all of the data ends after so many sweeps at the latest."""
    if not row.streams:
        return known(row, values) | {"max_sweeps": sweeps}
    given, count = row.values(known(row, values)), row.count_sweeps
    assert count is not None
    epochs = next(e for e in np.arange(0.02, 100.0, 0.02) if count(data, given, e) == sweeps)
    return known(row, values) | {"epochs": float(epochs)}


def affordable(row: MethodSpec, data: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return settings with fewer clusters where a sweep would take more than a second or two."""
    seconds = model_row(row.model).sweep_seconds
    while values.get("k", 0) >= 5 and seconds(data, row.name, row.values(known(row, values))) > 1.5:
        values = values | {"k": values["k"] // 5}
    return values


def usual(row: MethodSpec) -> Any:
    """Return data of a method's model on which nothing is odd."""
    return data_of(row.model)[CASES[row.model].usual]


def course(
    algorithm: Algorithm,
    sweeps: int = SWEEPS,
    seed: int = 1,
    due: Callable[[Any], Any] | None = None,
) -> Iterator[tuple[Any, SweepInfo | None]]:
    """Give the first state and the one after each sweep; something may be done to the first."""
    state = algorithm.init(np.random.default_rng([seed, 0]))
    state = state if due is None else due(state)
    yield state, None
    for sweep in range(1, sweeps + 1):
        state, info = algorithm.sweep(state, np.random.default_rng([seed, sweep]))
        yield state, info


def last_of(
    algorithm: Algorithm, sweeps: int = SWEEPS, seed: int = 1, due: Callable[[Any], Any] | None = None
) -> Any:
    """Return the state after some sweeps."""
    return list(course(algorithm, sweeps, seed, due))[-1][0]


def arrays_in(value: Any, found: list[np.ndarray] | None = None) -> list[np.ndarray]:
    """Return every array of a state; what is handed on from state to state is no part of one."""
    found = [] if found is None else found
    if isinstance(value, np.ndarray):
        found.append(value)
    elif is_dataclass(value):
        for field in fields(value):
            arrays_in(getattr(value, field.name), found)
    elif isinstance(value, dict | tuple) and not isinstance(value, Responsibilities):
        for one in value.values() if isinstance(value, dict) else value:
            arrays_in(one, found)
    return found


def bits_of(posterior: Posterior) -> dict[str, Any]:
    """Return a posterior in a form that == compares bit by bit."""
    found = {name: (array.shape, array.tobytes()) for name, array in posterior.arrays.items()}
    return found | {"hyper": {name: np.float64(v).tobytes() for name, v in posterior.hyper.items()}}


def through_a_file(state: Any) -> Any:
    """Return a state as it comes back from a file."""
    tree, arrays = encode_state(state)
    file = io.BytesIO()
    np.savez(file, tree=text_bytes(tree), **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        read = {name: stored[name] for name in stored.files}
    return decode_state(from_text_bytes(read.pop("tree")), read)
