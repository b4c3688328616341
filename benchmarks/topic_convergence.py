"""Convergence and predictions of ACVB0 on a corpus, compared with CVB0 at its best.

    python -m benchmarks.topic_convergence docword.kos.txt.gz --vocab vocab.kos.txt --k 8,50,200 [--hyper fixed]

Both begin from the same seed, with 10 % of each document's tokens held out and default settings; CVB0 continues for as
many sweeps as ACVB0 did, and its best held-out perplexity of all sweeps that were scored (every fifth) is taken.
"""

from __future__ import annotations

from acvb_core.data.corpora.readers import load_corpus
from acvb_core.engine.fitting import fit
from benchmarks.harness import make_parser, print_load


def main() -> None:
    parser = make_parser(__doc__, "file", vocab=None, k="8,50,200", alpha=0.1, beta=0.1)
    parser.add_argument("--hyper", default="fixed", choices=("fixed", "minka"))
    given = parser.parse_args()
    corpus = load_corpus(given.file, vocabulary=given.vocab).data
    heads = ("K", "verdict", "sweeps", "CPU s", "perplexity", "CVB0 best", "at sweep")
    print(" ".join(f"{head:>10}" for head in heads))
    for k in map(int, given.k.split(",")):
        options = {"k": k, "alpha": given.alpha, "beta": given.beta, "hyper": given.hyper, "heldout": 0.1}
        averaged = fit(corpus, "acvb0", **options)
        last = averaged.snapshot
        plain = fit(corpus, "cvb0", max_sweeps=last.sweep, tol=1e-12, **options).history
        best = plain["heldout_perplexity"].min()
        at = int(plain["sweep"][plain["heldout_perplexity"].idxmin()])
        print(
            f"{k:4} {averaged.verdict:>10} {last.sweep:7,} {last.cpu_seconds:7.1f} {last.heldout.perplexity:11.1f} "
            f"{best:10.1f} {at:9,}  ({last.heldout.perplexity / best - 1:+.2%})",
            flush=True,
        )
    print_load()


if __name__ == "__main__":
    main()
