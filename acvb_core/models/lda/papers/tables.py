"""Tables and figures of the papers on topics: acvb17 (JMLR 18, 2017), tnw07 (NIPS 19, 2007) and sn15 (KDD 2015)."""

from __future__ import annotations

from acvb_core.core.papers import Claim, PaperData, PaperSource, PaperTable, read_printed

_MODEL = "lda"


def _file(name: str, instead: str = "") -> PaperSource:
    return PaperSource(name, instead=instead)


_KOS = _file("kos_long.csv.gz")
_KOS_INSTEAD = _file("kos_long.csv.gz", "KOS blog entries, 3,430 documents")
_BARS = PaperSource("bars", is_file=False, instead="bars in pictures, drawn from ten topics")
_BIBLE = PaperSource("bible", is_file=False, instead="chapters of the Bible")
#: All sweeps are made: no change is smaller.
_ALL_SWEEPS = {"tol": 1e-12}
_FIXED = {"alpha": 0.1, "beta": 0.1, "hyper": "fixed"}

TABLES = (
    PaperTable(
        "acvb17", "Table 4", "Perplexity of held-out words after 150 sweeps", _MODEL,
        ("gibbs", "vb", "cvb", "cvb0", "acvb", "acvb0"), (50, 100, 200),
        (
            PaperData("20 news group", (_KOS_INSTEAD, _BIBLE)),
            PaperData("Enron", (_file("reuters395_long.csv.gz", "395 Reuters articles"),)),
        ),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 150, "alpha": 0.1, "beta": 0.01},
        {"gibbs": {"max_sweeps": 1000}, "vb": {"hyper": "minka"}, "cvb": {"hyper": "plain"}},
        score="heldout_perplexity", lower_is_better=True,
        printed=read_printed(
            """
50 | 20 news group | 1909 2877 3394 2009 3393 2016
50 | Enron | 1554 2479 2923 1608 2922 1617
100 | 20 news group | 1718 2937 3397 1791 3395 1797
100 | Enron | 1368 2469 2753 1378 2751 1387
200 | 20 news group | 1618 3040 3100 1587 3097 1589
200 | Enron | 1307 2504 2384 1184 2382 1188
"""
        ),
        claims=(
            Claim("CVB0 and ACVB0 predict better than VB (CVB0)", "cvb0", ("vb",)),
            Claim("CVB0 and ACVB0 predict better than VB (ACVB0)", "acvb0", ("vb",)),
            Claim("ACVB0 predicts better than CVB and ACVB of second order", "acvb0", ("cvb", "acvb")),
            Claim("CVB0 predicts better than ACVB0 after the same number of sweeps", "cvb0", ("acvb0",)),
            Claim("VB predicts better than CVB of second order", "vb", ("cvb", "acvb"), ks=(50, 100)),
            Claim("1,000 sweeps of collapsed Gibbs sampling predict better than ACVB0", "gibbs", ("acvb0",)),
        ),
        quick_settings={"max_sweeps": 40, "burn_in": 20},
    ),
    PaperTable(
        "tnw07", "Figure 1", "Log probability of a held-out word after 100 sweeps", _MODEL,
        ("vb", "cvb", "gibbs"), (8,),
        (PaperData("KOS", (_KOS, _BARS)),),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 100, **_FIXED},
        {"gibbs": {"burn_in": 50}}, splits=50,
        claims=(
            Claim("CVB predicts better than VB", "cvb", ("vb",)),
            Claim("Collapsed Gibbs sampling predicts better than CVB in the end", "gibbs", ("cvb",)),
        ),
        note="The paper draws curves and histograms; it prints no figures.",
        quick_settings={"max_sweeps": 40, "burn_in": 20},
    ),
    PaperTable(
        "tnw07", "Figure 1 (bound)", "Lower bound after 100 sweeps", _MODEL, ("vb", "cvb"), (8,),
        (PaperData("KOS", (_KOS, _BARS)),),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 100, **_FIXED}, score="lower_bound", splits=50,
        claims=(Claim("CVB reaches a higher bound than VB", "cvb", ("vb",)),),
        note="Both bounds are those of the responsibilities with the best distributions of the parameters beside them; "
        "the paper takes for CVB a bound that marginalises them, which is higher.",
        quick_settings={"max_sweeps": 40, "burn_in": 20},
    ),
    PaperTable(
        "sn15", "Figure 3", "Perplexity of a fifth of the words of new documents after one epoch", _MODEL,
        ("svb", "scvb0", "sdm"), (100,),
        (
            PaperData("DBLP", (_KOS_INSTEAD, _BARS)),
            PaperData("Wikipedia", (_file("reuters395_long.csv.gz", "395 Reuters articles"),)),
        ),
        {"preset": "paper", "epochs": 1.0}, score="heldout_perplexity", lower_is_better=True, splits=5,
        split={"heldout_documents": 0.1},
        claims=(
            Claim("SDM predicts better than SCVB0", "sdm", ("scvb0",)),
            Claim("SCVB0 predicts better than SVB", "scvb0", ("svb",)),
        ),
        note="The paper has 1,000 topics and a million documents and more, and tunes the steps of SCVB0 and SVB first. "
        "It draws curves and prints no figures.",
        quick_ks=(20,),
    ),
)  # fmt: skip
