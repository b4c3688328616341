"""Effects against resampling, SciPy's tests and dense formulas; on planted data, intervals contain the truth."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from acvb_core.data.corpora.metadata import list_columns
from acvb_core.data.corpus import Corpus
from acvb_core.models.lda.answer.effects import (
    LEAST_DOCUMENTS,
    DocumentShares,
    changed_words,
    choose_unit,
    describe_groups,
    describe_slope,
    describe_trend,
    describe_trends,
    describe_words,
    find_periods,
    group_differences,
    shares_by_period,
    slopes,
    trends,
)
from acvb_core.models.lda.topics import TopicAnswer, Topics
from tests.loops import for_each


def draw_shares(rng, n=400, k=4, length=30.0, mean=None, alpha=0.5) -> tuple[DocumentShares, Any]:
    """Documents whose topics are known word by word."""
    mean = np.full((n, k), 1.0 / k) if mean is None else mean
    theta = np.array([rng.dirichlet(2.0 * of) for of in mean])
    counts = np.array(
        [rng.multinomial(words, of) for words, of in zip(rng.poisson(length, n) + 1, theta, strict=True)]
    )
    posterior: Any = {"documents": counts.astype(np.float32), "alpha": np.full(k, alpha)}
    return DocumentShares.of_posterior(posterior), posterior


def test_intervals_are_those_of_resampled_documents_and_shares() -> None:
    """Documents are drawn with replacement, and shares from the Dirichlet posterior of each."""
    rng = np.random.default_rng(1)
    shares, posterior = draw_shares(rng, n=60, length=8.0, alpha=0.01)
    dates = np.array(["2023-01-01", "2023-01-20"] * 30, dtype="datetime64[D]")
    table = shares_by_period(shares, dates)
    assert len(table) == 4 * 4  # weeks without a document between, too
    weight = posterior["documents"] + posterior["alpha"]
    inside = np.flatnonzero(dates == dates[0])
    drawn = []
    for _ in range(4000):
        at = rng.choice(inside, len(inside))
        theta = rng.standard_gamma(weight[at])
        theta /= theta.sum(axis=1, keepdims=True)
        drawn.append(shares.words[at] @ theta / shares.words[at].sum())
    # The intervals are symmetric on another scale, so they are compared by their widths.
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    few = stats.t.ppf(0.975, 28) / stats.norm.ppf(0.975) * np.sqrt(30 / 29)
    first = table[table["begin"] == table["begin"].min()].sort_values("topic")
    assert np.mean((first["high"] - first["low"]) / (high - low)) == pytest.approx(few, rel=0.05)
    assert (first["share"] > first["low"]).all()
    assert (first["share"] < first["high"]).all()


def test_the_mean_over_all_documents_is_the_share_of_the_topic() -> None:
    shares, posterior = draw_shares(np.random.default_rng(2))
    table = shares_by_period(shares, np.full(400, np.datetime64("2023-05-05")))
    np.testing.assert_allclose(
        table["share"], posterior["documents"].sum(axis=0) / posterior["documents"].sum(), rtol=1e-6
    )


def test_equal_weights_and_sure_shares_give_welchs_test() -> None:
    rng = np.random.default_rng(3)
    share = rng.dirichlet(np.ones(3), size=50)
    shares = DocumentShares(share, np.zeros_like(share), np.full(50, 7.0))
    groups = np.array((["a"] * 20 + ["b"] * 18 + ["c"] * 9 + [""] * 3), dtype=object)
    table = group_differences(shares, groups)
    for line in table.itertuples():
        inside = share[groups == line.group, line.topic - 1]
        outside = share[(groups != line.group) & (groups != ""), line.topic - 1]
        test = stats.ttest_ind(inside, outside, equal_var=False)
        interval = test.confidence_interval(0.95)
        found = (line.difference, line.low, line.high, line.p)
        np.testing.assert_allclose(
            found, (inside.mean() - outside.mean(), interval.low, interval.high, test.pvalue)
        )
    assert table["documents"].tolist() == [20] * 3 + [18] * 3 + [9] * 3
    few = group_differences(shares, np.array(["a"] * 46 + ["b"] * (LEAST_DOCUMENTS - 1), dtype=object))
    assert few[["low", "p", "p_holm"]].isna().all(axis=None)


def test_slopes_are_those_of_weighted_least_squares_with_robust_errors() -> None:
    rng = np.random.default_rng(4)
    share, words, x = (
        rng.dirichlet(np.ones(3), size=40),
        rng.integers(1, 50, 40).astype(float),
        rng.normal(size=40),
    )
    x[3], words[4] = np.nan, 0.0
    shares = DocumentShares(share, np.full_like(share, 0.01), words)
    table = slopes(shares, x)
    used = np.isfinite(x) & (words > 0)
    design = np.column_stack([np.ones(used.sum()), x[used]])
    bread = np.linalg.inv(design.T @ (words[used, None] * design))
    beta = bread @ design.T @ (words[used, None] * share[used])
    residual = share[used] - design @ beta
    for k in range(3):
        scores = words[used] ** 2 * (residual[:, k] ** 2 * 38 / 36 + 0.01)
        error = np.sqrt((bread @ (design.T @ (scores[:, None] * design)) @ bread)[1, 1])
        freedom = words[used].sum() ** 2 / (words[used] ** 2).sum() - 2
        np.testing.assert_allclose(table["slope"][k], beta[1, k])
        np.testing.assert_allclose(table["p"][k], 2 * stats.t.sf(abs(beta[1, k]) / error, freedom))
        np.testing.assert_allclose(table["at_lowest"][k], beta[0, k] + beta[1, k] * np.nanmin(x[used]))
        half = stats.t.ppf(0.975, freedom) * error * np.ptp(x[used])
        np.testing.assert_allclose(table["high"][k] - table["change"][k], half)


def test_intervals_contain_planted_effects_and_none_is_claimed_where_there_is_none() -> None:
    rng = np.random.default_rng(5)
    contained, starred = np.zeros(2), 0
    for _ in range(60):
        time, group = rng.random(300), rng.choice(["a", "b"], 300).astype(object)
        mean = np.tile([0.1, 0.3, 0.3, 0.3], (300, 1))
        mean[:, 0] += 0.2 * time
        mean[:, 1:] -= (0.2 * time / 3)[:, None]
        mean[:, 1] += 0.1 * (group == "a")
        mean[:, 2] -= 0.1 * (group == "a")
        shares, _ = draw_shares(rng, 300, mean=mean)
        line = slopes(shares, np.concatenate([[0.0, 1.0], time[2:]])).iloc[0]
        contained[0] += line["low"] < 0.2 < line["high"]
        both = group_differences(shares, group)
        line = both[(both["group"] == "a") & (both["topic"] == 2)].iloc[0]
        contained[1] += line["low"] < 0.1 < line["high"]
        starred += bool((group_differences(shares, rng.permutation(group))["p_holm"] < 0.05).any())
    assert (contained >= 53).all()
    assert starred <= 6


@for_each(
    "first, last, unit, names",
    [
        ("2023-01-30", "2023-02-14", "week", ["2023-01-30", "2023-02-06", "2023-02-13"]),
        ("2023-01-05", "2023-12-31", "month", [f"2023-{month:02}" for month in range(1, 13)]),
        ("2019-11-05", "2023-02-28", "quarter", None),
        ("1995-06-01", "2020-01-01", "year", [str(year) for year in range(1995, 2021)]),
        ("1788-06-01", "1999-01-01", "decade", None),
        ("1960-01-01", "1962-03-01", "month", None),
    ],
)
def test_periods_are_as_long_as_the_span_asks_for(first, last, unit, names) -> None:
    dates = np.array([last, "NaT", first], dtype="datetime64[us]")
    assert choose_unit(dates) == unit
    codes, found, begins = find_periods(dates, unit)
    assert codes.tolist() == [len(found) - 1, -1, 0]
    assert names is None or found == names
    assert begins[0] <= np.datetime64(first) < (begins[1] if len(begins) > 1 else np.datetime64("9999"))
    assert begins[-1] <= np.datetime64(last)
    assert len(found) <= 33


def test_words_that_grow_in_a_topic_are_found() -> None:
    """The second half of the first topic's documents has "new" in place of "old"."""
    rng = np.random.default_rng(7)
    counts = np.zeros((80, 5))
    counts[:40, 0], counts[40:, 1] = rng.poisson(5, 40), rng.poisson(5, 40)
    counts[:, 2], counts[::4, 3], counts[70, 4] = rng.poisson(4, 80) + 1, 3, 60
    corpus = Corpus.build(counts, vocabulary=["old", "new", "both", "other", "once"])
    phi = np.array([[0.3, 0.3, 0.2, 0.0, 0.2], [0.05, 0.05, 0.0, 0.9, 0.0]])
    theta = np.full((80, 2), 0.5)
    answer = TopicAnswer(Topics(phi, theta, np.array([0.8, 0.2])), corpus, corpus, np.ones(2))
    dates = np.datetime64("2020-01-01") + np.arange(80)
    table = changed_words(answer, 1, dates).set_index("word")
    # Of "old" and "new", the first topic has .3 / .35; of "both" and "once", all; of "other", nothing.
    own = counts * np.array([6 / 7, 6 / 7, 1.0, 0.0, 1.0])
    ends = []
    for part in (own[:40], own[40:]):
        length = part.sum(axis=1)
        share = part.sum(axis=0) / length.sum()
        residual = part - share * length[:, None]
        ends.append((share, (residual**2).sum(axis=0) * 40 / 39 / length.sum() ** 2))
    for at, word in enumerate(("old", "new", "both", "once")):
        at += word == "once"
        assert table.loc[word, "earlier"] == pytest.approx(ends[0][0][at], rel=1e-5)
        assert table.loc[word, "later"] == pytest.approx(ends[1][0][at], rel=1e-5)
        z = (ends[1][0][at] - ends[0][0][at]) / np.sqrt(ends[0][1][at] + ends[1][1][at])
        assert table.loc[word, "z"] == pytest.approx(z, rel=1e-4)
    assert table.index.tolist() == sorted(table.index, key=lambda word: -table.loc[word, "z"])
    assert (
        describe_words(table.reset_index()) == "Within the topic, new grew; old fell."
    )  # "once" is of one document
    shown = changed_words(answer, 1, np.where(np.arange(80) < 40, dates, np.datetime64("NaT")))
    assert set(shown["word"]) == {"both", "old"}
    assert describe_words(shown) == "Within the topic, no word clearly grew or fell."


def test_columns_that_can_be_compared_are_listed() -> None:
    dates = np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")
    metadata = {
        "when": dates,
        "label": np.array(["x ", "x", "", "y"], dtype=object),
        "page": np.arange(4),
        "same": np.ones(4),
        "Year": np.array([1999.0, np.nan, 2001.0, 2001.0]),
        "note": np.array(list("abcd"), dtype=object),
    }
    corpus = Corpus.build(np.ones((4, 2)), labels=["a", "b", "a", "b"], metadata=metadata)
    columns = list_columns(corpus)
    kinds = [(name, column.kind) for name, column in columns.items()]
    assert kinds == [("when", "date"), ("Year", "date"), ("label", "group"), ("page", "number")]
    assert columns["Year"].values.astype(str).tolist() == ["1999-01-01", "NaT", "2001-01-01", "2001-01-01"]
    assert columns["when"].known.tolist() == [True, False, True, True]
    without = Corpus.build(np.ones((4, 2)), metadata={"label": ["x ", "x", "y", "y"]})
    assert list_columns(without)["label"].values.tolist() == ["x", "x", "y", "y"]


def test_documents_without_words_or_differences_give_no_tests() -> None:
    dates, groups = np.datetime64("2020-01-01") + np.arange(20), np.array(["a", "b"] * 10, dtype=object)
    share = np.full((20, 2), 0.5)
    for words in (np.zeros(20), np.full(20, 3.0), np.arange(20) == 7):
        shares = DocumentShares(share, np.zeros_like(share), words.astype(float))
        tables = trends(shares, dates), group_differences(shares, groups), slopes(shares, np.arange(20.0))
        for table in tables:
            assert table[["p", "p_holm"]].isna().all(axis=None)
        names = ["one", "two"]
        assert describe_trends(tables[0], names, "a", "b") == "No topic clearly grew or fell between a and b."
        assert describe_trend(next(tables[0].itertuples()), "one", "a", "b").startswith(
            "There are too few documents"
        )


def test_sentences_say_what_was_found() -> None:
    rng = np.random.default_rng(6)
    time, group = np.linspace(0, 1, 400), np.array(["A", "B"] * 200, dtype=object)
    mean = np.tile([0.05, 0.35, 0.35, 0.25], (400, 1))
    mean[:, 0] += 0.3 * time
    mean[:, 1] -= 0.3 * time
    mean[:, 2] += np.where(group == "A", 0.1, -0.1)
    mean[:, 3] -= np.where(group == "A", 0.1, -0.1)
    shares, _ = draw_shares(rng, 400, mean=mean)
    names = ["delivery", "refund", "login", "other"]
    dates = np.datetime64("2023-01-01") + (364 * time).astype(int)
    trend = trends(shares, dates)
    told = describe_trends(trend, names, "2023-01", "2023-12")
    assert told.startswith("2 of 4 topics clearly changed between 2023-01 and 2023-12: ")
    assert "delivery grew from " in told
    assert "refund fell from " in told
    lines = list(trend.itertuples())
    one = describe_trend(lines[0], "delivery", "2023-01", "2023-12")
    assert one.startswith("delivery grew from ")
    assert (
        f"(95 % interval of the change {100 * lines[0].low:+.1f} to {100 * lines[0].high:+.1f} points)."
        in one
    )
    assert describe_trend(lines[3], "other", "a", "b").startswith("No clear trend: other has about 2")
    groups = group_differences(shares, group)
    told = describe_groups(groups[groups["topic"] == 3], "login", "product")
    assert told.startswith("login is more frequent in A: ") or told.startswith(
        "login is less frequent in B: "
    )
    none = describe_groups(groups[groups["topic"] == 1], "delivery", "product")
    assert none == "No clear difference between the groups of product in delivery."
    slope = SimpleNamespace(
        p=1e-9, p_holm=1e-8, change=-0.14, low=-0.2, high=-0.08, at_lowest=0.2, at_highest=-0.01
    )
    told = describe_slope(slope, "refund", "rating", "1", "5")
    assert told == (
        "refund falls with rating, from 20 % at 1 to 0 % at 5 (95 % interval of the change -20.0 to -8.0 points)."
    )
