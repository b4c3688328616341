"""Small random tables for checking latent feature models against their oracles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.oracles.dense_irm import Array
from tests.oracles.dense_lfm import Features, column_sds, seen


class LfmCase(NamedTuple):
    """A small table (NaN = missing) and a state of its features; columns have mean 0 and sd 1 where observed."""

    x: Array
    state: Features

    @property
    def size(self) -> int:
        """K."""
        return self.state.size


def standardised(x: Array) -> Array:
    """Columns of mean 0 and standard deviation 1 over their observed cells."""
    return (x - np.nanmean(x, axis=0)) / column_sds(x)


def random_table(rng: np.random.Generator, shape: tuple[int, int], size: int, missing: float = 0.0) -> Array:
    """Features and noise; every column keeps three cells at least."""
    truth, weights = rng.random((shape[0], size)) < 0.5, rng.normal(size=(size, shape[1]))
    x = truth @ weights + rng.normal(0, 0.7, shape)
    for d in range(shape[1]):
        hidden = rng.permutation(shape[0])[: max(shape[0] - 3, 0)]
        x[hidden[rng.random(len(hidden)) < missing], d] = np.nan
    return standardised(x)


def random_state(rng: np.random.Generator, shape: tuple[int, int], size: int) -> Features:
    """A state that fits nothing: parameters and mu are unrelated."""
    objects = rng.beta(0.7, 0.7, (shape[0], size)).clip(0.01, 0.99)
    return Features(
        objects,
        rng.normal(size=(size, shape[1])),
        rng.uniform(0.15, 0.85, size),
        rng.normal(0, 0.3, shape[1]),
        rng.uniform(0.5, 3.0, shape[1]),
    )


def random_case(seed: int, shape: tuple[int, int] = (4, 3), size: int = 2, missing: float = 0.4) -> LfmCase:
    """A case drawn from ``seed``; 2**(N K) has to stay small for enumeration (4 x 2: 256)."""
    rng = np.random.default_rng(seed)
    return LfmCase(random_table(rng, shape, size, missing), random_state(rng, shape, size))


def larger_case(seed: int, missing: float = 0.2) -> LfmCase:
    """12 x 5 with 3 features: too large for matrices, small enough for the vectors of each object."""
    return random_case(seed, (12, 5), 3, missing)


def without_cells(case: LfmCase, n: int) -> LfmCase:
    """The same with object ``n`` unseen."""
    x = case.x.copy()
    x[n] = np.nan
    return case._replace(x=standardised(x))


def edge_cases() -> dict[str, LfmCase]:
    """Cases where a formula may go wrong, each by name."""
    complete, missing = random_case(1, missing=0.0), random_case(2)
    hard = missing.state._replace(objects=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]))
    tiny = missing.state.objects * [1.0, 1e-3]
    twin = complete.state.reordered(np.array([0, 0]))
    cases = {
        "complete": complete,
        "missing": missing,
        "an object without cells": without_cells(random_case(3, (5, 3), missing=0.2), 1),
        "hard": missing._replace(state=hard),
        "one feature": random_case(4, size=1),
        "two features alike": complete._replace(state=twin),
        "a feature nearly gone": missing._replace(state=missing.state._replace(objects=tiny)),
        "a feature always on": complete._replace(
            state=complete.state._replace(objects=complete.state.objects * [1, 0] + [0, 1.0])
        ),
        "one column": random_case(5, (4, 1), missing=0.0),
    }
    assert all((seen(case.x).sum(axis=0) >= 3).all() for case in cases.values())
    return cases
