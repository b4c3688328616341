"""Figures are drawn in the colours of the page, and stay as they are for other sessions that draw them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.runtime.context import ContextProxy

from acvb_core.views.theme import DARK_PAPER, TEXT, make_figure
from pages.ui.shared.charts import show_figure


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_is_drawn_in_the_colours_of_the_page(monkeypatch: pytest.MonkeyPatch, theme: str) -> None:
    figure = make_figure([{"type": "scatter", "y": [1.0], "marker": {"color": TEXT}}], 300)
    before, drawn = figure.to_json(), []
    monkeypatch.setattr(ContextProxy, "theme", SimpleNamespace(type=theme))
    monkeypatch.setattr(st, "plotly_chart", lambda shown, **_: drawn.append(shown))
    show_figure(figure, "chart")
    assert (drawn[0].data[0].marker.color == TEXT) == (theme == "light")
    assert (drawn[0].layout.paper_bgcolor == DARK_PAPER) == (theme == "dark")
    assert figure.to_json() == before
