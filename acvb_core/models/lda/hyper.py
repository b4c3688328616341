"""Concentrations of LDA: asymmetric over topics for the documents, symmetric over words for the topics."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from acvb_core.core.errors import ParameterError
from acvb_core.core.parallel import map_together
from acvb_core.core.protocols import Array
from acvb_core.core.spec import Values
from acvb_core.core.special import digamma
from acvb_core.models.lda.kernels import OPTIONS, Counts, Floats, SinglePrior, log_gamma_gain
from acvb_core.models.lda.spec import LEARN_EVERY, LEARN_FROM, LEARN_UNTIL, START_TOTAL

#: Limits of the concentrations; without data a fixed point tends to 0.
LOW, HIGH = 1e-4, 1e4
#: Learning ends when no hyper-parameter changes by more than this share.
LEARNED = 0.01
#: Counts that are present with less than this probability are ignored.
_NEGLIGIBLE = 1e-6
#: Documents that are summed at a time, …
BLOCK = 1 << 14
#: … and rows of counts in one call of the kernel.
_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Concentrations:
    """Values of the hyper-parameters."""

    alpha: Floats  #: shape (K,); of each topic in the documents
    beta: float  #: of every word in the topics

    @classmethod
    def symmetric(cls, n_topics: int, alpha: float, beta: float) -> Concentrations:
        """Return the same initial concentration for all topics."""
        return cls(np.full(n_topics, float(alpha)), float(beta))

    @classmethod
    def of_values(cls, values: Values) -> Concentrations:
        """Return the initial concentrations of a method's parameters."""
        alpha = values["alpha"]
        return cls.symmetric(values["k"], alpha or START_TOTAL / values["k"], values["beta"])

    def singles(self, n_words: int) -> SinglePrior:
        """Return the values as the kernels read them."""
        return SinglePrior(self.alpha.astype(np.float32), np.float32(self.beta), n_words * self.beta)


def minka_step(
    given: Concentrations,
    by_document: NDArray[np.floating],
    by_word: NDArray[np.floating],
    absent_document: NDArray[np.floating] | None = None,
    absent_word: NDArray[np.floating] | None = None,
) -> Concentrations:
    """Return the concentrations after one step of Minka's fixed point on expected counts.

    `by_document`, `by_word`: shapes (D, K), (V, K); expected counts n_dk, n_wk.
    `absent_document`, `absent_word`: of the same shapes; probability that the count is zero, product of (1 - q)^c.
      E[psi(alpha + n) - psi(alpha)] is then taken as P(n > 0) [psi(alpha + n / P(n > 0)) - psi(alpha)] (Teh, Kurihara
      and Welling, NIPS 20, 2008). Plain counts treat every tiny count as a topic that is present, and raise alpha. By
      default the counts are plain: exact for samples, and the step that raises the variational bound.
    Reference: Minka, Estimating a Dirichlet distribution, 2000; asymmetric alpha: Wallach, Mimno and McCallum, NIPS
      22, 2009.
    """
    gains = document_gains(given, by_document, absent_document)
    return minka_step_of_gains(given, gains, by_word, absent_word)


class DocumentGains(NamedTuple):
    """Sums over documents for a step of alpha."""

    up: Floats  #: shape (K,); of E psi(alpha_k + n_dk) - psi(alpha_k)
    down: float  #: of psi(alpha_. + n_d.) - psi(alpha_.)


def document_gains(
    given: Concentrations, by_document: NDArray[np.floating], absent: NDArray[np.floating] | None = None
) -> DocumentGains:
    """Return the sums of some documents, block by block; parameters as of `minka_step`."""
    total, up, down = float(given.alpha.sum()), np.zeros(by_document.shape[1]), 0.0
    for begin in range(0, len(by_document), BLOCK):
        block = slice(begin, begin + BLOCK)
        lengths = by_document[block].sum(axis=1, dtype=np.float64)
        lengths = lengths[lengths > 0.5]
        down += float((psi(lengths + total) - psi(total)).sum())
        up += _gain(by_document[block], None if absent is None else absent[block], given.alpha)
    return DocumentGains(up, down)


def minka_step_of_gains(
    given: Concentrations,
    gains: DocumentGains,
    by_word: NDArray[np.floating],
    absent_word: NDArray[np.floating] | None = None,
) -> Concentrations:
    """Return `minka_step`, given the sums over all documents."""
    alpha, beta = given.alpha, given.beta
    new_alpha = np.clip(alpha * gains.up / gains.down, LOW, HIGH) if gains.down > 0 else alpha
    n_words = by_word.shape[0]
    sizes = by_word.sum(axis=0, dtype=np.float64, keepdims=True)
    # No token of a topic at all: none of any word.
    empty = None if absent_word is None else np.multiply.reduce(absent_word, 0, np.float64, keepdims=True)
    down = n_words * float(_gain(sizes, empty, np.full(sizes.shape[1], n_words * beta)).sum())
    up = float(_gain(by_word, absent_word, np.full(by_word.shape[1], beta)).sum())
    new_beta = float(np.clip(beta * up / down, LOW, HIGH)) if down > 0 else beta
    return Concentrations(new_alpha, new_beta)


def _gain(counts: NDArray[np.floating], absent: NDArray[np.floating] | None, concentration: Floats) -> Floats:
    """Return the sum over rows of E psi(concentration + n) - psi(concentration), shape (K,)."""
    counts = np.ascontiguousarray(counts)
    absence = np.empty((0, counts.shape[1]), np.float32) if absent is None else np.ascontiguousarray(absent)

    def add_up(begin: int) -> Floats:
        rows = slice(begin, begin + _AT_ONCE)
        return _sum_gains(counts[rows], absence[rows], concentration)

    return sum(map_together(add_up, range(0, len(counts), _AT_ONCE)), np.zeros(len(concentration)))


@nb.njit(**OPTIONS)
def _sum_gains(counts: Array, absent: Array, concentration: Floats) -> Floats:
    """Return `_gain`; `absent` has no rows for plain counts."""
    total, base = np.zeros(counts.shape[1]), np.empty(counts.shape[1])
    for k in range(base.shape[0]):
        base[k] = digamma(concentration[k])
    for i in range(counts.shape[0]):
        if absent.shape[0] == 0:
            for k in range(base.shape[0]):
                total[k] += digamma(concentration[k] + max(np.float64(counts[i, k]), 0.0)) - base[k]
            continue
        for k in range(base.shape[0]):
            present = 1.0 - np.float64(absent[i, k])
            share = present if present > _NEGLIGIBLE else _NEGLIGIBLE
            gain = digamma(concentration[k] + max(np.float64(counts[i, k]), 0.0) / share) - base[k]
            total[k] += present * gain if present > _NEGLIGIBLE else 0.0
    return total


def is_learning_due(age: int) -> bool:
    """Return whether the hyper-parameters are learned after this sweep."""
    return age >= LEARN_FROM and age % LEARN_EVERY == 0


def learn_hyper(state: Any, step: Callable[[], Concentrations]) -> Any:
    """Return the state after a step of its hyper-parameters, if it is still learning and a step is due.

    `state`: with `hyper`, `age` and `learning`; learning ends when a step changes little, or late in a run.
    """
    if not state.learning or not is_learning_due(state.age):
        return state
    hyper = step()
    learning = largest_change(state.hyper, hyper) > LEARNED and state.age < LEARN_UNTIL
    return replace(state, hyper=hyper, learning=learning)


def largest_change(old: Concentrations, new: Concentrations) -> float:
    """Return the largest relative change among the total of alpha, each alpha's share of it, and beta."""
    before, after = float(old.alpha.sum()), float(new.alpha.sum())
    shares = np.abs(new.alpha / after - old.alpha / before).sum()
    return float(max(abs(after / before - 1.0), abs(new.beta / old.beta - 1.0), shares))


def check_concentrations(data: Any, values: Values) -> None:
    """Raise ParameterError if alpha is too small (`MethodSpec.check`)."""
    if 0.0 < values["alpha"] < LOW:
        raise ParameterError(
            f"alpha is {values['alpha']:g}; it must be 0, for {START_TOTAL:g} / k, or at least {LOW:g}."
        )


def sample_concentrations(given: Concentrations, counts: Counts, rng: np.random.Generator) -> Concentrations:
    """Draw one alpha for all topics, then beta, by slice sampling of their logarithms under Gamma(1, 1) priors.

    `counts`: of a sample, whole numbers.
    """
    alpha = _draw(float(given.alpha.mean()), counts.by_document, rng)
    beta = _draw(given.beta, np.ascontiguousarray(counts.by_word.T), rng)
    return Concentrations.symmetric(len(given.alpha), alpha, beta)


def _draw(value: float, counts: Array, rng: np.random.Generator) -> float:
    """Draw the concentration of rows of counts, each from a symmetric Dirichlet-multinomial."""
    sizes, width = counts.sum(axis=1, dtype=np.float64), counts.shape[1]

    def log_density(log_value: float) -> float:
        concentration = math.exp(log_value)
        total = width * concentration
        gain = log_gamma_gain(counts, np.full(width, concentration))
        gain -= float((gammaln(sizes + total) - gammaln(total)).sum())
        return gain - concentration + log_value  # the last: the change to logarithms

    return float(np.clip(math.exp(draw_slice(log_density, math.log(value), rng)), LOW, HIGH))


def draw_slice(log_density: Callable[[float], float], value: float, rng: np.random.Generator) -> float:
    """Return the next point of a slice sampler with stepping out (width 1, within [-12, 12]).

    Reference: Neal, Annals of Statistics 31 (2003).
    """
    level = log_density(value) - rng.exponential()
    low = value - rng.random()
    high = low + 1.0
    while low > -12.0 and log_density(low) > level:
        low -= 1.0
    while high < 12.0 and log_density(high) > level:
        high += 1.0
    while True:
        proposal = rng.uniform(low, high)
        if log_density(proposal) > level or high - low < 1e-12:
            return float(proposal)
        if proposal < value:
            low = proposal
        else:
            high = proposal
