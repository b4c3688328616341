"""Tables for the contract, those with next to nothing in them included, and what holds on any of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from acvb_core.core.protocols import Array, Posterior
from acvb_core.data.table import Table
from acvb_core.evaluate.split import HeldOut
from acvb_core.models.lfm.state import FabState
from acvb_core.samples.planted_mixtures import planted_features

from .closeness import all_between, assert_close


def holed(table: Table, share: float, seed: int = 0) -> Table:
    """Return the table with some cells missing; every column keeps its first three."""
    rng, values = np.random.default_rng(seed), table.values.copy()
    values[3:][rng.random(values[3:].shape) < share] = np.nan
    return Table.build(values, standardise=table.standardise)


class LfmCases:
    """Tables, and what any posterior of one keeps to."""

    # A wide tolerance: moves are looked for early.
    small: ClassVar[dict[str, Any]] = {"k_max": 4, "warmup": 4, "tol": 1.0}
    usual = "missing cells"
    variations: tuple[dict[str, Any], ...] = (
        {},
        {"mode": "paper"},
        {"learn_alpha": False},
        {"init": "random"},
        {"init": "random", "accelerate": False, "merge": False},
    )
    fixed: tuple[dict[str, Any], dict[str, float]] = ({}, {})
    learned: ClassVar[dict[str, Any]] = {}
    sizes = tuple({"k_max": k} for k in (1, 2, 5, 9, 40))
    pieces: tuple[str, ...] = ()
    whole = 12
    fewest = 0
    has_loo = False
    most_evidence = np.inf  # of densities
    approximate = ()

    def data(self) -> dict[str, Table]:
        planted = planted_features(80, 12, 3, noise=0.4, seed=4).table
        rng = np.random.default_rng(2)
        units = np.array([1e4, 1e-4, 3.0, *np.ones(8), 50.0])
        certain = planted_features(30, 6, 3, noise=1e-3, seed=5)
        unseen = holed(planted, 0.2).values
        unseen[[3, 4, 79]] = np.nan
        return {
            "planted": planted,
            "missing cells": holed(planted, 0.3),
            "mostly missing": holed(planted, 0.9),
            "own units, missing cells": Table.build(unseen * units - 7, standardise=False),
            "numbers of all sizes": Table.build(planted.values[:, :5] * [1e99, 1e-150, 1.0, 1e-99, 1e16]),
            "far from zero": Table.build(1e7 + planted.values),
            "no noise": Table.build(certain.activations @ certain.weights),
            "zeros and ones": Table.build(np.round(rng.random((12, 5)))),
            "one column": Table.build(planted.values[:, :1]),
            "more columns than rows": Table.build(rng.normal(size=(4, 15))),
            "two cells": Table.build([[0.0], [1.0]]),
            "identical rows": Table.build(np.repeat([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0]], 6, axis=0)),
            "identical columns": Table.build(np.repeat(planted.values[:, :1], 4, axis=1)),
        }

    def arrays(self, data: Table) -> list[np.ndarray]:
        return [data.values, data.moments.mean, data.moments.sd]

    def everything(self, data: Table) -> HeldOut:
        rows, columns = (index.ravel().astype(np.int32) for index in np.indices(data.shape))
        values = np.where(np.isnan(data.values), data.moments.mean, data.values)
        return HeldOut(rows, columns, values.ravel())

    def check(self, posterior: Posterior, data: Table, swept: bool) -> None:
        n, d = data.shape
        (k,) = posterior.n_clusters().values()
        shapes = {
            "objects": (n, k), "weights": (k, d), "pi": (k,), "bias": (d,), "precision": (d,),
            "weight_variance": (k, d), "bound": (1,), "in_samples": (k,),
        }  # fmt: skip
        optional = {"weight_variance", "bound", "in_samples"}
        assert set(posterior.arrays) - optional == set(shapes) - optional
        for name, array in posterior.arrays.items():
            assert array.shape == shapes[name]
        assert posterior.axes["objects"] == (None, "features")
        assert posterior.axes["weights"] == ("features", None)
        assert posterior.axes["pi"] == ("features",)
        assert posterior.averaged == ("objects",)
        assert not posterior.normalised
        assert posterior.derived == (("bound",) if "bound" in posterior.arrays else ())
        mu, pi = posterior["objects"], posterior["pi"]
        assert ((mu >= 0) & (mu <= 1)).all()
        assert ((pi >= 0) & (pi <= 1)).all()
        if "weight_variance" not in posterior.arrays:  # VB orders them when it has learned their number
            assert (np.diff(mu.sum(axis=0)) <= 1e-9).all()
        present = posterior.arrays.get("in_samples", np.ones(k))
        assert ((present >= 0.5) & (present <= 1)).all()
        assert (posterior["precision"] > 0).all()
        assert (posterior.arrays.get("weight_variance", np.zeros(1)) >= 0).all()
        assert_close(posterior.hyper["noise"], np.sqrt(1 / posterior["precision"]).mean(), rtol=1e-9)

    def check_tables(self, tables: dict[str, Any], data: Table, posterior: Posterior) -> None:
        assert set(tables) == {"features", "objects", "columns"}
        features, objects, columns = tables["features"], tables["objects"], tables["columns"]
        (k,) = posterior.n_clusters().values()
        assert list(features.columns) == ["feature", "share", "objects", *data.columns]
        assert features["feature"].tolist() == list(range(1, k + 1))
        assert all_between(features["share"], 0, 1)
        assert_close(features["objects"], posterior["objects"].sum(axis=0))
        assert objects["object"].tolist() == data.rows.tolist()
        shares = objects.drop(columns="object").to_numpy(dtype=float)
        assert columns["column"].tolist() == data.columns.tolist()
        assert (columns["noise_sd"] > 0).all()
        for name, found in (("mean", np.nanmean), ("sd", np.nanstd)):
            assert_close(columns[name], found(data.values, axis=0), rtol=1e-6)
        # What the tables say of a cell is what is predicted of it, in the user's units.
        weights = features[list(data.columns)].to_numpy()
        fitted = shares @ weights + columns["baseline"].to_numpy()
        wanted = data.scale.undo(posterior["objects"] @ posterior["weights"] + posterior["bias"])
        assert_close(fitted, wanted, rtol=1e-6, atol=1e-6 * float(data.moments.sd.max()))

    def check_predictions(self, probability: Array, data: Table) -> None:
        assert probability.shape == (data.values.size, 2)
        assert probability.dtype == np.longdouble
        assert np.isfinite(probability).all()
        assert (probability[:, 0] >= 0).all()

    def medium(self) -> tuple[Table, dict[str, Any], int]:
        return holed(planted_features(3_000, 120, 10, seed=1).table, 0.1), {"k_max": 40}, 20

    def wide(self) -> tuple[Table, list[dict[str, Any]], list[dict[str, Any]]]:
        wide = planted_features(4_000, 100, 8, seed=1).table
        return wide, [{"k_max": 40}, {"k_max": 5}, {"k_max": 40, "merge": False, "accelerate": False}], []

    def due_for_moves(self, state: Any) -> Any:
        if isinstance(state, FabState):
            return replace(state, still=True, moves_over=False, sweeps=1_000)
        return state
