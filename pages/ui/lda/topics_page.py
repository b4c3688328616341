"""Topics: the topics of a run as a map and words, in its documents and new texts, by measures, as files."""

from __future__ import annotations

import io
import math
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.files import scratch_prefix
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.evaluate.ranking import Ranking
from acvb_core.models.lda.export import name_columns, pyldavis_json, write_document_topics
from acvb_core.models.lda.figures.topics import topic_bars, topic_map_figure
from acvb_core.models.lda.topics import count_repeats
from acvb_core.store.topics import MODEL, save_model
from acvb_core.views.parts import plain_name
from pages.ui.lda.topic_documents import show_documents, show_try_text
from pages.ui.lda.topic_effects import show_effects
from pages.ui.lda.topic_groups import arrange_answer, choose_documents, show_arrange, show_tree
from pages.ui.lda.topic_list import (
    show_all_topics,
    show_known_labels,
    show_quality,
    show_spread,
    show_sweep_by_sweep,
)
from pages.ui.lda.topic_view import TOPIC, Names, TopicView, WordOrder, build_view, read_names
from pages.ui.lda.word_changes import show_word_changes
from pages.ui.running.take_away import show_files
from pages.ui.shared import format as say
from pages.ui.shared.answer_page import measure_seeds, open_answer, show_heading, show_parts
from pages.ui.shared.charts import show_clickable_figure, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import pages_of_model
from pages.ui.shared.picking import (
    FileOffer,
    choose_way,
    offer_arrays,
    offer_run,
    offer_table,
    show_rename,
)
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import Workspace, current_workspace

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
        more: dict[str, Any] = {"help": _ORDER_HELP, "persist_state": "session"}
        by = choose_way("Words by", _ORDERS, "topics_by", default="relevance", **more)
        lambda_ = 0.6
        if by == "relevance":
            label = "λ: distinctive to frequent"
            kept: dict[str, Any] = {"key": "topics_lambda", "width": 210, "persist_state": "session"}
            lambda_ = st.slider(label, 0.0, 1.0, 0.6, 0.05, **kept)
        kept = {"key": "topics_words", "width": 125, "persist_state": "session"}
        shown = st.number_input("Words", 5, MOST_WORDS, USUAL_WORDS, 5, **kept)
    return topic, WordOrder(by, float(lambda_), int(shown))


def show_overview(job: Job, view: TopicView, names: Names, topic: int, order: WordOrder) -> None:
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
            _show_map(view, names, topic, order, _NARROW_MAP if is_narrow() else min(height, 560))
        with st.container(key="topic_words", gap="xsmall"):
            _show_heading(job, view, names, topic)
            with contain_failure():
                words, tokens = view.rank_words(order, [topic]), float(view.tokens[topic - 1])
                how: dict[str, Any] = {"labels": names, "n": order.n, "title": False, "height": height}
                bars = topic_bars(words, topic, tokens=tokens, **how)
                show_figure(bars, "topic_bars", f"The words of topic {topic}, the most typical first.")


def _show_map(view: TopicView, names: Names, topic: int, order: WordOrder, height: int) -> None:
    """Draw the topics on a plane."""
    positions, shares = view.map.positions, view.topics.share
    topics = range(1, view.n_topics + 1)
    ranked = view.rank_words(order, [*topics])
    words = ranked[ranked["rank"] == 1].set_index("topic")["word"].reindex(topics, fill_value="").tolist()
    figure = topic_map_figure(positions, shares, names, words=words, selected=topic, height=height)
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
def _show_heading(job: Job, view: TopicView, names: Names, topic: int) -> None:
    """Draw the topic's number, name and measures, and the field that renames it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.html(TOPIC.head_html(topic, names), width="content")
        with st.container(horizontal=True, gap="xsmall", width="content", key="topic_actions"):
            show_arrange(job, view, names, topic)
            show_rename(job, view.result, "topics", topic, f"Name of topic {topic}")
    share = say.percent(float(view.topics.share[topic - 1]))
    of = "these" if view.result.groups else "all"
    st.caption(f"{share} of {of} words · coherence {view.describe_quality(topic)}", help=QUALITY_HELP)


#: Numbers in the largest table of all documents that is offered here: some 100 MB.
MOST_NUMBERS = 10_000_000


@contain_failure("list of files")
def show_topic_files(job: Job, view: TopicView) -> None:
    """Draw the buttons of a run's files."""
    result, workspace = view.result, current_workspace()
    files = [
        offer_table("Words of the topics", "topics.csv", lambda: list_words(workspace, job, view)),
        *list_document_files(view),
        FileOffer("For pyLDAvis", "pyldavis.json", "application/json", lambda: pyldavis_json(result)),
        offer_run(result),
        offer_arrays(result),
        FileOffer("The model", MODEL, "application/octet-stream", lambda: pack_model(view.whole)),
    ]
    show_files(job, result, files)
    text = "To continue from these topics, choose this model under *Start from* on the Run page."
    if on_disk(view):
        text += f" This page shows {view.describe_shown()}."
    if is_too_large(view):
        text += (
            " The file of all documents is too large for the browser. On the command line, "
            "`acvb_core fit FILE --out FOLDER` writes it as documents.csv."
        )
    st.caption(text)


def list_words(workspace: Workspace, job: Job, view: TopicView) -> pd.DataFrame:
    """Return the words of the topics, and their ranges over seeds; NaN if not measured, or for shares of a group."""
    spread = measure_seeds(workspace, job, view.whole)
    topics = spread["topics"].rename(columns={"low": "share_low", "high": "share_high"})
    if view.result.groups:
        topics = topics.assign(share=view.topics.share, share_low=math.nan, share_high=math.nan)
    words = spread["words"].drop(columns=["rank", "probability"])
    table = view.result.topics.merge(words.astype({"in_top_ten": "Int64"}), on=["topic", "word"], how="left")
    return table.merge(topics, on="topic", how="left")


def list_document_files(view: TopicView) -> list[FileOffer]:
    """Return the tables of the documents' topics: of those that are shown, and of all on disk."""
    result = view.result

    def list_shown() -> pd.DataFrame:
        return name_columns(result.documents, read_names(view), view.corpus.labels)

    if not on_disk(view):
        return [offer_table("Topics of the documents", "documents.csv", list_shown)]
    offers = [offer_table("Topics of the documents shown", "documents.csv", list_shown)]
    if not is_too_large(view):
        label, name = f"Topics of all {'these ' if result.groups else ''}documents", "all-documents.csv"
        offers.append(FileOffer(label, name, "text/csv", lambda: _write_documents(view)))
    return offers


def _write_documents(view: TopicView) -> bytes:
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        path = Path(folder) / "documents.csv"
        write_document_topics(view.result, path, labels=True)
        return path.read_bytes()


def pack_model(result: Result) -> bytes:
    out = io.BytesIO()
    save_model(result, out)
    return out.getvalue()


def on_disk(view: TopicView) -> bool:
    """Return whether the documents are kept on disk."""
    prepared = view.result.prepared
    return prepared.model_row.on_disk(prepared.data)


def is_too_large(view: TopicView) -> bool:
    """Return whether the table of all documents is too large for the browser."""
    return on_disk(view) and view.result.prepared.data.n_documents * view.n_topics > MOST_NUMBERS


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
.document-name { font-size: 1.1rem; font-weight: 600; overflow-wrap: anywhere; }
</style>
"""


def show_topics() -> None:
    """Draw the page."""
    job, result = open_answer(pages_of_model("lda").answer, STYLE, {TOPIC.key: 1})
    own = len(result.names["topics"])
    empty = result.prepared.spec.values["k"] - own
    found = say.count(own, "topic")
    heading = f"{found} in use, {empty:,} empty" if empty else found
    if repeats := count_repeats(result.snapshot.posterior):
        heading += f", {repeats:,} with the same words as a larger one"
    show_heading(job, result, heading)
    documents, summary = st.container(), st.container()
    with st.container():  # see `open_answer`
        arranged = arrange_answer(job, result)
    view = build_view(job, arranged, result)
    with documents:
        view = choose_documents(job, view)
    with summary, contain_failure("part of the page"):
        st.text(view.summary)  # it quotes names
    show_body(job, view)
    show_topic_files(job, view)


@st.fragment
def show_body(job: Job, view: TopicView) -> None:
    """Draw all that follows the chosen topic and the order of the words, and nothing else is drawn again."""
    names = read_names(view)
    topic, order = choose_settings(view, names)
    show_overview(job, view, names, topic, order)
    parts = {
        "All topics": lambda: show_all_topics(view, names, topic, order),
        "Documents": lambda: show_documents(view, names, topic),
        "Over time and groups": lambda: show_effects(view, names, topic),
        "Tree": lambda: show_tree(job, view),
        "Quality": lambda: show_quality(view, names),
        "How sure?": lambda: show_spread(job, view, names, topic),
        "Sweep by sweep": lambda: show_sweep_by_sweep(view),
    }
    if view.corpus.labels is not None:
        parts["Known labels"] = lambda: show_known_labels(view, names)
    parts["Try a text"] = lambda: show_try_text(view, names, topic)
    parts["Change words"] = lambda: show_word_changes(job, view, topic)
    show_parts("topics_part", parts)
