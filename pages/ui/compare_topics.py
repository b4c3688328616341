"""What runs on texts are compared by: which topic of one is which of the other, and which come back everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.evaluate.alignment import Alignment, align_topics
from acvb_core.evaluate.ranking import top_words
from acvb_core.evaluate.stability import Stability, stability
from acvb_core.lda.topics import Topics, topics_of
from acvb_core.views.theme import STILL_CONFIG
from acvb_core.views.topic_pairs import moved_figure, similarity_figure

Key = tuple[str, int]
STILL: dict[str, Any] = dict(STILL_CONFIG)
#: Topics of one run come back in another where they are at least so alike.
ALIKE = 0.7
_WORDS = 8


@st.cache_resource(show_spinner=False, max_entries=16)
def topics_for(key: Key, _result: Result) -> Topics:
    """Return the topics of a run in probabilities, largest first."""
    return topics_of(_result.posterior)


@st.cache_resource(show_spinner=False, max_entries=16)
def aligned(keys: tuple[Key, Key], _one: Result, _other: Result) -> Alignment:
    """Return the topics of two runs in pairs."""
    one, other = topics_for(keys[0], _one), topics_for(keys[1], _other)
    return align_topics(
        one.word_probability, other.word_probability, share=one.share, other_share=other.share
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def stable(keys: tuple[Key, ...], _results: Sequence[Result]) -> Stability:
    """Return how alike the first run's topics are to their partners in the others."""
    return stability(
        [topics_for(key, result).word_probability for key, result in zip(keys, _results, strict=True)]
    )


def same_words(results: Sequence[Result]) -> bool:
    """Whether topics of these runs are distributions over one vocabulary."""
    first = results[0].problem.data.vocabulary
    return all(np.array_equal(result.problem.data.vocabulary, first) for result in results[1:])


def alignment(keys: tuple[Key, Key], pair: tuple[Result, Result], names: tuple[str, str]) -> None:
    """Draw the topics of two runs in pairs: how alike they are, and which moved."""
    found = aligned(keys, *pair)
    far = int((found.distance > 1 - ALIKE).sum())
    lone = [
        f"{len(topics)} of {name}"
        for topics, name in ((found.unmatched_one, names[0]), (found.unmatched_other, names[1]))
        if len(topics)
    ]
    without = f" Without a partner: {' and '.join(lone)}." if lone else ""
    st.caption(
        f"Each topic of {names[0]} with the topic of {names[1]} that it is paired with, so that the pairs lie closest "
        f"in all. Of {len(found.one)} pairs {far} are less alike than {ALIKE:g}.{without}"
    )
    map_tab, moved_tab, table_tab = st.tabs(["Similarity", "Which moved", "Pairs in words"])
    with map_tab:
        st.plotly_chart(
            similarity_figure(found.distances, found.one, found.other, names),
            key="topic_similarity", theme=None, config=STILL,
        )  # fmt: skip
        st.caption(
            "Framed: the pairs. Dark: the same words. Bright beside a frame: a topic that was split or merged."
        )
    with moved_tab:
        st.plotly_chart(moved_figure(found.table()), key="topic_moved", theme=None, config=STILL)
        st.caption(
            "Jensen-Shannon distance: 0 the same words, 1 none in common. Those that moved most come first."
        )
    with table_tab:
        st.dataframe(
            pairs_frame(found, keys, pair),
            hide_index=True,
            key="topic_pairs",
            column_config={
                "Similarity": st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f"),
                "Share": st.column_config.NumberColumn(format="percent"),
                "Other share": st.column_config.NumberColumn(format="percent"),
            },
        )


def pairs_frame(found: Alignment, keys: tuple[Key, Key], pair: tuple[Result, Result]) -> pd.DataFrame:
    """Return the pairs with their words, those that moved most first."""
    table = found.table()
    words = [_words(key, result) for key, result in zip(keys, pair, strict=True)]
    frame = pd.DataFrame(
        {
            "Topic": table["topic"],
            "Words": [words[0][topic - 1] for topic in table["topic"]],
            "Other topic": table["other_topic"],
            "Its words": [words[1][topic - 1] for topic in table["other_topic"]],
            "Similarity": 1.0 - table["distance"],
        }
    )
    if "share" in table:
        frame["Share"], frame["Other share"] = table["share"], table["other_share"]
    return frame


def returning(keys: tuple[Key, ...], results: Sequence[Result], labels: Sequence[str]) -> None:
    """Draw which topics of the first run come back in all the others."""
    st.subheader("Which topics come back", anchor=False)
    found = stable(keys, results)
    back = int((found.minimum >= ALIKE).sum())
    st.caption(
        f"The topics of {labels[0]}, each beside its partner in {', '.join(labels[1:])}: {back} of "
        f"{found.similarity.shape[1]} come back everywhere with a similarity of {ALIKE:g} or more, {found.overall:.2f} "
        "on average. Topics that do not come back depend on where a run starts, or on the method: rely on them less."
    )
    st.dataframe(
        stability_frame(found, keys[0], results[0]),
        hide_index=True,
        key="topic_stability",
        height=420,
        column_config={
            "Least similar": st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f"),
            "On average": st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f"),
            "Share": st.column_config.NumberColumn(format="percent"),
        },
    )


def stability_frame(found: Stability, key: Key, result: Result) -> pd.DataFrame:
    """Return the topics of a run with how well they come back, largest first."""
    return pd.DataFrame(
        {
            "Topic": range(1, found.similarity.shape[1] + 1),
            "Words": _words(key, result),
            "Share": topics_for(key, result).share,
            "Least similar": found.minimum,
            "On average": found.mean,
        }
    )


def _words(key: Key, result: Result) -> list[str]:
    """Return the most probable words of each topic, in one line."""
    vocabulary = result.problem.data.vocabulary
    tops = top_words(topics_for(key, result).word_probability, _WORDS)
    return [", ".join(vocabulary[top].tolist()) for top in tops]
