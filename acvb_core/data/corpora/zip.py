"""A zip archive of .txt files: each is a document, its folder its label."""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath
from typing import NamedTuple

from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.text_formats import refuse_text_format
from acvb_core.data.sources.text_lines import open_lines, refuse_too_large
from acvb_core.errors import DataError

_SHOWN = 5


def zip_files(source: ByteSource) -> list[zipfile.ZipInfo]:
    """Return what is in the archive, folders left out.

    Raises
    ------
    DataError
        The archive is damaged, encrypted, or unpacks to more than is held in memory.
    """
    try:
        with zipfile.ZipFile(source.seekable()) as archive:
            files = [file for file in archive.infolist() if not file.is_dir()]
    except DataError:
        raise
    except Exception as problem:  # a damaged archive makes zipfile raise all sorts
        raise _damaged(source.name, str(problem)) from None
    return files


def read_zip(
    source: ByteSource, encoding: str | None
) -> tuple[list[str], list[str], list[str] | None, list[Fact]]:
    """Return texts, names (paths without extension), labels (folders, None for one folder) and facts.

    Raises
    ------
    DataError
        As `zip_files`; there is no .txt file, or one holds bytes that its encoding does not allow.
    """
    chosen = chosen_files(source)
    refuse_too_large(sum(file.file_size for file in chosen.files), source.name)
    with zipfile.ZipFile(source.seekable()) as archive:
        texts = [archive_text(archive, file, source.name, encoding) for file in chosen.files]
    several = len(set(chosen.folders)) > 1
    return texts, chosen.names, chosen.folders if several else None, chosen.facts


class ChosenFiles(NamedTuple):
    """The .txt files of an archive, their names and folders, and the facts about them."""

    files: list[zipfile.ZipInfo]
    names: list[str]
    folders: list[str]
    facts: list[Fact]


def chosen_files(source: ByteSource) -> ChosenFiles:
    """Return the files of an archive that are documents.

    Raises
    ------
    DataError
        As `zip_files`; there is no .txt file.
    """
    files = zip_files(source)
    wanted = [file for file in files if is_text_file(file.filename)]
    others = [file for file in files if not is_text_file(file.filename)]
    if not wanted:
        raise DataError(
            f"there is no .txt file among the {plural(len(files), 'file')} of this zip archive",
            source=source.name,
            value=files[0].filename if files else None,
            remedy="Put one .txt file for each document into it, or unpack it and load one file.",
        )
    paths = [PurePosixPath(file.filename.replace("\\", "/")) for file in wanted]
    folders = [str(path.parent) for path in paths]
    facts = [Fact("files", len(wanted), f"Read {plural(len(wanted), '.txt file')} of the zip archive.")]
    if others:
        shown = ", ".join(file.filename for file in others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
        told = f"{plural(len(others), 'other file')} in the zip archive not read: {shown}."
        facts.append(Fact("other_files", len(others), told))
    names = [str(path.with_suffix("")) for path in paths]
    return ChosenFiles(wanted, names, folders, facts)


def is_text_file(path: str) -> bool:
    """Whether a file of an archive is a document: .txt, and none of the hidden ones that macOS adds."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return path.lower().endswith(".txt") and not hidden


def archive_text(archive: zipfile.ZipFile, file: zipfile.ZipInfo, source: str, encoding: str | None) -> str:
    """Return the text of one file of an archive.

    Raises
    ------
    DataError
        The file is encrypted, damaged, too large or no plain text, or holds bytes that its encoding does not allow.
    """
    name = f"{source}: {file.filename}"
    if file.flag_bits & 1:
        raise DataError(
            "this file of the zip archive is encrypted",
            source=name,
            remedy="Pack the files again without a password.",
        )
    refuse_too_large(file.file_size, name)
    try:
        content = archive.read(file)
    except Exception as problem:  # as above, and what the packed data make zlib raise
        raise _damaged(name, str(problem)) from None
    if not content:
        return ""
    with ByteSource(content, name) as opened:
        refuse_text_format(opened)
        return "".join(open_lines(opened, encoding)[0])


def _damaged(name: str, problem: str) -> DataError:
    return DataError(
        f"the zip archive is damaged ({problem})", source=name, remedy="Copy, download or pack it again."
    )
