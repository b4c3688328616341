"""Runs over shards and threads: what they cost, what they give, and what would come after them.

    python -m benchmarks.scale run FOLDER --shards 4 --workers 2       time and memory of each process
    python -m benchmarks.scale shards [FILE]                           scores for 1, 2, 4, 8 and 16 shards
    python -m benchmarks.scale streams [FILE] --method sdm             the same for streams, by merges in a window
    python -m benchmarks.scale threads [FILE] --k 50                   one run over the threads of this machine

FOLDER is a corpus on disk (`python -m benchmarks.stream_scale corpus FOLDER`), FILE any corpus that `acvb` reads;
without one, planted topics are drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import acvb_core
from acvb_core.data.corpus import Corpus
from acvb_core.samples.planted_mixtures import planted_topics
from benchmarks.harness import make_parser
from benchmarks.scale import measure, staleness, threads

NUMBERS = [1, 2, 4, 8, 16]


def load(file: str | None, vocabulary: str | None = None) -> Corpus:
    """Return the corpus of a file, or planted topics."""
    if file is None:
        return planted_topics(4_000, 3_000, 20, 80, 0.1, 0.05, 1).corpus
    return acvb_core.load_corpus(file, vocabulary=vocabulary).data


def main() -> None:
    """Do what the command line says."""
    parser = make_parser(__doc__, method="cvb0", k=100, shards=4, workers=2, sweeps=24, save_every=0, seeds=1)
    parser.add_argument("what", choices=("run", "shards", "streams", "threads"))
    parser.add_argument("source", nargs="?", metavar="FOLDER or FILE")
    parser.add_argument("--short", action="store_true", help="keep responsibilities in half the memory")
    parser.add_argument("--epochs", type=float, default=3.0, help="streams: passes over the documents")
    parser.add_argument("--window", type=int, default=0, help="streams: documents in a window")
    parser.add_argument("--vocab", help="of a FILE that has word numbers")
    parser.add_argument("--cells", type=int, default=4, help="threads: parts of documents and of words")
    parser.add_argument("--threads", type=int, default=2, help="threads: how many")
    parser.add_argument("--rounds", type=int, default=15, help="threads: sweeps that are timed")
    given = parser.parse_args()
    values: dict[str, Any] = {"k": given.k, "max_sweeps": given.sweeps, "tol": 1e-12}
    if given.what == "run":
        more: dict[str, Any] = {"shards": given.shards}
        more |= {"inner": 1} if given.method == "vb" else {"short": given.short}
        measure.measure(Path(given.source), given.method, values | more, given.workers, given.save_every)
    elif given.what == "shards":
        staleness.compare(load(given.source), given.method, values, NUMBERS, given.seeds)
    elif given.what == "streams":
        stream = {"k": given.k, "epochs": given.epochs, "window": given.window}
        staleness.compare_streams(load(given.source), given.method, stream, NUMBERS, given.seeds)
    else:
        threads.measure_threads(
            load(given.source, given.vocab),
            given.method,
            given.k,
            cells=given.cells,
            threads=given.threads,
            rounds=given.rounds,
            n_sweeps=given.sweeps,
            seeds=given.seeds,
        )


if __name__ == "__main__":
    main()
