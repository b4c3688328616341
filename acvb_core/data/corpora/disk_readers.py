"""Read a file of documents of any size to disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from acvb_core.data.corpora.disk_broken import Broken, Progress, offered
from acvb_core.data.corpora.disk_counts import SPOOL_COUNTS
from acvb_core.data.corpora.disk_reading import Reading, Spooled
from acvb_core.data.corpora.disk_shards import SHARD_PAIRS, ShardWriter
from acvb_core.data.corpora.disk_spool import AT_ONCE, Entries, EntrySpool
from acvb_core.data.corpora.disk_texts import spool_texts
from acvb_core.data.corpora.layout import ColumnChoice, CorpusFormat, CorpusLayout
from acvb_core.data.corpora.readers import inspect_source, with_columns
from acvb_core.data.corpora.texts import size_facts
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.disk_corpus import DiskCorpus
from acvb_core.data.report import Fact, ReadReport, plural
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.text_lines import read_vocabulary
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
    source: FileLike,
    folder: str | Path,
    *,
    filename: str | None = None,
    format: CorpusFormat | Literal["auto"] = "auto",
    name: str | None = None,
    vocabulary: FileLike | None = None,
    tokeniser: Tokeniser | None = None,
    text_column: ColumnChoice = None,
    name_column: ColumnChoice = None,
    document_column: ColumnChoice = None,
    word_column: ColumnChoice = None,
    count_column: ColumnChoice = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto"] | bool = "auto",
    broken: Literal["refuse", "skip"] = "refuse",
    progress: Callable[[float], None] | None = None,
    keep_texts: bool = True,
    shard_pairs: int = SHARD_PAIRS,
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
    filename, format, name, vocabulary, tokeniser, encoding, delimiter, header
        As in `load_corpus`.
    text_column, name_column, document_column, word_column, count_column
        As in `load_corpus`. Groups of documents are not kept.
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

    Raises
    ------
    DataError
        The file cannot be read as asked, or the folder not be written; names file, line, column, value and remedy.
    ParameterError
        An argument makes no sense for any file, or for this format; there is something at `folder`.
    """
    if broken not in ("refuse", "skip"):
        raise ParameterError(f"broken is {broken!r}; choose refuse or skip.")
    with ByteSource(source, filename, accepts=("zip",), patient=broken == "skip") as opened:
        layout = _inspected(opened, format, encoding, delimiter, header)
        choices = {
            "text_column": text_column,
            "name_column": name_column,
            "document_column": document_column,
            "word_column": word_column,
            "count_column": count_column,
        }
        layout = with_columns(layout, choices)
        _check_arguments(layout, tokeniser, vocabulary)
        if layout.has_texts:
            tokeniser = tokeniser or Tokeniser()
        with ShardWriter(folder, name=name or opened.stem, shard_pairs=shard_pairs) as writer:
            writer.source = opened.name
            told = Progress(progress, opened)
            opened.cut_short = None  # the look at the head may have met the end already
            lines = Broken(broken == "skip")
            with EntrySpool(writer.work, min(shard_pairs, AT_ONCE)) as spool:
                reading = Reading(opened, layout, encoding, spool, writer, lines, told)
                if tokeniser is not None:
                    spooled = spool_texts(reading, tokeniser, keep_texts)
                else:
                    words = None if vocabulary is None else read_vocabulary(vocabulary)
                    spooled = SPOOL_COUNTS[layout.format](reading, words)
                _write(reading, spooled)
            told.writing(1.0)
            corpus = writer.finish(spooled.words, tokeniser=tokeniser)
        facts = (*lines.facts(opened), *spooled.facts, *_writing_facts(writer, corpus))
    return LoadedDisk(corpus, ReadReport(layout.filename, facts), layout)


def _inspected(
    source: ByteSource,
    format: CorpusFormat | Literal["auto"],
    encoding: str | None,
    delimiter: str | None,
    header: Literal["auto"] | bool,
) -> CorpusLayout:
    """Propose how to read a source; a fault in its head comes with the offer to go on if going on is possible."""
    try:
        return inspect_source(source, format, encoding, delimiter, header)
    except DataError as fault:
        if source.patient:
            raise
        source.patient = True
        try:
            inspect_source(source, format, encoding, delimiter, header)
        except DataError:
            raise fault from None
        raise offered(fault) from None


def _check_arguments(layout: CorpusLayout, tokeniser: Tokeniser | None, vocabulary: FileLike | None) -> None:
    if tokeniser is not None and not layout.has_texts:
        raise ParameterError(f"A tokeniser is for texts; {layout.filename} is read as {layout.format}.")
    if vocabulary is not None and layout.has_texts:
        raise ParameterError(
            f"A vocabulary is for word counts; {layout.filename} is read as {layout.format}."
        )


def _write(reading: Reading, spooled: Spooled) -> None:
    """Sort what is in the spool into shards."""
    if spooled.nothing is not None:
        raise spooled.nothing
    done = 0
    for entries in reading.spool.documents(spooled.n_documents):
        reading.writer.add(*_renumbered(entries, spooled))
        done += len(entries.words)
        reading.progress.writing(0.99 * done / max(reading.spool.n_entries, 1))


def _writing_facts(writer: ShardWriter, corpus: DiskCorpus) -> list[Fact]:
    facts = []
    if writer.repeated:
        entries = plural(writer.repeated, "entry", "entries")
        told = f"{entries} for a document and word given before: added up."
        facts.append(Fact("repeated_pairs", writer.repeated, told))
    if writer.zeros:
        facts.append(Fact("zero_counts", writer.zeros, f"{plural(writer.zeros, 'count')} of 0: not stored."))
    first_empty = [corpus.document_names(number, number + 1)[0] for number in writer.first_empty]
    return facts + size_facts(corpus, writer.n_empty, first_empty)


def _renumbered(entries: Entries, spooled: Spooled) -> Entries:
    """Return entries with the final numbers of the words, those of dropped words taken out."""
    if spooled.final is None:
        return entries
    words = spooled.final[entries.words]
    kept = words >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return Entries(before[entries.pointers], words[kept].astype(np.int32), entries.counts[kept])
