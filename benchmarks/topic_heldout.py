"""Held-out log probability per word of every method for LDA, on the same splits of a corpus.

    python -m benchmarks.topic_heldout docword.kos.txt.gz --vocab vocab.kos.txt --k 8 --alpha 0.1 --beta 0.1

Of each document's tokens 10 % are held out, drawn anew for every seed. Concentrations are fixed, all methods do the
same number of sweeps, Gibbs answers with the mean of its last 20 samples. Prints one JSON object a run, then a table:
the mean over seeds of the log probability per word (nats), the least and the most, and whether the methods come in
the order of Teh, Newman and Welling (2007), Figure 1, on every seed: VB < CVB < Gibbs, CVB0.
"""

from __future__ import annotations

import json
import statistics

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.engine.fitting import fit
from benchmarks.harness import make_parser

KEPT_SAMPLES = 20


def main() -> None:
    # Exact expectations take hours on a corpus of this size.
    given = make_parser(
        __doc__,
        "file",
        vocab=None,
        k=8,
        alpha=0.1,
        beta=0.1,
        sweeps=300,
        seeds=5,
        heldout=0.1,
        methods="acvb0,acvb,cvb0,cvb,vb,gibbs",
    ).parse_args()
    corpus = load_corpus(given.file, vocabulary=given.vocab).data
    found: dict[str, list[float]] = {}
    for seed in range(given.seeds):
        for method in given.methods.split(","):
            values = {"k": given.k, "alpha": given.alpha, "beta": given.beta, "hyper": "fixed"}
            values["max_sweeps"] = given.sweeps
            if method == "gibbs":
                values["burn_in"] = given.sweeps - KEPT_SAMPLES
            else:
                values["tol"] = 1e-12  # every run does all its sweeps
            result = fit(corpus, method, seed=seed, heldout=given.heldout, heldout_seed=seed, **values)
            last = result.snapshot
            found.setdefault(method, []).append(last.heldout.log_likelihood)
            print(
                json.dumps(
                    {
                        "method": method,
                        "seed": seed,
                        "log_probability": round(last.heldout.log_likelihood, 4),
                        "perplexity": round(last.heldout.perplexity, 1),
                        "loo_perplexity": round(last.extras["loo_perplexity"], 1),
                        "sweeps": last.sweep,
                        "cpu_seconds": round(last.cpu_seconds, 2),
                    }
                ),
                flush=True,
            )
    print(f"\n{'method':8} {'mean':>8} {'least':>8} {'most':>8}")
    for method, scores in found.items():
        print(f"{method:8} {statistics.mean(scores):8.4f} {min(scores):8.4f} {max(scores):8.4f}")
    order = [name for name in ("vb", "cvb", "gibbs", "cvb0") if name in found]
    for below, above in zip(order, order[1:], strict=False):
        if (below, above) != ("gibbs", "cvb0"):
            held = sum(a < b for a, b in zip(found[below], found[above], strict=True))
            print(f"{below} below {above}: {held} of {len(found[below])} seeds")


if __name__ == "__main__":
    main()
