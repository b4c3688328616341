"""Sweeps of counts come to rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from acvb_core.models.poisson.methods import build_cvb0
from acvb_core.registry import method_row
from acvb_core.samples.planted_relations import large_relation


def test_small_clusters_do_not_change_places_for_ever() -> None:
    """With a large concentration the last cluster is more probable than a larger one before it."""
    values = {parameter.name: parameter.default for parameter in method_row("poisson", "cvb0").parameters}
    values |= {"k_rows": 8, "k_cols": 8, "degree": "none", "init": "spectral", "hyper": "fixed", "alpha": 8.0}
    for seed in range(4):
        method = build_cvb0(large_relation(60, 60, 400, 3, 3, seed).relation, values)
        state, swaps = replace(method.init(np.random.default_rng(0)), moves=None), 0
        for sweep in range(120):
            state, info = method.sweep(state, np.random.default_rng(sweep))
            swaps += info.cluster_permutation is not None
        assert state.active is not None
        assert state.active.change is not None
        assert state.active.change < 1e-3
        assert swaps <= 5
