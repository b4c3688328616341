"""Topics over time and by group: each share and interval is drawn where the table has it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from acvb_core.models.lda.answer.effects import DocumentShares, group_differences, shares_by_period
from acvb_core.models.lda.figures.effects import topic_by_group, topic_over_time, topics_over_time
from tests.views.reading import AWKWARD_WORDS, plain, texts_of

topic_by_group, topic_over_time, topics_over_time = map(
    plain, (topic_by_group, topic_over_time, topics_over_time)
)


def shares(n: int = 90) -> DocumentShares:
    share = np.random.default_rng(1).dirichlet(np.ones(3), size=n)
    return DocumentShares(share, np.full_like(share, 0.01), np.full(n, 20.0))


def over_time() -> pd.DataFrame:
    """Three months without documents, and one with too few for an interval."""
    months = np.repeat(np.arange(12), 9)[:90]
    months[months == 4] = 3
    months[60:65] = 11
    return shares_by_period(shares(), np.datetime64("2023-01") + months)


def test_bands_end_at_gaps_and_have_the_ends_of_the_intervals() -> None:
    table = over_time()
    own = table[table["topic"] == 2].reset_index(drop=True)
    assert own["low"].isna().any()
    *bands, line = topic_over_time(table, 2)["data"]
    np.testing.assert_array_equal(np.array(line["y"], dtype=float), own["share"])
    drawn = {}
    for band in bands:
        half = len(band["x"]) // 2
        assert band["x"][:half] == band["x"][: half - 1 : -1]
        ends = zip(band["y"][half:][::-1], band["y"][:half], strict=True)
        drawn |= dict(zip(band["x"][:half], ends, strict=True))
    known = own[own["low"].notna()]
    assert list(drawn) == known["begin"].dt.strftime("%Y-%m-%d").tolist()
    np.testing.assert_allclose(list(drawn.values()), known[["low", "high"]])
    assert len(bands) == (own["low"].notna().astype(int).diff() == 1).sum() + own["low"].notna()[0]


def test_each_panel_has_its_topic_whose_number_its_points_carry() -> None:
    figure = topics_over_time(over_time(), [3, 1], AWKWARD_WORDS, across=2)
    lines = [trace for trace in figure["data"] if trace["mode"] == "lines+markers"]
    assert [set(trace["customdata"]) for trace in lines] == [{3}, {1}]
    assert [trace["xaxis"] for trace in lines] == ["x", "x2"]
    titles = [note["text"] for note in figure["layout"]["annotations"]]
    assert [title.removeprefix("<b>")[0] for title in titles] == ["3", "1"]


def test_groups_have_their_intervals_and_stars() -> None:
    given = shares()
    groups = np.array(["plain", *AWKWARD_WORDS], dtype=object)[np.arange(90) % 3]
    given.share[groups == "plain"] = [0.8, 0.1, 0.1]
    given.share[:3] = [0.7, 0.2, 0.1]
    table = group_differences(given, groups)
    own = table[table["topic"] == 1].reset_index(drop=True)
    figure = topic_by_group(table, 1, AWKWARD_WORDS, axis=AWKWARD_WORDS[0])
    (points,) = figure["data"]
    np.testing.assert_allclose(points["x"], own["share"])
    np.testing.assert_allclose(np.add(points["x"], points["error_x"]["array"]), own["share_high"])
    np.testing.assert_allclose(np.subtract(points["x"], points["error_x"]["arrayminus"]), own["share_low"])
    starred = [name.endswith(" *") for name in figure["layout"]["yaxis"]["ticktext"]]
    assert starred == (own["p_holm"] < 0.05).tolist()
    assert any(starred)
    assert not any("<b>bold</b>" in text.replace("<b><b>", "") or "%{x}" in text for text in texts_of(figure))
