"""How often the tests of experiments call methods different that are equal.

    python -m benchmarks.level_of_test [--sets 3000]

Two methods predict binary relations that are drawn from one distribution, 10 % held out. Each row of the table is the
share of experiments in which the test says that they differ (p < 0.05).

Equal on every data set: both predict by the means of random groups of rows, drawn again for every run. Equal on
average over data sets: one predicts by the means of rows, the other by those of columns, where rows and columns are
drawn alike; on a single data set one of them is truly better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from acvb_core.evaluate.significance import compare_paired
from benchmarks.harness import make_parser

Floats = NDArray[np.float64]

_HELD_OUT, _RATIO = 0.1, 0.1 / 0.9
#: Rows and columns of a relation; groups of the first pair of methods; relations drawn at once.
_SIZE, _GROUPS, _CHUNK = 30, 8, 1_000
_SPLITS = (5, 10, 20)
#: Data sets as units, each with the mean over five splits.
_UNITS = (6, 10)


def score_rows(sums: Sequence[Floats], prior: Floats) -> Floats:
    """Return the mean log likelihood of held-out entries, by the mean of each row.

    `sums`: known ones, known entries, held-out ones and held-out entries, each of shape (n_sets, n_rows).
    """
    ones, entries, heldout_ones, heldout = sums
    p = (ones + 4 * prior[:, None]) / (entries + 4)
    logs = heldout_ones * np.log(p) + (heldout - heldout_ones) * np.log1p(-p)
    return logs.sum(axis=1) / heldout.sum(axis=1)


def pool_rows(sums: Floats, groups: NDArray[np.int64]) -> Floats:
    """Return the sums of each row's group, shape (n_sets, n_rows)."""
    is_same = groups[:, :, None] == groups[:, None, :]
    return np.einsum("sij,sj->si", is_same, sums)


def draw_relations(rng: np.random.Generator, n_sets: int) -> Floats:
    """Return relations whose rows and columns differ alike, shape (n_sets, n_rows, n_columns)."""
    rows, columns = rng.normal(0.0, 0.7, (2, n_sets, _SIZE))
    odds = rows[:, :, None] + columns[:, None, :] - 1.0
    return (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(np.float64)


def compare_rows_columns(cells: Sequence[Floats], prior: Floats, rng: np.random.Generator) -> Floats:
    """Return how much better rows predict than columns."""
    by_rows, by_columns = (score_rows([x.sum(axis=axis) for x in cells], prior) for axis in (2, 1))
    return by_rows - by_columns


def compare_random_groups(cells: Sequence[Floats], prior: Floats, rng: np.random.Generator) -> Floats:
    """Return how much better one grouping of rows at random predicts than another."""
    ones, known, *heldout = (x.sum(axis=2) for x in cells)
    one, other = (
        score_rows([pool_rows(ones, groups), pool_rows(known, groups), *heldout], prior)
        for groups in rng.integers(_GROUPS, size=(2, len(ones), _SIZE))
    )
    return one - other


def compare_split(compare: Callable[..., Floats], ones: Floats, rng: np.random.Generator) -> Floats:
    """Return the difference of scores on one random split of each relation."""
    heldout = (rng.random(ones.shape) < _HELD_OUT).astype(np.float64)
    known = 1.0 - heldout
    prior = (ones * known).sum(axis=(1, 2)) / known.sum(axis=(1, 2))
    return compare((ones * known, known, ones * heldout, heldout), prior, rng)


def draw_differences(
    compare: Callable[..., Floats], n_sets: int, n_splits: int, rng: np.random.Generator
) -> Floats:
    """Return differences of scores, shape (n_sets, n_splits)."""
    parts = []
    for first in range(0, n_sets, _CHUNK):
        ones = draw_relations(rng, min(_CHUNK, n_sets - first))
        parts.append(np.stack([compare_split(compare, ones, rng) for _ in range(n_splits)], axis=1))
    return np.concatenate(parts)


def list_levels(n_sets: int, seed: int) -> Iterator[tuple[str, str, float, float]]:
    """Yield what is equal, what is tested, and the share called different by the corrected and by the paired t-test."""
    rng = np.random.default_rng(seed)
    for equal, compare in (
        ("on every data set", compare_random_groups),
        ("on average over data sets", compare_rows_columns),
    ):
        differences = draw_differences(compare, n_sets, max(_SPLITS), rng)
        for n in _SPLITS:
            yield equal, f"{n} splits of one", *_share_different(differences[:, :n], _RATIO)
    means = draw_differences(compare_rows_columns, 5 * n_sets, 5, rng).mean(axis=1)
    for n in _UNITS:
        units = means[: len(means) // n * n].reshape(-1, n)
        yield "on average over data sets", f"{n} data sets as units", *_share_different(units, 0.0)


def _share_different(differences: Floats, ratio: float) -> tuple[float, float]:
    tests = compare_paired(differences, np.zeros_like(differences), ratio=ratio, ranks=False)
    return float((tests.p_t < 0.05).mean()), float((tests.p_uncorrected < 0.05).mean())


def main() -> None:
    """Print the table."""
    parser = make_parser(__doc__, seed=0)
    parser.add_argument("--sets", type=int, default=3_000, help="data sets drawn for each line")
    options = parser.parse_args()
    begin = time.process_time()
    print("| the methods are equal | tested | corrected t-test | paired t-test |")
    print("|---|---|---|---|")
    for equal, tested, corrected, paired in list_levels(options.sets, options.seed):
        print(f"| {equal} | {tested} | {100 * corrected:.1f} % | {100 * paired:.1f} % |", flush=True)
    print(f"\n{time.process_time() - begin:.0f} CPU s")


if __name__ == "__main__":
    main()
