"""A table of a paper that is made up: small, with data of which one set cannot be had."""

from __future__ import annotations

from benchmarks.papers.paper import Claim, PaperData, PaperSource, PaperTable, read_printed

WOMEN = PaperData("Women", (PaperSource("women.csv"), PaperSource("southern_women", False, real="A sample")))
TABLE = PaperTable(
    "made up", "Table 1", "Scores", "irm", ("cvb0", "vb"), (2, 3), (WOMEN, PaperData("Lost")),
    {"init": "random", "max_sweeps": 5}, {"vb": {"max_sweeps": 7}}, splits=2,
    printed=read_printed("2 | Women | -0.5 -0.625"),
    claims=(Claim("CVB0 is better", "cvb0", ("vb",)),),
    quick_settings={"max_sweeps": 3},
)  # fmt: skip
