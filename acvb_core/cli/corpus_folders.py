"""Folders of corpora on disk that the command line reads to and uses again, and streams that it keeps to read twice."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from acvb_core.core.errors import ParameterError
from acvb_core.core.files import scratch_prefix
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.disk import META, DiskCorpus
from acvb_core.data.sources.source import STANDARD_INPUT

#: Beside the corpus: which file it was read from, how, and what was found.
ORIGIN = "origin.json"
_VERSION = 1

Read = Callable[[Path], tuple[DiskCorpus, list[str]]]


def holds_corpus(path: str | Path) -> bool:
    """Return whether a path is a folder with a corpus on disk."""
    return (Path(path) / META).is_file()


def holds_texts(path: str | Path) -> bool:
    """Return whether a path is a folder of .txt files."""
    return Path(path).is_dir() and any(Path(path).rglob("*.txt"))


@contextmanager
def make_rereadable(arguments: argparse.Namespace) -> Iterator[None]:
    """Make FILE a path that can be read more than once: what comes from a stream is kept until the command ends.

    FILE is looked at before it is read; a stream can be read once.
    """
    file = arguments.file
    path = Path(file).expanduser()
    if file != STANDARD_INPUT and not (path.is_fifo() or path.is_char_device()):
        arguments.file = str(path) if file.startswith("~") else file
        yield
        return
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        copy = Path(folder) / ("stdin" if path.name in (STANDARD_INPUT, "stdin") else path.name)
        opened = nullcontext(sys.stdin.buffer) if file == STANDARD_INPUT else path.open("rb")
        with opened as stream, copy.open("wb") as to:
            shutil.copyfileobj(stream, to)
        arguments.file = str(copy)
        yield


def read_once(folder: Path, origin: Mapping[str, Any], read: Read) -> tuple[DiskCorpus, list[str]]:
    """Return the corpus of a folder, and what reading it found; it is read where the folder does not have it yet.

    `origin` is what `describe_origin` gives; `read` takes the folder, which is not there or empty.

    Raises ParameterError: the folder holds the corpus of another file, of another state of it, or read in another way.
    """
    if not holds_corpus(folder):
        corpus, lines = read(folder)
        text = json.dumps({**origin, "report": lines}, ensure_ascii=False, indent=1)
        (folder / ORIGIN).write_text(text, encoding="utf-8")
        return corpus, lines
    try:
        stored = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        report = [str(line) for line in stored.pop("report")]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise ParameterError(
            f"{folder} holds a corpus, but does not say of which file. Give {folder} in place of the file, or "
            "another folder."
        ) from None
    differs = [words for name, words in _DIFFERENCES.items() if stored.get(name) != origin[name]]
    if differs:
        changes = f"{' and '.join(differs[:2])} {'were' if differs[1:] else 'was'}"
        raise ParameterError(
            f"{folder} holds the corpus of {stored.get('file')!r}, and {changes} other than now. Give another folder, "
            f"remove this one to read the file again, or give {folder} in place of the file."
        )
    return DiskCorpus.open(folder), [f"Read before, and kept in {folder}.", *report]


_DIFFERENCES = {
    "version": "the version",
    "file": "the file",
    "bytes": "its size",
    "modified": "the time of its last change",
    "reading": "the way it was read",
}


def describe_origin(file: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values that identify a file (or `sample:NAME`), its state and the options of its reader."""
    reading = dict(sorted(options.items()))
    if "vocabulary" in reading:
        reading["vocabulary"] = _state(str(reading["vocabulary"]))
    if isinstance(reading.get("tokeniser"), Tokeniser):
        reading["tokeniser"] = reading["tokeniser"].to_dict()
    return {"version": _VERSION, **_state(file), "reading": reading}


def _state(file: str) -> dict[str, Any]:
    path = Path(file)
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path] if path.is_file() else []
    if not files:  # a sample, or what the reader will complain about
        return {"file": file, "bytes": None, "modified": None}
    stats = [one.stat() for one in files]
    size, modified = sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)
    return {"file": path.name, "bytes": size, "modified": modified}
