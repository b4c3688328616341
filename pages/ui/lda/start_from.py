"""The start of new runs on texts: a new model, or topics that were trained before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.core.spec import MethodSpec
from acvb_core.engine.job import Job
from acvb_core.engine.result import Result
from acvb_core.models.lda.trained import TrainedTopics, trained_topics
from acvb_core.store.topics import load_model
from acvb_core.views.theme import isolate
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import StartChoice
from pages.ui.shared.picking import Key, answer_key, choose_one, list_runs, read_answer
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset

ANEW, FILE = "anew", "file"
_HELP = (
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
        where = choose_one("Start from", options, label, key, width=420, help=_HELP)
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
