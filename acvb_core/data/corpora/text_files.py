"""The .txt files of a zip archive or of a folder: each is a document, its folder its label."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.disk_files import META
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource, is_repeated
from acvb_core.data.sources.frames import FrameChoices, FrameSource
from acvb_core.data.sources.opening import open_source
from acvb_core.data.sources.recognisers import refuse_text_format
from acvb_core.data.sources.text_lines import open_lines, refuse_too_large

if TYPE_CHECKING:
    from acvb_core.data.corpora.reading import CorpusOptions

#: In the place of a name that is blank, as an archiver leaves that of a text from a pipe.
_NO_NAME = "a file without a name"


class TextFile(NamedTuple):
    """One file of an archive or a folder; `read` gives its bytes."""

    path: str
    size: int
    read: Callable[[], bytes]

    @property
    def place(self) -> PurePosixPath:
        """The path, whatever system wrote it."""
        return PurePosixPath(self.path.replace("\\", "/"))

    @property
    def is_document(self) -> bool:
        """Return whether it is a .txt file, and not one of the hidden ones."""
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in self.place.parts)
        return self.path.lower().endswith(".txt") and not hidden


class TextFolder:
    """A folder in the place of a `ByteSource`: its files are read by `open_files`."""

    gzipped = False
    cut_short: DataError | None = None

    def __init__(self, folder: Path, filename: str | None = None, *, patient: bool = False) -> None:
        self.folder, self.patient = folder, patient
        self.name = self.stem = filename or folder.resolve().name or str(folder)
        if (folder / META).is_file():
            what = "this folder holds a corpus on disk, which is read already"
            raise DataError(what, source=self.name, remedy="Open it by DiskCorpus.open(folder).")

    def __enter__(self) -> TextFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing: no file is kept open."""

    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size for file in self.files())

    def position(self) -> int:
        """Return 0: how far the reading is, is not known."""
        return 0

    def files(self) -> list[TextFile]:
        """Return the files of the folder and of the folders in it, in the order of their paths."""
        return [
            TextFile(path.relative_to(self.folder).as_posix(), path.stat().st_size, path.read_bytes)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        ]


CorpusSource = ByteSource | FrameSource | TextFolder


def open_corpus_source(
    source: Any, filename: str | None, options: CorpusOptions, *, patient: bool = False
) -> CorpusSource:
    """Open a file, bytes, anything in memory that holds columns (`open_source`), or a folder of .txt files."""
    if isinstance(source, str | os.PathLike):
        folder = Path(source).expanduser()
        if folder.is_dir():
            return TextFolder(folder, filename, patient=patient)
    choices = FrameChoices(options.get("sheet"), options.get("table"), options.get("query"))
    return open_source(source, filename, kind="corpus", patient=patient, choices=choices)


@contextmanager
def open_files(source: CorpusSource) -> Iterator[list[TextFile]]:
    """Give the files of an archive or a folder, which can be read for as long."""
    if isinstance(source, TextFolder):
        yield source.files()
        return
    assert isinstance(source, ByteSource)
    try:
        archive = source.archive()
    except DataError:
        raise
    except Exception as problem:  # a damaged archive makes zipfile raise all sorts
        raise _damage_error(source.name, problem) from None
    unpacked = sum(file.file_size for file in archive.infolist())
    if is_repeated(source.size(), unpacked):
        what = (
            f"the zip archive has {source.size():,} bytes and unpacks to {unpacked:,}, over and over the same"
        )
        raise source.fault(what, "Check how it was made. To read it all the same, load the files in it.")
    yield [
        TextFile(file.filename or _NO_NAME, file.file_size, partial(_unpack, archive, file, source.name))
        for file in archive.infolist()
        if not file.filename.endswith("/")  # ZipInfo.is_dir fails at a blank name
    ]


def _unpack(archive: zipfile.ZipFile, file: zipfile.ZipInfo, source: str) -> bytes:
    name = f"{source}: {file.filename}"
    if file.flag_bits & 1:
        what, remedy = "this file of the zip archive is encrypted", "Pack the files again without a password."
        raise DataError(what, source=name, remedy=remedy)
    try:
        return archive.read(file)
    except Exception as problem:  # as above, and what the packed data make zlib raise
        raise _damage_error(name, problem) from None


def _damage_error(name: str, problem: Exception) -> DataError:
    what = f"the zip archive is damaged ({problem})"
    return DataError(what, source=name, remedy="Copy, download or pack it again.")


def choose_files(files: Sequence[TextFile], source: CorpusSource) -> tuple[list[TextFile], list[Fact]]:
    """Return the files that are documents, and the facts about them; no such file is a DataError."""
    is_folder = isinstance(source, TextFolder)
    what = "folder" if is_folder else "zip archive"
    chosen = [file for file in files if file.is_document]
    others = [file.path for file in files if not file.is_document]
    if not chosen:
        found = f"there is no .txt file among the {plural(len(files), 'file')} of this {what}"
        otherwise = "give one file" if is_folder else "unpack it and load one file"
        remedy = f"Put one .txt file for each document into it, or {otherwise}."
        raise DataError(found, source=source.name, value=files[0].path if files else None, remedy=remedy)
    facts = [Fact("files", len(chosen), f"Read {plural(len(chosen), '.txt file')} of the {what}.")]
    if others:
        told = f"{plural(len(others), 'other file')} in the {what} not read: {list_first(others)}."
        facts.append(Fact("other_files", len(others), told))
    return chosen, facts


def list_first(names: Sequence[str]) -> str:
    """Return the first names, with … for those that are left out."""
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def read_text(file: TextFile, source: str, encoding: str | None) -> str:
    """Return the text of one file of an archive or a folder of this name."""
    name = f"{source}: {file.path}"
    refuse_too_large(file.size, name)
    try:
        content = file.read()
    except OSError as problem:
        what = f"the file cannot be read ({problem.strerror or problem})"
        raise DataError(what, source=name, remedy="Check the right to read it.") from None
    if not content:
        return ""
    with ByteSource(content, name) as opened:
        refuse_text_format(opened)
        return "".join(open_lines(opened, encoding)[0])
