"""Two runs' topics and the choice of their number: pairs where they belong, the best where it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from acvb_core.evaluate.alignment import align_topics
from acvb_core.models.lda.figures.topics import best_k, choose_k_figure, pair_distance_figure
from acvb_core.views.comparison import similarity_figure
from acvb_core.views.theme import cluster_colour
from tests.views.reading import plain

choose_k_figure = plain(choose_k_figure)
pair_distance_figure = plain(pair_distance_figure)
similarity_figure = plain(similarity_figure)

RNG = np.random.default_rng(5)
PHI = RNG.dirichlet(np.full(30, 0.2), 4)
OTHER = np.vstack([PHI[[2, 0, 3]], RNG.dirichlet(np.full(30, 0.2), 2), PHI[[1]]])


def drawn(*parts: object, **more: object) -> dict:
    return similarity_figure(*parts, part="topic", measure="similarity", scale="similarity", **more)


def test_pairs_lie_on_the_diagonal_and_are_framed() -> None:
    pairs = align_topics(PHI, OTHER)
    figure = drawn(1.0 - pairs.distances, pairs.one, pairs.other, ("a", "b"))
    trace = figure["data"][0]
    assert trace["y"] == ["1", "2", "3", "4"]
    assert trace["x"] == ["1", "2", "3", "4", "5", "6"], "the numbers of their partners, then new ones"
    order = [1, 5, 0, 2, 3, 4]  # partners in order, then those without one
    shown = np.array(trace["z"])
    assert np.diag(shown) == pytest.approx(np.ones(4), abs=1e-6)
    assert shown == pytest.approx(1 - pairs.distances[:, order], abs=1e-6)
    assert [(s["x0"], s["y0"]) for s in figure["layout"]["shapes"]] == [(k - 0.5, k - 0.5) for k in range(4)]


def test_what_moved_most_comes_first() -> None:
    table = pd.DataFrame(
        [(1, 2, 0.1, 0.9, 0.5, 0.4), (2, 1, 0.6, 0.2, 0.3, 0.4), (3, 3, 0.3, 0.5, 0.2, 0.2)],
        columns=["topic", "other_topic", "distance", "overlap", "share", "other_share"],
    )
    figure = pair_distance_figure(table, ["<b>", None, None])
    bar = figure["data"][0]
    assert bar["y"] == [0.6, 0.3, 0.1]
    assert bar["customdata"] == [2, 3, 1]
    assert figure["layout"]["xaxis"]["ticktext"] == ["2", "3", "1"]
    assert bar["marker"]["color"][0] == cluster_colour(2)
    for text, at in (
        ("20 % of their top words", 0),
        ("30 % → 40 %", 0),
        ("1 · &lt;b&gt;", 2),
        ("number 1 on its own", 0),
    ):
        assert text in bar["hovertext"][at]
    few = pair_distance_figure(table, most=2)["layout"]["title"]["text"]
    assert few.endswith("the 2 largest of 3 pairs</span>")
    plain = pair_distance_figure(table[["topic", "other_topic", "distance"]])
    assert "overlap" not in plain["data"][0]["hovertext"][0]


def grid() -> pd.DataFrame:
    columns = ["k", "seed", "loo_perplexity", "heldout_perplexity", "npmi"]
    rows = [
        (5, 0, 900.0, 1000.0, 0.10), (5, 1, 910.0, 1020.0, 0.12), (10, 0, 800.0, 940.0, 0.20),
        (10, 1, 820.0, 930.0, 0.16), (20, 0, 700.0, 990.0, np.nan), (20, 1, 690.0, 1000.0, 0.15),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def part(figure: dict, uid: str) -> dict:
    return next(t for t in figure["data"] if t["uid"] == uid)


def test_every_run_is_a_point_and_the_line_their_mean() -> None:
    figure = choose_k_figure(grid())
    line = part(figure, "heldout_perplexity-mean")
    assert (line["x"], line["y"]) == ([5, 10, 20], [1010.0, 935.0, 995.0])
    assert len(part(figure, "npmi-runs")["x"]) == 5  # unknown values are left out
    assert part(figure, "npmi-mean")["y"] == pytest.approx([0.11, 0.18, 0.15])


def test_the_best_is_the_lowest_perplexity_and_the_highest_coherence() -> None:
    table = grid()
    assert [best_k(table, name) for name in ("loo_perplexity", "heldout_perplexity", "npmi")] == [20, 10, 10]
    best = part(choose_k_figure(table), "loo_perplexity-best")
    assert (best["x"], best["y"]) == ([20], [695.0])
