"""Claims of papers: the comparisons that decide them, and the verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.papers.claims import ClaimEvidence, judge_claims
from benchmarks.papers.paper import Claim, PaperTable
from benchmarks.papers.parts import Cell, PaperLimits, PaperPart, PaperResult
from benchmarks.papers.report import to_plain, write_claims_page
from tests.loops import for_each
from tests.papers.made_up import TABLE, WOMEN, write_page

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
        ([CLEAR, CLEAR], "holds"),
        ([CLEAR, NONE], "holds under K 2"),
        ([NONE], "not decided"),
        ([CLEAR[::-1]], "does not hold here"),
        ([NONE, CLEAR[::-1]], "does not hold here"),
        ([CLEAR, CLEAR[::-1]], "holds under K 2; the opposite under K 3"),
        ([CLEAR, NONE, CLEAR], "holds under K 2, K 4"),
        ([], "not tested: no runs"),
        ([[row[:4] for row in CLEAR]], "not tested: too few splits"),
        ([CLEAR, [[1.0], [0.0]], [[1.0], [0.0]]], "holds"),
    ],
)
def test_the_verdict_on_a_claim(scores: Scores, verdict: str) -> None:
    assert judge(result_of(scores)).verdict == verdict


def test_a_claim_may_hold_against_one_of_several_methods() -> None:
    good, worse = CLEAR
    table = replace(TABLE, methods=("cvb0", "vb", "gibbs"), claims=(replace(CLAIM, worse=("vb", "gibbs")),))
    result = PaperResult(table, cells={table.score: cells_of(table, [[good, worse, good]])})
    assert judge(result).verdict == "holds against VB"


def test_a_claim_of_several_tables_is_judged_once() -> None:
    one, other = result_of([CLEAR, NONE]), result_of([CLEAR, CLEAR], number="Table 2")
    evidence = judge(one, other)
    assert evidence.tables == ("Table 1", "Table 2")
    assert [(test.table, test.k) for test in evidence.tests] == [
        ("Table 1", 2), ("Table 1", 3), ("Table 2", 2), ("Table 2", 3),
    ]  # fmt: skip
    assert evidence.verdict == "holds under Table 1 (K 2), Table 2"
    assert evidence.tests[0].p > judge(one).tests[0].p  # more comparisons, more to adjust for
    content = to_plain("made up", [one, other])
    assert len(content["claims"]) == 1
    page = write_claims_page({"made up": content})
    assert (
        "| 1 | CVB0 is better | Table 1, Table 2 |  | t-test of the difference | holds under Table 1 (K 2), Table 2 | "
        "3 as claimed (3 significant), 1 equal; 6 splits | < .001 to 1.000 |"
    ) in page


def test_a_claim_on_shorter_runs_says_so() -> None:
    full = result_of([CLEAR])
    for limits, quick in ((PaperLimits(), False), (PaperLimits(quick=True), True)):
        result = replace(full, parts=[PaperPart(full.table, WOMEN, limits)])
        evidence = judge(result)
        assert evidence.quick == (("Women",) if quick else ())
        page = write_claims_page({"made up": to_plain("made up", [result])})
        assert ("6 splits; quick look at Women |" in page) is quick
        assert "| CVB0 is better | Table 1 | Women | t-test of the difference | holds |" in page


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
        ([SETTLED, SETTLED], "holds"),
        ([SETTLED, CUT], "holds"),  # CVB0 had converged before VB was ended
        ([CUT, SETTLED], "not tested: runs ended before they converged"),
        ([CUT, CUT], "not tested: runs ended before they converged"),
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
    blind = judge(ended([faster, slower], ends, CLAIM))
    assert blind.verdict == "holds"


@for_each(
    "ends, sweeps, verdict",
    [
        (
            SETTLED,
            60,
            "not decided",
        ),  # none of six: so it would be in half of all cases if every tenth did not
        (CUT, 60, "not tested: runs ended before they converged"),
        ([1.0, *SETTLED[1:]], 60, "not tested: runs ended before they converged"),
        (CUT, 5_000, "does not hold here"),
    ],
)
def test_a_run_that_was_ended_early_may_yet_converge(ends: list[float], sweeps: float, verdict: str) -> None:
    claim = Claim("It converges", "cvb0", score="unsettled", at_most=0.1, needs_convergence=True)
    assert judge(ended([ends, ends], [ends, ends], claim, sweeps)).verdict == verdict


def test_a_difference_that_is_the_same_on_every_split_is_judged_by_its_sign() -> None:
    """Without any spread a t-test would call five splits certain; their signs alone are the same in 1 of 16 cases."""
    for n, verdict, p in ((5, "not decided", 2 * 0.5**5), (6, "holds", 2 * 0.5**6)):
        evidence = judge(result_of([[[3.0] * n, [2.0] * n]]))
        assert evidence.verdict == verdict
        assert evidence.tests[0].p == pytest.approx(p)


@for_each("cut, verdict", [(4, "holds"), (1, "not decided"), (0, "not decided")])
def test_how_many_runs_do_not_converge_is_judged_by_an_exact_test(cut: int, verdict: str) -> None:
    claim = Claim("It does not converge", "cvb0", score="unsettled", at_least=0.05, needs_convergence=True)
    ends = [1.0] * cut + [0.0] * (N - cut)
    made = ended([ends, ends], [ends, ends], claim, 10_000)
    assert judge(made).verdict == verdict
    assert "| exact binomial test against the limit, at least 0.05 |" in write_page(made)


@for_each("sweeps, verdict", [(60, "not tested: runs ended before they converged"), (5_000, "holds")])
def test_a_method_that_was_ended_early_is_not_one_that_does_not_converge(sweeps: float, verdict: str) -> None:
    claim = replace(CLAIM, score="unsettled", needs_convergence=True)
    made = ended([SETTLED, CUT], [SETTLED, CUT], claim, sweeps)
    assert judge(made).verdict == verdict


def test_a_page_says_which_comparisons_were_not_decided() -> None:
    claim = replace(CLAIM, needs_convergence=True)
    cut = ended(CLEAR, [CUT, CUT], claim)
    decided = ended(CLEAR[::-1], [SETTLED, SETTLED], claim)
    decided.table = replace(decided.table, number="Table 2")
    evidence = judge(cut, decided)
    assert evidence.verdict == "holds where runs converged"
    page = write_page(cut, decided)
    assert "1 undecided, as runs ended before they converged" in page
    assert "| 1 | Table 1 | Women | 2 | VB | not converged |  |  |" in page


def test_a_claim_may_join_two_tables() -> None:
    early = result_of([[CLEAR[1], CLEAR[1]]], number="Table 1")
    claim = Claim("It gets better", "cvb0", than_in="Table 1")
    late = result_of([[CLEAR[0], CLEAR[1]]], claim, number="Table 2")
    evidence = judge_claims([early, late])[1]
    assert evidence.verdict == "holds"
    (test,) = evidence.tests
    assert (test.table, test.against, test.n) == ("Table 2", "Table 1", N)
    assert test.difference == pytest.approx(np.mean(np.subtract(*CLEAR)))


def test_a_claim_that_stands_elsewhere_in_the_paper_says_where() -> None:
    assert judge(result_of([CLEAR], replace(CLAIM, place="Section 9"))).tables == ("Section 9",)


def test_a_claim_that_no_runs_speak_for_says_why() -> None:
    claim = Claim("It is good", untested="a matter of taste")
    evidence = judge(result_of([CLEAR], claim))
    assert evidence.verdict == "not tested: a matter of taste"
    assert not evidence.tests
    assert "| 1 | It is good | Table 1 |  |  | not tested: a matter of taste |  |  |" in write_claims_page(
        {"made up": to_plain("made up", [result_of([CLEAR], claim)])}
    )


def test_lower_scores_may_be_better() -> None:
    assert judge(result_of([CLEAR], lower_is_better=True)).verdict == "does not hold here"


def test_p_values_are_adjusted_for_the_number_of_comparisons() -> None:
    alone, both = judge(result_of([CLEAR])), judge(result_of([CLEAR, CLEAR]))
    assert both.tests[0].p == pytest.approx(2 * alone.tests[0].p)
    assert alone.tests[0].n == N


def test_a_claim_may_be_about_some_cells_only() -> None:
    assert [test.k for test in judge(result_of([NONE, CLEAR], replace(CLAIM, ks=(3,)))).tests] == [3]
    assert not judge(result_of([CLEAR], replace(CLAIM, data=("Men",)))).tests


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
    result = result_of([[[0.9, 1.1, 1.0, 1.0, 1.1, 0.9], [5.0] * N]], claim)
    assert judge(result).verdict == verdict


def test_runs_that_all_end_at_an_upper_limit_are_within_it() -> None:
    scores = [[[4.0] * N, [5.0] * N]]
    claim = Claim("It finds four", "cvb0", target=4.0, at_most=0.0)
    assert judge(result_of(scores, claim)).verdict == "holds"
    assert judge(result_of([[[4.0, 4.0, 5.0] * 2, [5.0] * N]], claim)).verdict == "not decided"
    at_least = Claim("It finds more than four", "cvb0", at_least=4.0)
    assert judge(result_of(scores, at_least)).verdict == "not decided"


SAME = [CLEAR[0], [x + 0.001 * (-1) ** n for n, x in enumerate(CLEAR[0])]]


@for_each(
    "scores, verdict",
    [
        ([NONE], "not decided"),  # no difference is found, and none is shown to be absent
        ([SAME], "holds"),
        ([SAME, NONE], "holds under K 2"),
        ([CLEAR], "does not hold here: better by more than the margin"),
        ([CLEAR[::-1]], "does not hold here: worse by more than the margin"),
        ([NONE, CLEAR], "does not hold here: better by more than the margin under K 3"),
        ([SAME, CLEAR[::-1]], "holds under K 2; worse by more than the margin under K 3"),
        ([[row[:4] for row in SAME]], "not tested: too few splits"),
        ([[[1.0] * N, [1.0] * N]], "holds"),
    ],
)
def test_a_claim_that_methods_are_equal_has_a_margin(scores: Scores, verdict: str) -> None:
    claim = replace(CLAIM, margin=0.1, why="a tenth")
    evidence = judge(result_of(scores, claim))
    assert evidence.verdict == verdict
    page = write_claims_page({"made up": to_plain("made up", [result_of(scores, claim)])})
    assert f"| two one-sided t-tests, margin 0.1 (a tenth) | {verdict} |" in page


def test_closeness_to_a_target_decides() -> None:
    scores = [[[4.9, 5.0, 5.1, 5.0, 5.0], [7.0, 7.1, 7.3, 7.2, 7.1]]]
    assert judge(result_of(scores, replace(CLAIM, target=5.0))).verdict == "holds"
    assert judge(result_of(scores, replace(CLAIM, target=7.1))).verdict == "does not hold here"
