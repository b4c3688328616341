"""The form that starts the same runs with several numbers of topics."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.job import Job
from acvb_core.models.lda.grid import MODEL, prepare_grid, settings_without_k
from acvb_core.registry import method_row, methods_for, model_row
from pages.ui.lda.how_many_runs import find_jobs
from pages.ui.running.setup import find_free_memory
from pages.ui.shared import format as say
from pages.ui.shared.services import places
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset

#: Numbers of topics that are tried unless others are given.
USUAL = (5, 10, 20, 40, 80)
USUAL_SWEEPS = 300
METHOD, STREAM = "cvb0", "sdm"
USUAL_EPOCHS = 3.0
MOST_SEEDS = 10


@dataclass(frozen=True)
class GridPlan:
    """Runs that the user asked for.

    Attributes
    ----------
    method : str
    ks : tuple of int
    seeds : int
    max_sweeps : int
        Not used by a method that streams.
    epochs : float
        Only used by a method that streams.
    check_memory : bool
        A run does not start if it needs more memory than is free.
    """

    method: str
    ks: tuple[int, ...]
    seeds: int
    max_sweeps: int
    epochs: float = 1.0
    check_memory: bool = True

    @property
    def length(self) -> dict[str, Any]:
        """The length of a run, as a setting of the method."""
        streams = method_row(MODEL, self.method).streams
        return {"epochs": self.epochs} if streams else {"max_sweeps": self.max_sweeps}

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.ks) * self.seeds

    def memory_bytes(self, corpus: Corpus | DiskCorpus) -> int:
        """Peak memory of the runs that run at the same time, beyond the data."""
        row = method_row(MODEL, self.method)
        each = [
            model_row(MODEL).memory(corpus, self.method, row.values({"k": k, **self.length}))
            for k in self.ks
            for _ in range(self.seeds)
        ]
        return sum(sorted(each, reverse=True)[: places().here.limit])


def max_topics(corpus: Corpus | DiskCorpus) -> int:
    """Return the largest number of topics that makes sense: no more than there are documents, or words."""
    return min(corpus.shape)


def propose_numbers(corpus: Corpus | DiskCorpus) -> tuple[int, ...]:
    """Return the numbers of topics that are tried unless others are given; at least two where there can be."""
    most = max_topics(corpus)
    fitting = tuple(k for k in USUAL if k <= most)
    return fitting if len(fitting) > 1 else tuple(sorted({min(2, most), most}))


def parse_numbers(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of topics in a text, "5, 10 20".

    Raises
    ------
    ParameterError
        Something in it is not a whole number from 1 to `most`, or there are fewer than two.
    """
    numbers = set()
    for part in re.split(r"[\s,;]+", text.strip()):
        if not part:
            continue
        if not re.fullmatch(r"[0-9]{1,9}", part):
            raise ParameterError(
                f"{part[:40]!r} is not a whole number. Give numbers with commas between: 5, 10, 20."
            )
        if not 1 <= int(part) <= most:
            raise ParameterError(
                f"{int(part):,} topics cannot be tried here. Give numbers from 1 to {most:,}."
            )
        numbers.add(int(part))
    if len(numbers) < 2:
        raise ParameterError("Give at least two numbers to choose from: 5, 10, 20.")
    return tuple(sorted(numbers))


def start_runs(workspace: Workspace, dataset: Dataset, plan: GridPlan) -> int:
    """Start the runs of a plan that do not exist yet; return their number."""
    there = {_identity(job) for job in find_jobs(workspace, dataset)}
    n_started = 0
    prepared_runs = prepare_grid(
        dataset.data, plan.ks, plan.method, plan.seeds, check_memory=plan.check_memory,
        **{"heldout": 0.0, **dataset.split}, **plan.length,
    )  # fmt: skip
    for prepared in prepared_runs:
        if (
            settings_without_k(prepared.spec),
            prepared.spec.values["k"],
            prepared.spec.seed,
        ) not in there:
            workspace.add(prepared)
            n_started += 1
    return n_started


def _identity(job: Job) -> tuple[Any, ...]:
    settings = job.prepared.spec
    return settings_without_k(settings), settings.values["k"], settings.seed


def show_form(workspace: Workspace, dataset: Dataset, corpus: Corpus | DiskCorpus) -> None:
    """Draw the form of the runs, and start them."""
    methods = {method.name: method for method in methods_for(corpus, "lda")}
    usual = STREAM if isinstance(corpus, DiskCorpus) else METHOD
    columns = st.columns([2, 3, 1.5, 1.5], vertical_alignment="bottom")
    method = columns[0].selectbox(
        "Method",
        list(methods),
        index=list(methods).index(usual),
        format_func=lambda name: methods[name].label,
        key=f"grid_method{'' if usual == METHOD else '_disk'}_{dataset.mark}",
        persist_state="session",
        help=f"{methods[usual].label} is fast and predicts well.",
    )
    text = columns[1].text_input(
        "Numbers of topics",
        ", ".join(map(str, propose_numbers(corpus))),
        key=f"grid_ks_{dataset.mark}",
        persist_state="session",
        help=f"Separated by commas, from 1 to {max_topics(corpus):,}.",
    )
    seeds = columns[2].number_input(
        "Seeds", 1, MOST_SEEDS, 2, key=f"grid_seeds_{dataset.mark}", persist_state="session",
        help="Runs for each number of topics. How much they differ shows which differences between numbers are noise.",
    )  # fmt: skip
    sweeps, epochs = _choose_length(columns[3], methods[method].streams, dataset.mark)
    try:
        plan = GridPlan(method, parse_numbers(text, max_topics(corpus)), int(seeds), sweeps, epochs)
    except ParameterError as error:
        plan = None
        st.text(str(error))
    allowed = False
    if plan is not None:
        plan = replace(plan, check_memory=check_memory(plan, corpus))
        allowed = plan.check_memory or st.checkbox(
            "Start them anyway", key=f"grid_nevertheless_{dataset.mark}"
        )
    of = "of the documents" if dataset.whole_documents else "of each document's words"
    share = f"{say.percent(dataset.heldout)} {of}" if dataset.heldout else "nothing"
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Start" if plan is None else f"Start {say.count(plan.n_runs, 'run')} of {methods[method].label}",
            type="primary", icon=":material/play_arrow:", disabled=not allowed, key="grid_start",
        )  # fmt: skip
        need = "" if plan is None else f"About {say.size(plan.memory_bytes(corpus))} of memory · "
        held = f"held out: {share}, seed {dataset.heldout_seed} (set on the Data page)"
        st.caption(need + held, width="content")
    if pressed and plan is not None:
        try:
            with st.spinner("Preparing the runs"):
                n_started = start_runs(workspace, dataset, plan)
        except AcvbError as error:
            st.text(str(error))
            return
        if n_started:
            st.rerun()  # the sidebar counts them, too
        else:
            st.caption("All of these runs exist already.")


def _choose_length(column: DeltaGenerator, streams: bool, mark: str) -> tuple[int, float]:
    """Draw the field for the length of a run; return the most sweeps, and the epochs of a method that streams."""
    if streams:
        epochs = column.number_input(
            "Epochs",
            1e-3,
            1e3,
            USUAL_EPOCHS,
            0.5,
            format="%g",
            key=f"grid_epochs_{mark}",
            persist_state="session",
        )
        return USUAL_SWEEPS, float(epochs)
    sweeps = column.number_input(
        "Maximum sweeps", 1, 100_000, USUAL_SWEEPS, 50, key=f"grid_sweeps_{mark}", persist_state="session"
    )
    return int(sweeps), 1.0


def check_memory(plan: GridPlan, corpus: Corpus | DiskCorpus) -> bool:
    """Return whether the runs fit into memory; warn if they do not."""
    need, free = plan.memory_bytes(corpus), find_free_memory()
    if free is None or need <= free:
        return True
    st.warning(
        f"These runs need about {say.size(need)} of memory, and {say.size(free)} is free. Fewer topics need less.",
        icon=":material/memory:",
    )
    return False
