"""Strengths, sizes, thumbnails and degrees: the numbers behind the bars."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures import summaries
from acvb_core.models.irm.figures.summaries import (
    degree_bins,
    degree_histograms,
    size_figure,
    strength_figure,
    thumbnail,
)
from tests.loops import for_each
from tests.views.reading import plain

degree_histograms = plain(degree_histograms)
size_figure = plain(size_figure)
strength_figure = plain(strength_figure)
thumbnail = plain(thumbnail)


def test_strengths_are_those_of_the_result(survey: Result) -> None:
    trace = strength_figure(survey)["data"][0]
    mean = survey.blocks.pivot(index="row_cluster", columns="column_cluster", values="mean").to_numpy()
    assert np.square(trace["z"]) * mean.max() == pytest.approx(mean)
    line = survey.blocks.iloc[1]
    assert (line["row_cluster"], line["column_cluster"]) == (1, 2)
    assert f"{line['ones']:,.1f} links" in trace["hovertext"][0][1]
    assert trace["texttemplate"] == "%{text}"
    go.Figure(strength_figure(survey))


def test_numbers_fit_into_the_cells_of_many_clusters(survey: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    roomy = strength_figure(survey)["data"][0]["text"]
    assert all(text.endswith(" %") for line in roomy for text in line)
    monkeypatch.setattr(summaries, "ROOMY", 1)
    narrow = strength_figure(survey)["data"][0]["text"]
    assert max(len(text) for line in narrow for text in line) <= 5
    for wide, short in zip(roomy, narrow, strict=True):
        pairs = [
            (float(one.removesuffix(" %")), float(other)) for one, other in zip(wide, short, strict=True)
        ]
        assert all(other == pytest.approx(one, rel=0.06) for one, other in pairs)


def test_sizes_add_up_to_the_objects(survey: Result) -> None:
    for domain, n in (("rows", 150), ("cols", 40)):
        figure = size_figure(survey, domain)
        assert sum(figure["data"][0]["y"]) == n
        assert figure["layout"]["xaxis"]["nticks"] <= 16  # more numbers would touch on a phone


def test_degrees_are_counted_once() -> None:
    names, counts = degree_bins(np.array([0, 0, 1, 2, 3, 4, 7, 8]))
    assert names == ["0", "1", "2–3", "4–7", "8–15"]
    assert counts == [2, 1, 2, 2, 1]


@for_each("ones", [np.zeros((3, 2)), np.eye(3), np.ones((1, 1))])
def test_any_relation_has_an_overview(ones: np.ndarray) -> None:
    relation = Relation.build(ones)
    go.Figure(thumbnail(relation))
    figure = degree_histograms(relation)
    assert [sum(trace["y"]) for trace in figure["data"]] == list(relation.shape)


def test_kinds_are_shown_as_they_are(awkward: Relation) -> None:
    assert "<i>" not in thumbnail(awkward)["layout"]["yaxis"]["title"]["text"]
    assert "<i>" not in degree_histograms(awkward)["layout"]["annotations"][0]["text"]
