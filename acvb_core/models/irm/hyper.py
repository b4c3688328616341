"""Hyper-parameters of the IRM: the concentrations of the stick-breaking priors and the prior of the blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numba as nb
import numpy as np

from acvb_core.core.special import OPTIONS, digamma, lbeta, log, trigamma
from acvb_core.models.irm.kernels import TWO_DOMAINS, Floats, block_term

#: Fixed points run towards 0 or infinity if the data say nothing; they are kept between these.
_LOW, _HIGH = 1e-4, 1e6
#: Blocks whose digammas with and without their entries differ less than this say nothing about their prior.
_LEAST_DOWN = 1e-12
#: Newton steps in a sweep.
_CLIMB = 3


@dataclass(frozen=True)
class Hyper:
    """Values of the hyper-parameters."""

    alpha: Mapping[str, float]  #: concentration of the stick-breaking prior of each domain
    #: `a`, `b`: shape (1, 1) or (K1, K2); prior of the strengths, of all blocks or of each block: Beta(a, b), or for
    #: rates of counts Gamma(a, b), by shape and rate.
    a: Floats
    b: Floats
    is_gamma: bool = False  #: the strengths are rates of counts

    @classmethod
    def single_prior(
        cls,
        alpha: float,
        a: float,
        b: float,
        domains: Iterable[str] = TWO_DOMAINS.domains,
        *,
        is_gamma: bool = False,
    ) -> Hyper:
        """One prior for all blocks, one concentration to start every domain from."""
        prior = np.full((1, 1), float(a)), np.full((1, 1), float(b))
        return cls(dict.fromkeys(domains, alpha), *prior, is_gamma)

    @property
    def per_block(self) -> bool:
        """Return whether every block has a Beta prior of its own."""
        return self.a.shape != (1, 1)

    def blocks(self, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return a and b as contiguous arrays of the given shape (K1, K2)."""
        # Copies, as kernels would be compiled once more for the read-only arrays of `broadcast_to`.
        a, b = np.empty((2, *shape))
        a[:], b[:] = self.a, self.b
        return a, b

    def strengths(self, ones: Floats, entries: Floats) -> Floats:
        """Return the posterior mean of each block's strength, shape (K1, K2)."""
        if self.is_gamma:
            return (self.a + ones) / (self.b + (entries - ones))
        return (self.a + ones) / (self.a + self.b + entries)

    def draw_strengths(self, ones: Floats, entries: Floats, rng: np.random.Generator) -> Floats:
        """Draw each block's strength from its posterior, shape (K1, K2)."""
        x, y = self.a + ones, self.b + np.maximum(entries - ones, 0.0)
        return rng.gamma(x) / y if self.is_gamma else rng.beta(x, y)


def update_hyper(
    hyper: Hyper,
    rule: str,
    ones: Floats,
    entries: Floats,
    mass: Mapping[str, Floats],
    distinct: Floats | None = None,
    *,
    climb: bool = True,
    explicit: bool = False,
) -> Hyper:
    """Return the hyper-parameters after one fixed-point step by a rule.

    `rule`: "tied": one (a, b) for all blocks. "per-block": one for each, as IRM14 eqs. 111-112 print it: a maximum
      likelihood fit to a single strength each, with its optimum at infinity. "paper": the same, and the concentrations
      by eqs. 109-110, with K sticks; with `explicit` all by eqs. 58-61, for VB. "fixed": no change.
    `ones`, `entries`: of every block. `mass`: expected cluster sizes of each domain, in stick order. `distinct`: from
      `Layout.distinct`.
    `climb`: continue tied a and b by Newton's method, as the fixed point is reached very slowly.

    Notes
    -----
    Each step raises (or leaves) the lower bound: it is an EM step for the concentrations and Minka's bound for
    a and b. IRM14 §5.6, with K - 1 sticks.
    """
    if rule == "fixed":
        return hyper
    printed = rule == "paper"
    if rule == "tied":
        a, b = update_tied(hyper, ones, entries, distinct, steps=_CLIMB if climb else 0)
    else:
        a, b = update_per_block(hyper.a, hyper.b, ones, entries, explicit=printed and explicit)
    alpha = {
        domain: update_concentration(value, mass[domain], printed=printed)
        for domain, value in hyper.alpha.items()
    }
    return replace(hyper, alpha=alpha, a=a, b=b)


def update_concentration(alpha: float, mass: Floats, *, printed: bool = False) -> float:
    """Return (K - 1) / sum_{k<K} [psi(m_k + M_k + alpha + 1) - psi(M_k + alpha)]; unchanged for one cluster.

    `printed`: K and all K sticks, as IRM14 eqs. 58 and 109 have it.
    """
    sticks = len(mass) - (0 if printed else 1)
    return min(max(sticks / _sum_stick_rates(mass, sticks, alpha), _LOW), _HIGH) if sticks else alpha


@nb.njit(**OPTIONS)
def _sum_stick_rates(mass: Floats, sticks: int, alpha: float) -> float:
    """Return the sum of E[-log(1 - v_k)] over the first sticks."""
    beyond = total = 0.0
    for k in range(mass.shape[0] - 1, -1, -1):
        if k < sticks:
            total += digamma(mass[k] + beyond + alpha + 1.0) - digamma(beyond + alpha)
        beyond += mass[k]
    return total


def update_per_block(
    a: Floats, b: Floats, ones: Floats, entries: Floats, *, explicit: bool = False
) -> tuple[Floats, Floats]:
    """Return a and b of each block after one step of Minka's fixed point, or with `explicit` of IRM14 eqs. 60-61.

    The latter are from q(theta) = Beta(a + n, b + N).
    """
    from scipy.special import psi  # slow to import

    ones = np.maximum(ones, 0.0)
    zeros = np.maximum(entries - ones, 0.0)
    before, after = psi(a + b), psi(a + b + ones + zeros)
    if explicit:
        new_a = a * (before - psi(a)) / (after - psi(a + ones))
        new_b = b * (before - psi(b)) / (after - psi(b + zeros))
    else:
        down = after - before
        observed = down > _LEAST_DOWN
        new_a = a * np.divide(psi(a + ones) - psi(a), down, out=np.ones_like(down), where=observed)
        new_b = b * np.divide(psi(b + zeros) - psi(b), down, out=np.ones_like(down), where=observed)
    return np.clip(new_a, _LOW, _HIGH), np.clip(new_b, _LOW, _HIGH)


def update_tied(
    hyper: Hyper, ones: Floats, entries: Floats, distinct: Floats | None = None, steps: int = 0
) -> tuple[Floats, Floats]:
    """Return tied a and b after one step of a fixed point and up to `steps` of Newton's method.

    The fixed point is Minka's, and for counts that of the rates' means and logarithms.
    """
    # Other blocks say nothing about their prior.
    counted = entries > 0.0 if distinct is None else (entries > 0.0) & (distinct > 0.0)
    n = np.maximum(ones[counted], 0.0)
    zeros = np.maximum(entries[counted] - n, 0.0)
    step = _step_gamma if hyper.is_gamma else _step_beta
    one, zero = step(n, zeros, hyper.a.item(), hyper.b.item())
    one, zero = climb_prior(n, zeros, one, zero, steps, hyper.is_gamma)
    return np.full((1, 1), one), np.full((1, 1), zero)


@nb.njit(**OPTIONS)
def _step_beta(ones: Floats, zeros: Floats, a: float, b: float) -> tuple[float, float]:
    """Return tied a and b after one step of Minka's fixed point."""
    up_a = up_b = down = 0.0
    for e in range(ones.shape[0]):
        up_a += digamma(a + ones[e])
        up_b += digamma(b + zeros[e])
        down += digamma(a + b + ones[e] + zeros[e])
    up_a -= ones.shape[0] * digamma(a)
    up_b -= ones.shape[0] * digamma(b)
    down -= ones.shape[0] * digamma(a + b)
    if not down > _LEAST_DOWN:
        return a, b
    return min(max(a * up_a / down, _LOW), _HIGH), min(max(b * up_b / down, _LOW), _HIGH)


@nb.njit(**OPTIONS)
def _step_gamma(counts: Floats, exposures: Floats, a: float, b: float) -> tuple[float, float]:
    """Return tied a and b after one step of expectation and maximisation: the rates are what is not observed."""
    n_blocks = counts.shape[0]
    mean = log_mean = 0.0
    for e in range(n_blocks):
        mean += (a + counts[e]) / (b + exposures[e])
        log_mean += digamma(a + counts[e]) - log(b + exposures[e])
    if n_blocks == 0 or not mean > 0.0:
        return a, b
    mean /= n_blocks
    gap = log(mean) - log_mean / n_blocks
    for _ in range(_CLIMB):  # Minka 2002: log a - psi(a) = gap
        rest = log(a) - digamma(a) - gap
        a = 1.0 / (1.0 / a + rest / (a * a * (1.0 / a - trigamma(a))))
        a = min(max(a, _LOW), _HIGH) if a > 0.0 else _HIGH
    return a, min(max(a / mean, _LOW), _HIGH)


@nb.njit(**OPTIONS)
def climb_prior(
    ones: Floats, zeros: Floats, a: float, b: float, steps: int, is_gamma: bool
) -> tuple[float, float]:
    """Return tied a and b after some Newton steps in their logarithms on `log_evidence`; none of them lowers it."""
    height = log_evidence(ones, zeros, a, b, is_gamma)
    for _ in range(steps):
        slope_a, slope_b, bend_a, bend_b, bend = _slopes(ones, zeros, a, b, is_gamma)
        determinant = bend_a * bend_b - bend**2
        if not (bend_a < 0 and determinant > 0):
            break  # no maximum near: the fixed point continues in the next sweep
        step_a, step_b = (bend * slope_b - bend_b * slope_a), (bend * slope_a - bend_a * slope_b)
        shrink = max(1.0, abs(step_a / determinant), abs(step_b / determinant)) * determinant
        next_a = min(max(a * math.exp(step_a / shrink), _LOW), _HIGH)
        next_b = min(max(b * math.exp(step_b / shrink), _LOW), _HIGH)
        higher = log_evidence(ones, zeros, next_a, next_b, is_gamma)
        if not higher > height:
            break
        a, b, height = next_a, next_b, higher
    return a, b


@nb.njit(**OPTIONS)
def log_evidence(ones: Floats, zeros: Floats, a: float, b: float, is_gamma: bool) -> float:
    """Return the sum of `block_term` with and less without the entries, over blocks with n ones and N zeros."""
    total = 0.0
    if is_gamma:
        for e in range(ones.shape[0]):
            total += block_term(a + ones[e], b + zeros[e], True)
    else:
        for e in range(ones.shape[0]):
            total += lbeta(a + ones[e], b + zeros[e])
    return total - ones.shape[0] * block_term(a, b, is_gamma)


@nb.njit(**OPTIONS)
def _slopes_gamma(
    counts: Floats, exposures: Floats, a: float, b: float
) -> tuple[float, float, float, float, float]:
    """Return the derivatives of `log_evidence` of counts, as `_slopes` does."""
    n_blocks = counts.shape[0]
    slope_a = bend_a = rate = spread = shared = 0.0
    for e in range(n_blocks):
        total = b + exposures[e]
        slope_a += digamma(a + counts[e]) - log(total)
        bend_a += trigamma(a + counts[e])
        rate += (a + counts[e]) / total
        spread += (a + counts[e]) / (total * total)
        shared += 1.0 / total
    slope_a = a * (slope_a - n_blocks * (digamma(a) - log(b)))
    slope_b = n_blocks * a - b * rate
    bend_a = slope_a + a * a * (bend_a - n_blocks * trigamma(a))
    bend_b = slope_b + b * b * spread - n_blocks * a
    return slope_a, slope_b, bend_a, bend_b, a * (n_blocks - b * shared)


@nb.njit(**OPTIONS)
def _slopes(
    ones: Floats, zeros: Floats, a: float, b: float, is_gamma: bool
) -> tuple[float, float, float, float, float]:
    """Return the first derivatives of `log_evidence` in log a and log b, the second ones, and the mixed one."""
    if is_gamma:
        return _slopes_gamma(ones, zeros, a, b)
    slope_a = slope_b = shared = 0.0
    bend_a = bend_b = bent = 0.0
    for e in range(ones.shape[0]):
        total = a + b + ones[e] + zeros[e]
        slope_a += digamma(a + ones[e])
        slope_b += digamma(b + zeros[e])
        shared += digamma(total)
        bend_a += trigamma(a + ones[e])
        bend_b += trigamma(b + zeros[e])
        bent += trigamma(total)
    n_blocks = ones.shape[0]
    shared = n_blocks * digamma(a + b) - shared
    bent = n_blocks * trigamma(a + b) - bent
    slope_a = a * (slope_a - n_blocks * digamma(a) + shared)
    slope_b = b * (slope_b - n_blocks * digamma(b) + shared)
    bend_a = slope_a + a * a * (bend_a - n_blocks * trigamma(a) + bent)
    bend_b = slope_b + b * b * (bend_b - n_blocks * trigamma(b) + bent)
    return slope_a, slope_b, bend_a, bend_b, a * b * bent
