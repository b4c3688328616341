"""Runs with their data in one file, for another installation to take over."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from acvb_core.engine.run_label import RunLabel
from acvb_core.store.archives.form import MANIFEST, Entry, Manifest
from acvb_core.store.datasets import find_kind
from acvb_core.store.files import StoreError
from acvb_core.store.listing.run_rows import run_path
from acvb_core.store.results import read_identity
from acvb_core.store.runs import RunStore
from acvb_core.store.topics.names import TopicNames

_CHUNK = 1 << 20


def write_archive(
    store: RunStore, labels: Mapping[str, RunLabel], file: BinaryIO, version: str
) -> dict[str, str]:
    """Write stored runs, their labels and the data of each, once; return why others were left out, by id.

    The files are those of the store as they are: a run under way is taken as it was last kept.

    `labels`: of the runs to write, by id.
    `version`: of the package.
    Raises StoreError: the archive cannot be written.
    """
    runs: list[Entry] = []
    left_out: dict[str, str] = {}
    files: dict[str, tuple[int, str]] = {}
    names = TopicNames(store.folder)
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for job_id, label in labels.items():
                try:
                    for path in _find_files(store, job_id):
                        _add_file(archive, files, store.folder, path)
                except StoreError as error:
                    left_out[job_id] = str(error)
                    continue
                named = []
                with suppress(StoreError):  # names of topics are no part of a run
                    named = names.entries(job_id)
                runs.append(Entry(job_id, label, named))
            archive.writestr(MANIFEST, Manifest(tuple(runs), files).to_bytes(version))
    except OSError as error:
        raise StoreError(f"The archive cannot be written: {error.strerror or error}.") from error
    return left_out


def _find_files(store: RunStore, job_id: str) -> Sequence[Path]:
    """Return the files that a run needs: its data's, and its own.

    Raises StoreError: it cannot be put into an archive.
    """
    path = run_path(store.folder, job_id)
    run = read_identity(path)
    if run is None:
        raise StoreError(f"{path} is of an older version. Open the run once, and save the archive again.")
    kind = find_kind(run.kind)
    if kind.elsewhere:
        raise StoreError("Its documents are kept on disk, and are too many for an archive.")
    return kind.file(store.folder, run.dataset), path


def _add_file(archive: zipfile.ZipFile, files: dict[str, tuple[int, str]], folder: Path, path: Path) -> None:
    """Add a file of the store, unless it is there already; one that is replaced meanwhile is read as it was."""
    name = path.relative_to(folder).as_posix()
    if name in files:
        return
    digest, size = hashlib.sha256(), 0
    try:
        source = path.open("rb")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from error
    with source, archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
            size += len(chunk)
    files[name] = size, digest.hexdigest()
