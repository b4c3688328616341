"""R-hat and effective sample size: have the chains of a sampler mixed, and what are their draws worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Fewer draws than these in a half of a chain say nothing.
_FEWEST = 4
#: A chain has not mixed if an R-hat is above the first, or the draws are worth fewer independent ones than the second:
#: the intervals of such chains are often much too narrow (`benchmarks.uncertainty.mixing`). The usual limit of R-hat,
#: 1.01, is for several long chains: by chance alone, the halves of 140 independent draws exceed it one time in five.
MOST_R_HAT, FEWEST_EFFECTIVE = 1.1, 20


class Mixing(NamedTuple):
    """R-hat and effective sample size of one quantity; NaN if it never changes, or draws are too few."""

    r_hat: float  #: near 1 when the chains agree; from 1.01 on, several long chains have not mixed
    effective_size: float  #: independent draws that estimate the mean as well as all draws together


@dataclass(frozen=True)
class ChainReport:
    """R-hat and effective sample size of one Gibbs chain or several, by the quantities that were measured."""

    n_samples: int
    quantities: Mapping[str, Mixing]  #: "lower_bound", "k_rows", …; NaN if a quantity never changes
    n_chains: int = 1

    @classmethod
    def of_draws(cls, draws: Mapping[str, ArrayLike]) -> ChainReport | None:
        """Return the report on draws of one chain, shape (S,) each, or of C chains, (C, S); None without any."""
        sizes = [np.size(values) for values in draws.values()]
        if not sizes or not sizes[0]:
            return None
        n_chains = max(len(np.atleast_2d(values)) for values in draws.values())
        return cls(sizes[0], {name: measure_mixing(values) for name, values in draws.items()}, n_chains)

    @property
    def r_hat(self) -> float:
        """The largest R-hat of all quantities; NaN if none is known."""
        return max((one.r_hat for one in self._known), default=float("nan"))

    @property
    def effective_size(self) -> float:
        """The smallest effective sample size of all quantities; NaN if none is known."""
        return min((one.effective_size for one in self._known), default=float("nan"))

    @property
    def has_mixed(self) -> bool | None:
        """True if the samples are worth enough; None if there are too few to tell, or none differs from another."""
        if self.n_samples < FEWEST_EFFECTIVE or not self._known:
            return None
        return self.r_hat <= MOST_R_HAT and self.effective_size >= FEWEST_EFFECTIVE

    @property
    def _known(self) -> list[Mixing]:
        return [one for one in self.quantities.values() if np.isfinite(one.effective_size)]

    def to_dict(self) -> dict[str, float | None]:
        """Return the number of samples, and the worst R-hat and effective sample size, None if unknown."""
        worst = {"effective": self.effective_size, "r_hat": self.r_hat}
        return {"n": self.n_samples} | {
            name: value if np.isfinite(value) else None for name, value in worst.items()
        }

    def describe(self) -> str:
        """Return the report in sentences."""
        if self.has_mixed is None:
            few = self.n_samples < FEWEST_EFFECTIVE
            why = "too few to show" if few else "all alike, which does not show"
            whose = (
                "their chain has mixed" if self.n_chains == 1 else f"their {self.n_chains} chains have mixed"
            )
            return f"{self.n_samples:,} samples: {why} whether {whose}."
        worth = f"{self.n_samples:,} samples, worth {self.effective_size:,.0f} independent ones"
        if self.r_hat > MOST_R_HAT:
            parts = "the first and the second half" if self.n_chains == 1 else f"the {self.n_chains} chains"
            text = f"{worth}; {parts} differ (R-hat {self.r_hat:.2f})."
        else:
            text = f"{worth} (R-hat {self.r_hat:.2f})."
        if self.has_mixed:
            return text
        chains = "one chain that has" if self.n_chains == 1 else f"{self.n_chains} chains that have"
        return f"{text} They come from {chains} not mixed: intervals may be too narrow."


def measure_mixing(draws: ArrayLike) -> Mixing:
    """Return rank-normalised split R-hat and the effective sample size of the bulk.

    `draws`: shape (n_chains, n_draws).
    Reference: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, Bayesian Analysis 16 (2021), eqs. 1-4,
      10-14; Geyer's initial monotone sequence, Statistical Science 7 (1992).
    """
    table = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    half = table.shape[1] // 2
    if half < _FEWEST or not np.isfinite(table).all() or np.ptp(table) == 0.0:
        return Mixing(float("nan"), float("nan"))
    halves = np.vstack([table[:, :half], table[:, -half:]])
    folded = np.abs(halves - np.median(halves))
    normal = _normalise_ranks(halves)
    return Mixing(max(_r_hat(normal), _r_hat(_normalise_ranks(folded))), _effective_size(normal))


def _normalise_ranks(draws: Floats) -> Floats:
    # Equal draws have their mean rank. SciPy's statistics would take longer to import than a small fit.
    _, place, counts = np.unique(draws, return_inverse=True, return_counts=True)
    shares = (np.cumsum(counts) - (counts - 1) / 2.0 - 0.375) / (draws.size + 0.25)
    normal = NormalDist()
    return np.array([normal.inv_cdf(share) for share in shares.tolist()])[place].reshape(draws.shape)


def _variances(draws: Floats) -> tuple[float, float]:
    """Return the mean variance within chains, and the variance of all draws."""
    n_draws = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    return within, (n_draws - 1) / n_draws * within + float(draws.mean(axis=1).var(ddof=1))


def _r_hat(draws: Floats) -> float:
    within, total = _variances(draws)
    if within == 0.0:
        return 1.0 if total == 0.0 else float("inf")
    return float(np.sqrt(total / within))


def _effective_size(draws: Floats) -> float:
    n_chains, n_draws = draws.shape
    within, total = _variances(draws)
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n_draws, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :n_draws].mean(axis=0) / n_draws
    # Every chain's covariances count with n - 1 draws, as its variance does.
    correlation = 1.0 - (within - covariance * n_draws / (n_draws - 1)) / total
    correlation[0] = 1.0
    pairs = correlation[: n_draws // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    n = n_chains * n_draws
    return float(n / max(2.0 * pairs.sum() - 1.0, 1.0 / np.log10(n)))
