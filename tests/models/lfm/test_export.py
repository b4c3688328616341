"""Exports of a run of latent features: equal numbers in every file, in the user's units, and code that repeats it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.samples.planted_mixtures import block_images
from acvb_core.store.export import write_run
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each
from tests.store.support import SMALL, WOMEN

NAMES = ["=cmd()", "-x", *(f"c{d}" for d in range(34))]
#: How closely the tables come back.
SIX_DIGITS = {"rtol": 5e-6}


def a_table(standardise: bool = True) -> Table:
    values = 7.0 * block_images(200, noise=0.3, seed=1).table.values - 100.0
    values[0, :5] = np.nan
    return Table.build(values, columns=NAMES, name="blocks", standardise=standardise)


@for_each("standardise", [True, False])
def test_every_file_has_the_same_numbers_in_the_users_units(standardise: bool, tmp_path: Path) -> None:
    """A baseline at -100, blocks that add 7, noise of 2.1."""
    result = fit(a_table(standardise), "fab", heldout=0.2, max_sweeps=40)
    names = {"run.json", "history.csv", "features.csv", "objects.csv", "columns.csv", "posterior.npz"}
    assert {path.name for path in write_run(result, tmp_path)} == names
    features, objects, columns = (
        pd.read_csv(tmp_path / f"{name}.csv") for name in ("features", "objects", "columns")
    )
    with np.load(tmp_path / "posterior.npz", allow_pickle=False) as file:
        arrays = dict(file)
    n_features = len(features)
    assert n_features > 1
    assert list(features.columns) == ["feature", "name", "share", "objects", "'=cmd()", "'-x", *NAMES[2:]]
    assert list(objects.columns) == [
        "object",
        *(f"feature_{k}: {name}" for k, name in enumerate(result.names["features"], 1)),
    ]
    assert list(columns.columns) == ["column", "baseline", "noise_sd", "mean", "sd"]
    np.testing.assert_allclose(features.iloc[:, 4:], arrays["weights"], **SIX_DIGITS)
    np.testing.assert_allclose(objects.iloc[:, 1:], arrays["objects"], **SIX_DIGITS)
    np.testing.assert_allclose(
        columns[["baseline", "noise_sd"]].T, [arrays["baseline"], arrays["noise_sd"]], **SIX_DIGITS
    )
    np.testing.assert_allclose(features["share"], arrays["share"], **SIX_DIGITS)
    assert json.loads(arrays["column_names"].tobytes()) == NAMES
    assert json.loads((tmp_path / "run.json").read_text())["effective_k"] == {"features": n_features}
    expected = arrays["objects"] @ arrays["weights"] + arrays["baseline"]
    train = result.prepared.train
    error = (train.values - expected)[train.observed]
    assert np.sqrt(np.mean(error**2)) == pytest.approx(2.1, rel=0.1)
    assert arrays["noise_sd"].mean() == pytest.approx(2.1, rel=0.1)
    scaled = (train.values - arrays["scale_mean"]) / arrays["scale_sd"]
    np.testing.assert_allclose(scaled, train.scale.apply(train.values), rtol=1e-12)
    np.testing.assert_allclose(result.reconstruction("4")["total"], expected[4], rtol=1e-9)
    held = result.prepared.heldout
    assert result.reconstruction(int(held.rows[0]))["value"][held.columns[0]] == held.values[0]


def test_the_spread_of_weights_is_kept_if_a_method_has_it() -> None:
    found = fit(a_table(), "vb", max_sweeps=5, k_max=6)
    variance = found.posterior["weight_variance"] * found.prepared.train.scale.sd**2
    arrays = found.prepared.model_row.part("export").arrays(found)
    np.testing.assert_allclose(arrays["weight_sd"] ** 2, variance, rtol=1e-12)


def test_the_snippet_reads_a_file_as_it_was_read(tmp_path: Path) -> None:
    values = block_images(30, noise=0.3, seed=2).table.values
    frame = pd.DataFrame(values.round(4), columns=[f"p{d}" for d in range(36)]).assign(p7=0.0)
    frame["group"] = ["a", "b"] * 15
    path = tmp_path / "pictures.csv"
    frame.to_csv(path, index=False)
    given = {"label_column": "group", "row_labels": False, "missing": ["-9"]}
    loaded = acvb_core.load_table(path, standardise=False, image="6x6", constants="leave-out", **given)  # type: ignore[arg-type]
    result = fit(loaded.data, "fab", max_sweeps=5)
    snippet = python_snippet(result, str(path), given)
    for words in ("standardise=False", "image=(6, 6)", "constants='leave-out'", "label_column='group'"):
        assert words in snippet, words
    names: dict[str, Any] = {}
    exec(compile(snippet, "snippet", "exec"), names)
    for name, array in result.posterior.arrays.items():
        assert np.array_equal(array, names["result"].posterior[name]), name


def test_the_result_has_its_tables_and_no_others() -> None:
    result = fit(a_table(), "em", k_max=2, max_sweeps=3)
    assert list(result.tables) == ["features", "objects", "columns"]
    with pytest.raises(ParameterError, match="a run of model 'lfm' has no topics; it has features, objects"):
        _ = result.topics
    with pytest.raises(ParameterError, match="model 'irm' has no features that make up an object"):
        fit(WOMEN, "vb", **SMALL).reconstruction(0)
    with pytest.raises(ParameterError, match="no object 'nobody' in blocks"):
        result.reconstruction("nobody")
