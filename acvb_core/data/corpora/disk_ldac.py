"""LDA-C read into a spool: one document a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.disk_reading import Reading, Spooled
from acvb_core.data.corpora.disk_spool import EntrySpool
from acvb_core.data.corpora.ldac import parse_line
from acvb_core.data.report import Fact, plural
from acvb_core.data.sources.matrix_checks import MAX_SIDE, check_size
from acvb_core.data.sources.text_lines import Vocabulary, open_lines
from acvb_core.errors import DataError

_LDAC_BATCH = 1 << 16


def spool_ldac(reading: Reading, vocabulary: Vocabulary | None) -> Spooled:
    """Read an LDA-C file: a line is a document.

    Raises
    ------
    DataError
        As `read_ldac`.
    """
    source = reading.source
    lines, _ = open_lines(source, reading.encoding, whole=False)
    limit = MAX_SIDE if vocabulary is None else len(vocabulary.words)
    into = _LdacBatch(reading.spool)
    blank = line_number = 0
    with reading.broken.offering():
        for line_number, line in enumerate(lines, start=1):
            if not line.strip():
                blank += 1
                continue
            try:
                pairs = parse_line(
                    line, {"source": source.name, "line": line_number}, limit, vocabulary is not None
                )
            except DataError as fault:
                reading.broken(fault)
                continue
            into.add(pairs)
            if line_number % 1024 == 0:
                reading.progress.reading()
    into.flush()
    if vocabulary is None:
        check_size(
            into.n_words, "words", into.n_pairs, {"source": source.name, "value": str(into.n_words - 1)}
        )
    facts = [Fact("lines", line_number, f"Read {plural(line_number, 'line')} of an LDA-C file.")]
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    words = [str(i) for i in range(into.n_words)] if vocabulary is None else vocabulary.words
    return Spooled(into.n_documents, words, facts)


class _LdacBatch:
    """Documents of pairs (term, count, term, count, …), gathered until it pays to write them."""

    def __init__(self, spool: EntrySpool) -> None:
        self._spool = spool
        self._waiting: list[NDArray[np.int64]] = []
        self._size = 0
        self.n_documents = self.n_words = self.n_pairs = 0

    def add(self, pairs: NDArray[np.int64]) -> None:
        self._waiting.append(pairs)
        self._size += len(pairs) + 1
        if self._size > _LDAC_BATCH:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        lengths = [len(pairs) // 2 for pairs in self._waiting]
        flat = np.concatenate(self._waiting)
        self._spool.add(
            self.n_documents + np.repeat(np.arange(len(lengths)), lengths), flat[0::2], flat[1::2]
        )
        self.n_documents += len(lengths)
        self.n_pairs += len(flat) // 2
        self.n_words = max(self.n_words, int(flat[0::2].max(initial=-1)) + 1)
        self._waiting, self._size = [], 0
