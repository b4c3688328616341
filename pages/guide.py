"""Guide: the model, the methods, the curves and the verdicts, in plain words."""

from __future__ import annotations

import streamlit as st

from pages.ui.shared.guard import guard

guard()

import pandas as pd  # noqa: E402

from acvb_core.core.rows import Method  # noqa: E402
from acvb_core.engine.snapshot import Verdict  # noqa: E402
from acvb_core.registry import methods_of  # noqa: E402
from pages.ui.running.live import model_in_use  # noqa: E402
from pages.ui.shared import words  # noqa: E402
from pages.ui.shared.format import COMPLETE, EPOCH_LIMIT, STREAMED, VERDICTS  # noqa: E402
from pages.ui.shared.models import FACES  # noqa: E402
from pages.ui.shared.words import ModelWords  # noqa: E402
from pages.ui.shared.workspace import current  # noqa: E402

TEXT_WIDTH = 760


def model(about: ModelWords) -> None:
    st.markdown(about.model, width=TEXT_WIDTH)
    for heading, text in about.asides:
        st.subheader(heading, anchor=False)
        st.markdown(text, width=TEXT_WIDTH)
    st.subheader("Where your runs are kept", anchor=False)
    st.markdown(words.KEEPING_TEXT, width=TEXT_WIDTH)


def _answers_with(row: Method) -> str:
    if row.sampled or row.averaged:
        return "mean of samples" if row.sampled else "running mean"
    return "last window" if row.streams else "last sweep"


def _needs(row: Method) -> str:
    return "topics in memory; texts may be on disk" if row.streams else "all in memory"


def methods(about: ModelWords) -> None:
    rows = methods_of(chosen)
    table = pd.DataFrame(
        {
            "Method": [row.label for row in rows],
            "Answers with": [_answers_with(row) for row in rows],
            **({"Needs": [_needs(row) for row in rows]} if any(row.streams for row in rows) else {}),
            "Ends by": [row.converges_by() for row in rows],
            "Reference": [row.reference for row in rows],
        }
    )
    st.table(table, hide_index=True, border="horizontal")
    for first in range(0, len(rows), 2):
        for column, row in zip(st.columns(2), rows[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"**{row.label}**")
                st.markdown(about.methods.get(row.name, row.summary))


def curves(about: ModelWords) -> None:
    for first in range(0, len(about.curves), 2):
        for column, curve in zip(st.columns(2), about.curves[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"{curve.icon} **{curve.name}**")
                st.markdown(curve.what)
                st.markdown(f":green[**Read it so.**] {curve.read}")
                st.markdown(f":orange[**Beware.**] {curve.beware}")


def verdicts(about: ModelWords) -> None:
    st.subheader("How a run ends", anchor=False)
    for verdict in Verdict:
        state = VERDICTS[verdict]
        _verdict(verdict.value, state.text, state.icon, state.colour, state.meaning)
    _verdict("MAX_SWEEPS, Gibbs", COMPLETE.text, COMPLETE.icon, COMPLETE.colour, COMPLETE.meaning)
    if any(row.streams for row in methods_of(chosen)):
        for name, state in (("MAX_SWEEPS, streams", STREAMED), ("MAX_SWEEPS, averaged streams", EPOCH_LIMIT)):
            _verdict(name, state.text, state.icon, state.colour, state.meaning)
    st.subheader("How convergence is judged", anchor=False)
    st.markdown(about.convergence, width=TEXT_WIDTH)
    for column, (heading, text) in zip(st.columns(len(about.notes)), about.notes, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{heading}**")
            st.markdown(text)


def _verdict(name: str, text: str, icon: str, colour: str, meaning: str) -> None:
    badge, explanation = st.columns([1, 4], vertical_alignment="center")
    badge.badge(text, icon=icon, color=colour, help=name)
    explanation.markdown(meaning)


def references(about: ModelWords) -> None:
    for work, why, address in words.REFERENCES:
        link = f" [{address.removeprefix('https://')}]({address})" if address else ""
        st.markdown(f"{work}{link}  \n:gray[{why}]", width=TEXT_WIDTH)


workspace = current()
st.title("Guide", anchor=False)
chosen = st.segmented_control(
    "What is it about?",
    list(FACES),
    format_func=lambda name: FACES[name].brought,
    default=model_in_use(workspace) or "irm",
    required=True,
    key="guide_model",
    label_visibility="collapsed",
    persist_state="session",
)
SECTIONS = {
    "The model": model,
    "Methods": methods,
    "Curves": curves,
    "Convergence and verdicts": verdicts,
    "References": references,
}
for tab, show in zip(st.tabs(list(SECTIONS)), SECTIONS.values(), strict=True):
    with tab:
        show(FACES[chosen].words)
