"""From FILE to documents: in memory, or kept on disk where they are to be streamed or are too many."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acvb_core.cli.corpus_folders import describe_origin, holds_corpus, holds_texts, read_once
from acvb_core.cli.progress import ReadingProgress
from acvb_core.cli.reading import Reading, reader_options, refuse_reader_flags
from acvb_core.core.errors import ParameterError
from acvb_core.core.scratch import remove_abandoned, scratch_prefix
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.sources.frames import FrameChoices

#: A file of less is never looked at twice: it fits into memory.
SMALL = 16 << 20
#: Unpacked bytes of text from which documents that are streamed stay on disk …
LARGE = 1 << 30
#: … and so do those that would take this share of the memory there is.
SHARE = 0.25
#: Bytes in memory for a (document, word) pair while a corpus is put together, and for a byte of text.
_PAIR, _TEXT = 40, 3
_INSPECTED = ("format", "encoding", "delimiter", "header", *FrameChoices._fields)

Cutter = Callable[[], Tokeniser]


def load_documents(
    arguments: argparse.Namespace, reading: Reading, cutter: Cutter | None, streamed: bool
) -> tuple[Any, list[str]]:
    """Return the documents of FILE, a `Corpus` or a `DiskCorpus`, and what reading them found.

    `cutter` gives the tokeniser of a file of texts where none was typed; `streamed` says that documents may stay on
    disk for all that is to be done with them.

    Raises DataError, ParameterError: it cannot be read as asked.
    """
    file, folder_asked = arguments.file, getattr(arguments, "on_disk", None)
    _check_streamed(folder_asked, streamed)
    # A folder without texts is a corpus that is damaged, or none: opening it says so.
    if holds_corpus(file) or (Path(file).is_dir() and not holds_texts(file)):
        if folder_asked is not None:
            raise ParameterError(f"{file} is a folder, which is on disk already; leave --on-disk out.")
        refuse_reader_flags(arguments, reading, "A corpus on disk")
        return DiskCorpus.open(file), []
    options = reader_options(arguments, reading)
    if cutter is not None and "tokeniser" not in options and _has_texts(file, options):
        options["tokeniser"] = cutter()
    broken = getattr(arguments, "broken", None) or "refuse"
    if folder_asked is None and not (streamed and _is_large(file, options)):
        return _in_memory(arguments, options, broken)
    options["broken"] = broken

    def read(folder: Path, **more: Any) -> tuple[DiskCorpus, list[str]]:
        return read_file(file, folder, quiet=_quiet(arguments), **options, **more)

    if folder_asked is not None:
        return read_once(Path(folder_asked), describe_origin(file, options), read)
    folder = _temporary_folder(arguments)
    if not _quiet(arguments):
        sys.stderr.write(
            f"{Path(file).name} is large: its documents stay on disk, in {folder} until the end; --on-disk FOLDER "
            "keeps them.\n"
        )
    return read(folder, keep_texts=False)


def read_file(file: str, folder: Path, *, quiet: bool, **options: Any) -> tuple[DiskCorpus, list[str]]:
    """Read a file to disk, telling how far it is."""
    from acvb_core.data.corpora.disk_build import read_to_disk

    progress = ReadingProgress(sys.stderr, Path(file).name, quiet=quiet)
    loaded = read_to_disk(file, folder, progress=progress, **options)
    return loaded.data, loaded.report.lines()


def _in_memory(arguments: argparse.Namespace, options: dict[str, Any], broken: str) -> tuple[Any, list[str]]:
    from acvb_core.data.corpora.readers import load_corpus

    if broken == "refuse":
        documents = load_corpus(arguments.file, **options)
        return documents.data, documents.report.lines()
    # Only the readers to disk can go on behind a broken line.
    folder = _temporary_folder(arguments)
    corpus, lines = read_file(arguments.file, folder, quiet=_quiet(arguments), broken=broken, **options)
    return corpus.in_memory(), lines


def _temporary_folder(arguments: argparse.Namespace) -> Path:
    """Return a folder that goes with the documents: beside the results, where there is room, or where the system likes.

    It does not exist yet, but the one around it does.
    """
    out = getattr(arguments, "out", None)
    beside = None if out is None else Path(out).resolve().parent
    remove_abandoned(beside)
    home = tempfile.mkdtemp(
        prefix=scratch_prefix(), dir=beside if beside is not None and beside.is_dir() else None
    )
    arguments.cleanup.callback(shutil.rmtree, home, ignore_errors=True)
    return Path(home) / "corpus"


def _quiet(arguments: argparse.Namespace) -> bool:
    return bool(getattr(arguments, "quiet", False))


def _inspect(file: str | Path, options: dict[str, Any]) -> Any:
    """Return the schema of a file, as far as its head shows it."""
    from acvb_core.data.corpora.readers import inspect_corpus

    return inspect_corpus(file, **{name: options[name] for name in _INSPECTED if name in options})


def _has_texts(file: str, options: dict[str, Any]) -> bool:
    return _inspect(file, options).has_texts


def _is_large(file: str, options: dict[str, Any]) -> bool:
    """Return whether a file is too large to be taken into memory without need."""
    path = Path(file)
    if not path.is_file() or path.stat().st_size < SMALL:
        return False
    from acvb_core.data.corpora.estimate import estimate
    from acvb_core.engine.free_memory import available_memory

    schema = _inspect(path, options)
    part = {name: options[name] for name in FrameChoices._fields if name in options}
    size = estimate(
        path, schema, tokeniser=options.get("tokeniser"), encoding=options.get("encoding"), **part
    )
    needed = _PAIR * size.pairs + (_TEXT * size.text_bytes if schema.has_texts else 0)
    free = available_memory()
    return size.text_bytes > LARGE or (free is not None and needed > SHARE * free)


def _check_streamed(asked: str | None, streamed: bool) -> None:
    if asked is not None and not streamed:
        raise ParameterError(
            "--on-disk keeps the documents on disk, where only methods that stream or have --shards can take them (see "
            "`acvb methods`)."
        )


def write_sample(arguments: argparse.Namespace, corpus: Any, streamed: bool) -> tuple[DiskCorpus, list[str]]:
    """Return a sample's documents, kept in the folder that was asked for."""
    from acvb_core.data.corpora.disk_build import write_disk_corpus

    _check_streamed(arguments.on_disk, streamed)

    def read(folder: Path) -> tuple[DiskCorpus, list[str]]:
        return write_disk_corpus([corpus], folder), []

    return read_once(Path(arguments.on_disk), describe_origin(arguments.file, {}), read)
