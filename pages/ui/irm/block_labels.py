"""The agreement of a run's clusters with labels that are known beforehand."""

from __future__ import annotations

from typing import Any

import streamlit as st

from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import LabelAgreement, attribute_agreement
from acvb_core.models.irm.figures.summaries import MOST_ANNOTATED, MOST_LABELS, MOST_NARROW, label_figure
from acvb_core.store.export import csv_text
from pages.ui.irm.known_labels import upload_labels
from pages.ui.shared.charts import name_width, show_figure
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import FileOffer, choose_one, show_download
from pages.ui.shared.refresh import is_narrow
from pages.ui.shared.workspace import Workspace


@contain_failure("part of the page")
def show_agreement(workspace: Workspace, result: Result) -> None:
    """Draw how well the clusters of the row objects agree with their known labels, and the upload of more."""
    relation = result.prepared.data
    st.subheader("Known labels", anchor=False)
    if not relation.attributes:
        of = "nodes" if relation.network is not None else "row objects"
        st.caption(
            f"The {of} have no known labels. Upload a table of labels (department, party, species) to see how well the "
            "clusters match them. Runs never use labels."
        )
        upload_labels(workspace, relation, "blocks")
        return
    objects = "nodes" if relation.network is not None else "objects"
    domain = choose_clustering(result)
    table, details = score_agreements(result, domain)
    st.dataframe(
        table,
        hide_index=True,
        column_order=("attribute", "ari", "nmi", "labels", "known", "unknown"),
        key="label_scores",
        column_config={
            "attribute": st.column_config.TextColumn("Attribute", width=name_width()),
            "labels": st.column_config.NumberColumn("Labels", width="small", help="Different labels."),
            "known": st.column_config.NumberColumn(f"{objects.capitalize()} with a label"),
            "unknown": st.column_config.NumberColumn(f"{objects.capitalize()} without one"),
            "ari": st.column_config.NumberColumn(
                "ARI",
                format="%.3f",
                help="Adjusted Rand index. 1: the clusters match the labels exactly. 0: no better than chance.",
            ),
            "nmi": st.column_config.NumberColumn(
                "NMI",
                format="%.3f",
                help="Normalised mutual information. 1: the clusters match the labels exactly. 0: nothing in common.",
            ),
        },
    )
    st.caption(
        "How well the clusters match the labels, from 0 (not at all) to 1 (exactly): ARI is the adjusted Rand index, "
        "NMI the normalised mutual information."
    )
    names = sorted(details, key=lambda name: not details[name].groups)  # an identifier comes last
    attribute = names[0]
    if len(names) > 1:
        attribute = choose_one("Attribute", names, str, "label_attribute", width=320)
    shown, most = details[attribute], MOST_NARROW if is_narrow() else MOST_LABELS
    st.caption(_explain_numbers(shown, objects, most))
    alt = "How many objects of each cluster have each label."
    show_figure(label_figure(shown, attribute, most=most), "label_chart", alt)
    end = f"labels-{names.index(attribute) + 1}.csv"
    show_download(
        result, FileOffer("All counts of the labels", end, "text/csv", lambda: csv_text(shown.counts))
    )
    if not workspace.view_only:
        with st.expander("More labels from a file", icon=":material/upload:", key="more_labels"):
            upload_labels(workspace, relation, "blocks")


def _explain_numbers(shown: LabelAgreement, objects: str, most: int) -> str:
    """Return what the numbers of the chart are, and which labels have no column."""
    text = f"Each number counts the {objects} of a cluster (row) that have a label (column)."
    n_clusters, n = shown.table.shape
    if max(n_clusters, min(n, most)) > MOST_ANNOTATED:
        text = f"Point at a cell to see how many {objects} of a cluster (row) have a label (column)."
    if n <= most:
        return text
    return (
        f"{text} The {most - 1} most frequent of {n:,} labels have a column each, and the other "
        f"{n - most + 1:,} share the last one; the file below has them all."
    )


def choose_clustering(result: Result) -> str:
    """Draw the choice of a clustering if the labelled objects have two, and return it."""
    if result.prepared.data.network is None or "cols" not in result.posterior.n_clusters():
        return "rows"
    sides = {"rows": "Row clusters", "cols": "Column clusters"}
    return st.segmented_control(
        "Clusters",
        list(sides),
        format_func=sides.__getitem__,
        default="rows",
        required=True,
        key="label_domain",
        label_visibility="collapsed",
    )


def score_agreements(result: Result, domain: str = "rows") -> tuple[Any, dict[str, LabelAgreement]]:
    """Return the scores of every attribute, and the tables behind them."""
    n_clusters = result.posterior.n_clusters()[domain]
    return attribute_agreement(result.posterior.labels(domain), result.prepared.data.attributes, n_clusters)
