"""Files of a run on a network: one clustering, its blocks, pairs that stand out, and Python that repeats the run."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import load_relation
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.export import links_table
from acvb_core.store.export import round_digits, write_run
from acvb_core.store.snippet import python_snippet
from tests.loops import for_each
from tests.store.support import network


def fitted(relation: Relation, method: str = "acvb0", **values: Any) -> Result:
    return fit(relation, method, **{"k_rows": 5, "heldout": 0.1, "max_sweeps": 30, **values})


@for_each("directed, self_links", product((True, False), repeat=2))
def test_files_of_one_clustering(tmp_path: Path, directed: bool, self_links: bool) -> None:
    """A sampler's for one kind of network; for the others the answer is a mean of sweeps."""
    options = {"method": "gibbs", "burn_in": 5} if directed and self_links else {"method": "acvb0"}
    result = fitted(network(directed, self_links), **options)
    names = {"run.json", "history.csv", "rows.csv", "blocks.csv", "agreement.csv", "posterior.npz"}
    assert {path.name for path in write_run(result, tmp_path)} == names
    rows, blocks = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("rows", "blocks"))
    with np.load(tmp_path / "posterior.npz", allow_pickle=False) as file:
        arrays = dict(file)
    names = {"row_labels", "row_cluster_names"}
    assert set(arrays) == {"rows", "row_cluster", "ones", "entries", "strengths"} | names
    k = arrays["rows"].shape[1]
    assert k > 1
    assert json.loads(arrays["row_labels"].tobytes()) == list(rows["object"])
    assert (arrays["rows"].argmax(axis=1) + 1 == rows["cluster"]).all()
    assert (arrays["row_cluster"] == rows["cluster"]).all()
    assert len(blocks) == (k * k if directed else k * (k + 1) // 2)
    at = blocks["row_cluster"] - 1, blocks["column_cluster"] - 1
    for name, column in (("ones", "ones"), ("entries", "entries"), ("strengths", "mean")):
        assert np.array_equal(round_digits(arrays[name][at]), blocks[column])
        assert np.array_equal(arrays[name], arrays[name].T) or directed
    # Each pair of an undirected network is in one block, once.
    assert result.blocks["ones"].sum() == pytest.approx(result.prepared.train.n_links, abs=1e-6)


@for_each(
    "options",
    [
        {},
        {"domains": "two"},
        {"domains": "one", "directed": True},
        {"domains": "one", "directed": False, "self_links": True},
        {"same_nodes": True, "domains": "two"},
    ],
)
def test_the_snippet_reads_the_same_network(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "net.csv"
    path.write_text("left,right\n" + "".join(f"n{i},n{(i * 7 + 3) % 20}\n" for i in range(20)))
    result = fit(load_relation(path, **options).data, "cvb0", max_sweeps=4, k_rows=3)
    for given in (options, {k: v for k, v in options.items() if k == "same_nodes"}):
        names: dict[str, Any] = {}
        exec(compile(python_snippet(result, str(path), given), "snippet", "exec"), names)
        again = names["result"]
        assert again.prepared.spec == result.prepared.spec
        assert np.array_equal(again.posterior["rows"], result.posterior["rows"])


def test_held_out_scores_do_not_choose_what_predicts_the_links() -> None:
    """A score that chose between samples and clusters would be biased towards its choice."""
    result = fitted(network(False, False), heldout=0.1)
    score = result.snapshot.heldout
    tables = []
    for other in (score.log_likelihood - 0.1, score.log_likelihood + 0.1):
        last = replace(result.snapshot, heldout=score._replace(averaged_log_likelihood=other))
        tables.append(links_table(result.with_state(snapshot=last), 6))
    pd.testing.assert_frame_equal(*tables)
    assert (tables[0]["probability"] != tables[0]["block_probability"]).any(), "by the samples"
