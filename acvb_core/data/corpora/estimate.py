"""How large a corpus a file holds, from its size and its head: enough to tell whether it fits into memory."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, Unpack

import numpy as np

from acvb_core.core.errors import DataError
from acvb_core.data.corpora.build import MemorySink, Texts, corpus_of_texts, read_documents
from acvb_core.data.corpora.readers import read_entries
from acvb_core.data.corpora.reading import Reading, read_sizes
from acvb_core.data.corpora.schema import (
    CorpusOptions,
    CorpusSource,
    TextFile,
    TextFolder,
    choose_files,
    inspect_source,
    open_corpus_source,
    open_files,
)
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.report import plural
from acvb_core.data.schema import Schema
from acvb_core.data.sources.frames import FrameSource
from acvb_core.data.sources.source import ByteSource, FileLike, Utf8Stream

_HEAD_COUNTS = 4 << 20
_HEAD_TEXTS = 2 << 20
_BLOCK = 1 << 18
_COUNT = re.compile(rb"\s*\d{1,15}\s*")


class _Sizes(NamedTuple):
    documents: int
    words: int
    pairs: int
    tokens: int


@dataclass(frozen=True)
class Estimate:
    """The size that a corpus on file is expected to have; no promise.

    `known` names the sizes that are no estimates: the file says them, or was read to its end. `text_bytes` is the size
    of the file unpacked, `head_bytes` how much of that was looked at.
    """

    documents: int
    words: int
    pairs: int
    tokens: int
    known: tuple[str, ...]
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


def estimate(
    source: FileLike,
    schema: Schema | None = None,
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

    The schema is by default what `inspect_corpus` proposes; the options are those of `load_corpus`. A head that
    cannot be read, or that has no word in it, is a DataError.
    """
    with open_corpus_source(source, filename, options, patient=True) as opened:
        size = opened.size()
        schema = schema or inspect_source(opened, options)
        encoding = _choose_encoding(opened, schema, options)
        head = _read_head(opened, schema, encoding)
        if schema.format == "docword":
            assert isinstance(opened, ByteSource)
            sizes, known = _read_docword(opened, encoding, head)
        else:
            sizes, known = _extrapolate(head, tokeniser)
    unpacked = size if schema.format == "zip" else round(len(head.text) / head.share)
    return Estimate(*sizes, known, unpacked, len(head.text))


def head_texts(
    source: FileLike,
    schema: Schema | None = None,
    *,
    filename: str | None = None,
    **options: Unpack[CorpusOptions],
) -> Texts:
    """Return the texts that a file begins with, some megabytes of them: to try how they are cut.

    The arguments are those of `estimate`; a file of counts, or a head that cannot be read, is a DataError.
    """
    with open_corpus_source(source, filename, options, patient=True) as opened:
        schema = schema or inspect_source(opened, options)
        if not schema.has_texts:
            raise DataError(
                f"this is read as {schema.format}, which holds counts and no texts",
                source=opened.name,
                remedy="Say which format it is.",
            )
        sink = MemorySink()
        with _read_head(opened, schema, _choose_encoding(opened, schema, options)).open() as reading:
            read_documents(reading, sink)
        return sink.read_texts(opened.stem, schema, ())


def _choose_encoding(source: CorpusSource, schema: Schema, options: CorpusOptions) -> str | None:
    """Return the encoding of a file; what was handed in as text has none."""
    handed_in = isinstance(source, ByteSource) and source.was_text
    return options.get("encoding") or (None if handed_in else schema.encoding)


class _Head(NamedTuple):
    """The first lines of a file as UTF-8, or an archive of its first files; its share of the file, and its schema."""

    text: bytes
    share: float
    schema: Schema

    @contextmanager
    def open(self) -> Iterator[Reading]:
        """Give the reading of the head; broken lines are left out."""
        with ByteSource(self.text, self.schema.filename, kind="corpus", patient=True) as source:
            # Texts are UTF-8 by now; the files of an archive are as they were.
            encoding = self.schema.encoding if self.schema.format == "zip" else None
            yield Reading(source, self.schema, encoding, skip=True)

    def measure(self, tokeniser: Tokeniser | None) -> _Sizes:
        """Return the sizes of the corpus that the head alone would be."""
        sink = MemorySink()
        with self.open() as reading:
            if self.schema.has_texts:
                facts = read_documents(reading, sink)
                loaded = corpus_of_texts(sink.read_texts("head", self.schema, facts), tokeniser)
            else:
                loaded = sink.build_corpus(read_entries(reading, None, sink), self.schema, "head")
        corpus = loaded.data
        return _Sizes(corpus.n_documents, corpus.n_words, corpus.n_pairs, corpus.n_tokens)

    def measure_part(self, share: float, tokeniser: Tokeniser | None) -> _Sizes | None:
        """Return the sizes of the beginning of the head, None where there is nothing to count."""
        if self.schema.format == "zip":
            with ByteSource(self.text, kind="corpus") as source, open_files(source) as files:
                part = _pack(files[: math.ceil(len(files) * share)])
        else:
            part = self.text[: _last_line_end(self.text[: int(len(self.text) * share)])]
        try:
            return self._replace(text=part).measure(tokeniser)
        except DataError:
            return None


def _read_head(source: CorpusSource, schema: Schema, encoding: str | None) -> _Head:
    """Return as much of a file as is looked at; columns that are no text come as such."""
    limit = _HEAD_TEXTS if schema.has_texts else _HEAD_COUNTS
    if isinstance(source, FrameSource):
        name = f"{schema.filename}.csv"
        as_text = replace(schema, filename=name, delimiter=",", encoding="utf-8", container="text")
        return _Head(*source.head_as_csv(limit), as_text)
    if schema.format == "zip":
        return _read_files(source, replace(schema, encoding=encoding), limit)
    assert isinstance(source, ByteSource)
    stream = Utf8Stream(source, encoding)
    text = bytearray()
    while len(text) < limit and (chunk := stream.read(_BLOCK)):
        text += chunk
    share = source.position() / source.size()
    if not stream.read(1):
        return _Head(bytes(text), 1.0, schema)
    whole = bytes(text[: _last_line_end(text)] or text)
    return _Head(whole, min(share * len(whole) / len(text), 1.0), schema)


def _last_line_end(text: bytes | bytearray) -> int:
    return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1


def _read_files(source: ByteSource | TextFolder, schema: Schema, limit: int) -> _Head:
    with open_files(source) as files:
        chosen, _ = choose_files(files, source)
        sizes = np.cumsum([file.size for file in chosen])
        taken = min(int(np.searchsorted(sizes, limit)) + 1, len(chosen))
        return _Head(_pack(chosen[:taken]), taken / len(chosen), schema)


def _pack(files: Sequence[TextFile]) -> bytes:
    """Return an archive of some files; those that cannot be read are left out, reading will tell of them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for file in files:
            with suppress(DataError, OSError):
                packed.writestr(file.path, file.read())
    return out.getvalue()


def _read_docword(source: ByteSource, encoding: str | None, head: _Head) -> tuple[_Sizes, tuple[str, ...]]:
    """Return the sizes that the file says, the tokens by the mean count of the head, and which are known."""
    (n_documents, n_words, n_lines), delimiter = read_sizes(source, encoding, None)
    mark = None if delimiter == " " else delimiter.encode()
    lines = (line.split(mark) for line in head.text.splitlines()[3:])
    counts = [int(fields[2]) for fields in lines if len(fields) == 3 and _COUNT.fullmatch(fields[2])]
    tokens = round(sum(counts) / max(len(counts), 1) * n_lines)
    known = _Sizes._fields if head.share == 1.0 else _Sizes._fields[:3]
    return _Sizes(n_documents, n_words, n_lines, tokens), known


def _extrapolate(head: _Head, tokeniser: Tokeniser | None) -> tuple[_Sizes, tuple[str, ...]]:
    """Return the sizes of the file, and which of them are known."""
    found, scale = head.measure(tokeniser), 1.0 / head.share
    if head.share == 1.0:
        return found, _Sizes._fields
    known = ("documents",) if head.schema.format == "zip" else ()
    half = head.measure_part(0.5, tokeniser)
    if half is None:
        return _Sizes(*(round(size * scale) for size in found)), known
    quarter = head.measure_part(0.25, tokeniser) or half
    # What the second half of the head adds is nearer to what is to come: numbers get longer, words are met again.
    ahead = 2.0 * (scale - 1.0)
    sizes = _Sizes(*(round(size + ahead * (size - before)) for size, before in zip(found, half, strict=True)))
    documents = sizes.documents
    if known:
        documents = round(found.documents * scale)
    elif (
        head.schema.format == "counts" and half.documents * found.pairs > 1.05 * found.documents * half.pairs
    ):
        documents = _count_repeated(found.documents, found.pairs, scale)
    words = _grow_vocabulary(found.words, half.words, quarter.words, scale)
    if tokeniser is not None and tokeniser.max_words is not None:
        words = min(words, tokeniser.max_words)
    return sizes._replace(documents=documents, words=words), known


def _grow_vocabulary(whole: int, half: int, quarter: int, scale: float) -> int:
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


def _count_repeated(found: int, lines: int, scale: float) -> int:
    """Return how many documents `scale` times the lines show, if each line is of any of them alike."""
    from scipy.optimize import brentq  # slow to import

    def count_lines(documents: float, lines: float) -> float:
        return documents * -math.expm1(-lines / documents)

    documents = brentq(lambda number: count_lines(number, lines) - found, found, 1e3 * lines)
    return round(count_lines(documents, lines * scale))
