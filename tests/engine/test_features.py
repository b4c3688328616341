"""Runs of a model of continuous data whose features come and go, with what the engine knows of them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Phase, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit, solve
from acvb_core.engine.history import RaceReport, Verdict, states_at_once
from acvb_core.engine.prepared import PreparedRun, prepare_run
from acvb_core.engine.race import race
from acvb_core.engine.run import run
from tests.engine.fakes import all_snapshots, bits, with_inference

TABLE = Table.build(np.random.default_rng(0).normal(size=(10, 3)))


@dataclass(frozen=True)
class Sweep:
    """What a sweep gives; the guess is that of every cell, with noise of sd 1."""

    features: int = 2
    bound: float | None = None
    not_stationary: bool = False
    moves: dict[str, int] | None = None
    guess: float = 0.0
    kept: int = 0


@dataclass(frozen=True, eq=False)
class State:
    """The sweeps so far, the seed, and what the last sweep gave."""

    sweep: int
    seed: int
    last: Sweep


@dataclass
class Scripted(UnaveragedMethod):
    """An inference that does what is written down: `tell(seed, sweep)`."""

    tell: Callable[[int, int], Sweep]

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> State:
        seed = int(rng.bit_generator.seed_seq.entropy[0])  # type: ignore[attr-defined]
        return State(0, seed, self.tell(seed, 0))

    def sweep(self, state: State, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[State, SweepInfo]:
        told = self.tell(state.seed, state.sweep + 1)
        order = {"features": np.arange(told.features)} if told.features < state.last.features else None
        info = SweepInfo(None, order, not_stationary=told.not_stationary, moves=told.moves)
        return State(state.sweep + 1, state.seed, told), info

    def posterior(self, state: State) -> Posterior:
        told, axes = state.last, {"objects": (None, "features"), "weights": ("features", None)}
        pi = 0.9 / (1.0 + np.arange(told.features))
        arrays = {
            "objects": np.tile(pi, (10, 1)), "weights": np.zeros((told.features, 3)), "pi": pi,
            "bias": np.full(3, told.guess), "precision": np.ones(3),
        }  # fmt: skip
        arrays |= {} if told.bound is None else {"bound": np.array([told.bound])}
        axes |= {"pi": ("features",), **{name: (None,) for name in arrays if name not in (*axes, "pi")}}
        derived = tuple({"bound"} & set(arrays))
        return Posterior(arrays, axes, ("objects",), derived=derived, normalised=False)

    def phase(self, state: State) -> Phase:
        return Phase(samples=state.last.kept)


def prepared(
    tell: Callable[[int, int], Sweep] | Sequence[Sweep],
    *,
    monitored: Any = "lower_bound",
    sampled: bool = False,
    schedule: tuple[int, int] = (1, 5),
    raced_by: Any = "lower_bound",
    bound_unit: Callable[[Any], float] | None = None,
    spec: dict[str, int] | None = None,
    **values: Any,
) -> PreparedRun:
    """Return a run as it is written down; a sequence is that of every seed, the state before any sweep first."""
    if not callable(tell):
        sweeps = tell
        tell = lambda own, sweep: sweeps[sweep]  # noqa: E731
    found = prepare_run(TABLE, "fab", {"k_max": 5, "max_sweeps": 8, **values}, heldout=0.2, **spec or {})
    row = replace(found.row, monitored=monitored, sampled=sampled)
    model_row = replace(
        found.model_row, schedule=lambda *_: schedule, raced_by=raced_by, bound_unit=bound_unit
    )
    return with_inference(replace(found, row=row, model_row=model_row), Scripted(tell))


#: The held-out cells on the standardised scale.
TRUTH = prepared([]).model._truth(prepared([]).heldout)


def densities(guess: float) -> np.ndarray:
    return np.exp(-0.5 * (TRUTH - guess) ** 2) / np.sqrt(2 * np.pi)


#: How far off the runs from seeds 3 to 6 are at the first rung, and after it: the best bound is of the worst guess.
FAR_OFF = {3: (2.5, 2.5), 4: (0.6, 2.0), 5: (0.9, 0.7), 6: (1.5, 0.4)}


def racing(**options: Any) -> PreparedRun:
    def tell(seed: int, sweep: int) -> Sweep:
        off = FAR_OFF[seed][sweep > 20]
        return Sweep(bound=1000.0 * off + sweep % 7, guess=TRUTH.mean() + off)

    given = {"raced_by": "heldout", "tol": 1e-12, "max_sweeps": 60, "schedule": (1, 999)} | options
    return prepared(tell, spec={"seed": 3, "restarts": 4}, **given)


def test_restarts_race_by_what_is_held_out_if_bounds_cannot_be_compared() -> None:
    result = solve(racing())
    assert result.prepared.spec.seed == 5
    table = result.race
    # No score is due at a rung: it is evaluated for the race.
    assert table["out_after"].fillna(0).tolist() == [20, 40, 0, 20]
    offs = [FAR_OFF[3][0], FAR_OFF[4][1], FAR_OFF[5][1], FAR_OFF[6][0]]
    wanted = [np.log(densities(TRUTH.mean() + off)).mean() for off in offs]
    assert table["heldout"].tolist() == pytest.approx(wanted)
    lone = solve(racing().with_seed(5))
    for name in ("heldout_log_likelihood", "lower_bound"):
        np.testing.assert_array_equal(result.state.history.column(name), lone.state.history.column(name))
    # By the bound another one would have won.
    assert solve(racing(raced_by="lower_bound")).prepared.spec.seed == 3
    # A race that was stored before held-out scores were in it is read.
    plain = result.to_dict()["race"]
    for candidate in plain["entrants"]:
        del candidate["heldout"]
    assert RaceReport.from_dict(plain | {"judged_by": "lower_bound"}).table()["heldout"].isna().all()


def test_such_restarts_need_something_held_out() -> None:
    with pytest.raises(ParameterError, match=r"nothing is held out.*cannot be compared.*\(restarts 1\)"):
        fit(TABLE, "fab", restarts=2)


def test_ties_go_to_the_lower_seed_and_no_number_loses() -> None:
    bounds, guesses = {3: -7, 4: -5, 5: -5, 6: np.nan}, {3: 9.0, 4: 1.0, 5: 1.0, 6: np.nan}
    for judged, name, values in (("lower_bound", "bound", bounds), ("heldout", "guess", guesses)):
        told = prepared(
            lambda seed, _, name=name, values=values: Sweep(**{name: values[seed]}), raced_by=judged,
            monitored=None, schedule=(999, 999), max_sweeps=60, spec={"seed": 3, "restarts": 4},
        )  # fmt: skip
        *_, ended = race(told, first_rung=2)
        outs = [candidate.out_after for candidate in ended.race_report.candidates]
        assert outs == [2, None, 4, 2], judged


def test_states_of_losers_are_released_at_once() -> None:
    gc.freeze()  # the collections below need not look through what is loaded
    alive: weakref.WeakSet[State] = weakref.WeakSet()
    told = prepared(
        lambda seed, _: Sweep(bound=-float((seed - 3) * 7 % 8)), monitored=None, max_sweeps=60,
        spec={"seed": 3, "restarts": 8},
    )  # fmt: skip
    sweep = told.algorithm.sweep

    def watched(*given: Any) -> tuple[State, SweepInfo]:
        state, info = sweep(*given)
        alive.add(state)
        return state, info

    told.algorithm.sweep = watched  # type: ignore[method-assign]
    most = 0
    for update in race(told, first_rung=4):
        del update
        gc.collect()
        most = max(most, len({state.seed for state in alive}))
    assert most == states_at_once(8) == 5
    gc.collect()
    assert not alive, "nothing is kept of a race that nobody looks at any more"


def test_a_bound_is_compared_with_the_one_before_only_at_one_number_of_features() -> None:
    """Features go until sweep 4: its bound is of the model it leaves, and that of sweep 5 is compared with it."""
    gone = {"not_stationary": True, "moves": {"dropped": 1}}
    merged = Sweep(2, -9.0, not_stationary=True, moves={"merged": 1, "dropped": 0})
    sweeps = [Sweep(5, 0.0), Sweep(5, -9.0), Sweep(4, -9.0, **gone), Sweep(3, -9.0, **gone), merged]
    sweeps += [Sweep(2, -9.05)] * 2
    for tol, ends in ((0.01, 5), (0.004, 6)):
        result = solve(prepared(sweeps, bound_unit=lambda data: 10.0, tol=tol, max_sweeps=6))
        assert (result.snapshot.sweep, result.verdict) == (ends, Verdict.CONVERGED)
    history = result.history
    assert history["effective_k_features"].tolist() == [5, 4, 3, 2, 2, 2]
    assert history["dropped"].fillna(0).tolist() == [0, 1, 1, 0, 0, 0]
    assert history["merged"].fillna(0).tolist() == [0, 0, 0, 1, 0, 0]
    assert "split" not in history


def test_all_features_may_go() -> None:
    last = Sweep(1, -4.0, not_stationary=True, moves={"dropped": 1})
    empty = [Sweep(2, -5.0), last, Sweep(0, -3.0, not_stationary=True), Sweep(0, -3.0)]
    result = solve(prepared(empty, bound_unit=lambda data: 10.0, max_sweeps=3))
    assert (result.verdict, result.snapshot.sweep) == (Verdict.CONVERGED, 3)
    assert result.history["effective_k_features"].tolist() == [1, 0, 0]
    assert result.history["change"].tolist() == [0.0, 0.0, 0.0]
    assert (result.full_domains, len(result.tables["features"])) == ({}, 0)
    assert result.summary()["effective_k"] == {"features": 0}
    with pytest.raises(ParameterError, match=r"no clusters.*features"):
        result.labels("objects")


def test_densities_and_means_of_kept_samples_are_mixed() -> None:
    """Two numbers a cell: the score is that of the mixture, at any sweep, and after continuing from one."""
    guesses = [9.0, 9.0, 0.0, 1.0, -1.0, 2.0]
    sweeps = [Sweep(guess=guess, kept=max(n - 1, 0)) for n, guess in enumerate(guesses)]
    told = prepared(sweeps, monitored=None, sampled=True, max_sweeps=5, schedule=(1, 1))
    snapshots = all_snapshots(told)
    for sweep, snapshot in enumerate(snapshots, 1):
        kept = guesses[2 : sweep + 1] if sweep > 1 else guesses[1:2]
        density = np.mean([densities(guess) for guess in kept], axis=0)
        assert snapshot.heldout.log_likelihood == pytest.approx(np.log(density).mean())
        assert snapshot.heldout.rmse == pytest.approx(np.sqrt(((TRUTH - np.mean(kept)) ** 2).mean()))
    more = list(run(told, resume=snapshots[2]))
    assert bits(more[-1]) == bits(snapshots[-1])
