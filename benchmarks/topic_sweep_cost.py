"""Cost of a CVB0 sweep of LDA: against the processor's floor, and against tomotopy's Gibbs sampler.

    python -m benchmarks.topic_sweep_cost docword.kos.txt.gz --vocab vocab.kos.txt --k 50

`floor` is the kernel of the sweep on so few documents that everything stays in the processor's cache. A sweep of the
whole corpus takes longer by the price of fetching responsibilities and counts from memory.

All run on one thread and take turns (A B C A B C …); times are CPU seconds, medians of the rounds. tomotopy (pip
install tomotopy==0.14.0) is measured where it is installed; its passes sample, ours update expectations.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpus import Corpus
from acvb_core.engine.machine import one_thread
from acvb_core.models.lda.cvb import sum_counts
from acvb_core.models.lda.hyper import Concentrations
from acvb_core.models.lda.kernels import zeroth_order
from acvb_core.models.lda.start import random_responsibilities
from acvb_core.models.lda.state import BlockPartition, Tokens
from acvb_core.registry import method_row
from benchmarks.harness import make_parser, print_load

FLOOR_DOCUMENTS, FLOOR_REPEATS = 20, 40
TOMOTOPY_PASSES = 5


def sweeps(corpus: Corpus, k: int, method: str, times: int = 1) -> Callable[[], None]:
    """Return a call that does so many sweeps, after a first one."""
    row = method_row("lda", method)
    values = {"k": k, "alpha": 0.1, "beta": 0.1, "hyper": "fixed"}
    values |= {"burn_in": 1} if method in ("acvb0", "acvb", "gibbs") else {}
    algorithm = row.build(corpus, row.values(values))
    rng = np.random.default_rng(0)
    state = algorithm.init(rng)

    def run() -> None:
        nonlocal state
        for _ in range(times):
            state, _ = algorithm.sweep(state, rng)

    run()
    run()
    return run


def floor(corpus: Corpus, k: int) -> Callable[[], None]:
    """Return a call of the kernel on a few documents, many times."""
    tokens = Tokens.of(corpus)
    q = random_responsibilities(len(tokens.words), k, np.random.default_rng(0))
    counts = sum_counts(BlockPartition.cut(tokens), q)
    prior = Concentrations.symmetric(k, 0.1, 0.1).singles(tokens.n_words)

    def run() -> None:
        for _ in range(FLOOR_REPEATS):
            zeroth_order(0, tokens.n_documents, tokens.documents, q, counts, prior)

    run()
    return run


def tomotopy_passes(corpus: Corpus, k: int) -> Callable[[], None] | None:
    """Return a call that does some passes of tomotopy with one worker; None if it is not installed."""
    try:
        import tomotopy
    except ImportError:
        return None
    model = tomotopy.LDAModel(k=k, alpha=0.1, eta=0.1, seed=0)
    model.optim_interval = 0
    counts = corpus.counts
    for d in range(corpus.n_documents):
        part = slice(counts.indptr[d], counts.indptr[d + 1])
        words = np.repeat(counts.indices[part], counts.data[part])
        if len(words):
            model.add_doc([str(corpus.vocabulary[w]) for w in words])
    model.train(2, workers=1)
    return lambda: model.train(TOMOTOPY_PASSES, workers=1)


def main() -> None:
    given = make_parser(__doc__, "file", vocab=None, k=50, rounds=9).parse_args()
    corpus = load_corpus(given.file, vocabulary=given.vocab).data
    few = Corpus.build(corpus.counts[:FLOOR_DOCUMENTS])
    elements = dict.fromkeys(("cvb0", "acvb0", "cvb", "vb", "gibbs"), corpus.n_pairs * given.k)
    calls = {name: (sweeps(corpus, given.k, name), 1) for name in elements}
    calls["floor"] = (floor(few, given.k), FLOOR_REPEATS)
    elements["floor"] = few.n_pairs * given.k
    peer = tomotopy_passes(corpus, given.k)
    if peer is not None:
        calls["tomotopy"] = (peer, TOMOTOPY_PASSES)
        elements["tomotopy"] = corpus.n_pairs * given.k
    taken: dict[str, list[float]] = {name: [] for name in calls}
    with one_thread():
        for _ in range(given.rounds):
            for name, (call, times) in calls.items():
                begun = time.process_time()
                call()
                taken[name].append((time.process_time() - begun) / times)
    seconds = {name: statistics.median(values) for name, values in taken.items()}
    print(f"{corpus.name}: {corpus.size_text}, {corpus.n_pairs:,} pairs, K = {given.k}")
    print(f"{'':10} {'ms a pass':>10} {'ns a pair x topic':>18} {'relative to CVB0':>17}")
    for name, value in seconds.items():
        each = 1e9 * value / elements[name]
        share = each / (1e9 * seconds["cvb0"] / elements["cvb0"])
        print(f"{name:10} {1e3 * value:10.3f} {each:18.3f} {share:17.2f}")
    print_load()


if __name__ == "__main__":
    main()
