"""The tree of topics: its joins, what a click on one shows, and names that are no markup."""

from __future__ import annotations

import numpy as np

from acvb_core.models.lda.answer.tree import TopicTree
from acvb_core.models.lda.figures.tree import topic_tree_figure


def test_each_join_lies_at_its_height_and_carries_the_number_of_topics_left() -> None:
    rng = np.random.default_rng(4)
    tree = TopicTree(rng.dirichlet(np.full(20, 0.3), size=5))
    names = ["<b>", *["word"] * 4]
    figure = topic_tree_figure(tree.steps, tree.order, names, level=3).to_plotly_json()
    later, made, joins = figure["data"]
    assert joins["x"] == tree.heights.tolist()
    assert joins["customdata"] == [4, 3, 2, 1]
    assert len(made["x"]) == len(later["x"]) == 2 * 5  # two joins each, of five places
    assert figure["layout"]["yaxis"]["ticktext"][tree.order.index(1)] == "1 \u00b7 &lt;b&gt;"
    low, right = figure["layout"]["xaxis"]["range"]
    assert 0 <= low < tree.heights[0] < tree.heights[-1] < right
    # No two branches cross: a join lies between the rows of what it joins.
    for step, y in enumerate(joins["y"]):
        groups = tree.cut(5 - step - 1)
        rows = [tree.order.index(topic) for group in groups if len(group) > 1 for topic in group]
        assert min(rows) <= y <= max(rows)


def test_one_topic_is_a_tree_without_joins() -> None:
    tree = TopicTree(np.full((1, 3), 1 / 3))
    assert topic_tree_figure(tree.steps, tree.order).to_plotly_json()["data"][2]["x"] == []
