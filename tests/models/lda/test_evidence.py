"""Sums of log Gamma and trigamma against SciPy, in one piece and in several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, polygamma

from acvb_core.models.lda import kernels as evidence
from acvb_core.models.lda.kernels import log_gamma_gain, trigamma_sum


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("at_once", [7, 4_000_000])
def test_sums_are_scipys(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: type, at_once: int
) -> None:
    monkeypatch.setattr(evidence, "_AT_ONCE", at_once)
    counts = (rng.gamma(0.3, 1, (40, 5)) * 10.0 ** rng.integers(-6, 7, (40, 5))).astype(dtype)
    counts[3, 2], counts[4] = -1e-7, 0.0
    concentration = np.array([1e-4, 0.05, 0.5, 1.0, 700.0])
    weights = rng.random((40, 5)).astype(dtype)
    n = np.maximum(counts, 0).astype(np.float64)
    gain = (gammaln(concentration + n) - gammaln(concentration)).sum()
    assert log_gamma_gain(counts, concentration) == pytest.approx(gain, rel=1e-11)
    weighted = (polygamma(1, concentration + n) * weights).sum()
    assert trigamma_sum(counts, concentration, weights) == pytest.approx(weighted, rel=1e-11)
