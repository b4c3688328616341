"""Hyper-parameters of the IRM: the concentrations of the stick-breaking priors and the Beta prior of the blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaln, psi, zeta

from acvb_core.models.irm.kernels import Floats
from acvb_core.models.irm.layout import TWO_DOMAINS

#: Fixed points run towards 0 or infinity where the data say nothing; they are held between these.
_LOW, _HIGH = 1e-4, 1e6


@dataclass(frozen=True)
class Hyper:
    """Values of the hyper-parameters."""

    alpha: Mapping[str, float]  #: concentration of the stick-breaking prior of each domain
    #: `a`, `b`: shape (1, 1) or (K1, K2); beta prior of the block strengths: one for all blocks, or one for each
    #: block.
    a: Floats
    b: Floats

    @classmethod
    def single_prior(
        cls, alpha: float, a: float, b: float, domains: Iterable[str] = TWO_DOMAINS.domains
    ) -> Hyper:
        """One Beta prior for all blocks, one concentration to start every domain from."""
        return cls(dict.fromkeys(domains, alpha), np.full((1, 1), float(a)), np.full((1, 1), float(b)))

    @property
    def per_block(self) -> bool:
        """Return whether every block has a Beta prior of its own."""
        return self.a.shape != (1, 1)

    def blocks(self, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return a and b as contiguous arrays of the given shape (K1, K2)."""
        # Copies: what `broadcast_to` returns is read-only, and kernels would be compiled once more for that.
        a, b = (np.array(np.broadcast_to(values, shape), order="C") for values in (self.a, self.b))
        return a, b


def update_hyper(
    hyper: Hyper,
    rule: str,
    ones: Floats,
    entries: Floats,
    mass: Mapping[str, Floats],
    distinct: Floats | None = None,
    *,
    climb: bool = True,
) -> Hyper:
    """Return the hyper-parameters after one fixed-point step, by the rule "tied", "per-block" or "fixed".

    "tied": one (a, b) for all blocks; "per-block": one for each, as IRM14 eqs. 111-112 print it (a maximum likelihood
    fit to a single strength each, whose optimum lies at infinity: only to reproduce the paper); "fixed": no change.
    `mass` holds the expected cluster sizes of each domain, in stick order, and `distinct` is `Layout.distinct`.

    Notes
    -----
    Each step raises (or leaves) the lower bound: it is an EM step for the concentrations and Minka's bound for
    a and b. IRM14 §5.6, with K - 1 sticks. The fixed point of a and b is reached very slowly (b was at a tenth of its
    value when all else had converged), so `climb` carries tied ones on by Newton's method.
    """
    if rule == "fixed":
        return hyper
    a, b = update_beta(hyper.a, hyper.b, ones, entries, tied=rule == "tied", distinct=distinct)
    if rule == "tied" and climb:
        a, b = climb_beta(a, b, ones, entries, distinct)
    alpha = {domain: update_concentration(value, mass[domain]) for domain, value in hyper.alpha.items()}
    return replace(hyper, alpha=alpha, a=a, b=b)


def update_concentration(alpha: float, mass: Floats) -> float:
    """Return (K - 1) / sum_{k<K} [psi(m_k + M_k + alpha + 1) - psi(M_k + alpha)]; unchanged for one cluster."""
    if len(mass) < 2:
        return alpha
    beyond = np.maximum(mass.sum() - np.cumsum(mass), 0.0)[:-1]
    rate = float((psi(mass[:-1] + beyond + alpha + 1.0) - psi(beyond + alpha)).sum())
    return float(np.clip((len(mass) - 1) / rate, _LOW, _HIGH))


def update_beta(
    a: Floats, b: Floats, ones: Floats, entries: Floats, *, tied: bool, distinct: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return a and b after one step of Minka's fixed point, tied over the blocks or one for each block."""
    ones = np.maximum(ones, 0.0)
    zeros = np.maximum(entries - ones, 0.0)
    up_a = psi(a + ones) - psi(a)
    up_b = psi(b + zeros) - psi(b)
    down = psi(a + b + ones + zeros) - psi(a + b)
    if tied:
        weight = np.ones((1, 1)) if distinct is None else distinct
        up_a, up_b, down = (np.full((1, 1), (part * weight).sum()) for part in (up_a, up_b, down))
    observed = down > 1e-12  # a block without observed entries tells nothing
    ratio_a = np.divide(up_a, down, out=np.ones_like(down), where=observed)
    ratio_b = np.divide(up_b, down, out=np.ones_like(down), where=observed)
    return np.clip(a * ratio_a, _LOW, _HIGH), np.clip(b * ratio_b, _LOW, _HIGH)


def climb_beta(
    a: Floats, b: Floats, ones: Floats, entries: Floats, distinct: Floats | None = None, steps: int = 3
) -> tuple[Floats, Floats]:
    """Return tied a and b after some Newton steps in their logarithms; a step that does not climb is not taken.

    The height is sum_kl [log B(a + n_kl, b + N_kl) - log B(a, b)], the blocks' part of the lower bound.
    """
    counted = np.broadcast_to(1.0 if distinct is None else distinct, ones.shape) > 0
    n = np.maximum(ones[counted], 0.0)
    zeros = np.maximum(entries[counted] - n, 0.0)
    total, count = n + zeros, len(n)
    one, zero = float(a[0, 0]), float(b[0, 0])
    height = float(betaln(one + n, zero + zeros).sum() - count * betaln(one, zero))
    for _ in range(steps):
        both = one + zero
        shared = count * psi(both) - psi(both + total).sum()
        bent = count * _trigamma(both) - _trigamma(both + total).sum()
        slope_a = one * (psi(one + n).sum() - count * psi(one) + shared)
        slope_b = zero * (psi(zero + zeros).sum() - count * psi(zero) + shared)
        bend_a = slope_a + one**2 * (_trigamma(one + n).sum() - count * _trigamma(one) + bent)
        bend_b = slope_b + zero**2 * (_trigamma(zero + zeros).sum() - count * _trigamma(zero) + bent)
        bend = one * zero * bent
        determinant = bend_a * bend_b - bend**2
        if not (bend_a < 0 and determinant > 0):
            break  # no maximum near: the fixed point goes on in the next sweep
        step = -np.array([bend_b * slope_a - bend * slope_b, bend_a * slope_b - bend * slope_a]) / determinant
        step /= max(1.0, float(np.abs(step).max()))
        next_one, next_zero = np.clip(np.array([one, zero]) * np.exp(step), _LOW, _HIGH)
        higher = float(betaln(next_one + n, next_zero + zeros).sum() - count * betaln(next_one, next_zero))
        if not higher > height:
            break
        one, zero, height = float(next_one), float(next_zero), higher
    return np.full((1, 1), one), np.full((1, 1), zero)


def _trigamma(x: Floats | float) -> Any:
    return zeta(2.0, x)
