"""R-hat and effective sample size against their formulas written out, and against chains of known correlation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from acvb_core.evaluate.chains import ChainReport, measure_mixing
from tests.loops import for_each


def draw_chains(correlation: float, n_chains: int = 4, n_draws: int = 2000, seed: int = 0) -> np.ndarray:
    """Return chains in which every draw has this correlation with the one before."""
    rng = np.random.default_rng(seed)
    chains = rng.normal(size=(n_chains, n_draws))
    for at in range(1, n_draws):
        chains[:, at] = correlation * chains[:, at - 1] + np.sqrt(1 - correlation**2) * chains[:, at]
    return chains


def write_out(draws: np.ndarray) -> tuple[float, float]:
    """Return R-hat and effective size by loops over draws and lags."""
    half = draws.shape[1] // 2
    chains = [part for row in draws for part in (row[:half], row[len(row) - half :])]

    def normalise(parts: list[np.ndarray]) -> list[np.ndarray]:
        flat = np.concatenate(parts)
        ranks = [[np.sum(flat < x) + (np.sum(flat == x) + 1) / 2 for x in part] for part in parts]
        return [stats.norm.ppf((np.array(rank) - 3 / 8) / (len(flat) + 1 / 4)) for rank in ranks]

    def variances(parts: list[np.ndarray]) -> tuple[float, float]:
        within = np.mean([np.sum((x - np.mean(x)) ** 2) / (half - 1) for x in parts])
        means = np.array([np.mean(x) for x in parts])
        between = half * np.sum((means - means.mean()) ** 2) / (len(parts) - 1)
        return within, (half - 1) / half * within + between / half

    middle = np.median(np.concatenate(chains))
    bulk, folded = normalise(chains), normalise([np.abs(x - middle) for x in chains])
    r_hat = max(np.sqrt(total / within) for within, total in map(variances, (bulk, folded)))
    within, total = variances(bulk)

    def correlate(lag: int) -> float:
        sums = [
            sum((x[t] - x.mean()) * (x[t + lag] - x.mean()) for t in range(half - lag)) / (half - 1)
            for x in bulk
        ]
        return 1 - (within - np.mean(sums)) / total

    least, summed = np.inf, 0.0
    for lag in range(0, half - 1, 2):
        pair = (1.0 if lag == 0 else correlate(lag)) + correlate(lag + 1)
        if pair <= 0:
            break
        least = min(least, pair)
        summed += least
    n = len(bulk) * half
    return r_hat, n / max(2 * summed - 1, 1 / np.log10(n))


@for_each("correlation", [-0.5, 0.0, 0.8])
def test_both_equal_their_formulas_written_out(correlation: float) -> None:
    draws = draw_chains(correlation, n_chains=3, n_draws=61)
    np.testing.assert_allclose(measure_mixing(draws), write_out(draws), rtol=1e-10)


def test_a_chain_that_drifts_or_hardly_moves_has_not_mixed() -> None:
    still, slow = draw_chains(0.0, 1, 140)[0], draw_chains(0.99, 1, 140)[0]
    report = ChainReport.of_draws({"lower_bound": still + np.linspace(0.0, 3.0, 140), "k_rows": still})
    assert report is not None
    assert report.has_mixed is False
    assert report.r_hat == report.quantities["lower_bound"].r_hat > 1.1
    assert "the first and the second half differ (R-hat" in report.describe()
    assert report.describe().endswith("one chain that has not mixed: intervals may be too narrow.")
    apart = np.random.default_rng(0).normal(size=(2, 50)) + np.array([[0.0], [9.0]])
    several = ChainReport.of_draws({"lower_bound": apart})
    assert several is not None
    assert several.n_samples == 100
    assert "the 2 chains differ (R-hat" in several.describe()
    assert several.describe().endswith("2 chains that have not mixed: intervals may be too narrow.")
    lazy = ChainReport.of_draws({"lower_bound": slow})
    assert lazy is not None
    assert lazy.has_mixed is False
    mixed = ChainReport.of_draws({"lower_bound": still, "k_rows": np.ones(140)})
    assert mixed is not None
    assert mixed.has_mixed is True
    assert mixed.effective_size == pytest.approx(measure_mixing(still).effective_size)
    for draws in (np.arange(10.0), np.ones(140)):  # these show nothing
        assert ChainReport.of_draws({"lower_bound": draws}).has_mixed is None
