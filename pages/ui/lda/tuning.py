"""The search for better learning rates: its form, its progress, and its answer put into the form of the runs."""

from __future__ import annotations

from typing import Any

import streamlit as st

from acvb_core.core.display import write_number
from acvb_core.core.errors import AcvbError
from acvb_core.core.spec import MethodSpec
from acvb_core.engine.executor import Status
from acvb_core.engine.history import TOO_GOOD
from acvb_core.engine.prepared import clean_name
from acvb_core.engine.study import StudyJob, StudyState
from acvb_core.engine.tuning import Tuning, plan_search
from acvb_core.registry import method_row
from acvb_core.views.studies import tuning_figure
from pages.ui.running import forms
from pages.ui.running.live import live_plot
from pages.ui.running.setup import methods_key, tunable_methods
from pages.ui.running.studies import follow_study, show_study_bar, show_troubles
from pages.ui.shared import format as say
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset

MOST_TRIALS, USUAL_TRIALS = 500, 30
_METHOD = "scvb0"
_USED = "tune_used"
_ABOUT = (
    "A streaming method learns in steps, and the size of the steps decides how well it learns. This search makes one "
    "run after another with different learning rates and looks for those that predict held-out words best (Bayesian "
    "optimisation)."
)


def show_tuning(workspace: Workspace, dataset: Dataset | None) -> None:
    """Draw the form of a search, and the searches of the workspace, the newest first."""
    st.caption(_ABOUT)
    jobs = workspace.searches.jobs(workspace.key)
    is_searching = any(job.inspect().status.active for job in jobs)
    if not (workspace.view_only or is_searching) and dataset is not None and tunable_methods(dataset):
        _show_form(workspace, dataset)
    show_troubles(workspace, workspace.searches, "search", "tune")
    for job in reversed(jobs):
        _show_search(workspace, dataset, job)


def _show_form(workspace: Workspace, dataset: Dataset) -> None:
    methods = {method.name: method for method in tunable_methods(dataset)}
    names = list(methods)
    # What is entered is kept, as a search that continues takes the place of the form.
    columns = st.columns(5, vertical_alignment="bottom")
    name = columns[0].selectbox(
        "Method to tune", names, index=names.index(_METHOD) if _METHOD in names else 0,
        format_func=lambda name: methods[name].label, key=f"tune_method_{dataset.mark}", persist_state="session",
    )  # fmt: skip
    k = columns[1].number_input(
        "Topics per trial", 1, 5000, 20, key=f"tune_k_{dataset.mark}", persist_state="session"
    )
    trials = columns[2].number_input(
        "Trials", 1, MOST_TRIALS, USUAL_TRIALS, key=f"tune_trials_{dataset.mark}", persist_state="session"
    )
    epochs = columns[3].number_input(
        "Epochs per trial", 1e-3, 1e3, 1.0, 0.5, format="%g", key=f"tune_epochs_{dataset.mark}",
        persist_state="session",
        help="The best learning rates for one epoch may not be the best for many.",
    )  # fmt: skip
    seed = columns[4].number_input(
        "Seed of the search", 0, 2**31 - 1, 0, key=f"tune_seed_{dataset.mark}", persist_state="session"
    )
    tuned = ", ".join(_label_parameters(methods[name]).values())
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            f"Start the search with {methods[name].label}",
            icon=":material/manufacturing:",
            key="tune_start",
            disabled=not dataset.heldout,
        )
        text = "Nothing is held out, so trials cannot be compared. Set a share on the Data page."
        if dataset.heldout:
            split = say.describe_split(dataset)
            text = f"It changes {tuned}, and compares trials by held-out words ({split})."
        st.caption(text, width="content")
    if not pressed:
        return
    try:
        what = plan_search(
            dataset.data, name, int(trials), epochs=float(epochs), k=int(k), seed=int(seed), **dataset.split
        )
        workspace.require_room()
        workspace.searches.add(workspace.key, what, dataset.name)
    except AcvbError as error:
        st.text(str(error))
        return
    st.rerun()


def _show_search(workspace: Workspace, dataset: Dataset | None, job: StudyJob[Tuning]) -> None:
    """Draw how a search goes, again and again while it does."""
    with st.container(border=True, key=f"tune_{job.id}"):
        name = clean_name(workspace.searches.name(job.id)) or "data"
        st.caption(f"{name} · {say.ago(job.created)}")

        def draw(seen: StudyState[Tuning]) -> None:
            show_study_bar(
                workspace, workspace.searches, job, seen, prefix="tune", text=_describe_state(job, seen),
                nouns=("search", "trial"),
            )  # fmt: skip
            _show_trials(job, seen)

        follow_study(job, draw)
        seen = job.inspect()
        if not seen.status.active and seen.study.best_trial is not None:
            _show_answer(workspace, dataset, job, seen)


def _show_trials(job: StudyJob[Tuning], seen: StudyState[Tuning]) -> None:
    """Draw why a search failed, and the figure of its trials."""
    if seen.error is not None:
        st.text(seen.error)
    if seen.study.trials:
        method = method_row(job.plan.model, job.plan.method)
        log = [one.name for one in method.tuned if one.log]
        figure = tuning_figure(
            seen.study.table(), labels=_label_parameters(method), log=log, uirevision=job.id
        )
        live_plot(figure, key=f"tune_{job.id}_figure")
    elif seen.status.active:
        st.caption("The first trial uses the default learning rates.")


def _describe_state(job: StudyJob[Tuning], seen: StudyState[Tuning]) -> str:
    """Return how far the search is, and the best perplexity so far."""
    label = method_row(job.plan.model, job.plan.method).label
    if seen.status is Status.QUEUED:
        text = say.describe_wait(job)
    elif seen.number is not None:
        text = f"{label}: trial {seen.number:,} of {seen.planned:,}"
    else:
        text = f"{label}: {say.count(seen.study.n_runs, 'trial')} of {seen.planned:,} done"
        if seen.status is Status.INTERRUPTED:
            text = f"Interrupted · {text}"
    best = seen.study.best_trial
    return text if best is None else f"{text} · best perplexity so far {write_number(best.perplexity)}"


def _show_answer(
    workspace: Workspace, dataset: Dataset | None, job: StudyJob[Tuning], seen: StudyState[Tuning]
) -> None:
    """Draw the best steps, and what puts them into the form of the runs."""
    method = method_row(job.plan.model, job.plan.method)
    best, labels = seen.study.best_trial, _label_parameters(method)
    assert best is not None
    steps = ", ".join(f"{labels[name]} {value:.4g}" for name, value in best.values.items())
    st.caption(f"Best: trial {best.number:,}. {steps}. {TOO_GOOD}")
    values: dict[str, Any] = {**job.plan.fixed, **best.values}
    if dataset is not None and method in tunable_methods(dataset) and not workspace.view_only:
        st.button(
            "Use these settings", type="primary", icon=":material/check:", key=f"tune_{job.id}_use",
            on_click=_use_settings, args=(dataset, method, values, job.id),
            help="Fills them into the form for new runs, above.",
        )  # fmt: skip
        if st.session_state.get(_USED) == job.id:
            st.caption("The form for new runs, above, has these settings.")


def _use_settings(dataset: Dataset, method: MethodSpec, values: dict[str, Any], search: str) -> None:
    st.session_state[_USED] = search
    numbers = {name: value for name, value in values.items() if not isinstance(value, str | bool)}
    forms.fill_form(method, numbers, dataset.mark)
    forms.fill_widget(methods_key(method.model, dataset), [method.name])
    st.session_state["new_runs"] = True


def _label_parameters(method: MethodSpec) -> dict[str, str]:
    """Return what the parameters that are tuned are called."""
    tuned = {one.name for one in method.tuned}
    return {parameter.name: parameter.label for parameter in method.parameters if parameter.name in tuned}
