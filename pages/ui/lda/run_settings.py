"""Parts of the Run page for texts: the topics that a run starts from, and the search for better learning rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from acvb_core.core.display import write_number
from acvb_core.core.errors import AcvbError
from acvb_core.core.spec import MethodSpec
from acvb_core.engine.executor import Status
from acvb_core.engine.history import TOO_GOOD
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import clean_name
from acvb_core.engine.result import Result
from acvb_core.engine.study import StudyJob, StudyState
from acvb_core.engine.tuning import Tuning, plan_search
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.registry import method_row
from acvb_core.store.topics import load_model
from acvb_core.views.studies import tuning_figure
from acvb_core.views.theme import isolate
from pages.ui.running import forms
from pages.ui.running.live import live_plot
from pages.ui.running.setup import methods_key, tunable_methods
from pages.ui.running.studies import follow_study, show_study_bar, show_troubles
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import StartChoice
from pages.ui.shared.picking import Key, answer_key, choose_one, list_runs, read_answer
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset

ANEW, FILE = "anew", "file"
_START_HELP = (
    "Continue from trained topics, with other documents or another method; new words are added. Choose one of your "
    "runs, or a model file that you downloaded on the Topics page."
)


def choose_start(workspace: Workspace, dataset: Dataset, chosen: Sequence[MethodSpec]) -> StartChoice:
    """Draw the choice; return what to start from, and the methods that can."""
    methods = list(chosen)
    runs = {job.id: job for job in list_runs(workspace, "lda") if _has_topics(job)}
    labels = say.label_runs(list(runs.values()))

    def label(option: str) -> str:
        if option in runs:
            data = isolate(runs[option].outline.data_name)
            return f"{labels[option]} · {_count_topics(runs[option])} of {data}"
        return {ANEW: "New model", FILE: "Model file"}[option]

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="start_from_row"):
        options, key = [ANEW, *reversed(runs), FILE], f"start_from_{dataset.mark}"
        where = choose_one("Start from", options, label, key, width=420, help=_START_HELP)
    if where == ANEW:
        return StartChoice(None, {}, methods)
    trained = _upload_model() if where == FILE else _take_from_run(runs[where])
    if trained is None:
        return StartChoice(None, {}, [])
    able = [method for method in methods if method.build_from is not None]
    _describe(trained, dataset, able, [method for method in methods if method.build_from is None])
    return StartChoice(trained, {"k": trained.n_topics}, able)


def _has_topics(job: Job) -> bool:
    return job.outline.verdict is not None and job.outline.has_answer


def _count_topics(job: Job) -> str:
    return say.count(int(job.outline.spec.values["k"]), "topic")


def _take_from_run(job: Job) -> TrainedTopics | None:
    result = read_answer(job)
    return None if result is None else _extract_topics(answer_key(job, result), result)


@st.cache_resource(show_spinner=False, max_entries=4)
def _extract_topics(key: Key, _result: Result) -> TrainedTopics:
    return trained_topics(_result)


def _upload_model() -> TrainedTopics | None:
    text = "The file model.npz of a run, from the Topics page."
    given = st.file_uploader("Model file", type=["npz"], key="start_file", help=text)
    if given is None:
        st.caption("Choose a model file.")
        return None
    try:
        return _load(str(getattr(given, "file_id", given.name)), given.name, given)
    except AcvbError as error:
        with st.container(border=True, gap="xsmall", key="start_problem"):
            st.badge("We couldn't read a model from this file", icon=":material/error:", color="red")
            st.text(str(error))
            st.caption("You find the model of a run on the Topics page: *The model*, under *Download*.")
        return None


@st.cache_resource(show_spinner=False, max_entries=4)
def _load(file_id: str, name: str, _file: Any) -> TrainedTopics:
    _file.seek(0)
    return load_model(_file, name)


def _describe(
    trained: TrainedTopics, dataset: Dataset, able: Sequence[MethodSpec], unable: Sequence[MethodSpec]
) -> None:
    """Say what runs start from, and what that means for these data and methods."""
    st.text(f"{trained.label}, {len(trained.vocabulary):,} words")  # the name is the user's
    vocabulary = dataset.data.vocabulary
    new = int((trained.find_places(vocabulary) < 0).sum())
    gone = len(trained.words_missing_from(vocabulary))
    said = [f"The new runs start from these {say.count(trained.n_topics, 'topic')}."]
    if new:
        said.append(f"{say.count(new, 'word')} in your data {'is' if new == 1 else 'are'} new to the model.")
    if gone:
        words = say.count(gone, "word of the model is", "words of the model are")
        said.append(f"{words} not in your data; streaming methods keep {'it' if gone == 1 else 'them'}.")
    if dataset.heldout and trained.fingerprint == dataset.data.fingerprint:
        said.append(
            "The model was trained on all of these data, including what is now held out. Its scores will look too good."
        )
    st.caption(" ".join(said))
    if unable:
        names = " and ".join(method.label for method in unable)
        st.caption(
            f"{names} cannot start from trained topics and {'is' if len(unable) == 1 else 'are'} left out."
            + ("" if able else " Choose SDM, for example.")
        )


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
