"""Accelerated Gibbs sampling for the linear Gaussian model under the Indian buffet process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from acvb_core.core.averaging import AveragedState, SampleMean
from acvb_core.core.clusters import order_by_size, place_columns
from acvb_core.core.protocols import Array, Poll, Posterior, SweepInfo, UnaveragedMethod, no_poll
from acvb_core.core.spec import Values
from acvb_core.models.lfm.features import correlate_features
from acvb_core.models.lfm.ibp_kernels import BIRTHS, FeatureSlots, NoisyCells, visit
from acvb_core.models.lfm.kernels import LOG_2PI, Bits, Floats, StandardisedTable
from acvb_core.models.lfm.state import AXES, build_posterior

#: Features of two samples count as the same if their objects correlate at least so much, with either sign.
SAME = 0.5
#: The answer has the features that at least this share of the samples have, and no more than a sample has on average.
USUAL = 0.5
#: The rarest features are forgotten when there are more than this many times those of a sample, and some.
_FORGET, _AND_SOME = 3, 20
#: Arrays of the mean that have a row for each feature: zero in a sample without it.
_PER_FEATURE = ("present", "weights", "squares")


class FeaturePlaces(NamedTuple):
    """Places of a sample's features among those of a mean."""

    place: Array  #: shape (K',); each one's own; those without a partner come after the mean's last
    over: Array  #: shape (K',); the sample has the opposite feature
    width: int  #: features of both together


@dataclass(frozen=True)
class FeatureMean(SampleMean):
    """A sampler of binary features, answered by the mean of its kept samples.

    Features of a sample have no fixed names, are born and die, and may be flipped: the objects without the feature
    then have it, and its weights change sign. After burn-in each sample's features are matched with those of the mean
    by the correlation of their objects, flipped if it is negative; those without a partner get a name of their own.

    The answer has the features that are in half the samples or more, as many as a sample has on average at most. An
    object's activation is the share of all samples in which it has the feature; weights are means over the samples
    that have the feature, and their variance is that within and between samples; `in_samples` is the share of the
    samples that have the feature. The average contribution of all
    other features to a column is part of its baseline. (Predictions of cells are averaged sample by sample instead.)
    """

    def first_mean(self, sample: Posterior) -> dict[str, Array]:
        """Return the mean of one sample."""
        width = sample["objects"].shape[1]
        return _place_sample(sample, FeaturePlaces(np.arange(width), np.zeros(width, dtype=bool), width))

    def match(
        self, mean: Mapping[str, Array], sample: Posterior
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the mean and a sample over one set of features."""
        places = place_features(mean["objects"], sample["objects"])
        old, more = dict(mean), places.width - len(mean["present"])
        for name in _PER_FEATURE:
            old[name] = np.concatenate([mean[name], np.zeros((more, *mean[name].shape[1:]))])
        old["objects"] = np.pad(mean["objects"], ((0, 0), (0, more)))
        return old, _place_sample(sample, places)

    def trim(self, mean: dict[str, Array], sample: Posterior) -> dict[str, Array]:
        """Return the mean without the rarest features, where there are too many."""
        return _select_frequent(mean, _FORGET * sample["objects"].shape[1] + _AND_SOME)

    def posterior(self, state: AveragedState) -> Posterior:
        """Return the current sample during burn-in, then the mean of the kept ones, most frequent feature first."""
        inner = self.inner.posterior(state.inner)
        if state.samples == 0:
            return inner
        mean = _select_frequent(state.mean, round(float(state.mean["present"].sum())), USUAL)
        share = mean["objects"].mean(axis=0)
        order = np.argsort(-share, kind="stable")
        present = mean["present"][:, None]
        weights = mean["weights"] / present
        arrays = {
            "objects": np.ascontiguousarray(mean["objects"][:, order]),
            "weights": weights[order],
            "pi": share[order],
            "bias": mean["centre"] - share @ weights,
            "precision": 1.0 / mean["noise"],
            "weight_variance": np.maximum(mean["squares"] / present - weights**2, 0.0)[order],
            "in_samples": mean["present"][order],
        }
        hyper = dict(inner.hyper) | {"noise": float(np.sqrt(mean["noise"]).mean())}
        return replace(inner.with_arrays(arrays, axes={"in_samples": AXES["in_samples"]}), hyper=hyper)


def place_features(mean: Floats, sample: Floats) -> FeaturePlaces:
    """Return the places of a sample's features, (N, K'), among a mean's, (N, K), by their absolute correlations."""
    correlation = correlate_features(mean, sample)
    size = np.abs(correlation)
    place, width = place_columns(size, size >= SAME)
    partner = place < mean.shape[1]
    over = np.zeros(len(place), dtype=bool)
    over[partner] = correlation[place[partner], partner] < 0.0
    return FeaturePlaces(place, over, width)


def _place_sample(sample: Posterior, places: FeaturePlaces) -> dict[str, Floats]:
    """Return the averaged arrays of a sample, its features at their places."""
    z, weights, place = sample["objects"], sample["weights"], places.place
    objects = np.zeros((len(z), places.width))
    objects[:, place] = np.where(places.over, 1.0 - z, z)
    present = np.zeros(places.width)
    present[place] = 1.0
    own, squares = np.zeros((2, places.width, weights.shape[1]))
    own[place] = np.where(places.over[:, None], -weights, weights)
    squares[place] = weights**2 + sample["weight_variance"]
    return {
        "objects": objects,
        "present": present,
        "weights": own,
        "squares": squares,
        "centre": sample["bias"] + sample["pi"] @ weights,
        "noise": 1.0 / sample["precision"],
    }


def _select_frequent(mean: Mapping[str, Array], most: int, least: float = 0.0) -> dict[str, Array]:
    """Return a mean with its `most` most frequent features, each in at least a share of the samples."""
    frequent = np.argsort(-mean["present"], kind="stable")[:most]
    chosen = np.sort(frequent[mean["present"][frequent] >= least])
    return {
        name: array[chosen] if name in _PER_FEATURE else array[:, chosen] if name == "objects" else array
        for name, array in mean.items()
    }


#: Least precision of a weight's prior, as a share of the largest that the cells give any weight. It keeps features of
#: the same objects from being singular in columns whose unit is much smaller than that of the others.
LEAST_PRIOR = 1e-11


class Widths(NamedTuple):
    """Variances of the normal distributions of the model."""

    noise: Floats  #: shape (D,)
    #: `weights`, `bias`: of the weights and of the baselines, whose means are 0.
    weights: float
    bias: float

    def prior(self, n_features: int) -> Floats:
        """Return the prior variance of the baseline and of each weight of a column, shape (K + 1,)."""
        variances = np.full(n_features + 1, self.weights)
        variances[0] = self.bias
        return variances


class WeightPosterior(NamedTuple):
    """Normal distributions, one a column; slot 0 is the baseline."""

    #: Shape (K + 1, K + 1, D); of each pair of slots at least the one where the first is not the smaller is right (see
    #: `visit`).
    cov: Floats
    mean: Floats  #: shape (K + 1, D)

    def variances(self) -> Floats:
        """Return the variance of each weight, shape (K + 1, D)."""
        return np.ascontiguousarray(np.einsum("kkd->kd", self.cov))


def moments(cells: StandardisedTable, z: NDArray[np.int8], poll: Poll = no_poll) -> tuple[Floats, Floats]:
    """Return the sums of z z', (K + 1, K + 1, D), and of x z, (K + 1, D), over the known cells of each column.

    `z` is int8, shape (N, K); the baseline has slot 0.
    """
    n_objects, n_columns = cells.values.shape
    design = np.concatenate([np.ones((n_objects, 1)), z], axis=1)
    xz = design.T @ cells.values
    width = design.shape[1]
    if cells.observed is None:
        return np.repeat((design.T @ design)[:, :, None], n_columns, axis=2), xz
    zz = np.empty((width, width, n_columns))
    for k in range(width):
        own = design[:, k] > 0
        zz[k, : k + 1] = design[own, : k + 1].T @ cells.observed[own]
        zz[:k, k] = zz[k, :k]
        poll()
    return zz, xz


def weight_posterior(known: tuple[Floats, Floats], widths: Widths, poll: Poll = no_poll) -> WeightPosterior:
    """Return the posterior of the weights of every column, given the sums that `moments` returns."""
    zz, xz = known
    width, n_columns = xz.shape
    inner = np.arange(width)
    prior = 1.0 / widths.prior(width - 1)
    cov = np.empty_like(zz)
    some = max(1, int(1e7 / width**3))
    for at in range(0, n_columns, some):
        part = slice(at, at + some)
        information = np.ascontiguousarray((zz[:, :, part] / widths.noise[part]).transpose(2, 0, 1))
        least = LEAST_PRIOR * information[:, inner, inner].max(axis=1, keepdims=True)
        information[:, inner, inner] += np.maximum(prior, least)
        cov[:, :, part] = np.linalg.inv(information).transpose(1, 2, 0)
        poll()
    return WeightPosterior(cov, np.einsum("kld,ld->kd", cov, xz / widths.noise))


def draw_weights(posterior: WeightPosterior, rng: np.random.Generator) -> Floats:
    """Draw the weights of every column, shape (K + 1, D)."""
    root = np.linalg.cholesky(posterior.cov.transpose(2, 0, 1))
    return posterior.mean + np.einsum("dkl,ld->kd", root, rng.standard_normal(posterior.mean.shape))


#: Operations of the kernel, about 30 ms of them, between two polls.
_PIECE = 3e7


def draw_features(
    cells: StandardisedTable,
    z: Bits,
    posterior: WeightPosterior,
    widths: Widths,
    alpha: float,
    most: int,
    rng: np.random.Generator,
    poll: Poll = no_poll,
) -> tuple[Bits, WeightPosterior, int]:
    """Draw the features of every object, in a fresh random order.

    `z`: shape (N, K).
    `posterior`: given z and `widths`.
    `most`: limit of the features alive.
    Returns: the new z, in which every feature has an object; the posterior given it; the number of entries that
      changed.
    """
    n, n_columns = cells.values.shape
    observed = np.ones_like(cells.values) if cells.observed is None else cells.observed
    objects = rng.permutation(n)
    width = z.shape[1] + 1
    z = np.concatenate([np.ones((n, 1), dtype=np.int8), z], axis=1)
    size, cov, mean = z.sum(axis=0, dtype=np.float64), posterior.cov, posterior.mean
    noisy = NoisyCells(cells.values, observed, widths.noise)
    at = changed = 0
    while at < n:
        # Always room for features to be born; the kernel comes back when it may be used up.
        room = min(max(width + width // 2, width + 2 * BIRTHS), most + 1)
        z, size = _resize(z, (n, room)), _resize(size, (room,))
        cov, mean = _resize(cov, (room, room, n_columns)), _resize(mean, (room, n_columns))
        slots = FeatureSlots(z, size, cov, mean)
        length = max(1, int(_PIECE / (room * (room + 6) * n_columns)))
        done = 1
        while at < n and done:
            chunk = objects[at : at + length]
            uniforms = rng.random((len(chunk), room + 1))
            done, width, moved = visit(chunk, slots, width, noisy, widths.weights, alpha, most, uniforms)
            at += done
            changed += moved
            poll()
    return z[:, 1:width].copy(), WeightPosterior(cov[:width, :width], mean[:width]), changed


def _resize(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array at the front of a larger one of zeros, or its front."""
    out = np.zeros(shape, dtype=array.dtype)
    keep = tuple(slice(0, min(have, want)) for have, want in zip(array.shape, shape, strict=True))
    out[keep] = array[keep]
    return out


def flip_features(
    z: Bits, drawn: Floats, bias_variance: float, rng: np.random.Generator
) -> tuple[Bits, Floats]:
    """Flip features at random: the other objects have it then, its weights change sign, the baseline absorbs them.

    The data are explained as before, so the priors alone decide; entries that change one at a time do not get there.
    Takes and returns z (N, K) and the drawn weights (K + 1, D), the baseline's first.
    """
    z, drawn = z.copy(), drawn.copy()
    size = z.sum(axis=0, dtype=np.float64)
    uniforms = rng.random(len(size))
    for k in range(len(size)):
        if size[k] == len(z):
            continue
        moved = drawn[0] + drawn[k + 1]
        log_odds = math.log(size[k] / (len(z) - size[k]))
        log_odds -= 0.5 * float((moved**2 - drawn[0] ** 2).sum()) / bias_variance
        if uniforms[k] < math.exp(min(log_odds, 0.0)):
            z[:, k] = 1 - z[:, k]
            drawn[0] = moved
            drawn[k + 1] *= -1.0
    return z, drawn


def log_joint(cells: StandardisedTable, z: Bits, widths: Widths, alpha: float, poll: Poll = no_poll) -> float:
    """Return log p(X, Z) with the weights integrated out, up to what does not depend on Z, in nats.

    Identical features are counted as if they were not (the factor of their orders is left out).
    """
    known = moments(cells, z, poll)
    posterior = weight_posterior(known, widths, poll)
    n, size = len(z), z.sum(axis=0, dtype=np.float64)
    prior = len(size) * math.log(alpha)
    prior += float((gammaln(size) + gammaln(n - size + 1.0) - gammaln(n + 1.0)).sum())
    likelihood = float(np.linalg.slogdet(posterior.cov.transpose(2, 0, 1))[1].sum())
    likelihood += float((posterior.mean * known[1] / widths.noise).sum())
    likelihood -= cells.n_columns * float(np.log(widths.prior(len(size))).sum())
    return prior + 0.5 * likelihood


#: Shape and rate of the Gamma priors: of the noise precisions; of the precision of the weights and, on its own, of the
#: baselines; of alpha. The rates of the first two are in units of the variances of the columns and of their mean.
NOISE_PRIOR = (1.0, 0.1)
WEIGHT_PRIOR = (1.0, 1.0)
ALPHA_PRIOR = (1.0, 1.0)
#: The prior of a noise variance further counts this many cells for each known one, of the column's own variance.
PSEUDO = 0.1
#: A run begins with this many features, or the limit of them, each with a random half of the objects.
START = 10
#: In this share of the burn-in, every so many sweeps, a run tries to drop one of its features …
PRUNE_UNTIL, PRUNE_EVERY = 0.75, 5
#: … after so many passes over the others.
PRUNE_PASSES = 3
#: A feature of a share between these is shown from the side on which its large weights are positive.
EITHER_SIDE = (1.0 / 3.0, 2.0 / 3.0)


@dataclass(frozen=True, eq=False)
class IbpState:
    """One sample, and the weights given it."""

    z: Bits  #: shape (N, K); every feature has an object; the most frequent comes first
    widths: Widths
    alpha: float
    #: `weights`, `variance`: shape (K + 1, D); mean and variance of the weights given the rest of the sample; the
    #: baseline's first.
    weights: Floats
    variance: Floats
    sweeps: int = 0  #: sweeps done


@dataclass(frozen=True, eq=False)
class IbpGibbs(UnaveragedMethod):
    """Gibbs sampler of the features that objects have, bound to the cells of a table (an `Algorithm`).

    The weights are integrated out while features are drawn (`visit`), from their posterior given all other objects;
    then drawn, for the noise, their variance and alpha to be drawn given them. The answer and its predictions use
    their mean and variance given the sample: a draw of them would only add noise.

    Entries that change one at a time seldom leave a state in which, say, eight features do the work of four. So in
    the first part of the burn-in the sampler now and then drops a feature, if that raises the joint probability once
    the others have been drawn anew. This is no move of the Markov chain, which begins after it.

    The draw of alpha ignores the limit of features. The prior of the noise variances adds a tenth of the number of
    cells, all of them noise. Without it, columns that are constant but for a few objects end with hardly any noise, and
    unseen cells that differ are then most improbable (digits: -36 nats a cell in place of -1.2).

    Every column has a posterior of its own, and a sweep costs O(N D K^2).

    Reference: Doshi-Velez and Ghahramani, ICML 2009; Griffiths and Ghahramani, JMLR 2011, for the births and alpha.
    """

    cells: StandardisedTable
    k_max: int = 0  #: limit of the features alive; 0 takes the smaller of the numbers of objects and columns
    alpha: float = 1.0  #: start value
    noise: str = "columns"  #: "columns": every column has a noise variance of its own
    learn: bool = True  #: draw alpha, or hold it at its start value
    burn_in: int = 0  #: sweeps that are not kept, in which the sampler may look for a good start
    noise_sd: float = 0.0  #: what the noise is held at, in standard deviations of a column; 0 draws it

    @property
    def most(self) -> int:
        """Limit of the features alive."""
        return self.k_max or min(self.cells.values.shape)

    @cached_property
    def scales(self) -> Floats:
        """Scale of the priors: the variance of each column's known cells; the sampler's test overrides it."""
        return self.cells.variance

    @property
    def scale(self) -> float:
        """Mean scale of the columns."""
        return float(self.scales.mean())

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> IbpState:
        """Return a sample of random features; the noise explains all cells so far."""
        n = self.cells.n_objects
        z = (rng.random((n, min(START, self.most))) < 0.5).astype(np.int8)
        z = z[:, z.any(axis=0)]
        noise = self.noise_sd**2 * self.scales if self.noise_sd else self.scales
        widths = Widths(noise, self.scale, self.scale)
        return _state(z, self._weights(z, widths, poll), widths, self.alpha, 0)

    def sweep(
        self, state: IbpState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[IbpState, SweepInfo]:
        """Draw the noise, the variances and alpha, then every object's features."""
        before, widths = self._draw_widths(state, self._weights(state.z, state.widths, poll), rng)
        alpha = self._draw_alpha(before.shape[1], rng) if self.learn else state.alpha
        sweeps = state.sweeps + 1
        z, posterior, changed = self._draw(before, widths, alpha, self.most, rng, poll)
        new, moves = _state(z, posterior, widths, alpha, sweeps), None
        if sweeps < PRUNE_UNTIL * self.burn_in and sweeps % PRUNE_EVERY == 0 and z.shape[1]:
            pruned = self._prune(new, rng, poll)
            if pruned is not None:
                new, moves = pruned, {"dropped": 1}
        entries = len(z) * max(z.shape[1], before.shape[1], 1)
        return new, SweepInfo(None, None, change=changed / entries, moves=moves)

    def posterior(self, state: IbpState) -> Posterior:
        """Return the sample, the most frequent feature first."""
        z, weights = choose_sides(state.z.astype(np.float64), state.weights)
        share, noise = z.mean(axis=0), state.widths.noise
        order = order_by_size(z.sum(axis=0))
        return build_posterior(
            np.ascontiguousarray(z[:, order]),
            weights[1:][order],
            share[order],
            weights[0],
            1.0 / noise,
            weight_variance=state.variance[1:][order],
            hyper={
                "noise": float(np.sqrt(noise).mean()),
                "alpha": state.alpha,
                "weight_sd": math.sqrt(state.widths.weights),
            },
        )

    def _weights(self, z: Bits, widths: Widths, poll: Poll) -> WeightPosterior:
        return weight_posterior(moments(self.cells, z, poll), widths, poll)

    def _draw(
        self, z: Bits, widths: Widths, alpha: float, most: int, rng: np.random.Generator, poll: Poll
    ) -> tuple[Bits, WeightPosterior, int]:
        posterior = self._weights(z, widths, poll)
        return draw_features(self.cells, z, posterior, widths, alpha, most, rng, poll)

    def _draw_widths(
        self, state: IbpState, posterior: WeightPosterior, rng: np.random.Generator
    ) -> tuple[Bits, Widths]:
        """Draw the weights, the sides of the features, and all variances given them."""
        z, drawn = flip_features(state.z, draw_weights(posterior, rng), state.widths.bias, rng)
        cells = self.cells
        error = cells.values - drawn[0] - z.astype(np.float64) @ drawn[1:]
        if cells.observed is not None:
            error *= cells.observed
        noise = state.widths.noise if self.noise_sd else self._draw_noise(error, rng)
        weights, bias = (
            _draw_variance((part**2).sum(), part.size, WEIGHT_PRIOR, self.scale, rng)
            for part in (drawn[1:], drawn[0])
        )
        return z, Widths(np.broadcast_to(noise, (cells.n_columns,)).copy(), float(weights), float(bias))

    def _draw_noise(self, error: Floats, rng: np.random.Generator) -> Floats:
        cells = self.cells
        squares, number, scale = np.einsum("nd,nd->d", error, error), cells.per_column, self.scales
        if self.noise == "one":
            squares, number = squares.sum(keepdims=True), number.sum(keepdims=True)
            scale = scale.mean(keepdims=True)
        noise: Floats = _draw_variance(
            squares + PSEUDO * number * scale, (1.0 + PSEUDO) * number, NOISE_PRIOR, scale, rng
        )
        return noise

    def _draw_alpha(self, n_features: int, rng: np.random.Generator) -> float:
        shape, rate = ALPHA_PRIOR
        harmonic = float((1.0 / np.arange(1, self.cells.n_objects + 1)).sum())
        return float(rng.gamma(shape + n_features)) / (rate + harmonic)

    def _prune(self, state: IbpState, rng: np.random.Generator, poll: Poll) -> IbpState | None:
        """Return the sample without a random feature and the others drawn again, or None if it is less probable."""
        n_features, widths, alpha = state.z.shape[1], state.widths, state.alpha
        z = np.delete(state.z, rng.integers(n_features), axis=1)
        for _ in range(PRUNE_PASSES):
            z, posterior, _ = self._draw(z, widths, alpha, n_features - 1, rng, poll)
        now, new = (log_joint(self.cells, each, widths, alpha, poll) for each in (state.z, z))
        return _state(z, posterior, widths, alpha, state.sweeps) if new > now else None


def _draw_variance(
    squares: Any, number: Any, prior: tuple[float, float], scale: Any, rng: np.random.Generator
) -> Any:
    """Draw variances given sums of squares; the precisions' priors are Gamma."""
    shape, rate = prior
    return (rate * scale + 0.5 * squares) / rng.gamma(shape + 0.5 * number)


def _state(z: Bits, posterior: WeightPosterior, widths: Widths, alpha: float, sweeps: int) -> IbpState:
    """Return a sample with its features in the order of their sizes."""
    order = order_by_size(z.sum(axis=0))
    slots = np.concatenate([[0], 1 + order])
    weights = posterior.mean[slots], posterior.variances()[slots]
    return IbpState(np.ascontiguousarray(z[:, order]), widths, alpha, *weights, sweeps)


def choose_sides(z: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return z (N, K) and weights (K + 1, D), features of about half the objects on their side of positive weights.

    A feature and its opposite explain the data equally well, and are as probable if both are as frequent; the sum of
    cubes decides, so that large weights count. The first weights are the baseline's.
    """
    share = z.mean(axis=0)
    over = (weights[1:] ** 3).sum(axis=1) < 0.0
    over &= (share > EITHER_SIDE[0]) & (share < EITHER_SIDE[1])
    weights = weights.copy()
    weights[0] += weights[1:][over].sum(axis=0)
    weights[1:][over] *= -1.0
    return np.where(over, 1.0 - z, z), weights


@dataclass(frozen=True, eq=False)
class BestState:
    """The current sample, and the most probable one so far."""

    inner: IbpState
    best: IbpState
    log_probability: float  #: of the best one, in nats


@dataclass(frozen=True)
class BestSample(UnaveragedMethod):
    """IBP sampling answered by its most probable sample (an `Algorithm`), as HF13 §4 takes it.

    Samples compare by `log_probability`: of the features, the variances, and alpha where it is drawn.
    """

    inner: IbpGibbs

    def init(self, rng: np.random.Generator, poll: Poll = no_poll) -> BestState:
        """Return the first sample, which is the best so far."""
        first = self.inner.init(rng, poll)
        return BestState(first, first, log_probability(self.inner, first, poll))

    def sweep(
        self, state: BestState, rng: np.random.Generator, poll: Poll = no_poll
    ) -> tuple[BestState, SweepInfo]:
        """Draw the next sample; keep it where it is more probable than all before."""
        drawn, info = self.inner.sweep(state.inner, rng, poll)
        found = log_probability(self.inner, drawn, poll)
        if found > state.log_probability:
            return BestState(drawn, drawn, found), info
        return BestState(drawn, state.best, state.log_probability), info

    def posterior(self, state: BestState) -> Posterior:
        """Return the most probable sample."""
        return self.inner.posterior(state.best)

    def current(self, state: BestState) -> Posterior:
        """Return the last sample."""
        return self.inner.posterior(state.inner)


def log_probability(method: IbpGibbs, state: IbpState, poll: Poll = no_poll) -> float:
    """Return the log density of the cells, the features and what is drawn with them, weights integrated out (nats).

    Features that the same objects have are counted as if they were told apart (a factor of their orders is left out).
    """
    cells, widths = method.cells, state.widths
    value = log_joint(cells, state.z, widths, state.alpha, poll)
    squares = np.einsum("nd,nd->d", cells.values, cells.values)
    value -= 0.5 * float((cells.per_column * (LOG_2PI + np.log(widths.noise)) + squares / widths.noise).sum())
    harmonic = float((1.0 / np.arange(1, cells.n_objects + 1)).sum())
    value -= state.alpha * harmonic
    if method.learn:
        value -= state.alpha  # its prior Gamma(1, 1)
    shape, rate = WEIGHT_PRIOR
    value += sum(
        _log_gamma(1.0 / width, shape, rate * method.scale) for width in (widths.weights, widths.bias)
    )
    return value + _log_noise_prior(method, cells, widths.noise)


def _log_noise_prior(method: IbpGibbs, cells: StandardisedTable, noise: Any) -> float:
    """Return the log density of the noise precisions; 0 if the noise is held."""
    if method.noise_sd:
        return 0.0
    number, scale = cells.per_column, method.scales
    if method.noise == "one":
        number, scale, noise = number.sum(keepdims=True), scale.mean(keepdims=True), noise[:1]
    shape, rate = NOISE_PRIOR
    shapes = shape + 0.5 * PSEUDO * number
    rates = rate * scale + 0.5 * PSEUDO * number * scale
    return float(sum(map(_log_gamma, 1.0 / noise, shapes, rates)))


def _log_gamma(x: float, shape: float, rate: float) -> float:
    """Return the log density of a Gamma distribution."""
    return float(shape * math.log(rate) - gammaln(shape) + (shape - 1.0) * math.log(x) - rate * x)


def build_ibp(data: Any, values: Values) -> FeatureMean | BestSample:
    """Return IBP sampling on data, with the values of its parameters."""
    sampler = IbpGibbs(
        StandardisedTable.of(data),
        values["k_max"],
        values["alpha"],
        values["noise"],
        values["learn_alpha"],
        values["burn_in"],
        values["noise_sd"],
    )
    return BestSample(sampler) if values["answer"] == "best" else FeatureMean(sampler, values["burn_in"])
