"""The data set in use: size, picture, degrees, first links, what reading it found, and what runs hold out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.views.overview import degree_histograms, thumbnail
from acvb_core.views.theme import STILL_CONFIG, Figure
from pages.ui import format as say
from pages.ui.workspace import Dataset, Workspace

FIRST_LINKS = 50
_PLAIN = dict(STILL_CONFIG)


def overview(workspace: Workspace, dataset: Dataset) -> None:
    """Draw everything about the data set in use."""
    relation = dataset.data
    with st.container(gap=None, key="data_name"):
        st.caption("Data in use")
        st.text(dataset.name)
    rows, columns = relation.shape
    cells = rows * columns
    figures = (
        ("Rows", f"{rows:,}"),
        ("Columns", f"{columns:,}"),
        ("Links", f"{relation.n_ones:,}"),
        ("Density", say.percent(relation.density)),
        ("Missing", say.percent(relation.n_missing / cells)),
    )
    with st.container(horizontal=True, gap="medium", key="data_figures"):
        for name, value in figures:
            st.metric(name, value, width="content")
    picture, degrees, links, report = st.tabs(["Picture", "Degrees", "First links", "Read report"])
    with picture:
        st.plotly_chart(
            _thumbnail(relation.fingerprint, relation), config=_PLAIN, key="thumbnail", theme=None
        )
        st.caption("Dark: links. Grey: unknown. Objects stand in the order they were read.")
    with degrees:
        st.plotly_chart(_degrees(relation.fingerprint, relation), config=_PLAIN, key="degrees", theme=None)
        st.caption("How many objects have how many links; each range is twice as wide as the one before.")
    with links:
        st.dataframe(first_links(relation), hide_index=True, key="first_links", height=300)
        if relation.n_ones > FIRST_LINKS:
            st.caption(f"The first {FIRST_LINKS} of {relation.n_ones:,}.")
    with report, st.container(gap="xsmall"):
        for line in dataset.report.lines():
            st.text(f"• {line}")
    holding_out(workspace, dataset)


def holding_out(workspace: Workspace, dataset: Dataset) -> None:
    """Draw what new runs hold out, and keep what is entered."""
    with st.container(border=True, gap="small"):
        st.markdown("**Held out for scoring**")
        share_at, seed_at = st.columns(2)
        share = share_at.number_input(
            "Share of the known entries, %",
            0.0,
            90.0,
            round(100 * dataset.heldout, 6),
            1.0,
            format="%g",
            key="heldout_percent",
            help="Hidden from new runs and predicted by them: the fair way to compare methods. 0 hides nothing.",
        )
        seed = seed_at.number_input(
            "Seed",
            0,
            2**31 - 1,
            dataset.heldout_seed,
            key="heldout_seed",
            help="The same seed hides the same entries, so that runs can be compared.",
        )
        hidden = round(share / 100 * dataset.data.n_observed)
        st.caption(f"{say.count(hidden, 'entry', 'entries')} hidden from each new run.")
    if (share / 100, seed) != (dataset.heldout, dataset.heldout_seed):
        workspace.set_dataset(replace(dataset, heldout=share / 100, heldout_seed=int(seed)))
        st.rerun()


def first_links(relation: Relation) -> pd.DataFrame:
    """Return the first links, one a line."""
    ones = relation.ones
    n = min(FIRST_LINKS, relation.n_ones)
    rows = np.searchsorted(ones.indptr, np.arange(n), side="right") - 1
    row_kind = relation.row_kind
    column_kind = (
        relation.column_kind if relation.column_kind != row_kind else f"{relation.column_kind} (column)"
    )
    return pd.DataFrame(
        {row_kind: relation.row_labels[rows], column_kind: relation.column_labels[ones.indices[:n]]},
        dtype=str,
    )


# The relation itself is left out of the key: it is known by its fingerprint, and hashing it would only sample it.
@st.cache_data(max_entries=8, show_spinner=False)
def _thumbnail(fingerprint: str, _relation: Relation) -> Figure:
    return thumbnail(_relation, height=340)


@st.cache_data(max_entries=8, show_spinner=False)
def _degrees(fingerprint: str, _relation: Relation) -> Figure:
    return degree_histograms(_relation, height=340)
