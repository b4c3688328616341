"""How well streams predict the words of new documents, compared with batch CVB0.

    python -m benchmarks.stream_quality FILE [--vocabulary FILE] [--stop-words] [--k 100] [--tune 30] [--gensim]

A tenth of the documents is held out whole; 80 % of their words are seen, the perplexity is that of the others.
With `--gensim` instead: one epoch of the streams and of gensim's LdaModel, all with their own defaults but for K.

alpha = beta = 0.01 for every method (`--alpha`, `--beta`), held fast but for the learned priors of the streams. Batch
CVB0 does 100 sweeps. Every line is the mean over the seeds of the run (and of the split), with the ratio to batch
CVB0 of the same seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

import acvb_core
from acvb_core.core.protocols import Posterior
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.engine.fitting import solve
from acvb_core.engine.prepared import PreparedRun, prepare_run
from benchmarks.harness import make_parser, print_rows

EPOCHS = (1, 5)
#: Name of a line -> method and its settings.
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "SDM": ("sdm", {"prior": "symmetric"}),
    "SDM, alpha learned left to right": ("sdm", {"prior": "left_to_right"}),
    "SDM, alpha by the paper's gradient": ("sdm", {"prior": "paper"}),
    "SDM, steps of the paper throughout": (
        "sdm",
        {"prior": "symmetric", "renew": False, "step_power": 0.7, "early_passes": 0},
    ),
    "SDM, sizes not known": ("sdm", {"prior": "symmetric", "totals": "running"}),
    "SCVB0": ("scvb0", {"prior": "symmetric"}),
    "SCVB0, steps of the paper": ("scvb0", {"preset": "paper"}),
    "SCVB0, alpha learned left to right": ("scvb0", {"prior": "left_to_right"}),
    "SVB": ("svb", {"prior": "symmetric"}),
    "SVB, steps of the paper": ("svb", {"preset": "paper"}),
}


def read(options: argparse.Namespace) -> Corpus:
    """Return the corpus of the command line."""
    tokeniser = None
    if options.texts:
        tokeniser = Tokeniser(stop_words=() if options.stop_words else ("english",))
    loaded = acvb_core.load_corpus(options.file, vocabulary=options.vocabulary, tokeniser=tokeniser)
    return loaded.data


def compare_with_gensim(corpus: Corpus, k: int, seeds: int) -> None:
    """Print the perplexity of whole held-out documents after one epoch, every method with its own defaults."""
    for method in ("gensim", "sdm", "scvb0", "svb"):
        found = []
        for seed in range(seeds):
            name = "svb" if method == "gensim" else method
            prepared = prepare_run(
                corpus, name, {"k": k, "epochs": 1.0}, seed=seed, heldout_seed=seed, heldout_documents=0.1
            )
            posterior = fit_gensim(prepared, k, seed) if method == "gensim" else solve(prepared).posterior
            score = prepared.model.score(
                prepared.model.predict(posterior, prepared.heldout), prepared.heldout
            )
            found.append(score.perplexity)
        sys.stdout.write(f"{method:10}{np.mean(found):10.1f}   {', '.join(f'{one:.1f}' for one in found)}\n")
        sys.stdout.flush()


def fit_gensim(prepared: PreparedRun, k: int, seed: int) -> Posterior:
    """Return the topics of gensim's LdaModel after one pass, as it is by default."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    counts = prepared.train.counts.tocsc()
    documents = Sparse2Corpus(counts, documents_columns=False)
    names = {word: str(word) for word in range(counts.shape[1])}
    model = LdaModel(list(documents), num_topics=k, id2word=names, random_state=seed)
    beta = float(np.ravel(model.eta)[0])
    words = np.ascontiguousarray(np.maximum(model.state.get_lambda() - beta, 0.0).T)
    arrays = {"words": words, "alpha": np.asarray(model.alpha, dtype=np.float64)}
    axes: dict[str, tuple[str | None, ...]] = {"words": (None, "topics"), "alpha": ("topics",)}
    return Posterior(arrays, axes, ("words",), hyper={"beta": beta}, normalised=False)


def summarise(
    name: str, epochs: int, scores: list[tuple[float, float]], reference: list[float]
) -> dict[str, Any]:
    """Return a line of the table: means over seeds of perplexity and CPU seconds, and the ratio to batch CVB0."""
    perplexity, seconds = np.mean(scores, axis=0)
    ratios = np.array([score for score, _ in scores]) / reference
    line = {"method": name, "epochs": epochs, "perplexity": float(perplexity), "ratio": float(ratios.mean())}
    return line | {"worst": float(ratios.max()), "cpu_seconds": float(seconds)}


def main() -> int:
    """Run the comparison and print a table, then JSON."""
    parser = make_parser(__doc__, "file", vocabulary=None, k=100, alpha=0.01, beta=0.01, seeds=3)
    parser.add_argument("--texts", action="store_true", help="FILE holds texts, not counts")
    parser.add_argument("--stop-words", action="store_true", help="keep the stop words of the texts")
    parser.add_argument("--sweeps", type=int, default=100, help="of batch CVB0")
    parser.add_argument("--tune", type=int, default=0, help="trials to tune the steps of SCVB0 and SVB with")
    parser.add_argument(
        "--gensim", action="store_true", help="one epoch compared with gensim, defaults throughout"
    )
    options = parser.parse_args()
    corpus = read(options)
    sys.stdout.write(f"{corpus.name}: {corpus.size_text}; K = {options.k}, {options.seeds} seeds\n")
    if options.gensim:
        compare_with_gensim(corpus, options.k, options.seeds)
        return 0
    shared = {"k": options.k, "alpha": options.alpha, "beta": options.beta, "heldout_documents": 0.1}
    streams = dict(STREAMS)
    for method in ("scvb0", "svb") if options.tune else ():
        # Tuned on a split of its own, so that the documents of the comparison are not seen.
        tuned = acvb_core.tune(
            corpus, method, trials=options.tune, epochs=1.0, heldout_documents=0.1, heldout_seed=1000,
            k=options.k, alpha=options.alpha, beta=options.beta, prior="symmetric",
        )  # fmt: skip
        streams[f"{method.upper()}, steps tuned"] = (method, {"prior": "symmetric", **tuned.best})
        sys.stdout.write(f"{method}: {json.dumps(dict(tuned.best))}\n")
    batch = []
    for seed in range(options.seeds):
        result = acvb_core.fit(
            corpus, "cvb0", seed=seed, heldout_seed=seed, max_sweeps=options.sweeps, tol=1e-12, hyper="fixed",
            shrink=0.0, **shared,
        )  # fmt: skip
        batch.append((result.snapshot.heldout.perplexity, result.snapshot.cpu_seconds))
    reference = [score for score, _ in batch]
    lines = [summarise("batch CVB0", options.sweeps, batch, reference)]
    for name, (method, values) in streams.items():
        found: dict[int, list[tuple[float, float]]] = {epochs: [] for epochs in EPOCHS}
        for seed in range(options.seeds):
            problem_values = {**values, "epochs": float(max(EPOCHS)), "score_every": 1.0}
            result = acvb_core.fit(corpus, method, seed=seed, heldout_seed=seed, **shared, **problem_values)
            history = result.history
            for epochs in EPOCHS:
                row = history[np.isclose(history["passes"], epochs)].iloc[-1]
                found[epochs].append((row["heldout_perplexity"], row["cpu_seconds"]))
        lines += [summarise(name, epochs, scores, reference) for epochs, scores in found.items()]
    print_rows(lines)
    sys.stdout.write(json.dumps({"corpus": corpus.identity(), "lines": lines}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
