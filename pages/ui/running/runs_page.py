"""Runs: all runs of the workspace in one list, to search, open, compare, name, delete and take along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import streamlit as st

from acvb_core.engine.job import Job
from acvb_core.engine.prepared import MOST_CHARACTERS
from acvb_core.store.export import csv_text, zip_runs
from pages.ui.running.archives import show_archive_button, show_archives
from pages.ui.running.run_table import ORDERS, Grid, fold_grids, select_runs, sort_runs, tabulate_runs
from pages.ui.shared import format as say
from pages.ui.shared.absent import (
    show_damaged_runs,
    show_deleted_runs,
    show_interrupted_runs,
    show_store_notices,
    try_action,
)
from pages.ui.shared.empty import show_empty_state
from pages.ui.shared.model_pages import models_on, pages_of_run
from pages.ui.shared.picking import follow_runs, open_run, read_answer
from pages.ui.shared.workspace import Workspace, current_workspace

#: Tables that are drawn at once; a table has any number of runs.
TABLES_ON_PAGE = 12
GROUPS = ("Data", "Status", "Method", "Nothing")


class Filters(NamedTuple):
    """The runs that the user wants to see, and how."""

    text: str
    data: list[str]
    methods: list[str]
    statuses: list[str]
    order: str
    group: str

    def accept(self, job: Job, data: str) -> bool:
        """Return whether a run on data of this name is wanted; an empty choice takes all."""
        label = job.label
        words = " ".join([label.name, label.note, *label.tags, data]).casefold()
        return (
            all(word in words for word in self.text.casefold().split())
            and (not self.data or data in self.data)
            and (not self.methods or job.outline.row.label in self.methods)
            and (not self.statuses or _status(job) in self.statuses)
        )


def _status(job: Job) -> str:
    return say.describe_state(job.outline).text


def show_runs_page() -> None:
    """Draw the page."""
    workspace = current_workspace()
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title("Runs", anchor=False, width="content")
        place = st.container(width="content")
    show_archives(workspace, place)
    show_store_notices()
    show_damaged_runs(workspace)
    show_interrupted_runs(workspace)
    show_deleted_runs(workspace)
    jobs = workspace.jobs
    if not jobs:
        show_empty_state(
            "No runs yet",
            "All your runs appear here, whatever data they are on. Start one on the Run page, or try an example on the "
            "Home page.",
            icon=":material/list:",
            actions=lambda: st.page_link("pages/run.py", label="Start a run", icon=":material/play_arrow:"),
        )
        st.stop()
    data = say.name_datasets(jobs)
    filters = _choose_filters(jobs, list(data.values()))
    wanted = [job for job in jobs if filters.accept(job, data[job.outline.fingerprint])]
    actions = st.container(key="run_actions")  # above the tables, so that it stays in sight
    chosen = _show_groups(workspace, sort_runs(wanted, filters.order), filters, data)
    with actions:
        _show_actions(workspace, chosen, wanted)
    follow_runs(lambda: workspace.jobs)


def _choose_filters(jobs: Sequence[Job], data: list[str]) -> Filters:
    """Draw the search and the filters."""
    methods = list(dict.fromkeys(job.outline.row.label for job in jobs))
    statuses = list(dict.fromkeys(map(_status, jobs)))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="run_filters"):
        text = st.text_input(
            "Search",
            key="runs_search",
            placeholder="name, note, tag or data",
            width=260,
            persist_state="session",
        )
        group = st.selectbox("Group by", GROUPS, key="runs_group", width=140, persist_state="session")
        order = st.selectbox(
            "Sort by", ORDERS, key="runs_order", width=200, persist_state="session",
            help="Scores can be compared between runs on the same data that hold out the same part.",
        )  # fmt: skip
        with st.popover("Filter", icon=":material/filter_list:"):
            some_data = st.multiselect("Data", list(dict.fromkeys(data)), key="runs_data")
            some_methods = st.multiselect("Method", methods, key="runs_methods")
            some_statuses = st.multiselect("Status", statuses, key="runs_statuses")
    return Filters(text, some_data, some_methods, some_statuses, order, group)


def _show_groups(
    workspace: Workspace, jobs: Sequence[Job], filters: Filters, data: dict[str, str]
) -> list[Job]:
    """Draw the tables, and return the runs that are selected in them."""
    if not jobs:
        st.info("No run fits the search and the filters.", icon=":material/search_off:")
    group_of: dict[str, Callable[[Job], str]] = {
        "Data": lambda job: data[job.outline.fingerprint],
        "Status": _status,
        "Method": lambda job: job.outline.row.label,
        "Nothing": lambda _: "",
    }
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(group_of[filters.group](job), []).append(job)
    tables: list[tuple[str, str, Grid]] = []
    for number, (title, some) in enumerate(groups.items()):
        heading = f"{title} ({len(some):,})" if title else ""
        alone, grids = fold_grids(some)
        if alone:
            tables.append((heading, f"runs_{number}", Grid("", alone)))
        tables += [(heading, f"runs_{number}_{place}", grid) for place, grid in enumerate(grids)]
    places = st.container()
    shown = choose_page(tables, TABLES_ON_PAGE, "tables_page", "tables")
    draw = partial(
        select_runs, unsaved=workspace.runs.unsaved_runs(workspace.key), data=filters.group != "Data"
    )
    chosen, last = [], ""
    with places:
        for heading, key, (name, some) in shown:
            if heading != last:
                st.subheader(heading, anchor=False)
                last = heading
            if not name:
                chosen += draw(some, key=key, title=heading)
                continue
            with st.expander(f"{name} · {say.count(len(some), 'run')}", icon=":material/grid_on:"):
                chosen += draw(some, key=key, title=name)
    return chosen


def _show_actions(workspace: Workspace, chosen: list[Job], listed: list[Job]) -> None:
    """Draw what can be done with the selected runs."""
    ready = [job for job in chosen if job.outline.has_answer]
    pages = {pages_of_run(job).answer.path for job in ready}
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="run_buttons"):
        if not chosen:
            able = (
                "open, compare or download"
                if workspace.view_only
                else "open, compare, name, delete or download"
            )
            st.caption(f"Select rows to {able} runs.")
        elif st.button(
            "Open", icon=":material/open_in_new:", key="runs_open", type="primary", disabled=len(ready) != 1
        ):
            open_run(ready[0])
        if chosen:
            alike = len(ready) > 1 and len(pages) == 1
            help = None if alike else "Select two runs or more that find the same kind of thing."
            if st.button(
                "Compare", icon=":material/compare_arrows:", key="runs_compare", disabled=not alike, help=help
            ):
                _compare_runs(workspace, ready)
            if not workspace.view_only:
                _show_pin_button(workspace, chosen)
            if ready:
                st.download_button(
                    "Download", partial(_zip_files, ready), "runs.zip", "application/zip", key="runs_zip",
                    icon=":material/download:", on_click="ignore", help="A folder of files for each run.",
                )  # fmt: skip
            show_archive_button(workspace, "Export", chosen, "runs_archive")
        if listed:
            unsaved = workspace.runs.unsaved_runs(workspace.key)
            st.download_button(
                "Download the list", lambda: csv_text(tabulate_runs(listed, unsaved)), "runs.csv", "text/csv",
                key="runs_csv", icon=":material/table:", on_click="ignore",
            )  # fmt: skip
        if chosen and not workspace.view_only:
            st.space("stretch")  # delete stands apart
            st.button(
                f"Delete {say.count(len(chosen), 'run')}", icon=":material/delete:", key="runs_delete",
                on_click=try_action, args=(_delete_runs, workspace, chosen), help="You can undo it.",
            )  # fmt: skip
    if len(chosen) == 1 and not workspace.view_only:
        _edit_label(workspace, chosen[0])


def _edit_label(workspace: Workspace, job: Job) -> None:
    """Draw the name, tags and note of a run, and keep what is entered."""
    label, key = job.label, f"label_{job.id}"
    with st.form(key, border=True):
        name_at, tags_at = st.columns(2)
        name = name_at.text_input("Name", label.name, max_chars=MOST_CHARACTERS, key=f"{key}_name")
        tags = tags_at.text_input(
            "Tags", ", ".join(label.tags), key=f"{key}_tags", placeholder="separated by commas"
        )
        note = st.text_area("Note", label.note, key=f"{key}_note", height=80)
        if st.form_submit_button("Save", icon=":material/save:", key=f"{key}_save"):
            words = tuple(dict.fromkeys(tag.strip() for tag in tags.split(",") if tag.strip()))
            relabel = partial(workspace.runs.relabel, name=name, tags=words, note=note.strip())
            try_action(relabel, workspace.key, job.id)
            st.rerun()


def _show_pin_button(workspace: Workspace, chosen: list[Job]) -> None:
    pin = not all(job.label.pinned for job in chosen)
    st.button(
        "Pin" if pin else "Unpin", icon=":material/push_pin:", key="runs_pin", on_click=try_action,
        args=(_pin_runs, workspace, chosen, pin),
        help="Pinned runs are listed first." if pin else None,
    )  # fmt: skip


def _pin_runs(workspace: Workspace, jobs: Sequence[Job], pinned: bool) -> None:
    for job in jobs:
        workspace.runs.relabel(workspace.key, job.id, pinned=pinned)


def _delete_runs(workspace: Workspace, jobs: Sequence[Job]) -> None:
    for job in jobs:
        workspace.runs.remove(workspace.key, job.id)


def _compare_runs(workspace: Workspace, jobs: Sequence[Job]) -> None:
    """Go to the Compare page, with these runs chosen there."""
    wanted = jobs[-1].outline.fingerprint
    workspace.use_data(wanted)
    kind = models_on(pages_of_run(jobs[0]).answer.path)[0]
    on_it = [job.id for job in workspace.jobs if job.outline.fingerprint == wanted]
    st.session_state[f"compare_offered_{kind}"] = (wanted, on_it)
    st.session_state[f"compare_runs_{kind}"] = [job.id for job in jobs]
    st.switch_page("pages/compare.py")


def _zip_files(jobs: Sequence[Job]) -> bytes:
    labels = say.label_runs(jobs)
    answers = {say.file_name(labels[job.id]): read_answer(job) for job in jobs}
    return zip_runs({name: result for name, result in answers.items() if result is not None})


Item = TypeVar("Item")


def choose_page(items: Sequence[Item], size: int, key: str, noun: str) -> Sequence[Item]:
    """Draw the choice of a page of a list, and return the items on it; all of them, and no choice, if they are few."""
    if len(items) <= size:
        return items
    pages = -(-len(items) // size)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key=f"{key}_row"
    ):
        words = st.empty()
        first = size * (st.pagination(pages, key=key, persist_state="session") - 1)
    shown = items[first : first + size]
    words.caption(f"{first + 1:,} to {first + len(shown):,} of {len(items):,} {noun}", width="content")
    return shown
