"""The spectral start of data of any size."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.evaluate.agreement import agreement
from acvb_core.models.irm import start


def test_of_many_points_k_means_looks_at_a_sample_and_the_others_join(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=400)
    points = 10.0 * np.eye(3)[groups] + rng.normal(size=(400, 3))
    seen: list[int] = []
    fit = start.KMeans.fit
    monkeypatch.setattr(start.KMeans, "fit", lambda self, x: seen.append(len(x)) or fit(self, x))
    monkeypatch.setattr(start, "_SAMPLED", 60)
    labels = start._k_means(points, 3, seed=1)
    assert seen == [60]
    assert agreement(labels, groups)["ari"] == 1.0
    np.testing.assert_array_equal(start._k_means(points, 3, seed=1), labels)
