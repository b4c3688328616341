"""A text with its topics: their shares as bars, its words tinted by topic, and a text that the user writes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import streamlit as st

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.models.lda.figures.tinted import Floats, tint_text, word_topics
from acvb_core.models.lda.figures.topics import document_topics_figure
from acvb_core.store.topic_names import Names
from acvb_core.views.parts import plain_name
from pages.ui.lda.topic_view import TOPIC, TopicView
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_clickable_figure
from pages.ui.shared.failures import contain_failure

TEXT = "topics_text"
MOST_CHARACTERS = 50_000
#: Places of the words of a vocabulary in a text, as `Tokeniser.spans` gives them.
Spans = Sequence[tuple[int, int, int]]


def show_share_bars(
    view: TopicView, names: Names, shares: Floats, *, key: str, choose: Callable[[int], None]
) -> None:
    """Draw the share of each topic in a text as bars; `choose` is called with the topic (from 1) that is clicked."""
    figure = document_topics_figure(shares, names, n=6)
    figure.update_layout(clickmode="event+select", dragmode=False)
    show_clickable_figure(figure, key, "Share of each topic in the document.", choose, view.n_topics)


def show_tinted_text(
    view: TopicView, names: Names, topic: int, text: str, spans: Spans, shares: Floats
) -> None:
    """Draw a text, its words on the colours of their topics, and the switch to one topic (from 1) only."""
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
        st.html(tint_text(text, spans, chances, labels=names, topic=topic if alone else None))


def show_try_text(view: TopicView, names: Names, topic: int) -> None:
    """Draw the field for a text, and its topics."""
    tokeniser = view.corpus.tokeniser
    if tokeniser is None or not tokeniser.cuts_texts:
        st.info(
            "These topics come from counts or lists of words, so it is not known how to split a text into such words. "
            "On the command line, `acvb transform` reads new documents as counts.",
            icon=":material/info:",
        )
        return
    with st.container(key="try_panels"):
        with st.container(key="try_given", gap="xsmall"):
            text = st.text_area(
                "Your text",
                key=TEXT,
                height=300,
                max_chars=MOST_CHARACTERS,
                placeholder="Write or paste a text in the language of the corpus.",
                persist_state="session",
            )
            st.caption(
                "Press Ctrl+Enter or click elsewhere to read it. The topics do not change, and the text is not saved."
            )
        with st.container(key="try_found", gap="xsmall"):
            _show_topics_of(view, names, topic, text or "", tokeniser)


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
