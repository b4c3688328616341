"""One file on its way to disk: what its reader works with, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.disk_broken import Broken, Progress
from acvb_core.data.corpora.disk_shards import ShardWriter
from acvb_core.data.corpora.disk_spool import EntrySpool
from acvb_core.data.corpora.layout import CorpusLayout
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.errors import DataError


@dataclass(frozen=True, eq=False)
class Reading:
    """One file on its way to disk.

    Attributes
    ----------
    source : ByteSource
    layout : CorpusLayout
    encoding : str or None
    spool : EntrySpool
    writer : ShardWriter
        Takes names and texts while the file is read.
    broken : Broken
    progress : Progress
    """

    source: ByteSource
    layout: CorpusLayout
    encoding: str | None
    spool: EntrySpool
    writer: ShardWriter
    broken: Broken
    progress: Progress


@dataclass(frozen=True, eq=False)
class Spooled:
    """What reading found, the entries being in the spool.

    Attributes
    ----------
    n_documents : int
    words : sequence of str
        The vocabulary.
    facts : list of Fact
    final : int array, or None
        The number within the vocabulary of each word of the spool, -1 for none (None: they are the same).
    nothing : DataError or None
        The error when no word is left (None: the usual one).
    """

    n_documents: int
    words: Sequence[str] | NDArray[Any]
    facts: list[Fact]
    final: NDArray[np.int64] | None = None
    nothing: DataError | None = None
