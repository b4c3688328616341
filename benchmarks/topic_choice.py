"""Whether leave-one-out perplexity, which needs nothing held out, chooses the number of topics that held-out words do.

    python -m benchmarks.topic_choice reuters395_long.csv.gz --k 20,40,80,160,320,480

Default settings, CVB0, 10 % of each document's tokens held out; means over the seeds.
"""

from __future__ import annotations

import argparse
import os

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.models.lda.grid import grid


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--vocab")
    parser.add_argument("--k", default="5,10,20,40,80,160,320")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    corpus = load_corpus(given.file, vocabulary=given.vocab).data
    print(f"{corpus.name}: {corpus.size_text}")
    found = grid(corpus, [int(k) for k in given.k.split(",")], "cvb0", seeds=given.seeds, heldout=0.1)
    columns = [
        "loo_perplexity",
        "heldout_perplexity",
        "npmi",
        "diversity",
        "effective_k",
        "sweeps",
        "cpu_seconds",
    ]
    means = found.table().groupby("k")[columns].mean()
    print(means.to_string(float_format=lambda value: f"{value:,.3f}" if abs(value) < 10 else f"{value:,.0f}"))
    for column, best in (("loo_perplexity", "idxmin"), ("heldout_perplexity", "idxmin"), ("npmi", "idxmax")):
        print(f"best by {column}: K = {getattr(means[column], best)()}")
    print(f"load average {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
