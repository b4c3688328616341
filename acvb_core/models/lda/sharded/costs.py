"""The memory that a run over shards takes; `docs/scale.md` has the formulas in letters."""

from __future__ import annotations

from typing import Any

from acvb_core.core.rows import SHARDS
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.hyper import BLOCK
from acvb_core.shards.place import current_place

_SINGLE, _DOUBLE = 4, 8
#: Memory of a shard of a corpus on disk, where the settings leave their number open.
_SHARD_BYTES = 1 << 31
#: Bytes for each count of the documents whose sums are worked out at a time.
_SUMS = 60


def shards_needed(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the number of shards at which none takes more than 2 GB."""
    return max(1, -(-documents_bytes(corpus, values) // _SHARD_BYTES))


def documents_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the bytes that all shards together hold of the documents."""
    pairs, documents, k = corpus.n_pairs, corpus.n_documents, int(values["k"])
    data = 8 * (pairs + documents)
    if "inner" in values:
        return data + documents * k * _DOUBLE
    needed = data + pairs * k * (2 if values["short"] else _SINGLE) + documents * k * _SINGLE
    if values.get("track"):
        needed += (pairs + documents) * k * _SINGLE
    return needed


def topic_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the bytes of the topics, which go to each worker and come from each shard in every sweep."""
    return corpus.n_words * int(values["k"]) * (_DOUBLE if "inner" in values else _SINGLE)


def worker_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any], workers: int) -> int:
    """Return the most bytes that one of so many workers takes, beyond what a process takes before it has work."""
    k, n_shards = int(values["k"]), int(values[SHARDS]) or shards_needed(corpus, values)
    workers = min(workers, n_shards)
    held = -(-n_shards // workers)  # shards of the worker that has most
    # The topics as they came, and of each shard what it adds to them, once as arrays and once as they are sent.
    topics = topic_bytes(corpus, values)
    copies = 3 + 2 * held if "inner" in values else 1 + 2 * held
    sums = min(BLOCK, -(-corpus.n_documents // n_shards)) * k * _SUMS
    return documents_bytes(corpus, values) * held // n_shards + topics * copies + sums


def driver_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any], workers: int) -> int:
    """Return the bytes that the driver of so many workers takes, whatever the number of documents.

    Topics before and after a sweep, their mean, and the probabilities that held-out words are scored with; what goes
    out to each worker, and what comes in from each shard, once as it was sent and once as arrays.
    """
    n_shards = int(values[SHARDS]) or shards_needed(corpus, values)
    return topic_bytes(corpus, values) * (14 + workers + 2 * n_shards)


def run_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the bytes that a run takes on this machine: those of the driver, and of the shards where they are here."""
    place, n_shards = current_place(), int(values[SHARDS]) or shards_needed(corpus, values)
    workers = min(place.count_workers(), n_shards)
    of_workers = workers * worker_bytes(corpus, values, workers) if place.is_here else 0
    return driver_bytes(corpus, values, workers) + of_workers
