"""Guide: the model, the methods, the curves and the verdicts, in plain words."""

from __future__ import annotations

import streamlit as st

from pages.ui.guard import guard

guard()

import pandas as pd  # noqa: E402

from acvb_core.engine.snapshot import Verdict  # noqa: E402
from acvb_core.registry import METHODS, MODELS  # noqa: E402
from pages.ui import words  # noqa: E402
from pages.ui.format import COMPLETE, VERDICTS  # noqa: E402

TEXT_WIDTH = 760


def model() -> None:
    st.markdown(words.MODEL_TEXT, width=TEXT_WIDTH)
    st.subheader("Held-out entries", anchor=False)
    st.markdown(words.HELDOUT_TEXT, width=TEXT_WIDTH)
    st.subheader("Where your runs are kept", anchor=False)
    st.markdown(words.KEEPING_TEXT, width=TEXT_WIDTH)


def methods() -> None:
    labels = {row.name: row.label for row in MODELS}
    table = pd.DataFrame(
        {
            "Method": [row.label for row in METHODS],
            "Answers with": [
                "mean of samples" if row.sampled else "running mean" if row.averaged else "last sweep"
                for row in METHODS
            ],
            "Ends by": [row.converges_by() for row in METHODS],
            "Reference": [row.reference for row in METHODS],
        }
    )
    if len(labels) > 1:
        table.insert(0, "Model", [labels[row.model] for row in METHODS])
    st.table(table, hide_index=True, border="horizontal")
    for first in range(0, len(METHODS), 2):
        for column, row in zip(st.columns(2), METHODS[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"**{row.label}**")
                st.markdown(words.METHOD_TEXT.get(row.name, row.summary))


def curves() -> None:
    for first in range(0, len(words.CURVES), 2):
        for column, curve in zip(st.columns(2), words.CURVES[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"{curve.icon} **{curve.name}**")
                st.markdown(curve.what)
                st.markdown(f":green[**Read it so.**] {curve.read}")
                st.markdown(f":orange[**Beware.**] {curve.beware}")


def verdicts() -> None:
    st.subheader("How a run ends", anchor=False)
    for verdict in Verdict:
        state = VERDICTS[verdict]
        _verdict(verdict.value, state.text, state.icon, state.colour, state.meaning)
    _verdict("MAX_SWEEPS, Gibbs", COMPLETE.text, COMPLETE.icon, COMPLETE.colour, COMPLETE.meaning)
    st.subheader("How convergence is judged", anchor=False)
    st.markdown(words.CONVERGENCE_TEXT, width=TEXT_WIDTH)
    left, right = st.columns(2)
    with left.container(border=True, height="stretch"):
        st.markdown("**Burn-in**")
        st.markdown(words.BURN_IN_TEXT)
    with right.container(border=True, height="stretch"):
        st.markdown("**Merging clusters**")
        st.markdown(words.MERGE_TEXT)


def _verdict(name: str, text: str, icon: str, colour: str, meaning: str) -> None:
    badge, explanation = st.columns([1, 4], vertical_alignment="center")
    badge.badge(text, icon=icon, color=colour, help=name)
    explanation.markdown(meaning)


def references() -> None:
    for work, why, address in words.REFERENCES:
        link = f" [{address.removeprefix('https://')}]({address})" if address else ""
        st.markdown(f"{work}{link}  \n:gray[{why}]", width=TEXT_WIDTH)


st.title("Guide", anchor=False)
SECTIONS = {
    "The model": model,
    "Methods": methods,
    "Curves": curves,
    "Convergence and verdicts": verdicts,
    "References": references,
}
for tab, show in zip(st.tabs(list(SECTIONS)), SECTIONS.values(), strict=True):
    with tab:
        show()
