"""Known labels and numbers of the objects compared with the clusters: what a cluster has more or less of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.protocols import Posterior
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import label_agreement
from acvb_core.evaluate.effects import compare_numbers, over_representation
from acvb_core.evaluate.significance import adjust_holm
from acvb_core.models.irm.gibbs import LABELS
from acvb_core.models.irm.scores import count_samples

if TYPE_CHECKING:
    import pandas as pd

#: Adjusted p-values below this are marked, and labels that a sentence names.
LEVEL, _TOLD = 0.05, 3
#: Labels of one attribute that are tested, the most frequent ones, and objects that a label must have.
MOST_LABELS, _LEAST = 30, 3
#: Samples that are compared with the labels, at most.
_MOST_SAMPLES = 100
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
    """Test for each cluster and known label of the row objects whether the cluster has more or less of it than others.

    Attributes that are names (nearly each object has its own) or numbers are left out, and so are labels of fewer than
    three objects and all but the 30 most frequent of an attribute. Of two labels the rarer one is tested, as the other
    says the same.

    Returns: attribute, then the columns of `effects.over_representation`, and name (of the cluster) after cluster. The
      clusters of the samples are taken into account if there are any. p_holm is adjusted for all lines.
    """
    import pandas as pd

    clusters, tables = align_samples(result.posterior, domain), []
    for attribute, values in result.prepared.data.attributes.items():
        labels, counts = np.unique(values[values != ""].astype(str), return_counts=True)
        if (
            read_numbers(values) is not None
            or not label_agreement(clusters[0], values).groups
            or len(labels) < 2
        ):
            continue
        table = over_representation(values, clusters)
        order = np.lexsort((np.arange(len(labels)), -counts))[:MOST_LABELS]
        order = order[1:] if len(labels) == 2 else order
        tested = set(labels[[at for at in order if counts[at] >= _LEAST]])
        tables.append(table[table["label"].isin(tested)].assign(attribute=attribute))
    if not tables:
        return pd.DataFrame()
    return _finish(pd.concat(tables, ignore_index=True), result, domain)


def compare_medians(result: Result, domain: str = "rows") -> pd.DataFrame:
    """Test for each cluster and known number of the row objects whether it is larger or smaller than in the others.

    Returns: attribute, then the columns of `effects.compare_numbers`, and name (of the cluster) after cluster; empty
      without such attributes. p_holm is adjusted for all lines.
    """
    import pandas as pd

    clusters, tables = align_samples(result.posterior, domain), []
    for attribute, values in result.prepared.data.attributes.items():
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
