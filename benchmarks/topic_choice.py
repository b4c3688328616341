"""Choice of the number of topics by leave-one-out perplexity, compared with held-out words.

    python -m benchmarks.topic_choice reuters395_long.csv.gz --k 20,40,80,160,320,480

Default settings, CVB0, 10 % of each document's tokens held out; means over the seeds.
"""

from __future__ import annotations

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.models.lda.grid import grid
from benchmarks.harness import make_parser, print_load


def main() -> None:
    given = make_parser(__doc__, "file", vocab=None, k="5,10,20,40,80,160,320", seeds=2).parse_args()
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
    print_load()


if __name__ == "__main__":
    main()
