"""Time and memory of a CVB0 sweep over texts in memory, as one JSON object.

python -m benchmarks.growth.texts --tokens 1000000 --k 50
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

import acvb_core
from acvb_core.data.corpus import Corpus
from acvb_core.engine.machine import one_thread
from acvb_core.engine.prepared import prepare_run
from benchmarks.harness import make_parser, print_figures
from benchmarks.stream_scale import pieces

LENGTH, WORDS, TOPICS = 60, 50_000, 100


def draw_corpus(documents: int) -> Corpus:
    """Return a planted corpus of so many documents, in memory."""
    parts = [
        sparse.csr_array((shard.counts, shard.words, shard.pointers), shape=(len(shard.pointers) - 1, WORDS))
        for shard in pieces(documents, WORDS, TOPICS, LENGTH)
    ]
    return Corpus.build(sparse.vstack(parts, format="csr"), name="planted")


def main() -> None:
    parser = make_parser(__doc__, k=50, sweeps=5)
    parser.add_argument("--tokens", type=int, required=True)
    options = parser.parse_args()
    acvb_core.fit(
        acvb_core.load_sample("bars").corpus, "cvb0", k=3, max_sweeps=1
    )  # compiled before times are taken
    corpus = draw_corpus(options.tokens // LENGTH)
    prepared = prepare_run(corpus, "cvb0", {"k": options.k})
    sweeps = []
    with one_thread():
        state = prepared.algorithm.init(np.random.default_rng([0, 0]))
        for sweep in range(1, options.sweeps + 1):
            begun = time.thread_time()
            state, _ = prepared.algorithm.sweep(state, np.random.default_rng([0, sweep]))
            sweeps.append(time.thread_time() - begun)
    print_figures(
        {
            "tokens": corpus.n_tokens,
            "pairs": corpus.n_pairs,
            "k": options.k,
            "sweep_seconds": sweeps,
            "estimated_mb": prepared.memory_bytes / 2**20,
        },
        indent=None,
    )


if __name__ == "__main__":
    main()
