"""A workspace: one person's data set and runs, named by the `ws` of the address."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from acvb_core.data.report import Fact, ReadReport
from acvb_core.data.samples import SAMPLES, load_sample
from acvb_core.engine.job import Job
from acvb_core.engine.problem import Problem
from acvb_core.registry import model_for
from acvb_core.store.files import StoreError
from acvb_core.store.shelf import AbsentRun
from pages.ui.shared import services
from pages.ui.shared.model_pages import HeldOut, pages_of_model
from pages.ui.shared.serving import REMEMBER

COOKIE = "acvb_ws"


@dataclass(frozen=True, eq=False)
class Dataset:
    """The data that new runs are made of.

    Attributes
    ----------
    data : Relation, Corpus, DiskCorpus, Table, …
    report : ReadReport
        What reading it found.
    name : str
    heldout : float
        Share of the observed entries or cells, or of each document's words, that new runs hold out.
    heldout_seed : int
    whole_documents : bool
        The share is of whole documents instead.
    """

    data: Any
    report: ReadReport
    name: str
    heldout: float
    heldout_seed: int = 0
    whole_documents: bool = False

    @classmethod
    def of_sample(cls, key: str) -> Dataset:
        """Return a sample, with the usual share held out."""
        sample = load_sample(key)
        return cls.fresh(sample.data, sample.report, SAMPLES[key].title)

    @classmethod
    def fresh(cls, data: Any, report: ReadReport, name: str) -> Dataset:
        """Return data with the usual share held out: of data on disk, whole documents."""
        whole = model_for(data).on_disk(data)
        return cls(data, report, name, usual_share(data, whole), whole_documents=whole)

    @property
    def model(self) -> str:
        """Name of the model that is for such data."""
        return model_for(self.data).name

    @property
    def on_disk(self) -> bool:
        """True when the data are kept on disk, for methods that stream."""
        return model_for(self.data).on_disk(self.data)

    @property
    def split(self) -> dict[str, Any]:
        """The share that is held out and its seed, as `build_problem` takes them."""
        share = "heldout_documents" if self.whole_documents else "heldout"
        return {share: self.heldout, "heldout_seed": self.heldout_seed}

    def like(self, before: Dataset | None) -> Dataset:
        """Return these data with what was held out of the ones before, as far as that is possible of these."""
        if before is None or before.on_disk != self.on_disk:
            return self
        whole = before.whole_documents and self.model == before.model
        if before.whole_documents != whole:
            return self
        # A usual share was not chosen: of other data, another is usual.
        chosen = before.heldout != usual_share(before.data) or self.model == before.model or whole
        share = before.heldout if chosen else self.heldout
        return replace(self, heldout=share, heldout_seed=before.heldout_seed, whole_documents=whole)


def _has_own_data(job: Job) -> bool:
    """Return whether a run holds its data as they were loaded, without words of an earlier run."""
    return bool(job.problem.data.fingerprint == job.problem.fingerprint)


def usual_share(data: Any, whole_documents: bool = False) -> float:
    """Return the share of such data that is held out unless another is chosen."""
    held_out: HeldOut = pages_of_model(model_for(data).name).held_out
    return held_out.whole.usual_share if whole_documents and held_out.whole else held_out.usual_share


@dataclass(frozen=True)
class Workspace:
    """Handle of a workspace; everything it shows is kept by the server and the store."""

    id: str

    @property
    def dataset(self) -> Dataset | None:
        """The data set in use, None before one was chosen."""
        shelf = services.datasets()
        if self.id not in shelf:
            shelf[self.id] = self._remember(self._stored_dataset())
        return shelf[self.id]

    def set_dataset(self, dataset: Dataset) -> None:
        """Use a data set from now on; runs made before keep theirs."""
        services.datasets()[self.id] = self._remember(dataset)
        self.save_dataset()

    def _remember(self, dataset: Dataset | None) -> Dataset | None:
        """Have a data set among `data_names` as long as the server runs; those on disk may lose their files."""
        if dataset is not None and not dataset.on_disk:
            services.used_datasets().setdefault(self.id, {})[dataset.data.fingerprint] = dataset
        return dataset

    @property
    def data_names(self) -> dict[str, str]:
        """The names of all data sets of the workspace by fingerprint: those of runs, and those used since the start.

        Data on disk that no run has are in their files alone, which go when other data are used: then they are the
        only choice.
        """
        now, jobs = self.dataset, self.jobs
        names = {job.problem.fingerprint: job.problem.data.name for job in jobs if _has_own_data(job)}
        if now is not None and now.on_disk and now.data.fingerprint not in names:
            return {now.data.fingerprint: now.name}
        used = services.used_datasets().get(self.id, {})
        return names | {key: dataset.name for key, dataset in used.items()}

    def use_data(self, fingerprint: str) -> None:
        """Use one of the data sets of `data_names` from now on; of others, nothing changes."""
        now = self.dataset
        if fingerprint not in self.data_names or (now is not None and now.data.fingerprint == fingerprint):
            return
        used = services.used_datasets().get(self.id, {}).get(fingerprint)
        if used is not None:
            return self.set_dataset(used)
        job = next(job for job in self.jobs if job.problem.fingerprint == fingerprint and _has_own_data(job))
        data, settings = job.problem.data, job.problem.settings
        share, whole = settings.heldout_documents or settings.heldout, settings.heldout_documents > 0
        self.set_dataset(
            Dataset(data, ReadReport(data.name, ()), data.name, share, settings.heldout_seed, whole)
        )

    def save_dataset(self) -> None:
        """Keep the data set in use for the next start; `data_problem` says why it could not be kept."""
        dataset = self.dataset
        if dataset is None:
            return
        settings = {
            "name": dataset.name,
            "source": dataset.report.source,
            "heldout": dataset.heldout,
            "heldout_seed": dataset.heldout_seed,
            "whole_documents": dataset.whole_documents,
        }
        problems = services.data_problems()
        problems.pop(self.id, None)
        try:
            services.store().save_dataset(self.id, dataset.data, dataset.report.lines(), settings)
        except StoreError as error:
            problems[self.id] = str(error)

    @property
    def data_problem(self) -> str | None:
        """The reason why the data could not be saved or read; None if they could."""
        return services.data_problems().get(self.id)

    @property
    def jobs(self) -> list[Job]:
        """All runs, oldest first."""
        return services.job_book().jobs(self.id)

    @property
    def unreadable(self) -> list[AbsentRun]:
        """Stored runs that could not be loaded."""
        return services.job_book().unreadable_runs(self.id)

    @property
    def deleted(self) -> list[AbsentRun]:
        """Deleted runs that can be brought back, the last one last."""
        return services.job_book().deleted_runs(self.id)

    @property
    def unsaved(self) -> dict[str, str]:
        """The reasons why runs could not be saved, by id."""
        return services.job_book().unsaved_runs(self.id)

    def add(self, problem: Problem) -> Job:
        """Start a run."""
        return services.job_book().add(self.id, problem)

    def relabel(self, job_id: str, **changes: Any) -> None:
        """Change the name, note, tags or pin of a run."""
        services.job_book().relabel(self.id, job_id, **changes)

    def remove(self, job_id: str) -> None:
        """Stop a run if it goes on, and delete it; `restore` undoes that."""
        services.job_book().remove(self.id, job_id)

    def restore(self, job_id: str) -> None:
        """Bring a deleted run back."""
        services.job_book().restore(self.id, job_id)

    def delete_for_good(self) -> None:
        """Delete the deleted runs so that they take no room any more."""
        services.job_book().delete_for_good(self.id)

    def load_again(self, job_id: str) -> None:
        """Try once more to load a run that could not be read."""
        services.job_book().load_again(self.id, job_id)

    def save_again(self, job: Job) -> None:
        """Try once more to save a run."""
        services.job_book().save_again(self.id, job.id)

    def _stored_dataset(self) -> Dataset | None:
        try:
            stored = services.store().load_dataset(self.id)
        except StoreError as error:  # choosing the data again replaces a damaged copy
            services.data_problems()[self.id] = str(error)
            return None
        if stored is None:
            return None
        data, lines, settings = stored
        name = str(settings.get("name", data.name))
        facts = tuple(Fact("stored", 0, line) for line in lines)
        return Dataset(
            data,
            ReadReport(str(settings.get("source", name)), facts),
            name,
            float(settings.get("heldout", usual_share(data))),
            int(settings.get("heldout_seed", 0)),
            bool(settings.get("whole_documents", False)),
        )


def current_workspace() -> Workspace:
    """Return the workspace of this session."""
    return Workspace(st.session_state["ws"])


def enter_workspace() -> Workspace:
    """Find the session's workspace or make one, and put it into the address; once in every run of the app.

    The address comes first, so that a link leads where it says; links between pages drop it, so the session
    remembers; a new tab without either finds the browser's last workspace by its cookie.
    """
    known = (st.query_params.get("ws"), st.session_state.get("ws"), st.context.cookies.get(COOKIE))
    valid = (ws for ws in known if isinstance(ws, str) and re.fullmatch("[0-9a-f]{32}", ws))
    name = next(valid, None) or uuid.uuid4().hex
    st.session_state["ws"] = name
    if st.query_params.get("ws") != name:
        st.query_params["ws"] = name
    return Workspace(name)


def remember_workspace() -> None:
    """Have the browser keep the workspace's name in a cookie; draws nothing."""
    st.html(
        f"<script data-cookie='{COOKIE}={st.session_state['ws']}'>{REMEMBER}</script>",
        unsafe_allow_javascript=True,
    )
