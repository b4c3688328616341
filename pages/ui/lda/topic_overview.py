"""The upper part of the Topics page: how words are put in order, the map, and the words of the chosen topic."""

from __future__ import annotations

import html
from typing import Any, get_args

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.evaluate.ranking import Ranking
from acvb_core.models.lda.figures.topic_bars import topic_bars
from acvb_core.models.lda.figures.topic_map import topic_map_figure
from acvb_core.store.topic_names import MOST_CHARACTERS, Names
from acvb_core.views.labels import ink_on, plain_name, user_name
from acvb_core.views.theme import CHART_CONFIG, STILL_CONFIG, cluster_colour
from pages.ui.lda.topic_view import TopicView, WordOrder, format_measure, open_topic_names
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_one

CHOSEN = "topics_topic"
MOST_WORDS, USUAL_WORDS = 50, 20
_TURN = "topics_turn"
_MAP: dict[str, Any] = {
    **CHART_CONFIG,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "scrollZoom": False,
}
_STILL: dict[str, Any] = dict(STILL_CONFIG)
_ORDERS: dict[Ranking, str] = {"probability": "Probability", "relevance": "Relevance", "frex": "FREX"}
_ORDER_HELP = """
**Probability**: the words the topic uses most; frequent words of the whole corpus are among them. **Relevance**: λ = 1
is probability, λ = 0 how much more often the topic uses a word than the corpus does; 0.6 reads best as a rule (Sievert
and Shirley 2014). **FREX**: words that are both frequent in the topic and rare in the others (Airoldi and Bischof
2016).
"""


def choose(topic: int) -> None:
    """Make a topic (from 1) the chosen one, from a callback."""
    st.session_state[CHOSEN] = topic
    forget_clicks()


def forget_clicks() -> None:
    """Have the map drawn anew: what was clicked there is not what is chosen any more."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


def choose_settings(view: TopicView, names: Names) -> tuple[int, WordOrder]:
    """Draw what is chosen for the whole page; return the topic (from 1) and the order of words."""
    n = view.n_topics
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="topic_settings"):
        topic = choose_one(
            "Topic",
            range(1, n + 1),
            lambda number: plain_name(number, names, long=True),
            CHOSEN,
            width=230,
            on_change=forget_clicks,
        )
        for step, icon, text in ((-1, "chevron_left", "Topic before"), (1, "chevron_right", "Next topic")):
            st.button(
                text, icon=f":material/{icon}:", help=text, key=f"topic_step_{step}", on_click=choose,
                args=((topic - 1 + step) % n + 1,), disabled=n == 1,
            )  # fmt: skip
        by = st.segmented_control(
            "Words by",
            list(get_args(Ranking)),
            format_func=_ORDERS.get,
            default="relevance",
            required=True,
            key="topics_by",
            help=_ORDER_HELP,
            persist_state="session",
        )
        lambda_ = 0.6
        if by == "relevance":
            lambda_ = st.slider(
                "λ, distinctive to frequent", 0.0, 1.0, 0.6, 0.05, key="topics_lambda", width=210,
                persist_state="session",
            )  # fmt: skip
        shown = st.number_input(
            "Words", 5, MOST_WORDS, USUAL_WORDS, 5, key="topics_words", width=125, persist_state="session"
        )
    return int(topic), WordOrder(by, float(lambda_), int(shown))


def show_overview(view: TopicView, names: Names, topic: int, order: WordOrder) -> None:
    """Draw the map beside the words of the chosen topic."""
    height = max(420, 48 + 21 * order.n)
    with st.container(key="topic_panels"):
        with st.container(key="topic_map", gap="xsmall"), contain_failure():
            st.subheader("Map of the topics", anchor=False)
            st.caption(
                "Close together: alike in their words, as far as a plane can show it "
                f"({say.percent(round(view.map.shown, 2))} of the squared distances). Click one to read it."
            )
            _show_map(view, names, topic, min(height, 560))
        with st.container(key="topic_words", gap="xsmall"):
            _show_heading(view, names, topic)
            with contain_failure():
                st.plotly_chart(
                    topic_bars(
                        view.words(order, [topic - 1]), topic, tokens=float(view.tokens[topic - 1]), labels=names,
                        n=order.n, title=False, height=height,
                    ),
                    key="topic_bars", theme=None, config=_STILL,
                    alt=f"The words of topic {topic}, the most telling first.",
                )  # fmt: skip


def _show_map(view: TopicView, names: Names, topic: int, height: int) -> None:
    key = f"topics_map_{view.run}_{st.session_state.get(_TURN, 0)}"

    def clicked() -> None:
        points = st.session_state[key].selection.points
        number = clicked_topic(points[0]) if points else None
        if number is not None and number <= view.n_topics:
            st.session_state[CHOSEN] = number

    placed = view.map
    figure = topic_map_figure(placed.positions, view.topics.share, names, selected=topic, height=height)
    # A unit is as long across as up. Where ranges give way to that, a chart that is drawn while its place is still
    # narrow keeps the wide ranges it then needed; where the frame gives way, it is right as soon as there is room.
    figure["layout"]["xaxis"] |= {"constrain": "domain", "constraintoward": "left"}
    figure["layout"]["yaxis"] |= {"constrain": "domain", "constraintoward": "top"}
    st.plotly_chart(
        figure, key=key, theme=None, config=_MAP, on_select=clicked, selection_mode="points",
        alt="Topics as bubbles on a plane; those that use the same words lie close together.",
    )  # fmt: skip


def clicked_topic(point: Any) -> int | None:
    """Return the number of the topic that a click on a figure tells; None where it tells none."""
    told = point.get("customdata")
    number = told[0] if isinstance(told, list | tuple) and told else told
    return int(number) if isinstance(number, int | float) and number >= 1 else None


@contain_failure("part of the page")
def _show_heading(view: TopicView, names: Names, topic: int) -> None:
    """Draw the topic's number, name and figures, and what renames it."""
    colour, quality = cluster_colour(topic), view.quality
    name = user_name(topic, names) or f"Topic {topic}"
    facts = (
        f"{say.percent(float(view.topics.share[topic - 1]))} of all words · coherence (NPMI) "
        f"{format_measure(quality.npmi[topic - 1])} · exclusivity {format_measure(quality.exclusivity[topic - 1])}"
    )
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.html(
            f"<div class='topic-head'><span style='background:{colour};color:{ink_on(colour)}'>{topic}</span>"
            f"<strong>{html.escape(name)}</strong></div>",
            width="content",
        )
        with st.popover("Rename", icon=":material/edit:", key=f"rename_popover_{topic}"):
            _edit_name(view, names, topic)
    st.caption(facts)


def _edit_name(view: TopicView, names: Names, topic: int) -> None:
    key = f"topic_name_{view.run}_{topic}"

    def save() -> None:
        try:
            open_topic_names().rename(view.run, view.known_by, topic, st.session_state[key])
            st.session_state.pop("topics_trouble", None)
        except AcvbError as error:
            st.session_state["topics_trouble"] = str(error)

    st.text_input(
        f"Name of topic {topic}",
        user_name(topic, names),
        max_chars=MOST_CHARACTERS,
        key=key,
        placeholder="what it is about",
        on_change=save,
        help="Press Enter. It is kept with the run, on every page; an empty name takes it away.",
    )
    if "topics_trouble" in st.session_state:
        st.text(st.session_state["topics_trouble"])
