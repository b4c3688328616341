"""The files of a run on the page of its answer: a report, a workbook, the data with results, a graph, single tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.report.contents import Sheet, annotate_data, fill_gaps, has_gaps
from acvb_core.report.files import graph_bytes
from acvb_core.report.page import report_html
from acvb_core.report.workbook import workbook_bytes
from acvb_core.store import export
from acvb_core.store.snippet import python_snippet
from pages.ui.shared.picking import FileOffer, show_download
from pages.ui.shared.workspace import Workspace, current_workspace

_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def show_files(job: Job, result: Result, offers: Sequence[FileOffer]) -> None:
    """Draw the buttons of a run's files: those to send to others, those of this page, and Python that repeats it."""
    st.subheader("Download", anchor=False)
    with st.container(horizontal=True, gap="small", key="take_away"):
        for offer in list_offers(job, result):
            show_download(result, offer)
    with st.container(horizontal=True, gap="small", key="files"):
        for offer in offers:
            show_download(result, offer)
        # A popover fetches the highlighting of code when it is opened; an expander does so while the page is drawn.
        with st.popover("Repeat this run in Python", icon=":material/code:", key="snippet"):
            known = add_report(current_workspace(), result, stored=False)
            st.code(python_snippet(known), language="python")


def add_report(workspace: Workspace, result: Result, *, stored: bool = True) -> Result:
    """Return a result with what reading its data found, as far as a workspace knows it (`find_report`)."""
    report = workspace.find_report(result.prepared.fingerprint, stored=stored)
    return result if report is None else replace(result, report=report)


def list_offers(job: Job, result: Result) -> list[FileOffer]:
    """Return the files to send to others."""
    # Files are made in a thread of the server, which knows no session.
    workspace, note, relation = current_workspace(), job.label.note, result.prepared.data
    offers = [
        FileOffer(
            "Report",
            "report.html",
            "text/html",
            lambda: report_html(add_report(workspace, result), note=note),
            "One page with the result, figures, method and settings. It needs no network: send it, or print it as PDF.",
        ),
        FileOffer(
            "Everything in one workbook",
            "everything.xlsx",
            _WORKBOOK,
            lambda: workbook_bytes(add_report(workspace, result)),
            "An Excel workbook with a sheet for each table.",
        ),
    ]
    about = result.prepared.model_row.part("answer.summary").ANNOTATED
    offers.append(_offer_sheet("Data with results", "data.csv", lambda: annotate_data(result), about))
    if has_gaps(result):
        about = "Missing cells have their expected values; the last column names them."
        offers.append(_offer_sheet("Table, filled in", "filled.csv", lambda: fill_gaps(result)[0], about))
        about = "The cells that were missing: expected value and standard deviation of each."
        offers.append(_offer_sheet("Filled cells", "filled-cells.csv", lambda: fill_gaps(result)[1], about))
    if isinstance(relation, Relation):
        about = "Objects and links with clusters, names, colours and places, for Gephi, yEd, Cytoscape or networkx."
        for label, end, kind in (
            ("GEXF", "gexf", "application/gexf+xml"),
            ("GraphML", "graphml", "application/xml"),
        ):
            offers.append(FileOffer(label, f"graph.{end}", kind, partial(graph_bytes, result, end), about))
    return offers


def _offer_sheet(label: str, end: str, make: Callable[[], Sheet], about: str) -> FileOffer:
    """Return a table that `make` returns as a CSV file to download."""

    def write() -> str:
        sheet = make()
        return export.csv_text(sheet.table, exact=sheet.exact)

    return FileOffer(label, end, "text/csv", write, about)
