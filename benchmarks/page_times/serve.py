"""The server whose pages are timed: runs on all kinds of data, one on a large corpus, and a run that computes."""

from __future__ import annotations

import os
import sys
import uuid
from typing import Any

import numpy as np
import scipy.sparse as sp

from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.runs import RunStore

N_DOCUMENTS, N_WORDS, N_TOKENS, N_TOPICS = 18_774, 61_188, 2_400_000, 50
#: Of the workspace whose pages are timed, and of those in which runs are started.
KEY = "b" * 32


def start_keys(n: int) -> list[str]:
    """Return the keys of `n` workspaces without runs."""
    return [uuid.uuid5(uuid.NAMESPACE_OID, str(number)).hex for number in range(n)]


def generate_corpus(n_documents: int, n_words: int, n_tokens: int) -> Corpus:
    """Draw documents from LDA with words as frequent as in natural texts; every word occurs."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(10, n_words + 10)
    lengths = rng.lognormal(0.0, 0.8, n_documents)
    documents = rng.choice(n_documents, n_tokens, p=lengths / lengths.sum())
    mixtures = rng.dirichlet(np.full(N_TOPICS, 0.1), n_documents).cumsum(axis=1)
    mixtures[:, -1] = 1.0
    # The mixture of document d takes up the stretch from d to d + 1.
    stretches = (mixtures + np.arange(n_documents)[:, None]).ravel()
    topics = np.searchsorted(stretches, documents + rng.random(n_tokens)) - documents * N_TOPICS
    words = np.empty(n_tokens, dtype=np.int64)
    for topic in range(N_TOPICS):
        of_topic = topics == topic
        weights = frequency * rng.gamma(0.1, size=n_words)
        words[of_topic] = rng.choice(n_words, int(of_topic.sum()), p=weights / weights.sum())
    documents = np.concatenate([documents, rng.integers(n_documents, size=n_words), np.arange(n_documents)])
    words = np.concatenate([words, np.arange(n_words), rng.integers(n_words, size=n_documents)])
    counts = sp.csr_array(
        (np.ones(len(words), dtype=np.int32), (documents, words)), shape=(n_documents, n_words)
    )
    vocabulary = [f"word{number}" for number in range(n_words)]
    return Corpus.build(counts, vocabulary=vocabulary, name="generated corpus")


def fill_store(store: RunStore, n_starts: int) -> None:
    """Keep the runs that the pages show, and the data of the workspaces in which runs are started."""
    games = load_sample("debtag_games").data
    results: list[Any] = []
    for sample, methods in (
        ("block_images", ("fab", "vb")),
        ("bars", ("acvb0", "cvb0")),
        ("southern_women", ("acvb0", "vb")),
        ("debtag_games", ("acvb0", "cvb0", "vb")),
    ):
        results += [fit(load_sample(sample).data, method, heldout=0.1) for method in methods]
    # Last: with other data in use, Topics shows the newest run.
    results.append(
        fit(generate_corpus(N_DOCUMENTS, N_WORDS, N_TOKENS), "cvb0", k=N_TOPICS, heldout=0.1, max_sweeps=5)
    )
    for number, result in enumerate(results):
        store.save(KEY, f"{number:012x}", 1e9 + number, result)
    for key in (KEY, *start_keys(n_starts)):
        store.save_dataset(key, games, ["a sample"], {"name": "games", "heldout": 0.1})


def main() -> None:
    """Serve the app until the process ends; the command line has the number of runs to be started, and the port."""
    from streamlit.web import cli

    from pages.ui.shared import services

    n_starts, port = int(sys.argv[1]), sys.argv[2]
    fill_store(services.store(), n_starts)
    endless = {"k_rows": 20, "k_cols": 20, "max_sweeps": 1_000_000}
    games = load_sample("debtag_games").data
    services.job_manager().add(KEY, prepare_run(games, "gibbs", endless, heldout=0.1))
    sys.argv = ["streamlit", "run", "app.py", "--server.port", port]
    cli.main()


if __name__ == "__main__":
    os.environ.setdefault("ACVB_RUNS", "2")
    main()
