"""Runs of a model of continuous data whose features come and go, with what the engine knows of them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.display import HeldOutScore, ModelDisplay
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Phase, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import MethodSpec, ModelSpec, Reference
from acvb_core.engine.fitting import fit, solve
from acvb_core.engine.history import RaceReport, Verdict, states_at_once
from acvb_core.engine.prepared import Binding, PreparedRun, RunSpec
from acvb_core.engine.race import race
from acvb_core.engine.run import run
from acvb_core.samples.planted_mixtures import planted_features
from tests.engine.fakes import all_snapshots, bits

DISPLAY = ModelDisplay((), HeldOutScore("score", "log_likelihood", str))
N_OBJECTS, N_COLUMNS = 10, 3


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers as the engine sees data."""

    name: str = "numbers"
    shape: tuple[int, int] = (N_OBJECTS, N_COLUMNS)
    fingerprint: str = "f" * 16

    def identity(self) -> dict[str, Any]:
        return {"name": self.name}


class Cells(NamedTuple):
    """What is held out: values of cells."""

    values: np.ndarray

    @property
    def n(self) -> int:
        return len(self.values)


class Score(NamedTuple):
    """Scores of cells."""

    log_likelihood: float
    rmse: float


HELD_OUT = Cells(np.array([0.5, -1.0, 2.0, 0.0]))


@dataclass(frozen=True)
class Sweep:
    """What a sweep gives: so many features, this bound (None: there is none), this guess of the held-out cells."""

    features: int = 2
    bound: float | None = None
    not_stationary: bool = False
    moves: dict[str, int] | None = None
    guess: float = 0.0
    kept: int = 0


@dataclass(frozen=True, eq=False)
class State:
    """Where a run is: its sweeps so far, its own number, the features it has."""

    sweep: int
    own: int
    last: Sweep


@dataclass
class Scripted(UnaveragedMethod):
    """An inference that does what is written down: `tell(seed's number, sweep)`."""

    tell: Callable[[int, int], Sweep]

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> State:
        own = int(rng.bit_generator.seed_seq.entropy[0])  # type: ignore[attr-defined]
        return State(0, own, self.tell(own, 0))

    def sweep(self, state: State, rng: np.random.Generator, poll: Poll = no_poll) -> tuple[State, SweepInfo]:
        poll()
        told = self.tell(state.own, state.sweep + 1)
        order = {"features": np.arange(told.features)} if told.features < state.last.features else None
        info = SweepInfo(None, order, not_stationary=told.not_stationary, moves=told.moves)
        return State(state.sweep + 1, state.own, told), info

    def posterior(self, state: State) -> Posterior:
        told = state.last
        shares = 0.9 / (1.0 + np.arange(told.features))
        arrays = {
            "objects": np.tile(shares, (N_OBJECTS, 1)),
            "weights": np.ones((told.features, N_COLUMNS)),
            "pi": shares,
        }
        axes: dict[str, tuple[str | None, ...]] = {
            "objects": (None, "features"),
            "weights": ("features", None),
            "pi": ("features",),
        }
        if told.bound is not None:
            arrays["bound"], axes["bound"] = np.array([told.bound]), (None,)
        return Posterior(
            arrays, axes, ("objects",), derived=("bound",) if told.bound is not None else (),
            hyper={"guess": told.guess, "noise": 1.0}, normalised=False,
        )  # fmt: skip

    def phase(self, state: State) -> Phase:
        return Phase(samples=state.last.kept)


class Model:
    """Guesses one number for every held-out cell, with noise of sd 1."""

    domains = ("features",)
    score_type = Score

    def lower_bound(self, posterior: Posterior, responsibilities: Any = None) -> float | None:
        return float(posterior["bound"][0]) if "bound" in posterior.arrays else None

    def pseudo_loo(self, *given: Any, **more: Any) -> None:
        return None

    def extras(self, *given: Any, **more: Any) -> dict[str, float]:
        return {"train_log_likelihood": -1.0}

    def predict(self, posterior: Posterior, heldout: Cells) -> np.ndarray:
        """Density of each cell, and the mean, shape (n, 2)."""
        guess = np.full(heldout.n, posterior.hyper["guess"], dtype=np.longdouble)
        density = np.exp(-0.5 * (heldout.values - guess) ** 2) / np.sqrt(2 * np.pi)
        return np.stack([density, guess], axis=1)

    def score(self, probability: np.ndarray, heldout: Cells) -> Score:
        density, mean = probability.T
        return Score(float(np.log(density).mean()), float(np.sqrt(((heldout.values - mean) ** 2).mean())))

    def complete_posterior(self, posterior: Posterior) -> Posterior:
        return posterior

    def tables(self, posterior: Posterior) -> dict[str, Any]:
        return {"features": pd.DataFrame({"feature": np.arange(posterior["pi"].shape[0])})}


def prepared(
    tell: Callable[[int, int], Sweep] | Sequence[Sweep],
    *,
    tol: float = 1e-4,
    max_sweeps: int = 8,
    monitored: Any = "lower_bound",
    sampled: bool = False,
    heldout: Cells | None = HELD_OUT,
    schedule: tuple[int, int] = (1, 5),
    raced_by: Any = "lower_bound",
    bound_unit: Callable[[Any], float] | None = None,
    **spec: int,
) -> PreparedRun:
    """Return a run as it is written down; a sequence is that of every seed, the state before any sweep first."""
    if not callable(tell):
        sweeps = tell
        tell = lambda own, sweep: sweeps[sweep]  # noqa: E731
    data, model = Values(), Model()
    algorithm = Scripted(tell)
    values = {"max_sweeps": max_sweeps, "tol": tol, "k_max": 0}
    method = MethodSpec(
        "features", "told", "Told", "Does as it is told.", "", (), lambda *_: algorithm, monitored,
        sampled=sampled,
    )  # fmt: skip
    row = ModelSpec(
        "features", "Features", "lfm", "numbers", lambda _: model, {"features": "features"}, lambda *_: 0, Values,
        lambda *_: None, lambda *_: schedule, 0, {}, {"features": "k_max"}, DISPLAY,
        Reference(__name__, "Score"), bound_unit=bound_unit, raced_by=raced_by,
    )  # fmt: skip
    settings = RunSpec("features", "told", values, heldout=0.1 if heldout else 0.0, **spec)
    split = SimpleNamespace(train=data, heldout=heldout or SimpleNamespace(n=0), note=None)
    binding = Binding(split=lambda: split, algorithm=lambda: algorithm, model=lambda: model)
    return PreparedRun(settings, method, row, data, binding)


HELDOUT: dict[str, Any] = {"raced_by": "heldout", "tol": 1e-12, "max_sweeps": 60, "restarts": 4}
#: How far off the runs from seeds 3 to 6 are at the first rung, and after it: the best bound is of the worst guess.
FAR_OFF = {3: (2.5, 2.5), 4: (0.6, 2.0), 5: (0.9, 0.7), 6: (1.5, 0.4)}


def guesses(own: int, sweep: int) -> Sweep:
    early, late = FAR_OFF[own]
    guess = early if sweep <= 20 else late
    return Sweep(bound=1000.0 * guess + sweep % 7, guess=guess)


def racing(**options: Any) -> PreparedRun:
    return prepared(guesses, seed=3, schedule=(1, 999), **(HELDOUT | options))


def log_likelihood(guess: float) -> float:
    return float((-0.5 * (HELD_OUT.values - guess) ** 2).mean() - 0.5 * np.log(2 * np.pi))


def test_restarts_race_by_what_is_held_out_where_bounds_cannot_be_compared() -> None:
    result = solve(racing())
    assert result.prepared.spec.seed == 5
    table = result.race
    # No score is due at a rung: it is evaluated for the race.
    assert table["out_after"].fillna(0).tolist() == [20, 40, 0, 20]
    wanted = [FAR_OFF[3][0], FAR_OFF[4][1], FAR_OFF[5][1], FAR_OFF[6][0]]
    assert table["heldout"].tolist() == pytest.approx([log_likelihood(guess) for guess in wanted])
    lone = solve(racing().with_seed(5))
    for name in ("heldout_log_likelihood", "lower_bound"):
        np.testing.assert_array_equal(result.state.history.column(name), lone.state.history.column(name))
    # By the bound another one would have won.
    assert solve(racing(raced_by="lower_bound")).prepared.spec.seed == 3


def test_samplers_race_by_the_mean_of_their_kept_samples() -> None:
    """The sample at the rung is the one good one of seed 3; those of seed 4 are all a little off."""

    def tell(own: int, sweep: int) -> Sweep:
        off = 0.3 if own == 4 else 0.0 if sweep == 20 else 6.0
        return Sweep(guess=0.375 + off, kept=max(sweep - 10, 0))

    options = HELDOUT | {"restarts": 2, "monitored": None, "sampled": True, "max_sweeps": 25}
    result = solve(prepared(tell, seed=3, schedule=(1, 999), **options))
    assert result.prepared.spec.seed == 4, "by that sample alone it would be 3"
    density = {
        guess: np.exp(-0.5 * (HELD_OUT.values - guess) ** 2) / np.sqrt(2 * np.pi) for guess in (0.375, 6.375)
    }
    mixed = np.log((density[0.375] + 9 * density[6.375]) / 10).mean()
    assert result.race["heldout"].tolist() == pytest.approx([mixed, log_likelihood(0.675)])


def test_such_restarts_need_something_held_out() -> None:
    with pytest.raises(ParameterError, match=r"nothing is held out.*cannot be compared.*\(restarts 1\)"):
        fit(planted_features(20, 4, 2, seed=1).table, "fab", restarts=2)


def test_a_stored_race_without_held_out_scores_is_read() -> None:
    plain = solve(racing()).to_dict()["race"]
    for candidate in plain["entrants"]:
        del candidate["heldout"]
    again = RaceReport.from_dict(plain | {"judged_by": "lower_bound"})
    assert again.table()["heldout"].isna().all()


def test_ties_go_to_the_lower_seed_and_no_number_loses() -> None:
    for name, bad in (("bound", "lower_bound"), ("guess", "heldout")):
        scores = (
            {3: 1.7, 4: 0.375, 5: 0.375, 6: np.nan} if bad == "heldout" else {3: -7, 4: -5, 5: -5, 6: np.nan}
        )
        told = prepared(
            lambda own, _, name=name, scores=scores: Sweep(**{name: scores[own]}), seed=3,
            **HELDOUT | {"raced_by": bad, "monitored": None, "schedule": (999, 999)},
        )  # fmt: skip
        *_, ended = race(told, first_rung=2)
        outs = [candidate.out_after for candidate in ended.race_report.candidates]
        assert outs == [2, None, 4, 2], bad


def test_states_of_losers_are_released_at_once() -> None:
    gc.freeze()  # the collections below need not look through what is loaded
    alive: weakref.WeakSet[State] = weakref.WeakSet()
    told = prepared(
        lambda own, _: Sweep(bound=-float((own - 3) * 7 % 8)),
        seed=3,
        restarts=8,
        max_sweeps=60,
        monitored=None,
    )
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
        most = max(most, len({state.own for state in alive}))
    assert most == states_at_once(8) == 5
    gc.collect()
    assert not alive, "nothing is kept of a race that nobody looks at any more"


def test_a_bound_is_held_against_the_one_before_only_at_one_number_of_features() -> None:
    """Features go until sweep 4: its bound is of the model it leaves, which that of sweep 5 is held against."""
    sweeps = [
        Sweep(5, 0.0),
        Sweep(5, -9.0),
        Sweep(4, -9.0, not_stationary=True, moves={"dropped": 1}),
        Sweep(3, -9.0, not_stationary=True, moves={"dropped": 1}),
        Sweep(2, -9.0, not_stationary=True, moves={"merged": 1, "dropped": 0}),
        Sweep(2, -9.05),
        Sweep(2, -9.05),
    ]
    last = all_snapshots(prepared(sweeps, bound_unit=lambda data: 10.0, tol=0.01, max_sweeps=6))[-1]
    assert (last.sweep, last.verdict) == (5, Verdict.CONVERGED)
    strict = all_snapshots(prepared(sweeps, bound_unit=lambda data: 10.0, tol=0.004, max_sweeps=6))
    assert (strict[-1].sweep, strict[-1].verdict) == (6, Verdict.CONVERGED)
    assert [s.effective_k["features"] for s in strict] == [5, 4, 3, 2, 2, 2]
    history = solve(prepared(sweeps, tol=1e-12, max_sweeps=6)).history
    assert history["dropped"].fillna(0).tolist() == [0, 1, 1, 0, 0, 0]
    assert history["merged"].fillna(0).tolist() == [0, 0, 0, 1, 0, 0]
    assert "split" not in history


def test_all_features_may_go() -> None:
    last = Sweep(1, -4.0, not_stationary=True, moves={"dropped": 1})
    empty = [Sweep(2, -5.0), last, Sweep(0, -3.0, not_stationary=True), Sweep(0, -3.0)]
    result = solve(prepared(empty, bound_unit=lambda data: 10.0, max_sweeps=3, seed=1))
    assert (result.verdict, result.snapshot.sweep) == (Verdict.CONVERGED, 3)
    assert result.history["effective_k_features"].tolist() == [1, 0, 0]
    assert result.history["change"].tolist() == [0.0, 0.0, 0.0]
    assert result.posterior["objects"].shape == (10, 0)
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
        kept = np.array(guesses[2 : sweep + 1] if sweep > 1 else guesses[1:2])
        off = HELD_OUT.values[:, None] - kept
        density = (np.exp(-0.5 * off**2) / np.sqrt(2 * np.pi)).mean(axis=1)
        assert snapshot.heldout.log_likelihood == pytest.approx(np.log(density).mean())
        assert snapshot.heldout.rmse == pytest.approx(np.sqrt((off.mean(axis=1) ** 2).mean()))
    assert snapshots[-1].memory.predicted.dtype == np.longdouble
    more = list(run(told, resume=snapshots[2]))
    assert bits(more[-1]) == bits(snapshots[-1])
    row = snapshots[-1].row()
    assert (row["heldout_log_likelihood"], row["heldout_rmse"]) == tuple(snapshots[-1].heldout)
