"""Topics that a reader merges, hides and orders, and the tree that suggests fewer of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from acvb_core.core.errors import ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import jensen_shannon
from acvb_core.models.lda.answer.arrangement import (
    Groups,
    TopicEdit,
    arrange_topics,
    group_topics,
    join_groups,
)
from acvb_core.models.lda.answer.document_map import map_documents
from acvb_core.models.lda.answer.tree import TopicTree
from acvb_core.models.lda.figures.effects import topic_by_group, topic_over_time, topics_over_time
from acvb_core.models.lda.figures.tinted import tint_text
from acvb_core.models.lda.figures.topics import document_topics_figure, pair_distance_figure
from acvb_core.models.lda.trained import trained_topics
from acvb_core.views.theme import cluster_colour, rgba
from tests.loops import for_each


@pytest.fixture(scope="module")
def result() -> Result:
    """Five topics of two themes with sub-themes, a tenth of the words held out."""
    rng = np.random.default_rng(3)
    themes = [
        np.r_[rng.dirichlet(np.ones(12)), np.zeros(12)],
        np.r_[np.zeros(12), rng.dirichlet(np.ones(12))],
    ]
    counts = [rng.multinomial(60, themes[d % 2] * 0.95 + 0.05 / 24) for d in range(60)]
    return fit(Corpus.build(counts), "cvb0", k=5, max_sweeps=30, heldout=0.1, seed=1)


@for_each(
    "edits, groups",
    [
        ([], ((1,), (2,), (3,), (4,))),
        ([TopicEdit("merge", (3, 1))], ((2,), (3, 1), (4,))),
        ([TopicEdit("merge", (3, 1)), TopicEdit("merge", (1, 4))], ((2,), (3, 1, 4))),
        ([TopicEdit("hide", (2,)), TopicEdit("move", (4, 1))], ((4,), (1,), (3,))),
        ([TopicEdit("move", (1,)), TopicEdit("move", (3, 2))], ((3,), (2,), (4,), (1,))),
        ([TopicEdit("merge", (1, 2)), TopicEdit("hide", (2,))], ((3,), (4,))),
        (
            [TopicEdit("hide", (1,)), TopicEdit("merge", (1, 2)), TopicEdit("merge", (1, 3))],
            ((2,), (3,), (4,)),
        ),
        ([TopicEdit("hide", (one,)) for one in (1, 2, 3, 4)], ((4,),)),
    ],
)
def test_edits_follow_one_another(edits: list[TopicEdit], groups: Groups) -> None:
    assert group_topics(edits, 4) == groups


def test_shares_and_tokens_of_merged_topics_add_up(result: Result) -> None:
    merged = arrange_topics(result, ((2,), (5, 1), (4, 3)))
    for name, key in (("documents", "document_share"),):
        own, new = (getattr(one.prepared.model.topics(one.posterior), key) for one in (result, merged))
        np.testing.assert_allclose(
            new, np.c_[own[:, 1], own[:, 4] + own[:, 0], own[:, 3] + own[:, 2]], rtol=1e-5
        )
        assert merged.documents.shape == (60, 5), name
    # Weighted by their sizes, up to the prior's part, which a topic has once.
    np.testing.assert_allclose(
        merged.posterior["words"][:, 1], result.posterior["words"][:, [0, 4]].sum(axis=1)
    )
    assert len(merged.names["topics"]) == merged.topics["topic"].max() == 3


def test_the_order_of_a_reader_is_kept(result: Result) -> None:
    """Parts of a run are numbered by size, those of a reader are not."""
    turned = arrange_topics(result, ((5,), (4,), (3,), (2,), (1,)))
    np.testing.assert_array_equal(turned.posterior["words"], result.posterior["words"][:, ::-1])
    assert turned.snapshot.heldout.perplexity == pytest.approx(result.snapshot.heldout.perplexity, rel=1e-6)
    own = result.prepared.model.spread([result.posterior])["words"]["word"].to_numpy().reshape(5, -1)
    new = turned.prepared.model.spread([turned.posterior])["words"]["word"].to_numpy().reshape(5, -1)
    np.testing.assert_array_equal(new, own[::-1])


def test_topics_keep_their_colours(result: Result) -> None:
    """Topic 1 was moved, topic 3 leads a merged one, and topic 4 is hidden."""
    shown = arrange_topics(result, ((5,), (3, 2), (1,)))
    wanted, names = [cluster_colour(k) for k in (5, 3, 1)], shown.names["topics"]
    for name in ("shares", "quality"):
        assert list(shown.plot(name).data[0].marker.color) == wanted
    assert [disc.fillcolor for disc in shown.plot("map").layout.shapes] == [rgba(one, 1.0) for one in wanted]
    assert [shown.plot(f"topic_{k}").data[1].marker.color for k in (1, 2, 3)] == wanted
    largest = map_documents(shown.prepared.model.topics(shown.posterior).document_share, np.ones(60)).topics
    dots = shown.plot("documents").data[0].marker.color
    assert list(dots) == [rgba(wanted[k - 1], 0.8) for k in largest]
    document = document_topics_figure([0.2, 0.3, 0.5], names).data[0]
    assert list(document.marker.color) == wanted[::-1]
    pair = pd.DataFrame({"topic": [2], "other_topic": [1], "distance": [0.5]})
    assert list(pair_distance_figure(pair, names).data[0].marker.color) == [wanted[1]]
    share = pd.DataFrame(
        {"topic": 2, "begin": pd.Timestamp("2020-01-01"), "period": "2020", "documents": 3}, [0]
    )
    share = share.assign(share=0.2, low=0.1, high=0.3)
    assert topic_over_time(share, 2, names).data[1].marker.color == wanted[1]
    assert topics_over_time(share, [2], names).data[1].marker.color == wanted[1]
    by_group = share.assign(group="a", share_low=0.1, share_high=0.3, words=5)
    assert topic_by_group(by_group, 2, names).data[0].marker.color == wanted[1]
    assert rgba(wanted[1], 0.5) in tint_text("sea", [(0, 3, 0)], {0: [0.0, 1.0, 0.0]}, labels=names)
    again = arrange_topics(shown, ((1, 3), (2,)))
    assert again.arranged["topics"] == ((5, 1), (3, 2)), "in numbers of the run's own topics"


def test_scores_are_those_of_the_arranged_topics(result: Result) -> None:
    """One topic in all: each word is predicted with its share of the training words."""
    heldout, train = result.prepared.heldout, result.prepared.train
    assert heldout is not None
    single = arrange_topics(result, ((1, 2, 3, 4, 5),))
    beta = result.posterior.hyper["beta"]
    share = (train.frequencies + beta) / (train.frequencies + beta).sum()
    log = np.log(share[heldout.words]) @ heldout.counts / heldout.counts.sum()
    assert single.snapshot.heldout.perplexity == pytest.approx(np.exp(-log), rel=1e-4)
    assert single.snapshot.lower_bound is None


@for_each("groups", [(), ((1, 2), (2, 3)), ((6,),), ((0,),)])
def test_groups_that_are_none_are_refused(groups: Any, result: Result) -> None:
    with pytest.raises(ParameterError):
        arrange_topics(result, groups)


def test_the_tree_joins_the_closest_topics_first() -> None:
    """Against a search over all pairs, with mean distances between groups."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(30, 0.3), size=9)
    tree, distances = TopicTree(phi), jensen_shannon(phi)
    groups = [(k,) for k in range(9)]
    for n_groups in range(8, 0, -1):
        pairs = [(a, b) for a in groups for b in groups if a < b]
        mean = {pair: distances[np.ix_(*pair)].mean() for pair in pairs}
        one, other = min(mean, key=mean.__getitem__)
        assert tree.heights[8 - n_groups] == pytest.approx(mean[one, other])
        groups = [group for group in groups if group not in (one, other)] + [tuple(sorted(one + other))]
        assert tree.cut(n_groups) == tuple(tuple(k + 1 for k in group) for group in sorted(groups))
    assert sorted(tree.order) == list(range(1, 10))
    for finer, coarser in pairwise(range(9, 0, -1)):
        assert all(any(set(a) <= set(b) for b in tree.cut(coarser)) for a in tree.cut(finer))


def test_the_planted_themes_are_suggested(result: Result) -> None:
    tree = TopicTree.of_result(result)
    assert 2 in tree.suggest()
    words = arrange_topics(result, tree.cut(2)).posterior["words"]
    assert sorted(words.argmax(axis=1)[[0, 23]].tolist()) == [0, 1]
    assert join_groups(((3, 1), (2,), (4,)), ((1, 3), (2,))) == ((3, 1, 4), (2,))


@for_each("n_topics", [1, 2])
def test_few_topics_have_a_tree_without_suggestions(n_topics: int) -> None:
    tree = TopicTree(np.full((n_topics, 4), 0.25))
    assert tree.suggest() == []
    assert tree.cut(1) == (tuple(tree.order),)


def test_training_continues_from_arranged_topics(result: Result) -> None:
    """A stream also keeps how fast its concentrations are learned."""
    data = result.prepared.data
    for run in (fit(data, "sdm", k=4, epochs=2.0), result):
        arranged = arrange_topics(run, ((2,), (1, 3)))
        again = fit(data, run.prepared.spec.method, start=trained_topics(arranged))
        assert again.prepared.spec.values["k"] == 2
        alpha = arranged.posterior["alpha"]
        assert alpha.tolist() == pytest.approx(
            [run.posterior["alpha"][1], run.posterior["alpha"][[0, 2]].sum()]
        )


def test_a_result_is_coarsened_along_its_tree(result: Result) -> None:
    coarse = result.coarsen(topics=2)
    np.testing.assert_array_equal(
        coarse.posterior["words"],
        arrange_topics(result, TopicTree.of_result(result).cut(2)).posterior["words"],
    )
    assert result.coarsen(topics=9) is result
    assert coarse.plot("tree").to_plotly_json()["data"][2]["customdata"] == [1]
    assert len(coarse.plot("documents").to_plotly_json()["data"][0]["customdata"]) == 60
    for numbers in ({"rows": 2}, {"topics": 0}, {}):
        with pytest.raises(ParameterError, match="coarsen"):
            result.coarsen(**numbers)


def test_an_unchanged_arrangement_is_the_run(result: Result) -> None:
    assert arrange_topics(result, group_topics([], 5)) is result
    assert replace(result).arranged == {}
