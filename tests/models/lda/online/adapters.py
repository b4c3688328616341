"""Bridges between the plain reference of streams and the package's own types, all in double precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from acvb_core.models.lda.documents import InMemorySource, Source
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.online.methods import DivergenceMinimisation, StochasticCvb0, StochasticVb
from acvb_core.models.lda.online.stream import Prior, StreamMethod, StreamState
from tests.oracles import dense_stream as plain
from tests.oracles.dense_irm import Array
from tests.oracles.lda_cases import LdaCase

RULES = {"symmetric": 0, "left_to_right": 1, "paper": 2, "bound": 3}
METHODS: dict[str, type[StreamMethod]] = {
    "sdm": DivergenceMinimisation, "scvb0": StochasticCvb0, "svb": StochasticVb,
}  # fmt: skip
#: A number that single precision has exactly: kernels are given beta in it.
BETA = 0.25


def stream(name: str, case: LdaCase, rule: str = "symmetric", **options: Any) -> StreamMethod:
    """Return a method on a case, all documents a window and in their order unless asked for otherwise."""
    source: Source = InMemorySource(case.corpus)
    start = Concentrations(np.asarray(case.alpha, dtype=np.float64), BETA)
    given = {"window": 100, "shuffle": False} | options
    return METHODS[name](source, case.size, start, RULES[rule], **given)


def first_state(method: StreamMethod, words: Array, prior: plain.Prior) -> StreamState:
    """Return a state of these counts in double precision."""
    state = method.init(np.random.default_rng(0))
    own = Prior(
        prior.alpha.copy(), prior.gains.copy(), prior.sticks.copy(),
        np.array([prior.denominator, float(prior.seen)]),
    )  # fmt: skip
    return replace(state, by_word=words.copy(), totals=words.sum(axis=0), prior=own)


def some_prior(case: LdaCase, rule: str = "symmetric", seen: int = 5_000) -> plain.Prior:
    """Return concentrations that are being learned, and have been for a while."""
    share = case.alpha[:-1] / np.cumsum(case.alpha[::-1])[::-1][:-1]
    sticks = np.append(np.log(case.alpha.sum()), np.log(share / (1 - share)))
    return plain.Prior(case.alpha.copy(), 0.9 * case.alpha, 0.8, seen, sticks, rule)


def some_words(case: LdaCase, seed: int = 0) -> Array:
    """Return random counts of words that are not far from those of the corpus."""
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 0.5, (case.triplets.shape[1], case.size)) * (1 + case.corpus.frequencies[:, None])


def swept(method: StreamMethod, state: StreamState, windows: int = 1) -> tuple[StreamState, Any]:
    """Return the state after some windows, and what the last one told."""
    info = None
    for window in range(windows):
        state, info = method.sweep(state, np.random.default_rng([1, window]))
    return state, info
