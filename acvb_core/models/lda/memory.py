"""Estimates of the memory of a run of LDA and the time of a sweep; `docs/scale.md` has the formulas."""

from __future__ import annotations

from typing import Any

from acvb_core.core.spec import SHARDS
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.exact import PAIR_NS, count_nodes
from acvb_core.models.lda.gibbs import DRAW_NS
from acvb_core.models.lda.hyper import BLOCK, HIGH, LOW
from acvb_core.models.lda.kernels import chunk_pairs
from acvb_core.models.lda.state import choose_cells
from acvb_core.shards.place import current_place

_SINGLE, _DOUBLE = 4, 8
#: Most memory of a shard of a corpus on disk, by default.
_SHARD_BYTES = 1 << 31
#: Bytes for each count of the documents that are summed at a time.
_SUMS = 60


def shards_needed(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the least number of shards of at most 2 GB."""
    return max(1, -(-documents_bytes(corpus, values) // _SHARD_BYTES))


def documents_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the bytes of the documents in all shards."""
    pairs, documents, k = corpus.n_pairs, corpus.n_documents, int(values["k"])
    data = 8 * (pairs + documents)
    if "inner" in values:
        return data + documents * k * _DOUBLE
    needed = data + pairs * k * (2 if values["short"] else _SINGLE) + documents * k * _SINGLE
    if values.get("track"):
        needed += (pairs + documents) * k * _SINGLE
    return needed


def topic_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the bytes of the topics, which each worker receives and each shard sends in every sweep."""
    return corpus.n_words * int(values["k"]) * (_DOUBLE if "inner" in values else _SINGLE)


def worker_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any], workers: int) -> int:
    """Return the most bytes of one of these workers, without those of an idle process."""
    k, n_shards = int(values["k"]), int(values[SHARDS]) or shards_needed(corpus, values)
    workers = min(workers, n_shards)
    held = -(-n_shards // workers)  # most shards of a worker
    # The topics received, and the changes of each shard, as arrays and as sent.
    topics = topic_bytes(corpus, values)
    copies = 3 + 2 * held if "inner" in values else 1 + 2 * held
    sums = min(BLOCK, -(-corpus.n_documents // n_shards)) * k * _SUMS
    return documents_bytes(corpus, values) * held // n_shards + topics * copies + sums


def driver_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any], workers: int) -> int:
    """Return the bytes of the driver of these workers, for any number of documents.

    Topics before and after a sweep, their mean, and the probabilities for held-out words; the messages to each worker;
    the results of each shard, as sent and as arrays.
    """
    n_shards = int(values[SHARDS]) or shards_needed(corpus, values)
    return topic_bytes(corpus, values) * (14 + workers + 2 * n_shards)


def run_bytes(corpus: Corpus | DiskCorpus, values: dict[str, Any]) -> int:
    """Return the bytes of a run on this machine: those of the driver, and of the shards if they are here."""
    place, n_shards = current_place(), int(values[SHARDS]) or shards_needed(corpus, values)
    workers = min(place.count_workers(), n_shards)
    of_workers = workers * worker_bytes(corpus, values, workers) if place.is_here else 0
    return driver_bytes(corpus, values, workers) + of_workers


#: The method with a transform of every count.
EXACT = "cvb_exact"
#: Methods that store the topics of words only.
STREAMS = ("sdm", "scvb0", "svb")
#: Pairs of a shard, and of the next one.
_READ_PAIRS = 2 * 4_000_000
#: Nanoseconds of an idle processor for a topic of a (document, word) pair, or of a sampled token.
_NS = 4


def sweep_seconds(corpus: Corpus | DiskCorpus, method: str, values: dict[str, Any]) -> float:
    """Return the approximate time of a sweep; 0 for a window of a stream, which is short."""
    if method.removeprefix("a") in STREAMS:
        return 0.0
    n = corpus.n_tokens if method == "gibbs" else corpus.n_pairs
    ns = PAIR_NS if method == EXACT else _NS
    return 1e-9 * ns * n * int(values["k"])


def memory_bytes(corpus: Corpus | DiskCorpus, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run without the data, in bytes; `values`: those of the method's parameters."""
    k = int(values["k"])
    if method.removeprefix("a") in STREAMS:
        return _stream_bytes(corpus, method, values)
    if values.get(SHARDS) or (isinstance(corpus, DiskCorpus) and SHARDS in values):
        return run_bytes(corpus, values)
    counts = (corpus.n_documents + corpus.n_words) * k * _SINGLE
    data = corpus.n_pairs * 8 + corpus.n_documents * 8
    if method == "gibbs":
        # Words of all tokens, their old and new topics; random numbers for the tokens of one call.
        longest = int(corpus.lengths.max(initial=0)) if isinstance(corpus, Corpus) else 0
        at_once = min(corpus.n_tokens, chunk_pairs(k, DRAW_NS) + longest)
        return data + 8 * counts + corpus.n_tokens * 12 + at_once * 4
    parts = choose_cells(corpus.n_pairs, values) if "cells" in values else 1
    if method == "vb":
        return data + 12 * counts + (parts - 1) * corpus.n_words * k * 8
    needed = data + corpus.n_pairs * k * _SINGLE
    if parts > 1:  # the pairs again, by block; first pair and tokens of each part of a document
        needed += corpus.n_pairs * 8 + corpus.n_documents * parts * 24
    # Counts of the last state, of the current sweep and of the absences; doubles for the bound.
    needed += 8 * counts
    if method in ("cvb", "acvb"):
        needed += 3 * counts
    if method == EXACT:
        nodes = count_nodes(corpus.n_tokens + corpus.n_words * float(values["beta"]) + HIGH, LOW)
        needed += (corpus.n_documents + corpus.n_words) * k * nodes * 8
    if method in ("acvb", "acvb0"):
        needed += 3 * counts
        if values["track"]:
            needed += corpus.n_pairs * k * _SINGLE
    return needed


def _stream_bytes(corpus: Corpus | DiskCorpus, method: str, values: dict[str, Any]) -> int:
    """Return the memory of a stream: topics of words, two shards, and the counters of the words."""
    topics = corpus.n_words * int(values["k"]) * _SINGLE
    # The last state, the current window, and their double-precision probabilities for held-out words.
    needed = 7 * topics + min(corpus.n_pairs, _READ_PAIRS) * 8 + corpus.n_words * 64
    if method.startswith("a"):
        needed += 3 * topics
    if values.get("renew") and values["epochs"] > 1.0:
        needed += 2 * topics
    # Topics of each shard, and its results.
    needed += int(values.get(SHARDS, 0)) * 3 * topics
    if "batch" in values:
        rows = min(
            corpus.n_words, int(values["batch"]) * max(corpus.n_pairs // max(corpus.n_documents, 1), 1)
        )
        needed += 2 * rows * int(values["k"]) * _SINGLE
    return needed
