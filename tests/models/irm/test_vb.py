"""Plain VB: its bound never falls, and its stick weights are proper."""

from __future__ import annotations

from itertools import product

import numpy as np

from acvb_core.engine.fitting import fit
from acvb_core.models.irm.vb import expected_log_shares
from acvb_core.samples.planted_relations import planted_relation
from tests.loops import for_each


@for_each("init, hyper, missing", product(["random", "spectral"], ["tied", "fixed", "per-block"], [0.0, 0.2]))
def test_bound_never_falls(init: str, hyper: str, missing: float) -> None:
    for seed in range(2):
        relation = planted_relation(70, 90, 4, 3, seed, missing_share=missing).relation
        options = {"init": init, "hyper": hyper, "seed": seed, "tol": 1e-12, "max_sweeps": 80}
        bound = fit(relation, "vb", k_rows=8, k_cols=7, **options).history.lower_bound.to_numpy()
        assert len(bound) > 5
        assert np.diff(bound).min() >= -1e-9 * np.abs(bound).max()


def test_expected_log_shares_are_those_of_sampled_sticks() -> None:
    rng = np.random.default_rng(0)
    mass, alpha = np.array([7.0, 3.0, 1.5, 0.2]), 1.7
    beyond = mass.sum() - np.cumsum(mass)
    v = rng.beta(1 + mass, alpha + beyond, (400_000, 4))
    v[:, -1] = 1.0
    share = v * np.cumprod(np.concatenate([np.ones((len(v), 1)), 1 - v[:, :-1]], axis=1), axis=1)
    np.testing.assert_allclose(expected_log_shares(mass, alpha), np.log(share).mean(axis=0), atol=0.02)
