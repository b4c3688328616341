"""The memory that a run of LDA will need, and the time of its sweeps."""

from __future__ import annotations

from typing import Any

from acvb_core.core.rows import SHARDS
from acvb_core.data.corpus import Corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.models.lda.cells import choose_cells
from acvb_core.models.lda.exact.transforms import PAIR_NS, count_nodes
from acvb_core.models.lda.gibbs import DRAW_NS
from acvb_core.models.lda.hyper import HIGH, LOW
from acvb_core.models.lda.kernels import chunk_pairs
from acvb_core.models.lda.sharded.costs import run_bytes

_SINGLE = 4
#: Method that keeps a transform of every count.
EXACT = "cvb_exact"
#: Methods that hold the topics of words only.
STREAMS = ("sdm", "scvb0", "svb")
#: Pairs of a shard as it is read, and of the next one.
_READ_PAIRS = 2 * 4_000_000

#: Nanoseconds of an idle processor for a topic of a pair of document and word, or of a token that is sampled.
_NS = 4


def sweep_seconds(corpus: Corpus | DiskCorpus, method: str, values: dict[str, Any]) -> float:
    """Return about how long a sweep takes; of a stream a window, which is short."""
    if method.removeprefix("a") in STREAMS:
        return 0.0
    n = corpus.n_tokens if method == "gibbs" else corpus.n_pairs
    ns = PAIR_NS if method == EXACT else _NS
    return 1e-9 * ns * n * int(values["k"])


def memory_bytes(corpus: Corpus | DiskCorpus, method: str, values: dict[str, Any]) -> int:
    """Return the peak memory of a run beyond the data, in bytes.

    `values` are those of the method's parameters.
    """
    k = int(values["k"])
    if method.removeprefix("a") in STREAMS:
        return _stream_bytes(corpus, method, values)
    if values.get(SHARDS) or (isinstance(corpus, DiskCorpus) and SHARDS in values):
        return run_bytes(corpus, values)
    counts = (corpus.n_documents + corpus.n_words) * k * _SINGLE
    data = corpus.n_pairs * 8 + corpus.n_documents * 8
    if method == "gibbs":
        # The words of all tokens, their topics before and now; a random number for each of those drawn at once.
        longest = int(corpus.lengths.max(initial=0)) if isinstance(corpus, Corpus) else 0
        at_once = min(corpus.n_tokens, chunk_pairs(k, DRAW_NS) + longest)
        return data + 8 * counts + corpus.n_tokens * 12 + at_once * 4
    parts = choose_cells(corpus.n_pairs, values) if "cells" in values else 1
    if method == "vb":
        return data + 12 * counts + (parts - 1) * corpus.n_words * k * 8
    needed = data + corpus.n_pairs * k * _SINGLE
    if parts > 1:  # the pairs once more, by cell; where each part of a document begins, and its tokens
        needed += corpus.n_pairs * 8 + corpus.n_documents * parts * 24
    # Counts of the last state, of the sweep under way and of the absences; doubles while the bound is evaluated.
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
    # The last state, the window under way, and their double-precision probabilities while held-out words are scored.
    needed = 7 * topics + min(corpus.n_pairs, _READ_PAIRS) * 8 + corpus.n_words * 64
    if method.startswith("a"):
        needed += 3 * topics
    if values.get("renew") and values["epochs"] > 1.0:
        needed += 2 * topics
    # What each shard reads with, and what it gives back.
    needed += int(values.get(SHARDS, 0)) * 3 * topics
    if "batch" in values:
        rows = min(
            corpus.n_words, int(values["batch"]) * max(corpus.n_pairs // max(corpus.n_documents, 1), 1)
        )
        needed += 2 * rows * int(values["k"]) * _SINGLE
    return needed
