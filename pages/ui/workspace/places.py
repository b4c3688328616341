"""The choice where the runs of a workspace compute: this machine, or the cluster that the app was told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from acvb_core.core.errors import AcvbError
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace

if TYPE_CHECKING:
    from acvb_core.shards.dask import DaskWorker

_CHOICE = "place"


def show_places(workspace: Workspace) -> None:
    """Draw the choice, folded; nothing where there is no cluster, or for a viewer."""
    places = services.places()
    if not places.scheduler or workspace.view_only:
        return
    st.session_state[_CHOICE] = places.is_elsewhere(workspace.key)
    with st.expander("Where runs compute", icon=":material/dns:", key="places", on_change="rerun") as opened:
        if opened.open:
            st.radio(
                "Where runs compute", [True, False], format_func=_name_place, key=_CHOICE, on_change=_choose,
                args=(workspace,), horizontal=True, label_visibility="collapsed",
            )  # fmt: skip
            st.caption("For new runs, experiments and searches.")
            _show_cluster()


def _name_place(elsewhere: bool) -> str:
    return "The cluster" if elsewhere else "This machine"


def _choose(workspace: Workspace) -> None:
    workspace.check_owner()
    services.places().choose(workspace.key, st.session_state[_CHOICE])


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
