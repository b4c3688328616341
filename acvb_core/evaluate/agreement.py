"""Agreement of two clusterings of the same objects, and of clusters with known labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from acvb_core.core.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


def agreement(one: Any, other: Any) -> dict[str, float]:
    """Return the adjusted Rand index ("ari") and the normalised mutual information ("nmi") of two labellings."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score  # takes a second to import

    return {
        "ari": float(adjusted_rand_score(one, other)),
        "nmi": float(normalized_mutual_info_score(one, other)),
    }


def contingency(one: Any, other: Any) -> pd.DataFrame:
    """Return how many objects each cluster of one labelling shares with each of the other."""
    import pandas as pd

    return pd.crosstab(np.asarray(one), np.asarray(other), rownames=["one"], colnames=["other"])


@dataclass(frozen=True, eq=False)
class LabelAgreement:
    """How clusters go with known labels of the same objects."""

    #: `ari`, `nmi`: over the objects whose label is known; NaN if none is.
    ari: float
    nmi: float
    #: `known`, `unknown`: objects with and without a label; those without are left out of everything else.
    known: int
    unknown: int
    #: Shape (K, number of labels); objects of each cluster (index, from 1) that have each label (columns, sorted). A
    #: cluster without labelled objects has a row of zeros.
    table: pd.DataFrame

    @property
    def counts(self) -> pd.DataFrame:
        """Return one line for each cluster and label that meet: cluster, label, objects."""
        counts = self.table.stack()
        counts = counts[counts > 0]
        return counts.rename_axis(["cluster", "label"]).rename("objects").reset_index()

    @property
    def groups(self) -> bool:
        """Return whether the labels put objects into groups, rather than give nearly each its own name."""
        return 2 * self.table.shape[1] <= self.known


def label_agreement(clusters: ArrayLike, labels: ArrayLike, n_clusters: int | None = None) -> LabelAgreement:
    """Hold clusters against known labels.

    `clusters`: shape (n,); cluster of each object, numbered from 0.
    `labels`: shape (n,); "" where nothing is known.
    `n_clusters`: by default the largest number that occurs.
    Raises ParameterError: there are not as many labels as objects.
    """
    import pandas as pd

    numbers = np.asarray(clusters, dtype=np.int64)
    names = np.asarray(labels, dtype=object)
    if numbers.shape != names.shape:
        raise ParameterError(f"There are {len(numbers):,} objects with clusters, but {len(names):,} labels.")
    known = np.array([name != "" for name in names], dtype=np.bool_)
    numbers, names = numbers[known], names[known].astype(str)
    values, value = np.unique(names, return_inverse=True)
    rows = n_clusters or int(np.asarray(clusters, dtype=np.int64).max(initial=-1)) + 1
    counts = np.zeros((rows, len(values)), dtype=np.int64)
    np.add.at(counts, (numbers, value), 1)
    order = sorted(range(len(values)), key=lambda i: _by_number(str(values[i])))
    table = pd.DataFrame(
        counts[:, order],
        index=pd.RangeIndex(1, rows + 1, name="cluster"),
        columns=pd.Index([str(values[i]) for i in order], name="label", dtype=object),
    )
    scores = agreement(numbers, value) if len(numbers) else {"ari": float("nan"), "nmi": float("nan")}
    return LabelAgreement(scores["ari"], scores["nmi"], len(numbers), int((~known).sum()), table)


def _by_number(name: str) -> tuple[int, float, str]:
    """Order numbers by size and before words, words by letter."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def are_names(labels: ArrayLike, share: float = 0.9) -> bool:
    """Return whether labels are names: more than a share of the objects have their own, and some are no numbers."""
    values = np.asarray(labels, dtype=object).tolist()
    known = set(values) - {""}
    return len(known) > share * len(values) and not all(map(_is_number, known))


def _is_number(label: str) -> bool:
    return _by_number(label)[0] == 0


def attribute_agreement(
    clusters: ArrayLike, attributes: Mapping[str, ArrayLike], n_clusters: int | None = None
) -> tuple[pd.DataFrame, dict[str, LabelAgreement]]:
    """Hold clusters against every attribute of a relation; those that give each object its own name are left out.

    Returns: one line an attribute, as given: attribute, labels (how many), known, unknown (objects), ari, nmi.
    Returns: the same with the tables.
    """
    import pandas as pd

    agreements = {
        name: label_agreement(clusters, labels, n_clusters)
        for name, labels in attributes.items()
        if not are_names(labels)
    }
    lines = [
        (name, item.table.shape[1], item.known, item.unknown, item.ari, item.nmi)
        for name, item in agreements.items()
    ]
    return pd.DataFrame(lines, columns=["attribute", "labels", "known", "unknown", "ari", "nmi"]), agreements
