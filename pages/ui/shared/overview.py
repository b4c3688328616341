"""The data set in use: size, pictures, what reading it found, and what runs hold out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from acvb_core.data.corpus_split import MOST_DOCUMENTS, OBSERVED
from acvb_core.engine.free_memory import available_memory
from acvb_core.registry import model_row
from pages.ui.irm.overview_network import network_glance
from pages.ui.irm.overview_relation import relation_glance
from pages.ui.lda.overview_texts import corpus_glance
from pages.ui.lda.storage_choice import batch_memory, need_text
from pages.ui.lfm.overview_table import table_glance
from pages.ui.shared import format as say
from pages.ui.shared.glance import Glance
from pages.ui.shared.models import FACES
from pages.ui.shared.workspace import HELDOUT, HELDOUT_DOCUMENTS, Dataset, Workspace

GLANCES: dict[str, Callable[[Any], Glance]] = {
    "irm": relation_glance,
    "network": network_glance,
    "lda": corpus_glance,
    "lfm": table_glance,
}


#: Widgets that show what a data set holds: they begin anew with other data.
_WIDGETS = ("heldout_percent", "heldout_percent_documents", "heldout_seed", "heldout_kind")


def forget_held_out() -> None:
    """Have the fields of what is held out show that of the data set that comes."""
    for widget in _WIDGETS:
        st.session_state.pop(widget, None)


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
    if dataset.model == "lda" and not dataset.on_disk:
        _batch_advice(dataset)
    *tabs, report = st.tabs([*glance.tabs, "Read report"])
    for tab, draw in zip(tabs, glance.tabs.values(), strict=True):
        with tab:
            draw()
    with report, st.container(gap="xsmall"):
        for line in dataset.report.lines():
            st.text(f"• {line}")
    holding_out(workspace, dataset)


def _batch_advice(dataset: Dataset) -> None:
    """Say where methods that need all words in memory will hardly do."""
    data, free = dataset.data, available_memory()
    needed = batch_memory(data.n_documents, data.n_words, data.n_pairs, data.n_tokens)
    if free is not None and needed > free:
        st.info(
            f"{need_text(needed, free)} SDM, SCVB0 and SVB stream, and need memory for the topics only. Kept on disk "
            "(a choice when a file is loaded), the texts need no memory either.",
            icon=":material/memory:",
        )


def holding_out(workspace: Workspace, dataset: Dataset) -> None:
    """Draw what new runs hold out, and keep what is entered."""
    face = FACES[dataset.model]
    with st.container(border=True, gap="small"):
        st.markdown("**Held out for scoring**")
        whole = dataset.whole_documents
        if dataset.model == "lda" and not dataset.on_disk:
            whole = _whole_documents(whole)
        many = "documents" if whole else model_row(dataset.model).unit[1]
        now = dataset.heldout
        if whole != dataset.whole_documents:  # another kind of share has another usual size
            now = HELDOUT_DOCUMENTS if whole else HELDOUT
        share_at, seed_at = st.columns(2, vertical_alignment="bottom")
        share = share_at.number_input(
            "Share of the documents, %" if whole else f"Share of {face.held_out}, %",
            0.0,
            90.0,
            round(100 * now, 6),
            1.0,
            format="%g",
            key="heldout_percent_documents" if whole else "heldout_percent",
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
        st.caption(_hidden(dataset, share / 100, whole))
    if (share / 100, seed, whole) != (dataset.heldout, dataset.heldout_seed, dataset.whole_documents):
        workspace.set_dataset(
            replace(dataset, heldout=share / 100, heldout_seed=int(seed), whole_documents=whole)
        )
        st.rerun()


def _whole_documents(now: bool) -> bool:
    """Draw the choice of what is held out of texts."""
    kinds = {False: "Words of each document", True: "Whole documents"}
    return st.segmented_control(
        "What is held out",
        list(kinds),
        format_func=kinds.get,
        default=now,
        required=True,
        key="heldout_kind",
        label_visibility="collapsed",
        help="Words of each document: how well are the gaps in known documents filled? Whole documents: how well do "
        "the topics fit documents that no run has seen? Only runs with the same choice, share and seed are comparable.",
    )


def _hidden(dataset: Dataset, share: float, whole: bool) -> str:
    """Return how much is hidden from runs, in words."""
    face = FACES[dataset.model]
    if not whole:
        row = model_row(dataset.model)
        one, many = row.unit
        if not share:
            return f"No {one} is hidden from new runs: they have no held-out scores."
        asked = round(share * (row.observed(dataset.data) if row.observed else 0))
        hidden = asked if face.most is None else min(asked, face.most)
        most = f" (no more than {hidden:,}: enough for a score)" if hidden < asked else ""
        return f"{face.about}{say.count(hidden, one, many)} hidden from each new run{most}."
    n = dataset.data.n_documents
    hidden = min(max(1, round(share * n)), MOST_DOCUMENTS, n - 1) if share else 0
    most = f" (no more than {MOST_DOCUMENTS:,}: enough for a score)" if hidden == MOST_DOCUMENTS else ""
    return (
        f"{say.count(hidden, 'document')} hidden from each new run{most}. When it is scored, "
        f"{say.percent(OBSERVED)} of each one's words are seen, and the others predicted."
    )
