"""Files of a run of blocks of counts, of one domain or two, in addition to its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from acvb_core.engine.result import Result
from acvb_core.models.irm import export as irm
from acvb_core.models.irm.export import files as files
from acvb_core.models.irm.scores import Among, Places, count_samples, links_of, pair_table, rank_likely
from acvb_core.models.poisson.counts import round_weights
from acvb_core.models.poisson.methods import CountChoice
from acvb_core.store.export import has_heading

if TYPE_CHECKING:
    import pandas as pd

    from acvb_core.models.poisson.scores import CountPairs

OWN_FILES = (
    *irm.OWN_FILES,
    (
        "blocks.csv",
        has_heading("row_cluster", "column_cluster", "count", "expected"),
    ),  # of an earlier version
)
#: Samples by which all pairs are ranked, at most.
_RANKED_BY = 32


def arrays(result: Result) -> dict[str, Any]:
    """Return the arrays of posterior.npz, of one domain (a network: rows alone) or of two (rows and cols).

    They are those of links, but with the counts of blocks: count: sum of the counts; expected: the count that the
    activity of the objects lets expect; strengths: posterior mean of the ratio of the two. row_activity,
    column_activity: of each object, so that the product of two is the count expected of the pair.
    """
    found = irm.arrays(result, sums=("count", "expected"))
    counted = result.prepared.model.observations(result.posterior)  # type: ignore[attr-defined]
    return found | {"row_activity": counted.row_activity, "column_activity": counted.column_activity}


def facts(result: Result) -> dict[str, Any]:
    """Return the facts of run.json that only this model has: the choice of the degrees, and the unit of the counts.

    The evidence of both choices is in nats an entry, and left out if the user chose.
    """
    choice = CountChoice.of_posterior(result.posterior)
    found: dict[str, Any] = {"degree": choice.degree, "unit": choice.unit}
    if np.isfinite(choice.corrected):
        found["degree_evidence"] = {"corrected": choice.corrected, "none": choice.without}
    return found


def text_facts(result: Result) -> list[tuple[str, str]]:
    """Return (name, text) of the held-out counts, the choice of the degrees, and the unit of the counts if not 1."""
    rows, choice = [], CountChoice.of_posterior(result.posterior)
    if result.snapshot.heldout is not None:
        rows.append(("held-out counts", f"{result.snapshot.heldout.count_log_likelihood:.4f} nats each"))
    rows.append(("activity", choice.describe()))
    return rows if choice.unit == 1.0 else [*rows, ("unit of the counts", f"{choice.unit:.4g}")]


def likely_links(result: Result, n: int, among: Among = "missing", averaged: bool = True) -> pd.DataFrame:
    """Return the pairs without an observed link that are most likely to be links, the most likely first.

    At most 32 samples rank the pairs. The numbers of those listed are exact.

    Returns the columns of `irm.scores.likely_links` with `block_rate` in place of the block's probability, and
      expected: the expected count of the pair.
    """
    pairs = _predictor(result, averaged)
    _, rows, columns = rank_likely(result.prepared.data, pairs.thin(_RANKED_BY), n, among)
    probability, _, expected = pairs.predict(rows, columns).T
    table = _tabulate(result, probability, rows, columns).assign(expected=expected)
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def surprising_links(result: Result, n: int, averaged: bool = True) -> pd.DataFrame:
    """Return the observed links whose counts are least expected, the least expected first.

    Returns the columns of `likely_links`, and count: the one observed; tail: the probability of such a count or one
      that is farther from the expected one, on its side.
    """
    rows, columns = links_of(result.prepared.data)
    pairs = _predictor(result, averaged)
    counts = _counts(result, rows, columns)
    _, same, _, above = pairs.thin(_RANKED_BY).predict(rows, columns, counts, tails=True).T
    chosen = np.argsort(np.minimum(above, 1.0 - above + same), kind="stable")[:n]
    table = predict_pairs(result, rows[chosen], columns[chosen], averaged)
    return table.sort_values("tail", kind="stable", ignore_index=True)


def predict_pairs(result: Result, rows: Places, columns: Places, averaged: bool = True) -> pd.DataFrame:
    """Return the columns of `surprising_links` for given pairs, linked or not, in their order."""
    counts = _counts(result, rows, columns)
    probability, same, expected, above = (
        _predictor(result, averaged).predict(rows, columns, counts, tails=True).T
    )
    tail = np.clip(np.minimum(above, 1.0 - above + same), 0.0, 1.0)
    return _tabulate(result, probability, rows, columns).assign(expected=expected, count=counts, tail=tail)


def _predictor(result: Result, averaged: bool) -> CountPairs:
    averaged = averaged and count_samples(result.posterior) > 0
    return result.prepared.model.pairs(result.posterior, averaged)  # type: ignore[attr-defined]


def _counts(result: Result, rows: Places, columns: Places) -> np.ndarray:
    """Return the counts of links."""
    relation = result.prepared.data
    weights = np.asarray(relation.links[rows, columns], dtype=np.float64).ravel()
    return round_weights(weights, CountChoice.of_posterior(result.posterior).unit)


def _tabulate(result: Result, probability: np.ndarray, rows: Places, columns: Places) -> pd.DataFrame:
    rates = result.prepared.model.strengths(result.posterior)  # type: ignore[attr-defined]
    table = pair_table(result.prepared.data, result.posterior, rates, probability, rows, columns)
    return irm.name_ends(result, table.rename(columns={"block_probability": "block_rate"}))
