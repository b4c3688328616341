"""What every method costs: memory as estimated, stops that take effect soon, kernels that let other threads work."""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from acvb_core.core.spec import MethodSpec
from acvb_core.engine.compilation import compile_for
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import Schedule, run
from acvb_core.models.irm import gibbs as chain
from acvb_core.models.irm import model as memory
from acvb_core.models.irm.spec import starting_clusters
from acvb_core.registry import METHODS
from acvb_core.samples.planted_mixtures import planted_topics
from tests.costs import Gaps, find_kernels

from .cases import CASES, affordable, built, every_method, known, last_of, limited, usual

#: Some of the compiled functions, to see that they are found.
KERNELS = (
    "lda.kernels.zeroth_order", "irm.kernels.zeroth_order", "irm.network.zeroth_order_network",
    "irm.network.second_order_network",
)  # fmt: skip


@cache
def wide(model: str) -> tuple[Any, list[dict[str, Any]], list[dict[str, Any]]]:
    return CASES[model].wide()


@pytest.mark.whole_chain
@every_method
def test_checkpoint_is_called_often(row: MethodSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause or a stop takes effect soon: in the start, in sweeps, in one with every move and in the diagnostics."""
    if row.averaged and row.name != "acvb0":  # the average is taken in one place
        return
    monkeypatch.setattr(chain, "_WORK", 5e7)  # a chain of a second: more of its sweeps are like these
    last_of(built(row, usual(row)), 1)  # whatever is loaded at first use
    data, values, wanted = CASES[row.model].medium()
    values = affordable(row, data, values)
    # Of relations and networks the start is the same code for all but the sampler: the others come by it once.
    if "k_rows" in known(row, values) and row.name not in ("cvb0", "gibbs"):
        values = values | {"init": "random"}
    sweeps = 1 if row.name == "cvb_exact" else 3  # with exact expectations one takes several seconds
    prepared = prepare_run(data, row.name, limited(row, data, values, sweeps), model=row.model)
    gaps = Gaps()
    *_, snapshot = run(prepared, poll=gaps, schedule=Schedule(1, 1))
    gaps()
    assert len(gaps.seconds) >= wanted
    state = snapshot.state
    # Splits are tried where there is nothing to merge, merges on trial where there is neither; for all methods alike.
    for sweep in range(3 if row.name == "cvb0" else 1):
        due = CASES[row.model].due_for_moves(state)
        if due is state:  # no moves: the sweep would be like those before
            break
        gaps.restart()
        with one_thread():
            state, _ = prepared.algorithm.sweep(due, np.random.default_rng(4 + sweep), gaps)
        gaps()
    assert gaps.longest < 50, "about a second of an idle processor of today"


@cache
def load_what_is_used_first() -> None:
    """Run every method once: libraries and compiled functions take memory that is not of a run."""
    import sklearn.cluster  # noqa: F401 - only runs on many objects use it

    for row in METHODS:
        last_of(built(row, usual(row)), 1)


def measured(row: MethodSpec) -> list[tuple[dict[str, Any], float]]:
    """Return every setting that decides how much memory a method needs, and for some methods a held-out share."""
    _, own, shared = wide(row.model)
    # One that holds the most besides what it shares, and one that shares nothing.
    tried = own + shared if row.name in ("acvb", "gibbs") else own
    choices = [values for values in tried if known(row, values) == values]
    if row.name == "cvb_exact":  # whose sweeps are slow
        choices = [values for values in choices if values["k"] == 5 or "hyper" in values]
    found = [(values, 0.0) for values in choices]
    if row.name in ("acvb0", "gibbs", "sdm"):
        found.append((next(values for values in shared + own if known(row, values) == values), 0.1))
    return found


@pytest.mark.whole_chain
@every_method
def test_memory_is_as_estimated(row: MethodSpec) -> None:
    for values, heldout in measured(row):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chain, "BURN_IN", 4)  # nothing is kept of it
            # Runs of a few sweeps have no more clusters than at the start.
            patch.setattr(memory, "limit_splits", lambda _, values: starting_clusters(values))
            # All samples count if they, or moves, take the most.
            if values.get("k_rows") != 40 and not values.get("split"):
                patch.setattr(chain, "KEPT", 15)
                patch.setattr(memory, "KEPT", 15)
            ratio = measure_memory(row, values, heldout)
        assert 0.3 <= ratio <= 1.3, f"{values}, {heldout} held out: {ratio:.2f}"


def measure_memory(row: MethodSpec, values: dict[str, Any], heldout: float) -> float:
    """Return the peak of a run by its estimate."""
    load_what_is_used_first()
    values = known(row, {"max_sweeps": 3, "burn_in": 1, "burn_in_epochs": 0.05} | values)
    data = wide(row.model)[0]
    if row.name == "cvb_exact":  # whose sweeps take a hundred times as long: fewer documents, and fewer words
        data = planted_topics(160, 960, 8, 40, 0.1, 0.1, 1).corpus
    prepared = prepare_run(data, row.name, affordable(row, data, values), model=row.model, heldout=heldout)
    CASES[row.model].arrays(prepared.train)  # what is made of the data when it is first asked for
    compile_for(prepared)
    return peak_of(lambda: deque(run(prepared), maxlen=0)) / prepared.memory_bytes


def peak_of(do: Callable[[], object]) -> int:
    """Return the bytes that something takes at its peak."""
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_every_kernel_lets_other_threads_work() -> None:
    """A page must be answered while a run computes."""
    kernels = find_kernels()
    assert {f"acvb_core.models.{name}" for name in KERNELS} <= set(kernels)
    assert [name for name, kernel in kernels.items() if not kernel.targetoptions.get("nogil")] == []
