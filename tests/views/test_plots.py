"""Figures of a result by name."""

import plotly.graph_objects as go
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError

_WANTED = {
    ("southern_women", "acvb0"): {"matrix", "unsorted", "strengths", "sizes", "column_sizes"},
    ("karate", "acvb0"): {"matrix", "unsorted", "strengths", "sizes", "groups", "nodes"},
    ("bars", "acvb0"): {"map", "shares", "quality"},
    ("fertility", "fab"): {"weights", "objects", "course"},
}


def test_a_result_draws_its_figures_by_name() -> None:
    for (sample, method), wanted in _WANTED.items():
        result = acvb_core.fit(acvb_core.load_sample(sample).data, method, max_sweeps=5)
        parts = {"bars": "topic", "fertility": "feature"}.get(sample)
        found = max(result.snapshot.effective_k.values())
        one = {f"{parts}_{number}" for number in range(1, found + 1)} if parts else set()
        assert set(result.plots) == {"convergence", *wanted, *one}, sample
        for name in result.plots:
            figure = result.plot(name)
            assert go.Figure(figure.to_dict()).data, (sample, name)  # which validates every trace
    assert len(result.plot().data[0].y) == result.snapshot.sweep


def test_an_unknown_figure_is_refused_with_the_names() -> None:
    result = acvb_core.fit(acvb_core.load_sample("karate").data, "cvb0", max_sweeps=2)
    with pytest.raises(ParameterError, match=r"no figure 'map' .*it has convergence, matrix"):
        result.plot("map")
