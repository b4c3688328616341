"""A workspace: one person's data set and runs. Whoever knows its key may change it; others may look."""

from __future__ import annotations

import hmac
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import streamlit as st

from acvb_core.core.errors import AcvbError
from acvb_core.data.report import ReadReport
from acvb_core.engine.experiments.plan import Plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.tuning import Search, Tuning
from acvb_core.store.datasets import Original
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager, UnreadableRunError
from acvb_core.store.studies import StudyStore
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.workspace.dataset import TAB, Dataset, Tab
from pages.ui.workspace.kept_data import shelf_of

#: What pages read of runs, experiments and searches. Whatever is not named here is refused.
READABLE = frozenset(
    {
        "can_continue", "can_extend", "can_go_on", "created", "history", "id", "inspect", "label", "outline",
        "plan", "position", "prepared", "race_report",
    }
)  # fmt: skip


class ViewOnlyError(AcvbError):
    """Something that would change a workspace was asked of a view-only link."""

    def __init__(self) -> None:
        super().__init__("This link only shows the workspace. Open the full link to change anything.")


class ViewedHandle:
    """A run, an experiment or a search that can be looked at; what would change it raises ViewOnlyError."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Any) -> None:
        object.__setattr__(self, "_handle", handle)

    def __getattr__(self, name: str) -> Any:
        if name in READABLE:
            return getattr(self._handle, name)
        if name.startswith("__"):  # Python itself asks whether there is such a method
            raise AttributeError(name)
        raise ViewOnlyError

    def __setattr__(self, name: str, value: Any) -> None:
        raise ViewOnlyError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewedHandle) and self._handle is other._handle

    def __hash__(self) -> int:
        return hash(self._handle)


class ViewedStore(ViewedHandle):
    """A store of runs, experiments or searches that shows their handles, and nothing that only their owner can mend.

    `only`: id of the one that is shown; None: all of them.
    """

    __slots__ = ("_only",)

    def __init__(self, handle: Any, only: str | None = None) -> None:
        super().__init__(handle)
        object.__setattr__(self, "_only", only)

    def jobs(self, workspace: str) -> list[ViewedHandle]:
        """Return the handles of a workspace, which can be looked at."""
        return [ViewedHandle(job) for job in self._handle.jobs(workspace) if self._only in (None, job.id)]

    def name(self, job_id: str) -> str:
        """Return the name of the data of an experiment or a search."""
        return str(self._handle.name(job_id)) if self._only in (None, job_id) else ""

    def deleted_runs(self, workspace: str) -> list[Any]:
        """Return none."""
        return []

    def unsaved_runs(self, workspace: str) -> dict[str, str]:
        """Return none."""
        return {}

    unreadable_runs, unreadable = deleted_runs, unsaved_runs


def view_id(key: str) -> str:
    """Return the name by which a workspace is shown view only; its key cannot be found from it."""
    return hmac.new(key.encode(), b"acvb: view only", "sha256").hexdigest()[:32]


def answer_id(key: str, run: str) -> str:
    """Return the name by which one run of a workspace is shown view only: the run's id, and what proves the right."""
    proof = hmac.new(key.encode(), f"acvb: one answer {run}".encode(), "sha256").hexdigest()[:32]
    return f"{run}-{proof}"


#: In the session: its workspace, whether it may only look, and the id of the run if it may look at that alone.
KEY, VIEW_ONLY, ONLY = "ws", "view_only", "only_run"
StoreT = TypeVar("StoreT")


def _has_own_data(job: Job) -> bool:
    """Return whether a run holds its data as they were loaded, without words of an earlier run."""
    return not job.outline.spec.of


@dataclass(frozen=True)
class Workspace:
    """Handle of a workspace; everything it shows is kept by the server and the store."""

    #: Whoever has it may change the workspace. It is in no text, so that no log and no error shows it.
    key: str = field(repr=False)
    #: What would change the workspace raises ViewOnlyError. What only its owner can mend is not shown.
    view_only: bool = False
    #: The browser's tab that has the handle, which has data of its own. None: the data are those used last.
    tab: Tab | None = field(default=None, repr=False, compare=False)
    #: Id of the run that is shown, with its data and nothing else; only with `view_only`. None: all is shown.
    only: str | None = None

    @property
    def id(self) -> str:
        """Name by which the session's browser may know the workspace."""
        if self.only is not None:
            return answer_id(self.key, self.only)
        return view_id(self.key) if self.view_only else self.key

    @property
    def dataset(self) -> Dataset | None:
        """The data set in use in the tab; None before one was chosen, and when it is gone."""
        tab = self.tab
        if self.only is not None:
            if tab is None:
                return None
            if not any(map(tab.is_wanted, self.data_names)):
                tab.choose(next(iter(self.data_names), ""))
        found = shelf_of(self.key).last if tab is None or tab.wanted is None else self._find_data(tab)
        return found if tab is None or found is None else tab.view(found)

    @property
    def has_lost_data(self) -> bool:
        """True when the tab, or its address, wants data that are not in the workspace any more."""
        return bool(self.tab and self.tab.wanted) and self.dataset is None and self.data_problem is None

    def check_owner(self) -> None:
        """Raise ViewOnlyError where the workspace is view only: call it before anything is changed."""
        if self.view_only:
            raise ViewOnlyError

    def set_dataset(self, dataset: Dataset) -> None:
        """Use a data set in the tab from now on, and in new tabs; other tabs and runs keep theirs."""
        self.check_owner()
        shelf_of(self.key).use(dataset)
        if self.tab is not None:
            self.tab.use(dataset)

    @property
    def data_names(self) -> dict[str, str]:
        """The names of all data sets of the workspace by fingerprint: those of runs, used ones and put aside."""
        if self.only is not None:
            return {job.outline.fingerprint: job.outline.data_name for job in self.jobs}
        shelf = shelf_of(self.key)
        last = shelf.last  # once it is read, it is among the used ones
        names = {} if last is None else {last.data.fingerprint: last.name}
        names |= {job.outline.fingerprint: job.outline.data_name for job in self.jobs if _has_own_data(job)}
        return names | shelf.list_aside() | {key: dataset.name for key, dataset in shelf.used.items()}

    @property
    def removable_data(self) -> dict[str, str]:
        """The names of the data sets that no run has, by fingerprint."""
        of_runs = {job.outline.fingerprint for job in self.jobs}
        return {key: name for key, name in self.data_names.items() if key not in of_runs}

    def remove_data(self, fingerprint: str) -> None:
        """Remove a data set of `removable_data`, from the disk too."""
        self.check_owner()
        if fingerprint in self.removable_data:
            shelf_of(self.key).remove(fingerprint)
            if self.tab is not None and self.tab.is_wanted(fingerprint):
                self.tab.choose("")

    def use_data(self, fingerprint: str) -> None:
        """Use one of the data sets of `data_names` in the tab from now on; of others, nothing changes.

        A viewer looks at it, and the workspace stays as it is. `data_problem` says why it could not be read.
        """
        now = self.dataset
        if fingerprint not in self.data_names or (now is not None and now.data.fingerprint == fingerprint):
            return
        tab = Tab() if self.tab is None else self.tab
        tab.choose(fingerprint)
        if not self.view_only and (dataset := self._find_data(tab)) is not None:
            self.set_dataset(dataset)

    def _find_data(self, tab: Tab) -> Dataset | None:
        """Return the data set that a tab wants; None where it is gone or cannot be read."""
        shelf = shelf_of(self.key)
        names = shelf.used if tab.wanted in shelf.used else self.data_names
        fingerprint = next(filter(tab.is_wanted, names), None)
        if fingerprint is None:
            return None
        if (found := shelf.find(fingerprint)) is not None:
            return found
        jobs = (job for job in self.jobs if job.outline.fingerprint == fingerprint and _has_own_data(job))
        for job in jobs:
            with suppress(UnreadableRunError):
                data, settings = job.prepared.data, job.prepared.spec
                share, whole = settings.heldout_documents or settings.heldout, settings.heldout_documents > 0
                return Dataset(
                    data, ReadReport(data.name, ()), data.name, share, settings.heldout_seed, whole
                )
        return None

    def find_report(self, fingerprint: str, *, stored: bool) -> ReadReport | None:
        """Return what reading data found; None if the workspace does not have them any more.

        `stored`: data that are not in memory are read from the disk, which may take a while.
        """
        if self.only is not None and fingerprint not in self.data_names:
            return None
        shelf = shelf_of(self.key)
        dataset = shelf.find(fingerprint) if stored else shelf.used.get(fingerprint)
        return None if dataset is None else dataset.report

    def find_original(self, fingerprint: str) -> Original | None:
        """Return the file that data were read from; None if it is not kept. Who only looks does not get it."""
        dataset = None if self.view_only else shelf_of(self.key).find(fingerprint)
        kept = None if dataset is None else dataset.original
        return kept if kept is not None and services.store().has_original(kept) else None

    def read_original(self, original: Original) -> bytes:
        """Return a file of `find_original`; StoreError: it is gone or damaged."""
        self.check_owner()
        return services.store().read_original(original)

    def save_dataset(self) -> None:
        """Try once more to keep the data set in use for the next start; `data_problem` says why it cannot be kept."""
        self.check_owner()
        if self.dataset is not None:
            self.set_dataset(self.dataset)

    @property
    def data_problem(self) -> str | None:
        """The reason why the data could not be saved or read; None if they could."""
        if self.view_only:
            return None
        problems, dataset = shelf_of(self.key).problems, self.dataset
        if dataset is not None:
            return problems.get(dataset.data.fingerprint)
        wanted = self.tab.wanted if self.tab is not None else None
        return problems.get(wanted or "", problems.get(""))

    @property
    def runs(self) -> JobManager:
        """The runs of all workspaces, to be asked for those of `key`; whoever only looks cannot change them."""
        return self._guard(services.job_manager())

    @property
    def experiments(self) -> StudyStore[Plan, Experiment]:
        """The experiments of all workspaces, as `runs`. Call `require_room` before one is added."""
        return self._guard(services.experiments())

    @property
    def searches(self) -> StudyStore[Search, Tuning]:
        """The searches for steps of all workspaces, as `experiments`."""
        return self._guard(services.searches())

    def _guard(self, store: StoreT) -> StoreT:
        return cast(StoreT, ViewedStore(store, self.only)) if self.view_only else store

    @property
    def jobs(self) -> list[Job]:
        """All runs, oldest first."""
        return self.runs.jobs(self.key)

    def explain_no_room(self, n_bytes: int = 0) -> str:
        """Return why so many bytes more cannot be kept, in a sentence; "" where they can."""
        try:
            used, limit = services.used_bytes(self.key), services.workspace_limit()
        except StoreError as error:
            return str(error)
        if used + n_bytes <= limit:
            return ""
        more = f", and this file has {say.size(n_bytes)}" if n_bytes else ""
        return (
            f"This workspace keeps {say.size(used)} of at most {say.size(limit)}{more}. Delete experiments or "
            "searches, remove data on the Data page, or delete runs and then choose Delete for good now."
        )

    def add(self, prepared: PreparedRun) -> Job:
        """Start a run; StoreError if the workspace is full."""
        self.check_owner()
        self.require_room()
        return self.runs.add(self.key, prepared)

    def require_room(self) -> None:
        """Raise StoreError where the workspace keeps as much as it may."""
        if why := self.explain_no_room():
            raise StoreError(why)


def current_workspace() -> Workspace:
    """Return the workspace of this session."""
    state = st.session_state
    return Workspace(state[KEY], state.get(VIEW_ONLY, False), state.get(TAB), state.get(ONLY))
