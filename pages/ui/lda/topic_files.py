"""What is taken away of topics beside their words: those of the documents, and the model to go on from."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.models.lda.export import write_document_topics
from acvb_core.store.csv_text import csv_text
from acvb_core.store.trained import MODEL, save_model
from pages.ui.lda.topic_view import TopicView, describe_shown
from pages.ui.shared.picking import FileOffer

#: Numbers in the table of all documents, from which on it is for the command line: some 100 MB.
MOST_NUMBERS = 10_000_000


def list_document_files(view: TopicView) -> list[FileOffer]:
    """Return the tables of the documents' topics: of those that are shown, and of all where they are on disk."""
    result = view.result

    def shown() -> str:
        return csv_text(result.documents)

    if not on_disk(view):
        return [FileOffer("Topics of the documents", "documents.csv", "text/csv", shown)]
    offers = [FileOffer("Topics of the documents shown", "documents.csv", "text/csv", shown)]
    if not is_too_large(view):
        offers.append(
            FileOffer("Topics of all documents", "all-documents.csv", "text/csv", lambda: _write_all(result))
        )
    return offers


def _write_all(result: Result) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.csv"
        write_document_topics(result, path)
        return path.read_bytes()


def offer_model(result: Result) -> FileOffer:
    """Return the file that a run can go on from."""

    def contents() -> bytes:
        out = io.BytesIO()
        save_model(result, out)
        return out.getvalue()

    return FileOffer("The model", MODEL, "application/octet-stream", contents)


def explain_files(view: TopicView) -> None:
    """Say what the model is for, and how to get what is too large to be taken away here."""
    said = "The model is for going on: choose it below the methods on the Run page (Start from)."
    if on_disk(view):
        said += f" Shown are {describe_shown(view)}."
    if is_too_large(view):
        said += " The topics of all of them are too large a file for the browser; on the command line, `acvb_core fit "
        said += "FILE --out FOLDER` writes them to documents.csv."
    st.caption(said)


def on_disk(view: TopicView) -> bool:
    """Whether the documents are kept on disk."""
    problem = view.result.problem
    return problem.model_row.on_disk(problem.data)


def is_too_large(view: TopicView) -> bool:
    """Whether the table of all documents is too large to be taken away in the browser."""
    return on_disk(view) and view.result.problem.data.n_documents * view.n_topics > MOST_NUMBERS
