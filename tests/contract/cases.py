"""What the contract needs to know of each model, and every method of every model built at a small size."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np
import pytest

from acvb_core.core.protocols import Algorithm, Posterior, Responsibilities, SweepInfo
from acvb_core.core.spec import MethodSpec
from acvb_core.registry import methods_of, model_row
from acvb_core.store.files import from_text_bytes, text_bytes
from acvb_core.store.states import decode_state, encode_state
from tests.loops import for_each

from .cases_irm import IrmCases
from .cases_lda import LdaCases
from .cases_lfm import LfmCases
from .cases_network import NetworkCases
from .cases_poisson import CountCases, CountNetworkCases

SWEEPS = 6


#: What each model's cases say: `small` (settings of a quick run), `usual` (name of ordinary data), `variations`
#: (settings to try on all data), `fixed` (settings without learning, and the hyper-parameters they give), `learned`,
#: `sizes` (numbers of clusters), `pieces` (functions that cut kernel calls), `whole` (sweeps in which all moves are
#: made), `fewest` (clusters left), `has_loo`, `most_evidence` (limit of every log probability of the data),
#: `approximate` (diagnostics that may be NaN). `data()` gives all data by name; `medium()` and `wide()` give data to
#: measure poll gaps and memory with; `check...` raise if an answer cannot be right; `due_for_moves(state)` gives a
#: state whose next sweep does all that a sweep may do.
CASES: dict[str, Any] = {
    "irm": IrmCases(), "network": NetworkCases(), "lda": LdaCases(), "lfm": LfmCases(),
    "poisson": CountCases(), "poisson-network": CountNetworkCases(),
}  # fmt: skip


@cache
def data_of(model: str) -> dict[str, Any]:
    """Return a model's data, made once."""
    return CASES[model].data()


def name_of(row: MethodSpec) -> str:
    """Return what a method is called in the names of tests."""
    return f"{row.model}-{row.name}"


def every_method(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test with every method: one case for each model, which names the methods that fail."""
    runs = {model: methods_for(model)(test) for model in CASES}

    @wraps(test)
    def run(model: str, **fixtures: Any) -> None:
        runs[model](**fixtures)

    fixtures = signature(runs["irm"]).parameters.values()
    model = Parameter("model", Parameter.POSITIONAL_OR_KEYWORD)
    run.__signature__ = Signature([model, *fixtures])  # type: ignore[attr-defined]
    return pytest.mark.parametrize("model", list(CASES))(run)


def methods_for(*models: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with every method of some models."""
    return for_each("row", {name_of(row): row for model in models for row in methods_of(model)})


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
    algorithm: Algorithm, sweeps: int = SWEEPS, seed: int = 1, due: Callable[[Any], Any] | None = None
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
