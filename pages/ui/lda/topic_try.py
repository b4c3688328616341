"""A text of one's own: which topics it is of, though no run has seen it."""

from __future__ import annotations

import zlib

import streamlit as st

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.store.topic_names import Names
from pages.ui.lda.topic_overview import choose
from pages.ui.lda.topic_text import show_share_bars, show_tinted_text
from pages.ui.lda.topic_view import TopicView
from pages.ui.shared import format as say
from pages.ui.shared.failures import contain_failure

TEXT = "topics_text"
MOST_CHARACTERS = 50_000


def show_try_text(view: TopicView, names: Names, topic: int) -> None:
    """Draw where a text is written, and what the topics say of it."""
    tokeniser = view.corpus.tokeniser
    if tokeniser is None or not tokeniser.cuts_texts:
        st.info(
            "These topics were found in counts or lists of words. How a text is to be cut into such words is not "
            "known, so none can be tried here. On the command line, `acvb transform` reads new documents as counts.",
            icon=":material/info:",
        )
        return
    with st.container(key="try_panels"):
        with st.container(key="try_given", gap="xsmall"):
            text = st.text_area(
                "A text that was not in the corpus",
                key=TEXT,
                height=300,
                max_chars=MOST_CHARACTERS,
                placeholder="Write or paste a text in the language of the corpus.",
                persist_state="session",
            )
            st.caption(
                "Ctrl+Enter, or a click elsewhere, reads it. The topics stay as they are; the text is not kept."
            )
        with st.container(key="try_found", gap="xsmall"):
            _show_topics_of(view, names, topic, text or "", tokeniser)


@contain_failure("part of the page")
def _show_topics_of(view: TopicView, names: Names, topic: int, text: str, tokeniser: Tokeniser) -> None:
    if not text.strip():
        st.caption("There is no text yet.")
        return
    try:
        table = view.result.transform([text])
    except DataError:
        st.caption("There is no word in this text, once it is cut as the corpus was (stop words, numbers).")
        return
    except ParameterError as error:  # the pattern of a word takes too long
        st.text(str(error))
        return
    known, unknown = (int(table[name].iloc[0]) for name in ("tokens", "unknown"))
    one, many = ("word", "words") if tokeniser.ngrams == 1 else ("word or phrase", "words and phrases")
    if not known:
        st.caption(f"The topics know none of its {many} ({unknown:,}), so they say nothing of this text.")
        return
    shares = table.filter(like="topic_").to_numpy()[0]
    st.text(f"{say.count(known, one, many)} that the topics know, {unknown:,} that they do not")
    # Another text has other bars: what was clicked in the old ones is not clicked in them.
    key = f"try_topics_{view.run}_{zlib.crc32(text.encode())}_{topic}"
    show_share_bars(view, names, shares, key=key, choose=choose)
    show_tinted_text(view, names, topic, text, tokeniser.spans(text, view.index), shares)
    st.caption(
        "The stronger the colour, the more probable the topic. A word that is not known stood in too few or too many "
        "of the corpus's documents, or in none."
    )
