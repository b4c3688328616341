"""The comparison of runs on texts: pairs of the same topic in two runs, and topics that come back in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.evaluate.alignment import Alignment, Stability, align_topics, number_partners, stability
from acvb_core.models.lda.figures.topics import pair_distance_figure
from acvb_core.models.lda.topics import ALIKE, count_alike_topics, share_vocabulary
from acvb_core.views.comparison import partner_name, similarity_figure
from acvb_core.views.conclusion import count_fewest, describe_found, order_compared
from acvb_core.views.parts import plain_name
from pages.ui.lda.topic_view import TopicView, build_view, read_names
from pages.ui.shared.answer_page import ComparedRuns, choose_pair, describe_pairs
from pages.ui.shared.charts import show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key

_WORDS = 8


@contain_failure("part of the page")
def compare_topics(runs: ComparedRuns) -> None:
    """Draw the topics that runs share."""
    views = [build_view(job, result) for job, result in zip(runs.jobs, runs.results, strict=True)]
    if len(views) < 2 or not share_vocabulary(views):
        return
    st.subheader("Which topic is which", anchor=False)
    one, other = choose_pair("topics", runs.labels)
    if one == other:
        st.info("Choose two different runs.", icon=":material/compare_arrows:")
    else:
        pair = (views[one], views[other])
        show_alignment((runs.keys[one], runs.keys[other]), pair, (runs.labels[one], runs.labels[other]))
    show_returning_topics(runs, views)


@st.cache_resource(show_spinner=False, max_entries=16)
def align_views(keys: tuple[Key, Key], _one: TopicView, _other: TopicView) -> Alignment:
    """Return the topics of two runs in pairs."""
    one, other = _one.topics, _other.topics
    words = one.word_probability, other.word_probability
    return align_topics(*words, share=one.share, other_share=other.share)


@st.cache_resource(show_spinner=False, max_entries=8)
def measure_stability(keys: tuple[Key, ...], _views: Sequence[TopicView]) -> Stability:
    """Return how similar the first run's topics are to their partners in the others."""
    return stability([view.topics.word_probability for view in _views])


@contain_failure()
def show_alignment(keys: tuple[Key, Key], pair: tuple[TopicView, TopicView], runs: tuple[str, str]) -> None:
    """Draw the topics of two runs in pairs: their similarity, and the differences."""
    pairs = align_views(keys, *pair)
    names = [read_names(view) for view in pair]
    moved = int((1.0 - pairs.distance < ALIKE).sum())
    matched, without = describe_pairs("topic", pairs, len(pairs.one) - moved, runs)
    st.caption(
        f"The topics of {runs[0]} and {runs[1]} are paired so that all pairs together are as alike as possible. "
        f"{matched} A pair counts as the same topic at a similarity of {ALIKE:g} or more.{without}"
    )
    alike, far, words = st.tabs(["Similarity", "Differences", "Pairs in words"])
    with alike:
        figure = similarity_figure(
            1.0 - pairs.distances,
            pairs.one,
            pairs.other,
            runs,
            part="topic",
            measure="similarity",
            scale="similarity (1: the same words)",
            labels=names[0],
            other_labels=names[1],
        )
        show_figure(figure, "topic_similarity")
        st.caption(
            "Frames mark the pairs. A blue cell outside a frame: one run splits a topic that the other keeps whole. "
            "Topics of the other run have the numbers of their partners."
        )
    with far:
        show_figure(pair_distance_figure(pairs.table(), *names), "topic_moved")
        st.caption(
            "0: the same words. 1: no word in common (Jensen-Shannon distance). The largest differences come first."
        )
    with words:
        columns = {"Similarity": _bar(), "Share": _percent(), "Its share": _percent()}
        st.dataframe(list_pairs(pairs, pair), hide_index=True, key="topic_pairs", column_config=columns)


def list_pairs(pairs: Alignment, pair: tuple[TopicView, TopicView]) -> pd.DataFrame:
    """Return the pairs with their words, the least similar first."""
    table = pairs.table()
    first, second = pair
    names, words = _name_topics(first), [_join_words(view) for view in pair]
    numbers = number_partners(pairs.one, pairs.other, (first.n_topics, second.n_topics))
    one, other = table["topic"] - 1, table["other_topic"] - 1
    return pd.DataFrame(
        {
            "Similarity": 1.0 - table["distance"],
            "Topic": [names[topic] for topic in one],
            "Words": [words[0][topic] for topic in one],
            "Pairs with": [partner_name(k + 1, numbers[k], read_names(second)) for k in other],
            "Its own number": table["other_topic"],
            "Its words": [words[1][topic] for topic in other],
            "Share": table["share"],
            "Its share": table["other_share"],
        }
    )


@contain_failure("table")
def show_returning_topics(runs: ComparedRuns, views: Sequence[TopicView]) -> None:
    """Draw the topics of the run that predicts best, and how alike their partners in the others are."""
    places = order_compared(runs.results)
    if len(places) < 2:
        return
    st.subheader("Which topics come back", anchor=False)
    reference, *others = places
    stable = measure_stability(tuple(runs.keys[at] for at in places), [views[at] for at in places])
    compared = [runs.results[at] for at in places]
    found = count_alike_topics([result.snapshot.posterior for result in compared])
    fewest = count_fewest(compared)
    st.caption(
        f"The topics of {runs.labels[reference]}, compared with {', '.join(runs.labels[at] for at in others)}. "
        f"{describe_found(*found, ('topic', 'topics'), fewest)} A run has a topic if one of its own has a similarity "
        f"of {ALIKE:g} or more (average {stable.overall:.2f})."
    )
    table, height = list_returning_topics(stable, views[reference]), min(420, 38 + 35 * len(stable.mean))
    columns = {"Lowest similarity": _bar(), "Average similarity": _bar(), "Share": _percent()}
    st.dataframe(table, hide_index=True, key="topic_stability", height=height, column_config=columns)


def list_returning_topics(stable: Stability, view: TopicView) -> pd.DataFrame:
    """Return the topics of a run with how well they come back, largest first."""
    return pd.DataFrame(
        {
            "Topic": _name_topics(view),
            "Lowest similarity": stable.minimum,
            "Average similarity": stable.mean,
            "Share": view.topics.share,
            "Words": _join_words(view),
        }
    )


def _name_topics(view: TopicView) -> list[str]:
    names = read_names(view)
    return [plain_name(topic, names) for topic in range(1, view.n_topics + 1)]


def _join_words(view: TopicView) -> list[str]:
    """Return the most probable words of each topic, in one line."""
    return [", ".join(words) for words in view.list_top_words(_WORDS)]


def _bar() -> Any:
    return st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f", width=140)


def _percent() -> Any:
    return st.column_config.NumberColumn(format="percent", width="small")
