"""Calibration of a run's own certainty on planted relations whose blocks and clusters are known.

    python -m benchmarks.uncertainty [--draws 40 --model irm]

With `--model poisson` the relations have counts, and their objects differ in activity. For each case it prints the
share of blocks whose true mean strength lies in the 95 % interval, from samples and given the clusters, and how often
objects of one cluster are said to belong together, and do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from acvb_core import fit
from acvb_core.data.relation import Relation
from acvb_core.models.poisson.counts import count_links
from benchmarks.harness import make_parser


class Case(NamedTuple):
    """Relations of one kind: clusters of equal probability on both sides, uniform strengths, or rates of counts."""

    n: int  #: objects a side
    k: int  #: clusters a side
    low: float  #: strengths lie between `low` and `high`
    high: float


CASES = {
    "irm": (Case(40, 3, 0.05, 0.95), Case(60, 6, 0.1, 0.9), Case(40, 3, 0.2, 0.8), Case(30, 3, 0.3, 0.7)),
    "poisson": (Case(40, 3, 0.1, 3.0), Case(60, 6, 0.1, 2.0), Case(40, 3, 0.5, 2.0), Case(30, 3, 0.7, 1.5)),
}
#: Standard deviation of the logarithms of the objects' activity.
SPREAD = 0.7


def measure_draw(case: Case, seed: int, model: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a line for each block, is it covered, and one for each object, said and true company."""
    rng = np.random.default_rng(1_000 + seed)
    clusters = rng.integers(case.k, size=(2, case.n))
    strengths = rng.uniform(case.low, case.high, size=(case.k, case.k))[np.ix_(*clusters)]
    exposures = np.ones_like(strengths)
    if model == "irm":
        result = fit(Relation.build(rng.random(strengths.shape) < strengths), "acvb0", seed=seed)
    else:
        strengths *= np.exp(SPREAD * rng.standard_normal((case.n, 1)) + SPREAD * rng.standard_normal(case.n))
        relation = Relation.build(rng.poisson(strengths), threshold=0)
        result = fit(relation, "acvb0", model=model, degree="corrected", seed=seed)
        counted = count_links(relation, "corrected")
        exposures = np.outer(counted.row_activity, counted.column_activity)
    sides = result.rows, result.columns
    shown = [table["cluster"].to_numpy() for table in sides]
    blocks = []
    for block in result.blocks.itertuples():
        inside = np.ix_(shown[0] == block.row_cluster, shown[1] == block.column_cluster)
        if strengths[inside].size:
            true = strengths[inside].sum() / exposures[inside].sum()
            blocks.append(
                {
                    "samples": block.low <= true <= block.high,
                    "given clusters": block.low_given_clusters <= true <= block.high_given_clusters,
                    "width": block.high - block.low,
                }
            )
    objects = []
    for own, table, true in zip(shown, sides, clusters, strict=True):
        for i, line in enumerate(table.itertuples()):
            others = (own == own[i]) & (np.arange(case.n) != i)
            if others.any():
                objects.append(
                    {
                        "said": line.probability,
                        "given clusters": line.given_clusters,
                        "true": (true[others] == true[i]).mean(),
                    }
                )
    return pd.DataFrame(blocks), pd.DataFrame(objects)


def measure_case(case: Case, draws: int, model: str) -> dict[str, object]:
    """Return the line of a case in the table."""
    blocks, objects = (
        pd.concat(frames)
        for frames in zip(*(measure_draw(case, seed, model) for seed in range(draws)), strict=True)
    )
    return {
        "case": f"{case.n} x {case.n}, K {case.k}, strengths {case.low:g} to {case.high:g}",
        "blocks covered": blocks["samples"].mean(),
        "given clusters": blocks["given clusters"].mean(),
        "width": blocks["width"].mean(),
        "company said": objects["said"].mean(),
        "company true": objects["true"].mean(),
        "company given clusters": objects["given clusters"].mean(),
    }


def main() -> None:
    """Print the table."""
    options = make_parser(__doc__, draws=40, model="irm").parse_args()
    table = pd.DataFrame([measure_case(case, options.draws, options.model) for case in CASES[options.model]])
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    main()
