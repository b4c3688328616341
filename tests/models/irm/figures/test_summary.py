"""Strengths, sizes, thumbnails and degrees: the numbers behind the bars."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.figures.summaries import (
    degree_bins,
    degree_histograms,
    size_figure,
    strength_figure,
    thumbnail,
)
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


def test_degrees_are_counted_once() -> None:
    names, counts = degree_bins(np.array([0, 0, 1, 2, 3, 4, 7, 8]))
    assert names == ["0", "1", "2–3", "4–7", "8–15"]
    assert counts == [2, 1, 2, 2, 1]


def test_kinds_are_shown_as_they_are(awkward: Relation) -> None:
    assert "<i>" not in thumbnail(awkward)["layout"]["yaxis"]["title"]["text"]
    assert "<i>" not in degree_histograms(awkward)["layout"]["annotations"][0]["text"]
