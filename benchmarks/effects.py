"""How often intervals of effects contain the truth, and how often an effect is claimed that is none.

Tickets with planted effects (`acvb_core.samples.planted_tickets`): a topic grows over the year, one is more frequent in
tickets on one product, and one falls with the rating; the channel has no effect. Every draw is a new corpus, and ACVB0
finds its topics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from acvb_core.engine.fitting import fit
from acvb_core.models.lda.answer.effects import (
    LEVEL,
    DocumentShares,
    group_differences,
    list_columns,
    slopes,
    trends,
)
from acvb_core.models.lda.topics import word_probability
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


def main() -> None:
    """Run the script."""
    usual = {"draws": 20, "documents": 1500, "length": 30.0, "method": "acvb0", "restarts": 5}
    asked = make_parser(__doc__, **usual).parse_args()
    print_rows(measure_topics(asked.draws, asked.documents, asked.length, asked.method, asked.restarts))


if __name__ == "__main__":
    main()
