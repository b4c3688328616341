"""The files of a run on texts: its topics, those of the documents, and the model that a run can continue from."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pandas as pd
import streamlit as st

from acvb_core.core.files import scratch_prefix
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lda.export import name_columns, pyldavis_json, write_document_topics
from acvb_core.store.export import csv_text
from acvb_core.store.topics import MODEL, save_model
from pages.ui.lda.topic_view import TopicView, read_names
from pages.ui.shared.answer_page import measure_seeds
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import FileOffer, offer_arrays, offer_run, show_files
from pages.ui.shared.workspace import Workspace, current_workspace

#: Numbers in the largest table of all documents that is offered here: some 100 MB.
MOST_NUMBERS = 10_000_000


@contain_failure("list of files")
def show_topic_files(job: Job, view: TopicView) -> None:
    """Draw the buttons of a run's files."""
    result, workspace = view.result, current_workspace()
    pyldavis = FileOffer("For pyLDAvis", "pyldavis.json", "application/json", lambda: pyldavis_json(result))
    show_files(
        result,
        [
            FileOffer(
                "Words of the topics",
                "topics.csv",
                "text/csv",
                lambda: csv_text(list_words(workspace, job, view)),
            ),
            *list_document_files(view),
            pyldavis,
            offer_run(result),
            offer_arrays(result),
            FileOffer("The model", MODEL, "application/octet-stream", lambda: pack_model(result)),
        ],
    )
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
    """Return the words of the topics, with the topics' names if they have some, and how far both spread over seeds.

    topic, rank, word, probability, low, high, in_top_ten; name; share, share_low, share_high, found, runs (see
    `measure_spread`). What was not measured is NaN.
    """
    spread, names = measure_seeds(workspace, job, view.result), read_names(view)
    topics = spread["topics"].rename(columns={"low": "share_low", "high": "share_high"})
    words = spread["words"].drop(columns=["rank", "probability"])
    table = view.result.topics.merge(words.astype({"in_top_ten": "Int64"}), on=["topic", "word"], how="left")
    if any(names):
        table["name"] = [names[topic - 1] or "" for topic in table["topic"]]
    return table.merge(topics, on="topic", how="left")


def list_document_files(view: TopicView) -> list[FileOffer]:
    """Return the tables of the documents' topics: of those that are shown, and of all on disk."""
    result = view.result

    def write_shown() -> str:
        return csv_text(name_columns(result.documents, read_names(view), view.corpus.labels))

    if not on_disk(view):
        return [FileOffer("Topics of the documents", "documents.csv", "text/csv", write_shown)]
    offers = [FileOffer("Topics of the documents shown", "documents.csv", "text/csv", write_shown)]
    if not is_too_large(view):
        label, name = "Topics of all documents", "all-documents.csv"
        offers.append(FileOffer(label, name, "text/csv", lambda: _write_documents(view)))
    return offers


def _write_documents(view: TopicView) -> bytes:
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        path = Path(folder) / "documents.csv"
        write_document_topics(view.result, path, names=read_names(view))
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
