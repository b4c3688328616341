"""Progress and buttons of experiments and searches, and those that cannot be read: alike on both pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import Status
from acvb_core.engine.study import StudyJob, StudyState
from acvb_core.store.studies import StudyStore
from pages.ui.shared.absent import once
from pages.ui.shared.refresh import refresh
from pages.ui.shared.workspace import Workspace

_REFRESH_SECONDS = 1.0
Store = StudyStore[Any, Any]


def is_moving(job: StudyJob[Any]) -> bool:
    """Return whether a study is under way and not paused."""
    status = job.inspect().status
    return status.active and status is not Status.PAUSED


def follow_study(job: StudyJob[Any], draw: Callable[[StudyState[Any]], None]) -> None:
    """Draw a study, and draw it again while it moves; once it stops or continues, the page is drawn again."""
    busy = is_moving(job)

    def panel() -> None:
        if is_moving(job) != busy:
            st.rerun()
        draw(job.inspect())

    refresh(panel, _REFRESH_SECONDS if busy else None)


def show_troubles(workspace: Workspace, store: Store, noun: str, prefix: str) -> None:
    """Draw why a study could not be deleted, and which studies cannot be read; `prefix` begins the keys."""
    if f"{prefix}_trouble" in st.session_state:
        st.error(f"The {noun} could not be deleted.", icon=":material/error:")
        st.text(st.session_state.pop(f"{prefix}_trouble"))
    for job_id, why in store.unreadable(workspace.key).items():
        article = "An" if noun[0] in "aeiou" else "A"
        st.warning(f"{article} {noun} could not be read:", icon=":material/warning:")
        st.text(why)
        given = (workspace, store, job_id, prefix)
        st.button("Delete it", key=f"{prefix}_drop_{job_id}", on_click=_remove, args=given)


def _remove(workspace: Workspace, store: Store, job_id: str, prefix: str) -> None:
    try:
        store.remove(workspace.key, job_id)
    except AcvbError as error:
        st.session_state[f"{prefix}_trouble"] = str(error)


def show_study_bar(
    workspace: Workspace,
    store: Store,
    job: StudyJob[Any],
    seen: StudyState[Any],
    *,
    prefix: str,
    text: str,
    nouns: tuple[str, str],
) -> None:
    """Draw how far a study is, in a text, and its buttons."""
    over, (study, part) = seen.study.n_runs, nouns
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        share = seen.done if seen.status.active else min(over / seen.planned, 1.0)
        st.progress(share, text=text, width="stretch")
        if workspace.view_only:
            return
        key = f"{prefix}_{job.id}"
        with st.container(horizontal=True, width="content"):
            play = ":material/play_arrow:"
            if seen.status is Status.PAUSED:
                st.button("Resume", icon=play, key=f"{key}_resume", on_click=once(job.resume))
            elif seen.status.active:
                st.button("Pause", icon=":material/pause:", key=f"{key}_pause", on_click=once(job.pause))
            if seen.status.active:
                kept = f"Finished {part}s are kept. The {study} can continue later."
                st.button("Stop", icon=":material/stop:", key=f"{key}_stop", on_click=job.stop, help=kept)
                return
            if job.can_go_on:
                st.button("Continue", icon=play, key=f"{key}_go_on", on_click=once(job.go_on))
            with st.popover("Delete", icon=":material/delete:"):
                st.write(f"Delete this {study} with {over:,} {part}{'' if over == 1 else 's'}?")
                if st.button("Delete", type="primary", key=f"{key}_delete"):
                    _remove(workspace, store, job.id, prefix)
                    st.rerun()  # the whole page: the buttons are in a part of it that is drawn by itself
