"""The cost of runs, and the guarantees about their end, before they are started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from acvb_core.engine.free_memory import available_memory
from acvb_core.engine.prepared import SLOW_SWEEP
from acvb_core.engine.stopping import worst_case_sweeps
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import pages_of_model
from pages.ui.shared.services import places
from pages.ui.shared.workspace import current_workspace

if TYPE_CHECKING:
    from pages.ui.running.setup import Plan
    from pages.ui.workspace.dataset import Dataset


def show_guarantees(plan: Plan, dataset: Dataset) -> None:
    """Say within how many sweeps or windows the averaged methods end, at the worst: min(limit, 2 / tolerance)."""
    bounds: dict[tuple[int, int, bool], list[str]] = {}
    for prepared in plan.prepared_runs(dataset, plan.seeds[:1]):
        if prepared.row.averaged and not prepared.row.sampled:
            worst = worst_case_sweeps(prepared.spec.values["tol"])
            key = (worst, prepared.max_sweeps, prepared.row.streams)
            bounds.setdefault(key, []).append(prepared.row.label)
    for (worst, cap, streams), labels in bounds.items():
        one, many = ("window", "windows") if streams else ("sweep", "sweeps")
        names, certain = say.join_names(labels), f"{worst:,} averaged {many} (2 / tolerance)"
        if cap < worst:
            limit = f"{plan.epochs_text(labels)} ({say.count(cap, one)})" if streams else f"{cap:,} {many}"
            text = f"**{names}** will end within {limit}. Most runs converge far sooner."
            more = (
                f"Convergence is certain only within {certain}. A run that reaches its limit first says so."
            )
        else:
            text = f"**{names}** will converge, whatever the data. Most runs need few {many}."
            more = f"Convergence is certain within {certain}."
        st.caption(text, help=more)


def warn_of_slow_sweeps(plan: Plan, dataset: Dataset) -> None:
    """Warn if a single sweep may take long."""
    slow = [
        prepared
        for prepared in plan.prepared_runs(dataset, plan.seeds[:1])
        if prepared.sweep_seconds >= SLOW_SWEEP
    ]
    if not slow:
        return
    times = [f"{prepared.row.label} {say.rough_duration(prepared.sweep_seconds)}" for prepared in slow]
    st.warning(
        f"A single sweep may take long on data of this size: {say.join_names(times)}. Choose fewer "
        f"{pages_of_model(dataset.model).parts[1]}, a faster method, or a part of the data.",
        icon=":material/hourglass:",
    )


def show_streaming_note(plan: Plan, dataset: Dataset) -> None:
    """Say what a method that streams does, where some are chosen."""
    labels = [method.label for method in plan.methods if method.streams]
    if not labels:
        return
    reads, keeps = ("reads", "keeps") if len(labels) == 1 else ("read", "keep")
    st.caption(
        f"**{say.join_names(labels)}** {reads} the documents in small batches, called windows, and {keeps} only the "
        f"topics. An epoch is one pass over all {dataset.data.n_documents:,} documents."
    )


def describe_memory(plan: Plan, dataset: Dataset) -> str:
    """Return the memory the runs need in words, with what could be saved."""
    needed = plan.memory_bytes(dataset)
    less = plan.with_values(track=False).memory_bytes(dataset)
    saved = f" ({say.size(less)} without averaging every responsibility)" if less < needed else ""
    return f"{say.size(needed)} of memory{saved}"


def find_free_memory() -> int | None:
    """Return the bytes that new runs can have; None if unknown, as on the workers of a cluster."""
    if places().is_elsewhere(current_workspace().key):
        return None  # they refuse what they have no room for
    return available_memory()


def check_memory(plan: Plan, dataset: Dataset) -> bool:
    """Return whether the runs fit; warn where they do not."""
    needed, free = plan.memory_bytes(dataset), find_free_memory()
    if free is None or needed <= free:
        return True
    pages = pages_of_model(dataset.model)
    less = f"Choose fewer {pages.parts[1]}, or start fewer runs."
    if pages.less_memory and not all(method.streams for method in plan.methods):
        less += f" {pages.less_memory}"
    st.warning(
        f"These runs need about {say.size(needed)}, and {say.size(free)} is free. {less}",
        icon=":material/memory:",
    )
    return False
