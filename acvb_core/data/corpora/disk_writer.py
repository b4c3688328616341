"""Write a corpus to disk: pieces of a stream of documents, or what the reader of a file gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.cutting import WordFunction
from acvb_core.data.corpora.disk_shards import SHARD_PAIRS, ShardWriter
from acvb_core.data.corpora.disk_sink import AT_ONCE, DiskSink, EntrySpool
from acvb_core.data.corpora.documents import read_documents
from acvb_core.data.corpora.objects import as_frame, is_object
from acvb_core.data.corpora.readers import check_arguments, load_corpus, read_entries
from acvb_core.data.corpora.reading import CorpusLayout, CorpusOptions, Reading, offer_skipping
from acvb_core.data.corpora.sniff import inspect_source
from acvb_core.data.corpora.text_files import CorpusSource, open_corpus_source
from acvb_core.data.corpora.texts import LoadedCorpus, entry_facts, size_facts
from acvb_core.data.corpora.tokeniser import Tokeniser, as_tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.report import LoadedData, ReadReport
from acvb_core.data.sources.byte_source import FileLike

#: Documents one after another: where each begins, their words and counts.
Piece = tuple[ArrayLike, ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class LoadedDisk(LoadedData):
    """A corpus on disk, the report of `load_corpus` (its fact "broken_lines" counts lines left out), and the layout."""

    corpus: DiskCorpus
    report: ReadReport
    layout: CorpusLayout


def read_to_disk(
    source: FileLike | Any,
    folder: str | Path,
    *,
    filename: str | None = None,
    name: str | None = None,
    vocabulary: FileLike | Any | None = None,
    tokeniser: Tokeniser | WordFunction | None = None,
    broken: Literal["refuse", "skip"] = "refuse",
    progress: Callable[[float], None] | None = None,
    keep_texts: bool = True,
    shard_pairs: int = SHARD_PAIRS,
    **options: Unpack[CorpusOptions],
) -> LoadedDisk:
    """Read a corpus that need not fit into memory; what is read is what `load_corpus` reads.

    The folder appears when everything is in it; an interrupted reading leaves nothing. Meanwhile the disk must hold
    12 bytes for each entry of the file as well (24 where documents do not stand in order), and the memory the words
    and the names of a list of counts.

    Parameters
    ----------
    source : path, bytes, binary file object, data frame or other Python object; or a folder of .txt files
        As in `load_corpus`. Lists and matrices are turned into counts in memory before they are written.
    folder : path
        Where the corpus is to be. Must not exist, or be empty.
    filename, name, vocabulary, tokeniser
        As in `load_corpus`.
    broken : "refuse" or "skip"
        What happens to a line that cannot be read: its fault is raised, or the line is left out and counted in the
        report. A gzip file that is damaged or truncated ends there: what came before is kept, but for a last line
        that may be cut.
    progress : callable, optional
        Takes the share that is done (reading is nine tenths of it), a few times a second at most, and 1.0 before the
        folder appears; what it raises ends the reading.
    keep_texts : bool
        Keep texts beside their counts.
    shard_pairs : int
        (document, word) pairs of a shard.
    **options
        How the file is read: as in `load_corpus`.

    Raises
    ------
    DataError
        The file cannot be read as asked, or the folder not be written; names file, line, column, value and remedy.
    ParameterError
        An argument makes no sense for any file, or for this format; there is something at `folder`.
    """
    if broken not in ("refuse", "skip"):
        raise ParameterError(f"broken is {broken!r}; choose refuse or skip.")
    source = as_frame(source)
    if is_object(source):
        loaded = load_corpus(
            source, filename=filename, name=name, vocabulary=vocabulary, tokeniser=tokeniser, **options
        )
        return _write_loaded(loaded, folder, progress, keep_texts, shard_pairs)
    skip, cutting = broken == "skip", as_tokeniser(tokeniser)
    with open_corpus_source(source, filename, options, patient=skip) as opened:
        layout = _inspect(opened, options)
        check_arguments(layout, cutting, vocabulary)
        cutting = cutting or Tokeniser() if layout.has_texts else None
        reading = Reading(opened, layout, options.get("encoding"), skip=skip, progress=progress)
        with ShardWriter(folder, name=name or opened.stem, shard_pairs=shard_pairs) as writer:
            writer.source = opened.name
            with EntrySpool(writer.work, min(shard_pairs, AT_ONCE)) as spool:
                sink = DiskSink(writer, spool, cutting, keep_texts=keep_texts)
                if layout.has_texts:
                    words, facts = sink.write_texts(reading, read_documents(reading, sink))
                else:
                    words, facts = sink.write_counts(reading, read_entries(reading, vocabulary, sink))
            reading.report_written(1.0)
            corpus = writer.finish(words, tokeniser=cutting)
    facts = [
        *reading.left_out_facts(),
        *facts,
        *entry_facts(writer.repeated, writer.zeros),
        *size_facts(corpus, writer.n_empty, corpus.document_names(writer.first_empty)),
    ]
    return LoadedDisk(corpus, ReadReport(layout.filename, tuple(facts)), layout)


def _write_loaded(
    loaded: LoadedCorpus,
    folder: str | Path,
    progress: Callable[[float], None] | None,
    keep_texts: bool,
    shard_pairs: int,
) -> LoadedDisk:
    """Write a corpus that is in memory."""
    if progress is not None:
        progress(1.0)
    corpus = loaded.corpus if keep_texts else replace(loaded.corpus, texts=None)
    disk = write_disk_corpus([corpus], folder, shard_pairs=shard_pairs)
    return LoadedDisk(disk, loaded.report, loaded.layout)


def _inspect(source: CorpusSource, options: CorpusOptions) -> CorpusLayout:
    """Return how a source is read; a fault in its head comes with the offer to go on if going on is possible."""
    try:
        return inspect_source(source, options)
    except DataError as fault:
        if source.patient:
            raise
        source.patient = True
        try:
            inspect_source(source, options)
        except DataError:
            raise fault from None
        raise offer_skipping(fault) from None


def write_disk_corpus(
    documents: Iterable[Corpus | Piece],
    folder: str | Path,
    *,
    vocabulary: Sequence[str] | NDArray[Any] | None = None,
    name: str | None = None,
    tokeniser: Tokeniser | None = None,
    shard_pairs: int = SHARD_PAIRS,
) -> DiskCorpus:
    """Write pieces of a stream of documents to disk; one piece at a time is in memory.

    Parameters
    ----------
    documents : iterable of Corpus, or of (pointers, words, counts)
        Words of corpora are matched by name, those of arrays are numbers within the vocabulary. Names, texts,
        labels and metadata are kept where the pieces are corpora (all of them, or none, have each); documents of the
        same name get a number appended.
    folder : path
        Must not exist, or be empty.
    vocabulary : sequence of str, optional
        Needed for arrays. Corpora: default, the words in order of appearance.
    name : str, optional
        Default: that of the first corpus.
    tokeniser : Tokeniser, optional
        Default: that of the first corpus.
    shard_pairs : int
        (document, word) pairs of a shard.

    Raises
    ------
    DataError
        A piece is no valid counts, holds a word that the vocabulary does not, or there is no token.
    ParameterError
        There is something at `folder`, arrays come without a vocabulary, or corpora and arrays are mixed.
    """
    index = {str(word): i for i, word in enumerate(() if vocabulary is None else vocabulary)}
    kinds: set[bool] = set()
    with ShardWriter(folder, name=name or "corpus", shard_pairs=shard_pairs) as writer:
        for piece in documents:
            first = not kinds
            kinds.add(isinstance(piece, Corpus))
            if len(kinds) > 1:
                raise ParameterError(
                    "Give corpora or arrays (pointers, words, counts), not both in one stream."
                )
            if not isinstance(piece, Corpus):
                if vocabulary is None:
                    raise ParameterError("Arrays of word numbers need a vocabulary; give vocabulary=[…].")
                writer.add(*piece)
                continue
            if first:
                writer.name = name or piece.name
                tokeniser = tokeniser or piece.tokeniser
            if vocabulary is None:
                for word in piece.vocabulary:
                    index.setdefault(word, len(index))
            _add_corpus(writer, piece, index)
        if True in kinds:
            writer.strings("names").make_unique()
        return writer.finish(list(index), tokeniser=tokeniser)


def _add_corpus(writer: ShardWriter, piece: Corpus, index: dict[str, int]) -> None:
    """Add a corpus whose words have these numbers."""
    texts, labels = piece.texts is not None, piece.labels is not None
    known = {"texts": texts, "labels": labels, "columns": list(piece.metadata)}
    if writer.n_documents and known != writer.given:
        what = next(what for what in known if known[what] != writer.given[what])
        raise ParameterError(
            f"Some of the corpora have {what} and some have none, or others; leave the {what} out, or give all."
        )
    places = np.array([index.get(word, -1) for word in piece.vocabulary], dtype=np.int64)
    words = places[piece.counts.indices]
    if (words < 0).any():
        raise DataError(
            "this word is not in the vocabulary",
            source=piece.name,
            value=str(piece.vocabulary[piece.counts.indices[int(np.argmax(words < 0))]]),
            remedy="Add it, or leave that out.",
        )
    writer.add(piece.counts.indptr, words, piece.counts.data)
    writer.add_beside(piece.metadata, names=piece.documents, texts=piece.texts, labels=piece.labels)
