"""A relation at a glance: its size, its picture, degrees and first links."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.views.overview import degree_histograms, thumbnail
from acvb_core.views.theme import STILL_CONFIG, Figure
from pages.ui import format as say
from pages.ui.glance import Glance

FIRST_LINKS = 50
_PLAIN = dict(STILL_CONFIG)


def relation_glance(relation: Relation) -> Glance:
    """Return what the Data page shows of a relation."""
    rows, columns = relation.shape
    return Glance(
        (
            ("Rows", f"{rows:,}"),
            ("Columns", f"{columns:,}"),
            ("Links", f"{relation.n_ones:,}"),
            ("Density", say.percent(relation.density)),
            ("Missing", say.percent(relation.n_missing / (rows * columns))),
        ),
        {
            "Picture": lambda: _picture(relation),
            "Degrees": lambda: _degree_histograms(relation),
            "First links": lambda: _links(relation),
        },
    )


def _picture(relation: Relation) -> None:
    st.plotly_chart(_thumbnail(relation.fingerprint, relation), config=_PLAIN, key="thumbnail", theme=None)
    st.caption("Dark: links. Grey: unknown. Objects stand in the order they were read.")


def _degree_histograms(relation: Relation) -> None:
    st.plotly_chart(_degrees(relation.fingerprint, relation), config=_PLAIN, key="degrees", theme=None)
    st.caption("How many objects have how many links; each range is twice as wide as the one before.")


def _links(relation: Relation) -> None:
    st.dataframe(first_links(relation), hide_index=True, key="first_links", height=300)
    if relation.n_ones > FIRST_LINKS:
        st.caption(f"The first {FIRST_LINKS} of {relation.n_ones:,}.")


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
