"""Table 1 and the figures of the paper on FAB: Hayashi and Fujimaki, NIPS 26 (2013, hf13)."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.paper import (
    Claim,
    PaperData,
    PaperFigure,
    PaperSource,
    PaperTable,
    name_sample,
    read_printed,
)

_DATA = (
    PaperData("Sonar", (PaperSource("sonar_208x60.csv", real="UCI's Sonar"),
                        name_sample("fertility", "Births per woman"))),
    PaperData("Libras"),
    PaperData("USPS", (PaperSource("digits_1797x64.csv.gz", options={"constants": "leave-out"},
                                   real="Digits of 8 x 8 pixels"),)),
)  # fmt: skip
_BINARY = "fab:FAB from {0, 1}"
_METHODS = ("fab", _BINARY, "em", "ibp", "meibp")
_SHARED: dict[str, Any] = {
    "model": "lfm", "methods": _METHODS, "ks": (0,), "data": _DATA, "splits": 5, "split": {"heldout": 0.3},
    "settings": {"preset": "paper"}, "own_settings": {_BINARY: {"init": "binary"}},
    "quick_settings": {"max_sweeps": 60, "burn_in": 30},
    "note": "UCI's table of Sonar has 60 columns, the paper's 49.",
}  # fmt: skip
_FAST, _SLOW = "fab:FAB", "fab:FAB without acceleration"
_ARTIFICIAL = tuple(
    PaperData(f"{n:,} objects", (name_sample("planted_features", f"Planted features in {n:,} objects",
                                             options={"n_rows": n, "n_columns": 30, "n_features": 5}),), size=n)
    for n in (100, 250, 500, 1_000, 2_000)
)  # fmt: skip

TABLES = (
    PaperTable(
        "hf13", "Table 1 (PLL)", "Log likelihood of a held-out cell, 30 % held out", **_SHARED,
        printed=read_printed(
            """
0 | Sonar | -1.25 - -4.04 -4.48 -18.10
0 | Libras | -0.63 - -0.68 -0.18 -11.30
0 | USPS | -0.96 - -1.06 -2.59 -1.35
"""
        ),
        claims=(
            Claim("FAB predicts better than EM", "fab", ("em",)),
            Claim("FAB and EM predict alike where there are many objects",
                  untested="the largest table here has 1,797 rows; the paper says it of 57,931 and more"),
            Claim("FAB predicts better than IBP", "fab", ("ibp",)),
            Claim("IBP predicts better than FAB where there are few objects, which the paper saw on Libras alone",
                  "ibp", ("fab",), data=("Sonar", "Libras")),
            Claim("FAB predicts better than MEIBP", "fab", ("meibp",)),
            Claim("FAB has the smallest gap between known and held-out cells", "fab", ("em", "ibp", "meibp"),
                  score="gap_log_likelihood"),
            Claim("FAB computes faster than IBP", "fab", ("ibp",), score="cpu_seconds"),
            Claim("MEIBP computes faster than IBP", "meibp", ("ibp",), score="cpu_seconds"),
        ),
    ),
    PaperTable(
        "hf13", "Table 1 (K)", "Number of features found, 30 % held out", **_SHARED,
        score="effective_k_features", lower_is_better=True,
        printed=read_printed(
            """
0 | Sonar | 4.4 - 48.8 69.6 45.4
0 | Libras | 19.0 - 75.6 36.4 40.8
0 | USPS | 110.2 - 256 181.0 22.0
"""
        ),
        claims=(
            Claim("FAB finds fewer features than EM", "fab", ("em",)),
            Claim("FAB finds fewer features than IBP", "fab", ("ibp",)),
            Claim("FAB finds fewer features than MEIBP", "fab", ("meibp",)),
        ),
    ),
    PaperTable(
        "hf13", "Figure 1", "CPU seconds to convergence, with and without the acceleration", "lfm",
        (_FAST, _SLOW), (0,),
        (PaperData("50 columns, 5 features", (
            PaperSource("planted_features", False, {"n_rows": 500, "n_columns": 50, "n_features": 5},
                        real="Planted features"),)),),
        {"preset": "paper"}, {_SLOW: {"accelerate": False}}, "cpu_seconds", True, splits=5, split={"heldout": 0.0},
        figures=(
            PaperFigure("Figure 1", "features and bound while FAB computes", "course", ("effective_k", "lower_bound"),
                        "cpu_seconds", True),
        ),
        claims=(
            Claim("The acceleration makes FAB faster", _FAST, (_SLOW,)),
            Claim("The acceleration leaves the number of features as it is", _FAST, (_SLOW,), margin=0.5,
                  score="effective_k_features", why="half a feature"),
            Claim("The acceleration leaves the bound as it is", _FAST, (_SLOW,), margin=25.0, score="lower_bound",
                  why="nats, a thousandth for each of the 25,000 cells"),
        ),
        note="The paper does not say how many rows its table has; here there are 500.",
        quick_settings={"max_sweeps": 60},
    ),
    PaperTable(
        "hf13", "Figure 2", "Number of features found where there are 5", "lfm",
        ("fab", "em", "ibp", "meibp", "vb"), (0,), _ARTIFICIAL, {"preset": "paper"},
        {"ibp": {"noise_sd": 0.72, "burn_in": 100, "max_sweeps": 400}}, "effective_k_features", True, 5.0, splits=10,
        split={"heldout": 0.0},
        figures=(
            PaperFigure("Figure 2", "time and features found by the number of objects", "sizes",
                        ("cpu_seconds", "effective_k_features"), "objects", True),
        ),
        claims=(
            Claim("FAB comes closest to the true number of features", "fab", ("em", "ibp", "meibp", "vb"), target=5.0),
            Claim("MEIBP computes faster than FAB", "meibp", ("fab",), score="cpu_seconds"),
            Claim("FAB computes faster than IBP", "fab", ("ibp",), score="cpu_seconds"),
        ),
        note="All trials have the same table and other starts; each of the paper's has its own. IBP knows the noise, "
        "0.72 standard deviations of a column.",
        quick_settings={"max_sweeps": 40, "burn_in": 20},
    ),
    PaperTable(
        "hf13", "Figure 3", "Number of features found in pictures of 4 blocks", "lfm",
        ("fab", "em", "ibp"), (0,),
        (PaperData("Blocks", (
            PaperSource("block_images", False, {"n_rows": 2_000},
                        real="Pictures of planted blocks"),)),),
        {"preset": "paper"}, {"ibp": {"burn_in": 50, "max_sweeps": 100}}, "effective_k_features", True, 4.0, splits=8,
        split={"heldout": 0.0},
        figures=(
            PaperFigure("Figure 3", "weights of the features, first run, after 5 sweeps and in the end", "answers"),
        ),
        claims=(
            Claim("FAB finds the 4 blocks and no more", "fab", target=4.0, at_most=0.5, why="half a feature from 4"),
            Claim("FAB comes closest to the true number of features", "fab", ("em", "ibp"), target=4.0),
        ),
        quick_settings={"max_sweeps": 20, "burn_in": 10},
    ),
)  # fmt: skip
