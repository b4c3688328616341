"""The form of an archive of runs, plans and data: a zip without compression, and a manifest that lists every file."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from acvb_core.core.errors import shorten
from acvb_core.engine.prepared import MOST_CHARACTERS, RunLabel, clean_name
from acvb_core.store.codecs import is_moment
from acvb_core.store.files import DAMAGE, StoreError

#: Version 2 may have plans: experiments, and searches. One without them says 1, as older programs can read it. They
#: pass over data without runs.
FORMAT, VERSION = "acvb archive of runs", 2
MANIFEST = "manifest.json"
#: Most files of an archive: runs, plans, and data.
MOST_FILES = 100_000
#: Most bytes of a manifest that is read.
MOST_MANIFEST = 64 << 20
_MOST_NOTE, _MOST_TAGS, _MOST_LINES = 100_000, 100, 1_000


@dataclass(frozen=True)
class Entry:
    """A run in an archive."""

    job_id: str
    label: RunLabel
    topic_names: Any  #: as `TopicNames.entries` gives them; not checked


@dataclass(frozen=True)
class PlanEntry:
    """An experiment or a search in an archive."""

    noun: str  #: which of them
    job_id: str
    name: str  #: of its data
    created: float  #: seconds since the epoch
    #: `kind`, `dataset`: of its data, and their key.
    kind: str
    dataset: str


@dataclass(frozen=True)
class DataEntry:
    """Data without runs in an archive."""

    #: `kind`, `dataset`: of the data, and their key.
    kind: str
    dataset: str
    report: list[str]  #: what reading them found
    settings: dict[str, Any]  #: as `RunStore.save_dataset` was given them; not checked


@dataclass(frozen=True)
class Manifest:
    """All that is in an archive."""

    runs: tuple[Entry, ...]
    plans: tuple[PlanEntry, ...]
    data: tuple[DataEntry, ...]
    files: Mapping[str, tuple[int, str]]  #: bytes and SHA-256 (hex) of each, by the name in the zip

    def to_bytes(self, program: str) -> bytes:
        """Return the manifest as it is written; `program` is the version of the package."""
        runs = [
            {"id": run.job_id, "label": asdict(run.label), "topic_names": run.topic_names}
            for run in self.runs
        ]
        files = [
            {"name": name, "bytes": size, "sha256": digest} for name, (size, digest) in self.files.items()
        ]
        about = {
            "format": FORMAT,
            "version": VERSION if self.plans else 1,
            "program": program,
            "runs": runs,
            "plans": [asdict(plan) for plan in self.plans],
            "data": [asdict(data) for data in self.data],
            "files": files,
        }
        return json.dumps(about, indent=1).encode()


def read_manifest(name: str, stored: bytes, n_files: int) -> Manifest:
    """Return the manifest of the archive `name`, which has so many files.

    Raises StoreError: it is of a newer version, damaged, or not a manifest; or it lists more than the archive has, or
      something twice.
    """
    try:
        about = json.loads(stored)
        if about["format"] != FORMAT:
            raise ValueError("another format")
        version = int(about["version"])
        if version > VERSION:
            raise StoreError(
                f"{name} was written by a newer version of the program (format {version}, this one reads up to "
                f"{VERSION}). Update the program."
            )
        lists = [list(about.get(part, [])) for part in ("runs", "plans", "data")]
        if (entries := sum(map(len, lists))) > n_files:
            raise no_archive(name, f"it lists {entries:,} runs and data sets, and has {n_files:,} files")
        listed = list(about["files"])
        if len(listed) > MOST_FILES:
            raise no_archive(name, f"it lists {len(listed):,} files, more than {MOST_FILES:,}")
        files = {str(file["name"]): (int(file["bytes"]), str(file["sha256"])) for file in listed}
        runs = tuple(map(_read_entry, lists[0]))
        plans = tuple(map(_read_plan, lists[1]))
        data = tuple(map(_read_data, lists[2]))
    except DAMAGE as error:
        raise no_archive(name, "its list of files is damaged") from error
    _refuse_repeats(name, (str(file["name"]) for file in listed))
    _refuse_repeats(name, (f"run {run.job_id}" for run in runs))
    _refuse_repeats(name, (f"{plan.noun} {plan.job_id}" for plan in plans))
    _refuse_repeats(name, (f"data set {one.dataset}" for one in data))
    return Manifest(runs, plans, data, files)


def _refuse_repeats(name: str, things: Iterable[str]) -> None:
    """Raise a StoreError if an archive lists something twice."""
    for thing, number in Counter(things).items():
        if number > 1:
            raise no_archive(name, f"it lists {shorten(thing, 120)} {number:,} times")


def _read_entry(run: dict[str, Any]) -> Entry:
    """Return a run as a manifest has it, its texts cut to their usual lengths."""
    job_id, label = _check_id(run["id"]), run["label"]
    tags = tuple(str(tag)[:MOST_CHARACTERS] for tag in list(label["tags"])[:_MOST_TAGS])
    note = str(label["note"])[:_MOST_NOTE]
    name = clean_name(str(label["name"]))
    return Entry(job_id, RunLabel(name, note, tags, label["pinned"] is True), run.get("topic_names"))


def _read_plan(plan: dict[str, Any]) -> PlanEntry:
    """Return a plan as a manifest has it."""
    entry = PlanEntry(**plan)
    texts = (entry.noun, entry.name, entry.kind, entry.dataset)
    if not all(isinstance(text, str) for text in texts) or not is_moment(entry.created):
        raise ValueError("no plan")
    return replace(entry, job_id=_check_id(entry.job_id), name=clean_name(entry.name))


def _read_data(data: dict[str, Any]) -> DataEntry:
    """Return data as a manifest has them, the report cut to its usual length."""
    lines = [str(line)[:_MOST_NOTE] for line in list(data["report"])[:_MOST_LINES]]
    return DataEntry(str(data["kind"]), str(data["dataset"]), lines, dict(data["settings"]))


def _check_id(job_id: Any) -> str:
    """Return the id of a run or plan; raise ValueError where it may not be part of a path."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", str(job_id)):
        raise ValueError(f"no name of a run: {job_id!r}")
    return str(job_id)


def no_archive(name: str, why: str) -> StoreError:
    """Return the error for a file that cannot be read as an archive at all."""
    return StoreError(
        f"{name} cannot be read as an archive of runs: {why}. Nothing was imported. Give the whole file, as the "
        "Runs page gave it."
    )
