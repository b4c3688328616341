"""Answers of the runs of an experiment: how well they agree, and what several runs say together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from acvb_core.core.clusters import pair_clusters, take
from acvb_core.core.errors import ParameterError
from acvb_core.core.protocols import Array, Posterior, find_samples, predict_averaged
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import agreement
from acvb_core.evaluate.consensus import Consensus, find_consensus

#: Columns with a clustering (and its name), with the words of topics, and with scores over time.
LABELS, WORDS, COURSE = "labels_", "top_words", "scores_by_cpu_seconds"
#: Objects whose clusters are kept, spread evenly over all: more change the adjusted Rand index in the third digit.
_OBJECTS = 2_000
#: Words kept of a topic, and points of a course.
_WORDS, _POINTS = 10, 40


def describe_answer(result: Result) -> dict[str, str]:
    """Return the clusterings of a run, or the words of its topics; nothing of models with neither.

    A clustering is the clusters of the objects, from 1, with spaces between; topics are lists of words as JSON.
    """
    if "topics" in result.tables:
        best = result.tables["topics"].query("rank <= @_WORDS")
        return {WORDS: json.dumps([list(map(str, words)) for _, words in best.groupby("topic")["word"]])}
    answer = {}
    for domain in result.prepared.model_row.clusterings if result.posterior.normalised else ():
        labels = result.posterior.labels(domain)
        kept = np.linspace(0, len(labels) - 1, min(len(labels), _OBJECTS)).round().astype(np.int64)
        answer[LABELS + domain] = " ".join(map(str, labels[kept] + 1))
    return answer


def describe_course(result: Result, score: str) -> dict[str, str]:
    """Return a score over the CPU seconds of a run: pairs with a colon in them and spaces between."""
    history = result.history
    if score not in history:
        return {}
    known = history.loc[np.isfinite(history[score]), ["cpu_seconds", score]].to_numpy()
    if not len(known):
        return {}
    # Spread evenly over the logarithm of the place: early points tell most.
    places = np.unique(np.geomspace(1, len(known), min(_POINTS, len(known))).round().astype(np.int64)) - 1
    return {COURSE: " ".join(f"{seconds:.4g}:{value:.7g}" for seconds, value in known[places])}


def read_progress(text: str) -> NDArray[np.float64]:
    """Return what `describe_course` wrote, shape (n, 2)."""
    return np.array([[float(part) for part in pair.split(":")] for pair in text.split()])


def measure_stability(runs: pd.DataFrame) -> float:
    """Return how alike the answers of runs are, given as lines of the table of runs.

    The mean over all pairs of runs, and over what they cluster. Of clusterings it is the adjusted Rand index (1 the
    same, 0 as by chance); of topics, paired for the best sum, the share of top words in common (1 the same words, 0
    none). NaN for fewer than two answers.
    """
    values = [
        _compare_topics(one, other) if name == WORDS else _compare_labels(one, other)
        for name in runs
        if name == WORDS or str(name).startswith(LABELS)
        for one, other in combinations([text for text in runs[name] if isinstance(text, str)], 2)
    ]
    return float(np.mean(values)) if values else float("nan")


# An experiment is looked at again after every run, which adds few pairs.
@lru_cache(maxsize=20_000)
def _compare_labels(one: str, other: str) -> float:
    return agreement(one.split(), other.split())["ari"]


@lru_cache(maxsize=20_000)
def _compare_topics(one: str, other: str) -> float:
    """Return the mean Jaccard index of the top words of paired topics; a topic without a partner counts as 0."""
    rows, columns = ([set(words) for words in json.loads(text)] for text in (one, other))
    overlap = np.array([[len(row & column) / len(row | column) for column in columns] for row in rows])
    pairs = pair_clusters(overlap)
    return float(overlap[pairs.rows, pairs.columns].sum() / max(overlap.shape))


@dataclass(frozen=True, eq=False, repr=False)
class Combination:
    """Several runs of one model on the same data, with the same held out."""

    results: tuple[Result, ...]
    score: Any  #: held-out scores of the mean of the runs' predictions; None if nothing is held out
    scores: list[Any]  #: held-out scores of the prediction of each run
    _agreed: dict[str, Consensus] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        names = ", ".join(result.label for result in self.results[:3])
        more = "" if len(self.results) <= 3 else f" and {len(self.results) - 3:,} more"
        return f"Combination({names}{more} on {self._prepared.data!r})"

    @property
    def _prepared(self) -> PreparedRun:
        return self.results[0].prepared

    @property
    def clusterings(self) -> dict[str, str]:
        """The domains that have a consensus, with the names of their objects for people."""
        if not all(result.posterior.normalised for result in self.results):
            return {}
        return self._prepared.model_row.clusterings

    def consensus(self, domain: str) -> pd.DataFrame:
        """Return the clustering of a domain, "rows" or "cols", that the runs agree on.

        Columns: object, cluster (from 1, the largest first), certainty (`Consensus`; of runs that have samples, over
        these), and the cluster in each run: run_1 …

        Raises ParameterError: the model has no such clusters of objects, or there are too many objects.
        """
        if domain not in self.clusterings:
            known = " and ".join(repr(name) for name in self.clusterings) or "none"
            raise ParameterError(f"There is no consensus of {domain!r}; these runs have {known}.")
        if domain not in self._agreed:
            posteriors = [result.posterior for result in self.results]
            samples = [find_samples(self._prepared.model, posterior, domain) for posterior in posteriors]
            self._agreed[domain] = find_consensus([one[domain] for one in posteriors], samples)
        agreed = self._agreed[domain]
        objects = getattr(self._prepared.data, {"rows": "row_labels", "cols": "column_labels"}[domain])
        columns = {"object": objects, "cluster": agreed.labels + 1, "certainty": agreed.certainty}
        labels = {f"run_{n}": run.posterior.labels(domain) + 1 for n, run in enumerate(self.results, start=1)}
        return pd.DataFrame(columns | labels)

    def spread(self) -> dict[str, pd.DataFrame]:
        """Return how far the parts that the first run found depend on the run.

        Frames of topics (LDA) are "topics": topic, share, low, high, found (in so many of the `runs`); and "words":
        topic, rank, word, probability, low, high, in_top_ten. Those of latent features are "features": feature, share,
        low, high, found, runs; and "weights": feature, column, weight, low, high. low and high are over the runs that
        have the topic or feature, NaN if only the first has it.

        Raises ParameterError: the model has no such parts; for clusters, see `consensus`.
        """
        measure = getattr(self._prepared.model, "spread", None)
        if measure is None:
            model = self._prepared.spec.model
            raise ParameterError(f"Model {model!r} measures no spread of parts; of clusters, see consensus.")
        others = [result.snapshot.posterior for result in self.results[1:]]
        spread: dict[str, pd.DataFrame] = measure([self.results[0].posterior, *others])
        return spread

    @cached_property
    def posterior(self) -> Posterior:
        """The mean of the runs' posteriors, clusters or topics of each matched with those of the first."""
        return average_posteriors([result.posterior for result in self.results])

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The model's result frames of the mean posterior, by name: "topics", say."""
        return self._prepared.model.tables(self.posterior)


def combine(results: Sequence[Result]) -> Combination:
    """Take two runs or more together: restarts of one method, or several methods.

    Raises ParameterError: there are fewer than two runs, or they differ in model, data or split.
    """
    results = tuple(results)
    if len(results) < 2:
        raise ParameterError(f"Combining needs two runs at least, not {len(results)}.")
    first = results[0].prepared
    for result in results[1:]:
        other = result.prepared
        for what, one, another in (
            ("model", first.spec.model, other.spec.model),
            ("data", first.fingerprint, other.fingerprint),
            ("held-out data", first.spec.split, other.spec.split),
        ):
            if one != another:
                raise ParameterError(
                    f"Runs that are combined have the same {what}; {result.label!r} and {results[0].label!r} do not."
                )
    if first.heldout is None:
        return Combination(results, None, [])
    predicted = [_predict(result) for result in results]
    scores = [first.model.score(prediction, first.heldout) for prediction in predicted]
    mean = np.mean(predicted, axis=0, dtype=predicted[0].dtype)
    return Combination(results, first.model.score(mean, first.heldout), scores)


def _predict(result: Result) -> Array:
    """Return what a run predicts of the held-out data: by its samples, where it has some."""
    # The run's own posterior, as it was scored: the ordered one leaves out topics that are empty.
    model, heldout, posterior = result.prepared.model, result.prepared.heldout, result.snapshot.posterior
    averaged = predict_averaged(model, posterior, heldout)
    return model.predict(posterior, heldout) if averaged is None else averaged


def average_posteriors(posteriors: Sequence[Posterior]) -> Posterior:
    """Return the mean of posteriors, the clusters of each matched with those of the first.

    Clusters are paired by the cosines of their averaged arrays. A cluster without a partner in some runs is averaged
    over the others. Samples that runs began from are left out.
    """
    first = posteriors[0]
    total = {name: np.array(array, dtype=np.float64) for name, array in _take_averageable(first).items()}
    seen = {domain: np.ones(n) for domain, n in first.n_clusters().items()}
    for posterior in posteriors[1:]:
        pairs = {domain: _pair(first, posterior, domain) for domain in seen}
        orders = {domain: other for domain, (_, other) in pairs.items()}
        for domain, (own, _) in pairs.items():
            seen[domain][own] += 1.0
        for name, array in _take_averageable(posterior).items():
            axes = first.axes[name]
            places = [
                np.arange(size) if axis is None else pairs[axis][0]
                for axis, size in zip(axes, array.shape, strict=True)
            ]
            total[name][np.ix_(*places)] += take(array, axes, orders)
    for name, array in total.items():
        at, of = next(((at, axis) for at, axis in enumerate(first.axes[name]) if axis is not None), (0, None))
        shape = [1] * array.ndim
        shape[at] = -1
        array /= len(posteriors) if of is None else seen[of].reshape(shape)
        if first.normalised and name in first.averaged:
            array /= np.maximum(array.sum(axis=1, keepdims=True), 1e-300)
    return first.with_arrays(total, drop=tuple(name for name in first.arrays if name not in total))


def _take_averageable(posterior: Posterior) -> dict[str, Array]:
    """Return the arrays over clusters, and one number for each column; not what follows from them, nor samples."""
    return {
        name: array
        for name, array in posterior.arrays.items()
        if name not in posterior.derived
        and not name.startswith("sampled_")
        and (any(posterior.axes[name]) or array.ndim == 1)
    }


def _pair(one: Posterior, other: Posterior, domain: str) -> tuple[Array, Array]:
    """Return clusters of a domain in one posterior, and their partners in the other."""
    similarity: Array = np.zeros((one.n_clusters()[domain], other.n_clusters()[domain]))
    for name in one.averaged:
        if one.axes[name][-1] == domain:
            arrays = (one[name], other[name])
            mine, theirs = (array / np.maximum(np.linalg.norm(array, axis=0), 1e-300) for array in arrays)
            similarity = similarity + mine.T @ theirs
    pairs = pair_clusters(similarity)
    return pairs.rows, pairs.columns
