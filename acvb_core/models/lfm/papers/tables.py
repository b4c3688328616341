"""Table 1 of the paper on FAB: Hayashi and Fujimaki, NIPS 26 (2013, hf13)."""

from __future__ import annotations

from typing import Any

from acvb_core.core.papers import Claim, PaperData, PaperSource, PaperTable, read_printed

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
_METHODS = ("fab", "em", "ibp")
_SHARED: dict[str, Any] = {
    "model": "lfm", "methods": _METHODS, "ks": (0,), "data": _DATA, "splits": 5, "split": {"heldout": 0.3},
    "settings": {"preset": "paper", "init": "random"}, "quick_settings": {"max_sweeps": 100, "burn_in": 50},
}  # fmt: skip

TABLES = (
    PaperTable(
        "hf13", "Table 1 (PLL)", "Log likelihood of a held-out cell, 30 % held out", **_SHARED,
        printed=read_printed(
            """
0 | Sonar | -1.25 -4.04 -4.48
0 | Libras | -0.63 -0.68 -0.18
0 | USPS | -0.96 -1.06 -2.59
"""
        ),
        claims=(
            Claim("FAB predicts better than EM", "fab", ("em",)),
            Claim("FAB predicts better than IBP", "fab", ("ibp",)),
        ),
    ),
    PaperTable(
        "hf13", "Table 1 (K)", "Number of features found, 30 % held out", **_SHARED,
        score="effective_k_features", lower_is_better=True,
        printed=read_printed(
            """
0 | Sonar | 4.4 48.8 69.6
0 | Libras | 19.0 75.6 36.4
0 | USPS | 110.2 256 181.0
"""
        ),
        claims=(
            Claim("FAB finds fewer features than EM", "fab", ("em",)),
            Claim("FAB finds fewer features than IBP", "fab", ("ibp",)),
        ),
    ),
)  # fmt: skip
