"""How often intervals of effects contain the truth, and how often an effect is claimed that is none.

Tickets with planted effects (`acvb_core.samples.planted_tickets`): a topic grows over the year, one is more frequent in
tickets on one product, and one falls with the rating; the channel has no effect. Every draw is a new corpus, and ACVB0
finds its topics. Networks with planted groups: one group has more nodes of a label, and larger numbers, than the
others; another label and another number say nothing about the groups.

    python -m benchmarks.effects --draws 60
    python -m benchmarks.effects --draws 60 --documents 300
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from acvb_core.data.corpora.metadata import list_columns
from acvb_core.data.network import with_attributes
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.known import compare_labels, compare_medians
from acvb_core.models.lda.answer.effects import (
    LEVEL,
    DocumentShares,
    group_differences,
    slopes,
    trends,
)
from acvb_core.models.lda.topics import word_probability
from acvb_core.samples.planted_relations import planted_network
from acvb_core.samples.planted_tickets import (
    DEFECTS,
    DELIVERY,
    REFUNDS,
    PlantedTickets,
    planted_tickets,
)
from benchmarks.harness import make_parser, print_rows

#: The planted effects, and how they are called.
TRUTHS = {
    "growth of delivery over the year": DELIVERY[1] - DELIVERY[0],
    "defects of kettles against the others": DEFECTS[0] - DEFECTS[1],
    "refunds from rating 1 to 5": REFUNDS[1] - REFUNDS[0],
}


def match_topics(planted: PlantedTickets, phi: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the topic found (from 1) for each planted topic: the pairs with the smallest distances."""
    distance = np.abs(planted.phi[:, None] - phi[None]).sum(axis=2)
    return np.asarray(linear_sum_assignment(distance)[1] + 1, dtype=np.int64)


def measure_effects(planted: PlantedTickets, method: str, seed: int, restarts: int = 5) -> dict[str, Any]:
    """Return the lines of the planted effects as they are found, and the least adjusted p of the channels."""
    result = fit(planted.corpus, method, k=len(planted.phi), heldout=0.0, seed=seed, restarts=restarts)
    shares = DocumentShares.of_posterior(result.posterior)
    topic = match_topics(planted, word_probability(result.posterior))
    columns = list_columns(planted.corpus)
    trend = trends(shares, columns["created"].values).set_index("topic")
    slope = slopes(shares, columns["rating"].values).set_index("topic")
    products = group_differences(shares, columns["product"].values)
    channels = group_differences(shares, columns["channel"].values)
    kettles = products[products["group"] == "kettle"].set_index("topic")
    lines = (trend.loc[topic[0]], kettles.loc[topic[1]], slope.loc[topic[2]])
    found: dict[str, Any] = dict(zip(TRUTHS, lines, strict=True))
    return {**found, "channel": float(channels["p_holm"].min())}


def measure_topics(
    draws: int, documents: int, length: float, method: str, restarts: int
) -> list[dict[str, Any]]:
    """Return a row for each planted effect: how often its interval contains the truth, and how often it is starred."""
    found = [
        measure_effects(planted_tickets(documents, length=length, seed=seed), method, seed, restarts)
        for seed in range(draws)
    ]
    rows = []
    for name, truth in TRUTHS.items():
        lines = [one[name] for one in found]
        middle = [float(line["low"] + line["high"]) / 2 for line in lines]
        rows.append(
            {
                "effect": name,
                "true": truth,
                "mean estimate": float(np.mean(middle)),
                "contained": sum(bool(line["low"] <= truth <= line["high"]) for line in lines),
                "starred": sum(bool(line["p_holm"] < 1 - LEVEL) for line in lines),
                "draws": draws,
            }
        )
    starred = sum(one["channel"] < 1 - LEVEL for one in found)
    return [*rows, {"effect": "any topic by channel (none)", "true": 0.0, "starred": starred, "draws": draws}]


#: Shares of "part time" planted in one group of nodes and in the others.
PLANTED_SHARES = (0.6, 0.3)
_GROUPS, _NODES = 4, 60


def label_nodes(seed: int, method: str = "acvb0") -> tuple[Result, int]:
    """Return a run on a network with known labels, and the cluster (from 1) of the group that differs from the others.

    The attributes contract (a label) and age (a number) differ in this group; site and height are drawn without regard
    to groups; badge is an id.
    """
    rng = np.random.default_rng(1000 + seed)
    strengths = np.full((_GROUPS, _GROUPS), 0.05) + 0.2 * np.eye(_GROUPS)
    planted = planted_network({f"group {k + 1}": _NODES for k in range(_GROUPS)}, strengths, seed)
    first = planted.row_clusters == 0
    n = len(first)
    attributes: dict[str, Any] = {
        "contract": np.where(rng.random(n) < np.where(first, *PLANTED_SHARES), "part time", "full time"),
        "age": rng.normal(np.where(first, 48, 40), 10).round(1).astype(str),
        "site": rng.choice(["north", "south", "west"], n),
        "height": rng.normal(170, 10, n).round(1).astype(str),
        "badge": [f"badge {i}" for i in range(n)],
    }
    relation = replace(planted.relation, attributes={})
    result = fit(with_attributes(relation, attributes), method, seed=seed)
    return result, int(np.bincount(result.labels("rows")[first]).argmax())


def measure_labels(draws: int, method: str = "acvb0") -> list[dict[str, Any]]:
    """Return rows as `measure_topics` does, for known labels and numbers of the nodes of networks."""
    truth, lines, found = PLANTED_SHARES[0] - PLANTED_SHARES[1], [], []
    for seed in range(draws):
        result, cluster = label_nodes(seed, method)
        labels, medians = compare_labels(result), compare_medians(result)
        own = labels[(labels["cluster"] == cluster) & (labels["label"] == "part time")]
        lines.append(own.iloc[0])
        tables = {"age": medians[medians["cluster"] == cluster], "height": medians, "site": labels}
        found.append(
            {
                name: (table[table["attribute"] == name]["p_holm"] < 1 - LEVEL).any()
                for name, table in tables.items()
            }
        )
    starred = {name: int(sum(one[name] for one in found)) for name in ("age", "site", "height")}
    planted = {
        "effect": "contract by cluster",
        "true": truth,
        "mean estimate": float(np.mean([line["difference"] for line in lines])),
        "contained": sum(bool(line["low"] <= truth <= line["high"]) for line in lines),
        "starred": sum(bool(line["p_holm"] < 1 - LEVEL) for line in lines),
        "draws": draws,
    }
    return [
        planted,
        {"effect": "age by cluster", "starred": starred["age"], "draws": draws},
        {"effect": "any cluster by site (none)", "true": 0.0, "starred": starred["site"], "draws": draws},
        {"effect": "any cluster by height (none)", "true": 0.0, "starred": starred["height"], "draws": draws},
    ]


def main() -> None:
    """Run the script."""
    usual = {"draws": 20, "documents": 1500, "length": 30.0, "method": "acvb0", "restarts": 5}
    asked = make_parser(__doc__, **usual).parse_args()
    print_rows(measure_topics(asked.draws, asked.documents, asked.length, asked.method, asked.restarts))
    print_rows(measure_labels(asked.draws, asked.method))


if __name__ == "__main__":
    main()
