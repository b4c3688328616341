"""Documents of a topic, and one of them opened: its topics, and its words tinted by topic."""

from __future__ import annotations

import html

import pandas as pd
import streamlit as st

from acvb_core.models.lda.topics import DocumentOrder
from acvb_core.store.topic_names import Names
from pages.ui.lda.topic_text import Spans, show_share_bars, show_tinted_text
from pages.ui.lda.topic_view import TOPIC, TopicView
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure

OPENED = "topics_document"
MOST_LISTED = 100
_BY: dict[DocumentOrder, str] = {"share": "Share of the topic", "tokens": "Words of the topic"}


@contain_failure("part of the page")
def show_documents(view: TopicView, names: Names, topic: int) -> None:
    """Draw the documents of the chosen topic, or those whose names were searched for, and the one that is open."""
    note = _describe_documents(view)
    if note:
        st.caption(note)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="document_filters"):
        by = st.segmented_control(
            "Order by",
            list(_BY),
            format_func=_BY.__getitem__,
            default="share",
            required=True,
            key="documents_by",
            help=(
                "By share, short documents come first, because they often have only one topic. By words, long ones "
                "do."
            ),
        )
        wanted = st.text_input(
            "Find a document", key="documents_search", placeholder="part of its name", width=240
        )
    listed = view.find_documents(topic, MOST_LISTED, by, wanted.strip())
    with st.container(key="document_panels"):
        with st.container(key="document_list", gap="xsmall"):
            _show_table(view, listed, topic, f"{topic}_{by}_{wanted}")
            _show_caption(view, listed, topic, wanted.strip(), names)
        with st.container(key="document_open", gap="xsmall"):
            opened = _find_open(view, listed, topic, wanted.strip())
            if opened is not None:
                show_document(view, names, topic, opened)


def _describe_documents(view: TopicView) -> str:
    """Return which documents are shown, and how their topics were inferred, if a reader cannot know that."""
    said = []
    if view.is_partial:
        prepared = view.result.prepared
        on_disk = prepared.model_row.on_disk(prepared.data)
        why = "drawn at random" if on_disk else "without those that were held out"
        said.append(f"This page shows {view.describe_shown()}, {why}.")
    if view.is_inferred:
        said.append(
            "The run kept only the words of the topics. The topics of the documents are inferred from them, as for "
            "new documents."
        )
    return " ".join(said)


def _show_table(view: TopicView, listed: pd.DataFrame, topic: int, state: str) -> None:
    numbers = listed["document"].tolist()
    shown = pd.DataFrame(
        {
            "name": view.corpus.documents[numbers],
            "share": listed["share"].tolist(),
            "tokens": listed["tokens"].astype(float).tolist(),
            "length": listed["length"].tolist(),
            "label": "" if view.corpus.labels is None else view.corpus.labels[numbers],
            "beginning": [view.document_start(number) for number in numbers],
        }
    )
    # Another list needs another key: a click in the old table does not count for the new one.
    key = f"documents_{view.run}_{state}"

    def keep_click() -> None:
        cells = st.session_state[key].selection.cells
        if cells and cells[0][0] < len(numbers):
            st.session_state[OPENED] = (view.run, topic, numbers[cells[0][0]])

    st.dataframe(
        shown if view.corpus.labels is not None else shown.drop(columns="label"),
        hide_index=True,
        key=key,
        on_select=keep_click,
        selection_mode="single-cell",
        height=min(560, 38 + 35 * max(len(shown), 1)),
        column_config={
            "name": st.column_config.TextColumn("Document", width=125),
            "share": st.column_config.NumberColumn(f"Topic {topic}", format="percent", width=70),
            "tokens": st.column_config.NumberColumn(
                "Its words", format="%.0f", width=78, help="Expected number of words from this topic."
            ),
            "length": st.column_config.NumberColumn("All words", format="localized", width=72),
            "label": st.column_config.TextColumn("Label", width=85),
            "beginning": st.column_config.TextColumn("Beginning", width="large"),
        },
    )


def _show_caption(view: TopicView, listed: pd.DataFrame, topic: int, wanted: str, names: Names) -> None:
    if not len(listed):
        among = " among those shown" if view.is_partial else ""
        st.caption(f"No document{among} has this in its name.")
        return
    more = f" The list shows the first {MOST_LISTED}." if len(listed) == MOST_LISTED else ""
    st.caption(f"Click a document to open it.{more}")


def _find_open(view: TopicView, listed: pd.DataFrame, topic: int, wanted: str) -> int | None:
    """Return the document (0-based) to show: the one clicked while this topic was chosen, else the first listed."""
    run, for_topic, document = st.session_state.get(OPENED, (None, None, None))
    same = run == view.run and for_topic == topic and document is not None
    if same and (not wanted or document in listed["document"].tolist()):
        return int(document)
    return int(listed["document"].iloc[0]) if len(listed) else None


@contain_failure("document")
def show_document(view: TopicView, names: Names, topic: int, number: int) -> None:
    """Draw one document."""
    corpus = view.corpus
    facts = [say.count(int(corpus.lengths[number]), "word")]
    if corpus.labels is not None:
        facts.append(f"label {corpus.labels[number]}")
    st.html(f"<div class='document-name'>{html.escape(str(corpus.documents[number]))}</div>")
    st.text(" · ".join(facts))
    if not corpus.lengths[number]:
        st.caption("None of its words was kept, so this document has no topics.")
        if corpus.texts is not None:
            st.text(corpus.texts[number])
        return

    def go_to(chosen: int) -> None:
        st.session_state[OPENED] = (view.run, chosen, number)
        TOPIC.choose(chosen)

    shares, (text, spans) = view.topics.document_share[number], _read_text(view, number)
    show_share_bars(view, names, shares, key=f"document_topics_{view.run}_{number}_{topic}", choose=go_to)
    show_tinted_text(view, names, topic, text, spans, shares)
    if corpus.texts is None:
        st.caption("The data have no text for this document, only its words. The most frequent come first.")
    elif corpus.tokeniser is None or not corpus.tokeniser.cuts_texts:
        st.caption("Words are not coloured, because it is not known how the text was split into words.")
    else:
        st.caption("The stronger the colour, the more likely the topic. Hover over a word to see its topic.")


def _read_text(view: TopicView, number: int) -> tuple[str, Spans]:
    """Return a document's text, or its words where the text is not known, and where words stand in it."""
    corpus = view.corpus
    if corpus.texts is None:
        return _list_words(view, number)
    text = corpus.texts[number]
    cut = corpus.tokeniser
    return text, [] if cut is None or not cut.cuts_texts else cut.spans(text, view.index)


def _list_words(view: TopicView, number: int) -> tuple[str, list[tuple[int, int, int]]]:
    """Return a document's words as a text, the most frequent first, and where each stands in it."""
    parts, spans, at = [], [], 0
    for word, times in zip(*view.document_words(number), strict=True):
        name = str(view.corpus.vocabulary[word])
        part = name if times == 1 else f"{name} ({times:,})"
        spans.append((at, at + len(name), int(word)))
        parts.append(part)
        at += len(part) + 2
    return ", ".join(parts), spans
