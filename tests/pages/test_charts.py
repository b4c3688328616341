"""Figures that several sessions draw at once."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st

from acvb_core.views.theme import Figure
from pages.ui.shared.charts import show_figure


def test_drawing_leaves_the_figure_alone_that_other_sessions_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plotly takes the type out of each trace that it is given while it checks it."""
    figure: Figure = {"data": [{"type": "heatmap", "z": [[1.0]]}], "layout": {}}

    def take_types(drawn: Any, **_: Any) -> None:
        for trace in drawn["data"]:
            trace.pop("type")

    monkeypatch.setattr(st, "plotly_chart", take_types)
    show_figure(figure, "blocks")
    assert figure["data"] == [{"type": "heatmap", "z": [[1.0]]}]
