"""Compiled functions are ready before a run's clock starts: a tiny run of the same method compiles them, or reads them.

Numba compiles a function when it is first called, which takes seconds, or reads it from its cache on disk, which takes
some too. Neither is the method's time.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numba.core import event

from acvb_core.core.compiler_process import share_compiling
from acvb_core.core.kernel_cache import lock_cache
from acvb_core.core.protocols import Algorithm, Posterior, predict_averaged
from acvb_core.core.spec import MethodSpec, ModelSpec, Values
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import PreparedRun
from acvb_core.evaluate.split import Split

Key = tuple[Any, ...]

#: Held-out entries are missing in the training data; some sums differ without any. They come first, because a chain's
#: samples predict them.
_SHARES = (0.2, 0.0)

#: What is said while a first run waits for the compiler: 9 s on two fast cores, 55 s on two slow ones.
COMPILING = "compiling, once (up to a minute)"

lock_cache()
_LOG = logging.getLogger(__name__)
_ready: set[Key] = set()
_locks: dict[Key, threading.Lock] = {}
_compiler = threading.Lock()


def compile_for(prepared: PreparedRun, announce: Callable[[], object] = lambda: None) -> None:
    """Make every compiled function of a run ready, once a process for each method and its choices.

    `announce` is called once where something is compiled and not only read from the cache on disk.
    """
    values, goes_on = dict(prepared.spec.values), bool(prepared.spec.start)
    compile_method(prepared.model_row, prepared.row, values, goes_on, announce, shared=True)


def compile_method(
    model: ModelSpec,
    row: MethodSpec,
    values: Values,
    goes_on: bool = False,
    announce: Callable[[], object] = lambda: None,
    *,
    shared: bool = False,
) -> int:
    """Run a method on its model's tiny data, unless that was done before; return the number of runs made.

    Of the settings, only choices decide which functions are used; numbers do not. `goes_on`: the run continues from an
    earlier one; `announce` as for `compile_for`; `shared`: another process compiles half of what is missing.
    """
    choices = _choices_of(row, values)
    key = (model.name, row.name, goes_on, *sorted(choices.items()))
    if key in _ready:
        return 0
    with _locks.setdefault(key, threading.Lock()), one_thread():
        if key in _ready:
            return 0
        try:
            try:  # to read all from the cache on disk
                with refuse_to_compile():
                    _run_tiny(model, row, choices, goes_on)
            except CompilationRequest:
                announce()
                what = (model.name, row.name, json.dumps([choices, goes_on]))
                # One method at a time.
                with _compiler, share_compiling(*what) if shared else nullcontext():
                    _run_tiny(model, row, choices, goes_on)
        except Exception:  # no reason not to run: what is left is compiled by the run itself
            _LOG.exception("The compiled functions of %s could not be made ready.", row.label)
        _ready.add(key)
        return len(_SHARES)


def _choices_of(row: MethodSpec, values: Values) -> Values:
    chosen = [one.name for one in row.parameters if one.kind == "bool" or one.choices]
    return {name: values[name] for name in chosen if name in values}


def compile_other_half(model: ModelSpec, row: MethodSpec, values: Values, goes_on: bool = False) -> None:
    """Compile for a method first what `compile_method`, called in another process at the same time, compiles last."""
    choices = {**_choices_of(row, values), **model.warm_up().other_half}
    with one_thread():
        _run_tiny(model, row, choices, goes_on, _SHARES[::-1])


class CompilationRequest(BaseException):
    """Raised in place of compiling; no error, so that nobody takes it for one."""


class _Refusal(event.Listener):
    """Raises where a thread would compile."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def on_start(self, event: Any) -> None:
        if threading.get_ident() == self._thread:
            raise CompilationRequest

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def refuse_to_compile() -> Iterator[None]:
    """Raise `CompilationRequest` where this thread would compile what the cache on disk does not have."""
    with event.install_listener("numba:compile", _Refusal()):
        yield


def _run_tiny(
    model: ModelSpec, row: MethodSpec, choices: Values, goes_on: bool, shares: Sequence[float] = _SHARES
) -> None:
    """Run a method on tiny data with and without held-out entries, and evaluate everything.

    What a run begins with is the same for both, so the second is spared it.
    """
    case = model.warm_up()
    data, sizes = case.tiny_data()
    for number, share in enumerate(shares):
        choices = {**choices, **(case.other_half if number else {})}
        values = row.values({**choices, **sizes, **_begin_to_average(row)})
        split = model.hold_out(data, share, 0)
        posterior = _evaluate(model, row.build(split.train, values), split, case.sweeps)
        if goes_on and row.build_from is not None and case.start_from is not None:
            start = case.start_from(row.name, values, posterior, split.train)
            _evaluate(model, row.build_from(split.train, values, start), split, 2)


def _begin_to_average(row: MethodSpec) -> Values:
    """Return the settings under which averaging begins at once: tiny data may take long to settle."""
    if row.averaged and row.streams:
        return {"burn_in_epochs": 0.0}
    return {"burn_in": 1} if any(parameter.name == "burn_in" for parameter in row.parameters) else {}


def _evaluate(row: ModelSpec, algorithm: Algorithm, split: Split, sweeps: int) -> Posterior:
    """Do some sweeps and evaluate every diagnostic of the model; return the posterior."""
    model = row.build(split.train)
    state = algorithm.init(np.random.default_rng(0))
    for sweep in range(sweeps):
        state, _ = algorithm.sweep(state, np.random.default_rng(sweep))
    posterior = algorithm.posterior(state)
    for given in (algorithm.responsibilities(state), None):
        model.lower_bound(posterior, given)
        model.extras(posterior, given, model.pseudo_loo(posterior, responsibilities=given))
    model.predict(posterior, split.heldout)
    predict_averaged(model, posterior, split.heldout)
    use_model = row.warm_up().use_model
    if use_model is not None:
        use_model(model, posterior, split.train)
    return posterior
