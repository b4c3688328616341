"""Runs, plans and data of an archive, taken into a store.

The archive may be damaged, or made to do harm: nothing in it is trusted.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from acvb_core.core.scratch import scratch_prefix
from acvb_core.engine.run import StopRun
from acvb_core.store.archives.contents import FAULTS, OpenArchive
from acvb_core.store.archives.form import (
    MANIFEST,
    MOST_FILES,
    MOST_MANIFEST,
    DataEntry,
    Entry,
    Manifest,
    PlanEntry,
    no_archive,
    read_manifest,
)
from acvb_core.store.files import DAMAGE
from acvb_core.store.index import choose_id
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from acvb_core.store.studies.study_store import StudyStore

#: What data without runs are called in a report.
DATA = "data set"
#: Keeps data, report lines and settings (see `RunStore.save_dataset`); False: they are there already.
KeepData = Callable[[Any, list[str], dict[str, Any]], bool]


@dataclass
class ImportReport:
    """Report of an import: what became of the runs of an archive."""

    imported: list[str] = field(default_factory=list)  #: ids that the runs have here
    known: list[str] = field(default_factory=list)  #: names of runs that were here already
    refused: dict[str, str] = field(default_factory=dict)  #: why others were not imported, by their names
    #: The same of experiments, searches and data without runs, by what one is called.
    others: dict[str, ImportReport] = field(default_factory=dict)
    was_stopped: bool = False  #: before it had come to the end of the archive


def read_archive(
    book: JobManager,
    store: RunStore,
    workspace: str,
    file: BinaryIO,
    name: str = "The file",
    plans: Sequence[StudyStore[Any, Any]] = (),
    keep_data: KeepData | None = None,
    progress: Callable[[float], object] = float,
) -> ImportReport:
    """Take the runs, plans and data of an archive into a workspace; what is there already stays as it is.

    What is damaged is named in the report, and the others are taken. Each is read as the store reads its own, and
    written anew: no file of the archive lies in the store afterwards. An import can be ended at any moment, by
    `progress` or by Ctrl-C: each run, plan and data set is then there as a whole or not at all, and another import of
    the same archive takes the others.

    `book`: of the jobs in `store`.
    `name`: of the file, for errors.
    `plans`: the books of experiments and searches in `store`; those of other kinds are not taken.
    `keep_data`: keeps data without runs, and returns False where the workspace has them; None: they are not taken.
    `progress`: called often with the share that is done, 0 to 1; what it raises ends the import. After StopRun the
      report says what was imported before.
    Raises StoreError: the file is no archive, is cut short, or was written by a newer version of the program.
    """
    report = ImportReport()
    try:
        archive = zipfile.ZipFile(file)
    except (OSError, *DAMAGE) as error:
        raise no_archive(name, f"it is no zip file, or is cut short ({error})") from error
    with archive, TemporaryDirectory(prefix=scratch_prefix()) as place:
        manifest = read_contents(archive, name)
        listed: list[Entry | PlanEntry | DataEntry] = [*manifest.runs, *manifest.plans, *manifest.data]
        done = 0
        opened = OpenArchive(archive, manifest, Path(place), lambda: progress(done / len(listed)))
        book.jobs(workspace)  # what is stored so far
        books = {plan_book.kind.noun: plan_book for plan_book in plans}
        try:
            for done, entry in enumerate(listed):
                progress(done / len(listed))
                if isinstance(entry, Entry):
                    _take_run(book, store, workspace, opened, entry, report)
                elif isinstance(entry, DataEntry):
                    if keep_data is not None:
                        _take_data(keep_data, opened, entry, report.others.setdefault(DATA, ImportReport()))
                elif entry.noun in books:
                    part = report.others.setdefault(entry.noun, ImportReport())
                    _take_plan(books[entry.noun], workspace, opened, entry, part)
        except StopRun:
            report.was_stopped = True
    return report


def _take_run(
    book: JobManager,
    store: RunStore,
    workspace: str,
    archive: OpenArchive,
    entry: Entry,
    report: ImportReport,
) -> None:
    """Take one run, unless it is there already or damaged."""
    title, job_id = entry.label.name or entry.job_id, None
    try:
        # Asked first to save the reading; whoever writes the run asks again.
        if choose_id(store.find_owner, workspace, entry.job_id) is not None:
            record, created = archive.read_run(entry.job_id)
            job_id = book.adopt(workspace, entry.job_id, created, record, entry.label, entry.topic_names)
    except FAULTS as error:
        report.refused[title] = archive.explain(error)
        return
    if job_id is None:
        report.known.append(title)
    else:
        report.imported.append(job_id)


def _take_plan(
    book: StudyStore[Any, Any], workspace: str, archive: OpenArchive, entry: PlanEntry, report: ImportReport
) -> None:
    """Take one experiment or search, unless it is there already or damaged."""
    title, job_id = f"{entry.noun} on {entry.name or 'data'}", None
    try:
        if choose_id(book.find_owner, workspace, entry.job_id) is not None:
            kept = archive.read_plan(book.kind, entry)
            job_id = book.adopt(workspace, entry.job_id, kept, entry.created, entry.name)
    except FAULTS as error:
        report.refused[title] = archive.explain(error)
        return
    if job_id is None:
        report.known.append(title)
    else:
        report.imported.append(job_id)


def _take_data(keep: KeepData, archive: OpenArchive, entry: DataEntry, report: ImportReport) -> None:
    """Take one data set, unless it is there already or damaged."""
    title = str(entry.settings.get("name", DATA))
    try:
        is_new = keep(archive.read_data(entry.kind, entry.dataset), entry.report, entry.settings)
    except FAULTS as error:
        report.refused[title] = archive.explain(error)
        return
    (report.imported if is_new else report.known).append(title)


def read_contents(archive: zipfile.ZipFile, name: str) -> Manifest:
    """Return what is in an archive.

    Raises StoreError: it holds something else, or is of a newer version.
    """
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise no_archive(name, f"it holds {len(members):,} files, more than {MOST_FILES:,}")
    known = {member.filename: member for member in members}
    if MANIFEST not in known or known[MANIFEST].file_size > MOST_MANIFEST:
        raise no_archive(name, f"it has no {MANIFEST}, or one that is too long")
    try:
        with archive.open(known[MANIFEST]) as stored:
            return read_manifest(name, stored.read(MOST_MANIFEST), len(members))
    except (*DAMAGE, OSError) as error:
        raise no_archive(name, f"its {MANIFEST} is damaged") from error
