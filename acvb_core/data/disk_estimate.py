"""How large a corpus a file holds, from its size and its head: enough to tell whether it fits into memory."""

from __future__ import annotations

import io
import math
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from acvb_core.data.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.corpus_docword import read_sizes
from acvb_core.data.corpus_layout import ROLES, CorpusLayout
from acvb_core.data.corpus_readers import inspect_source
from acvb_core.data.corpus_zip import chosen_files
from acvb_core.data.disk_readers import read_to_disk
from acvb_core.data.report import plural
from acvb_core.data.tokeniser import Tokeniser
from acvb_core.errors import DataError

_HEAD_COUNTS = 4 << 20
_HEAD_TEXTS = 2 << 20
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Estimate:
    """The size that a corpus on file is expected to have; no promise.

    Attributes
    ----------
    documents, words, pairs, tokens : int
        Documents, words of the vocabulary, different (document, word) pairs, words with repetitions.
    known : tuple of str
        Which of these are no estimates: the file says them, or was read to its end.
    file_bytes : int
        Size of the file as it is (packed where it is).
    text_bytes : int
        The same unpacked, estimated where it is packed.
    head_bytes : int
        How much of it was looked at, unpacked.
    """

    documents: int
    words: int
    pairs: int
    tokens: int
    known: tuple[str, ...]
    file_bytes: int
    text_bytes: int
    head_bytes: int

    @property
    def sentence(self) -> str:
        """The estimate in words, with what it rests on."""
        sizes = (
            f"{plural(self.documents, 'document')}, {plural(self.words, 'word')} in the vocabulary, "
            f"{plural(self.tokens, 'token')}"
        )
        if len(self.known) == len(_Sizes._fields):
            return f"{sizes[0].upper()}{sizes[1:]}."
        return f"About {sizes}: an estimate from the first {self.head_bytes / 1e6:.1f} MB of the file."


class _Sizes(NamedTuple):
    documents: int
    words: int
    pairs: int
    tokens: int


class _Head(NamedTuple):
    text: bytes
    share: float  # of the whole file


def estimate(
    source: FileLike,
    layout: CorpusLayout | None = None,
    *,
    filename: str | None = None,
    tokeniser: Tokeniser | None = None,
    encoding: str | None = None,
) -> Estimate:
    """Return the size to expect of a corpus, reading a few megabytes of it.

    Documents, pairs and tokens are taken to go on as they do in the head. Words come again: their number is taken to
    grow by the power of the size by which it grew from the first half of the head to the whole of it. In a list of
    counts whose lines are mixed the documents come again too: each line is taken to be of any of them alike. A file
    whose end is unlike its head is misjudged.

    Parameters
    ----------
    source : path, bytes or binary file object
    layout : CorpusLayout, optional
        Default: as `inspect_corpus` proposes.
    filename : str, optional
    tokeniser : Tokeniser, optional
        For texts; default: `Tokeniser()`.
    encoding : str, optional

    Raises
    ------
    DataError
        The head cannot be read, or there is no word in it.
    """
    with ByteSource(source, filename, archives=True, patient=True) as opened:
        size = opened.size()
        layout = layout or inspect_source(opened, "auto", encoding, None, "auto")
        encoding = encoding or layout.encoding
        limit = _HEAD_TEXTS if layout.has_texts else _HEAD_COUNTS
        if layout.format == "zip":
            head = _zip_head(opened, limit)
        else:
            head = _head(opened, encoding, limit)
        if layout.format == "docword":
            found, known = _docword(opened, encoding, head)
        else:
            found, known = _grown(head, layout, tokeniser)
    unpacked = round(len(head.text) / head.share) if layout.format != "zip" else size
    return Estimate(*found, known, size, unpacked, len(head.text))


def _head(source: ByteSource, encoding: str | None, limit: int) -> _Head:
    """Return the first megabytes as UTF-8, up to a line end, and their share of the file."""
    size = source.size()
    stream = Utf8Stream(source, encoding)
    pieces: list[bytes] = []
    length = 0
    while length < limit and (chunk := stream.read(_BLOCK)):
        pieces.append(chunk)
        length += len(chunk)
    text = b"".join(pieces)
    if not stream.read(1):
        return _Head(text, 1.0)
    share = source.position() / size
    whole = text[: _last_line_end(text)] or text
    return _Head(whole, min(share * len(whole) / len(text), 1.0))


def _last_line_end(text: bytes) -> int:
    return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1


def _zip_head(source: ByteSource, limit: int) -> _Head:
    """Return an archive of the first files."""
    files = chosen_files(source).files
    out, length, taken = io.BytesIO(), 0, 0
    with zipfile.ZipFile(source.seekable()) as archive, zipfile.ZipFile(out, "w") as head:
        for file in files:
            if length > limit:
                break
            try:
                head.writestr(file.filename, archive.read(file))
            except Exception:  # an encrypted or damaged file: the reading will tell
                length += file.file_size
                continue
            length += file.file_size
            taken += 1
    return _Head(out.getvalue(), max(taken, 1) / len(files))


def _docword(source: ByteSource, encoding: str | None, head: _Head) -> tuple[_Sizes, tuple[str, ...]]:
    (n_documents, n_words, n_lines), delimiter = read_sizes(source, encoding, None)
    mark = None if delimiter == " " else delimiter.encode()
    counts = []
    for line in head.text.splitlines()[3:]:
        fields = line.split(mark)
        if len(fields) == 3 and fields[2].strip().isdigit():
            counts.append(int(fields[2]))
    mean = sum(counts) / max(len(counts), 1)
    known = ("documents", "words", "pairs", *(("tokens",) if head.share == 1.0 else ()))
    return _Sizes(n_documents, n_words, n_lines, round(mean * n_lines)), known


def _grown(head: _Head, layout: CorpusLayout, tokeniser: Tokeniser | None) -> tuple[_Sizes, tuple[str, ...]]:
    found = _measured(head.text, layout, tokeniser)
    if head.share == 1.0:
        return found, _Sizes._fields
    scale = 1.0 / head.share
    linear = _Sizes(*(round(size * scale) for size in found))
    if layout.format == "zip":
        return linear, ("documents",)
    half = _half(head.text, layout, tokeniser)
    if half is None:
        return linear, ()
    documents = linear.documents
    if layout.format == "counts" and 2 * half.documents > 1.02 * found.documents:
        documents = _met_again(found.documents, found.pairs, scale)
    words = _power(half.words, found.words, scale)
    if tokeniser is not None and tokeniser.max_words is not None:
        words = min(words, tokeniser.max_words)
    return _Sizes(documents, words, linear.pairs, linear.tokens), ()


def _half(text: bytes, layout: CorpusLayout, tokeniser: Tokeniser | None) -> _Sizes | None:
    try:
        return _measured(text[: _last_line_end(text[: len(text) // 2])], layout, tokeniser)
    except DataError:
        return None


def _power(half: int, whole: int, scale: float) -> int:
    """Return what grew from `half` to `whole` when the text was doubled, for `scale` times the text."""
    exponent = min(max(math.log2(whole / max(half, 1)), 0.0), 1.0)
    return round(whole * scale**exponent)


def _met_again(found: int, lines: int, scale: float) -> int:
    """Return how many documents `scale` times the lines show, if each line is of any of them alike."""
    low, high = float(found), 1e3 * lines
    for _ in range(60):
        number = math.sqrt(low * high)
        low, high = (number, high) if number * -math.expm1(-lines / number) < found else (low, number)
    return round(low * -math.expm1(-lines * scale / low))


def _measured(text: bytes, layout: CorpusLayout, tokeniser: Tokeniser | None) -> _Sizes:
    """Read the head as the file would be read, broken lines left out."""
    options: dict[str, Any] = {"format": layout.format, "tokeniser": tokeniser}
    for role in (role for roles in ROLES.get(layout.format, ()) for role in roles if role != "label_column"):
        at = getattr(layout, role)
        options[role] = False if at is None else at
    if layout.delimiter is not None:
        options |= {"delimiter": layout.delimiter, "header": layout.header}
    with tempfile.TemporaryDirectory() as folder:
        corpus = read_to_disk(
            text, Path(folder) / "head", filename=layout.filename, broken="skip", keep_texts=False, **options
        ).corpus
    return _Sizes(corpus.n_documents, corpus.n_words, corpus.n_pairs, corpus.n_tokens)
