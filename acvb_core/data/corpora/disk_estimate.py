"""How large a corpus a file holds, from its size and its head: enough to tell whether it fits into memory."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, Unpack

import numpy as np

from acvb_core.data.corpora.counts import read_sizes
from acvb_core.data.corpora.documents import read_documents
from acvb_core.data.corpora.layout import CorpusLayout, CorpusOptions
from acvb_core.data.corpora.readers import inspect_source, read_entries
from acvb_core.data.corpora.reading import Reading
from acvb_core.data.corpora.text_files import (
    CorpusSource,
    TextFile,
    TextFolder,
    choose_files,
    open_corpus_source,
    open_files,
)
from acvb_core.data.corpora.texts import MemorySink, Texts, corpus_of_texts
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.report import plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike, Utf8Stream
from acvb_core.data.sources.frames import FrameSource
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
    **options: Unpack[CorpusOptions],
) -> Estimate:
    """Return the size to expect of a corpus, reading a few megabytes of it.

    Documents, pairs and tokens are taken to go on as they do in the second half of the head. Words come again: with
    each doubling of the text their number grows by a smaller factor, by the law that three lengths of the head show.
    In a list of counts whose lines are mixed the documents come again too: each line is taken to be of any of them
    alike. A file whose end is unlike its head is misjudged.

    Parameters
    ----------
    source : path, bytes or binary file object
    layout : CorpusLayout, optional
        Default: as `inspect_corpus` proposes.
    filename : str, optional
    tokeniser : Tokeniser, optional
        For texts; default: `Tokeniser()`.
    **options
        As for `load_corpus`.

    Raises
    ------
    DataError
        The head cannot be read, or there is no word in it.
    """
    with open_corpus_source(source, filename, options, patient=True) as opened:
        size = opened.size()
        layout = layout or inspect_source(opened, options)
        encoding = options.get("encoding") or layout.encoding
        layout, head = _head_of(opened, layout, encoding)
        if layout.format == "docword":
            assert isinstance(opened, ByteSource)
            found, known = _docword(opened, encoding, head)
        else:
            found, known = _grown(head, layout, tokeniser)
    unpacked = round(len(head.text) / head.share) if layout.format != "zip" else size
    return Estimate(*found, known, size, unpacked, len(head.text))


def head_texts(
    source: FileLike,
    layout: CorpusLayout | None = None,
    *,
    filename: str | None = None,
    **options: Unpack[CorpusOptions],
) -> Texts:
    """Return the texts that a file begins with, some megabytes of them: to try how they are cut.

    The arguments are those of `estimate`; a file of counts, or a head that cannot be read, is a DataError.
    """
    with open_corpus_source(source, filename, options, patient=True) as opened:
        layout = layout or inspect_source(opened, options)
        if not layout.has_texts:
            raise DataError(
                f"this is read as {layout.format}, which holds counts and no texts",
                source=opened.name,
                remedy="Say which format it is.",
            )
        as_text, head = _head_of(opened, layout, options.get("encoding") or layout.encoding)
        sink = MemorySink()
        with _reading(head.text, as_text) as reading:
            read_documents(reading, sink)
        return sink.read_texts(opened.stem, layout, ())


def _head_of(source: CorpusSource, layout: CorpusLayout, encoding: str | None) -> tuple[CorpusLayout, _Head]:
    """Return as much of a file as is looked at, and its layout; columns that are no text come as such."""
    limit = _HEAD_TEXTS if layout.has_texts else _HEAD_COUNTS
    if isinstance(source, FrameSource):
        as_text = replace(
            layout, filename=f"{layout.filename}.csv", delimiter=",", encoding="utf-8", container="text"
        )
        return as_text, _Head(*source.head_as_csv(limit))
    if layout.format == "zip":
        return layout, _zip_head(source, limit)
    assert isinstance(source, ByteSource)
    return layout, _head(source, encoding, limit)


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
    share = source.position() / size
    if not stream.read(1):
        return _Head(text, 1.0)
    whole = text[: _last_line_end(text)] or text
    return _Head(whole, min(share * len(whole) / len(text), 1.0))


def _last_line_end(text: bytes) -> int:
    return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1


def _zip_head(source: ByteSource | TextFolder, limit: int) -> _Head:
    """Return an archive of the first files."""
    with open_files(source) as files:
        chosen, _ = choose_files(files, source)
        sizes = np.cumsum([file.size for file in chosen])
        taken = min(int(np.searchsorted(sizes, limit)) + 1, len(chosen))
        return _Head(_packed(chosen[:taken]), taken / len(chosen))


def _first_files(packed: bytes, share: float) -> bytes:
    """Return an archive of the first files of an archive."""
    with ByteSource(packed, kind="corpus") as source, open_files(source) as files:
        return _packed(files[: math.ceil(len(files) * share)])


def _packed(files: Sequence[TextFile]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for file in files:
            with suppress(DataError, OSError):  # reading will tell
                packed.writestr(file.path, file.read())
    return out.getvalue()


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
    parts = [_part(head.text, layout, tokeniser, share) for share in (0.5, 0.25)]
    half, quarter = parts
    scale = 1.0 / head.share
    known = ("documents",) if layout.format == "zip" else ()
    if half is None:
        return _Sizes(*(round(size * scale) for size in found)), known
    # What the second half of the head adds is nearer to what is to come: numbers get longer, words are met again.
    ahead = 2.0 * (scale - 1.0)
    sizes = _Sizes(*(round(size + ahead * (size - before)) for size, before in zip(found, half, strict=True)))
    mixed = half.documents * found.pairs > 1.05 * found.documents * half.pairs
    if layout.format == "counts" and mixed:
        sizes = sizes._replace(documents=_met_again(found.documents, found.pairs, scale))
    if known:
        sizes = sizes._replace(documents=round(found.documents * scale))
    words = _words(found.words, half.words, half.words if quarter is None else quarter.words, scale)
    if tokeniser is not None and tokeniser.max_words is not None:
        words = min(words, tokeniser.max_words)
    return sizes._replace(words=words), known


def _part(text: bytes, layout: CorpusLayout, tokeniser: Tokeniser | None, share: float) -> _Sizes | None:
    """Return the sizes of the first lines of the head, None where there is nothing to count."""
    if layout.format == "zip":
        return _measured(_first_files(text, share), layout, tokeniser)
    try:
        return _measured(text[: _last_line_end(text[: int(len(text) * share)])], layout, tokeniser)
    except DataError:
        return None


def _words(whole: int, half: int, quarter: int, scale: float) -> int:
    """Return how many words `scale` times the text holds.

    Twice the text holds 2^e times the words; e falls with every doubling by as much as it fell with the last one.
    """
    power = math.log2(whole / max(half, 1))
    fall = max(math.log2(max(half, 1) / max(quarter, 1)) - power, 0.0)
    words, left = float(whole), math.log2(scale)
    while left > 0.0:
        power = min(max(power - fall, 0.0), 1.0)
        words *= 2.0 ** (power * min(left, 1.0))
        left -= 1.0
    return round(words)


def _met_again(found: int, lines: int, scale: float) -> int:
    """Return how many documents `scale` times the lines show, if each line is of any of them alike."""
    low, high = float(found), 1e3 * lines
    for _ in range(60):
        number = math.sqrt(low * high)
        low, high = (number, high) if number * -math.expm1(-lines / number) < found else (low, number)
    return round(low * -math.expm1(-lines * scale / low))


def _measured(text: bytes, layout: CorpusLayout, tokeniser: Tokeniser | None) -> _Sizes:
    """Return the sizes of the head."""
    with _reading(text, layout) as reading:
        sink = MemorySink()
        if layout.has_texts:
            facts = read_documents(reading, sink)
            corpus = corpus_of_texts(sink.read_texts("head", layout, facts), tokeniser).corpus
        else:
            corpus = sink.build_corpus(read_entries(reading, None, sink), layout, "head").corpus
    return _Sizes(corpus.n_documents, corpus.n_words, corpus.n_pairs, corpus.n_tokens)


@contextmanager
def _reading(text: bytes, layout: CorpusLayout) -> Iterator[Reading]:
    """Give the reading of a head, which is UTF-8; broken lines are left out."""
    with ByteSource(text, layout.filename, kind="corpus", patient=True) as source:
        yield Reading(source, layout, None, skip=True)
