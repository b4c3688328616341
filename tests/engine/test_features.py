"""Runs of a model of continuous data whose features come and go, with what the engine knows of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from acvb_core import registry
from acvb_core.core.display import HeldOutScore, ModelDisplay
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Phase, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import MethodSpec, ModelSpec, Reference
from acvb_core.engine.fitting import Comparison, fit, solve
from acvb_core.engine.history import RACE_CRITERIA, RaceReport, Verdict
from acvb_core.engine.prepared import Binding, PreparedRun, RunSpec
from acvb_core.engine.race import race
from acvb_core.engine.run import finish_stopped_run, run
from acvb_core.store.export import run_json
from tests.engine.fakes import all_snapshots, bits, small_relation
from tests.loops import for_each

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


@dataclass(frozen=True)
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

    def __init__(self) -> None:
        self.predictions = 0

    def lower_bound(self, posterior: Posterior, responsibilities: Any = None) -> float | None:
        return float(posterior["bound"][0]) if "bound" in posterior.arrays else None

    def pseudo_loo(self, *given: Any, **more: Any) -> None:
        return None

    def extras(self, *given: Any, **more: Any) -> dict[str, float]:
        return {"train_log_likelihood": -1.0}

    def predict(self, posterior: Posterior, heldout: Cells) -> np.ndarray:
        """Density of each cell, and the mean, shape (n, 2)."""
        self.predictions += 1
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


def ended(bounds: list[float], **options: Any) -> tuple[int, Verdict | None]:
    last = all_snapshots(prepared([Sweep(bound=b) for b in [0.0, *bounds]], **options))[-1]
    return last.sweep, last.verdict


def test_a_bound_of_densities_is_judged_by_the_object() -> None:
    """With ten objects and a tolerance of 0.1: the first change below one nat, wherever the bound is."""
    bounds = [-4.0, -1.1, 0.001, 1.1, 2.05, 5.0, 9.0, 9.0]
    options: dict[str, Any] = {"bound_unit": lambda data: data.shape[0], "tol": 0.1}
    assert ended(bounds, **options) == (5, Verdict.CONVERGED)
    # A bound far from zero does not end the run early, nor one at zero keep it up.
    assert ended([b + 1e6 for b in bounds], **options) == (5, Verdict.CONVERGED)
    assert ended([b + 1e6 for b in bounds], tol=0.1)[0] == 2
    assert ended([1e-9, 3e-9, 9e-9], **options) == (2, Verdict.CONVERGED)
    assert ended([1e-9 * 3**n for n in range(8)], tol=0.1) == (8, Verdict.MAX_SWEEPS)


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
    assert result.race_report is not None
    assert result.race_report.judged_by == "heldout"
    assert result.prepared.spec.seed == 5
    table = result.race
    assert table is not None
    # No score is due at a rung: it is evaluated for the race.
    assert table["out_after"].fillna(0).tolist() == [20, 40, 0, 20]
    wanted = [FAR_OFF[3][0], FAR_OFF[4][1], FAR_OFF[5][1], FAR_OFF[6][0]]
    assert table["heldout"].tolist() == pytest.approx([log_likelihood(guess) for guess in wanted])
    lone = solve(racing().with_seed(5))
    assert bits(result.snapshot) == bits(lone.snapshot)
    assert list(result.state.history.columns) == list(lone.state.history.columns)
    for name in ("heldout_log_likelihood", "lower_bound"):
        np.testing.assert_array_equal(result.state.history.column(name), lone.state.history.column(name))
    # By the bound another one would have won.
    assert solve(racing(raced_by="lower_bound")).prepared.spec.seed == 3


def test_a_scored_sweep_is_not_scored_again_for_the_race() -> None:
    told = racing(max_sweeps=30)
    list(race(told))
    # At the first rung all four are, for the race; at the second, the last sweep, two are anyway.
    assert told.model.predictions == 4 + 2


def test_samplers_race_by_the_mean_of_their_kept_samples() -> None:
    """The sample at the rung is the one good one of seed 3; those of seed 4 are all a little off."""

    def tell(own: int, sweep: int) -> Sweep:
        off = 0.3 if own == 4 else 0.0 if sweep == 20 else 6.0
        return Sweep(guess=0.375 + off, kept=max(sweep - 10, 0))

    options = HELDOUT | {
        "restarts": 2,
        "monitored": None,
        "sampled": True,
        "max_sweeps": 25,
        "schedule": (1, 999),
    }
    result = solve(prepared(tell, seed=3, **options))
    # By that sample alone it would be the other way round.
    assert log_likelihood(0.375) > log_likelihood(0.675)
    assert result.prepared.spec.seed == 4
    density = {
        guess: np.exp(-0.5 * (HELD_OUT.values - guess) ** 2) / np.sqrt(2 * np.pi) for guess in (0.375, 6.375)
    }
    mixed = np.log((density[0.375] + 9 * density[6.375]) / 10).mean()
    assert result.race["heldout"].tolist() == pytest.approx([mixed, log_likelihood(0.675)])


def test_a_score_that_is_no_number_is_behind_all_others() -> None:
    result = solve(prepared(lambda own, _: Sweep(guess=np.nan if own == 3 else 3.0), seed=3, **HELDOUT))
    assert result.prepared.spec.seed == 4
    assert result.race["out_after"][0] == 20


@pytest.fixture
def racing_by_heldout(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("model_row", "model_for"):
        found = getattr(registry, name)
        told = lambda of, found=found: replace(found(of), raced_by="heldout")  # noqa: E731
        monkeypatch.setattr(f"acvb_core.engine.prepared.{name}", told)


@pytest.mark.usefixtures("racing_by_heldout")
@for_each("model", ["irm", None])
def test_such_restarts_need_something_held_out(model: str | None) -> None:
    with pytest.raises(ParameterError, match=r"nothing is held out.*cannot be compared.*\(restarts 1\)"):
        fit(small_relation(), "cvb0", model=model, restarts=2)
    assert fit(small_relation(), "cvb0", model=model, max_sweeps=2).snapshot.heldout is None
    result = fit(small_relation(), "vb", model=model, restarts=3, heldout=0.1, max_sweeps=21, init="random")
    assert result.race_report.judged_by == "heldout"
    table = result.race
    assert table["heldout"].idxmax() == result.prepared.spec.seed
    assert result.snapshot.heldout.log_likelihood == table["heldout"].max()
    assert RACE_CRITERIA[result.race_report.judged_by] == "held-out log likelihood"


def test_a_race_of_before_there_were_held_out_scores_in_it_comes_back() -> None:
    plain = solve(racing()).to_dict()["race"]
    assert RaceReport.from_dict(plain).to_dict() == plain
    for candidate in plain["entrants"]:
        del candidate["heldout"]
    again = RaceReport.from_dict(plain | {"judged_by": "lower_bound"})
    assert [candidate.heldout for candidate in again.candidates] == [None] * 4
    assert again.table()["heldout"].isna().all()


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


EMPTY = [
    Sweep(2, -5.0),
    Sweep(1, -4.0, not_stationary=True, moves={"dropped": 1}),
    Sweep(0, -3.0, not_stationary=True),
    Sweep(0, -3.0),
]


def test_all_features_may_go() -> None:
    result = solve(prepared(EMPTY, bound_unit=lambda data: 10.0, max_sweeps=3, seed=1))
    assert (result.verdict, result.snapshot.sweep) == (Verdict.CONVERGED, 3)
    assert result.history["effective_k_features"].tolist() == [1, 0, 0]
    # What stays is as it was, whatever went.
    assert result.history["change"].tolist() == [0.0, 0.0, 0.0]
    assert result.posterior["objects"].shape == (10, 0)
    assert (result.full_domains, len(result.tables["features"])) == ({}, 0)
    assert result.summary()["effective_k"] == {"features": 0}
    with pytest.raises(ParameterError, match=r"no clusters.*features"):
        result.labels("objects")


@for_each("bound", [-3.0, None])
def test_scores_that_a_model_does_not_have_are_absent(bound: float | None) -> None:
    told = prepared([Sweep(2, bound)] * 4, monitored=None, max_sweeps=3, restarts=1)
    result = solve(told)
    assert [(s.lower_bound, s.pseudo_loo) for s in all_snapshots(told)] == [(bound, None)] * 3
    assert result.history["pseudo_loo"].isna().all()
    assert result.history["lower_bound"].isna().all() == (bound is None)
    said = json.loads(run_json(result))
    assert (said["lower_bound"], said["pseudo_loo"]) == (bound, None)
    table = Comparison([result, result]).table()
    assert (table["lower_bound"].dtype, table["pseudo_loo"].dtype) == (np.float64, np.float64)
    assert "None" not in table.to_string(na_rep="-")
    stopped_at = finish_stopped_run(told, all_snapshots(told)[0])
    assert (stopped_at.lower_bound, stopped_at.pseudo_loo, stopped_at.verdict) == (
        bound,
        None,
        Verdict.STOPPED,
    )


def test_a_watched_bound_that_there_is_none_of_does_not_end_a_run() -> None:
    last = all_snapshots(prepared([Sweep()] * 9, bound_unit=lambda data: 1.0))[-1]
    assert (last.sweep, last.verdict) == (8, Verdict.MAX_SWEEPS)


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
