"""Runs that were deleted, damaged or interrupted, and what else the user should know of what is kept."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.store.jobs import AbsentRun
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace, current_workspace

_TROUBLE = "run_trouble"


def try_action(action: Callable[..., object], *arguments: object) -> None:
    """Do what a button says; why it could not be done is shown by `show_deleted_runs`."""
    st.session_state.pop(_TROUBLE, None)
    try:
        action(*arguments)
    except ValueError:
        pass
    except AcvbError as error:
        st.session_state[_TROUBLE] = str(error)


def once(action: Callable[..., object]) -> Callable[..., None]:
    """Return a function that does an action on its first call only.

    Streamlit may handle a press a second time, along with the next one: Resume was followed by the Pause before it.
    """
    done: list[bool] = []

    def act(*arguments: object) -> None:
        if not done:
            done.append(True)
            action(*arguments)

    return act


def show_deleted_runs(workspace: Workspace) -> None:
    """Draw what was deleted last, with the button that brings it back, and the others in a list."""
    if _TROUBLE in st.session_state:
        st.error("That could not be done:", icon=":material/error:")
        st.text(st.session_state[_TROUBLE])
    runs = workspace.runs.deleted_runs(workspace.key)
    if not runs:
        return
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", border=True, key="deleted_runs"
    ):
        last = runs[-1]
        st.text(f"Deleted {last.name}.", width="content")
        _show_undo(workspace, last, "undo")
        with st.popover(f"All {len(runs):,} deleted" if len(runs) > 1 else "More", type="tertiary"):
            for run in reversed(runs):
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    st.text(f"{run.name}, deleted {say.ago(run.since)}", width="content")
                    _show_undo(workspace, run, "undo_listed")
            st.caption("Deleted runs are kept for a day.")
            st.button(
                "Delete for good now", icon=":material/delete_forever:", key="delete_for_good", on_click=try_action,
                args=(workspace.runs.delete_for_good, workspace.key),
            )  # fmt: skip


def _show_undo(workspace: Workspace, run: AbsentRun, key: str) -> None:
    st.button(
        "Undo", icon=":material/undo:", key=f"{key}_{run.job_id}", on_click=try_action,
        args=(workspace.runs.restore, workspace.key, run.job_id),
    )  # fmt: skip


def show_store_notices() -> None:
    """Draw what became of a damaged list of runs, and why nothing can be saved, if that is so; nothing for a viewer."""
    if current_workspace().view_only:
        return
    store = services.store()
    for notice in store.notices:
        st.warning("The list of runs was repaired.", icon=":material/build:")
        st.text(notice)
    if store.unwritable is not None:
        st.warning("Nothing can be saved. New runs are gone when the app ends.", icon=":material/warning:")
        st.text(store.unwritable)


def show_interrupted_runs(workspace: Workspace) -> None:
    """Draw how many runs were interrupted, with one button that continues them all."""
    runs = [job for job in workspace.jobs if job.can_continue]
    if workspace.view_only or not runs:
        return

    def continue_all() -> None:
        for job in runs:
            try_action(job.continue_run)

    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", border=True, key="interrupted_runs"
    ):
        were, them = ("was", "it") if len(runs) == 1 else ("were", "them all")
        when = "" if any(job.outline.error for job in runs) else " when the app ended"
        st.text(f"{say.count(len(runs), 'run')} {were} interrupted{when}.", width="content")
        st.button(
            f"Continue {them}", icon=":material/play_arrow:", key="continue_all", on_click=continue_all,
            help="Each continues from where it was last saved, to the result it would have had",
        )  # fmt: skip


def show_damaged_runs(workspace: Workspace) -> None:
    """Draw a box for each stored run that could not be read: why, and what can be done."""
    for run in workspace.runs.unreadable_runs(workspace.key):
        with st.container(border=True, gap="small", key=f"damaged_{run.job_id}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(f"<span class='run-name'>{run.name}</span>", width="content")
                st.badge(
                    "damaged", icon=":material/warning:", color="red", help="Its files could not be read."
                )
            st.text(run.why)
            with st.container(horizontal=True, horizontal_alignment="distribute"):
                st.button(
                    "Try again", icon=":material/refresh:", key=f"again_{run.job_id}", on_click=try_action,
                    args=(workspace.runs.load_again, workspace.key, run.job_id),
                    help="After you have put a copy back.",
                )  # fmt: skip
                st.button(
                    "Delete", icon=":material/delete:", key=f"remove_{run.job_id}", on_click=try_action,
                    args=(workspace.runs.remove, workspace.key, run.job_id), help="You can undo it.",
                )  # fmt: skip
