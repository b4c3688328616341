"""The claims of a paper put to the test: the comparisons that decide each one, a verdict in words, and their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from acvb_core.engine.experiments.report import LEVEL
from acvb_core.evaluate.significance import (
    LEAST_SPLITS,
    adjust_holm,
    compare_paired,
    compare_with_margin,
)
from benchmarks.papers.paper import Claim
from benchmarks.papers.parts import Cell, PaperResult, label_method, sign_of


class ClaimTest(NamedTuple):
    """One comparison: of the better method with a worse one, or of a score with its limit."""

    table: str
    data: str  #: what the data taken are called
    k: int  #: 0 where the methods find the number themselves
    against: str  #: what the worse method is called; empty for a limit
    difference: float  #: above 0: as the claim says
    #: Two-sided, or of two one-sided tests where the claim has a margin; adjusted by Holm over all comparisons of the
    #: claim. NaN where there are too few splits.
    p: float
    n: int  #: splits, or runs of a correlation
    is_cut_short: bool = False  #: runs ended too early to tell
    #: That the difference is beyond the margin, where the claim has one; adjusted too.
    p_beyond: float = np.nan

    @property
    def is_known(self) -> bool:
        """True where there were enough splits for a test."""
        return bool(np.isfinite(self.p))


#: The score of a run that its limit of sweeps ended: 1 then, else 0.
UNSETTLED = "unsettled"
#: Scores that are 1 or 0.
COUNTED = (UNSETTLED, "moving")
#: A run that has not converged after fewer sweeps may yet do so soon.
_ENOUGH = 5_000
#: What tells the comparisons of a claim apart, the widest first.
_PLACES = ("table", "data", "k", "against")


@dataclass(frozen=True, eq=False)
class ClaimEvidence:
    """The comparisons that decide a claim, in all tables that it is read from."""

    claim: Claim
    tables: tuple[str, ...]  #: their numbers
    tests: tuple[ClaimTest, ...]
    #: Data of which the runs are a quick look: shorter than the paper's, and for one number of clusters.
    quick: tuple[str, ...] = ()
    data: tuple[str, ...] = ()  #: names and sizes of the data compared on

    @property
    def known(self) -> list[ClaimTest]:
        """The comparisons that have enough splits."""
        return [test for test in self.tests if test.is_known]

    @property
    def verdict(self) -> str:
        """The comparisons taken together, in words."""
        if self.claim.untested:
            return f"not tested: {self.claim.untested}"
        known = self.known
        if not known:
            if any(test.is_cut_short for test in self.tests):
                return "not tested: runs ended before they converged"
            return f"not tested: {'too few splits' if any(test.n for test in self.tests) else 'no runs'}"
        yes = [test for test in known if self._says_so(test)]
        if self.claim.margin is not None:
            return self._judge_margin(yes)
        no = [test for test in known if test.p < LEVEL and test.difference < 0]
        if not yes:
            return "does not hold here" if no else "not decided"
        if len(yes) == len(known):
            return "holds where runs converged" if any(test.is_cut_short for test in self.tests) else "holds"
        against = f"; the opposite {_name_places(no, known)}" if no else ""
        return f"holds {_name_places(yes, known)}{against}"

    def _judge_margin(self, yes: Sequence[ClaimTest]) -> str:
        """Return the verdict on a claim that scores are equal, of which some comparisons are within the margin."""
        known = self.known
        parts = []
        if yes:
            parts.append("holds" if len(yes) == len(known) else f"holds {_name_places(yes, known)}")
        for way, word in ((1.0, "better"), (-1.0, "worse")):
            no = [test for test in known if test.p_beyond < LEVEL and np.sign(test.difference) == way]
            if no:
                where = "" if len(no) == len(known) else f" {_name_places(no, known)}"
                does = "" if parts else "does not hold here: "
                parts.append(f"{does}{word} by more than the margin{where}")
        return "; ".join(parts) or "not decided"

    def _says_so(self, test: ClaimTest) -> bool:
        """Return whether a comparison is clearly as the claim says; runs that all end at an upper limit are."""
        if self.claim.margin is not None:
            return bool(test.p < LEVEL)
        is_at_limit = self.claim.at_most is not None and test.difference == 0.0
        return is_at_limit or bool(test.p < LEVEL and test.difference > 0)


def _name_places(chosen: Sequence[ClaimTest], known: Sequence[ClaimTest]) -> str:
    """Return what some comparisons have in common among all: "under Table 5 (Enron Jun., KOS (K 20))"."""
    places = _list_places(chosen, known)
    return places if places.startswith("against") else f"under {places}"


def _list_places(chosen: Sequence[ClaimTest], known: Sequence[ClaimTest], level: int = 0) -> str:
    """Return the names of some comparisons, from the widest on; one that all of them share goes without saying."""
    if level == len(_PLACES):
        return ""
    field = _PLACES[level]
    values = list(dict.fromkeys(getattr(test, field) for test in known))
    if len(values) == 1:
        return _list_places(chosen, known, level + 1)
    names = []
    for value in values:
        own = [test for test in chosen if getattr(test, field) == value]
        if own:
            all_of_it = [test for test in known if getattr(test, field) == value]
            below = "" if len(own) == len(all_of_it) else _list_places(own, all_of_it, level + 1)
            names.append(_name_place(field, value) + (f" ({below})" if below else ""))
    return ", ".join(names)


def _name_place(field: str, value: object) -> str:
    return {"k": f"K {value}", "against": f"against {value}"}.get(field, str(value))


def judge_claims(results: Sequence[PaperResult]) -> list[ClaimEvidence]:
    """Return the evidence for each claim of a paper's tables.

    A claim that several tables make, by its text, is judged once, by the comparisons of all of them: corrected t-tests
    of five splits or more, adjusted by Holm. Where no method is worse, the better one's scores are tested against the
    limit. That scores are equal is shown by two one-sided tests that they are within the claim's margin.
    """
    places: dict[str, list[tuple[PaperResult, Claim]]] = {}
    for result in results:
        for claim in result.table.claims:
            places.setdefault(claim.text, []).append((result, claim))
    return [_judge(group, results) for group in places.values()]


def _judge(group: Sequence[tuple[PaperResult, Claim]], results: Sequence[PaperResult]) -> ClaimEvidence:
    tests = [
        test for result, claim in group if not claim.untested for test in _compare(result, claim, results)
    ]
    adjusted, beyond = adjust_holm([test.p for test in tests]), adjust_holm([test.p_beyond for test in tests])
    own = tuple(
        test._replace(p=float(p), p_beyond=float(q))
        for test, p, q in zip(tests, adjusted, beyond, strict=True)
    )
    made = {(test.table, test.data) for test in own if test.n or test.is_cut_short}
    tested = {(test.table, test.data) for test in own if test.is_known}
    parts = [((result.table.number, part.real_name), part) for result, _ in group for part, _ in result.parts]
    return ClaimEvidence(
        group[0][1],
        tuple(dict.fromkeys(claim.place or result.table.number for result, claim in group)),
        own,
        tuple(
            dict.fromkeys(
                name for (table, name), part in parts if part.limits.quick and (table, name) in tested
            )
        ),
        tuple(dict.fromkeys(part.real_size for place, part in parts if place in (tested or made))),
    )


def _compare(result: PaperResult, claim: Claim, results: Sequence[PaperResult]) -> Iterator[ClaimTest]:
    """Yield the comparisons of a claim in one table, not yet adjusted."""
    table, score = result.table, claim.score or result.table.score
    if claim.follows:
        yield from _correlate(result, claim, score)
        return
    others = {
        (cell.data, cell.k): cell.scores[one.table.methods.index(claim.better)]
        for one in results
        if one.table.number == claim.than_in
        for cell in one.list_cells(score)
    }
    for cell in result.cells if score == table.score else result.list_cells(score):
        if (claim.ks and cell.k not in claim.ks) or (claim.data and cell.data not in claim.data):
            continue
        if claim.than_in:
            if (cell.data, cell.k) in others and not _is_quick(result, cell):
                other = others[cell.data, cell.k]
                yield _test(result, claim, score, cell, other, claim.than_in)
            continue
        for method in claim.worse or ("",):
            against = label_method(table, method) if method else ""
            if claim.needs_convergence and _ended_early(result, claim, cell, method):
                data = result.name_data(cell.data)
                yield ClaimTest(table.number, data, cell.k, against, np.nan, np.nan, 0, True)
                continue
            scores = cell.scores[table.methods.index(method)] if method else None
            yield _test(result, claim, score, cell, scores, against)


def _is_quick(result: PaperResult, cell: Cell) -> bool:
    return any(part.data == cell.data and part.limits.quick for part, _ in result.parts)


def _ended_early(result: PaperResult, claim: Claim, cell: Cell, method: str) -> bool:
    """Return whether a run ended before it converged, and so early that it cannot be told which one takes longer.

    One that may yet converge is not known to need more than the limit of a claim, or not to converge at all. A run that
    its limit ended would have taken longer by an unknown time: it is slower than one that had converged by then, and
    may be slower or faster than any other.
    """
    ends, sweeps = (
        next(one.scores for one in result.list_cells(score) if (one.data, one.k) == (cell.data, cell.k))
        for score in (UNSETTLED, "sweeps")
    )
    place = result.table.methods.index(claim.better)
    cut = ends == 1.0
    other = result.table.methods.index(method) if method else place
    if not method or claim.score == UNSETTLED:
        return any(bool((cut[one] & (sweeps[one] < _ENOUGH)).any()) for one in (place, other))
    own_time, other_time = cell.scores[place], cell.scores[other]
    unknown = (cut[place] & ~(own_time > other_time)) | (cut[other] & ~(other_time > own_time))
    both = np.isfinite(own_time) & np.isfinite(other_time)
    return bool((both & (unknown | (cut[place] & cut[other]))).any())


def _test(
    result: PaperResult,
    claim: Claim,
    score: str,
    cell: Cell,
    other: NDArray[np.float64] | None,
    against: str,
) -> ClaimTest:
    """Return how much better the claim's method is than other scores, or how far it is within the limit."""
    more, less = _orient(result, claim, score, cell, other)
    about = (result.table.number, result.name_data(cell.data), cell.k, against)
    if claim.margin is not None:
        near = compare_with_margin(more, less, claim.margin, ratio=cell.ratio)
        within, beyond = float(near.p_within[0]), float(near.p_beyond[0])
        return ClaimTest(*about, float(near.difference[0]), within, int(near.n[0]), p_beyond=beyond)
    test = compare_paired(more, less, ratio=cell.ratio, ranks=False)
    difference, p, n = float(test.difference[0]), float(test.p_t[0]), int(test.n[0])
    if n >= LEAST_SPLITS:
        if score in COUNTED and other is None:
            p = _test_share(cell.scores[result.table.methods.index(claim.better)], claim)
        elif score in COUNTED or np.isnan(p):
            # Yes or no has no normal distribution, and the same difference on every split no spread to judge it by.
            p = _test_signs(more - less)
    return ClaimTest(*about, difference, p, n)


def _test_share(ends: NDArray[np.float64], claim: Claim) -> float:
    """Return the two-sided p of the exact binomial test: so many runs did not converge, against the limit."""
    known = ends[np.isfinite(ends)]
    limit = claim.at_most if claim.at_least is None else claim.at_least
    return float(stats.binomtest(int(known.sum()), len(known), limit).pvalue)


def _test_signs(differences: NDArray[np.float64]) -> float:
    """Return the two-sided p of the exact sign test; a 0 and a NaN count for neither, and without any other p is 1."""
    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    return float(stats.binomtest(above, above + below).pvalue) if above + below else 1.0


def _orient(
    result: PaperResult, claim: Claim, score: str, cell: Cell, other: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two rows of scores of which the first is higher where the claim is right."""
    own = cell.scores[result.table.methods.index(claim.better)]
    if claim.target is not None:
        own = np.abs(own - claim.target)
        other = None if other is None else np.abs(other - claim.target)
    if other is None:
        if claim.at_least is not None:
            return own, np.full(own.shape, claim.at_least)
        return np.full(own.shape, claim.at_most), own
    if claim.target is not None:
        return other, own
    sign = sign_of(result.table, score)
    return sign * own, sign * other


def _correlate(result: PaperResult, claim: Claim, score: str) -> Iterator[ClaimTest]:
    """Yield the correlation of two scores over all runs on each data set."""
    for part, done in result.parts:
        rows = [] if done is None else list(done.rows)
        pairs = [
            (row[claim.follows], row[score]) for row in rows if row.get(claim.follows) and row.get(score)
        ]
        if len({row["split"] for row in rows}) >= LEAST_SPLITS and len(pairs) > 2:
            found = stats.pearsonr(*np.array(pairs, dtype=np.float64).T)
            strength, p = float(found.statistic), float(found.pvalue)
            yield ClaimTest(result.table.number, part.real_name, 0, "", strength, p, len(pairs))


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
    lines += ["| claim | from | data | K | against | difference | p | splits |", "|---" * 8 + "|"]
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
