"""The cost of runs, and the guarantees about their end, before they are started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from acvb_core.engine.machine import available_memory
from acvb_core.engine.prepared import SLOW_SWEEP, PreparedRun
from acvb_core.engine.stopping import worst_case_sweeps
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import pages_of_model
from pages.ui.shared.services import places
from pages.ui.shared.workspace import current_workspace

if TYPE_CHECKING:
    from pages.ui.running.setup import Plan
    from pages.ui.workspace.dataset import Dataset


class Memory(NamedTuple):
    """Peak memory in bytes of the runs that go on at the same time, beyond the data."""

    needed: int
    #: Without the average of every responsibility.
    untracked: int

    def describe(self) -> str:
        """Return the memory in words, with what could be saved."""
        saved = ""
        if self.untracked < self.needed:
            saved = f" ({say.size(self.untracked)} without averaging every responsibility)"
        return f"{say.size(self.needed)} of memory{saved}"


def estimate_memory(each: Sequence[PreparedRun], n_seeds: int) -> Memory:
    """Return the memory of runs, given one of each method, from so many seeds."""

    def add_up(runs: Sequence[PreparedRun]) -> int:
        most = sorted([run.memory_bytes for run in runs] * n_seeds, reverse=True)
        return sum(most[: places().here.limit])

    needed = add_up(each)
    if not any(run.spec.values.get("track") for run in each):
        return Memory(needed, needed)
    untracked = [
        replace(run, spec=replace(run.spec, values={**run.spec.values, "track": False})) for run in each
    ]
    return Memory(needed, add_up(untracked))


def show_guarantees(plan: Plan, each: Sequence[PreparedRun]) -> None:
    """Say within how many sweeps or windows the averaged methods end, at the worst: min(limit, 2 / tolerance)."""
    bounds: dict[tuple[int, int, bool], list[str]] = {}
    for prepared in each:
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


def warn_of_slow_sweeps(each: Sequence[PreparedRun]) -> None:
    """Warn if a single sweep may take long."""
    seconds = [(prepared, prepared.sweep_seconds) for prepared in each]
    slow = [(prepared, sweep) for prepared, sweep in seconds if sweep >= SLOW_SWEEP]
    if not slow:
        return
    times = [f"{prepared.row.label} {say.rough_duration(sweep)}" for prepared, sweep in slow]
    st.warning(
        f"A single sweep may take long on data of this size: {say.join_names(times)}. Choose fewer "
        f"{pages_of_model(slow[0][0].row.model).parts[1]}, a faster method, or a part of the data.",
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


def find_free_memory() -> int | None:
    """Return the bytes that new runs can have; None if unknown, as on the workers of a cluster."""
    if places().is_elsewhere(current_workspace().key):
        return None  # they refuse what they have no room for
    return available_memory()


def check_memory(plan: Plan, memory: Memory) -> bool:
    """Return whether the runs fit; warn where they do not."""
    needed, free = memory.needed, find_free_memory()
    if free is None or needed <= free:
        return True
    pages = pages_of_model(plan.model)
    less = f"Choose fewer {pages.parts[1]}, or start fewer runs."
    if pages.less_memory and not all(method.streams for method in plan.methods):
        less += f" {pages.less_memory}"
    st.warning(
        f"These runs need about {say.size(needed)}, and {say.size(free)} is free. {less}",
        icon=":material/memory:",
    )
    return False
