"""What every method costs: memory as estimated, stops that take effect soon, kernels that let other threads work."""

from __future__ import annotations

import sys
import time
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from acvb_core import warmup
from acvb_core.engine.problem import pose
from acvb_core.engine.run import Schedule, run
from acvb_core.engine.threads import one_thread
from acvb_core.registry import METHODS
from acvb_core.rows import Method

from .cases import CASES, built, every_method, known, last_of, limited, name_of, usual

#: Some of the compiled functions, to see that they are found.
KERNELS = (
    "lda.kernels.zeroth_order", "irm.kernels.zeroth_order", "irm.kernels_network.zeroth_order_network",
    "irm.kernels_network_second.second_order_network",
)  # fmt: skip


@cache
def medium(model: str) -> tuple[Any, dict[str, Any], int]:
    return CASES[model].medium()


@cache
def wide(model: str) -> tuple[Any, list[dict[str, Any]]]:
    return CASES[model].wide()


@every_method
def test_checkpoint_is_called_often(row: Method) -> None:
    """A pause or a stop takes effect soon: in the start, in sweeps, in one with every move and in the diagnostics."""
    last_of(built(row, usual(row)), 1)  # whatever is loaded at first use
    gaps, last, calls = [0.0], time.perf_counter(), 0

    def checkpoint() -> None:
        nonlocal last, calls
        now = time.perf_counter()
        gaps.append(now - last)
        last, calls = now, calls + 1

    data, values, wanted = medium(row.model)
    problem = pose(data, row.name, limited(row, data, values, 3), model=row.model)
    last = time.perf_counter()
    *_, snapshot = run(problem, checkpoint=checkpoint, schedule=Schedule(1, 1))
    assert calls >= wanted
    state = snapshot.state
    # Splits are tried where there is nothing to merge, merges on trial where there is neither; for all methods alike.
    for sweep in range(3 if row.name == "cvb0" else 1):
        due = CASES[row.model].due_for_moves(state)
        last = time.perf_counter()
        with one_thread():
            state, _ = problem.inference.sweep(due, np.random.default_rng(4 + sweep), checkpoint)
        checkpoint()
    assert max(gaps) < 1.0, f"{max(gaps):.2f} s between two checkpoints"


@every_method
def test_long_passes_are_cut_into_pieces(row: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pieces of ten objects a pass over many comes by the checkpoint many times."""
    if (row.model, row.name) == ("irm", "vb"):  # a batch of matrix products
        return
    for place in CASES[row.model].pieces:
        monkeypatch.setattr(place, lambda *_: 10)
    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1

    data, wanted = CASES[row.model].long()
    inference = built(row, data, window=1_000)  # of a stream all documents, as a sweep of the others
    state = inference.init(np.random.default_rng(0))
    calls = 0
    inference.sweep(state, np.random.default_rng(1), checkpoint)
    assert calls >= wanted


def measured() -> list[Any]:
    """Every method with every setting that decides how much memory it needs, and some with held-out data."""
    found = []
    for row in METHODS:
        choices = [values for values in wide(row.model)[1] if known(row, values) == values]
        found += [pytest.param(row, values, 0.0, id=f"{name_of(row)}-{values}") for values in choices]
        if row.name in ("acvb0", "gibbs", "sdm"):
            found.append(pytest.param(row, choices[0], 0.1, id=f"{name_of(row)}-heldout"))
    return found


@pytest.mark.parametrize(("row", "values", "heldout"), measured())
def test_memory_is_as_estimated(row: Method, values: dict[str, Any], heldout: float) -> None:
    values = known(row, {"max_sweeps": 3, "burn_in": 1, "burn_in_epochs": 0.05} | values)
    problem = pose(wide(row.model)[0], row.name, values, model=row.model, heldout=heldout)
    CASES[row.model].arrays(problem.train)  # what is made of the data when it is first asked for
    tracemalloc.start()
    try:
        for _ in run(problem):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.3 <= peak / problem.memory_bytes <= 1.3, f"{peak / problem.memory_bytes:.2f}"


def test_every_kernel_lets_other_threads_work() -> None:
    """A page must be answered while a run computes."""
    warmup.warm_up()
    kernels = {
        f"{module.__name__}.{name}": value
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("acvb_core.")
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }
    assert {f"acvb_core.{name}" for name in KERNELS} <= set(kernels)
    assert [name for name, kernel in kernels.items() if not kernel.targetoptions.get("nogil")] == []
