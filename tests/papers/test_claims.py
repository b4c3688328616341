"""Claims of papers: the comparisons that decide them, and the verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.papers.claims import ClaimEvidence, judge_claims
from benchmarks.papers.paper import Claim, PaperTable
from benchmarks.papers.parts import Cell, PaperPart, PaperResult
from benchmarks.papers.report import to_plain, write_claims_page
from tests.loops import for_each
from tests.papers.made_up import TABLE, WOMEN

CLAIM = TABLE.claims[0]
CLEAR = [[1.0, 1.1, 1.2, 1.3, 1.0, 1.2], [0.0, 0.2, 0.1, 0.3, 0.1, 0.2]]
NONE = [[0.0, 1.0] * 3, [1.0, 0.0] * 3]
N = len(CLEAR[0])
Scores = list[list[list[float]]]


def cells_of(table: PaperTable, scores: Scores) -> tuple[Cell, ...]:
    """Cells of tables of scores (methods by splits), the first for K 2."""
    rows = [{name: np.array(row) for name, row in zip(table.methods, one, strict=True)} for one in scores]
    return tuple(Cell(PaperPart(table, WOMEN), k, one) for k, one in enumerate(rows, start=2))


def result_of(
    scores: Scores, claim: Claim = CLAIM, *, number: str = "Table 1", lower_is_better: bool = False
) -> PaperResult:
    """A result with a cell for each table of scores (methods by splits)."""
    table = replace(TABLE, claims=(claim,), number=number, lower_is_better=lower_is_better)
    score = claim.score or table.score
    cells = cells_of(table, scores)
    return PaperResult(table, cells={score: cells, table.score: cells})


def judge(*results: PaperResult) -> ClaimEvidence:
    (evidence,) = judge_claims(results)
    return evidence


@for_each(
    "scores, verdict",
    [
        ([CLEAR], "holds"),
        ([CLEAR, NONE], "holds under K 2"),
        ([NONE], "not decided"),
        ([CLEAR[::-1]], "does not hold here"),
        ([CLEAR, CLEAR[::-1]], "holds under K 2; the opposite under K 3"),
        ([], "not tested: no runs"),
        ([[row[:4] for row in CLEAR]], "not tested: too few splits"),
        ([CLEAR, [[1.0], [0.0]], [[1.0], [0.0]]], "holds"),
    ],
)
def test_the_verdict_on_a_claim(scores: Scores, verdict: str) -> None:
    assert judge(result_of(scores)).verdict == verdict


def test_a_claim_of_several_tables_is_judged_once() -> None:
    one, other = result_of([CLEAR, NONE]), result_of([CLEAR, CLEAR], number="Table 2")
    evidence = judge(one, other)
    assert [(test.table, test.k) for test in evidence.tests] == [
        ("Table 1", 2), ("Table 1", 3), ("Table 2", 2), ("Table 2", 3),
    ]  # fmt: skip
    assert evidence.verdict == "holds under Table 1 (K 2), Table 2"
    assert evidence.tests[0].p > judge(one).tests[0].p  # more comparisons, more to adjust for
    content = to_plain("made up", [one, other])
    page = write_claims_page({"made up": content})
    assert "| 3 as claimed (3 significant), 1 equal; 6 splits | < .001 to 1.000 |" in page


CUT, SETTLED = [1.0] * N, [0.0] * N


def ended(
    scores: list[list[float]], ends: list[list[float]], claim: Claim, sweeps: float = 9.0
) -> PaperResult:
    """A result with one cell, whose runs came to such ends (1: the limit of sweeps) after so many sweeps."""
    result = result_of([scores], claim, lower_is_better=True)
    n_sweeps = np.full((2, N), sweeps).tolist()
    tables = {"unsettled": ends, "sweeps": n_sweeps, result.table.score: scores}
    (part,) = {cell.part for cell in result.cells[result.table.score]}
    for score, one in tables.items():
        result.cells[score] = tuple(replace(cell, part=part) for cell in cells_of(result.table, [one]))
    return result


@for_each(
    "ends, verdict",
    [
        ([SETTLED, CUT], "holds"),  # CVB0 had converged before VB was ended
        ([CUT, SETTLED], "not tested: runs ended before they converged"),
        ([SETTLED, [*SETTLED[1:], 1.0]], "holds"),
        ([[*SETTLED[1:], 1.0], SETTLED], "not tested: runs ended before they converged"),
    ],
)
def test_the_faster_method_is_told_only_where_its_runs_converged(
    ends: list[list[float]], verdict: str
) -> None:
    faster, slower = CLEAR[1], CLEAR[0]
    claim = replace(CLAIM, needs_convergence=True)
    assert judge(ended([faster, slower], ends, claim)).verdict == verdict
    assert judge(ended([faster, slower], ends, CLAIM)).verdict == "holds"


@for_each(
    "ends, sweeps, verdict",
    [
        (SETTLED, 60, "not decided"),  # none of six: as in half of all cases if every tenth did not
        ([1.0, *SETTLED[1:]], 60, "not tested: runs ended before they converged"),
        (CUT, 5_000, "does not hold here"),
    ],
)
def test_a_run_that_was_ended_early_may_yet_converge(ends: list[float], sweeps: float, verdict: str) -> None:
    claim = Claim("It converges", "cvb0", score="unsettled", at_most=0.1, needs_convergence=True)
    assert judge(ended([ends, ends], [ends, ends], claim, sweeps)).verdict == verdict


@for_each(
    "limit, verdict",
    [
        ({"at_most": 2.0}, "holds"),
        ({"at_most": 1.0}, "not decided"),
        ({"at_most": 0.5}, "does not hold here"),
        ({"at_least": 0.5}, "holds"),
        ({"at_least": 2.0}, "does not hold here"),
        ({"at_most": 0.5, "target": 1.2}, "holds"),
        ({"at_most": 0.5, "target": 3.0}, "does not hold here"),
    ],
)
def test_a_claim_may_be_about_a_limit(limit: dict[str, float], verdict: str) -> None:
    claim = Claim("within limits", "cvb0", **limit)  # type: ignore[arg-type]
    assert judge(result_of([[[0.9, 1.1, 1.0, 1.0, 1.1, 0.9], [5.0] * N]], claim)).verdict == verdict


SAME = [CLEAR[0], [x + 0.001 * (-1) ** n for n, x in enumerate(CLEAR[0])]]


@for_each(
    "scores, verdict",
    [
        ([NONE], "not decided"),  # no difference is found, and none is shown to be absent
        ([SAME], "holds"),
        ([CLEAR], "does not hold here: better by more than the margin"),
        ([CLEAR[::-1]], "does not hold here: worse by more than the margin"),
        ([SAME, CLEAR[::-1]], "holds under K 2; worse by more than the margin under K 3"),
        ([[[1.0] * N, [1.0] * N]], "holds"),
    ],
)
def test_a_claim_that_methods_are_equal_has_a_margin(scores: Scores, verdict: str) -> None:
    claim = replace(CLAIM, margin=0.1, why="a tenth")
    assert judge(result_of(scores, claim)).verdict == verdict
    page = write_claims_page({"made up": to_plain("made up", [result_of(scores, claim)])})
    assert f"| two one-sided t-tests, margin 0.1 (a tenth) | {verdict} |" in page
