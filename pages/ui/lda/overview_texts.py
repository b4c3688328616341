"""The summary of a corpus: its size, lengths of documents, frequent words, first documents."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.machine import available_memory
from acvb_core.models.lda.figures.corpus_figures import (
    document_lengths_figure,
    frequent_words_figure,
    zipf_figure,
)
from acvb_core.models.lda.topics import frequent_words
from acvb_core.views.theme import Figure
from pages.ui.lda.upload_texts import batch_memory, describe_need
from pages.ui.shared import format as say
from pages.ui.shared.charts import show_figure
from pages.ui.shared.model_pages import DatasetSummary

FIRST_DOCUMENTS = 50
FREQUENT = 25
#: Documents of a corpus on disk that are shown.
SAMPLED = 2_000
_CHARACTERS = 500
#: Further columns that are listed with the documents, and what the list has of its own.
_COLUMNS, _OWN = 20, ("Text", "Most frequent words")
_WORDS = 12


def summarise_corpus(corpus: Corpus | DiskCorpus) -> DatasetSummary:
    """Return the summary of a corpus that the Data page shows."""
    if isinstance(corpus, DiskCorpus):
        return _summarise_disk_corpus(corpus)
    lengths = corpus.lengths
    used = lengths[lengths > 0]
    return DatasetSummary(
        (
            ("Documents", f"{corpus.n_documents:,}"),
            ("Different words", f"{corpus.n_words:,}"),
            ("Tokens", f"{corpus.n_tokens:,}"),
            ("Median length", f"{pd.Series(used).median():,.0f}"),
            ("Empty documents", f"{len(lengths) - len(used):,}"),
        ),
        {
            "Lengths": lambda: _show_chart("lengths", corpus),
            "Frequent words": lambda: _show_chart("frequent", corpus),
            "Rank and frequency": lambda: _show_chart("zipf", corpus),
            "First documents": lambda: _show_documents(corpus),
        },
        advice=_memory_advice(corpus),
    )


def _memory_advice(corpus: Corpus) -> str:
    """Return an advice if methods that need all words in memory will hardly fit, else an empty text."""
    free = available_memory()
    needed = batch_memory(corpus.n_documents, corpus.n_words, corpus.n_pairs, corpus.n_tokens)
    if free is None or needed <= free:
        return ""
    return (
        f"{describe_need(needed, free)} SDM, SCVB0 and SVB stream, and need memory for the topics only. If you "
        "keep the texts on disk (a choice when a file is loaded), they need no memory either."
    )


def _summarise_disk_corpus(corpus: DiskCorpus) -> DatasetSummary:
    """Return the summary of a corpus on disk: its sizes and words, and some of its documents."""
    some = _sample(corpus.fingerprint, str(corpus.folder), corpus)
    median = pd.Series(some.lengths).median() if some.n_documents else 0
    about = "" if some.n_documents == corpus.n_documents else "about "
    return DatasetSummary(
        (
            ("Documents", f"{corpus.n_documents:,}"),
            ("Different words", f"{corpus.n_words:,}"),
            ("Tokens", f"{corpus.n_tokens:,}"),
            ("Median length", f"{about}{median:,.0f}"),
            ("On disk", say.size(corpus.bytes_on_disk)),
        ),
        {
            "Lengths": lambda: _show_chart("lengths", some),
            "Frequent words": lambda: _show_chart("frequent", corpus),
            "Rank and frequency": lambda: _show_chart("zipf", corpus),
            "Some documents": lambda: _show_documents(some, corpus.n_documents),
        },
        f"Kept on disk, for streaming methods and runs over shards. Lengths and documents below are of "
        f"{some.n_documents:,} random documents."
        if about
        else "Kept on disk, for streaming methods and runs over shards.",
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def _sample(fingerprint: str, folder: str, _corpus: DiskCorpus) -> Corpus:
    return _corpus.sample(SAMPLED)


def _show_chart(name: str, corpus: Corpus | DiskCorpus) -> None:
    words = corpus.vocabulary[:FREQUENT].tolist()
    show_figure(lambda: _draw(name, corpus.fingerprint, words, corpus), f"corpus_{name}")


def _show_documents(corpus: Corpus, n_all: int | None = None) -> None:
    frame, columns = list_first_documents(corpus), {"Text": st.column_config.TextColumn(width="large")}
    st.dataframe(frame, hide_index=True, key="first_documents", height=380, column_config=columns)
    shown = min(corpus.n_documents, FIRST_DOCUMENTS)
    if n_all is not None and n_all > shown:
        st.caption(f"{shown} of {n_all:,}, drawn at random.")
    elif corpus.n_documents > shown:
        st.caption(f"The first {shown} of {corpus.n_documents:,}.")


def list_first_documents(corpus: Corpus) -> pd.DataFrame:
    """Return the first documents, one a line: name, label, length, further columns, and text or most frequent words."""
    n = min(FIRST_DOCUMENTS, corpus.n_documents)
    frame: dict[str, list[object]] = {"Document": corpus.documents[:n].tolist()}
    if corpus.labels is not None:
        frame["Label"] = corpus.labels[:n].tolist()
    frame["Tokens"] = corpus.lengths[:n].tolist()
    for name, column in list(corpus.metadata.items())[:_COLUMNS]:
        frame[f"{name} (column)" if name in frame or name in _OWN else name] = list(column[:n])
    if corpus.texts is not None:
        frame["Text"] = [" ".join(text[:_CHARACTERS].split()) for text in corpus.texts[:n]]
    else:
        frame["Most frequent words"] = [
            ", ".join(corpus.vocabulary[frequent_words(corpus, at)[0][:_WORDS]].tolist()) for at in range(n)
        ]
    return pd.DataFrame(frame)


# The corpus itself is left out of the key; counts are known by their fingerprint, words by a few of them.
@st.cache_data(max_entries=12, show_spinner=False)
def _draw(name: str, fingerprint: str, words: list[str], _corpus: Corpus | DiskCorpus) -> Figure:
    if name == "lengths":
        assert isinstance(_corpus, Corpus)
        return document_lengths_figure(_corpus.lengths, height=380)
    if name == "frequent":
        return frequent_words_figure(_corpus, FREQUENT)
    return zipf_figure(_corpus.frequencies, _corpus.vocabulary, height=380)
