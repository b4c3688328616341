"""The upper part of the Topics page: the order of words, the map, and the words of the chosen topic."""

from __future__ import annotations

import html
from typing import get_args

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.evaluate.ranking import Ranking
from acvb_core.models.lda.figures.topics import topic_bars, topic_map_figure
from acvb_core.store.topic_names import MOST_CHARACTERS, Names
from acvb_core.views.parts import plain_name, user_name
from pages.ui.lda.topic_view import TOPIC, TopicView, WordOrder, open_topic_names
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_clickable_figure, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import current_workspace

MOST_WORDS, USUAL_WORDS = 50, 20
#: Height of the map on a phone, in pixels: about its width.
_NARROW_MAP = 350
QUALITY_HELP = (
    "Coherence (NPMI, normalised pointwise mutual information): how often the topic's top words occur in the same "
    "documents, from -1 (never) over 0 (as by chance) to 1 (always). Exclusivity: how much these words belong to this "
    "topic alone, from 0 to 1."
)
_ORDERS: dict[Ranking, str] = {"probability": "Probability", "relevance": "Relevance", "frex": "FREX"}
_ORDER_HELP = """
**Probability**: the words the topic uses most, common words of the whole corpus included. **Relevance**: a mix of
probability (λ = 1) and of how much more often the topic uses a word than the corpus does (λ = 0); 0.6 usually reads
best (Sievert and Shirley 2014). **FREX** (frequency and exclusivity): words that are frequent in the topic and rare in
the others (Airoldi and Bischof 2016).
"""


def choose_settings(view: TopicView, names: Names) -> tuple[int, WordOrder]:
    """Draw what is chosen for the whole page; return the topic (from 1) and the order of words."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="topic_settings"):
        topic = TOPIC.show(view.n_topics, lambda number: plain_name(number, names, long=True), width=230)
        by = st.segmented_control(
            "Words by",
            list(get_args(Ranking)),
            format_func=_ORDERS.__getitem__,
            default="relevance",
            required=True,
            key="topics_by",
            help=_ORDER_HELP,
            persist_state="session",
        )
        lambda_ = 0.6
        if by == "relevance":
            label = "λ: distinctive to frequent"
            lambda_ = st.slider(
                label, 0.0, 1.0, 0.6, 0.05, key="topics_lambda", width=210, persist_state="session"
            )
        shown = st.number_input(
            "Words", 5, MOST_WORDS, USUAL_WORDS, 5, key="topics_words", width=125, persist_state="session"
        )
    return topic, WordOrder(by, float(lambda_), int(shown))


def show_overview(view: TopicView, names: Names, topic: int, order: WordOrder) -> None:
    """Draw the map beside the words of the chosen topic."""
    height = max(420, 48 + 21 * order.n)
    with st.container(key="topic_panels"):
        with st.container(key="topic_map", gap="xsmall"), contain_failure():
            st.subheader("Map of the topics", anchor=False)
            st.caption(
                "Topics close together use similar words. Click one to read it.",
                help="A flat map cannot show all differences. This one shows "
                f"{say.percent(round(view.map.shown, 2))} of the squares of the distances between topics.",
            )
            _show_map(view, names, topic, _NARROW_MAP if is_narrow() else min(height, 560))
        with st.container(key="topic_words", gap="xsmall"):
            _show_heading(view, names, topic)
            with contain_failure():
                words, tokens = view.rank_words(order, [topic]), float(view.tokens[topic - 1])
                bars = topic_bars(
                    words, topic, tokens=tokens, labels=names, n=order.n, title=False, height=height
                )
                show_figure(bars, "topic_bars", f"The words of topic {topic}, the most typical first.")


def _show_map(view: TopicView, names: Names, topic: int, height: int) -> None:
    """Draw the topics on a plane."""
    positions, shares = view.map.positions, view.topics.share
    figure = topic_map_figure(positions, shares, names, selected=topic, height=height)
    # A unit is as long across as up. Where ranges give way to that, a chart that is drawn while its place is still
    # narrow keeps the wide ranges it then needed; where the frame gives way, it is right as soon as there is room.
    figure.update_xaxes(constrain="domain", constraintoward="left")
    figure.update_yaxes(constrain="domain", constraintoward="top")
    show_clickable_figure(
        figure,
        f"topics_map_{view.run}_{TOPIC.turn}",
        "Topics as bubbles on a map; topics that use the same words lie close together.",
        TOPIC.keep_click,
        view.n_topics,
        hidden=("select2d", "lasso2d", "autoScale2d"),
    )


@contain_failure("part of the page")
def _show_heading(view: TopicView, names: Names, topic: int) -> None:
    """Draw the topic's number, name and measures, and the field that renames it."""
    name = user_name(topic, names) or f"Topic {topic}"
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.html(TOPIC.head_html(topic, html.escape(name)), width="content")
        if not current_workspace().view_only:
            with st.popover("Rename", icon=":material/edit:", key=f"rename_popover_{topic}"):
                _edit_name(view, names, topic)
    share = say.percent(float(view.topics.share[topic - 1]))
    st.caption(f"{share} of all words · coherence {view.describe_quality(topic)}", help=QUALITY_HELP)


def _edit_name(view: TopicView, names: Names, topic: int) -> None:
    key = f"topic_name_{view.run}_{topic}"

    def save() -> None:
        try:
            current_workspace().check_owner()
            open_topic_names().rename(view.run, view.identifying_words, topic, st.session_state[key])
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
        help="Press Enter to save. Every page shows the name. Clear the field to remove it.",
    )
    if "topics_trouble" in st.session_state:
        st.text(st.session_state["topics_trouble"])
