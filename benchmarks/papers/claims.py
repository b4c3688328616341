"""The claims of a paper put to the test: the comparisons that decide each one, and a verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from acvb_core.engine.experiments.report import LEVEL
from acvb_core.evaluate.significance import LEAST_SPLITS, adjust_holm, compare_paired, compare_with_margin
from benchmarks.papers.paper import Claim
from benchmarks.papers.parts import Cell, PaperResult
from benchmarks.papers.runs import Floats

#: The score of a run that its limit of sweeps ended: 1 then, else 0.
UNSETTLED = "unsettled"
#: Scores that are 1 or 0.
COUNTED = (UNSETTLED, "moving")
#: A run that has not converged after fewer sweeps may yet do so soon.
_ENOUGH = 5_000
#: What tells the comparisons of a claim apart, the widest first.
_PLACES = ("table", "data", "k", "against")


class ClaimTest(NamedTuple):
    """One comparison: of the better method with a worse one, or of a score with its limit."""

    table: str
    data: str  #: what the data taken are called
    k: int  #: 0 if the methods find the number themselves
    against: str  #: what the worse method is called; empty for a limit
    difference: float  #: above 0: as the claim says
    #: Two-sided, or of two one-sided tests where the claim has a margin; adjusted by Holm over all comparisons of the
    #: claim. NaN if there are too few splits.
    p: float
    n: int  #: splits, or runs of a correlation
    is_cut_short: bool = False  #: runs ended too early to tell
    #: That the difference is beyond the margin, where the claim has one; adjusted too.
    p_beyond: float = np.nan


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
        """The comparisons that have enough splits for a test."""
        return [test for test in self.tests if np.isfinite(test.p)]

    @property
    def verdict(self) -> str:
        """The comparisons taken together, in words."""
        known, is_cut = self.known, any(test.is_cut_short for test in self.tests)
        if self.claim.untested:
            return f"not tested: {self.claim.untested}"
        if not known:
            few = "too few splits" if any(test.n for test in self.tests) else "no runs"
            return f"not tested: {'runs ended before they converged' if is_cut else few}"
        yes = [test for test in known if self._says_so(test)]
        holds = _tell_where("holds", yes, known)
        if self.claim.margin is not None:
            return self._judge_margin(holds)
        no = [test for test in known if test.p < LEVEL and test.difference < 0]
        if not yes:
            return "does not hold here" if no else "not decided"
        if len(yes) == len(known):
            return "holds where runs converged" if is_cut else holds
        return "; ".join(filter(None, (holds, _tell_where("the opposite", no, known))))

    def _judge_margin(self, holds: str) -> str:
        """Return the verdict on a claim that scores are equal; `holds` says which comparisons are within the margin."""
        found = [holds]
        for way, word in ((1.0, "better"), (-1.0, "worse")):
            no = [test for test in self.known if test.p_beyond < LEVEL and np.sign(test.difference) == way]
            found.append(_tell_where(f"{word} by more than the margin", no, self.known))
        said = "; ".join(filter(None, found)) or "not decided"
        return f"does not hold here: {said}" if any(found) and not holds else said

    def _says_so(self, test: ClaimTest) -> bool:
        """Return whether a comparison is clearly as the claim says; runs that all end at an upper limit are."""
        if self.claim.margin is not None:
            return test.p < LEVEL
        is_at_limit = self.claim.at_most is not None and test.difference == 0.0
        return is_at_limit or (test.p < LEVEL and test.difference > 0)


def _tell_where(finding: str, chosen: Sequence[ClaimTest], known: Sequence[ClaimTest]) -> str:
    """Return a finding with the comparisons that it is of among all: "holds under Table 5 (KOS (K 20))"."""
    if len(chosen) in (0, len(known)):
        return finding if chosen else ""
    places = _list_places(chosen, known)
    return f"{finding} {places}" if places.startswith("against") else f"{finding} under {places}"


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
        own, all_of_it = ([one for one in some if getattr(one, field) == value] for some in (chosen, known))
        if own:
            below = "" if len(own) == len(all_of_it) else f" ({_list_places(own, all_of_it, level + 1)})"
            names.append({"k": "K ", "against": "against "}.get(field, "") + f"{value}{below}")
    return ", ".join(names)


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
    adjusted, beyond = (adjust_holm([getattr(test, name) for test in tests]) for name in ("p", "p_beyond"))
    pairs = zip(tests, adjusted, beyond, strict=True)
    own = tuple(test._replace(p=float(p), p_beyond=float(q)) for test, p, q in pairs)
    made = {(test.table, test.data) for test in own if test.n or test.is_cut_short}
    tested = {(test.table, test.data) for test in own if np.isfinite(test.p)}
    parts = [((result.table.number, part.real_name), part) for result, _ in group for part in result.parts]
    quick = [part.real_name for place, part in parts if part.limits.quick and place in tested]
    data = [part.real_size for place, part in parts if place in (tested or made)]
    tables = [claim.place or result.table.number for result, claim in group]
    tables, quick, data = (list(dict.fromkeys(names)) for names in (tables, quick, data))
    return ClaimEvidence(group[0][1], tuple(tables), own, tuple(quick), tuple(data))


def _compare(result: PaperResult, claim: Claim, results: Sequence[PaperResult]) -> Iterator[ClaimTest]:
    """Yield the comparisons of a claim in one table, not yet adjusted."""
    table, score = result.table, claim.score or result.table.score
    if claim.follows:
        yield from _correlate(result, claim, score)
        return
    others = {
        (cell.part.data.name, cell.k): cell.scores[claim.better]
        for one in results
        if one.table.number == claim.than_in
        for cell in one.list_cells(score)
    }
    for cell in result.list_cells(score):
        place = (cell.part.data.name, cell.k)
        if (claim.ks and cell.k not in claim.ks) or (claim.data and place[0] not in claim.data):
            continue
        if claim.than_in:
            if place in others and not cell.part.limits.quick:
                yield _test(claim, score, cell, others[place], claim.than_in)
            continue
        for method in claim.worse or ("",):
            against = table.label_method(method) if method else ""
            if claim.needs_convergence and _ended_early(result, claim, cell, method):
                about = (table.number, cell.part.real_name, cell.k, against)
                yield ClaimTest(*about, np.nan, np.nan, 0, is_cut_short=True)
            else:
                yield _test(claim, score, cell, cell.scores[method] if method else None, against)


def _ended_early(result: PaperResult, claim: Claim, cell: Cell, method: str) -> bool:
    """Return whether a run ended before it converged, and so early that it cannot be told which one takes longer.

    One that may yet converge is not known to need more than the limit of a claim, or not to converge at all. A run that
    its limit ended would have taken longer by an unknown time: it is slower than one that had converged by then, and
    may be slower or faster than any other.
    """
    ends, sweeps = (
        next(one for one in result.list_cells(score) if (one.part, one.k) == (cell.part, cell.k))
        for score in (UNSETTLED, "sweeps")
    )
    both = (claim.better, method or claim.better)
    cuts = [ends.scores[one] == 1.0 for one in both]
    if not method or claim.score == UNSETTLED:
        early = [sweeps.scores[one] < _ENOUGH for one in both]
        return bool((cuts[0] & early[0]).any() or (cuts[1] & early[1]).any())
    times = [cell.scores[one] for one in both]
    unknown = (cuts[0] & ~(times[0] > times[1])) | (cuts[1] & ~(times[1] > times[0]))
    is_known = np.isfinite(times[0]) & np.isfinite(times[1])
    return bool((is_known & (unknown | (cuts[0] & cuts[1]))).any())


def _test(claim: Claim, score: str, cell: Cell, other: Floats | None, against: str) -> ClaimTest:
    """Return how much better the claim's method is than other scores, or how far it is within the limit."""
    more, less = _orient(claim, score, cell, other)
    about = (cell.part.table.number, cell.part.real_name, cell.k, against)
    if claim.margin is not None:
        near = compare_with_margin(more, less, claim.margin, ratio=cell.ratio)
        within, beyond = float(near.p_within[0]), float(near.p_beyond[0])
        return ClaimTest(*about, float(near.difference[0]), within, int(near.n[0]), p_beyond=beyond)
    test = compare_paired(more, less, ratio=cell.ratio, ranks=False)
    difference, p, n = float(test.difference[0]), float(test.p_t[0]), int(test.n[0])
    if n >= LEAST_SPLITS:
        if score in COUNTED and other is None:
            # The exact binomial test: so many runs did not converge, against the limit.
            known = cell.find_known(claim.better)
            limit = claim.at_most if claim.at_least is None else claim.at_least
            p = float(stats.binomtest(int(known.sum()), len(known), limit).pvalue)
        elif score in COUNTED or np.isnan(p):
            # Yes or no has no normal distribution, and the same difference on every split no spread to judge it by.
            p = _test_signs(more - less)
    return ClaimTest(*about, difference, p, n)


def _test_signs(differences: Floats) -> float:
    """Return the two-sided p of the exact sign test; a 0 and a NaN count for neither, and without any other p is 1."""
    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    return float(stats.binomtest(above, above + below).pvalue) if above + below else 1.0


def _orient(claim: Claim, score: str, cell: Cell, other: Floats | None) -> tuple[Floats, Floats]:
    """Return two rows of scores; the first is higher if the claim is right."""
    own = cell.scores[claim.better]
    if claim.target is not None:
        own = np.abs(own - claim.target)
        other = None if other is None else np.abs(other - claim.target)
    if other is None:
        if claim.at_least is not None:
            return own, np.full(own.shape, claim.at_least)
        return np.full(own.shape, claim.at_most), own
    sign = -1.0 if claim.target is not None else cell.part.table.sign_of(score)
    return sign * own, sign * other


def _correlate(result: PaperResult, claim: Claim, score: str) -> Iterator[ClaimTest]:
    """Yield the correlation of two scores over all runs on each data set."""
    for part in result.parts:
        runs = [run for _, _, run in part.list_runs()]
        known = [run for run in runs if run.get(claim.follows) and run.get(score)]
        pairs = [(run[claim.follows], run[score]) for run in known]
        if len({run["split"] for run in runs}) >= LEAST_SPLITS and len(pairs) > 2:
            found = stats.pearsonr(*np.array(pairs, dtype=np.float64).T)
            strength, p = float(found.statistic), float(found.pvalue)
            yield ClaimTest(result.table.number, part.real_name, 0, "", strength, p, len(pairs))


def describe_claim(evidence: ClaimEvidence) -> dict[str, Any]:
    """Return a claim as plain values: its verdict, the evidence in short, and every comparison."""
    rounded = ("difference", "p", "p_beyond")
    return {
        "claim": evidence.claim.text,
        "tables": list(evidence.tables),
        "data": list(evidence.data),
        "test": _describe_test(evidence.claim),
        "verdict": evidence.verdict,
        **_summarise_tests(evidence),
        "tests": [
            {**test._asdict(), **{name: plain_number(getattr(test, name)) for name in rounded}}
            for test in evidence.tests
        ],
    }


def plain_number(value: float) -> float | None:
    """Return a number with six digits; None in place of one that is not known."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def write_p(p: float) -> str:
    """Return a p-value in few letters."""
    return "< .001" if p < 0.001 else f"{p:.3f}"


def _write_range(ps: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(write_p(p) for p in (min(ps), max(ps))))


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


def _summarise_tests(evidence: ClaimEvidence) -> dict[str, str]:
    """Return the evidence for a claim in short: how many comparisons say what, and the range of their p."""
    known = evidence.known
    if not known:
        return {"evidence": "", "p": ""}
    n = [test.n for test in known]
    of = "runs" if evidence.claim.follows else "splits"
    splits = f"{min(n)} {of}" if min(n) == max(n) else f"{min(n)} to {max(n)} {of}"
    p = _write_range([test.p for test in known])
    if evidence.claim.margin is not None:
        within, beyond = (sum(getattr(test, name) < LEVEL for test in known) for name in ("p", "p_beyond"))
        counts = [f"of {len(known)} comparisons {within} within the margin, {beyond} beyond"]
        p += f"; beyond {_write_range([test.p_beyond for test in known])}"
    else:
        counts = []
        for name, way in {"as claimed": 1.0, "the opposite": -1.0, "equal": 0.0}.items():
            own = [test for test in known if np.sign(test.difference) == way]
            clear = sum(test.p < LEVEL for test in own)
            counts += [f"{len(own)} {name}" + (f" ({clear} significant)" if way else "")] if own else []
    if early := sum(test.is_cut_short for test in evidence.tests):
        counts.append(f"{early} undecided, as runs ended before they converged")
    quick = f"; quick look at {', '.join(evidence.quick)}" if evidence.quick else ""
    return {"evidence": f"{', '.join(counts)}; {splits}{quick}", "p": p}
