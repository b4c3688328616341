"""What is fitted need not be read first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Relation
from acvb_core.data.table import Table
from acvb_core.engine.fitting import compare, fit
from acvb_core.engine.reading import read_data

CELLS = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
ROWS, COLUMNS = list("abcd"), list("wxyz")
FRAME = pd.DataFrame(CELLS, index=ROWS, columns=COLUMNS)
PAIRS = [(ROWS[i], COLUMNS[j]) for i, j in zip(*CELLS.nonzero(), strict=True)]


@pytest.mark.parametrize(
    "given",
    [CELLS, sparse.csr_array(CELLS), FRAME, PAIRS, pd.DataFrame(PAIRS, columns=["source", "target"])],
    ids=["array", "csr", "frame", "pairs", "long frame"],
)
def test_what_is_read_is_fitted(given: Any) -> None:
    result = fit(given, "vb", k_rows=2, k_cols=2, max_sweeps=3)
    assert result.problem.fingerprint == Relation.build(CELLS).fingerprint
    unnamed = isinstance(given, np.ndarray) or sparse.issparse(given)
    assert result.rows["object"].tolist() == (list("0123") if unnamed else ROWS)
    both = compare(given, ["vb", "cvb0"], k_rows=2, k_cols=2, max_sweeps=2)
    assert {one.problem.data for one in both.results} == {both.results[0].problem.data}


def test_a_graph_is_a_network_and_a_file_is_read(tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    result = fit(graph, "cvb0", k_rows=3, max_sweeps=2)
    assert result.problem.settings.model == "network"
    assert set(result.problem.data.attributes["club"]) == {"Mr. Hi", "Officer"}
    nx.write_gexf(graph, tmp_path / "karate.gexf")
    assert read_data(tmp_path / "karate.gexf").fingerprint == result.problem.fingerprint


def test_a_model_says_what_kind_of_data_are_meant(tmp_path: Path) -> None:
    assert isinstance(read_data(np.random.default_rng(0).normal(size=(6, 3)), "lfm"), Table)
    (tmp_path / "texts.txt").write_text("a ship at sea\na field of corn\na ship of corn\n" * 3)
    assert isinstance(read_data(tmp_path / "texts.txt", "lda"), Corpus)
    relation = Relation.build(CELLS)
    assert read_data(relation, "lda") is relation
    with pytest.raises(ParameterError, match="model 'lda' is for a corpus"):
        fit(relation, model="lda")


def test_what_cannot_be_read_so_says_who_reads_it() -> None:
    with pytest.raises(DataError, match=r"row 1, column 1 is neither 0 .*threshold=0.*load_relation\(…\)"):
        fit(CELLS * 3)
    with pytest.raises(DataError, match=r"no word .*load_corpus"):
        compare(["a text", "another"])
    with pytest.raises(ParameterError, match=r"not an? int"):
        fit(3)
    with pytest.raises(ParameterError, match="no model 'magic'"):
        fit(CELLS, model="magic")
