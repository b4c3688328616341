"""Texts and their topics: documents of a topic, one of them opened, and a text that the user writes."""

from __future__ import annotations

import html
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.core.errors import AcvbError, DataError, ParameterError
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.models.lda.answer.new_documents import score_file
from acvb_core.models.lda.figures.documents import document_map_figure
from acvb_core.models.lda.figures.tinted import Floats, tint_text, word_topics
from acvb_core.models.lda.figures.topics import document_topics_figure
from acvb_core.models.lda.topics import DocumentOrder
from acvb_core.views.parts import plain_name
from pages.ui.lda.topic_view import TOPIC, Names, TopicView
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_clickable_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_way, offer_table, show_download
from pages.ui.shared.refresh import is_narrow

TEXT = "topics_text"
MOST_CHARACTERS = 50_000
#: New documents of a file that the page lists.
MOST_SHOWN = 1_000
#: Places of the words of a vocabulary in a text, as `Tokeniser.spans` gives them.
Spans = Sequence[tuple[int, int, int]]


def show_share_bars(
    view: TopicView, names: Names, shares: Floats, key: str, choose: Callable[[int], None]
) -> None:
    """Draw the share of each topic in a text as bars; `choose` is called with the topic (from 1) that is clicked."""
    figure = document_topics_figure(shares, names, n=6)
    figure.update_layout(clickmode="event+select", dragmode=False)
    show_clickable_figure(figure, key, "Share of each topic in the document.", choose, view.n_topics)


def show_tinted_text(
    view: TopicView, names: Names, topic: int, text: str, spans: Spans, shares: Floats, marked: str = ""
) -> None:
    """Draw a text, its words on the colours of their topics, and the switch to one topic (from 1) only.

    `marked` is underlined wherever it occurs.
    """
    alone = st.toggle(
        "Colour one topic only",
        key="tint_alone",
        help="The chosen topic. Otherwise each word has the colour of its most likely topic.",
    )
    if alone:
        st.text(f"Words of {plain_name(topic, names, long=True)}")
    with st.container(height=420, border=True, key="document_text"):
        # Everything of the user's is escaped.
        chances = word_topics((word for _, _, word in spans), shares, view.topics.word_probability)
        one = topic if alone else None
        st.html(tint_text(text, spans, chances, labels=names, topic=one, marked=marked))


def show_try_text(view: TopicView, names: Names, topic: int) -> None:
    """Draw the field for a text, and its topics."""
    tokeniser = view.corpus.tokeniser
    if tokeniser is None or not tokeniser.cuts_texts:
        st.info(
            "These topics come from counts or lists of words, so it is not known how to split a text into such words. "
            "A file of word counts can be read.",
            icon=":material/info:",
        )
        _show_file(view)
        return
    with st.expander("Read a file of new documents", icon=":material/upload_file:", key="try_file"):
        _show_file(view)
    with st.container(key="try_panels"):
        with st.container(key="try_given", gap="xsmall"):
            text = st.text_area(
                "Your text",
                key=TEXT,
                height=300,
                max_chars=MOST_CHARACTERS,
                persist_state="session",
                placeholder="Write or paste a text in the language of the corpus.",
            )
            st.caption(
                "Press Ctrl+Enter or click elsewhere to read it. The topics do not change, and the text is not saved."
            )
        with st.container(key="try_found", gap="xsmall"):
            _show_topics_of(view, names, topic, text or "", tokeniser)


@contain_failure("part of the page")
def _show_file(view: TopicView) -> None:
    """Draw the field for a file of new documents, and their topics as a table and a file."""
    given = st.file_uploader(
        "Texts or word counts", key="try_upload",
        help="A table with a column of texts, a zip of .txt files, or word counts, as on the Data page. Every document "
        "gets its topics; the topics do not change, and the file is not saved.",
    )  # fmt: skip
    if given is None:
        return
    try:
        table = _score_file(view.key, given.file_id, given, view)
    except AcvbError as error:
        st.text(str(error))
        return
    known, unknown = int(table["tokens"].sum()), int(table["unknown"].sum())
    st.text(
        f"{say.count(len(table), 'document')}: {known:,} words that the topics know, {unknown:,} that they do not"
    )
    facts = [
        name
        for name in table.columns
        if not name.startswith("topic_") or name in ("topic_name", "topic_share")
    ]
    columns = {
        "document": st.column_config.TextColumn("Document"),
        "label": st.column_config.TextColumn("Label"),
        "tokens": st.column_config.NumberColumn("Known words", format="localized", width="small"),
        "unknown": st.column_config.NumberColumn("Unknown words", format="localized", width="small"),
        "topic": st.column_config.NumberColumn("Topic", width="small"),
        "topic_name": st.column_config.TextColumn("Name"),
        "topic_share": st.column_config.NumberColumn("Share", format="percent", width="small"),
    }
    shown = table[facts].head(MOST_SHOWN)
    height = min(420, 38 + 35 * len(shown))
    st.dataframe(
        shown, hide_index=True, key="try_table", height=height, column_config=columns, placeholder="–"
    )
    if len(table) > MOST_SHOWN:
        st.caption(f"The first {MOST_SHOWN:,}; the file has all of them, with the share of every topic.")
    show_download(view.result, offer_table("Topics of the new documents", "new-documents.csv", lambda: table))


@st.cache_resource(show_spinner="Reading the file", max_entries=4)
def _score_file(key: Key, file_id: str, _file: Any, _view: TopicView) -> pd.DataFrame:
    return score_file(_view.result, _file, _file.name)


@contain_failure("part of the page")
def _show_topics_of(view: TopicView, names: Names, topic: int, text: str, tokeniser: Tokeniser) -> None:
    if not text.strip():
        st.caption("Enter a text to see its topics.")
        return
    try:
        table = view.result.transform([text])
    except DataError:
        st.caption("No word is left in this text. Stop words and numbers are left out, as in the corpus.")
        return
    except ParameterError as error:  # the pattern of a word takes too long
        st.text(str(error))
        return
    known, unknown = (int(table[name].iloc[0]) for name in ("tokens", "unknown"))
    one, many = ("word", "words") if tokeniser.ngrams == 1 else ("word or phrase", "words and phrases")
    if not known:
        st.caption(f"The topics know none of its {many} ({unknown:,}), so they say nothing about this text.")
        return
    shares = table.filter(like="topic_").iloc[0].to_numpy()
    st.text(f"{say.count(known, one, many)} that the topics know, {unknown:,} that they do not")
    # Another text needs another key: a click on the old bars does not count for the new ones.
    key = f"try_topics_{view.run}_{zlib.crc32(text.encode())}_{topic}"
    show_share_bars(view, names, shares, key=key, choose=TOPIC.choose)
    show_tinted_text(view, names, topic, text, tokeniser.spans(text, view.index), shares)
    st.caption(
        "The stronger the colour, the more likely the topic. Unknown words occur in too few or too many documents "
        "of the corpus, or in none."
    )


OPENED = "topics_document"
MOST_LISTED = 100
#: Height of the map of documents, in pixels; on a phone about its width.
_MAP, _NARROW_MAP = 520, 350
_SHAPES = {"list": "List", "map": "Map"}
_BY: dict[DocumentOrder, str] = {"share": "Share of the topic", "tokens": "Words of the topic"}


@contain_failure("part of the page")
def show_documents(view: TopicView, names: Names, topic: int) -> None:
    """Draw the documents of the chosen topic, or those with a text that is searched for, and the one that is open."""
    note = _describe_documents(view)
    if note:
        st.caption(note)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="document_filters"):
        text = (
            "By share, short documents come first, as they often have one topic only. By words, long ones do."
        )
        by = choose_way("Order by", _BY, "documents_by", help=text)
        hint = "text in it, or part of its name"
        wanted = st.text_input("Find documents", key="documents_search", placeholder=hint, width=260).strip()
        drawn = choose_way("Show as", _SHAPES, "documents_shape")
    listed = view.find_documents(topic, MOST_LISTED, by, wanted)
    with st.container(key="document_panels"):
        with st.container(key="document_list", gap="xsmall"):
            if drawn == "map":
                _show_map(view, names, topic, wanted, _find_open(view, listed, topic, wanted))
            else:
                _show_table(view, listed, topic, f"{topic}_{by}_{wanted}", wanted)
            _show_caption(view, listed, wanted)
        with st.container(key="document_open", gap="xsmall"):
            opened = _find_open(view, listed, topic, wanted)
            if opened is not None:
                show_document(view, names, topic, opened, wanted)


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


def _show_table(view: TopicView, listed: pd.DataFrame, topic: int, state: str, wanted: str) -> None:
    numbers = listed["document"].tolist()
    shown = pd.DataFrame(
        {
            "name": view.corpus.documents[numbers],
            "share": listed["share"].tolist(),
            "tokens": listed["tokens"].astype(float).tolist(),
            "length": listed["length"].tolist(),
            "label": "" if view.corpus.labels is None else view.corpus.labels[numbers],
            "beginning": [view.document_start(number, wanted) for number in numbers],
        }
    )
    # Another list needs another key: a click in the old table does not count for the new one.
    key = f"documents_{view.of_documents}_{state}"

    def keep_click() -> None:
        cells = st.session_state[key].selection.cells
        if cells and cells[0][0] < len(numbers):
            st.session_state[OPENED] = (view.of_documents, topic, numbers[cells[0][0]])

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
            "beginning": st.column_config.TextColumn("Text" if wanted else "Beginning", width="large"),
        },
    )


def _show_map(view: TopicView, names: Names, topic: int, wanted: str, opened: int | None) -> None:
    """Draw the documents as points; those of other topics, or those that were not searched for, are faint."""
    shown = view.document_map
    found = view.match_documents(wanted) if wanted else None
    figure = document_map_figure(
        shown, view.corpus.documents, view.topics.document_share, names, topic=topic, found=found, opened=opened,
        height=_NARROW_MAP if is_narrow() else _MAP,
    )  # fmt: skip

    def open_clicked(number: int) -> None:
        st.session_state[OPENED] = (view.of_documents, topic, number - 1)

    key = f"document_map_{view.of_documents}_{view.n_topics}_{topic}_{wanted}_{opened}"
    some = (
        f" {len(shown.documents):,} of them are drawn."
        if len(shown.documents) < view.corpus.n_documents
        else ""
    )
    show_clickable_figure(
        figure, key, "Documents as points in the colours of their largest topics.", open_clicked,
        view.corpus.n_documents, hidden=("select2d", "lasso2d", "autoScale2d"),
    )  # fmt: skip
    st.caption(
        f"Documents close together have the same topics.{some}",
        help=f"A flat map cannot show all differences. This one shows {say.percent(round(shown.shown, 2))} of the "
        "squares of the distances (Hellinger) between the documents' shares.",
    )


def _show_caption(view: TopicView, listed: pd.DataFrame, wanted: str) -> None:
    if not len(listed):
        among = " among those shown" if view.is_partial or view.result.groups else ""
        where = "its name" if view.corpus.texts is None else "its text or its name"
        st.caption(f"No document{among} has this in {where}.")
        return
    more = f" The list shows the first {MOST_LISTED}." if len(listed) == MOST_LISTED else ""
    if wanted:
        found = len(view.match_documents(wanted))
        more = f" {say.count(found, 'document')} found, those with most of the topic first.{more}"
    st.caption(f"Click a document to open it.{more}")


def _find_open(view: TopicView, listed: pd.DataFrame, topic: int, wanted: str) -> int | None:
    """Return the document (0-based) to show: the one clicked while this topic was chosen, else the first listed."""
    run, for_topic, document = st.session_state.get(OPENED, (None, None, None))
    same = run == view.of_documents and for_topic == topic and document is not None
    if same and (not wanted or document in listed["document"].tolist()):
        return int(document)
    return int(listed["document"].iloc[0]) if len(listed) else None


@contain_failure("document")
def show_document(view: TopicView, names: Names, topic: int, number: int, wanted: str = "") -> None:
    """Draw one document; the text that was searched for is underlined."""
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
        st.session_state[OPENED] = (view.of_documents, chosen, number)
        TOPIC.choose(chosen)

    shares, (text, spans) = view.topics.document_share[number], _read_text(view, number)
    show_share_bars(
        view, names, shares, key=f"document_topics_{view.of_documents}_{number}_{topic}", choose=go_to
    )
    show_tinted_text(view, names, topic, text, spans, shares, wanted)
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
