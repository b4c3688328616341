"""The sidebar of every page: the data in use, what computes and where, and the links that share the workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.engine.executor import BackgroundTask, Status
from acvb_core.store.files import explain_error
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.model_pages import answer_pages
from pages.ui.shared.picking import PAGE_DATA
from pages.ui.shared.refresh import refresh
from pages.ui.shared.workspace import Workspace, answer_id, view_id
from pages.ui.workspace.dataset import DATA, RUN, TAB, Dataset
from pages.ui.workspace.entrance import ABSENT, ANSWER, FULL, LOST, VIEW, remember_workspace

if TYPE_CHECKING:
    from acvb_core.shards.dask import DaskWorker

_CHOICE = "data_in_use"
_PLURALS = {"search": "searches"}


def count_moving_jobs(workspace: Workspace) -> Counter[str]:
    """Return how many runs, experiments and searches are started or queued and not paused, by these nouns."""
    moving = Counter(run=sum(_is_moving(job.outline.status) for job in workspace.jobs))
    jobs: dict[str, Iterable[BackgroundTask[Any]]] = {
        "experiment": workspace.experiments.jobs(workspace.key),
        "search": workspace.searches.jobs(workspace.key),
    }
    moving.update(
        {noun: sum(_is_moving(job.inspect().status) for job in some) for noun, some in jobs.items()}
    )
    return +moving


def _is_moving(status: Status) -> bool:
    return status.active and status is not Status.PAUSED


def _show_data_problem(workspace: Workspace) -> None:
    """Draw why the data could not be saved or read, and what can be done."""
    saved = workspace.dataset is None
    st.badge("not read" if saved else "not saved", icon=":material/error:", color="red")
    st.caption("Choose the data again." if saved else "The data are gone when the app ends.")
    with st.popover("Why", type="tertiary"):
        st.text(workspace.data_problem)
    if not saved:
        st.button("Save again", icon=":material/save:", key="save_data", on_click=workspace.save_dataset)


def _show_data(workspace: Workspace) -> None:
    """Draw the data in use, which all pages are about; where there are others, as a choice."""
    dataset = workspace.dataset
    names = say.name_data(workspace.data_names)
    if len(names) > (dataset is not None):
        key = _name_list(dataset)
        st.session_state[key] = None if dataset is None else dataset.data.fingerprint
        st.selectbox(
            "Data", list(names), index=None if dataset is None else 0, format_func=names.__getitem__, key=key,
            on_change=_use_choice, args=(workspace, key), placeholder="No data chosen yet",
            help="What all pages of this tab are about, and what new runs are made of.",
        )  # fmt: skip
        if dataset is not None:
            st.caption(dataset.data.size_text)
    elif dataset is None:
        st.caption("No data chosen yet")
    else:
        st.caption("Data")
        st.text(dataset.name)
        st.caption(dataset.data.size_text)


def _name_list(dataset: Dataset | None) -> str:
    """Return the key of the list of data sets, another one for each that is in use."""
    return f"{_CHOICE}_{'' if dataset is None else dataset.mark}"


def _use_choice(workspace: Workspace, key: str) -> None:
    # With a press, a browser sends what the list shows, which may be the data before those in use.
    if key == _name_list(workspace.dataset):
        workspace.use_data(st.session_state[key])


def _is_loading(workspace: Workspace) -> bool:
    loading = services.loadings().get(workspace.key)
    return loading is not None and not loading.is_over


def _show_loading(workspace: Workspace) -> None:
    """Draw which file is being loaded, or why one could not be that nobody waited for."""
    loading = services.loadings().get(workspace.key)
    if workspace.view_only or loading is None:
        return
    if not loading.is_over:
        st.badge(
            "loading", icon=":material/upload:", color="blue", help="It continues when you leave the page."
        )
        st.text(loading.name)
    elif loading.error is not None and not loading.was_seen:
        st.badge("not loaded", icon=":material/error:", color="red")
        st.text(loading.name)
        with st.popover("Why", type="tertiary"):
            st.text(explain_error(loading.error))


def show_sidebar(workspace: Workspace, page: str) -> None:
    """Draw the part of the sidebar below the navigation, on the page with this address."""
    busy = bool(count_moving_jobs(workspace)) or _is_loading(workspace)

    def jobs() -> None:
        now, loads = count_moving_jobs(workspace), _is_loading(workspace)
        if busy and not (now or loads):
            st.rerun()
        _show_loading(workspace)
        held = sum(job.outline.status is Status.PAUSED for job in workspace.jobs)
        for noun, number in now.items():
            named = say.count(number, noun, _PLURALS.get(noun))
            st.badge(f"{named} active", icon=":material/sync:", color="blue")
        if held and not now:
            st.badge(f"{say.count(held, 'run')} paused", icon=":material/pause:", color="orange")
        elif not (now or loads):
            st.caption("Nothing is running")
        if unsaved := len(workspace.runs.unsaved_runs(workspace.key)):
            st.badge(
                f"{say.count(unsaved, 'run')} not saved", icon=":material/error:", color="red",
                help="The Run page says why, and can save them again.",
            )  # fmt: skip

    with st.sidebar:
        with st.container(border=True, gap="xsmall", key="sidebar_state"):
            _show_data(workspace)
            # A page that shows a run on other data says so here.
            st.session_state[PAGE_DATA] = st.container(gap="xsmall")
            if workspace.data_problem is not None:
                _show_data_problem(workspace)
            refresh(jobs, 2.0 if busy else None)
        show_places(workspace)
        show_share_links(workspace, page)
        remember_workspace(workspace)


_PLACE = "place"


def show_places(workspace: Workspace) -> None:
    """Draw the choice, folded; nothing where there is no cluster, or for a viewer."""
    places = services.places()
    if not places.scheduler or workspace.view_only:
        return
    st.session_state[_PLACE] = places.is_elsewhere(workspace.key)
    with st.expander("Where runs compute", icon=":material/dns:", key="places", on_change="rerun") as opened:
        if opened.open:
            st.radio(
                "Where runs compute", [True, False], format_func=_name_place, key=_PLACE, on_change=_choose_place,
                args=(workspace,), horizontal=True, label_visibility="collapsed",
            )  # fmt: skip
            st.caption("For new runs, experiments and searches.")
            _show_cluster()


def _name_place(elsewhere: bool) -> str:
    return "The cluster" if elsewhere else "This machine"


def _choose_place(workspace: Workspace) -> None:
    workspace.check_owner()
    services.places().choose(workspace.key, st.session_state[_PLACE])


def _show_cluster() -> None:
    places = services.places()
    try:
        cluster = places.connect()
        workers = cluster.list_workers()
    except AcvbError as error:
        st.badge("No answer", icon=":material/error:", color="red")
        st.text(str(error))
        st.button("Try again", icon=":material/refresh:", key="try_scheduler", on_click=places.try_again)
        return
    able = [worker for worker in workers if worker.refusal is None]
    cores, memory = sum(worker.cores for worker in able), sum(worker.memory for worker in able)
    room = f" · {say.size(memory)} of memory" if memory else ""
    st.text(f"{places.scheduler}\n{say.count(len(able), 'worker')} · {say.count(cores, 'core')}{room}")
    if cluster.client.dashboard_link is not None:
        st.link_button(
            "Dask's dashboard", cluster.client.dashboard_link, icon=":material/monitoring:", width="stretch"
        )
    _show_remarks(workers)


def _show_remarks(workers: list[DaskWorker]) -> None:
    """Say which workers compute nothing, and which may give other last bits."""
    if not workers:
        st.caption("No worker is there yet. Runs wait for one.")
    for worker in workers:
        if worker.refusal is not None:
            st.badge("Not used", icon=":material/block:", color="orange")
            st.text(f"{worker.address}: {worker.refusal}")
    others = {worker.differences: worker.address for worker in workers if worker.differences}
    for differences, address in others.items():
        st.badge("Last bits may differ", icon=":material/info:", color="gray")
        st.text(f"{address}: {'; '.join(differences)}")


_OWN = "[Open your own workspace](./)"


def show_share_links(workspace: Workspace, page: str) -> None:
    """Draw the popover with the links to a page of a workspace that has something to see; nothing for a viewer."""
    if not workspace.view_only:
        st.fragment(_show_links)(workspace, page)


def _show_links(workspace: Workspace, page: str) -> None:
    # They are drawn again when the popover is opened: by then the page knows the run that it shows.
    with st.popover("Share", icon=":material/share:", key="share", width="stretch", on_change="rerun"):
        if workspace.dataset is None and not workspace.jobs:
            st.caption("Nothing to share yet. Load data or start a run first.")
            return
        st.markdown("**View-only link**")
        st.caption(
            "Whoever has it sees this page, the data, the runs and the answers, and can change nothing."
        )
        st.code(_write_link(page, VIEW, view_id(workspace.key)), language=None, wrap_lines=True)
        run = st.session_state[TAB].address.get(RUN, "")
        if page in {PurePath(path).stem for path in answer_pages()} and run:
            st.markdown("**Link to this answer**")
            st.caption("Whoever has it sees this answer and its data, and nothing else of the workspace.")
            st.code(_write_link(page, ANSWER, answer_id(workspace.key, run)), language=None, wrap_lines=True)
        st.markdown("**Full link**")
        st.caption("Whoever has it can do all that you can, deleting included. It works like a password.")
        st.code(_write_link(page, FULL, workspace.key), language=None, wrap_lines=True)


def _write_link(page: str, name: str, value: str) -> str:
    """Return the address of a page with a workspace, the data in use and the run shown, as this browser reaches it."""
    home = (st.context.url or "").removesuffix(page).rstrip("/")
    address = dict(st.session_state[TAB].address)
    if name == ANSWER:
        address.pop(DATA, None)  # those in use, perhaps others than the answer's
    return f"{home}/{page}?{urlencode({name: value} | address)}"


def show_arrival(workspace: Workspace, page: str) -> None:
    """Say at the top of the page at an address that it only shows a workspace, or that a link has led nowhere."""
    state = st.session_state
    if state.get(ABSENT, (page,))[0] != page:
        del state[ABSENT]
    if workspace.view_only:
        what = "a shared workspace" if workspace.only is None else "one shared answer"
        st.info(
            f"You are viewing {what}. Nothing can be changed here. {_OWN}",
            icon=":material/visibility:",
        )
    elif state.get(LOST) in (True, page):
        state[LOST] = page
        st.warning(
            "This view-only link leads to no workspace. It is incomplete, or what it showed was deleted. This is your "
            "own workspace.",
            icon=":material/link_off:",
        )
    else:
        state.pop(LOST, None)
    if workspace.has_lost_data:
        st.warning(
            "The data of this tab are no longer in this workspace. They were removed, perhaps in another tab. Choose "
            "data in the sidebar or on the Data page before you continue.",
            icon=":material/link_off:",
        )
