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
from pages.ui.shared.picking import choose_way
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
    streams = any(row.streams for row in rows)
    needs = {"Needs": [_describe_need(row, pages) for row in rows]} if streams else {}
    table = pd.DataFrame(
        {
            "Method": [row.label for row in rows],
            "Answers with": [_describe_answer(row) for row in rows],
            **needs,
            "Ends by": [row.describe_convergence() for row in rows],
            "Reference": [row.reference for row in rows],
        }
    )
    st.table(table, hide_index=True, border="horizontal")
    _show_cards([(f"**{row.label}**", pages.words.methods.get(row.name, row.summary)) for row in rows])
    _show_texts(pages.words.advice)


def _show_cards(texts: Sequence[Sequence[str]]) -> None:
    """Draw cards of some paragraphs each, two side by side."""
    for first in range(0, len(texts), 2):
        for column, paragraphs in zip(st.columns(2), texts[first : first + 2], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                for paragraph in paragraphs:
                    st.markdown(paragraph)


def show_curves(pages: ModelPages) -> None:
    _show_cards(
        [(f"{curve.icon} **{curve.name}**", curve.what, *curve.advice) for curve in pages.words.curves]
    )


def show_verdicts(pages: ModelPages) -> None:
    st.subheader("How a run ends", anchor=False)
    for verdict in Verdict:
        _show_verdict(verdict.value, VERDICTS[verdict])
    _show_verdict("MAX_SWEEPS, Gibbs", COMPLETE)
    if any(row.streams for row in methods_of(pages.model)):
        _show_verdict("MAX_SWEEPS, streams", STREAMED)
        _show_verdict("MAX_SWEEPS, averaged streams", EPOCH_LIMIT)
    _show_texts((("How convergence is judged", pages.words.convergence), *pages.words.notes))


def _show_verdict(name: str, state: State) -> None:
    badge, explanation = st.columns([1, 4], vertical_alignment="center")
    badge.badge(state.text, icon=state.icon, color=state.colour, help=name)
    explanation.markdown(state.meaning)


def show_references(_: ModelPages) -> None:
    for work, why in words.REFERENCES:
        st.markdown(f"{work}  \n:gray[{why}]", width=TEXT_WIDTH)


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
    names = {name: pages.data_name for name, pages in models.items()}
    chosen = choose_way(
        "What is it about?",
        names,
        "guide_model",
        default=model_in_use(current_workspace()) or next(iter(names)),
        label_visibility="collapsed",
        persist_state="session",
    )
    for tab, (_, show_section) in zip(st.tabs(list(SECTIONS)), SECTIONS.items(), strict=True):
        with tab:
            show_section(models[chosen])
