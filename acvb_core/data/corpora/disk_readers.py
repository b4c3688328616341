"""Read a file of documents of any size to disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack

from numpy.typing import NDArray

from acvb_core.data.corpora.cutting import WordFunction
from acvb_core.data.corpora.disk_shards import SHARD_PAIRS, ShardWriter
from acvb_core.data.corpora.disk_spool import AT_ONCE, EntrySpool
from acvb_core.data.corpora.disk_writer import DiskSink
from acvb_core.data.corpora.documents import read_documents
from acvb_core.data.corpora.layout import CorpusLayout, CorpusOptions
from acvb_core.data.corpora.readers import check_arguments, inspect_source, read_entries
from acvb_core.data.corpora.reading import Reading, offer_skipping
from acvb_core.data.corpora.text_files import CorpusSource, open_corpus_source
from acvb_core.data.corpora.texts import entry_facts, size_facts
from acvb_core.data.corpora.tokeniser import Tokeniser, as_tokeniser
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.report import Fact, ReadReport
from acvb_core.data.sources.byte_source import FileLike
from acvb_core.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class LoadedDisk:
    """A corpus on disk, what reading it found, and how the file was understood.

    Attributes
    ----------
    corpus : DiskCorpus
    report : ReadReport
        As that of `load_corpus`; its fact "broken_lines" counts lines that were left out.
    layout : CorpusLayout
    """

    corpus: DiskCorpus
    report: ReadReport
    layout: CorpusLayout


def read_to_disk(
    source: FileLike | Any,
    folder: str | Path,
    *,
    filename: str | None = None,
    name: str | None = None,
    vocabulary: FileLike | None = None,
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
    source : path, bytes or binary file object
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
    cutting = as_tokeniser(tokeniser)
    with open_corpus_source(source, filename, options, patient=broken == "skip") as opened:
        layout = _inspected(opened, options)
        check_arguments(layout, cutting, vocabulary)
        if layout.has_texts:
            cutting = cutting or Tokeniser()
        reading = Reading(
            opened,
            layout,
            options.get("encoding"),
            skip=broken == "skip",
            offers=True,
            progress=progress,
        )
        with ShardWriter(folder, name=name or opened.stem, shard_pairs=shard_pairs) as writer:
            writer.source = opened.name
            with EntrySpool(writer.work, min(shard_pairs, AT_ONCE)) as spool:
                sink = DiskSink(writer, spool, cutting, keep_texts)
                words: Sequence[str] | NDArray[Any]
                if layout.has_texts:
                    facts = read_documents(reading, sink)
                    words, dropped = sink.write_texts(reading)
                    facts += dropped
                else:
                    found = read_entries(reading, vocabulary, sink)
                    sink.write_counts(reading, found)
                    words, facts = found.words, found.facts
            reading.report_written(1.0)
            corpus = writer.finish(words, tokeniser=cutting)
        facts = [*reading.left_out_facts(), *facts, *_writing_facts(writer, corpus)]
    return LoadedDisk(corpus, ReadReport(layout.filename, tuple(facts)), layout)


def _inspected(source: CorpusSource, options: CorpusOptions) -> CorpusLayout:
    """Propose how to read a source; a fault in its head comes with the offer to go on if going on is possible."""
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


def _writing_facts(writer: ShardWriter, corpus: DiskCorpus) -> list[Fact]:
    first_empty = [corpus.document_names(number, number + 1)[0] for number in writer.first_empty]
    return [*entry_facts(writer.repeated, writer.zeros), *size_facts(corpus, writer.n_empty, first_empty)]
