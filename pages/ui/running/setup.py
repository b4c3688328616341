"""The form that starts runs: methods, sizes, seeds, everything else on request, and what it will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from acvb_core.core.errors import AcvbError
from acvb_core.core.parameters import Value
from acvb_core.core.spec import MethodSpec, ModelSpec
from acvb_core.engine.history import RACE_CRITERIA
from acvb_core.engine.job import Job
from acvb_core.engine.machine import available_memory
from acvb_core.engine.prepared import SLOW_SWEEP, PreparedRun, prepare_run
from acvb_core.engine.stopping import worst_case_sweeps
from acvb_core.registry import MODELS, method_row, methods_for, model_row
from pages.ui.running.forms import (
    Field,
    build_fields,
    count_changed,
    name_methods,
    select_values,
    show_field,
    show_fixed_field,
    show_preset,
    was_filled,
)
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import StartChoice, pages_of_model
from pages.ui.shared.picking import choose_way
from pages.ui.shared.services import places
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.dataset import MOST_SEED, Dataset

_ON_DISK = " Your data are on disk, so methods that need them in memory are not offered."
_NO_RACE = (
    "Restarts are ranked by how well they predict held-out {unit}. Nothing is held out: set a share on the Data page "
    "first."
)
MOST_SEEDS = 20
MOST_RESTARTS = 100


@dataclass(frozen=True)
class Plan:
    """Runs that were asked for, one a method and seed."""

    model: str
    methods: tuple[MethodSpec, ...]
    values: dict[str, dict[str, Any]]
    seeds: range
    restarts: int = 1
    trained: Any = None
    check_memory: bool = True

    @property
    def button(self) -> str:
        """The words of the button that starts the runs: "Start ACVB0, VB", "Start 3 runs of ACVB0"."""
        names = name_methods([method.label for method in self.methods])
        n_runs = len(self.methods) * len(self.seeds)
        return f"Start {names}" if len(self.seeds) == 1 else f"Start {n_runs} runs of {names}"

    def epochs_text(self, labels: Sequence[str]) -> str:
        """Return the epochs of methods that are called so, in words."""
        epochs = {self.values[method.name]["epochs"] for method in self.methods if method.label in labels}
        return " or ".join(say.epochs(number) for number in sorted(epochs))

    def prepared_runs(self, dataset: Dataset, seeds: range | None = None) -> list[PreparedRun]:
        """Return the runs (or those of some seeds), ready to start; they share one split of the data."""
        prepared_runs = [
            prepare_run(
                dataset.data,
                method.name,
                self.values[method.name],
                model=self.model,
                seed=seed,
                restarts=self.restarts,
                start=self.trained,
                **dataset.split,
            )
            for seed in (self.seeds if seeds is None else seeds)
            for method in self.methods
        ]
        return [replace(prepared, check_memory=self.check_memory) for prepared in prepared_runs]


def start_runs(workspace: Workspace, dataset: Dataset, plan: Plan) -> None:
    """Start the runs of a plan."""
    for prepared in plan.prepared_runs(dataset):
        workspace.add(prepared)


def methods_key(model: str, dataset: Dataset) -> str:
    """Return the key of the choice of methods; data on disk have fewer, and so one of their own."""
    return f"methods_{model}{'_disk' * dataset.on_disk}_{dataset.mark}"


def tunable_methods(dataset: Dataset) -> list[MethodSpec]:
    """Return the methods for these data that have parameters to tune."""
    return [method for method in methods_for(dataset.data, dataset.model) if method.tuned]


def show_run_form(workspace: Workspace, dataset: Dataset) -> bool:
    """Draw the form; True when it has just started runs."""
    model = choose_model(dataset)
    if about := pages_of_model(model).about_data(dataset.data):
        st.caption(about)
    methods = {method.name: method for method in methods_for(dataset.data, model)}
    names = _choose_methods(model, methods, dataset)
    # In the registry's order, whatever the order of the clicks.
    chosen = [method for name, method in methods.items() if name in names]
    # Without a method too: a file that was chosen there would be lost where its uploader is not drawn.
    start_from = pages_of_model(model).start_from
    choice = StartChoice(None, {}, chosen) if start_from is None else start_from(workspace, dataset, chosen)
    if not chosen:
        st.info("Choose at least one method.", icon=":material/arrow_upward:")
    if not choice.methods:
        return False
    plan = replace(_show_settings(model, choice, dataset), trained=choice.trained)
    try:
        each = plan.prepared_runs(dataset, plan.seeds[:1])  # seeds make no difference to the costs
        show_guarantees(plan, each)
        show_streaming_note(plan, dataset)
        warn_of_slow_sweeps(each)
        memory = estimate_memory(each, len(plan.seeds))
        plan = replace(plan, check_memory=check_memory(plan, memory))
    except AcvbError as error:  # these data cannot be run on: nothing would be left to learn from
        st.text(str(error))
        return False
    allowed = plan.check_memory or st.checkbox("Start anyway", key=f"nevertheless_{dataset.mark}")
    warn_of_repeats(workspace, dataset, plan)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            plan.button, type="primary", icon=":material/play_arrow:", disabled=not allowed, key="start"
        )
        split = f"{say.describe_split(dataset)} (set on the Data page)"
        st.caption(f"About {memory.describe()} · {split}", width="content")
    if pressed:
        try:
            start_runs(workspace, dataset, plan)
        except AcvbError as error:
            st.text(str(error))
        else:
            return True
    return False


def _choose_methods(model: str, methods: Mapping[str, MethodSpec], dataset: Dataset) -> list[str]:
    """Draw the recommended method, and the others folded below it, each with when to use it; return those chosen."""
    pages, key = pages_of_model(model), methods_key(model, dataset)
    first = pages.recommend_method(dataset.on_disk)
    chosen = st.session_state.get(key, [first])
    labels = [methods[name].label for name in methods if name in chosen]
    # A fold hides what is chosen in it.
    fold = "More methods" + ("" if chosen == [first] else f" (chosen: {name_methods(labels) or 'none'})")
    with st.container(key="methods", gap="small"):
        st.markdown(f"**{methods[first].label}** :green-badge[Recommended] {pages.uses[first]}")
        with st.expander(fold, icon=":material/unfold_more:", expanded=chosen != [first], key="more_methods"):
            help = f"Choose several to compare them. The Guide explains each.{_ON_DISK * dataset.on_disk}"
            names = st.pills(
                "Methods",
                list(methods),
                selection_mode="multi",
                default=None if was_filled(key) else [first],
                format_func=lambda name: methods[name].label,
                key=key,
                persist_state="session",
                help=help,
            )
            lines = [f"- **{methods[name].label}**: {pages.uses[name]}" for name in methods if name != first]
            st.markdown("\n".join(lines))
            st.caption(pages.acronyms)
    return list(names or [])


def choose_model(dataset: Dataset, place: str = "") -> str:
    """Draw the choice of the model if several are for the data: of the folder, and of a model in it.

    `place`: put before the keys of the form, if there is another one.
    """
    folders: dict[str, list[str]] = {}
    for row in MODELS:
        if row.fits(dataset.data):
            folders.setdefault(row.folder, []).append(row.name)
    with st.container(horizontal=True, gap="medium", key=f"{place}model_choice"):
        folder = next(iter(folders))
        if len(folders) > 1:
            first = {name: pages_of_model(models[0]) for name, models in folders.items()}
            kinds = {name: pages.kind for name, pages in first.items()}
            folder = choose_way(
                "Model",
                kinds,
                f"{place}kind_{dataset.mark}",
                persist_state="session",
                help=first[folder].kinds_help,
            )
        models = folders[folder]
        if len(models) == 1:
            return models[0]
        # The last is the most special.
        ways = {name: pages_of_model(name).way for name in reversed(models)}
        help = pages_of_model(models[0]).ways_help
        key = f"{place}model_{folder}_{dataset.mark}"
        return str(choose_way("What to find", ways, key, persist_state="session", help=help))


def _show_settings(model: str, choice: StartChoice, dataset: Dataset) -> Plan:
    """Draw the settings; those that follow from what runs start from are shown and cannot be changed."""
    row, chosen = model_row(model), choice.methods
    form, entered = show_preset(build_fields(chosen, dataset.mark), chosen)
    sizes = [field for field in form if not field.parameter.advanced and field.shared]
    separate = [field for field in form if not field.parameter.advanced and not field.shared]
    advanced = [field for field in form if field.parameter.advanced]
    columns = st.columns(max(4, len(sizes) + 3), vertical_alignment="bottom")
    for column, field in zip(columns, sizes, strict=False):
        with column:
            fixed = choice.values.get(field.parameter.name)
            entered.append((field, show_field(field) if fixed is None else show_fixed_field(field, fixed)))
    starts = _show_seeds(columns[len(sizes) : len(sizes) + 3], row, dataset)
    entered += _show_fields(separate, 4)
    changed = count_changed(advanced)
    fold = "Advanced settings" + (f" ({changed} changed)" if changed else "")
    with st.expander(fold, icon=":material/tune:", key="advanced"):
        entered += _show_fields(advanced, 3)
    return Plan(
        model, tuple(chosen), {method.name: select_values(method, entered) for method in chosen}, *starts
    )


def _show_fields(form: Sequence[Field], width: int) -> list[tuple[Field, Value]]:
    entered: list[tuple[Field, Value]] = []
    for first in range(0, len(form), width):
        row = form[first : first + width]
        for column, field in zip(st.columns(width, vertical_alignment="bottom"), row, strict=False):
            with column:
                entered.append((field, show_field(field)))
    return entered


def _show_seeds(columns: Sequence[DeltaGenerator], row: ModelSpec, dataset: Dataset) -> tuple[range, int]:
    """Draw the fields of the seeds; return the first of each run, and how many starts race in a run."""
    first_column, number_column, restarts_column = columns
    number = number_column.number_input(
        "Runs per method",
        1,
        MOST_SEEDS,
        1,
        key=f"n_seeds_{dataset.mark}",
        persist_state="session",
        help="Several runs show how much the answer depends on the random start.",
    )
    first = first_column.number_input(
        "First seed",
        0,
        MOST_SEED,
        0,
        key=f"first_seed_{dataset.mark}",
        persist_state="session",
        help="The same seed and settings always give the same run. Further runs use the next seeds.",
    )
    step = 1
    if not dataset.heldout and row.raced_by == "heldout":
        no_race = _NO_RACE.format(unit=row.unit[1])
        restarts_column.number_input("Restarts", 1, 1, 1, key="no_restarts", disabled=True, help=no_race)
    else:
        step = restarts_column.number_input(
            "Restarts",
            1,
            MOST_RESTARTS,
            1,
            key=f"restarts_{dataset.mark}",
            persist_state="session",
            help=f"How many starts each run tries. The half with the worse {RACE_CRITERIA[row.raced_by]} is "
            "dropped after 20 sweeps, half of the rest after 40, and so on. The best start becomes the run, under its "
            "own seed.",
        )
    return range(first, first + number * step, step), step  # no start is in two races


def warn_of_repeats(workspace: Workspace, dataset: Dataset, plan: Plan) -> None:
    """Say which of the planned runs are there already; nothing where all are new."""
    names = [job.label.name for job in workspace.jobs if repeats_plan(job, dataset, plan)]
    if names:
        with st.container(key="repeats"):
            st.info(
                f"{say.join_names(names)} {'has' if len(names) == 1 else 'have'} the same settings and seed. Another "
                "run would give the same result. Choose another first seed to see how much the start matters.",
                icon=":material/content_copy:",
            )


def repeats_plan(job: Job, dataset: Dataset, plan: Plan) -> bool:
    """Return whether a run that did not fail is one of those that are planned."""
    run = job.outline
    settings, seed, restarts = run.spec, run.asked.seed, run.asked.restarts
    share = settings.heldout_documents if dataset.whole_documents else settings.heldout
    if run.error is not None or settings.start or plan.trained is not None:
        return False
    if settings.model != plan.model or settings.method not in plan.values:
        return False
    return (
        run.fingerprint == dataset.data.fingerprint
        and dict(settings.values)
        == method_row(plan.model, settings.method).values(plan.values[settings.method])
        and (seed in plan.seeds and restarts == plan.restarts)
        and (share, settings.heldout_seed) == (dataset.heldout, dataset.heldout_seed)
        and (settings.heldout_documents > 0) == (dataset.whole_documents and dataset.heldout > 0)
    )


class Memory(NamedTuple):
    """Peak memory in bytes of the runs that run at the same time, beyond the data."""

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
