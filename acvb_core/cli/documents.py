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
from acvb_core.cli.reading import reader_options, refuse_reader_flags, typed_options
from acvb_core.core.errors import ParameterError
from acvb_core.core.files import remove_abandoned, scratch_prefix
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.disk import DiskCorpus
from acvb_core.data.schema import Schema

#: A file of less is never looked at twice: it fits into memory.
SMALL = 16 << 20
#: Unpacked bytes of text from which documents that are streamed stay on disk …
LARGE = 1 << 30
#: … and so do those that would take this share of the memory there is.
SHARE = 0.25
#: Bytes in memory for a (document, word) pair while a corpus is put together, and for a byte of text.
_PAIR, _TEXT = 40, 3
#: Options that say nothing of how the file is inspected.
_ASIDE = {"name", "vocabulary", "tokeniser"}


def load_documents(
    arguments: argparse.Namespace, cutter: Callable[[], Tokeniser] | None, streamed: bool
) -> tuple[Any, list[str]]:
    """Return the documents of FILE, a `Corpus` or a `DiskCorpus`, and what reading them found.

    `cutter` gives the tokeniser of a file of texts where none was typed; `streamed` says that documents may stay on
    disk for all that is to be done with them.

    Raises DataError, ParameterError: it cannot be read as asked.
    """
    file, asked = arguments.file, getattr(arguments, "on_disk", None)
    _check_streamed(asked, streamed)
    # A folder without texts is a corpus that is damaged, or none: opening it says so.
    if holds_corpus(file) or (Path(file).is_dir() and not holds_texts(file)):
        if asked is not None:
            raise ParameterError(f"{file} is a folder, which is on disk already; leave --on-disk out.")
        refuse_reader_flags(arguments, "corpus", "A corpus on disk")
        return DiskCorpus.open(file), []
    options = reader_options(arguments, "corpus")
    if cutter is not None and "tokeniser" not in options and _inspect(file, options).has_texts:
        options["tokeniser"] = cutter()
    broken = typed_options(arguments, ["broken"])
    if asked is not None:
        return keep_file(arguments, Path(asked), options | broken)
    if streamed and _is_large(file, options):
        folder = _temporary_folder(arguments)
        if not arguments.quiet:
            sys.stderr.write(
                f"{Path(file).name} is large: its documents stay on disk, in {folder} until the end; --on-disk FOLDER "
                "keeps them.\n"
            )
        return read_file(arguments, folder, options | broken | {"keep_texts": False})
    if broken.get("broken") == "skip":  # only the readers to disk can go on behind a broken line
        corpus, lines = read_file(arguments, _temporary_folder(arguments), options | broken)
        return corpus.in_memory(), lines
    from acvb_core.data.corpora.readers import load_corpus

    documents = load_corpus(file, **options)
    return documents.data, documents.report.lines()


def keep_file(
    arguments: argparse.Namespace, folder: Path, options: dict[str, Any]
) -> tuple[DiskCorpus, list[str]]:
    """Read FILE to a folder, unless the folder has the corpus of this file, read in this way."""
    options = {"broken": "refuse"} | options
    origin = describe_origin(arguments.file, options)
    return read_once(folder, origin, lambda where: read_file(arguments, where, options))


def read_file(
    arguments: argparse.Namespace, folder: Path, options: dict[str, Any]
) -> tuple[DiskCorpus, list[str]]:
    """Read FILE to disk, and show how much is read."""
    from acvb_core.data.corpora.disk_build import read_to_disk

    quiet = getattr(arguments, "quiet", False)  # of a table on standard output, progress is no part
    progress = ReadingProgress(sys.stderr, Path(arguments.file).name, quiet=quiet)
    loaded = read_to_disk(arguments.file, folder, progress=progress, **options)
    return loaded.data, loaded.report.lines()


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


def _inspect(file: str, options: dict[str, Any]) -> Schema:
    """Return the schema of a file, as far as its head shows it."""
    from acvb_core.data.corpora.readers import inspect_corpus

    return inspect_corpus(file, **{name: value for name, value in options.items() if name not in _ASIDE})


def _is_large(file: str, options: dict[str, Any]) -> bool:
    """Return whether a file is too large to be taken into memory without need."""
    path = Path(file)
    if not path.is_file() or path.stat().st_size < SMALL:
        return False
    from acvb_core.data.corpora.estimate import estimate
    from acvb_core.engine.free_memory import available_memory

    schema = _inspect(file, options)
    known = {name: value for name, value in options.items() if name not in _ASIDE}
    size = estimate(path, schema, tokeniser=options.get("tokeniser"), **known)
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
    """Return a sample's documents, kept in the folder that was asked for, and what reading them found."""
    from acvb_core.data.corpora.disk_build import write_disk_corpus

    _check_streamed(arguments.on_disk, streamed)
    origin = describe_origin(arguments.file, {})
    return read_once(
        Path(arguments.on_disk), origin, lambda folder: (write_disk_corpus([corpus], folder), [])
    )
