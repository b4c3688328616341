"""Table 1 and the figures of the paper on FAB: Hayashi and Fujimaki, NIPS 26 (2013, hf13)."""

from __future__ import annotations

from typing import Any

from acvb_core.core.papers import Claim, PaperData, PaperFigure, PaperSource, PaperTable, read_printed

_DATA = (
    PaperData(
        "Sonar",
        (
            PaperSource("sonar_208x60.csv", instead="all 60 columns of UCI's table; the paper has 49"),
            PaperSource("fertility", is_file=False, instead="births per woman, 210 x 52"),
        ),
    ),
    PaperData("Libras"),
    PaperData(
        "USPS",
        (
            PaperSource(
                "digits_1797x64.csv.gz",
                options={"constants": "leave-out"},
                instead="1,797 digits of 8 x 8 pixels",
            ),
        ),
    ),
)
_BINARY = "fab:FAB from {0, 1}"
_METHODS = ("fab", _BINARY, "em", "ibp", "meibp")
_SHARED: dict[str, Any] = {
    "model": "lfm", "methods": _METHODS, "ks": (0,), "data": _DATA, "splits": 5, "split": {"heldout": 0.3},
    "settings": {"preset": "paper"}, "own_settings": {_BINARY: {"init": "binary"}},
    "quick_settings": {"max_sweeps": 60, "burn_in": 30},
}  # fmt: skip
_FAST, _SLOW = "fab:FAB", "fab:FAB without acceleration"
_ARTIFICIAL = tuple(
    PaperData(
        f"{n:,} objects",
        (
            PaperSource(
                "planted_features",
                False,
                {"n_rows": n, "n_columns": 30, "n_features": 5},
                instead=f"drawn anew, {n:,} x 30",
            ),
        ),
        size=n,
    )
    for n in (100, 250, 500, 1_000, 2_000)
)

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
            Claim("FAB and EM predict alike where there are many objects", "fab", ("em",), data=("USPS",), alike=True),
            Claim("FAB predicts better than IBP", "fab", ("ibp",)),
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
                        instead="drawn anew, 500 rows; the paper does not say how many it has"),)),),
        {"preset": "paper"}, {_SLOW: {"accelerate": False}}, "cpu_seconds", True, splits=5, split={"heldout": 0.0},
        figures=(
            PaperFigure("Figure 1", "features and bound while FAB computes", "course", ("effective_k", "lower_bound"),
                        "cpu_seconds", True),
        ),
        claims=(
            Claim("The acceleration makes FAB faster", _FAST, (_SLOW,)),
            Claim("The acceleration leaves the number of features as it is", _FAST, (_SLOW,), alike=True,
                  score="effective_k_features"),
            Claim("The acceleration leaves the bound as it is", _FAST, (_SLOW,), alike=True, score="lower_bound"),
        ),
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
                        instead="drawn anew, 2,000 pictures of 6 x 6 pixels, noise 0.3"),)),),
        {"preset": "paper"}, {"ibp": {"burn_in": 50, "max_sweeps": 100}}, "effective_k_features", True, 4.0, splits=3,
        split={"heldout": 0.0},
        figures=(
            PaperFigure("Figure 3", "weights of the features, first run, after 5 sweeps and in the end", "answers"),
        ),
        claims=(
            Claim("FAB finds the 4 blocks and no more", "fab", target=4.0, at_most=0.0),
            Claim("FAB comes closest to the true number of features", "fab", ("em", "ibp"), target=4.0),
        ),
        quick_settings={"max_sweeps": 20, "burn_in": 10},
    ),
)  # fmt: skip
