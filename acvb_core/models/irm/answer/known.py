"""Known labels and numbers of the objects compared with the clusters: what a cluster has more or less of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.protocols import Posterior
from acvb_core.engine.result import Result
from acvb_core.evaluate.effects import compare_numbers, over_representation
from acvb_core.evaluate.significance import adjust_holm
from acvb_core.models.irm.answer.contrasts import write_ratio
from acvb_core.models.irm.gibbs import LABELS
from acvb_core.models.irm.scores import count_samples

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: Adjusted p-values below this are marked, and labels that a sentence names.
LEVEL, _TOLD = 0.05, 3
#: Labels of one attribute that are tested, the most frequent ones, and objects that a label must have.
MOST_LABELS, _LEAST = 30, 3
#: Samples that are compared with the labels, at most.
_MOST_SAMPLES = 100
#: A label of the other side is told if the rate of links is so many times that of the others.
_CLEARLY = 2.0
#: Different numbers from which an attribute of numbers is compared by its medians.
_NUMBERS = 10


def align_samples(posterior: Posterior, domain: str) -> NDArray[np.int64]:
    """Return the cluster (from 0) of each object in the samples, by the numbers of the clusters shown, shape (S, N).

    A cluster of a sample gets the number of the cluster that most of its objects are in. Without samples, S is 1: the
    clusters shown. At most 100 samples are taken, evenly.
    """
    own = posterior.labels(domain)
    if not count_samples(posterior):
        return own[None]
    samples = posterior[LABELS.format(domain)]
    samples = samples[np.linspace(0, len(samples) - 1, min(len(samples), _MOST_SAMPLES)).round().astype(int)]
    width = int(own.max()) + 1
    aligned = np.empty(samples.shape, dtype=np.int64)
    for labels, found in zip(samples.astype(np.int64), aligned, strict=True):
        table = np.bincount(labels * width + own, minlength=(int(labels.max()) + 1) * width)
        found[:] = table.reshape(-1, width).argmax(axis=1)[labels]
    return aligned


def read_numbers(values: NDArray[np.object_]) -> NDArray[np.float64] | None:
    """Return the labels of an attribute as numbers, NaN for "" ; None if they are no numbers, or only a few ones."""
    known = np.array([value != "" for value in values], dtype=np.bool_)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[known] = [float(value) for value in values[known]]
    except ValueError:
        return None
    return numbers if len(np.unique(numbers[known])) >= _NUMBERS else None


def compare_labels(result: Result, domain: str = "rows") -> pd.DataFrame:
    """Test for each cluster and known label of its objects whether the cluster has more or less of it than others.

    Attributes that are names (nearly each object has its own) or numbers are left out, and so are labels of fewer than
    three objects and all but the 30 most frequent of an attribute. Of two labels the rarer one is tested, as the other
    says the same.

    Returns: attribute, then the columns of `effects.over_representation`, and name (of the cluster) after cluster. The
      clusters of the samples are taken into account if there are any. p_holm is adjusted for all lines.
    """
    import pandas as pd

    clusters, tables = align_samples(result.posterior, domain), []
    for attribute, values in result.prepared.data.labels_of(domain).items():
        tested = _choose_tested(values)
        if tested:
            table = over_representation(values, clusters)
            tables.append(table[table["label"].isin(tested)].assign(attribute=attribute))
    if not tables:
        return pd.DataFrame()
    return _finish(pd.concat(tables, ignore_index=True), result, domain)


def _choose_tested(values: NDArray[np.object_]) -> list[str]:
    """Return the labels of an attribute that are tested, the most frequent first, as `compare_labels` says."""
    labels, counts = np.unique(values[values != ""].astype(str), return_counts=True)
    if read_numbers(values) is not None or not 2 <= len(labels) <= counts.sum() / 2:
        return []
    order = np.lexsort((np.arange(len(labels)), -counts))[:MOST_LABELS]
    order = order[1:] if len(labels) == 2 else order
    return [str(labels[at]) for at in order if counts[at] >= _LEAST]


def compare_medians(result: Result, domain: str = "rows") -> pd.DataFrame:
    """Test for each cluster and known number of its objects whether it is larger or smaller than in the others.

    Returns: attribute, then the columns of `effects.compare_numbers`, and name (of the cluster) after cluster; empty
      without such attributes. p_holm is adjusted for all lines.
    """
    import pandas as pd

    clusters, tables = align_samples(result.posterior, domain), []
    for attribute, values in result.prepared.data.labels_of(domain).items():
        numbers = read_numbers(values)
        if numbers is not None:
            tables.append(compare_numbers(numbers, clusters).assign(attribute=attribute))
    return _finish(pd.concat(tables, ignore_index=True), result, domain) if tables else pd.DataFrame()


def describe_labels(labels: pd.DataFrame, medians: pd.DataFrame, cluster: int) -> str:
    """Return the known labels and numbers that a cluster clearly has more or less of than the others, in a sentence.

    `labels`, `medians`: from `compare_labels` and `compare_medians`. At most three are named; "" if there are none.
    """
    told = []
    for line in _list_clear(labels, cluster, "difference"):
        more = "more" if line.difference > 0 else "fewer"
        told.append(
            f"{more} with {line.attribute} “{line.label}” ({line.share:.0%} against {line.others:.0%})"
        )
    for line in _list_clear(medians, cluster, "p_holm"):
        larger = "larger" if line.median > line.others else "smaller"
        told.append(f"{larger} {line.attribute} (median {line.median:.4g} against {line.others:.4g})")
    text = ", ".join(told[:_TOLD]).replace("%", " %")
    return f"{text[0].upper()}{text[1:]} than the others." if text else ""


def describe_partners(result: Result, domain: str) -> list[str]:
    """Return for each cluster the known label of the other side that it is linked to most clearly, in a sentence.

    The rates are links of the cluster among its known pairs with the objects of a label, and with those of the other
    labels. A label is told if its rate is at least twice the other, and its objects are linked more often to the
    cluster (rank-sum test of `compare_numbers`, p below 0.05 after multiplication by all clusters and labels). "" if
    there is none, and of networks, whose clusters have their own labels.
    """
    relation, clusters = result.prepared.data, result.posterior.labels(domain)
    n_clusters = result.posterior.n_clusters()[domain]
    other = "cols" if domain == "rows" else "rows"
    attributes = {} if relation.network is not None else relation.labels_of(other)
    tested = [
        (f"{name} “{label}”", values == label, values != "")
        for name, values in attributes.items()
        for label in _choose_tested(values)
    ]
    if not tested:
        return [""] * n_clusters
    own = sparse.csr_array(
        (np.ones(len(clusters)), (clusters, np.arange(len(clusters)))), (n_clusters, len(clusters))
    )
    linked, missing = (
        (own @ (one if domain == "rows" else one.T)).tocsr() for one in (relation.ones, relation.missing)
    )
    sizes, told = own.sum(axis=1), []
    for k in range(n_clusters):
        known = sizes[k] - missing[[k]].toarray()[0]
        told.append(_describe_partner(linked[[k]].toarray()[0], known, tested, n_clusters * len(tested)))
    return told


def _describe_partner(
    linked: Floats, known: Floats, tested: Sequence[tuple[str, Mask, Mask]], n_tests: int
) -> str:
    """Return the sentence of `describe_partners` about one cluster.

    `linked`, `known`: links and known pairs of its objects with each object of the other side. `tested`: each label,
    which objects have it, and which have any of its attribute.
    """
    best: tuple[float, str] = 0.0, ""
    for label, labelled, has_any in tested:
        counted = has_any & (known > 0)
        inside, outside = counted & labelled, counted & ~labelled
        if not linked[inside].sum() or not outside.any():
            continue
        rate, others, mean = (linked[at].sum() / known[at].sum() for at in (inside, outside, counted))
        weight = linked[inside].sum() * np.log(rate / mean)
        if rate < _CLEARLY * others or weight <= best[0]:
            continue
        p = compare_numbers(linked[counted] / known[counted], inside[counted])["p"].iloc[-1]
        if n_tests * p < LEVEL:
            than = f"{_percent(others)} of the others: {write_ratio(rate / others)} as many" if others else ""
            rest = than or "none of the others"
            best = weight, f"A member is linked to {_percent(rate)} of {label} on average, and to {rest}."
    return best[1]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def _list_clear(table: pd.DataFrame, cluster: int, by: str) -> list[Any]:
    """Return the lines of a cluster that differ clearly from the others, those first that differ most."""
    if table.empty:
        return []
    clear = table[(table["cluster"] == cluster) & (table["p_holm"] < LEVEL)]
    return list(clear.sort_values(by, key=abs, ascending=by == "p_holm", kind="stable").itertuples())


def _finish(table: pd.DataFrame, result: Result, domain: str) -> pd.DataFrame:
    """Return the tests of all attributes with the names of clusters, numbered from 1, and adjusted together."""
    names = np.array(result.names[domain], dtype=object)
    table = table.assign(
        p_holm=adjust_holm(table["p"]), name=names[table["cluster"]], cluster=table["cluster"] + 1
    )
    first = ["attribute", "cluster", "name"]
    return table[[*first, *(column for column in table.columns if column not in first)]]
