"""The data set in use: size, pictures, what reading it found, and what runs hold out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui import format as say
from pages.ui.glance import Glance
from pages.ui.models import FACES
from pages.ui.overview_network import network_glance
from pages.ui.overview_relation import relation_glance
from pages.ui.overview_texts import corpus_glance
from pages.ui.workspace import Dataset, Workspace

GLANCES: dict[str, Callable[[Any], Glance]] = {
    "irm": relation_glance,
    "network": network_glance,
    "lda": corpus_glance,
}


def overview(workspace: Workspace, dataset: Dataset) -> None:
    """Draw everything about the data set in use."""
    glance = GLANCES[dataset.model](dataset.data)
    with st.container(gap=None, key="data_name"):
        st.caption("Data in use")
        st.text(dataset.name)
    with st.container(horizontal=True, gap="medium", key="data_figures"):
        for name, value in glance.figures:
            st.metric(name, value, width="content")
    if glance.said:
        st.caption(glance.said)
    *tabs, report = st.tabs([*glance.tabs, "Read report"])
    for tab, draw in zip(tabs, glance.tabs.values(), strict=True):
        with tab:
            draw()
    with report, st.container(gap="xsmall"):
        for line in dataset.report.lines():
            st.text(f"• {line}")
    holding_out(workspace, dataset)


def holding_out(workspace: Workspace, dataset: Dataset) -> None:
    """Draw what new runs hold out, and keep what is entered."""
    face = FACES[dataset.model]
    one, many = face.held
    with st.container(border=True, gap="small"):
        st.markdown("**Held out for scoring**")
        share_at, seed_at = st.columns(2, vertical_alignment="bottom")
        share = share_at.number_input(
            f"Share of {face.held_out}, %",
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
            help=f"The same seed hides the same {many}, so that runs can be compared.",
        )
        hidden = round(share / 100 * face.known(dataset.data))
        st.caption(f"{face.about}{say.count(hidden, one, many)} hidden from each new run.")
    if (share / 100, seed) != (dataset.heldout, dataset.heldout_seed):
        workspace.set_dataset(replace(dataset, heldout=share / 100, heldout_seed=int(seed)))
        st.rerun()
