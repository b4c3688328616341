"""The parts that all pages of answers share: the choice of a run, its answer so far, and its files."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from acvb_core.core.errors import AcvbError
from acvb_core.engine.history import RaceReport, SweepRecord, Verdict
from acvb_core.engine.job import Job, JobSnapshot
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.result import Result
from acvb_core.store import export
from acvb_core.store.files import StoreError
from acvb_core.store.part_names import MOST_CHARACTERS, GivenNames, PartNames
from acvb_core.views.theme import isolate
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.model_pages import AnswerPage, models_on, pages_of_run
from pages.ui.shared.refresh import refresh
from pages.ui.shared.workspace import Workspace, current_workspace
from pages.ui.workspace.entrance import ABSENT, name_address

#: Key of the place in the sidebar for the data of the page.
PAGE_DATA = "page_data"
#: Seconds between two looks at the runs under way.
FOLLOW_SECONDS = 2.0
#: Said of runs that an address asks for.
_ABSENT = (
    "The address asks for a run that this page cannot show. The run was deleted, has no result yet, or belongs to "
    "other data or another workspace."
)
Choice = TypeVar("Choice", str, int)
#: The key of an answer: the run, its sweep, its verdict, how far a race is, and the names that the user gave.
Key = tuple[str, int, str]


class FileOffer(NamedTuple):
    """A file to download."""

    label: str  #: the program's own words
    end: str  #: of the file's name, "topics.csv"
    kind: str  #: its MIME type
    make: Callable[[], str | bytes]  #: returns the contents; called when the button is pressed
    help: str | None = None  #: one sentence or two about it


def offer_table(label: str, end: str, make: Callable[[], Any]) -> FileOffer:
    """Return a table, which `make` returns, as a CSV file to download."""
    return FileOffer(label, end, "text/csv", lambda: export.csv_text(make()))


def list_runs(workspace: Workspace, *models: str) -> list[Job]:
    """Return the runs of some models, oldest first."""
    return [job for job in workspace.jobs if job.outline.spec.model in models]


def read_answer(job: Job) -> Result | None:
    """Return a run's result, or its answer so far; None before its first sweep."""
    seen = job.inspect()
    if seen.snapshot is None or seen.snapshot.sweep == 0:
        return None
    key = _key(job, seen.prepared, seen.snapshot, seen.race_report)
    result = _build_result(key, job.label.name, seen)
    given = read_given_names(job, result)
    return _name_result(key, job.label.name, repr(given), result, given) if given else result


@st.cache_resource(show_spinner=False, max_entries=24)
def _build_result(key: Key, name: str, _seen: JobSnapshot) -> Result:
    return Result(_seen.run, name)


@st.cache_resource(show_spinner=False, max_entries=24)
def _name_result(key: Key, name: str, names: str, _result: Result, _given: GivenNames) -> Result:
    return replace(_result, given_names=_given)


@services.once_per_process
def open_part_names() -> PartNames:
    """Return the store of the names of all runs' parts; its lock is that of all sessions."""
    return PartNames(services.home())


def read_given_names(job: Job, result: Result) -> GivenNames:
    """Return the names that the user gave to the parts of a run; empty if there are none. Warn if they are damaged."""
    try:
        # Without names, nothing is computed of an answer that may not be looked at.
        return open_part_names().names(job.id, result.marks) if open_part_names().entries(job.id) else {}
    except StoreError as error:
        st.warning("The names that were given could not be read:", icon=":material/warning:")
        st.text(str(error))
        return {}


def show_rename(job: Job, result: Result, domain: str, number: int, label: str) -> None:
    """Draw the button that opens a field for the name of a part; nothing for a viewer.

    `number`: of the part in its domain, from 1. `label`: the field's own ("Name of topic 3").
    """
    if current_workspace().view_only:
        return
    key, given = f"name_{domain}_{job.id}_{number}", result.given_names.get(domain, ())
    if domain in result.arranged:  # the same number is another part
        key += f"_{'-'.join(map(str, result.arranged[domain][number - 1]))}"

    def save() -> None:
        try:
            current_workspace().check_owner()
            open_part_names().rename(job.id, result.marks, domain, number, st.session_state[key])
            st.session_state.pop(f"{key}_trouble", None)
            st.session_state[f"{key}_saved"] = True
        except AcvbError as error:
            st.session_state[f"{key}_trouble"] = str(error)

    if st.session_state.pop(f"{key}_saved", False):
        st.rerun()  # the whole page: the field may be in a fragment, which has the answer with the name before
    with st.popover("Rename", icon=":material/edit:", key=f"rename_{domain}_{number}"):
        st.text_input(
            label,
            (given[number - 1] if given else None) or "",
            max_chars=MOST_CHARACTERS,
            key=key,
            placeholder=result.names[domain][number - 1],
            on_change=save,
            help="Press Enter to save. Every page and file shows the name. Clear the field to get the first one back.",
        )
        if f"{key}_trouble" in st.session_state:
            st.text(st.session_state[f"{key}_trouble"])


def answer_key(job: Job, result: Result) -> Key:
    """Return the key of an answer, another one after each sweep of the run, with other names, parts or documents."""
    job_id, sweep, end = _key(job, result.prepared, result.snapshot, result.state.race_report)
    changed = [dict(part) for part in (result.given_names, result.arranged) if part] + [*result.groups]
    return job_id, sweep, f"{end} {changed}" if changed else end


def _key(job: Job, prepared: PreparedRun, snapshot: SweepRecord, race_report: RaceReport | None) -> Key:
    # While restarts race, the run changes with the lead, and its rivals continue while it waits.
    race = "" if race_report is None else f" of seed {prepared.spec.seed} after {race_report.sweeps}"
    return job.id, snapshot.sweep, f"{snapshot.verdict}{race}"


def choose_way(label: str, ways: Mapping[Any, str], key: str, **more: Any) -> Any:
    """Draw a segmented control of some ways with their texts, of which one is always chosen: first the first."""
    more = {"default": next(iter(ways)), **more}
    return st.segmented_control(
        label, list(ways), format_func=ways.__getitem__, required=True, key=key, **more
    )


def set_choice(key: str, value: Any) -> None:
    """Choose a value for the widget of `widget_of`, from a callback or before the widget is drawn."""
    st.session_state[key] = value
    st.session_state[f"{key}_set"] = st.session_state.get(f"{key}_set", 0) + 1


def widget_of(key: str) -> str:
    """Return the key of the widget for a choice that callbacks make, too (`set_choice`); the choice itself is in `key`.

    With every press, a browser sends the values of all widgets. If the press before has chosen another value, and the
    browser has not drawn it yet, it sends the old one. So the widget is another one after each such choice, and what
    the browser sends for the one before changes nothing.
    """
    return f"{key}_{st.session_state.get(f'{key}_set', 0)}"


def choose_one(
    label: str,
    options: Sequence[Choice],
    shown: Callable[[Choice], str],
    key: str,
    *,
    memory: str = "",
    persist_state: Literal["session"] | None = "session",
    **more: Any,
) -> Choice:
    """Draw a selectbox whose choice outlives a change of what the options are called, and return it.

    The browser knows an option by its text alone. When a run ends or a topic is renamed, what it sends is not an option
    any more; so the choice is stored beside the widget, and put back. Put an option under `key` to choose it. The first
    option is chosen to begin with, and when the one chosen is gone. `memory` is the key under which the choice is
    stored. `more` is for `st.selectbox`.
    """
    memory = memory or f"{key}_kept"
    known = (st.session_state.get(key), st.session_state.get(memory), options[0])
    st.session_state[key] = next(choice for choice in known if choice in options)
    chosen: Choice = st.selectbox(
        label, options, format_func=shown, key=key, persist_state=persist_state, **more
    )
    st.session_state[memory] = chosen
    return chosen


def slide_number(label: str, most: int, key: str, help: str) -> int:
    """Draw a slider from 1 to `most` for a choice that callbacks make, too (`set_choice`), and return the number."""
    widget = widget_of(key)
    st.session_state.setdefault(widget, st.session_state.setdefault(key, most))
    number = int(st.slider(label, 1, most, key=widget, width=300, help=help))
    st.session_state[key] = number
    return number


def choose_run(
    workspace: Workspace,
    page: AnswerPage,
    place: DeltaGenerator,
    show_empty: Callable[[Workspace, AnswerPage], None],
) -> tuple[Job, Result, str]:
    """Draw the choice of a run; return the run, its answer and why it is first. Without runs, end the script.

    A run that another page (`open_run`) or the address of this one has opened is shown. Otherwise the page begins with
    the first run of `order_runs`. A run that the user chose here is shown again until the data in use change or a run
    is added. `show_empty` draws the page without runs.
    """
    name, models = PurePath(page.path).stem, models_on(page.path)
    runs = list_runs(workspace, *models)
    jobs = [job for job in runs if job.outline.has_answer]
    key, asked = f"{name}_run", [] if workspace.tab is None else workspace.tab.take_runs()
    if not jobs:
        name_address()
        if runs:
            _wait_for_answer(workspace, name, models)
        else:
            show_absent_run(name, asked)
            show_empty(workspace, page)
        st.stop()
    dataset = workspace.dataset
    order, reason = order_runs(jobs, None if dataset is None else dataset.data.fingerprint)
    by_id = {job.id: job for job in order}
    _forget_choice(key, (dataset and dataset.data.fingerprint, sorted(job.id for job in runs)))
    if known := [job_id for job_id in asked if job_id in by_id]:
        st.session_state[key] = known[0]
    labels = say.label_runs(jobs)
    descriptions = {job.id: _describe_run(job) for job in jobs}
    with place, st.container(horizontal=True, vertical_alignment="center", gap="small", key="picker"):
        chosen = choose_one(
            "Run", list(by_id), lambda job_id: f"{labels[job_id]} · {descriptions[job_id]}", key, width=480,
            persist_state=None, on_change=_remember_choice, args=(key,), label_visibility="collapsed",
        )  # fmt: skip
        name_address(chosen)
        job = by_id[chosen]
        if job.outline.status.active and st.button(
            "Refresh", icon=":material/refresh:", key=f"{name}_refresh"
        ):
            st.rerun()
    show_absent_run(name, [] if known else asked, chosen)
    follow_runs(lambda: list_runs(workspace, *models))
    name_page_data(workspace, job)
    result = read_answer(job)
    assert result is not None
    return job, result, reason if chosen == order[0].id else ""


def show_absent_run(page: str, asked: Sequence[str], shown: object = None) -> None:
    """Say that the address asked for runs which the page cannot show, as long as it shows these in their place."""
    if asked:
        st.session_state[ABSENT] = (page, shown)
    if st.session_state.get(ABSENT) == (page, shown):
        st.warning(_ABSENT, icon=":material/link_off:")


def open_run(job: Job) -> None:
    """Go to the page that shows a run's answer, and show it there; its data are in use from then on."""
    current_workspace().use_data(job.outline.fingerprint)
    page = pages_of_run(job).answer.path
    st.session_state[f"{PurePath(page).stem}_run"] = job.id
    st.switch_page(page)


def name_page_data(workspace: Workspace, job: Job) -> None:
    """Say in the sidebar which data a page is about, where they are not those in use."""
    place, dataset = st.session_state.get(PAGE_DATA), workspace.dataset
    if place is None or (dataset is not None and dataset.data.fingerprint == job.prepared.fingerprint):
        return
    with place:
        st.caption("This page shows a run on")
        st.text(job.prepared.data.name)
        st.button(
            "Use these data", key="use_page_data", icon=":material/dataset:", on_click=workspace.use_data,
            args=(job.prepared.fingerprint,), help="On all pages, and for new runs.",
        )  # fmt: skip


def _remember_choice(key: str) -> None:
    st.session_state[f"{key}_by_hand"] = True


def _forget_choice(key: str, now: object) -> None:
    """Forget the run that was shown on an earlier visit, unless the user chose it and nothing has changed since.

    Streamlit drops the widget's own state when the page is left: without it, the page was just entered.
    """
    by_hand, seen = f"{key}_by_hand", f"{key}_among"
    state = st.session_state
    if key not in state and not (state.get(by_hand) and state.get(seen) == now):
        state.pop(f"{key}_kept", None)
        state.pop(by_hand, None)
    state[seen] = now


def _wait_for_answer(workspace: Workspace, name: str, models: Sequence[str]) -> None:
    """Say that runs are under way, and nothing can be shown of them yet."""
    st.info("The first sweep is still under way.", icon=":material/hourglass_top:")
    if st.button("Refresh", icon=":material/refresh:", key=f"{name}_wait"):
        st.rerun()
    follow_runs(lambda: list_runs(workspace, *models))


def follow_runs(list_jobs: Callable[[], list[Job]]) -> None:
    """Have the page drawn again when one of these runs is added, gives its first answer, ends or is removed."""

    def list_states() -> list[tuple[str, str, bool]]:
        seen = [(job.id, job.outline) for job in list_jobs()]
        return [(job_id, say.describe_state(now).text, now.sweep is not None) for job_id, now in seen]

    before = list_states()
    if not any(job.outline.status.active for job in list_jobs()):
        return

    def watch() -> None:
        if list_states() != before:
            st.rerun()

    refresh(watch, FOLLOW_SECONDS)


def _describe_run(job: Job) -> str:
    """Return how much a run has found and how it stands, to tell it from others."""
    seen = job.outline
    parts = "" if seen.sweep is None else f"{pages_of_run(job).write_parts(seen.effective_k)} "
    return f"{parts}({say.describe_state(seen).text})"


def show_download(result: Result, offer: FileOffer) -> None:
    """Draw the button of one of a run's files."""
    data = result.prepared.data
    names = [say.file_name(data.name)[:40] or type(data).__name__.lower(), say.file_name(result.label)]
    names += [say.file_name(group)[:40] for _, group in result.groups]
    st.download_button(
        offer.label, offer.make, "-".join([*filter(None, names), offer.end]), offer.kind,
        key=f"file_{offer.end}", icon=":material/download:", on_click="ignore", help=offer.help,
    )  # fmt: skip


def offer_run(result: Result) -> FileOffer:
    """Return the file of the run itself: data, settings and how it went."""
    return FileOffer("The run", "run.json", "application/json", lambda: export.run_json(result))


def offer_arrays(result: Result) -> FileOffer:
    """Return the file of the posterior's arrays."""

    def contents() -> bytes:
        out = io.BytesIO()
        export.write_posterior(result, out)
        return out.getvalue()

    return FileOffer("Arrays", "posterior.npz", "application/octet-stream", contents)


def order_runs(jobs: Sequence[Job], fingerprint: str | None) -> tuple[list[Job], str]:
    """Return runs in the order they are offered, and why the first one is first; "" if there is one run in all.

    The runs on the data in use (or, without such, on the data of the newest run) come before the others: best
    held-out score first, else best lower bound among the runs of the newest one's method, else newest first. Scores
    and bounds are compared within one held-out split. `jobs` has at least one, oldest first. The reason quotes the
    name of the data.
    """
    newest_first = list(reversed(jobs))
    of = next(
        (job for job in newest_first if job.outline.fingerprint == fingerprint), newest_first[0]
    ).outline
    mine = [job for job in newest_first if job.outline.fingerprint == of.fingerprint]
    others = [job for job in newest_first if job.outline.fingerprint != of.fingerprint]
    data = f"on {isolate(of.data_name)}"
    best, why = _best_first(mine)
    first = {job.id for job in best}
    rest = [job for job in mine if job.id not in first]
    if len(mine) > 1:
        reason = f"Shown first: the {why or f'newest of {len(mine):,} runs'} {data}."
    else:
        reason = f"Shown first: the only run {data}." if others else ""
    return [*best, *rest, *others], reason


def _best_first(jobs: Sequence[Job]) -> tuple[list[Job], str]:
    """Return the runs that can be compared with the newest such run, best first, and by what; none where none can."""
    ended = [(job, job.outline) for job in jobs]
    ended = [(job, run) for job, run in ended if run.verdict not in (None, Verdict.DIVERGED)]
    scored = [(job, run) for job, run in ended if math.isfinite(run.score)]
    if scored:
        split = scored[0][1].spec.split
        alike = [(job, run) for job, run in scored if run.spec.split == split]
        if len(alike) > 1:
            best = sorted(alike, key=lambda pair: -pair[1].score)
            return [job for job, _ in best], f"best held-out score of {len(alike):,} runs"
    if ended and ended[0][1].model_row.raced_by == "lower_bound":
        first = ended[0][1]
        alike = [
            (job, run)
            for job, run in ended
            if (run.row, run.spec.split) == (first.row, first.spec.split) and math.isfinite(run.lower_bound)
        ]
        if len(alike) > 1:
            best = sorted(alike, key=lambda pair: -pair[1].lower_bound)
            return [job for job, _ in best], f"best lower bound of {len(alike):,} {first.row.label} runs"
    return [], ""
