"""Experiments and searches on disk: each has a folder with its plan and a line for every run that is over."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import shutil
import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from acvb_core.core.errors import AcvbError, ParameterError
from acvb_core.core.protocols import Poll, no_poll
from acvb_core.engine.executor import ExecutorChoice
from acvb_core.engine.experiments.answers import LABELS, WORDS
from acvb_core.engine.experiments.plan import Plan, rebuild_plan
from acvb_core.engine.experiments.report import Experiment
from acvb_core.engine.fitting import solve
from acvb_core.engine.result import Result
from acvb_core.engine.run import StopRun
from acvb_core.engine.study import StudyJob, StudyT
from acvb_core.engine.tuning import Search, Trial, Tuning, rebuild_search
from acvb_core.registry import method_row
from acvb_core.store.codecs import MOST_SECONDS, is_moment, is_number
from acvb_core.store.export import csv_text, latex_table, to_plain
from acvb_core.store.files import (
    DAMAGE,
    LimitedLock,
    StoreError,
    as_store_error,
    explain_error,
    file_bytes,
    remove_file,
    replace_file,
)
from acvb_core.store.index import choose_id
from acvb_core.store.results import read_result, write_result
from acvb_core.store.runs import RunStore

PlanT = TypeVar("PlanT", bound=Any)
#: Most bytes of the lines that are read.
_MOST_BYTES = 256 << 20
#: What the table of the runs of an experiment holds: numbers are worked with, and names are shown.
_NUMBERS, _TEXTS = ("heldout_", "cpu_seconds"), ("verdict", "error")
#: File of the run of a trial, by the trial's number.
_RUN = "trial-{}.npz"
_ABOUT = "about.json"
_LOG = logging.getLogger(__name__)


class StudyFolder(ABC, Generic[PlanT, StudyT]):
    """A folder that keeps the runs of one plan: one that was interrupted continues from it.

    `version` is that of the package: another one may give other numbers.

    Raises
    ------
    StoreError
        The folder cannot be written to, or holds runs of another plan.
    """

    #: What such a plan is called, one of its runs, and what two of them differ in.
    noun: ClassVar[str]
    run_noun: ClassVar[str]
    differences: ClassVar[str]
    place: ClassVar[str]  #: folder of all of them, below that of the store
    #: `plan_file`, `lines_file`: names of the files in the folder.
    plan_file: ClassVar[str]
    lines_file: ClassVar[str]
    remedy: ClassVar[str]  #: what to do about a line that is damaged
    rebuild: ClassVar[Callable[..., Any]]  #: data and the identity of a plan -> the plan, checked
    #: What may be another in the plan when it continues.
    may_change: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path, plan: PlanT, version: str) -> None:
        self.folder, self.plan, self.version = folder, plan, version
        identity = {"version": version, **to_plain(plan.identity())}
        path = folder / self.plan_file
        try:
            folder.mkdir(parents=True, exist_ok=True)
            known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        except (OSError, *DAMAGE) as error:
            raise StoreError(f"{path} cannot be read ({error}). Give another folder.") from None
        if known is not None and not (isinstance(known, dict) and self._fix(known) == self._fix(identity)):
            raise StoreError(
                f"{folder} holds another {self.noun}: with other {self.differences} or of another version. Give "
                "another folder, or the same command to continue with it."
            )
        if known != identity:
            with replace_file(path) as file:
                file.write(json.dumps(identity, indent=2).encode() + b"\n")

    @classmethod
    def reopen(cls, folder: Path, data: Any) -> Self:
        """Return a folder that was written before, with its plan made again on the same data.

        Raises AcvbError or OSError: a file of it is gone or damaged, or the data are others.
        """
        path = folder / cls.plan_file
        try:
            identity = json.loads(path.read_text(encoding="utf-8"))
            return cls(folder, cls.rebuild(data, identity), str(identity["version"]))
        except (*DAMAGE, ParameterError) as error:
            raise StoreError(f"{path} is damaged, or a copy from elsewhere: {error}") from None

    def append(self, run: Any) -> None:
        """Write one more run, which is on the disk when this returns.

        Raises StoreError: it cannot be written.
        """
        path = self.folder / self.lines_file
        line = to_plain(asdict(run) if is_dataclass(run) and not isinstance(run, type) else run)
        with as_store_error(f"{path} cannot be written"), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read_lines(self) -> list[Any]:
        """Return the runs that are over; a last line that was cut off counts as not run, and is removed.

        Of lines of one run that differ in nothing but times the first counts: two processes made it.

        Raises StoreError: another line is damaged.
        """
        path = self.folder / self.lines_file
        if not path.exists():
            return []
        if path.stat().st_size > _MOST_BYTES:
            raise StoreError(
                f"{path} is longer than {_MOST_BYTES:,} bytes, and cannot be of one {self.noun}."
            )
        stored = path.read_bytes()
        whole, _, rest = stored.rpartition(b"\n")
        runs: list[Any] = []
        known: set[str] = set()
        for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
            try:
                held = json.loads(line)
                same = json.dumps({name: held[name] for name in sorted(held) if "seconds" not in name})
                if same not in known:
                    known.add(same)
                    runs.append(self._decode(held, len(runs) + 1))
            except (*DAMAGE, AttributeError) as error:
                raise StoreError(
                    f"{path}, line {number:,}: this is not a {self.run_noun} of the {self.noun} ({error}). "
                    f"{self.remedy}"
                ) from None
        if rest:
            path.write_bytes(stored[: len(stored) - len(rest)])
        return runs

    @abstractmethod
    def read(self) -> StudyT:
        """Return the runs that are over.

        Raises StoreError: a line is damaged.
        """

    def copy_lines(self, other: Self) -> None:
        """Take the runs of another folder of the same plan, which were read before.

        Raises StoreError: they cannot be written.
        """
        path = other.folder / self.lines_file
        if path.exists():
            with replace_file(self.folder / self.lines_file) as file:
                file.write(path.read_bytes())

    @abstractmethod
    def _decode(self, line: Any, number: int) -> Any:
        """Return the run of a line, from 1; raise one of DAMAGE where it is none."""

    def _fix(self, identity: dict[str, Any]) -> dict[str, Any]:
        """Return what must be the same for a plan to continue."""
        return {name: value for name, value in identity.items() if name not in self.may_change}


class ExperimentFolder(StudyFolder[Plan, Experiment]):
    """A folder that keeps the runs of one experiment."""

    noun, run_noun = "experiment", "run"
    differences = "data, methods, settings, seeds"
    place, plan_file, lines_file = "experiments", "experiment.json", "runs.jsonl"
    remedy = "Remove the line to have that run made again."
    rebuild = staticmethod(rebuild_plan)

    def read(self) -> Experiment:
        """Return the runs that are over.

        Raises StoreError: a line is damaged, two are of one run, or their clusters are of different objects.
        """
        rows = self.read_lines()
        for name in {name for row in rows for name in row if name.startswith(LABELS)}:
            sizes = {len(row[name].split()) for row in rows if isinstance(row.get(name), str)}
            if len(sizes) > 1:
                raise StoreError(
                    f"{self.folder / self.lines_file} has clusters of {min(sizes):,} and of {max(sizes):,} objects in "
                    f"{name!r}, which are of one data set. Remove the wrong lines to have those runs made again."
                )
        twice = [run for run, n in Counter(row["run"] for row in rows).items() if n > 1]
        if twice:
            raise StoreError(
                f"{self.folder / self.lines_file} has several lines of run {twice[0]:,}. Remove all but one."
            )
        return Experiment(self.plan, tuple(rows))

    def _fix(self, identity: dict[str, Any]) -> dict[str, Any]:
        fixed = super()._fix(identity)
        with suppress(KeyError, TypeError, AttributeError, ParameterError):  # a damaged plan is another one
            fixed["conditions"] = [
                {**one, "values": method_row(fixed["model"], one["method"]).drop_retired(one["values"])}
                for one in fixed["conditions"]
            ]
        return fixed

    def _decode(self, line: Any, number: int) -> Any:
        expected = self.plan.identify_run(line["run"] - 1)
        if {name: line[name] for name in expected} != to_plain(expected):
            raise ValueError("it is of another plan")
        for name, value in line.items():
            if not re.fullmatch(r"\w{1,100}", name) or not isinstance(value, str | int | float | None):
                raise ValueError(f"{name[:100]!r} is no value of a run")
            if name.startswith(_NUMBERS) and name not in expected and not _is_score(name, value):
                raise ValueError(f"{name} is {value!r}, and no number")
            if isinstance(value, float | int) and not (isinstance(value, bool) or is_number(value)):
                raise ValueError(f"{name} is {value!r}, and no number that can be shown")
            if name in _TEXTS and not isinstance(value, str):
                raise ValueError(f"{name} is {value!r}, and no text")
            if name == WORDS and isinstance(value, str) and not all(map(set, json.loads(value))):
                raise ValueError("a topic has no words")
        return line

    def write_tables(self, experiment: Experiment, score: str) -> list[Path]:
        """Write runs.csv, summary.csv and summary.tex (for the package booktabs), and return them."""
        summary = experiment.summary(score)
        texts = {
            "runs.csv": csv_text(experiment.table(), exact=True),
            "summary.csv": csv_text(summary, exact=True),
            "summary.tex": latex_table(summary),
        }
        for name, text in texts.items():
            with replace_file(self.folder / name) as file:
                file.write(text.encode())
        return [self.folder / name for name in texts]


def _is_score(name: str, value: Any) -> bool:
    """Return whether a value is a score or a time; a score may be missing."""
    is_score = name.startswith("heldout_")
    return is_score if value is None else is_number(value, math.inf if is_score else MOST_SECONDS)


class SearchFolder(StudyFolder[Search, Tuning]):
    """A folder that keeps the trials of one search; it may continue for more of them."""

    noun, run_noun = "search", "trial"
    differences = "data, methods, settings, ranges, seeds"
    place, plan_file, lines_file = "searches", "search.json", "trials.jsonl"
    remedy = "Remove the line and those after it to have these trials made again."
    may_change = ("trials",)
    rebuild = staticmethod(rebuild_search)

    def read(self) -> Tuning:
        """Return the trials that are over, without the run of the best.

        Raises StoreError: a line is damaged.
        """
        return Tuning(self.plan.space.names, tuple(self.read_lines()))

    def keep(self, tuning: Tuning) -> None:
        """Write the last trial, and the run of the best one in place of that of the best before.

        A kill on the way leaves a run too many, which is removed with the next trial, and never one too few.

        Raises StoreError: it cannot be written.
        """
        best = tuning.best_trial
        if best is tuning.trials[-1] and tuning.best_result is not None:
            write_result(self._run_path(best), tuning.best_result, state=False)
        self.append(tuning.trials[-1])
        for path in self.folder.glob(_RUN.format("*")):
            if best is None or path != self._run_path(best):
                remove_file(path)

    def read_best(self, tuning: Tuning, poll: Poll = no_poll) -> Result | None:
        """Return the run of the best trial, made again where its file is gone; None where no trial has a perplexity.

        Raises StoreError: its file is damaged. Raises StopRun: the poll ended the run that was made again.
        """
        best = tuning.best_trial
        if best is None or tuning.best_result is not None:
            return tuning.best_result
        path = self._run_path(best)
        if not path.exists():
            again = solve(self.plan.build_run((best.number, best.values)), None, poll)
            if again.was_stopped:
                raise StopRun
            return again
        stored = read_result(path, self.plan.data)
        return stored if isinstance(stored, Result) else None

    def _run_path(self, trial: Trial) -> Path:
        return self.folder / _RUN.format(trial.number)

    def _decode(self, line: Any, number: int) -> Any:
        """Return the trial of a line; what a search reckons with is checked."""
        names, values = self.plan.space.names, line["values"]
        trial = Trial(
            line["number"],
            {name: float(values[name]) for name in names},
            math.nan if line["perplexity"] is None else float(line["perplexity"]),
            math.nan if line["cpu_seconds"] is None else float(line["cpu_seconds"]),
            str(line["verdict"]),
            None if line["error"] is None else str(line["error"]),
        )
        if trial.number != number or len(values) != len(names):
            raise ValueError("it is of another search, or a line before it is gone")
        perplexity, seconds = line["perplexity"], line["cpu_seconds"]
        if (
            not all(map(is_number, trial.values.values()))
            or not (perplexity is None or (is_number(perplexity) and perplexity > 0))
            or not (seconds is None or is_number(seconds, MOST_SECONDS))
        ):
            raise ValueError("a setting, the perplexity or the time is not a number that a trial can have")
        return trial


class StudyStore(Generic[PlanT, StudyT]):
    """All plans of one kind in a store.

    The data of a plan are kept with those of runs, in a row of their own.

    `kind`: the folder of one plan.
    `version`: of the package.
    """

    def __init__(
        self, kind: type[StudyFolder[PlanT, StudyT]], executor: ExecutorChoice, store: RunStore, version: str
    ) -> None:
        self.kind = kind
        self._executor, self._store, self._version = executor, store, version
        self._folder = store.folder / kind.place
        self._lock = LimitedLock(f"A plan ({kind.noun}) is being listed, saved or deleted")
        self._jobs: dict[str, dict[str, StudyJob[StudyT]]] = {}
        self._unreadable: dict[str, dict[str, str]] = {}
        #: Of each plan its folder, and the name of its data.
        self._kept: dict[str, tuple[StudyFolder[PlanT, StudyT], str]] = {}

    def jobs(self, workspace: str) -> list[StudyJob[StudyT]]:
        """Return the jobs of a workspace, oldest first; one that was interrupted can continue."""
        with self._lock:
            return sorted(self._shelf(workspace).values(), key=lambda job: job.created)

    def unreadable(self, workspace: str) -> dict[str, str]:
        """Return why plans could not be read, by id."""
        with self._lock:
            self._shelf(workspace)
            return dict(self._unreadable[workspace])

    def owners(self, workspace: str) -> list[str]:
        """Return the names under which the store keeps the data of a workspace's plans."""
        return [self._data_row(job.id) for job in self.jobs(workspace)]

    def used_bytes(self, workspace: str) -> int:
        """Return the bytes of the files of a workspace's plans, without their data."""
        return sum(file_bytes(self._folder / job.id) for job in self.jobs(workspace))

    def name(self, job_id: str) -> str:
        """Return the name of a plan's data."""
        kept = self._kept.get(job_id)
        return "" if kept is None else kept[1]  # another session may have deleted it just now

    def folder(self, job_id: str) -> StudyFolder[PlanT, StudyT]:
        """Return the folder of a plan.

        Raises StoreError: it is gone; another session may have deleted it just now.
        """
        kept = self._kept.get(job_id)
        if kept is None:
            raise StoreError(f"This {self.kind.noun} is not there any more; it was deleted.")
        return kept[0]

    def find_owner(self, job_id: str) -> str | None:
        """Return the workspace of a plan, "" where it does not say whose it is; None where there is no such plan."""
        folder = self._folder / job_id
        if not folder.exists():
            return None
        try:
            return str(json.loads((folder / _ABOUT).read_text(encoding="utf-8"))["workspace"])
        except (OSError, *DAMAGE):
            return ""

    def add(self, workspace: str, plan: PlanT, name: str) -> StudyJob[StudyT]:
        """Start a plan on data of this name.

        Raises StoreError: it cannot be kept.
        """
        with self._lock:
            job = self._keep(workspace, uuid.uuid4().hex[:12], plan, self._version, name)
        job.start()
        return job

    def adopt(
        self, workspace: str, job_id: str, kept: StudyFolder[PlanT, StudyT], created: float, name: str
    ) -> str | None:
        """Take a plan that another store kept, with its runs, which were read before; return its id here.

        Returns None if the workspace has it already. If another workspace has a plan of this id, this one gets
        another id. What interrupts this leaves nothing of the plan.

        Raises StoreError: it cannot be kept.
        """
        with self._lock:
            chosen = choose_id(self.find_owner, workspace, job_id)
            if chosen is None:
                return None
            self._keep(workspace, chosen, kept.plan, kept.version, name, kept, created)
        return chosen

    def remove(self, workspace: str, job_id: str) -> None:
        """Stop a job and delete its plan with its runs.

        Raises StoreError: it cannot be deleted.
        """
        with self._lock:
            job = self._shelf(workspace).pop(job_id, None)
            known = job is not None or self._unreadable[workspace].pop(job_id, None) is not None
            if not known:
                return
            self._kept.pop(job_id, None)
        if job is not None:
            job.stop()
            job.wait(10.0)  # so that it writes no last line
        with self._lock:  # nobody takes a plan of this id until its data are forgotten, too
            if self.find_owner(job_id) not in (None, "", workspace):
                raise StoreError(f"This {self.kind.noun} belongs to another workspace. Nothing was deleted.")
            with as_store_error(f"{self._folder / job_id} cannot be deleted"):
                shutil.rmtree(self._folder / job_id)
            self._store.forget_dataset(self._data_row(job_id))

    def close(self) -> None:
        """Stop all jobs; the runs that are over are kept already."""
        with self._lock:
            jobs = [job for shelf in self._jobs.values() for job in shelf.values()]
        for job in jobs:
            if job.inspect().status.active:
                job.stop()

    def _keep(
        self,
        workspace: str,
        job_id: str,
        plan: PlanT,
        version: str,
        name: str,
        other: StudyFolder[PlanT, StudyT] | None = None,
        created: float | None = None,
    ) -> StudyJob[StudyT]:
        """Keep a plan, with the runs of another folder, and return its job; an interruption leaves nothing."""
        with as_store_error(f"The folder of the {self.kind.noun} {job_id} cannot be made"):
            (self._folder / job_id).mkdir(parents=True)
        try:
            shelf = self._shelf(workspace)
            folder = self.kind(self._folder / job_id, plan, version)
            self._store.save_dataset(self._data_row(job_id), plan.data, [], {})
            if other is not None:
                folder.copy_lines(other)
            job = self._build_job(folder, job_id, workspace, begun=other is not None)
            job.created = job.created if created is None else created
            about = {"workspace": workspace, "created": job.created, "name": name}
            with replace_file(self._folder / job_id / _ABOUT) as file:  # from now on it is found again
                file.write(json.dumps(about).encode())
        except BaseException:
            shutil.rmtree(self._folder / job_id, ignore_errors=True)
            with suppress(StoreError):
                self._store.forget_dataset(self._data_row(job_id))
            raise
        shelf[job_id], self._kept[job_id] = job, (folder, name)
        return job

    def _build_job(
        self, folder: StudyFolder[PlanT, StudyT], job_id: str, workspace: str, *, begun: bool
    ) -> StudyJob[StudyT]:
        """Return the job of a plan."""
        return StudyJob(
            folder.plan,
            folder.read(),
            self._executor,
            folder.append,
            begun=begun,
            job_id=job_id,
            owner=workspace,
        )

    def _shelf(self, workspace: str) -> dict[str, StudyJob[StudyT]]:
        if workspace not in self._jobs:
            self._jobs[workspace], self._unreadable[workspace] = {}, {}
            for path in sorted(self._folder.glob(f"*/{_ABOUT}")):
                self._read(workspace, path)
        return self._jobs[workspace]

    def _read(self, workspace: str, path: Path) -> None:
        folder, job_id = path.parent, path.parent.name
        try:
            about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            owner = about["workspace"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            # Nobody may see or delete what may be another's.
            _LOG.warning("%s does not say whose it is, and is left alone: %s", path, error)
            return
        if owner != workspace:
            return
        try:
            stored = self._store.load_dataset(self._data_row(job_id))
            if stored is None:
                raise StoreError("Its data are gone.")
            kept = self.kind.reopen(folder, stored[0])
            job = self._build_job(kept, job_id, workspace, begun=True)
            job.created = float(about.get("created", time.time()))
            if not is_moment(job.created):
                raise StoreError(f"It was made {job.created!r} s after 1970, which cannot be.")
        except (AcvbError, OSError, ValueError, TypeError, AttributeError) as error:
            self._unreadable[workspace][job_id] = explain_error(error)
            return
        self._jobs[workspace][job_id] = job
        self._kept[job_id] = kept, str(about.get("name", stored[0].name))

    def _data_row(self, job_id: str) -> str:
        """Return the name under which the data of a plan are kept, where workspaces keep theirs."""
        return f"{self.kind.noun} {job_id}"
