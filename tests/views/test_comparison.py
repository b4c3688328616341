"""Runs beside each other: no object is lost, nothing is called best that may not be compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.comparison import (
    agreement_figure,
    alluvial_figure,
    contingency_figure,
    object_flow,
)
from acvb_core.views.comparison_table import agreement_tables, comparison_table
from acvb_core.views.theme import cluster_colour
from tests.views.reading import plain

agreement_figure = plain(agreement_figure)
alluvial_figure = plain(alluvial_figure)
contingency_figure = plain(contingency_figure)

CLUSTERS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=200)


@given(CLUSTERS, st.integers(2, 40))
def test_a_flow_loses_no_object(pairs: list[tuple[int, int]], most: int) -> None:
    one, other = (np.array(side) for side in zip(*pairs, strict=True))
    bands = object_flow(one, other, most=most)
    assert bands.objects.sum() == len(pairs)
    assert max(len(bands.left), len(bands.right)) <= most
    for k, n in zip(bands.left, bands.objects.sum(axis=1), strict=True):
        assert k == 0 or n == (one == k - 1).sum()
    assert len(set(one.tolist())) == len(bands.left) - (bands.folded[0] > 0) + bands.folded[0]


@pytest.fixture(scope="module")
def three() -> list[Result]:
    relation = load_sample("survey").relation
    return [fit(relation, method, heldout=0.1) for method in ("acvb0", "vb", "gibbs")]


def test_the_best_is_marked_on_one_split(three: list[Result]) -> None:
    table = comparison_table(three, ["a", "b", "c"])
    bounds = table.frame["Lower bound"]
    assert table.best["Lower bound"].tolist() == (np.isclose(bounds, bounds.max(), rtol=1e-9)).tolist()
    # The time of a run that did not converge is not the best.
    cut_short = fit(three[0].prepared.data, "vb", heldout=0.1, max_sweeps=1)
    table = comparison_table([*three[:2], cut_short], ["a", "b", "c"])
    assert table.frame["CPU s"].idxmin() == "c"
    assert not table.best["CPU s"]["c"]


def test_nothing_is_best_on_different_splits_or_data(three: list[Result], women: Result) -> None:
    other = fit(three[0].prepared.data, "vb", heldout=0.2)
    table = comparison_table([three[1], other], ["a", "b"])
    assert not table.best.to_numpy().any()
    assert "held out different entries" in table.notes[0]
    table = comparison_table([three[0], women], ["a", "b"])
    assert not table.best.to_numpy().any()
    assert "different data" in table.notes[0]


def test_agreement_is_that_of_the_labels(three: list[Result]) -> None:
    from acvb_core.evaluate.agreement import agreement

    tables = agreement_tables(three, ["a", "b", "c"], "cols")
    expected = agreement(three[0].labels("cols"), three[2].labels("cols"))
    assert tables["ari"].loc["a", "c"] == tables["ari"].loc["c", "a"] == expected["ari"]
    assert tables["nmi"].loc["a", "c"] == expected["nmi"]
    assert (np.diag(tables["ari"]) == 1).all()


def test_scores_that_favour_a_small_alpha_choose_nothing() -> None:
    corpus, fixed = load_sample("bars").corpus, {"k": 3, "heldout": 0.1, "max_sweeps": 40, "hyper": "fixed"}
    runs = [fit(corpus, "cvb0", alpha=alpha, **fixed) for alpha in (0.5, 0.001)]
    table = comparison_table(runs, ["a", "b"])
    perplexity = table.frame["Held-out perplexity"]
    assert table.best["Held-out perplexity"].tolist() == (perplexity == perplexity.min()).tolist()
    for title in ("Leave-one-out perplexity", "Leave-one-out", "Collapsed bound", "Topics"):
        assert not table.best[title].any()
    assert any("Leave-one-out scores are never shaded" in note for note in table.notes)


def test_clusters_that_share_most_objects_have_one_number_and_colour() -> None:
    one = np.repeat([0, 1, 2], [5, 4, 3])
    other = np.where(np.arange(12) == 0, 3, np.array([2, 0, 1])[one])
    names = (["a", "b", "c"], ["<B>", "C", "A", "D"])
    figure = alluvial_figure(one, other, ("one", "other"), cluster_names=names)
    (flow,) = figure["data"]
    assert flow["node"]["label"] == ["1", "2", "3", "1", "2", "3", "4"], "the fourth has no partner"
    assert flow["node"]["color"] == [cluster_colour(k) for k in (1, 2, 3, 1, 2, 3, 4)]
    assert flow["node"]["customdata"][:4] == [
        "cluster 1 · a", "cluster 2 · b", "cluster 3 · c", "cluster 1 · A (number 3 on its own page)",
    ]  # fmt: skip
    assert flow["node"]["customdata"][4] == "cluster 2 · &lt;B&gt; (number 1 on its own page)"
    (table,) = contingency_figure(one, other, ("one", "other"), cluster_names=names)["data"]
    assert [list(map(int, filter(None, line))) for line in table["text"]] == [[4, 1], [4], [3]]
    assert np.diag(np.array(table["text"])[:, :3]).tolist() == ["4", "4", "3"]
