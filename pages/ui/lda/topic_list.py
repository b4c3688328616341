"""All topics at once: as cards, by the words they share, by how good they are, and against known labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from acvb_core.evaluate.ranking import top_words
from acvb_core.models.lda.figures.topic_bars import quality_figure, quality_table, topic_shares_figure
from acvb_core.store.topic_names import Names
from acvb_core.views.labels import plain_name, user_name
from acvb_core.views.theme import STILL_CONFIG
from pages.ui.lda.topic_cards import Card, show_topic_cards
from pages.ui.lda.topic_overview import choose
from pages.ui.lda.topic_view import TopicView, WordOrder, describe_shown, format_measure
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import choose_one

CARD_WORDS = 12
#: Words that a search finds, and the share of a word's tokens from which a topic is one of its topics.
MOST_FOUND, LEAST_SHARE = 50, 0.01
MOST_LABELS = 30
_STILL: dict[str, Any] = dict(STILL_CONFIG)


@contain_failure("part of the page")
def show_all_topics(view: TopicView, names: Names, topic: int, order: WordOrder) -> None:
    """Draw a card for each topic; for a searched word, those that have it, with probabilities."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="word_search"):
        wanted = st.text_input(
            "Which topics is a word in?", key="topics_search", placeholder="a word, or part of one", width=280
        ).strip()
        found = find_words(view, wanted)
        word = found[0] if len(found) else None
        if len(found) > 1:
            word = choose_one(
                f"{len(found)} words" if len(found) < MOST_FOUND else f"The first {MOST_FOUND} words",
                found.tolist(),
                lambda number: str(view.corpus.vocabulary[number]),
                "topics_found",
                width=240,
            )
    notes: dict[int, str] = {}
    if word is not None:
        notes = describe_word(view, int(word))
        times = say.count(int(view.frequencies[word]), "time")
        st.caption(f"In {say.count(len(notes), 'topic')} of {view.n_topics:,}; {times} in the corpus.")
    elif wanted:
        st.caption(
            "No word of the vocabulary has that in it; words may have been dropped when the texts were cut."
        )
    shown = list(notes) or list(range(1, view.n_topics + 1))
    show_topic_cards(
        [
            _make_card(view, names, at, words, notes.get(at, ""))
            for at, words in _rank_words(view, order, shown)
        ],
        selected=topic,
        choose=choose,
        key="topic_cards",
        marked=None if word is None else str(view.corpus.vocabulary[word]),
    )


def find_words(view: TopicView, wanted: str) -> np.ndarray:
    """Return the words (0-based) that a text is part of: the word itself first, then the most frequent ones."""
    if not wanted:
        return np.empty(0, dtype=np.int64)
    low = wanted.lower()
    vocabulary = view.corpus.vocabulary
    found = np.array([i for i, word in enumerate(vocabulary) if low in word.lower()], dtype=np.int64)
    exact = np.array([vocabulary[i].lower() == low for i in found], dtype=np.bool_)
    order = np.lexsort((-view.frequencies[found], ~exact))
    return found[order][:MOST_FOUND]


def describe_word(view: TopicView, word: int) -> dict[int, str]:
    """Return what to say of each topic (from 1) that has a good part of a word, the one that has most first."""
    phi = view.topics.word_probability[:, word]
    part = view.topics.share * phi
    part = part / part.sum()
    return {
        int(k)
        + 1: f"{say.percent(float(part[k]))} of the word's tokens; {say.percent(float(phi[k]))} of the topic"
        for k in np.argsort(-part, kind="stable")
        if part[k] >= LEAST_SHARE
    }


def _rank_words(view: TopicView, order: WordOrder, topics: list[int]) -> list[tuple[int, list[str]]]:
    n = min(order.n, CARD_WORDS)
    words = view.words(order._replace(n=n), [topic - 1 for topic in topics])["word"].astype(str).tolist()
    each = len(words) // len(topics)
    return [(topic, words[i * each : (i + 1) * each]) for i, topic in enumerate(topics)]


def _make_card(view: TopicView, names: Names, topic: int, words: list[str], note: str) -> Card:
    quality = view.quality
    return Card(
        topic,
        user_name(topic, names),
        say.percent(float(view.topics.share[topic - 1])),
        words,
        f"coherence {format_measure(quality.npmi[topic - 1])} · "
        f"exclusivity {format_measure(quality.exclusivity[topic - 1])}",
        note,
    )


@contain_failure("part of the page")
def show_quality(view: TopicView, names: Names) -> None:
    """Draw how good the topics are."""
    measures = view.quality
    if view.partly:
        st.caption(f"Coherence is measured over {describe_shown(view)}.")
    means = (
        ("Coherence (NPMI)", measures.npmi, "How often a topic's ten most probable words stand in the same documents: "
         "-1 never, 0 as by chance, 1 always."),
        ("Coherence (u_mass)", measures.u_mass, "The same by counts of documents, in nats; nearer to 0 is better."),
        ("Exclusivity", measures.exclusivity, "How much of its ten words lies with the topic alone, 0 to 1."),
    )  # fmt: skip
    with st.container(horizontal=True, gap="medium", key="quality_figures"):
        for name, values, text in means:
            known = values[np.isfinite(values)]
            st.metric(
                name,
                format_measure(float(known.mean())) if len(known) else "–",
                width="content",
                help=f"Mean. {text}",
            )
        st.metric(
            "Diversity", format_measure(measures.diversity), width="content",
            help="Share of different words among the ten most probable ones of all topics; 1: no word twice.",
        )  # fmt: skip
    with st.container(key="quality_charts"):
        charts = (
            ("shares", topic_shares_figure(view.topics.share, names)),
            ("npmi", quality_figure(measures.npmi, names)),
        )
        for key, figure in charts:
            st.plotly_chart(figure, key=f"quality_{key}", theme=None, config=_STILL)
    table = quality_table(
        view.topics.share, names, npmi=measures.npmi, u_mass=measures.u_mass, exclusivity=measures.exclusivity,
        uniqueness=measures.uniqueness,
    )  # fmt: skip
    if not any(names):
        table = table.drop(columns="name")
    table["words"] = [", ".join(words) for words in _list_top_words(view, 8)]
    st.dataframe(
        table,
        hide_index=True,
        key="quality_table",
        height=min(460, 38 + 35 * len(table)),
        column_config={
            "topic": st.column_config.NumberColumn("Topic", width=60),
            "name": st.column_config.TextColumn("Name", width=170),
            "share": st.column_config.NumberColumn("Share", format="percent", width="small"),
            "npmi": st.column_config.NumberColumn("NPMI", format="%.3f", width="small"),
            "u_mass": st.column_config.NumberColumn("u_mass", format="%.2f", width="small"),
            "exclusivity": st.column_config.NumberColumn("Exclusivity", format="%.3f", width="small"),
            "uniqueness": st.column_config.NumberColumn(
                "Uniqueness", format="%.3f", width="small",
                help="1 when none of its ten most probable words is among those of another topic.",
            ),
            "words": st.column_config.TextColumn("Most probable words", width="large"),
        },
    )  # fmt: skip


def _list_top_words(view: TopicView, n: int) -> list[list[str]]:
    chosen = top_words(view.topics.word_probability, n)
    return [[str(word) for word in view.corpus.vocabulary[row]] for row in chosen]


@contain_failure("table")
def show_known_labels(view: TopicView, names: Names) -> None:
    """Draw how the words of each known label's documents are divided among the topics."""
    table = view.by_label
    many = table.shape[1] > MOST_LABELS
    st.caption(
        "Share of each topic in the words of the documents with a label; a column adds up to 1. The labels were not "
        "used by the run." + (f" The largest {MOST_LABELS} of {table.shape[1]:,} labels." if many else "")
    )
    shown = table.iloc[:, :MOST_LABELS].copy()
    shown.columns = _distinguish_headings(shown.columns)
    shown.insert(0, "topic", [plain_name(int(topic), names) for topic in shown.index])

    def shade(share: float) -> str:
        strength = min(max(share, 0.0), 1.0) if np.isfinite(share) else 0.0
        return f"background-color: rgba(0, 114, 178, {0.75 * strength**0.7:.3f})"

    shares = list(shown.columns[1:])
    st.dataframe(
        shown.style.format("{:.3f}", na_rep="–", subset=shares).map(shade, subset=shares),
        hide_index=True,
        key="label_table",
        height=38 + 35 * min(len(shown), 25),
        column_config={
            "topic": st.column_config.TextColumn("Topic", width=170 if any(names) else 60, pinned=True)
        },
    )


def _distinguish_headings(labels: pd.Index) -> list[str]:
    """Return labels as headings: one that is empty, or like the table's own, is told apart."""
    return [
        f"label {label}" if not str(label).strip() or label == "topic" else str(label) for label in labels
    ]
