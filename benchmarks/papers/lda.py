"""Tables and figures of the papers on topics: acvb17 (JMLR 18, 2017), tnw07 (NIPS 19, 2007) and sn15 (KDD 2015)."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.paper import (
    Claim,
    PaperData,
    PaperFigure,
    PaperSearch,
    PaperSource,
    PaperTable,
    claim_rise,
    draw_rise,
    name_sample,
    read_printed,
)

_MODEL = "lda"


def _file(name: str, real: str = "") -> PaperSource:
    return PaperSource(name, real=real)


_KOS = _file("kos_long.csv.gz")
_KOS_INSTEAD = _file("kos_long.csv.gz", "KOS blog entries")
_BARS = name_sample("bars", "Bars in pictures")
_BIBLE = name_sample("bible", "Chapters of the Bible")
_SOME_DOCUMENTS = tuple(
    PaperData(
        f"{n:,} documents",
        (
            PaperSource("kos_long.csv.gz", real=f"The first {n:,} documents of KOS", first=n),
            name_sample("bars", f"The first {n:,} bars in pictures", first=n),
        ),
        size=n,
    )
    for n in (100, 250, 500, 1_000, 2_000, 3_430)
)
#: All sweeps are made: no change is smaller.
_ALL_SWEEPS = {"tol": 1e-12}
_FIXED = {"alpha": 0.1, "beta": 0.1, "hyper": "fixed"}

#: The tuned streams of sn15 (§9): steps 1 / (b + t)^kappa, mini-batches of 1,000, and what is searched.
_SVB_BO, _SCVB0_BO, _ONE_BY_ONE = "svb:SVB-BO", "scvb0:SCVB0-BO", "sdm:SDM, one document at a time"
_TUNED = {"step_scale": 1.0, "batch": 1_000}
_SEARCH = PaperSearch(
    15, 3, (("step_offset", 1.0, 1_000.0, True), ("step_power", 0.51, 1.0, False), ("alpha", 0.01, 0.5, True),
            ("beta", 0.01, 0.5, True)),
)  # fmt: skip
_FEW = "the mini-batches have 1,000 documents, and the corpora here 395 and 3,430; the paper's have a million and more"
_TRIED = ((0.01, 0.01), (0.01, 0.1), (0.1, 0.01), (0.1, 0.1), (0.5, 0.1))

_TABLE_4: dict[str, Any] = {
    "model": _MODEL, "methods": ("gibbs", "vb", "cvb", "cvb0", "acvb", "acvb0"), "ks": (50, 100, 200),
    "data": (
        PaperData("20 news group", (_KOS_INSTEAD, _BIBLE)),
        PaperData("Enron", (_file("reuters395_long.csv.gz", "Reuters articles"),)),
    ),
    "score": "heldout_perplexity", "lower_is_better": True,
    "printed": read_printed(
        """
50 | 20 news group | 1909 2877 3394 2009 3393 2016
50 | Enron | 1554 2479 2923 1608 2922 1617
100 | 20 news group | 1718 2937 3397 1791 3395 1797
100 | Enron | 1368 2469 2753 1378 2751 1387
200 | 20 news group | 1618 3040 3100 1587 3097 1589
200 | Enron | 1307 2504 2384 1184 2382 1188
"""
    ),
    "quick_settings": {"max_sweeps": 40, "burn_in": 20},
}  # fmt: skip
_AFTER_150 = {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 150, "alpha": 0.1, "beta": 0.01}

TABLES = (
    PaperTable(
        "acvb17", "Table 4", "Perplexity of held-out words after 150 sweeps", **_TABLE_4, settings=_AFTER_150,
        own_settings={"gibbs": {"max_sweeps": 1000}, "vb": {"hyper": "minka"}, "cvb": {"hyper": "plain"}},
        claims=(
            *(Claim(f"ACVB0 and CVB0 compute faster than the other methods ({method.upper()})", method,
                    ("acvb", "cvb", "vb"), score="cpu_seconds") for method in ("acvb0", "cvb0")),
        ),
        figures=(
            PaperFigure("Figure 6", "held-out perplexity while each method computes", "course",
                        ("heldout_perplexity",), "cpu_seconds", True, ("vb", "cvb", "cvb0", "acvb", "acvb0")),
        ),
        note="alpha and beta are learned by Minka's fixed point on expected counts, as the paper says it does. On "
        "these data that makes them so large that topics become alike. The claims about predictions are therefore "
        "judged by the next table. [Why](../papers.md#why-cvb0-as-printed-predicts-poorly-with-many-topics).",
    ),
    PaperTable(
        "acvb17", "Table 4 (fixed)", "Perplexity of held-out words after 150 sweeps, alpha 0.1 and beta 0.01 fixed",
        **_TABLE_4, settings={**_AFTER_150, "hyper": "fixed"}, own_settings={"gibbs": {"max_sweeps": 1000}},
        claims=(
            Claim("CVB0 predicts better than VB on topics", "cvb0", ("vb",)),
            Claim("ACVB0 predicts better than VB on topics", "acvb0", ("vb",)),
            Claim("ACVB0 predicts better on topics than CVB and ACVB of second order", "acvb0", ("cvb", "acvb")),
            Claim("CVB0 predicts better than ACVB0 after the same number of sweeps", "cvb0", ("acvb0",)),
            Claim("VB predicts better than CVB of second order", "vb", ("cvb", "acvb"), ks=(50, 100)),
            Claim("1,000 sweeps of collapsed Gibbs sampling predict better than ACVB0", "gibbs", ("acvb0",)),
        ),
    ),
    PaperTable(
        "acvb17", "Figures 2 and 3 (topics)", "Leave-one-out score after 100 sweeps", _MODEL, ("cvb", "cvb0"), (50,),
        (
            PaperData("Synth1", (name_sample("topics_10", "Planted 10 topics"),)),
            PaperData("Synth2", (name_sample("topics_40", "Planted 40 topics"),)),
        ),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 100, "alpha": 0.1, "beta": 0.01}, {"cvb": {"hyper": "plain"}},
        score="pseudo_loo", splits=5, quick_ks=(10,), quick_settings={"max_sweeps": 40},
        figures=(draw_rise("Figure 2", "topics", "cvb", "CVB"), draw_rise("Figure 3", "topics", "cvb0", "CVB0")),
        claims=(
            claim_rise("cvb", "CVB"),
            claim_rise("cvb0", "CVB0"),
            *(Claim(f"On topics the bound of {method.upper()} ends below its highest value", method, at_least=0.001,
                    score="drop_lower_bound", why="a thousandth of the highest value") for method in ("cvb", "cvb0")),
        ),
    ),
    PaperTable(
        "tnw07", "Figure 1", "Log probability of a held-out word after 100 sweeps", _MODEL,
        ("vb", "cvb", "gibbs"), (8,),
        (PaperData("KOS", (_KOS, _BARS)), PaperData("NIPS")),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 100, **_FIXED},
        {"gibbs": {"burn_in": 50}}, splits=50,
        figures=(
            PaperFigure("Figure 1 (bound)", "lower bound by sweeps", "course", ("lower_bound",),
                        methods=("vb", "cvb")),
            PaperFigure("Figure 1 (bound, histogram)", "lower bound in the end", "histogram", ("lower_bound",),
                        methods=("vb", "cvb")),
            PaperFigure("Figure 1 (words)", "log probability of a held-out word by sweeps", "course",
                        ("heldout_log_likelihood",)),
            PaperFigure("Figure 1 (words, histogram)", "log probability of a held-out word in the end", "histogram",
                        ("heldout_log_likelihood",)),
        ),
        claims=(
            Claim("CVB predicts better than VB", "cvb", ("vb",)),
            Claim("Collapsed Gibbs sampling predicts better than CVB in the end", "gibbs", ("cvb",)),
            Claim("CVB reaches a higher bound than VB", "cvb", ("vb",), score="lower_bound"),
            Claim("CVB converges in fewer sweeps than VB", "cvb", ("vb",), score="reach_heldout_log_likelihood"),
            Claim("CVB converges in fewer sweeps than collapsed Gibbs sampling", "cvb", ("gibbs",),
                  score="reach_heldout_log_likelihood"),
        ),
        note="The paper draws curves and histograms; it prints no figures. Both bounds are those of the "
        "responsibilities with the best distributions of the parameters beside them; the paper takes for CVB a bound "
        "that marginalises them, which is higher.",
        quick_settings={"max_sweeps": 40, "burn_in": 20},
    ),
    PaperTable(
        "tnw07", "Figure 2", "Log probability of a held-out word by the number of documents", _MODEL,
        ("vb", "cvb", "gibbs"), (8,), _SOME_DOCUMENTS,
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 100, **_FIXED}, {"gibbs": {"burn_in": 50}}, splits=5,
        figures=(
            PaperFigure("Figure 2", "by the number of documents", "sizes",
                        ("heldout_log_likelihood", "unit_lower_bound"), "documents"),
        ),
        claims=(
            Claim("CVB suffers less than VB from few documents", "cvb", ("vb",),
                  data=("100 documents", "250 documents")),
            Claim("VB and CVB get better with more documents",
                  untested="more documents have more words here, so that sizes cannot be compared"),
        ),
        quick_settings={"max_sweeps": 20, "burn_in": 10},
    ),
    PaperTable(
        "tnw07", "Section 4", "CVB beside exact CVB: log probability of a held-out word", _MODEL,
        ("cvb", "cvb_exact"), (8,),
        (PaperData("KOS", (PaperSource("kos_long.csv.gz", real="The first 40 documents of KOS", first=40),
                           name_sample("bars", "Bars in pictures", first=40))),),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 60, **_FIXED}, splits=5,
        claims=(
            Claim("Exact CVB predicts as its approximation does", "cvb_exact", ("cvb",), margin=0.01,
                  why="nats a word: a hundredth of the perplexity, a tenth of what parts VB from CVB in Figure 1"),
        ),
        note="The paper says that both gave identical results, and shows none.",
        quick_settings={"max_sweeps": 5},
    ),
    PaperTable(
        "sn15", "Figure 1", "Perplexity of held-out words after 100 sweeps of CVB0", _MODEL,
        tuple(f"cvb0:alpha {alpha:g}, beta {beta:g}" for alpha, beta in _TRIED), (50, 100, 150),
        (
            PaperData("NIPS", (PaperSource("kos_long.csv.gz", real="The first 1,500 documents of KOS", first=1_500),
                               name_sample("bars", "Bars in pictures", first=100))),
            PaperData("New York Times", (_file("reuters395_long.csv.gz", "Reuters articles"),)),
        ),
        {"preset": "paper", **_ALL_SWEEPS, "max_sweeps": 100, "hyper": "fixed"},
        {f"cvb0:alpha {alpha:g}, beta {beta:g}": {"alpha": alpha, "beta": beta} for alpha, beta in _TRIED},
        score="heldout_perplexity", lower_is_better=True, splits=5, split={"heldout": 0.2},
        figures=(
            PaperFigure("Figure 1", "held-out perplexity by leave-one-out perplexity", "scatter",
                        ("heldout_perplexity",), "loo_perplexity"),
            PaperFigure("Figure 1 (course)", "both perplexities by sweeps", "course",
                        ("loo_perplexity", "heldout_perplexity"), methods=("cvb0:alpha 0.01, beta 0.1",)),
        ),
        claims=(
            Claim("Leave-one-out perplexity follows held-out perplexity", score="heldout_perplexity",
                  follows="loo_perplexity"),
        ),
        note="The paper does not say which alpha and beta it tried.",
        quick_ks=(10,), quick_settings={"max_sweeps": 20},
    ),
    PaperTable(
        "sn15", "Figures 2 and 3", "Perplexity of a fifth of the words of new documents after one epoch", _MODEL,
        ("svb", _SVB_BO, "scvb0", _SCVB0_BO, "sdm:SDM-S", "sdm", _ONE_BY_ONE), (100,),
        (
            PaperData("DBLP", (_KOS_INSTEAD, _BARS)),
            PaperData("Wikipedia", (_file("reuters395_long.csv.gz", "Reuters articles"),)),
        ),
        {"preset": "paper", "epochs": 1.0, "score_every": 0.1},
        {"sdm:SDM-S": {"prior": "symmetric"}, _ONE_BY_ONE: {"batch": 1},
         _SVB_BO: _TUNED, _SCVB0_BO: {**_TUNED, "inner_scale": 1.0}},
        searches={_SVB_BO: _SEARCH, _SCVB0_BO: _SEARCH},
        score="heldout_perplexity", lower_is_better=True, splits=5, split={"heldout_documents": 0.1},
        figures=(
            PaperFigure("Figure 2", "lowest held-out perplexity by trials of the search for steps", "search",
                        ("heldout_perplexity",)),
            PaperFigure("Figure 3", "held-out perplexity by the share of the documents read", "course",
                        ("heldout_perplexity",), "passes"),
        ),
        claims=(
            Claim("SCVB0 with tuned steps predicts better than with its authors' own", _SCVB0_BO, ("scvb0",)),
            Claim("SVB with tuned steps predicts better than SCVB0 with its authors' own", _SVB_BO, ("scvb0",)),
            Claim("SCVB0 predicts better than SVB where both are tuned", untested=_FEW),
            Claim("SDM predicts better than SCVB0 with tuned steps", untested=_FEW),
            Claim("SDM predicts better than SCVB0 with tuned steps, if it takes one document at a time", _ONE_BY_ONE,
                  (_SCVB0_BO,)),
            Claim("SDM predicts better than SCVB0 with its authors' steps", untested=_FEW),
            Claim("SDM with a learned prior predicts better than SDM-S", "sdm", ("sdm:SDM-S",), data=("DBLP",),
                  why="not on Wikipedia: the prior is learned from 1,000 documents on"),
            Claim("SDM computes faster than SCVB0 with tuned steps where the vocabulary is large, as on all data but "
                  "DBLP", place="Table 4", untested=_FEW),
            Claim("SDM predicts as well as tuned SCVB0 after all documents once it has read a tenth of them (DBLP), "
                  "three tenths (Pubmed) or six tenths (Wikipedia)", place="Figure 3",
                  untested="the corpora here are a three-hundredth of the paper's; Figure 3 shows the courses"),
        ),
        note="The paper has 1,000 topics and a million documents and more, so that mini-batches of 1,000 are many. It "
        "draws curves and prints no figures. Its search tries listed values; here they come from the same ranges.",
        quick_ks=(20,),
    ),
)  # fmt: skip
