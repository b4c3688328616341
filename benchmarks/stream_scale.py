"""Memory, rate and growth of streams over a synthetic corpus on disk.

    python -m benchmarks.stream_scale corpus FOLDER [--documents 1000000] [--words 50000] [--topics 100] [--length 60]
    python -m benchmarks.stream_scale run FOLDER --method sdm [--k 100]       one pass: memory, rate, linearity

`run` prints the peak resident memory above that of the process before the pass, the documents per second of each
tenth of the pass, and the slope of time against documents (1 is linear).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import acvb_core
from acvb_core.data.disk import DiskCorpus, Shard
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.run import run as sweeps
from benchmarks.harness import MemoryWatch, make_parser

PIECE = 20_000


def pieces(documents: int, words: int, topics: int, length: int, seed: int = 0) -> Iterator[Shard]:
    """Give documents of a planted corpus: Zipf-like topics over shuffled words, a few topics a document."""
    rng = np.random.default_rng(seed)
    ranks = 1.0 / (np.arange(1, words + 1) + 5.0)
    cumulative = np.cumsum(ranks / ranks.sum())
    order = np.stack([rng.permutation(words) for _ in range(topics)])
    for begin in range(0, documents, PIECE):
        n = min(PIECE, documents - begin)
        few = rng.integers(topics, size=(n, 3))
        pick = rng.choice(3, size=(n, length), p=[0.6, 0.3, 0.1])
        topic = np.take_along_axis(few, pick, axis=1)
        rank = np.searchsorted(cumulative, rng.random((n, length)))
        found = np.sort(order[topic, np.minimum(rank, words - 1)], axis=1)
        first = np.ones((n, length), dtype=bool)
        first[:, 1:] = found[:, 1:] != found[:, :-1]
        starts = np.flatnonzero(first.ravel())
        counts = np.diff(np.append(starts, n * length))
        pointers = np.concatenate([[0], np.cumsum(first.sum(axis=1))])
        yield Shard(
            pointers.astype(np.int64), found.ravel()[starts].astype(np.int32), counts.astype(np.float32)
        )


def make(folder: Path, documents: int, words: int, topics: int, length: int) -> DiskCorpus:
    """Write a planted corpus to a folder."""
    vocabulary = [f"w{w}" for w in range(words)]
    return acvb_core.write_disk_corpus(
        pieces(documents, words, topics, length), folder, vocabulary=vocabulary, name=folder.name
    )


def one_pass(folder: Path, method: str, k: int, values: dict[str, Any]) -> None:
    """Go once through a corpus on disk, and print what it took."""
    corpus = DiskCorpus.open(folder)
    warm = acvb_core.load_sample("bars").corpus
    acvb_core.fit(warm, method, k=3, epochs=1.0)  # compiled before memory and time are looked at
    with MemoryWatch(seconds=0.05) as watch:
        prepared = prepare_run(corpus, method, {"k": k, "epochs": 1.0, **values}, heldout_documents=0.001)
        history = [(0.0, 0.0, 0.0)]
        last = None
        for last in sweeps(prepared):
            history.append((last.passes * prepared.train.n_documents, last.cpu_seconds, last.wall_seconds))
    assert last is not None
    seen, cpu, wall = (np.array(column) for column in zip(*history, strict=True))
    slope = float(np.polyfit(np.log(seen[len(seen) // 10 :]), np.log(cpu[len(cpu) // 10 :]), 1)[0])
    topics = 2 * corpus.n_words * k * 4
    tenths = np.linspace(0, seen[-1], 11)
    rates = np.diff(tenths) / np.diff(np.interp(tenths, seen, cpu))
    report = {
        "method": method,
        "documents": round(float(seen[-1])),
        "k": k,
        "words": corpus.n_words,
        "documents_per_second_wall": seen[-1] / (wall[-1] - last.diagnostics_seconds),
        "documents_per_cpu_second": seen[-1] / cpu[-1],
        "ns_per_word_and_topic": cpu[-1] / corpus.n_pairs / k * 1e9,
        "slope": slope,
        "rate_by_tenths": [round(rate) for rate in rates],
        "memory_rise_mb": watch.rise / 1e6,
        "topics_mb": topics / 1e6,
        "above_topics_mb": (watch.rise - topics) / 1e6,
        "completion_perplexity": last.heldout.perplexity,
        "loo_perplexity": last.extras["loo_perplexity"],
    }
    sys.stdout.write(json.dumps(report, indent=1) + "\n")


def main() -> int:
    """Do what the command line says."""
    sizes = {"documents": 1000000, "words": 50000, "topics": 100, "length": 60, "k": 100}
    parser = make_parser(__doc__, **sizes, prior="left_to_right")
    parser.add_argument("what", choices=("corpus", "run"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--method", default="sdm", help="that runs")
    options = parser.parse_args()
    if options.what == "corpus":
        begun = time.monotonic()
        corpus = make(options.folder, options.documents, options.words, options.topics, options.length)
        sys.stdout.write(f"{corpus.size_text}: {time.monotonic() - begun:.0f} s\n")
    else:
        one_pass(options.folder, options.method, options.k, {"prior": options.prior})
    return 0


if __name__ == "__main__":
    sys.exit(main())
