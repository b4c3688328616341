"""The claims of papers as Markdown and as plain values: what came of each, and every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from acvb_core.engine.experiments.paper_claims import ClaimEvidence, judge_claims
from acvb_core.engine.experiments.papers import PaperResult
from acvb_core.engine.experiments.report import LEVEL


def write_claims(results: Sequence[PaperResult]) -> str:
    """Return the claims of a paper's tables as a section of its page, with every comparison folded away."""
    judged = judge_claims(results)
    lines = ["## Claims", "", *_list_claims([describe_claim(one) for one in judged])]
    rows = [row for number, one in enumerate(judged, start=1) for row in _list_tests(number, one)]
    lines += ["", "<details><summary>Every comparison</summary>", ""]
    lines += [
        "A difference above 0 is as the claim says. Not converged: a limit of sweeps ended a run so early that it may "
        "be the faster one or the slower one.",
        "",
    ]
    lines += [
        "| claim | from | data | K | against | difference | p | splits |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *rows, "", "</details>"])


def _list_claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of claims, numbered."""
    lines = ["| | claim | from | here | evidence | p |", "|---|---|---|---|---|---|"]
    for number, one in enumerate(claims, start=1):
        tables = ", ".join(one["tables"])
        lines.append(
            f"| {number} | {one['claim']} | {tables} | {one['verdict']} | {one['evidence']} | {one['p']} |"
        )
    return lines


def _list_tests(number: int, evidence: ClaimEvidence) -> list[str]:
    """Return a line for each comparison of a claim: above 0 is a difference as the claim says."""
    lines = []
    for test in evidence.tests:
        if not (test.n or test.is_cut_short):
            continue
        ended = ("not converged", "")
        if test.n:
            ended = (f"{test.difference:+.3g}", _write_p(test.p) if test.is_known else "unknown")
        k = str(test.k) if test.k else ""
        cells = (str(number), test.table, test.data, k, test.against, *ended, str(test.n or ""))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _write_p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"


def write_claims_page(papers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one page with the claims of several papers, from what `to_plain` gave of their tables."""
    lines = [
        "# Claims of the papers",
        "",
        "Each claim as its paper makes it, and what came of it here: paired t-tests over splits of the data, adjusted "
        f"by Holm's method over all comparisons of the claim, p < {LEVEL:g}. *Holds*: every comparison is significant. "
        "*Holds under …*: the comparisons named are significant; the others are not decided, unless it says so. *Does "
        "not hold here*: only the opposite is significant. *Not decided*: nothing is, which may be for want of splits. "
        "*Quick look*: on these data the runs are shorter than the paper's. The page of a paper has each comparison, "
        "which data stood in for the paper's, and which commands made the runs.",
    ]
    for paper, content in papers.items():
        lines += ["", f"## [{paper}]({paper}.md)", "", *_list_claims(content["claims"])]
    return "\n".join(lines) + "\n"


def _summarise_tests(evidence: ClaimEvidence) -> dict[str, str]:
    """Return the evidence for a claim in short: how many comparisons say what, and the range of their p."""
    known = evidence.known
    if not known:
        return {"evidence": "", "p": ""}
    n = [test.n for test in known]
    of = "runs" if evidence.claim.follows else "splits"
    splits = f"{min(n)} {of}" if min(n) == max(n) else f"{min(n)} to {max(n)} {of}"
    ways = {"as claimed": 1.0, "the opposite": -1.0, "equal": 0.0}
    counts = []
    for name, way in ways.items():
        own = [test for test in known if np.sign(test.difference) == way]
        clear = sum(test.p < LEVEL for test in own)
        counts += [f"{len(own)} {name}" + (f" ({clear} significant)" if way else "")] if own else []
    if evidence.claim.alike:
        clear = sum(test.p < LEVEL for test in known)
        counts = [f"{clear} of {len(known)} comparisons differ"]
    ps = [test.p for test in known]
    ends = dict.fromkeys(_write_p(p) for p in (min(ps), max(ps)))
    quick = f"; quick look at {', '.join(evidence.quick)}" if evidence.quick else ""
    if early := sum(test.is_cut_short for test in evidence.tests):
        counts.append(f"{early} undecided, as runs ended before they converged")
    return {"evidence": f"{', '.join(counts)}; {splits}{quick}", "p": " to ".join(ends)}


def describe_claim(evidence: ClaimEvidence) -> dict[str, Any]:
    """Return a claim as plain values: its verdict, the evidence in short, and every comparison."""
    return {
        "claim": evidence.claim.text,
        "tables": list(evidence.tables),
        "verdict": evidence.verdict,
        **_summarise_tests(evidence),
        "tests": [
            {**test._asdict(), "difference": plain_number(test.difference), "p": plain_number(test.p)}
            for test in evidence.tests
        ],
    }


def plain_number(value: float) -> float | None:
    """Return a number with six digits; None in place of one that is not known."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
