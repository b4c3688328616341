"""Topics over time, by group and by number: shares with intervals, and tests of their differences.

A share is of words: a document counts by its length, so that the mean over all documents is the share of the topic.
Every interval contains two uncertainties. Documents are a sample: other documents of the same time or group would have
other shares. And the shares of a document are known only as far as its words show them: their posterior is the
Dirichlet distribution of its counts (the method of composition; Roberts, Stewart, Airoldi, JASA 111, 2016). The words
of the topics themselves are taken as known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats

from acvb_core.core.protocols import Posterior
from acvb_core.data.corpora.metadata import Column, list_columns
from acvb_core.data.corpus import Corpus
from acvb_core.evaluate.heldout import pair_products
from acvb_core.evaluate.significance import adjust_holm
from acvb_core.models.lda.topics import TopicAnswer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Unit = Literal["week", "month", "quarter", "year", "decade"]

#: Of all intervals; a difference is clear if its adjusted p is below 1 - LEVEL.
LEVEL = 0.95
#: A period or a group with fewer documents has no interval.
LEAST_DOCUMENTS = 5
#: A standard error of a share below this is rounding.
_ROUNDING = 1e-9
#: Length of each period in days, and the most periods that are shown before the next longer one is taken.
_DAYS: dict[Unit, float] = {"week": 7.0, "month": 30.44, "quarter": 91.3, "year": 365.25, "decade": 3652.5}
_MOST_PERIODS = 30
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@dataclass(frozen=True, eq=False)
class DocumentShares:
    """The shares of topics in documents, and how sure they are."""

    share: Floats  #: shape (D, K); expected share of the words of a document
    variance: Floats  #: shape (D, K); of the share under its posterior
    words: Floats  #: shape (D,); words that the run has seen, the weight of a document

    @classmethod
    def of_posterior(cls, posterior: Posterior) -> DocumentShares:
        """Return the shares under the Dirichlet distribution of each document's counts."""
        counts = np.maximum(posterior["documents"].astype(np.float64), 0.0)
        words = counts.sum(axis=1)
        weight = counts + posterior["alpha"]
        total = weight.sum(axis=1, keepdims=True)
        mean = weight / total
        share = counts / np.maximum(words, 1e-300)[:, None]
        return cls(share, mean * (1.0 - mean) / (total + 1.0), words)

    def choose(self, mask: Mask) -> DocumentShares:
        """Return the shares of some documents."""
        return DocumentShares(self.share[mask], self.variance[mask], self.words[mask])


class _Sums(NamedTuple):
    """Sums over the documents of groups, w being the words of a document and y a share; shapes (n_groups, 1 or K)."""

    number: Floats  #: of documents with a word
    w: Floats
    w2: Floats  #: of w^2
    wy: Floats
    w2y: Floats
    w2y2: Floats
    w2v: Floats  #: of w^2 times the variance of the share

    @classmethod
    def of_groups(cls, shares: DocumentShares, codes: Integers, n_groups: int) -> _Sums:
        """Return the sums over the documents of each code (below 0: left out)."""
        used = np.flatnonzero((codes >= 0) & (shares.words > 0))
        ones = np.ones(len(used))
        members = sparse.csr_array((ones, (codes[used], np.arange(len(used)))), shape=(n_groups, len(used)))
        w, y = shares.words[used][:, None], shares.share[used]
        parts = (ones[:, None], w, w**2, w * y, w**2 * y, w**2 * y**2, w**2 * shares.variance[used])
        return cls(*(np.asarray(members @ part) for part in parts))

    def of_others(self) -> _Sums:
        """Return the sums over all other groups."""
        return _Sums(*(part.sum(axis=0) - part for part in self))

    def average(self) -> _Means:
        """Return the mean shares, with the variance of a ratio over the documents and that of each document's share."""
        n = np.maximum(self.number, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.wy / self.w
            deviations = np.maximum(self.w2y2 - 2 * mean * self.w2y + mean**2 * self.w2, 0.0)
            variance = (deviations * n / (n - 1.0) + self.w2v) / self.w**2
            freedom = np.maximum(self.w**2 / self.w2 - 1.0, 1.0)
        variance[self.number[:, 0] < LEAST_DOCUMENTS] = np.nan
        return _Means(mean, variance, freedom, self.number[:, 0].astype(np.int64), self.w[:, 0])


class _Means(NamedTuple):
    """Weighted mean shares of groups of documents; arrays of shape (n_groups, K)."""

    mean: Floats
    variance: Floats
    freedom: Floats  #: degrees of freedom of the variance, shape (n_groups, 1)
    documents: Integers  #: with a word, shape (n_groups,)
    words: Floats  #: shape (n_groups,)


def _limits_of_share(means: _Means) -> tuple[Floats, Floats]:
    """Return the interval of each share, symmetric on the scale of log odds, so that it is between 0 and 1."""
    mean = np.clip(means.mean, 1e-9, 1.0 - 1e-9)
    half = stats.t.ppf((1 + LEVEL) / 2, means.freedom) * np.sqrt(means.variance) / (mean * (1.0 - mean))
    odds = np.log(mean) - np.log1p(-mean)
    low, high = (1.0 / (1.0 + np.exp(-np.clip(odds + side * half, -700, 700))) for side in (-1, 1))
    return low, high


def choose_unit(dates: NDArray[np.datetime64]) -> Unit:
    """Return the period of a time axis: the shortest of which the span of the dates has at most 30."""
    known = dates[np.isfinite(dates)].astype("datetime64[D]").astype(np.int64)
    span = float(known.max() - known.min()) if len(known) else 0.0
    return next((unit for unit, days in _DAYS.items() if span <= _MOST_PERIODS * days), "decade")


def find_periods(
    dates: NDArray[np.datetime64], unit: Unit
) -> tuple[Integers, list[str], NDArray[np.datetime64]]:
    """Return the period of each date (-1 if it is missing), and the name and the first day of every period.

    Periods without a document between others are there, too.
    """
    known = np.isfinite(dates)
    months = dates.astype("datetime64[M]").astype(np.int64)  # from January 1970
    numbers = {
        "week": (dates.astype("datetime64[D]").astype(np.int64) + 3) // 7,  # weeks begin on Monday
        "month": months,
        "quarter": months // 3,
        "year": months // 12,
        "decade": (months // 12 + 1970) // 10,
    }[unit]
    first, last = int(numbers[known].min()), int(numbers[known].max())
    each = np.arange(first, last + 1)
    begins = {
        "week": lambda: (each * 7 - 3).astype("datetime64[D]"),
        "month": lambda: each.astype("datetime64[M]").astype("datetime64[D]"),
        "quarter": lambda: (each * 3).astype("datetime64[M]").astype("datetime64[D]"),
        "year": lambda: each.astype("datetime64[Y]").astype("datetime64[D]"),
        "decade": lambda: (each * 10 - 1970).astype("datetime64[Y]").astype("datetime64[D]"),
    }[unit]()
    return np.where(known, numbers - first, -1), [name_period(begin, unit) for begin in begins], begins


def name_period(date: np.datetime64, unit: Unit) -> str:
    """Return the period of a date as a text: "2023-04", "2023-Q2", "2023", "1990s"; a week by its first day."""
    year, month = str(date.astype("datetime64[M]")).rsplit("-", 1)
    if unit == "week":
        return str(date.astype("datetime64[D]"))
    if unit == "month":
        return f"{year}-{month}"
    if unit == "quarter":
        return f"{year}-Q{(int(month) + 2) // 3}"
    return year if unit == "year" else f"{year[:-1]}0s"


def write_period(date: np.datetime64, unit: Unit) -> str:
    """Return the period of a date for a sentence: "April 2023"; other periods as `name_period` has them."""
    if unit != "month":
        return name_period(date, unit)
    return f"{MONTHS[int(date.astype('datetime64[M]').astype(np.int64)) % 12]} {date.astype('datetime64[Y]')}"


def shares_by_period(shares: DocumentShares, dates: NDArray[np.datetime64]) -> pd.DataFrame:
    """Return the share of each topic in each period, with 95 % intervals.

    Returns: period, begin (its first day), documents, words, topic (from 1), share (NaN without a word), low, high (NaN
      with fewer than five documents). Topics are in order, and the periods of each follow one another.
    """
    codes, names, begins = find_periods(dates, choose_unit(dates))
    means = _Sums.of_groups(shares, codes, len(names)).average()
    low, high = _limits_of_share(means)
    n_topics = shares.share.shape[1]
    return pd.DataFrame(
        {
            "period": np.tile(np.array(names, dtype=object), n_topics),
            "begin": np.tile(begins, n_topics),
            "documents": np.tile(means.documents, n_topics),
            "words": np.tile(np.round(means.words).astype(np.int64), n_topics),
            "topic": np.repeat(np.arange(1, n_topics + 1), len(names)),
            "share": means.mean.T.ravel(),
            "low": low.T.ravel(),
            "high": high.T.ravel(),
        }
    )


def group_differences(shares: DocumentShares, groups: NDArray[Any]) -> pd.DataFrame:
    """Return the share of each topic in each group, and how far it is from that in all other groups.

    Each difference is tested by Welch's t-test of weighted means.

    Returns: group, documents, words, topic (from 1), share, share_low, share_high (its 95 % interval), others,
      difference, low, high (its 95 % interval), p and p_holm (adjusted over all topics and groups). Intervals and p are
      NaN with fewer than five documents on a side.
    """
    known = np.array([value != "" for value in groups], dtype=np.bool_)
    names, codes = np.unique(groups[known].astype(str), return_inverse=True)
    every = np.full(len(groups), -1, dtype=np.int64)
    every[known] = codes
    n_groups, n_topics = len(names), shares.share.shape[1]
    sums = _Sums.of_groups(shares, every, n_groups)
    inside, outside = sums.average(), sums.of_others().average()
    low, high = _limits_of_share(inside)
    difference = inside.mean - outside.mean
    variance = inside.variance + outside.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / (inside.variance**2 / inside.freedom + outside.variance**2 / outside.freedom)
        half, p = _test(difference, variance, freedom)
    return pd.DataFrame(
        {
            "group": np.repeat(names.astype(object), n_topics),
            "documents": np.repeat(inside.documents, n_topics),
            "words": np.repeat(np.round(inside.words).astype(np.int64), n_topics),
            "topic": np.tile(np.arange(1, n_topics + 1), n_groups),
            "share": inside.mean.ravel(),
            "share_low": low.ravel(),
            "share_high": high.ravel(),
            "others": outside.mean.ravel(),
            "difference": difference.ravel(),
            "low": (difference - half).ravel(),
            "high": (difference + half).ravel(),
            "p": p.ravel(),
            "p_holm": adjust_holm(p.ravel()),
        }
    )


def _test(difference: Floats, variance: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Return half the width of the interval of a difference, and its two-sided p."""
    error = np.sqrt(variance)
    p = 2 * stats.t.sf(np.abs(difference) / error, freedom)
    return stats.t.ppf((1 + LEVEL) / 2, freedom) * error, np.where(error > _ROUNDING, p, np.nan)


def slopes(shares: DocumentShares, values: Floats) -> pd.DataFrame:
    """Return how the share of each topic changes with a number, by weighted least squares.

    The line has a robust variance (HC1), which does not need equal variances. The ends of the line are at the lowest
    and highest value.

    Returns: topic (from 1), at_lowest, at_highest (the shares at the ends of the line), change (their difference), low,
      high (its 95 % interval), slope (per unit), p and p_holm (adjusted over the topics).
    """
    used = np.isfinite(values) & (shares.words > 0)
    chosen, x = shares.choose(used), values[used]
    lowest, highest = np.nanmin(values), np.nanmax(values)
    n, span = len(x), highest - lowest
    with np.errstate(divide="ignore", invalid="ignore"):
        w = chosen.words / chosen.words.sum()
        centre = w @ x
        weight = w * (x - centre) / (w @ (x - centre) ** 2)
        mean, slope = w @ chosen.share, weight @ chosen.share
        residual = chosen.share - mean - np.outer(x - centre, slope)
        variance = weight**2 @ (residual**2 * n / max(n - 2, 1) + chosen.variance)
        if n < LEAST_DOCUMENTS:
            variance = np.full_like(slope, np.nan)
        freedom = np.maximum(1.0 / (w @ w) - 2.0, 1.0) * np.ones_like(slope)
        half, p = _test(slope * span, variance * span**2, freedom)
    return pd.DataFrame(
        {
            "topic": np.arange(1, len(slope) + 1),
            "at_lowest": mean + slope * (lowest - centre),
            "at_highest": mean + slope * (highest - centre),
            "change": slope * span,
            "low": slope * span - half,
            "high": slope * span + half,
            "slope": slope,
            "p": p,
            "p_holm": adjust_holm(p),
        }
    )


#: Numbers with more different values are shown in so many ranges with about as many documents each.
_MOST_LEVELS, _RANGES = 10, 5


def shares_by_level(shares: DocumentShares, values: Floats) -> pd.DataFrame:
    """Return the share of each topic at each value of a number, or in ranges of it.

    Returns: group (the value, or the range "1 to 5"), documents, words, topic (from 1), share, share_low, share_high.
    """
    known = np.isfinite(values)
    different = np.unique(values[known])
    codes = np.full(len(values), -1, dtype=np.int64)
    if len(different) <= _MOST_LEVELS:
        codes[known] = np.searchsorted(different, values[known])
        names = [write_value(value) for value in different]
    else:
        edges = np.unique(np.quantile(values[known], np.arange(1, _RANGES) / _RANGES))
        codes[known] = np.searchsorted(edges, values[known], side="left")
        codes[known] = np.unique(codes[known], return_inverse=True)[1]
        parts = [values[codes == code] for code in range(int(codes.max()) + 1)]
        names = [f"{write_value(part.min())} to {write_value(part.max())}" for part in parts]
    means = _Sums.of_groups(shares, codes, len(names)).average()
    low, high = _limits_of_share(means)
    n_topics = shares.share.shape[1]
    return pd.DataFrame(
        {
            "group": np.repeat(np.array(names, dtype=object), n_topics),
            "documents": np.repeat(means.documents, n_topics),
            "words": np.repeat(np.round(means.words).astype(np.int64), n_topics),
            "topic": np.tile(np.arange(1, n_topics + 1), len(names)),
            "share": means.mean.ravel(),
            "share_low": low.ravel(),
            "share_high": high.ravel(),
        }
    )


def write_value(value: float) -> str:
    """Return a number with six significant digits at most."""
    return f"{value:,.6g}"


def trends(shares: DocumentShares, dates: NDArray[np.datetime64]) -> pd.DataFrame:
    """Return how the share of each topic changes from the first date to the last: `slopes`, per year."""
    days = dates.astype("datetime64[s]").astype(np.float64) / 86_400.0
    return slopes(shares, np.where(np.isfinite(dates), days / 365.25, np.nan))


def changed_words(answer: TopicAnswer, topic: int, dates: NDArray[np.datetime64]) -> pd.DataFrame:
    """Return the words of a topic (from 1) by how much more of it they are in the later half of its documents.

    The halves have as many documents each. As elsewhere, documents are the sample: a word that one document repeats
    has a large standard error.

    Returns: word, earlier, later (its share of the topic's words in each half), z (standard errors of the change; above
      0 if it grew), the most grown first; words that the topic has at least once.
    """
    documents = np.flatnonzero(np.isfinite(dates))
    documents = documents[np.argsort(dates[documents], kind="stable")]
    half = np.full(len(dates), -1, dtype=np.int64)
    half[documents] = np.arange(len(documents)) >= len(documents) / 2
    counts = answer.corpus.counts
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    kept = half[rows] >= 0
    rows, words = rows[kept], counts.indices[kept].astype(np.int64)
    theta = np.ascontiguousarray(answer.topics.document_share, dtype=np.float32)
    phi = np.ascontiguousarray(answer.topics.word_probability.T, dtype=np.float32)
    of_topic = theta[rows, topic - 1] * phi[words, topic - 1] / pair_products(theta, phi, rows, words)
    tokens = counts.data[kept] * of_topic
    length = np.bincount(rows, tokens, minlength=len(dates))  # words of the topic in each document

    def add_up(values: Floats) -> Floats:
        cells = half[rows] * counts.shape[1] + words
        return np.asarray(np.bincount(cells, values, 2 * counts.shape[1]).reshape(2, -1), dtype=np.float64)

    number, whole, squares = (
        np.array([[part[half == side].sum()] for side in (0, 1)]) for part in (half >= 0, length, length**2)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = add_up(tokens) / whole
        residuals = add_up(tokens**2) - 2 * share * add_up(tokens * length[rows]) + share**2 * squares
        variance = np.maximum(residuals, 0.0) * number / (number - 1) / whole**2
        z = (share[1] - share[0]) / np.sqrt(variance.sum(axis=0))
    earlier, later = share
    total = add_up(tokens).sum(axis=0)
    listed = np.flatnonzero((total >= 1.0) & np.isfinite(z))
    listed = listed[np.argsort(-z[listed], kind="stable")]
    vocabulary = answer.corpus.vocabulary
    parts = {"earlier": earlier[listed], "later": later[listed], "z": z[listed]}
    return pd.DataFrame({"word": vocabulary[listed], **parts})


#: Standard errors from which a word has clearly changed: by chance, one of some 370 words has.
CLEAR_WORD = 3.0
#: Words that a sentence names in each direction.
_WORDS = 5


def describe_words(words: pd.DataFrame) -> str:
    """Return which words of `changed_words` clearly grew or fell, in a sentence."""
    grown = words.loc[words["z"] >= CLEAR_WORD, "word"].head(_WORDS).tolist()
    fallen = words.loc[words["z"] <= -CLEAR_WORD, "word"].iloc[::-1].head(_WORDS).tolist()
    parts = [f"{', '.join(listed)} {verb}" for listed, verb in ((grown, "grew"), (fallen, "fell")) if listed]
    return (
        f"Within the topic, {'; '.join(parts)}."
        if parts
        else "Within the topic, no word clearly grew or fell."
    )


@dataclass(frozen=True, eq=False)
class Effects:
    """How topics differ by one column of the documents."""

    kind: str  #: "date", "group" or "number"
    table: pd.DataFrame  #: `shares_by_period`, `group_differences` or `shares_by_level`
    line: pd.DataFrame | None  #: `trends` or `slopes`; None for groups
    ends: tuple[str, str]  #: the first and last period, or the lowest and highest number, as texts
    documents: int  #: that have a value and a word
    missing: int  #: without a value


def measure_effects(posterior: Posterior, corpus: Corpus, column: str) -> Effects:
    """Return how topics differ by a column of `list_columns`.

    `posterior`: of a result, with the counts of the documents of this corpus.
    """
    kind, values = list_columns(corpus)[column]
    shares = DocumentShares.of_posterior(posterior)
    known = Column(kind, values).known
    counted = int((known & (shares.words > 0)).sum())
    table, line, ends = _compare(kind, shares, values)
    return Effects(kind, table, line, ends, counted, int((~known).sum()))


def _compare(
    kind: str, shares: DocumentShares, values: NDArray[Any]
) -> tuple[pd.DataFrame, pd.DataFrame | None, tuple[str, str]]:
    if kind == "group":
        return group_differences(shares, values), None, ("", "")
    known = values[np.isfinite(values)]
    if kind == "number":
        ends = write_value(known.min()), write_value(known.max())
        return shares_by_level(shares, values), slopes(shares, values), ends
    unit = choose_unit(values)
    ends = write_period(known.min(), unit), write_period(known.max(), unit)
    return shares_by_period(shares, values), trends(shares, values), ends


def is_clear(line: Any) -> bool:
    """Return whether a line of tests shows a difference, its p adjusted."""
    return bool(line.p_holm < 1 - LEVEL)


def list_effects(result: Any) -> dict[str, Effects]:
    """Return how the topics of a `Result` differ by each column of its documents, by ten columns at most."""
    corpus = TopicAnswer.of_result(result).corpus
    columns = list(list_columns(corpus))[:_MOST_COLUMNS]
    return {column: measure_effects(result.posterior, corpus, column) for column in columns}


#: Columns that `list_effects` compares.
_MOST_COLUMNS = 10
#: Topics or groups that a sentence names.
_NAMED = 3


def describe_effects(found: Effects, names: Sequence[str], column: str) -> str:
    """Return which topics differ by a column, in a sentence; `names` are those of the topics, quoted."""
    if found.line is None:
        return describe_all_groups(found.table, names, column)
    if found.kind == "date":
        return describe_trends(found.line, names, *found.ends)
    return describe_slopes(found.line, names, column, *found.ends)


def describe_trends(trend: pd.DataFrame, names: Sequence[str], first: str, last: str) -> str:
    """Return which topics grew or fell between two periods, in a sentence."""
    clear = trend[trend["p_holm"] < 1 - LEVEL].sort_values("change", key=abs, ascending=False, kind="stable")
    if not len(clear):
        return f"No topic clearly grew or fell between {first} and {last}."
    share = f"{len(clear)} of {len(trend)} topics clearly changed"
    return f"{share} between {first} and {last}: {_list_changes(clear, names, 'grew', 'fell')}."


def _list_changes(clear: pd.DataFrame, names: Sequence[str], rise: str, fall: str) -> str:
    """Return how the first topics of a table changed, and how many more did."""
    told = [
        f"{names[line.topic - 1]} {rise if line.change > 0 else fall} from {_percent(line.at_lowest)} to "
        f"{_percent(line.at_highest)} of the words"
        for line in clear.head(_NAMED).itertuples()
    ]
    more = f"; and {len(clear) - _NAMED} more" if len(clear) > _NAMED else ""
    return f"{'; '.join(told)}{more}"


def describe_trend(line: Any, name: str, first: str, last: str) -> str:
    """Return how one topic changed between two periods, with the interval of the change."""
    points = _write_interval(line)
    if not np.isfinite(line.p):
        return f"There are too few documents with a date to say how {name} changed."
    if not is_clear(line):
        middle = _percent((line.at_lowest + line.at_highest) / 2)
        return (
            f"No clear trend: {name} has about {middle} of the words between {first} and {last} ({points})."
        )
    verb = "grew" if line.change > 0 else "fell"
    ends = f"from {_percent(line.at_lowest)} to {_percent(line.at_highest)} of the words"
    return f"{name} {verb} {ends} between {first} and {last} ({points})."


def describe_all_groups(table: pd.DataFrame, names: Sequence[str], column: str) -> str:
    """Return which topics differ between groups, in a sentence."""
    clear = table[table["p_holm"] < 1 - LEVEL].sort_values(
        "difference", key=abs, ascending=False, kind="stable"
    )
    if not len(clear):
        return f"No topic clearly differs between the groups of {column}."
    first = clear.drop_duplicates("topic")
    told = [
        f"{names[line.topic - 1]} is {'more' if line.difference > 0 else 'less'} frequent in {line.group} "
        f"({_percent(line.share)} against {_percent(line.others)})"
        for line in first.head(_NAMED).itertuples()
    ]
    more = f"; and {len(first) - _NAMED} more" if len(first) > _NAMED else ""
    verb = "differs" if len(first) == 1 else "differ"
    which = f"{len(first)} of {table['topic'].nunique()} topics clearly {verb} between the groups of {column}"
    return f"{which}: {'; '.join(told)}{more}."


def describe_slopes(slope: pd.DataFrame, names: Sequence[str], column: str, lowest: str, highest: str) -> str:
    """Return which topics rise or fall with a number, in a sentence."""
    clear = slope[slope["p_holm"] < 1 - LEVEL].sort_values("change", key=abs, ascending=False, kind="stable")
    if not len(clear):
        return f"No topic clearly rises or falls with {column}."
    verb = "changes" if len(clear) == 1 else "change"
    which = f"{len(clear)} of {len(slope)} topics clearly {verb} with {column}, from {lowest} to {highest}"
    return f"{which}: {_list_changes(clear, names, 'rises', 'falls')}."


def describe_groups(table: pd.DataFrame, name: str, column: str) -> str:
    """Return in which groups a topic is more or less often than in the others; `table` has its lines."""
    clear = table[table["p_holm"] < 1 - LEVEL].sort_values(
        "difference", key=abs, ascending=False, kind="stable"
    )
    if not len(clear):
        return f"No clear difference between the groups of {column} in {name}."
    told = [
        f"{'more' if line.difference > 0 else 'less'} frequent in {line.group}: {_percent(line.share)} against "
        f"{_percent(line.others)} elsewhere (95 % interval of the difference {_points(line.low)} to "
        f"{_points(line.high)} points)"
        for line in clear.head(_NAMED).itertuples()
    ]
    more = f"; {len(clear) - _NAMED} more groups differ" if len(clear) > _NAMED else ""
    return f"{name} is {'; '.join(told)}{more}."


def describe_slope(line: Any, name: str, column: str, lowest: str, highest: str) -> str:
    """Return how a topic changes with a number, with the interval of the change."""
    if not np.isfinite(line.p):
        return f"There are too few documents with {column} to compare {name} with it."
    points = _write_interval(line)
    if not is_clear(line):
        return f"No clear change of {name} with {column}, from {lowest} to {highest} ({points})."
    verb = "rises" if line.change > 0 else "falls"
    ends = f"from {_percent(line.at_lowest)} at {lowest} to {_percent(line.at_highest)} at {highest}"
    return f"{name} {verb} with {column}, {ends} ({points})."


def _percent(share: float) -> str:
    """Return a share in per cent with two digits; the ends of a line may lie outside 0 and 1."""
    return f"{float(f'{100 * min(max(share, 0.0), 1.0):.2g}'):g} %"


def _write_interval(line: Any) -> str:
    """Return the interval of a change; one without 0 need not be clear, as many topics are tested at once."""
    text = f"95 % interval of the change {_points(line.low)} to {_points(line.high)} points"
    is_chance = not is_clear(line) and line.low * line.high > 0
    return f"{text}; among so many topics this may be chance" if is_chance else text


def _points(change: float) -> str:
    return f"{100 * change:+.1f}"
