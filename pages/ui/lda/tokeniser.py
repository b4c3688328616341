"""The settings that cut texts into words, with the words that they keep and drop."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.data.corpora.build import Texts
from acvb_core.data.corpora.languages import Language, detect_language
from acvb_core.data.corpora.tokenise import (
    DROP_REASONS,
    TOKEN_PATTERN,
    TOKENISER_PARAMETERS,
    Tokeniser,
    TokeniserPreview,
)
from acvb_core.data.corpora.word_functions import list_word_functions
from acvb_core.data.options import CUTTING
from pages.ui.running.forms import show_parameter
from pages.ui.shared import format as say
from pages.ui.shared.picking import choose_way
from pages.ui.upload.reader import ask_value

MOST_WORDS = 300
_EXAMPLES = 8
_EMPTY_NAMED = 5
_USUAL = {"stop_words": list(Tokeniser.stop_words), "token_pattern": TOKEN_PATTERN}


def edit_tokeniser(prefix: str, texts: Texts | None, *, first: bool) -> Tokeniser:
    """Draw the settings and the words that they keep, and return the tokeniser; `first`: only some texts are given."""
    st.markdown("**Which words are kept**")
    figures = st.container()
    with st.expander("Change which words are kept", icon=":material/tune:", key="tokeniser"):
        language = None if texts is None else _detect(prefix, hash(texts.texts[:50]), texts)
        tokeniser = _edit_settings(prefix, language)
        preview = None if texts is None else texts.cut.select(tokeniser).preview
        if preview is not None:
            _show_words(preview)
    with figures:
        if language is not None:
            st.caption(_describe_language(language))
        if preview is not None:
            _show_figures(preview)
        if first:
            of = "" if texts is None else f" Shown are the first {len(texts.texts):,}."
            st.caption(
                f"All texts are cut into words while they are written to disk; the reading report counts them.{of}"
            )
    return tokeniser


@st.cache_resource(show_spinner=False, max_entries=16)
def _detect(prefix: str, first_texts: int, _texts: Texts) -> Language | None:
    return detect_language(_texts.texts)


def _describe_language(language: Language) -> str:
    """Return which language the texts seem to be in, and what follows for the words that are kept."""
    name = language.name.capitalize()
    if not language.stop_words:
        ready = list_word_functions(language.name)
        how = "cut by jieba" if ready else "written without blanks and need a tokeniser of your own"
        return f"The texts look like {name}: words are {how}."
    return f"The texts look like {name}, so the stop words of {name} are proposed. They can be changed below."


def _edit_settings(prefix: str, language: Language | None) -> Tokeniser:
    given: dict[str, Any] = {}
    usual = dict(_USUAL)
    if language is not None:
        usual["stop_words"] = [language.stop_words] if language.stop_words else []
    for advanced in (False, True):
        more = f"{prefix}_more_settings"
        at = st.expander("More settings", icon=":material/tune:", key=more) if advanced else st.container()
        with at:
            for row in CUTTING:
                if row.advanced == advanced:
                    given[row.name] = ask_value(row, f"{prefix}_{row.name}", default=usual.get(row.name))
            for parameter in TOKENISER_PARAMETERS:
                if parameter.advanced == advanced:
                    key = f"{prefix}_{parameter.name}"
                    given[parameter.name] = show_parameter(parameter, label=parameter.label, key=key)
            if advanced and language is not None:
                given["function"] = _choose_function(prefix, language)
    if given.get("function") == "jieba":
        given["stop_words"] = [*(given["stop_words"] or ()), "chinese"]
    # No word has a blank in it.
    given["extra_stop_words"] = " ".join(given["extra_stop_words"] or ()).split()
    return Tokeniser(**{name: value for name, value in given.items() if value is not None})


def _choose_function(prefix: str, language: Language) -> str | None:
    """Draw the choice between words as they are written and a package's; nothing if no such package is installed."""
    functions = list_word_functions(language.name)
    if not functions:
        return None
    ways = {"": "As written", **functions}
    first = "" if language.stop_words else next(iter(functions))
    chosen = choose_way("Words", ways, f"{prefix}_function", default=first, persist_state="session")
    return str(chosen) or None


def explain_no_words(preview: TokeniserPreview) -> str:
    """Return why no word is left; "" where one is."""
    if preview.kept.n_words:
        return ""
    reason = preview.blame()
    most = "" if reason is None else f" Main reason for dropping words: {DROP_REASONS[reason].label}."
    return f"No word is left. Loosen a setting under *Change which words are kept*.{most}"


def _show_figures(preview: TokeniserPreview) -> None:
    """Draw how many words are kept, and a warning of texts that cannot be cut into words."""
    kept = preview.kept
    total = kept.n_tokens + sum(words.n_tokens for words in preview.dropped.values())
    figures = (
        ("Words kept", f"{kept.n_words:,}"),
        ("Tokens kept", f"{kept.n_tokens:,}"),
        ("Share of tokens kept", say.percent(kept.n_tokens / total) if total else "–"),
        ("Documents left empty", f"{len(preview.empty):,}"),
    )
    with st.container(horizontal=True, gap="medium", key="tokeniser_figures"):
        for name, value in figures:
            st.metric(name, value, width="content")
    if preview.uncut is not None:
        with st.container(key="tokeniser_uncut"):
            st.warning("These texts are not cut into words.", icon=":material/warning:")
            st.text(preview.uncut)  # it quotes a word


def _show_words(preview: TokeniserPreview) -> None:
    """Draw the words that are kept and dropped, in tables, where nothing of them is Markdown."""
    number = st.column_config.NumberColumn(format="localized")
    numbers: Any = dict.fromkeys(("Words", "Tokens", "Times", "Documents"), number)
    st.dataframe(list_reasons(preview), hide_index=True, key="tokeniser_reasons", column_config=numbers)
    ways, how = {"Kept": "Kept", "Dropped": "Dropped"}, {"label_visibility": "collapsed"}
    shown = choose_way("Words", ways, "tokeniser_shown", persist_state="session", **how)
    words = list_words(preview, shown)
    st.dataframe(words, hide_index=True, key="tokeniser_words", height=300, column_config=numbers)
    n_words = preview.kept.n_words if shown == "Kept" else sum(w.n_words for w in preview.dropped.values())
    if n_words > len(words):
        st.caption(f"The {len(words):,} most frequent of {n_words:,}.")
    if len(preview.empty):
        named = ", ".join(f"{at + 1:,}" for at in preview.empty[:_EMPTY_NAMED].tolist())
        more = ", …" if len(preview.empty) > _EMPTY_NAMED else ""
        st.caption(
            f"No word is left of {say.count(len(preview.empty), 'document')} (number {named}{more}). Such documents "
            "keep their place, without a word."
        )


def list_reasons(preview: TokeniserPreview) -> pd.DataFrame:
    """Return one row for the words that are kept, and one for each reason to drop words."""
    lists = {"kept": preview.kept}
    lists |= {f"dropped: {DROP_REASONS[reason].label}": words for reason, words in preview.dropped.items()}
    return pd.DataFrame(
        [
            {
                "": name,
                "Words": words.n_words,
                "Tokens": words.n_tokens,
                "Most frequent": ", ".join(word for word, _, _ in words.top(_EXAMPLES)),
            }
            for name, words in lists.items()
            if words.n_words or name == "kept"
        ]
    )


def list_words(preview: TokeniserPreview, shown: str) -> pd.DataFrame:
    """Return the most frequent words that are kept, or those that are dropped, with the reason."""
    dropped = {DROP_REASONS[reason].label: words for reason, words in preview.dropped.items()}
    lists = {"": preview.kept} if shown == "Kept" else dropped
    rows = [(*row, why) for why, words in lists.items() for row in words.top(MOST_WORDS)]
    frame = pd.DataFrame(rows, columns=["Word", "Times", "Documents", "Why"])
    frame = frame.sort_values("Times", ascending=False, kind="stable").head(MOST_WORDS)
    return frame.drop(columns="Why") if shown == "Kept" else frame
