"""Coverage of the intervals of short chains, by their R-hat and effective sample size.

    python -m benchmarks.uncertainty.mixing --seeds 25

Each sample data set has chains as runs begin with (140 samples), and long ones. In a short chain, the central 90 % of
the bound and of the numbers of clusters is an interval; the long chains say how probable it is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from acvb_core.core.protocols import no_poll
from acvb_core.engine.prepared import prepare_run
from acvb_core.evaluate.chains import FEWEST_EFFECTIVE, MOST_R_HAT, ChainReport
from acvb_core.models.irm import gibbs as chain
from acvb_core.models.irm.scores import read_chain
from acvb_core.samples.catalogue import load_sample
from benchmarks.harness import make_parser

DATA = (
    "southern_women", "florentine_families", "karate", "les_miserables", "network_directed", "network_groups",
    "survey", "synth1",
)  # fmt: skip
SHORT, LONG, LONG_CHAINS, LONG_SEEDS = chain.KEPT, 2000, 3, 1000
#: Probability below which a 90 % interval counts as too narrow.
NARROW = 0.7


def draw(name: str, seed: int, n_samples: int) -> dict[str, np.ndarray]:
    """Return what a chain of so many samples draws, by name."""
    chain.KEPT, chain._WORK = n_samples, np.inf
    prepared = prepare_run(load_sample(name).relation, "acvb0", seed=seed, heldout=0.1)
    algorithm = prepared.algorithm
    state = algorithm.init(np.random.default_rng([seed, 0]), no_poll)
    return read_chain(algorithm.posterior(state))


def measure(name: str, seeds: int) -> list[dict[str, float | str]]:
    """Return a line for each short chain on a data set: what it is worth, and its least probable interval."""
    chains = [draw(name, LONG_SEEDS + seed, LONG) for seed in range(LONG_CHAINS)]
    exact = {key: np.concatenate([one[key][LONG // 10 :] for one in chains]) for key in chains[0]}
    lines = []
    for seed in range(seeds):
        draws = draw(name, seed, SHORT)
        report = ChainReport.of_draws(draws)
        assert report is not None
        ends = {key: np.quantile(values, [0.05, 0.95]) for key, values in draws.items()}
        inside = min(((exact[key] >= low) & (exact[key] <= high)).mean() for key, (low, high) in ends.items())
        lines.append(
            {"data": name, "effective": report.effective_size, "r_hat": report.r_hat, "probability": inside}
        )
    return lines


def main() -> None:
    """Print how many intervals are too narrow, over chains of like worth."""
    seeds = make_parser(__doc__, seeds=25).parse_args().seeds
    table = pd.DataFrame([line for name in DATA for line in measure(name, seeds)])
    print(table.groupby("data", sort=False).median().round(2).to_string(), "\n")
    mixed = (table["effective"] >= FEWEST_EFFECTIVE) & (table["r_hat"] <= MOST_R_HAT)
    worth = pd.cut(table["effective"], [0, 5, 10, 15, FEWEST_EFFECTIVE, 30, 50, np.inf], right=False)
    for by in (worth, mixed.rename("mixed")):
        groups = table.assign(narrow=table["probability"] < NARROW).groupby(by, observed=True)
        print(groups.agg(chains=("narrow", "size"), probability=("probability", "mean"), narrow=("narrow", "mean"))
              .round(2).to_string(), "\n")  # fmt: skip


if __name__ == "__main__":
    main()
