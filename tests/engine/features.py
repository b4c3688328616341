"""A latent feature model whose runs are written down beforehand: densities with a mean, features that all may go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from acvb_core.core.display import HeldOutScore, ModelDisplay
from acvb_core.core.protocols import Checkpoint, Phase, Posterior, SweepInfo, UnaveragedMethod, no_checkpoint
from acvb_core.core.rows import Method, ModelRow
from acvb_core.engine.problem import Problem, Settings

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
    settling: bool = False
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

    def init(self, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint) -> State:
        own = int(rng.bit_generator.seed_seq.entropy[0])  # type: ignore[attr-defined]
        return State(0, own, self.tell(own, 0))

    def sweep(
        self, state: State, rng: np.random.Generator, checkpoint: Checkpoint = no_checkpoint
    ) -> tuple[State, SweepInfo]:
        checkpoint()
        told = self.tell(state.own, state.sweep + 1)
        order = {"features": np.arange(told.features)} if told.features < state.last.features else None
        info = SweepInfo(None, order, settling=told.settling, moves=told.moves)
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


@dataclass(frozen=True)
class Options:
    """Settings of the problem."""

    tol: float = 1e-4
    max_sweeps: int = 8
    seed: int = 0
    restarts: int = 1
    monitored: Any = "lower_bound"
    sampled: bool = False
    heldout: Cells | None = HELD_OUT
    raced_by: dict[str, Any] = field(default_factory=dict)
    bound_unit: Callable[[Any], float] | None = None
    schedule: tuple[int, int] = (1, 5)


def problem(tell: Callable[[int, int], Sweep] | Sequence[Sweep], **options: Any) -> Problem:
    """Return a run as it is written down; a sequence is that of every seed, the state before any sweep first."""
    chosen = Options(**options)
    if not callable(tell):
        sweeps = tell
        tell = lambda own, sweep: sweeps[sweep]  # noqa: E731
    data, model = Values(), Model()
    inference = Scripted(tell)
    values = {"max_sweeps": chosen.max_sweeps, "tol": chosen.tol, "k_max": 0}
    method = Method(
        "features", "told", "Told", "Does as it is told.", "", (), lambda *_: inference, chosen.monitored,
        sampled=chosen.sampled,
    )  # fmt: skip
    row = ModelRow(
        "features", "Features", "lfm", "numbers", lambda _: model, {"features": "features"}, lambda *_: 0, Values,
        lambda *_: None, lambda *_: chosen.schedule, 0, {}, {"features": "k_max"}, DISPLAY,
        bound_unit=chosen.bound_unit, **chosen.raced_by,
    )  # fmt: skip
    settings = Settings(
        "features",
        "told",
        values,
        chosen.seed,
        heldout=0.1 if chosen.heldout else 0.0,
        restarts=chosen.restarts,
    )
    return Problem(settings, method, row, data, data, chosen.heldout, None, inference, model)
