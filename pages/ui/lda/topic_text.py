"""A text with its topics: their shares as bars, and the text with its words tinted by topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from numpy.typing import ArrayLike

from acvb_core.models.lda.figures.tinted import tint_text, word_topics
from acvb_core.models.lda.figures.topic_bars import document_topics_figure
from acvb_core.store.topic_names import Names
from acvb_core.views.labels import plain_name
from acvb_core.views.theme import CHART_CONFIG
from pages.ui.lda.topic_overview import clicked_topic
from pages.ui.lda.topic_view import TopicView

#: Where words of a vocabulary stand in a text, as `Tokeniser.spans` gives them.
Spans = Sequence[tuple[int, int, int]]
_BARS: dict[str, Any] = {**CHART_CONFIG, "displayModeBar": False}


def show_share_bars(
    view: TopicView, names: Names, shares: ArrayLike, *, key: str, choose: Callable[[int], None]
) -> None:
    """Draw the topics of a text as bars.

    Parameters
    ----------
    view : TopicView
    names : sequence of str or None
    shares : array, shape (K,)
        Of each topic in the text.
    key : str
        Another one for another text: what was clicked in the old one's bars is not clicked in the new one's.
    choose : callable
        Called with the topic (from 1) whose bar is clicked.
    """

    def clicked() -> None:
        points = st.session_state[key].selection.points
        chosen = clicked_topic(points[0]) if points else None
        if chosen is not None and chosen <= view.n_topics:
            choose(chosen)

    figure = document_topics_figure(shares, names, n=6)
    figure["layout"]["clickmode"] = "event+select"
    figure["layout"]["dragmode"] = False
    st.plotly_chart(
        figure, key=key, theme=None, config=_BARS, on_select=clicked, selection_mode="points",
        alt="Share of each topic in the document.",
    )  # fmt: skip


def show_tinted_text(
    view: TopicView, names: Names, topic: int, text: str, spans: Spans, shares: ArrayLike
) -> None:
    """Draw a text, its words on the colours of their topics, and the switch to the chosen topic (from 1) alone."""
    alone = st.toggle(
        "Tint one topic alone",
        key="tint_alone",
        help="The chosen one. Otherwise each word has its most probable topic's colour.",
    )
    if alone:
        st.text(f"Words of {plain_name(topic, names, long=True)}")
    with st.container(height=420, border=True, key="document_text"):
        # Everything of the user's is escaped.
        chances = word_topics((word for _, _, word in spans), shares, view.topics.word_probability)
        st.html(tint_text(text, spans, chances, labels=names, topic=topic if alone else None))
