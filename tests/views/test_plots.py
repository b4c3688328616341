"""Figures of a result by name."""

import plotly.graph_objects as go
import pytest

import acvb_core
from acvb_core.core.errors import ParameterError

_WANTED = {
    ("southern_women", "acvb0"): {
        "matrix",
        "unsorted",
        "strengths",
        "sizes",
        "tree",
        "column_sizes",
        "column_tree",
    },
    ("karate", "acvb0"): {"matrix", "unsorted", "strengths", "sizes", "tree", "groups", "nodes"},
    ("bars", "acvb0"): {"map", "tree", "documents", "shares", "quality"},
    ("fertility", "fab"): {"weights", "objects", "course"},
}


def test_a_result_draws_its_figures_by_name() -> None:
    for (sample, method), wanted in _WANTED.items():
        result = acvb_core.fit(acvb_core.load_sample(sample).data, method, max_sweeps=5)
        part, found = {"bars": "topic", "fertility": "feature"}.get(sample), result.snapshot.effective_k
        each = {f"{part}_{number + 1}" for number in range(max(found.values()))} if part else set()
        assert set(result.plots) == {"convergence", *wanted, *each}, sample
        for name in result.plots:
            figure = result.plot(name)
            assert go.Figure(figure.to_dict()).data, (sample, name)  # which validates every trace
    assert len(result.plot().data[0].y) == result.snapshot.sweep


def test_an_unknown_figure_is_refused_with_the_names() -> None:
    with pytest.raises(ParameterError, match=r"no figure 'map' .*it has convergence, matrix"):
        acvb_core.fit(acvb_core.load_sample("karate").data, "cvb0", max_sweeps=2).plot("map")
