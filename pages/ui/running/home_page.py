"""Home: what the program does, with a picture of a result; where to begin; and the recent runs."""

from __future__ import annotations

import streamlit as st

from acvb_core.engine.result import Result
from pages.ui.running.forms import fill_widget
from pages.ui.running.run_table import select_runs
from pages.ui.shared import format as say
from pages.ui.shared.absent import show_deleted_runs, show_store_notices
from pages.ui.shared.charts import show_figure
from pages.ui.shared.empty import show_comparison_button
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.model_pages import Picture, all_model_pages, pages_of_model, pages_of_run
from pages.ui.shared.picking import Key, answer_key, open_run, read_answer
from pages.ui.shared.workspace import Workspace, current_workspace

RECENT = 8
SENTENCE = "Find {promises}, and see how far you can trust them."


def show_recent_runs(workspace: Workspace) -> None:
    """Draw the newest runs; a row that is selected opens its run."""
    jobs = workspace.jobs
    newest = jobs[: -RECENT - 1 : -1]
    unsaved = workspace.runs.unsaved_runs(workspace.key)
    for job in select_runs(newest, unsaved, "recent_runs", mode="single-row", title="the newest"):
        if job.outline.has_answer:
            open_run(job)
        st.info("This run has no answer yet.", icon=":material/hourglass_top:")
    st.caption("Select a row to open the run.")
    if len(jobs) > RECENT:
        st.page_link("pages/runs.py", label=f"All {len(jobs):,} runs", icon=":material/list:")


def show_home() -> None:
    """Draw the page."""
    workspace = current_workspace()
    words, picture = st.columns([2, 3], gap="large", vertical_alignment="center")
    with words:
        st.title("ACVB", anchor=False, help="Averaged collapsed variational Bayes")
        promises = [pages.promise for pages in all_model_pages().values() if pages.promise]
        st.markdown(SENTENCE.format(promises=say.join_names(promises)))
        if not workspace.view_only:
            _show_beginning(workspace)
    with picture:
        _show_picture(workspace)
    st.subheader("Recent runs", anchor=False)
    show_store_notices()
    show_deleted_runs(workspace)
    if unreadable := len(workspace.runs.unreadable_runs(workspace.key)):
        why = f"{say.count(unreadable, 'run')} could not be read. The Runs page says why."
        st.warning(why, icon=":material/warning:")
    if workspace.jobs:
        show_recent_runs(workspace)
    elif workspace.view_only:
        st.caption("None yet.")
    else:
        st.caption(
            "None yet. A run continues when you close the tab, and you find it here when you come back."
        )


def _show_beginning(workspace: Workspace) -> None:
    """Draw the buttons with which one begins."""
    with st.container(horizontal=True, gap="small", key="begin"):
        if st.button("Upload your data", type="primary", icon=":material/upload:", key="begin_upload"):
            fill_widget("source", "Upload")
            st.switch_page("pages/data.py")
        with st.popover("Try an example", icon=":material/play_arrow:", key="examples"):
            for pages in all_model_pages().values():
                if pages.demonstration is not None:
                    show_comparison_button(workspace, pages.model, primary=False)
                    st.caption(pages.demonstration.help)


@contain_failure()
def _show_picture(workspace: Workspace) -> None:
    """Draw a result as a picture: of the newest run that has one, or else of a sample."""
    ended = (job for job in reversed(workspace.jobs) if job.outline.verdict is not None)
    job = next((job for job in ended if pages_of_run(job).picture is not None), None)
    result = None if job is None else read_answer(job)
    if job is None or result is None:
        picture = _draw_sample()
    else:
        picture = _draw_run(answer_key(job, result), pages_of_run(job).model, result)
    with st.container(key="picture"):
        sorted_alt = "The same data sorted by cluster: the links form blocks."
        for key, figure, name, alt in (
            ("before", picture.before, "As read", "The data in the order of the file."),
            ("after", picture.after, "Sorted by cluster", sorted_alt),
        ):
            with st.container(gap="xsmall", key=f"picture_{key}"):
                st.caption(name)
                show_figure(figure, f"picture_{key}_chart", alt)
    with st.container(key="picture_name"):
        st.text(picture.caption)  # it quotes the name of the data


@st.cache_resource(show_spinner=False, max_entries=8)
def _draw_run(key: Key, model: str, _result: Result) -> Picture:
    draw = pages_of_model(model).picture
    assert draw is not None
    return draw(_result)


@st.cache_resource(show_spinner=False)
def _draw_sample() -> Picture:
    """Return the picture of the first model that has one, of a sample."""
    return next(pages.picture(None) for pages in all_model_pages().values() if pages.picture is not None)
