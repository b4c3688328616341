"""Zip archives: how many files one lists is known from its end, before the list is made."""

from __future__ import annotations

import struct
import zipfile
from typing import BinaryIO

#: Files in an archive at most: the list of so many takes about 500 MB.
MAX_FILES = 1_000_000
_ENTRY = b"PK\x01\x02"
_END, _END_SIZE = b"PK\x05\x06", 22
#: The end of an archive of more than 4 GB, or of more than 65,535 files: its sizes have 8 bytes.
_LONG_END, _LONG_END_SIZE, _LONG_LOCATOR_SIZE = b"PK\x06\x06", 56, 20
_MAX_COMMENT = 1 << 16
_PIECE = 1 << 24


def open_archive(stream: BinaryIO) -> zipfile.ZipFile:
    """Return the archive in a stream, its list of files made.

    Raises TooManyFilesError: it lists more than `MAX_FILES`.
    Raises zipfile.BadZipFile, and what else a damaged archive makes zipfile raise.
    """
    if count_files(stream) > MAX_FILES:
        raise TooManyFilesError(MAX_FILES)
    return zipfile.ZipFile(stream)


class TooManyFilesError(Exception):
    """An archive lists more files than are read, which are `most`."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


def count_files(stream: BinaryIO) -> int:
    """Return how many files an archive lists, or a little more than `MAX_FILES`; 0 where its end is not found.

    The number that the end claims may be false, so the entries are counted.
    """
    size = stream.seek(0, 2)
    tail_at = max(0, size - _MAX_COMMENT - _END_SIZE - _LONG_LOCATOR_SIZE - _LONG_END_SIZE)
    stream.seek(tail_at)
    tail = stream.read()
    end = tail.rfind(_END)
    if end < 0 or len(tail) < end + _END_SIZE:
        return 0
    directory_size = struct.unpack_from("<I", tail, end + 12)[0]
    directory_end = end
    long_end = end - _LONG_LOCATOR_SIZE - _LONG_END_SIZE
    if long_end >= 0 and tail.startswith(_LONG_END, long_end):
        directory_size = struct.unpack_from("<Q", tail, long_end + 40)[0]
        directory_end = long_end
    stop = tail_at + directory_end
    stream.seek(max(0, stop - directory_size))
    n_files, left, kept = 0, min(directory_size, stop), b""
    while left > 0 and n_files <= MAX_FILES and (piece := stream.read(min(left, _PIECE))):
        left -= len(piece)
        piece = kept + piece
        n_files += piece.count(_ENTRY)
        kept = piece[-len(_ENTRY) + 1 :]  # an entry may begin here and go on in the next piece
    return n_files
