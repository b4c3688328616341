"""Topics: the topics of a run as a map and words, in its documents and new texts, by measures, as files."""

from __future__ import annotations

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.models.lda.topics import count_repeats
from pages.ui.lda.topic_documents import show_documents
from pages.ui.lda.topic_files import show_topic_files
from pages.ui.lda.topic_list import show_all_topics, show_known_labels, show_quality, show_spread
from pages.ui.lda.topic_overview import choose_settings, show_overview
from pages.ui.lda.topic_text import show_try_text
from pages.ui.lda.topic_view import TOPIC, TopicView, build_view, read_names
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import open_answer, show_heading, show_parts
from pages.ui.shared.model_pages import pages_of_model

# As many panels side by side as there is room for.
STYLE = """
<style>
.st-key-topic_panels, .st-key-document_panels, .st-key-quality_charts, .st-key-try_panels {
  display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-topic_panels { grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.st-key-document_panels, .st-key-quality_charts, .st-key-try_panels {
  grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
.st-key-topic_panels > div, .st-key-document_panels > div, .st-key-quality_charts > div, .st-key-try_panels > div {
  width: 100% !important; min-width: 0; }
.topic-head { display: flex; align-items: center; gap: 0.6rem; font-size: 1.35rem; line-height: 1.7rem; }
.topic-head span { min-width: 2rem; padding: 0 0.4rem; border-radius: 1rem; text-align: center; font-weight: 600;
  font-size: 1.05rem; box-sizing: border-box; }
.topic-head strong { font-weight: 600; overflow-wrap: anywhere; }
.document-name { font-size: 1.1rem; font-weight: 600; overflow-wrap: anywhere; }
</style>
"""


def show_topics() -> None:
    """Draw the page."""
    job, result = open_answer(pages_of_model("lda").answer, STYLE, {TOPIC.key: 1})
    view = build_view(job, result)
    empty = result.prepared.spec.values["k"] - view.n_topics
    found = say.count(view.n_topics, "topic")
    heading = f"{found} in use, {empty:,} empty" if empty else found
    if repeats := count_repeats(result.snapshot.posterior):
        heading += f", {repeats:,} with the same words as a larger one"
    show_heading(job, result, heading)
    show_body(job, view)
    show_topic_files(job, view)


@st.fragment
def show_body(job: Job, view: TopicView) -> None:
    """Draw all that follows the chosen topic and the order of the words, and nothing else is drawn again."""
    names = read_names(view)
    topic, order = choose_settings(view, names)
    show_overview(view, names, topic, order)
    parts = {
        "All topics": lambda: show_all_topics(view, names, topic, order),
        "Documents": lambda: show_documents(view, names, topic),
        "Quality": lambda: show_quality(view, names),
        "How sure?": lambda: show_spread(job, view, names, topic),
    }
    if view.corpus.labels is not None:
        parts["Known labels"] = lambda: show_known_labels(view, names)
    parts["Try a text"] = lambda: show_try_text(view, names, topic)
    show_parts("topics_part", parts)
