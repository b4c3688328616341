"""MEIBP: features of non-negative weights, chosen by submodular maximisation of a lower bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from acvb_core.core.clusters import order_by_size
from acvb_core.core.protocols import Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.rows import Values
from acvb_core.models.lfm.cells import Cells, Floats
from acvb_core.models.lfm.half_normal import moments
from acvb_core.models.lfm.meibp.kernels import Bits
from acvb_core.models.lfm.meibp.state import (
    Meibp,
    improve_state,
    known_counts,
    learn_rest,
    learn_weights,
    lower_bound,
    residual,
)
from acvb_core.models.lfm.state import build_posterior

#: A new feature, or dropping one, is tried once the bound rises by less than this for each object in a sweep.
CALM = 1e-2
#: Objects around which a new feature is tried, and rounds in which it finds the others.
TRIES, ROUNDS = 6, 5
#: Features added in turn before the bound must have risen.
DEPTH = 3
#: Sweeps that may try a new feature in vain, around other objects each time, before one is dropped.
ATTEMPTS = 3
#: Sweeps of the other features after one is dropped.
RECOVERY = 3


@dataclass(frozen=True, eq=False)
class MeibpState:
    """An answer, its bound, and the vain tries since it last changed by a move."""

    answer: Meibp
    bound: float  #: lower bound in nats
    #: `births`, `deaths`: sweeps that tried a new feature, or to drop one, and did not raise the bound.
    births: int = 0
    deaths: int = 0


@dataclass(frozen=True, eq=False)
class SubmodularIbp(UnaveragedMethod):
    """MEIBP bound to the cells of a table (an `Algorithm`).

    Weights are not negative, and have a half-normal prior; q makes them independent, each normal and cut off at
    zero. Z is a point, and so are the baselines, which may have any sign: without them standardised cells, half of
    which are negative, could not be explained. A baseline is what a column has where no feature is on, and takes no
    part in the choice of features but as a shift, so that this stays submodular maximisation.

    A run begins without features. Each sweep raises the bound by all steps in turn; once that has become slow it
    tries a feature around objects that are explained badly, alone or with one for all other objects (the two sides
    of what would be one feature if weights had signs); and when none is worth it, to do without a feature. What
    was tried is kept only where the bound is higher, so it never falls, at whatever number of features.

    Reference: Reed and Ghahramani, ICML 2013. They have neither baselines nor missing cells, and begin with random
      features.
    """

    cells: Cells
    #: Number of features of the model, most of which nobody may have (the truncation of the Indian buffet process); 0
    #: takes the smaller of the numbers of objects and columns.
    k_max: int = 0
    alpha: float = 1.0  #: to start from; the best value is learned
    noise: str = "columns"  #: "columns": every column has a noise variance of its own
    #: "empty", or as the paper prints it "random": from all features of the model, each with a random half of the
    #: objects; none is then added or tried without, and those that nobody has are dropped.
    start: str = "empty"

    @property
    def most(self) -> int:
        """Number of features of the model."""
        return self.k_max or min(self.cells.values.shape)

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> MeibpState:
        """Return the state without features, or with random ones and the weights that fit them."""
        n, n_columns = self.cells.values.shape
        none, variance = np.empty((0, n_columns)), self.cells.variance
        start = Meibp(
            z=np.zeros((n, 0), dtype=np.int8),
            parent=none,
            spread=none,
            bias=np.zeros(n_columns),
            noise=variance,
            prior=self.cells.mean_variance,
            alpha=self.alpha,
            scales=variance,
        )
        if self.start == "empty":
            return self._evaluate(self._improve(start, poll)[0])
        z = (rng.random((n, self.most)) < 0.5).astype(np.int8)
        zeros = np.zeros((self.most, n_columns))
        start = replace(start, z=z, parent=zeros, spread=zeros + start.prior).alive()
        start = learn_weights(self.cells, start, poll)
        return self._evaluate(learn_rest(self.cells, start, self.most, self.noise == "one"))

    def sweep(
        self, state: MeibpState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[MeibpState, SweepInfo]:
        """Improve the state; where that has become slow, try another number of features."""
        better, changed = self._improve(state.answer, poll)
        new = replace(self._evaluate(better), births=state.births, deaths=state.deaths)
        moving = self.start == "empty"
        if moving and new.bound - state.bound < CALM * self.cells.n_objects:
            new = self._try_move(new, rng, poll)
        before, now = state.answer.n_features, new.answer.n_features
        if now != before:
            new = replace(new, births=0, deaths=0)
        over = not moving or (new.births >= ATTEMPTS and new.deaths >= now)
        moves = {"dropped": before - now} if now < before else None
        change = self._change(state.answer, new.answer, changed)
        return new, SweepInfo(
            None, None, change=change, not_stationary=now != before or not over, moves=moves
        )

    def posterior(self, state: MeibpState) -> Posterior:
        """Return Z, the moments of the weights and the rest, the most frequent feature first."""
        answer = state.answer
        order = order_by_size(answer.z.sum(axis=0))
        first, second = moments(answer.parent[order], answer.spread[order])
        z = np.ascontiguousarray(answer.z[:, order], dtype=np.float64)
        return build_posterior(
            z,
            first,
            z.mean(axis=0),
            answer.bias,
            1.0 / answer.noise,
            bound=state.bound,
            weight_variance=second,
            hyper={
                "noise": float(np.sqrt(answer.noise).mean()),
                "alpha": answer.alpha,
                "weight_sd": math.sqrt(answer.prior),
            },
        )

    def _improve(self, answer: Meibp, poll: Poll) -> tuple[Meibp, int]:
        return improve_state(self.cells, answer, self.most, self.noise == "one", poll)

    def _evaluate(self, answer: Meibp) -> MeibpState:
        return MeibpState(answer, lower_bound(self.cells, answer, self.most))

    def _change(self, before: Meibp, now: Meibp, changed: int) -> float:
        """Return the mean over entries of |new - old|; a feature more or less changes those that have it."""
        more = now.n_features - before.n_features
        if more > 0:
            changed += int(now.z[:, -more:].sum())
        return changed / (self.cells.n_objects * max(now.n_features, before.n_features, 1))

    def _try_move(self, state: MeibpState, rng: np.random.Generator, poll: Poll) -> MeibpState:
        """Try a new feature, or when that was in vain, to drop one; return the better state."""
        answer = state.answer
        if state.births < ATTEMPTS:
            tried = self._add_features(state, rng, poll)
            return tried or replace(state, births=state.births + 1)
        if state.deaths >= answer.n_features:
            return state
        rarest = order_by_size(answer.z.sum(axis=0))[-1 - state.deaths]
        fewer = answer.without(int(rarest))
        for _ in range(RECOVERY):
            fewer, _ = self._improve(fewer, poll)
        other = self._evaluate(fewer)
        return other if other.bound > state.bound else replace(state, deaths=state.deaths + 1)

    def _add_features(self, state: MeibpState, rng: np.random.Generator, poll: Poll) -> MeibpState | None:
        """Return a better state with more features, up to `DEPTH` steps away; None without any.

        The first of several features that belong together may not be worth it by itself.
        """
        now = state
        for _ in range(DEPTH):
            grown = [
                self._evaluate(self._improve(each, poll)[0]) for each in self._candidates(now.answer, rng)
            ]
            if not grown:
                return None
            now = max(grown, key=lambda each: each.bound)
            if now.bound > state.bound:
                return now
        return None

    def _candidates(self, answer: Meibp, rng: np.random.Generator) -> Iterator[Meibp]:
        """Yield answers with a feature more, or two, around badly explained objects."""
        first, _ = moments(answer.parent, answer.spread)
        error = residual(self.cells, answer, first)
        badness = np.einsum("nd,nd,d->n", error, error, 1.0 / answer.noise)
        room = self.most - answer.n_features
        tries = min(TRIES, int(np.count_nonzero(badness)))
        for n in rng.choice(len(error), tries, replace=False, p=badness / badness.sum()) if tries else ():
            for both in (False, True)[:room]:
                grown = self._grow(answer, error, int(n), both)
                if grown is not None:
                    yield grown

    def _grow(self, answer: Meibp, error: Floats, n: int, both: bool) -> Meibp | None:
        """Return the answer with a feature for objects that deviate like object n, and baselines adapted.

        With `both`, the other objects get a feature, too, for the columns in which they lie higher.
        """
        cells = self.cells
        low = error.sum(axis=0) / cells.per_column
        weights = error[n] - low if both else np.maximum(error[n], 0.0)
        if cells.observed is not None:
            weights = weights * cells.observed[n]
        own = self._nearer(error, weights, answer.noise, 0.0)
        for _ in range(ROUNDS):
            if not own.any() or own.all():
                return None
            inside = known_counts(cells, own[:, None])[0]
            outside = cells.per_column - inside
            sums = own.astype(np.float64) @ error
            weights = sums / np.maximum(inside, 1.0) - (error.sum(axis=0) - sums) / np.maximum(outside, 1.0)
            weights = np.where(
                (inside > 0) & (outside > 0), weights if both else np.maximum(weights, 0.0), 0.0
            )
            low = (error.sum(axis=0) - inside * weights) / cells.per_column
            rest = error - low if cells.observed is None else error - low * cells.observed
            own = self._nearer(rest, weights, answer.noise, math.log(own.sum() / (len(own) - own.sum())))
        if not own.any() or own.all():
            return None
        z = np.stack([own, 1 - own], axis=1)[:, : 1 + both]
        parent = np.maximum(np.stack([weights, -weights])[: 1 + both], 0.0)
        spread = 1.0 / (known_counts(cells, z) / answer.noise + 1.0 / answer.prior)
        parent = np.concatenate([answer.parent, parent])
        return replace(
            answer,
            z=np.concatenate([answer.z, z], axis=1),
            parent=parent,
            spread=np.concatenate([answer.spread, spread]),
            bias=answer.bias + low + np.minimum(weights, 0.0),
            prior=max(answer.prior, float((parent**2).mean())),
        )

    def _nearer(self, error: Floats, weights: Floats, noise: Floats, log_odds: float) -> Bits:
        """Return the objects that deviate by `weights` rather than not at all, shape (N,)."""
        half = 0.5 * weights**2 / noise
        size = half.sum() if self.cells.observed is None else self.cells.observed @ half
        return np.asarray(error @ (weights / noise) - size + log_odds > 0.0, dtype=np.int8)


def build_meibp(data: Any, values: Values) -> SubmodularIbp:
    """Return MEIBP on data, with the values of its parameters."""
    return SubmodularIbp(Cells.of(data), values["k_max"], values["alpha"], values["noise"], values["init"])
