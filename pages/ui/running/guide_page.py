"""Guide: the model, the methods, the curves and the verdicts, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from acvb_core.core.spec import MethodSpec
from acvb_core.engine.history import Verdict
from acvb_core.registry import methods_of
from pages.ui.running.live import model_in_use
from pages.ui.shared import format as say
from pages.ui.shared import words
from pages.ui.shared.format import COMPLETE, EPOCH_LIMIT, STREAMED, VERDICTS, State
from pages.ui.shared.model_pages import ModelPages, all_model_pages
from pages.ui.shared.workspace import current_workspace

TEXT_WIDTH = 760


def show_model(pages: ModelPages) -> None:
    st.markdown(pages.words.model, width=TEXT_WIDTH)
    _show_texts((*pages.words.asides, ("Where your runs are stored", words.KEEPING_TEXT)))


def _show_texts(texts: Sequence[tuple[str, str]]) -> None:
    """Draw texts, each below its heading."""
    for heading, text in texts:
        st.subheader(heading, anchor=False)
        st.markdown(text, width=TEXT_WIDTH)


def _describe_answer(row: MethodSpec) -> str:
    if row.sampled or row.averaged:
        return "mean of samples" if row.sampled else "running mean"
    return "last window" if row.streams else "last sweep"


def _describe_need(row: MethodSpec, pages: ModelPages) -> str:
    data = say.uncapitalise(pages.data_name)
    return f"{pages.parts[1]} in memory; {data} may be on disk" if row.streams else "all in memory"


def show_methods(pages: ModelPages) -> None:
    rows = methods_of(pages.model)
    table = pd.DataFrame(
        {
            "Method": [row.label for row in rows],
            "Answers with": [_describe_answer(row) for row in rows],
            **(
                {"Needs": [_describe_need(row, pages) for row in rows]}
                if any(row.streams for row in rows)
                else {}
            ),
            "Ends by": [row.describe_convergence() for row in rows],
            "Reference": [row.reference for row in rows],
        }
    )
    st.table(table, hide_index=True, border="horizontal")
    for first in range(0, len(rows), 2):
        for column, row in zip(st.columns(2), rows[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"**{row.label}**")
                st.markdown(pages.words.methods.get(row.name, row.summary))
    _show_texts(pages.words.advice)


def show_curves(pages: ModelPages) -> None:
    for first in range(0, len(pages.words.curves), 2):
        for column, curve in zip(st.columns(2), pages.words.curves[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"{curve.icon} **{curve.name}**")
                st.markdown(curve.what)
                st.markdown(f":green[**How to read it.**] {curve.read}")
                st.markdown(f":orange[**Beware.**] {curve.beware}")


def show_verdicts(pages: ModelPages) -> None:
    st.subheader("How a run ends", anchor=False)
    for verdict in Verdict:
        _show_verdict(verdict.value, VERDICTS[verdict])
    _show_verdict("MAX_SWEEPS, Gibbs", COMPLETE)
    if any(row.streams for row in methods_of(pages.model)):
        for name, state in (("MAX_SWEEPS, streams", STREAMED), ("MAX_SWEEPS, averaged streams", EPOCH_LIMIT)):
            _show_verdict(name, state)
    _show_texts((("How convergence is judged", pages.words.convergence), *pages.words.notes))


def _show_verdict(name: str, state: State) -> None:
    badge, explanation = st.columns([1, 4], vertical_alignment="center")
    badge.badge(state.text, icon=state.icon, color=state.colour, help=name)
    explanation.markdown(state.meaning)


def show_references(_: ModelPages) -> None:
    for work, why, address in words.REFERENCES:
        link = f" [{address.removeprefix('https://')}]({address})" if address else ""
        st.markdown(f"{work}{link}  \n:gray[{why}]", width=TEXT_WIDTH)


SECTIONS = {
    "The model": show_model,
    "Methods": show_methods,
    "Curves": show_curves,
    "Convergence and verdicts": show_verdicts,
    "References": show_references,
}


def show_guide() -> None:
    """Draw the page."""
    st.title("Guide", anchor=False)
    models = all_model_pages()
    chosen = st.segmented_control(
        "What is it about?",
        list(models),
        format_func=lambda name: models[name].data_name,
        default=model_in_use(current_workspace()) or next(iter(models)),
        required=True,
        key="guide_model",
        label_visibility="collapsed",
        persist_state="session",
    )
    for tab, (_, show_section) in zip(st.tabs(list(SECTIONS)), SECTIONS.items(), strict=True):
        with tab:
            show_section(models[chosen])
