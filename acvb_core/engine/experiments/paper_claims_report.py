"""The claims of papers as Markdown and as plain values: what came of each, and every comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from acvb_core.core.papers import Claim
from acvb_core.engine.experiments.paper_claims import COUNTED, ClaimEvidence, judge_claims
from acvb_core.engine.experiments.papers import PaperResult
from acvb_core.engine.experiments.report import LEVEL
from acvb_core.evaluate.significance import LEAST_SPLITS

_COLUMNS = ("claim", "from", "data", "test", "here", "evidence", "p")


def write_claims(results: Sequence[PaperResult]) -> str:
    """Return the claims of a paper's tables as a section of its page, with every comparison folded away."""
    judged = judge_claims(results)
    lines = ["## Claims", "", *_list_claims([describe_claim(one) for one in judged])]
    rows = [row for number, one in enumerate(judged, start=1) for row in _list_tests(number, one)]
    lines += ["", "<details><summary>Every comparison</summary>", ""]
    lines += [
        "A difference above 0 is as the claim says. Where a claim has a margin, p is that of the difference being "
        "within it, and the second p that of its being beyond. Not converged: a limit of sweeps ended a run so early "
        "that it may be the faster one or the slower one.",
        "",
    ]
    lines += [
        "| claim | from | data | K | against | difference | p | splits |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *rows, "", "</details>"])


def _list_claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of claims, numbered."""
    lines = [f"| | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 1) + "|"]
    for number, one in enumerate(claims, start=1):
        shown = {
            **one,
            "from": ", ".join(one["tables"]),
            "here": one["verdict"],
            "data": "; ".join(one["data"]),
        }
        lines.append(f"| {number} | {' | '.join(shown[name] for name in _COLUMNS)} |")
    return lines


def _list_tests(number: int, evidence: ClaimEvidence) -> list[str]:
    """Return a line for each comparison of a claim: above 0 is a difference as the claim says."""
    lines = []
    for test in evidence.tests:
        if not (test.n or test.is_cut_short):
            continue
        ended = ("not converged", "")
        if test.n:
            beyond = "" if np.isnan(test.p_beyond) else f", {_write_p(test.p_beyond)}"
            ended = (f"{test.difference:+.3g}", f"{_write_p(test.p)}{beyond}" if test.is_known else "unknown")
        k = str(test.k) if test.k else ""
        cells = (str(number), test.table, test.data, k, test.against, *ended, str(test.n or ""))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _write_p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"


def _write_range(ps: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(_write_p(p) for p in (min(ps), max(ps))))


def write_claims_page(papers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one page with the claims of several papers, from what `to_plain` gave of their tables."""
    lines = [
        "# Claims of the papers",
        "",
        "Each claim as its paper makes it, and what came of it here, on the data named. The tests are t-tests "
        f"over {LEAST_SPLITS} splits of the data or more; fewer are not tested. They are corrected for the "
        "training data that splits share (Nadeau and Bengio 2003), and adjusted by Holm's method over all "
        f"comparisons of the claim, p < {LEVEL:g}. How many runs do not converge, or still move, is tested by "
        "exact binomial and sign tests, and a difference that is the same on every split by its sign. The tests "
        "are about these data: methods that are equal on average over data sets are still called different on one "
        "data set in 7 to 13 % of cases. That scores are equal is shown by two one-sided tests that they differ "
        "by less than a margin; that no difference was found does not show it. *Holds*: every comparison is "
        "significant. *Holds under …*: the comparisons named are significant; the others are not decided, unless "
        "it says so. *Does not hold here*: only the opposite is significant, or a difference beyond the margin. "
        "*Not decided*: nothing is, which may be for want of splits. *Quick look*: on these data the runs are "
        "shorter than the paper's. The page of a paper has each comparison, which data stood in for the paper's, "
        "and which commands made the runs.",
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
    if evidence.claim.margin is not None:
        within, beyond = (
            sum(p < LEVEL for p in own) for own in zip(*((t.p, t.p_beyond) for t in known), strict=True)
        )
        counts = [f"of {len(known)} comparisons {within} within the margin, {beyond} beyond"]
    p = _write_range([test.p for test in known])
    if evidence.claim.margin is not None:
        p += f"; beyond {_write_range([test.p_beyond for test in known])}"
    quick = f"; quick look at {', '.join(evidence.quick)}" if evidence.quick else ""
    if early := sum(test.is_cut_short for test in evidence.tests):
        counts.append(f"{early} undecided, as runs ended before they converged")
    return {"evidence": f"{', '.join(counts)}; {splits}{quick}", "p": p}


def _describe_test(claim: Claim) -> str:
    """Return which test decides a claim, with its margin or limit."""
    if claim.untested:
        return ""
    counted = claim.score in COUNTED
    test = "exact test of signs" if counted else "t-test of the difference"
    against = f"{'exact binomial test' if counted else 't-test'} against the limit"
    if claim.follows:
        test = "correlation over all runs"
    elif claim.margin is not None:
        test = f"two one-sided t-tests, margin {claim.margin:g}"
    elif claim.at_most is not None:
        test = f"{against}, at most {claim.at_most:g}"
    elif claim.at_least is not None:
        test = f"{against}, at least {claim.at_least:g}"
    return f"{test} ({claim.why})" if claim.why else test


def describe_claim(evidence: ClaimEvidence) -> dict[str, Any]:
    """Return a claim as plain values: its verdict, the evidence in short, and every comparison."""
    return {
        "claim": evidence.claim.text,
        "tables": list(evidence.tables),
        "data": list(evidence.data),
        "test": _describe_test(evidence.claim),
        "verdict": evidence.verdict,
        **_summarise_tests(evidence),
        "tests": [
            {
                **test._asdict(),
                **{name: plain_number(getattr(test, name)) for name in ("difference", "p", "p_beyond")},
            }
            for test in evidence.tests
        ],
    }


def plain_number(value: float) -> float | None:
    """Return a number with six digits; None in place of one that is not known."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
